//! What the live model reads and sees: texts for it, pictures for it, and pictures of the chat.

use super::actor::Session;
use super::job::Asker;
use super::journal::{Effect, Step};
use super::microphone::WORDS_CAPACITY;
use crate::files::{FileError, SavedFile};
use crate::message::{Channel, Event, Problem};
use crate::provider::live::LiveInput;
use bytes::Bytes;

impl Session {
    pub(super) fn send_live_text(&mut self, asker: Asker, echo: Option<Channel>, text: String) {
        if !self.voice.has_room() {
            return self.refuse(asker, Problem::QueueFull { waiting: WORDS_CAPACITY });
        }
        let unseen = self.recent.take_unseen().into_iter().map(LiveInput::Image);
        let shown = unseen.chain([LiveInput::Text(text.clone())]);
        let mut step = Step { changes: Vec::new(), effects: shown.map(Effect::Show).collect() };
        if let Some(channel) = echo {
            let attachments = self.recent.take(channel);
            self.append(&mut step, channel, Event::UserText { text, attachments });
        }
        self.record_for(asker, step);
    }

    /// A picture of the chat is seen at once by a model that is there. It opens none: it may be meant for the chat.
    pub(super) fn on_stored(
        &mut self,
        asker: Asker,
        channel: Channel,
        mut picture: Option<Bytes>,
        saved: Result<SavedFile, FileError>,
    ) {
        let note = match saved {
            Ok(saved) => saved.note,
            Err(err) => {
                return self.refuse(asker, Problem::FileRefused { reason: err.to_string() });
            }
        };
        let mut step = Step::default();
        if self.voice.is_open() && self.voice.has_room() {
            let seen = picture.take().map(LiveInput::Image);
            step.effects.extend(seen.map(Effect::Show));
        }
        if let Some(path) = note.path.clone() {
            self.recent.add(channel, path, picture);
        }
        self.append(&mut step, channel, Event::UserFile(note));
        self.record_for(asker, step);
    }

    pub(super) fn on_image_stored(
        &mut self,
        asker: Asker,
        image: Bytes,
        saved: Result<SavedFile, FileError>,
    ) {
        if let Err(err) = saved {
            return self.refuse(asker, Problem::FileRefused { reason: err.to_string() });
        }
        if !self.voice.has_room() {
            return self.refuse(asker, Problem::QueueFull { waiting: WORDS_CAPACITY });
        }
        let effects = vec![Effect::Show(LiveInput::Image(image))];
        self.record_for(asker, Step { changes: Vec::new(), effects });
    }
}
