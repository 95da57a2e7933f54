//! The playout as device and conversation share it. Never locked by a device's callback.

use super::playout::Playout;
use std::sync::{Mutex, PoisonError};
use tokio::sync::Notify;

#[derive(Debug, Default)]
pub(super) struct Speaker {
    playout: Mutex<Playout>,
    drained: Notify,
}

impl Speaker {
    pub(super) fn with<T>(&self, look: impl FnOnce(&mut Playout) -> T) -> T {
        look(&mut self.playout.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// So many samples have left the speaker.
    pub(super) fn advance(&self, samples: usize) {
        if self.with(|playout| playout.advance(samples)) {
            self.drained.notify_one();
        }
    }

    /// Waits until the last sound has been heard.
    pub(super) async fn drained(&self) {
        self.drained.notified().await;
    }
}
