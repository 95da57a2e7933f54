//! Where an agent works: its directory, its own home, and the box around it.

use super::home::AgentHome;
use crate::sandbox::Confinement;
use std::path::PathBuf;
use std::sync::Arc;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    pub directory: PathBuf,
    /// Where it keeps its own things; `None`: in ours.
    pub home: Option<AgentHome>,
    /// `None`: it is not boxed.
    pub confinement: Option<Arc<Confinement>>,
    /// Told in the channel whenever the agent is started.
    pub notice: Option<String>,
}

impl Place {
    /// Without a home and a box of its own.
    pub fn open(directory: impl Into<PathBuf>) -> Self {
        Self { directory: directory.into(), home: None, confinement: None, notice: None }
    }

    /// The directory as an agent is told it: without a slash at its end and without `.` in it. Agents look up their
    /// conversations by this text.
    pub fn cwd(&self) -> PathBuf {
        self.directory.components().collect()
    }
}
