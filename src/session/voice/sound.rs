//! Sound and talk keys from the socket that holds the microphone, and the live model's output.

use super::microphone::Heard;
use crate::message::{
    Channel, ConnectionId, Event, Notice, PlaybackAck, Problem, Recorded, Signal, TalkKey,
    TurnTimes,
};
use crate::provider::live::LiveOutput;
use crate::session::actor::Session;
use crate::session::job::Asker;
use crate::session::journal::Step;
use tracing::info;

impl Session {
    /// Sound that a socket could not hand over by itself. If it does not hold the microphone now either, it is told so,
    /// once: a microphone sends many chunks a second.
    pub(in crate::session) fn on_not_holder(&mut self, connection: ConnectionId, sound: Recorded) {
        if !self.hear(connection, sound) && self.sockets.tell_not_holder(connection) {
            self.refuse(Asker::new(connection), Problem::NotHolder);
        }
    }

    /// Returns false if this socket does not hold the microphone.
    pub(in crate::session) fn hear(&mut self, connection: ConnectionId, sound: Recorded) -> bool {
        let look = self.hearing.look(&sound);
        let heard = self.voice.hear(connection, sound);
        if !matches!(heard, Heard::NotHolder(_)) {
            self.hearing.count(connection, look);
        }
        match heard {
            Heard::Taken => true,
            Heard::Waiting { dropped } => {
                self.shared.env.metrics.audio_dropped(dropped);
                true
            }
            Heard::NotHolder(_) => false,
        }
    }

    pub(in crate::session) fn on_playback_ack(&mut self, asker: Asker, ack: PlaybackAck) {
        self.voice.ack(asker.connection, ack);
        self.shared.record_for(asker, Step::default());
    }

    pub(in crate::session) fn on_talk_key(&mut self, asker: Asker, key: TalkKey) {
        if self.voice.is_held_by(asker.connection) {
            self.hearing.forget();
        }
        self.voice.press(asker.connection, key);
        self.shared.record_for(asker, Step::default());
    }

    /// `None`: the model ended without a reason.
    pub(in crate::session) fn on_live(&mut self, output: Option<LiveOutput>) {
        match output {
            Some(LiveOutput::Transcript { speaker, text, interrupted }) => {
                self.voice.works();
                self.say_in_chat(Event::Transcript { speaker, text, interrupted });
            }
            Some(LiveOutput::Placed(place)) => self.on_placed_text(place),
            Some(LiveOutput::ToolCall { id, name, arguments }) => {
                self.on_errand(id, &name, &arguments);
            }
            Some(LiveOutput::ToolsCancelled { ids }) => self.drop_wishes(&ids),
            Some(LiveOutput::Turn(times)) => self.on_turn_times(times),
            Some(LiveOutput::Usage { input, output }) => {
                self.shared.env.metrics.live_tokens(input, output);
            }
            Some(LiveOutput::Replaced { model, reason }) => {
                self.say_in_chat(Event::Notice(Notice::LiveReplaced { model, reason }));
            }
            Some(LiveOutput::Text(text)) => self.say_in_chat(Event::Text { text, run: None }),
            Some(LiveOutput::Failed { reason }) => self.on_live_down(reason),
            None => self.on_live_down("it ended unexpectedly".to_owned()),
        }
    }

    fn on_live_down(&mut self, reason: String) {
        info!(session = %self.shared.id, reason, "the live model is gone");
        self.write_text();
        if self.voice.on_failure(&reason) {
            self.say_in_chat(Event::Notice(Notice::LiveDown { reason }));
        }
    }

    fn on_turn_times(&mut self, times: TurnTimes) {
        self.shared.env.metrics.turn_taken(&times);
        self.sockets.tell_playing(&Signal::TurnTimes(times));
    }

    fn say_in_chat(&mut self, event: Event) {
        self.shared.record_event(Channel::Chat, event);
    }
}
