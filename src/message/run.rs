//! One piece of work on a channel, and how it ends.

use super::Channel;

/// Number of a run, unique within its session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RunId(pub u64);

/// One piece of work on a channel, as it was requested.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    pub id: RunId,
    pub channel: Channel,
    pub origin: RunOrigin,
    pub text: String,
    /// Files that the user sent shortly before, with the paths that clients show.
    pub attachments: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunOrigin {
    /// Typed in the channel's own pane.
    Pane,
    /// Requested from another channel: start and end are reported, and the chat gets the answer.
    Request,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunOutcome {
    Finished,
    Cancelled,
    Failed,
    /// The gateway's process ended during the run.
    Interrupted,
}

impl RunOutcome {
    pub const ALL: [Self; 4] = [Self::Finished, Self::Cancelled, Self::Failed, Self::Interrupted];

    pub fn name(self) -> &'static str {
        match self {
            Self::Finished => "finished",
            Self::Cancelled => "cancelled",
            Self::Failed => "failed",
            Self::Interrupted => "interrupted",
        }
    }
}
