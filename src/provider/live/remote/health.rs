//! Live models that do not work at the moment, so that no conversation waits for them again.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

/// Shared by all conversations.
#[derive(Debug, Clone, Default)]
pub(super) struct Health(Arc<Mutex<HashMap<String, Instant>>>);

impl Health {
    pub(super) fn rest(&self, model: &str, time: Duration) {
        let mut resting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        resting.insert(model.to_owned(), Instant::now() + time);
    }

    /// For how long it still rests, if it does.
    pub(super) fn rest_left(&self, model: &str) -> Option<Duration> {
        let resting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let until = resting.get(model)?;
        Some(until.saturating_duration_since(Instant::now())).filter(|left| !left.is_zero())
    }

    pub(super) fn is_resting(&self, model: &str) -> bool {
        let mut resting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        resting.retain(|_, until| *until > Instant::now());
        resting.contains_key(model)
    }
}
