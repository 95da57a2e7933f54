//! The live conversation: the microphone's sound, texts and pictures go to the live model, and what it says comes back.
//! Owns the link to the model and what waits for it. Knows neither sockets nor runs: it is told who holds the
//! microphone, and asks the session to give an agent work.

pub(super) mod errand;
mod handlers;
pub(super) mod hearing;
pub(super) mod link;
pub(super) mod microphone;
mod unstored;

use self::hearing::Hearing;
use self::link::Leaving;
use self::microphone::{Fed, Microphone};
use self::unstored::UnstoredText;
use crate::message::Seq;
use crate::provider::live::{LiveConfig, LiveLink, Speaker};
use tokio::time::Instant;

#[derive(Debug)]
pub(super) struct Voice {
    config: LiveConfig,
    link: Option<LiveLink>,
    /// A closed model whose last output is still read.
    leaving: Option<Leaving>,
    /// A new model needs the chat up to here.
    told_upto: Seq,
    /// A text that the model has and the chat has not: it is stored when its position in the conversation is known.
    unstored: Option<UnstoredText>,
    microphone: Microphone,
    speaker: Speaker,
    hearing: Hearing,
    /// `Partly`: input waits at the microphone until the model has room.
    behind: Fed,
    /// After a failure, sound alone opens no model before this time.
    rest_until: Option<Instant>,
    /// The last failure that the user was told of, and when.
    failed: Option<(String, Instant)>,
    /// Failures in a row.
    failures: u32,
}

impl Voice {
    pub(super) fn new(
        config: LiveConfig,
        microphone: Microphone,
        speaker: Speaker,
        hearing: Hearing,
    ) -> Self {
        microphone.listener_is(config.name());
        Self {
            config,
            link: None,
            leaving: None,
            told_upto: Seq(0),
            unstored: None,
            microphone,
            speaker,
            hearing,
            behind: Fed::Everything,
            rest_until: None,
            failed: None,
            failures: 0,
        }
    }
}

/// Sockets may keep the microphone for a while, but the model ends with the session.
impl Drop for Voice {
    fn drop(&mut self) {
        self.microphone.give_to(None);
        self.close();
    }
}
