//! Texts and pictures for the live model, including pictures from the chat.

use super::microphone::WORDS_CAPACITY;
use crate::files::{FileError, SavedFile};
use crate::message::{Channel, Event, Problem};
use crate::provider::live::LiveInput;
use crate::session::actor::Session;
use crate::session::job::Asker;
use crate::session::journal::{Effect, Step};
use bytes::Bytes;
use std::time::Duration;
use tokio::time::Instant;

/// How long storing a text may wait. When a text interrupts a reply, the model reports within this time how much of the
/// reply was heard. After that the text is stored at once, because somebody waits to see it.
const LONGEST_UNWRITTEN: Duration = Duration::from_secs(1);

/// A text that the model has already. It is stored after everything that was said before it.
#[derive(Debug)]
pub(in crate::session) struct Unwritten {
    asker: Asker,
    channel: Channel,
    event: Event,
    place: u64,
    pub(in crate::session) until: Instant,
}

impl Session {
    pub(in crate::session) fn send_live_text(
        &mut self,
        asker: Asker,
        echo: Option<Channel>,
        text: String,
    ) {
        if !self.voice.has_room() {
            return self.refuse(asker, Problem::QueueFull { waiting: WORDS_CAPACITY });
        }
        self.write_text();
        let unseen = self.commands.take_unseen_pictures().into_iter().map(LiveInput::Image);
        let mut shown: Vec<_> = unseen.map(Effect::Show).collect();
        let Some(channel) = echo else {
            shown.push(Effect::Show(LiveInput::Text(text)));
            return self.shared.record_for(asker, Step { changes: Vec::new(), effects: shown });
        };
        let attachments = self.commands.take_recent_files(channel);
        let event = Event::UserText { text: text.clone(), attachments };
        if channel != Channel::Chat || !self.voice.is_open() {
            shown.push(Effect::Show(LiveInput::Text(text)));
            let mut step = Step { changes: Vec::new(), effects: shown };
            self.shared.append(&mut step, channel, event);
            return self.shared.record_for(asker, step);
        }
        let place = self.commands.block_for_text();
        shown.extend([LiveInput::Place(place), LiveInput::Text(text)].map(Effect::Show));
        self.record(Step { changes: Vec::new(), effects: shown });
        let until = Instant::now() + LONGEST_UNWRITTEN;
        self.voice.unwritten = Some(Unwritten { asker, channel, event, place, until });
    }

    /// The model has reported everything that was said before this text.
    pub(super) fn on_placed_text(&mut self, place: u64) {
        if self.voice.unwritten.as_ref().is_some_and(|text| text.place == place) {
            self.write_text();
        }
    }

    /// Stores the text that waits: what was said before it has been reported, or is not going to be.
    pub(in crate::session) fn write_text(&mut self) {
        let Some(Unwritten { asker, channel, event, .. }) = self.voice.unwritten.take() else {
            return;
        };
        self.commands.unblock();
        let mut step = Step::default();
        self.shared.append(&mut step, channel, event);
        self.shared.record_for(asker, step);
    }

    /// A file was stored. An open live model sees a picture at once. A picture opens no model, because it may be meant
    /// for the chat.
    pub(in crate::session) fn on_stored(
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
            self.commands.add_recent_file(channel, path, picture);
        }
        self.shared.append(&mut step, channel, Event::UserFile(note));
        self.shared.record_for(asker, step);
    }

    pub(in crate::session) fn on_image_stored(
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
        self.shared.record_for(asker, Step { changes: Vec::new(), effects });
    }
}
