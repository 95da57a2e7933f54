//! A text that the live model has already and the chat has not: it is stored after everything that was said before it.

use super::Voice;
use crate::message::{Channel, Event};
use crate::session::job::Asker;
use std::time::Duration;
use tokio::time::Instant;

/// How long storing a text may wait. When a text interrupts a reply, the model reports within this time how much of the
/// reply was heard. After that the text is stored at once, because somebody waits to see it.
const LONGEST_UNSTORED: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(super) struct UnstoredText {
    pub(super) asker: Asker,
    pub(super) channel: Channel,
    pub(super) event: Event,
    place: u64,
    until: Instant,
}

impl Voice {
    /// The text waits until the model has reported everything that was said before this `place`.
    pub(super) fn hold_text(&mut self, asker: Asker, channel: Channel, event: Event, place: u64) {
        let until = Instant::now() + LONGEST_UNSTORED;
        self.unstored = Some(UnstoredText { asker, channel, event, place, until });
    }

    pub(super) fn holds_text_at(&self, place: u64) -> bool {
        self.unstored.as_ref().is_some_and(|text| text.place == place)
    }

    pub(super) fn take_text(&mut self) -> Option<UnstoredText> {
        self.unstored.take()
    }

    /// When the text that waits is stored at the latest.
    pub(in crate::session) fn text_deadline(&self) -> Option<Instant> {
        self.unstored.as_ref().map(|text| text.until)
    }
}
