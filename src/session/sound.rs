//! Sound between the socket that holds microphone and speaker and the live model.

use super::actor::Session;
use super::job::Asker;
use super::journal::Step;
use super::microphone::Heard;
use crate::message::{
    AudioChunk, Channel, ConnectionId, Event, Notice, Problem, Signal, StopReason,
};
use crate::provider::live::LiveOutput;
use tracing::info;

impl Session {
    /// By now it may hold the microphone. Told once: a microphone sends many chunks a second.
    pub(super) fn on_not_holder(&mut self, connection: ConnectionId, chunk: AudioChunk) {
        if !self.hear(connection, chunk) && self.audience.tell_not_holder(connection) {
            self.refuse(Asker::new(connection), Problem::NotHolder);
        }
    }

    /// False: this socket does not hold the microphone.
    pub(super) fn hear(&mut self, connection: ConnectionId, chunk: AudioChunk) -> bool {
        match self.voice.hear(connection, chunk) {
            Heard::Taken => true,
            Heard::Waiting { dropped } => {
                self.env.metrics.audio_dropped(dropped);
                true
            }
            Heard::NotHolder(_) => false,
        }
    }

    /// `None`: the model is gone without a word.
    pub(super) fn on_live(&mut self, output: Option<LiveOutput>) {
        match output {
            Some(LiveOutput::Audio(chunk)) => self.audience.tell_holder(Signal::Audio(chunk)),
            Some(LiveOutput::SpeechStarted) => {
                self.audience.tell_holder(Signal::StopPlayback(StopReason::UserSpeaks));
            }
            Some(LiveOutput::Transcript { speaker, text }) => {
                self.say_in_chat(Event::Transcript { speaker, text });
            }
            Some(LiveOutput::Text(text)) => self.say_in_chat(Event::Text { text, run: None }),
            Some(LiveOutput::Failed { reason }) => self.on_live_down(reason),
            None => self.on_live_down("it ended unexpectedly".to_owned()),
        }
    }

    fn on_live_down(&mut self, reason: String) {
        info!(session = %self.id, reason, "the live model is gone");
        self.voice.close();
        self.say_in_chat(Event::Notice(Notice::LiveDown { reason }));
    }

    fn say_in_chat(&mut self, event: Event) {
        let mut step = Step::default();
        self.append(&mut step, Channel::Chat, event);
        self.journal.record(step);
    }
}
