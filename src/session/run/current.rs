//! A run on its channel: how far it is, what it has said, what is still to be found out about it.

use crate::message::{AgentState, FileNote, PlaceKind, Run, RunOutcome, ToolState, Usage};
use crate::provider::agent::AgentEnd;
use crate::session::workplace::site::{Before, Changed};
use std::collections::VecDeque;
use tokio::task::AbortHandle;
use tokio::time::Instant;

/// A run that waits for the channel.
#[derive(Debug)]
pub(in crate::session) struct Waiting {
    pub(super) run: Run,
    /// When it was asked for, among the session's commands; 0 for what an earlier process left.
    pub(super) order: u64,
}

/// The run that has the channel.
#[derive(Debug)]
pub(in crate::session) struct Current {
    pub(in crate::session) run: Run,
    pub(super) order: u64,
    pub(super) phase: Phase,
    pub(super) answer: String,
    /// A part of the answer has been told already.
    pub(super) in_parts: bool,
    /// The model had no room for the rest of its answer.
    pub(super) cut_off: bool,
    /// What of the answer is not passed on yet.
    pub(super) fresh: String,
    /// The line of the answer that is not whole yet.
    pub(super) line: String,
    /// What the agent thinks, as far as it is not told yet.
    pub(super) thought: String,
    pub(in crate::session) changed: Vec<String>,
    /// What was last told of each of its tools.
    pub(super) tools: VecDeque<(String, ToolState, String)>,
    pub(super) state: AgentState,
    /// Of this run alone.
    pub(in crate::session) usage: Option<Usage>,
    pub(in crate::session) started: Instant,
    /// Files that this run made, as they will be told.
    pub(super) made: Vec<FileNote>,
    /// Where the agent works, when that is known.
    pub(in crate::session) place: Option<PlaceKind>,
    /// The agent's place before this run.
    pub(in crate::session) before: Option<Box<Before>>,
    /// Its preparation, or the wait for its backup. Nobody needs either when the run is over.
    pub(in crate::session) preparing: Option<AbortHandle>,
    /// There is no backup for it, and its user knows.
    pub(in crate::session) is_unguarded: bool,
    /// What it has changed, when that is known.
    pub(in crate::session) files: Changed,
    /// How many looks at its files are still under way.
    pub(in crate::session) looking: usize,
    /// How it ended, while it waits for them.
    pub(in crate::session) ending: Option<Ending>,
}

impl Current {
    /// A picture can be found twice: told by the agent, and seen among what has changed.
    pub(in crate::session) fn add_made(&mut self, note: FileNote) {
        keep_once(&mut self.made, note);
    }

    /// Whether it is told to stop, or has stopped.
    pub(in crate::session) fn is_stopping(&self) -> bool {
        self.ending.is_some() || matches!(self.phase, Phase::Stopping { .. })
    }
}

/// How a run ended, with what is to be said about it.
#[derive(Debug)]
pub(in crate::session) enum Ending {
    Finished,
    Cancelled,
    Failed(String),
}

impl Ending {
    pub(super) fn outcome(&self) -> RunOutcome {
        match self {
            Self::Finished => RunOutcome::Finished,
            Self::Cancelled => RunOutcome::Cancelled,
            Self::Failed(_) => RunOutcome::Failed,
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
    /// Waiting for its commit.
    Starting,
    Running,
    Stopping {
        deadline: Instant,
    },
}

/// The newer look at a file counts.
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
