//! Results of agents: what a run changed, how results compare, and what the user decided about them.

use super::{AgentSet, AgentSlot, RestorePoint, RunId, RunOutcome, Usage};
use std::sync::Arc;

/// At most this many left-out paths are listed.
pub const MOST_LEFT_OUT: usize = 100;

/// One changed file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileChange {
    /// Relative to the project, with forward slashes.
    pub path: String,
    /// The path before a rename.
    pub old_path: Option<String>,
    pub status: ChangeStatus,
    /// Number of lines; `None` for binary files.
    pub added: Option<u32>,
    pub removed: Option<u32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangeStatus {
    Added,
    Modified,
    Deleted,
    Renamed,
    /// A file became a symlink, or a symlink became a file.
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

/// The result of one run.
#[derive(Debug, Clone, PartialEq)]
pub struct RunSummary {
    pub run: RunId,
    /// The directory of the project. `None`: stored by an earlier version, which did not record it.
    pub project: Option<String>,
    /// `None`: stored by an earlier version, which did not record it.
    pub place: Option<PlaceKind>,
    pub outcome: RunOutcome,
    pub seconds: f64,
    /// As the agent reports it.
    pub usage: Option<Usage>,
    pub files: Vec<FileChange>,
    /// The list of files was cut off.
    pub more: bool,
    /// Files that other agents of the session have changed as well.
    pub overlaps: Vec<Overlap>,
    /// Paths in the agent's workplace that no result contains; see [`ChosenOutcome::Done`].
    pub left_out: Vec<String>,
    /// The agent's whole work after the run. `None`: the run was in the shared project, or its summary was stored by an
    /// earlier version.
    pub version: Option<WorkVersion>,
}

/// Identifies one state of an agent's work: the files it began with and its files now. An accept that names a version
/// is refused if the work has changed since. Opaque to clients.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkVersion(Arc<str>);

impl WorkVersion {
    pub fn new(text: impl Into<Arc<str>>) -> Self {
        Self(text.into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Overlap {
    pub path: String,
    /// The other agents that changed it.
    pub agents: AgentSet,
}

/// What the user decides about an agent's work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Choice {
    /// Merge the work into the project, or commit it to a new branch. `version` is the state that the user has seen;
    /// `None` accepts the current state.
    Accept { branch: Option<Branch>, version: Option<WorkVersion> },
    /// Reset the agent's workplace to the project.
    Discard,
    /// Restore the agent's workplace or the project to an earlier state, all of it or one file.
    Restore { point: RestorePoint, path: Option<String> },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Branch {
    pub name: String,
    /// The commit message.
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
            Self::Accept { .. } => ChoiceKind::Accept,
            Self::Discard => ChoiceKind::Discard,
            Self::Restore { .. } => ChoiceKind::Restore,
        }
    }
}

/// The outcome of a choice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chosen {
    pub agent: AgentSlot,
    /// As in [`RunSummary::project`].
    pub project: Option<String>,
    pub kind: ChoiceKind,
    pub outcome: ChosenOutcome,
}

impl Chosen {
    /// Whether nothing is left to decide: the work is in the project, or was discarded.
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
        /// Files that were changed, in the project or in the agent's workplace.
        files: Vec<String>,
        branch: Option<String>,
        /// Name of the backup of these files, made right before; `None` if nothing was overwritten.
        backup: Option<String>,
        /// Paths in the agent's workplace that no result and no backup contains: nested repositories, and files that
        /// are too large or unreadable. They are still there. At most [`MOST_LEFT_OUT`] are listed.
        left_out: Vec<String>,
    },
    /// Merge conflicts; nothing was changed.
    Conflicts(Vec<Conflict>),
    /// Nothing was changed.
    Failed { reason: String },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflict {
    pub path: String,
    /// git's name for the conflict, such as `contents` or `modify/delete`.
    pub kind: String,
}

/// One agent's row in a comparison.
#[derive(Debug, Clone, PartialEq)]
pub struct ComparisonRow {
    pub agent: AgentSlot,
    /// The agent's name in the settings.
    pub name: String,
    pub place: PlaceKind,
    /// The agent's last run; a run that is still active has no outcome yet.
    pub run: Option<RunId>,
    pub outcome: Option<RunOutcome>,
    pub seconds: Option<f64>,
    pub usage: Option<Usage>,
    pub files: usize,
    pub added: u64,
    pub removed: u64,
    pub check: Option<Check>,
    /// Files that other agents have changed as well.
    pub overlaps: Vec<Overlap>,
    /// Paths in the agent's workplace that no result contains.
    pub left_out: Vec<String>,
    /// `None`: the agent works in the shared project.
    pub version: Option<WorkVersion>,
    /// Why this agent cannot be compared.
    pub problem: Option<String>,
}

/// Where an agent works.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlaceKind {
    /// In its own copy of the project.
    Worktree,
    /// In the shared project.
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

/// Result of the operator's check command in an agent's workplace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    /// Exit code; `None`: the command timed out, was killed, or could not be run.
    pub code: Option<i32>,
    /// The end of its output.
    pub output: String,
}

/// The changes in an agent's workplace.
#[derive(Debug, Clone, PartialEq)]
pub struct DiffNote {
    pub agent: AgentSlot,
    /// `None`: all files.
    pub path: Option<String>,
    pub files: Arc<[FileChange]>,
    /// A unified diff.
    pub text: String,
    /// The diff was cut off.
    pub truncated: bool,
    pub version: WorkVersion,
}
