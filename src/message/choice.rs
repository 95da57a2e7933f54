//! What has become of agents' work: what a run changed, how results compare, and which of them is kept.

use super::{AgentSet, AgentSlot, RestorePoint, RunId, RunOutcome, Usage};
use std::sync::Arc;

/// So many paths that are in no result are named.
pub const MOST_LEFT_OUT: usize = 100;

/// How one file differs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileChange {
    /// Below the project, with forward slashes.
    pub path: String,
    /// What it was called before.
    pub old_path: Option<String>,
    pub status: ChangeStatus,
    /// Lines; `None` for what has no lines.
    pub added: Option<u32>,
    pub removed: Option<u32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangeStatus {
    Added,
    Modified,
    Deleted,
    Renamed,
    /// A file became a link, or the other way round.
    TypeChanged,
}

impl ChangeStatus {
    pub const ALL: [Self; 5] =
        [Self::Added, Self::Modified, Self::Deleted, Self::Renamed, Self::TypeChanged];

    pub fn name(self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Modified => "modified",
            Self::Deleted => "deleted",
            Self::Renamed => "renamed",
            Self::TypeChanged => "type_changed",
        }
    }
}

/// What one run of an agent has come to.
#[derive(Debug, Clone, PartialEq)]
pub struct RunSummary {
    pub run: RunId,
    /// Whose work it is: the directory. `None`: told by an earlier version, which did not say so.
    pub project: Option<String>,
    /// `None`: told by an earlier version, which did not say so.
    pub place: Option<PlaceKind>,
    pub outcome: RunOutcome,
    pub seconds: f64,
    /// As far as the agent tells.
    pub usage: Option<Usage>,
    pub files: Vec<FileChange>,
    /// There are more files than these.
    pub more: bool,
    /// Files that other agents of the session have changed too.
    pub overlaps: Vec<Overlap>,
    /// What is in the agent's own place and in no result: see [`ChosenOutcome::Done`].
    pub left_out: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Overlap {
    pub path: String,
    /// The others.
    pub agents: AgentSet,
}

/// What is to become of an agent's work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Choice {
    /// It is taken over into the project, or onto a branch of its own.
    Accept(Option<Branch>),
    /// The agent's place is as the project is.
    Discard,
    /// The agent's place or the project is as it was then, as a whole or one file of it.
    Restore { point: RestorePoint, path: Option<String> },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Branch {
    pub name: String,
    /// Of the commit.
    pub message: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChoiceKind {
    Accept,
    Discard,
    Restore,
}

impl ChoiceKind {
    pub const ALL: [Self; 3] = [Self::Accept, Self::Discard, Self::Restore];

    pub fn name(self) -> &'static str {
        match self {
            Self::Accept => "accept",
            Self::Discard => "discard",
            Self::Restore => "restore",
        }
    }
}

impl Choice {
    pub fn kind(&self) -> ChoiceKind {
        match self {
            Self::Accept(_) => ChoiceKind::Accept,
            Self::Discard => ChoiceKind::Discard,
            Self::Restore { .. } => ChoiceKind::Restore,
        }
    }
}

/// What came of a choice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chosen {
    pub agent: AgentSlot,
    /// Of whose work; as in [`RunSummary::project`].
    pub project: Option<String>,
    pub kind: ChoiceKind,
    pub outcome: ChosenOutcome,
}

impl Chosen {
    /// Nothing is left to choose: the project has it, or nobody wants it.
    pub fn settles(&self) -> bool {
        match (self.kind, &self.outcome) {
            (ChoiceKind::Accept, ChosenOutcome::Done { branch, .. }) => branch.is_none(),
            (ChoiceKind::Discard, ChosenOutcome::Done { .. }) => true,
            (ChoiceKind::Accept | ChoiceKind::Discard | ChoiceKind::Restore, _) => false,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChosenOutcome {
    Done {
        /// What has changed, in the project or in the agent's place.
        files: Vec<String>,
        branch: Option<String>,
        /// What these files were right before, by its name; `None` if none of them was overwritten.
        backup: Option<String>,
        /// What no result and no backup of the agent's place holds: repositories within it, files that are too large or
        /// not to be read. It is still there. At most [`MOST_LEFT_OUT`] are named.
        left_out: Vec<String>,
    },
    /// Nothing was changed: these files do not go together with the project.
    Conflicts(Vec<Conflict>),
    /// Nothing was changed.
    Failed { reason: String },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflict {
    pub path: String,
    /// In git's words, such as `contents` or `modify/delete`.
    pub kind: String,
}

/// One agent's work beside the others'.
#[derive(Debug, Clone, PartialEq)]
pub struct ComparisonRow {
    pub agent: AgentSlot,
    /// Who works there, by its name in the settings.
    pub name: String,
    pub place: PlaceKind,
    /// The last run and what came of it; one that goes on has no outcome yet.
    pub run: Option<RunId>,
    pub outcome: Option<RunOutcome>,
    pub seconds: Option<f64>,
    pub usage: Option<Usage>,
    pub files: usize,
    pub added: u64,
    pub removed: u64,
    pub check: Option<Check>,
    /// Files that others have changed too.
    pub overlaps: Vec<Overlap>,
    /// What is in its place and in no result.
    pub left_out: Vec<String>,
    /// Why there is nothing to compare.
    pub problem: Option<String>,
}

/// Where an agent works.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlaceKind {
    /// In a copy of its own.
    Worktree,
    /// In the project itself.
    Shared,
}

impl PlaceKind {
    pub const ALL: [Self; 2] = [Self::Worktree, Self::Shared];

    pub fn name(self) -> &'static str {
        match self {
            Self::Worktree => "worktree",
            Self::Shared => "shared",
        }
    }
}

/// How the operator's check command ended in an agent's place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    /// `None`: it did not end in time, or was killed.
    pub code: Option<i32>,
    /// The end of what it said.
    pub output: String,
}

/// An agent's work against the state that it began with.
#[derive(Debug, Clone, PartialEq)]
pub struct DiffNote {
    pub agent: AgentSlot,
    /// `None`: of all files.
    pub path: Option<String>,
    pub files: Arc<[FileChange]>,
    /// Unified.
    pub text: String,
    /// There is more than this.
    pub truncated: bool,
}
