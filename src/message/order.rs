//! Where an event stands: in its channel, in its session, and in time.

use std::time::{SystemTime, UNIX_EPOCH};

/// Identifies one history of a session. It changes when stored events may be lost, so that cursors from before are not
/// used as positions in what is left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Epoch(pub u64);

/// Number of an event in its channel's log; the first is 1, and 0 means "nothing seen yet".
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Seq(pub u64);

/// Number of an event in the session's history over all channels. It rises with each event; 0 means "nothing seen yet".
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Order(pub u64);

/// When an event happened, in milliseconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct EventTime(pub i64);

impl EventTime {
    pub fn now() -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
    }
}
