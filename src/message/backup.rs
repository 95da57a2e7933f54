//! Snapshots and file backups that can be restored.

use super::{AgentSlot, RunId};

/// The operation that a backup was made before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BackupReason {
    Run(RunId),
    Accept,
    Discard,
    Restore,
}

impl BackupReason {
    pub fn name(self) -> &'static str {
        match self {
            Self::Run(_) => "run",
            Self::Accept => "accept",
            Self::Discard => "discard",
            Self::Restore => "restore",
        }
    }

    pub fn run(self) -> Option<RunId> {
        match self {
            Self::Run(run) => Some(run),
            Self::Accept | Self::Discard | Self::Restore => None,
        }
    }
}

/// One entry in a list of backups.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BackupNote {
    /// Used to restore it; see [`RestorePoint::Named`].
    pub name: String,
    /// `None` for file backups: they belong to the project, not to one session, and do not record their run.
    pub reason: Option<BackupReason>,
    /// Local time, in the format of the file lists.
    pub made: String,
    /// The agent whose workplace was backed up; `None` for the project.
    pub agent: Option<AgentSlot>,
}

/// The backups of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BackupList {
    /// Lists only what can be restored on this agent's channel; `None`: all backups.
    pub agent: Option<AgentSlot>,
    /// Newest first.
    pub backups: Vec<BackupNote>,
}

/// What to restore.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RestorePoint {
    /// The state before this run.
    Before(RunId),
    /// The backup of this name.
    Named(String),
}
