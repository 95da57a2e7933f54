//! States of files that can be had again.

use super::{AgentSlot, RunId};

/// Before what a backup was made.
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

/// A backup as a list tells it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BackupNote {
    /// Brings it back; see [`RestorePoint::Named`].
    pub name: String,
    /// `None`: around some run, of whatever session. Projects without git are backed up so.
    pub reason: Option<BackupReason>,
    /// Local time, as in lists of files.
    pub made: String,
    /// Whose files; `None` for the project's own.
    pub agent: Option<AgentSlot>,
}

/// The backups of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BackupList {
    /// What can be brought back on this agent's channel; `None`: all of them.
    pub agent: Option<AgentSlot>,
    /// Newest first.
    pub backups: Vec<BackupNote>,
}

/// What is to come back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RestorePoint {
    /// The state before this run.
    Before(RunId),
    /// The backup of this name.
    Named(String),
}
