//! Sound between the socket that holds microphone and speaker and the live model.

use super::actor::Session;
use super::job::Asker;
use super::journal::Step;
use super::microphone::Heard;
use crate::message::{AudioChunk, Channel, Event, Notice, Problem, Signal, StopReason};
use crate::provider::live::LiveOutput;
use tracing::info;

impl Session {
    /// Told once: a microphone sends many chunks a second.
    pub(super) fn on_not_holder(&mut self, asker: Asker) {
        if self.audience.tell_not_holder(asker.connection) {
            self.refuse(asker, Problem::NotHolder);
        }
    }

    /// Numbered sound, which waits for its turn like every numbered command.
    pub(super) fn on_audio(&mut self, asker: Asker, chunk: AudioChunk) {
        match self.voice.hear(asker.connection, chunk) {
            Heard::NotHolder => return self.refuse(asker, Problem::NotHolder),
            Heard::Waiting { dropped } => self.env.metrics.audio_dropped(dropped),
            Heard::Taken => {}
        }
        self.record_for(asker, Step::default());
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
