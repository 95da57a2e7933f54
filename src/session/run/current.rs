//! A run on its lane: how far it is, what it has said, what is still to be found out about it.

use crate::message::{
    AgentState, FileNote, PlaceKind, Run, RunId, RunOutcome, SourceNote, ToolState, Usage,
};
use crate::provider::agent::AgentEnd;
use crate::session::workplace::site::{Before, Changed};
use std::collections::VecDeque;
use std::net::IpAddr;
use tokio::task::AbortHandle;
use tokio::time::Instant;

/// A run in the queue of its lane.
#[derive(Debug)]
pub(super) struct Waiting {
    pub(super) run: Run,
    /// The order of the command that requested it; 0 for a run that an earlier process left.
    pub(super) order: u64,
    /// When the user asked for it.
    pub(super) asked: Instant,
    /// Where that user is.
    pub(super) address: Option<IpAddr>,
}

/// Who asked for a run: the order of the command, and where its user is.
#[derive(Debug, Clone, Copy)]
pub(in crate::session) struct Requester {
    pub(in crate::session) order: u64,
    pub(in crate::session) address: Option<IpAddr>,
}

/// The current run of a lane.
#[derive(Debug)]
pub(super) struct Current {
    pub(super) run: Run,
    pub(super) order: u64,
    pub(super) phase: Phase,
    pub(super) answer: String,
    /// The answer stopped at the model's output limit.
    pub(super) cut_off: bool,
    /// The part of the answer that has not been sent to sockets yet.
    pub(super) fresh: String,
    /// The incomplete last line of the answer.
    pub(super) line: String,
    /// The part of the agent's thoughts that has not been shown yet.
    pub(super) thought: String,
    pub(super) changed: Vec<String>,
    /// Id, state and name last reported of each tool call.
    pub(super) tools: VecDeque<(String, ToolState, String)>,
    pub(super) state: AgentState,
    /// Usage of this run alone.
    pub(super) usage: Option<Usage>,
    pub(super) started: Instant,
    /// When the user asked for it; earlier than `started` if it has waited.
    pub(super) asked: Instant,
    /// Files that tools read for the answer.
    pub(super) sources: Vec<SourceNote>,
    /// Files that this run made; announced when it ends.
    pub(super) made: Vec<FileNote>,
    /// Where the agent works, once that is known.
    pub(super) place: Option<PlaceKind>,
    /// The state of the workplace before this run.
    pub(super) before: Option<Box<Before>>,
    /// The preparation, or the wait for the file backup. Aborted when the run is over.
    pub(super) preparing: Option<AbortHandle>,
    /// The user was told that the run has no file backup.
    pub(super) is_unguarded: bool,
    /// Changes found on disk, once they are known.
    pub(super) files: Changed,
    /// Inspections of its files that are still under way.
    pub(super) looking: usize,
    /// How the run ended, while it waits for the inspections.
    pub(super) ending: Option<Ending>,
}

impl Current {
    /// A picture can be found twice: reported by the agent, and among the changed files.
    pub(super) fn add_made(&mut self, note: FileNote) {
        keep_once(&mut self.made, note);
    }

    /// Whether the run was told to stop, or has stopped.
    pub(super) fn is_stopping(&self) -> bool {
        self.ending.is_some() || matches!(self.phase, Phase::Stopping { .. })
    }
}

/// Time and usage of a run that goes on.
#[derive(Debug)]
pub(in crate::session) struct RunSoFar {
    pub(in crate::session) run: RunId,
    /// `None` while the workplace is not known.
    pub(in crate::session) place: Option<PlaceKind>,
    pub(in crate::session) seconds: f64,
    pub(in crate::session) usage: Option<Usage>,
}

/// What a finished run has done, for its summary.
#[derive(Debug)]
pub(in crate::session) struct FinishedRun {
    pub(in crate::session) run: RunId,
    pub(in crate::session) place: Option<PlaceKind>,
    pub(in crate::session) seconds: f64,
    pub(in crate::session) usage: Option<Usage>,
    pub(in crate::session) changed: Changed,
}

/// How a run ended, with the reason if it failed.
#[derive(Debug)]
pub(in crate::session) enum Ending {
    Finished,
    Cancelled,
    Failed(String),
    /// This many of its tool calls have failed, and that has locked the chat.
    Locked {
        failures: usize,
    },
}

/// Why a run has failed that has locked the chat.
pub(super) const TOO_MANY_FAILURES: &str = "too many tool calls failed";

impl Ending {
    /// The answer of the run for whoever waits for it, or why there is none.
    pub(super) fn answer(&self, text: &str) -> Result<String, String> {
        match self {
            Self::Finished => Ok(text.to_owned()),
            Self::Failed(reason) => Err(reason.clone()),
            Self::Locked { .. } => Err(TOO_MANY_FAILURES.to_owned()),
            Self::Cancelled => Err("the work was cancelled".to_owned()),
        }
    }

    pub(super) fn outcome(&self) -> RunOutcome {
        match self {
            Self::Finished => RunOutcome::Finished,
            Self::Cancelled => RunOutcome::Cancelled,
            Self::Failed(_) | Self::Locked { .. } => RunOutcome::Failed,
        }
    }
}

impl From<AgentEnd> for Ending {
    fn from(end: AgentEnd) -> Self {
        match end {
            AgentEnd::Finished => Self::Finished,
            AgentEnd::Cancelled => Self::Cancelled,
            AgentEnd::Failed { reason } => Self::Failed(reason),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    /// Waiting for its commit; an agent also waits for its workplace.
    Starting,
    Running,
    Stopping {
        deadline: Instant,
    },
}

/// The newer note about a file replaces the older one.
fn keep_once(made: &mut Vec<FileNote>, note: FileNote) {
    let known = made.iter_mut().find(|made| made.path.is_some() && made.path == note.path);
    match known {
        Some(known) => *known = note,
        None => made.push(note),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(path: Option<&str>, name: &str) -> FileNote {
        FileNote { name: name.into(), path: path.map(Into::into), thumbnail: None }
    }

    #[test]
    fn a_file_that_is_found_twice_is_told_once() {
        let mut made = Vec::new();
        for (path, name) in [(Some("a"), "1"), (None, "2"), (Some("a"), "3"), (None, "4")] {
            keep_once(&mut made, note(path, name));
        }
        assert_eq!(made, [note(Some("a"), "3"), note(None, "2"), note(None, "4")]);
    }
}
