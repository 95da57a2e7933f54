//! Sound between the socket that holds microphone and speaker and the live model.

use super::actor::Session;
use super::job::Asker;
use super::journal::Step;
use crate::message::{
    AudioChunk, Channel, ConnectionId, Event, Notice, Problem, Signal, StopReason,
};
use crate::provider::live::LiveOutput;
use tracing::info;

impl Session {
    pub(super) fn on_audio(&mut self, connection: ConnectionId, chunk: AudioChunk) {
        // Told once: a microphone sends many chunks a second.
        if !self.hear(connection, chunk) && self.audience.tell_not_holder(connection) {
            self.refuse(Asker::new(connection), Problem::NotHolder);
        }
    }

    /// False: this socket does not hold the microphone.
    pub(super) fn hear(&mut self, connection: ConnectionId, chunk: AudioChunk) -> bool {
        if self.audience.holder() != Some(connection) {
            return false;
        }
        let dropped = self.voice.hear(chunk);
        if dropped > 0 {
            self.env.metrics.audio_dropped(dropped);
        }
        true
    }

    /// Existing clients answer every stop with one of their own, also when another socket took over from them:
    /// only the holder can silence the model.
    pub(super) fn on_stop_playback(&mut self, connection: ConnectionId) {
        if self.audience.holder() == Some(connection) {
            self.voice.interrupt();
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
