//! Whole sessions: listing, export, deletion, settings, files for clients; and when one session leaves memory.
//! Knows that the other rooms can be busy, moved to another project and ended, but not how they do it.

pub(super) mod archive;
pub(super) mod erase;
mod handlers;
pub(super) mod idle;
pub(super) mod library;
pub(super) mod projects;
pub(super) mod sessions;
pub(super) mod settings;

use self::erase::DeletionReply;
use self::idle::{IdleSessions, Idleness};
use std::time::Duration;
use tokio::time::Instant;

/// How long a session stays in memory, and whether it is to be deleted.
#[derive(Debug)]
pub(super) struct Lifetime {
    idleness: Idleness,
    /// Set when the session is to be deleted.
    deletion: Option<DeletionReply>,
}

impl Lifetime {
    pub(super) fn new(sessions: &IdleSessions) -> Self {
        Self { idleness: Idleness::new(sessions), deletion: None }
    }

    /// A socket has attached.
    pub(super) fn note_arrival(&mut self) {
        self.idleness.note_arrival();
    }

    /// Returns when this session has to leave memory because others need the room. Dropping the future loses nothing.
    pub(super) async fn has_to_leave(&mut self) {
        self.idleness.has_to_leave().await;
    }

    /// The actor ends after this message. A second deletion is dropped; its sender asks again when the first is done.
    pub(super) fn delete(&mut self, reply: DeletionReply) {
        self.deletion.get_or_insert(reply);
    }

    pub(super) fn take_deletion(&mut self) -> Option<DeletionReply> {
        self.deletion.take()
    }

    /// The session is in use and stays in memory.
    fn note_busy(&mut self) {
        self.idleness.note_busy();
    }

    /// When the session is unloaded if it stays idle.
    fn end(&mut self, unload: Duration, bytes: impl FnOnce() -> usize) -> Instant {
        self.idleness.end(unload, bytes)
    }
}
