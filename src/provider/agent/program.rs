//! An agent that is a program on this machine: which one, with what environment, and whether it is there.

use super::{AgentLink, acp, command};
use crate::process::{Launcher, Place};
use crate::provider::row::{AgentKind, AgentRow};
use crate::sandbox;
use crate::which::first_of;
use std::path::PathBuf;
use std::sync::Arc;

/// All that is needed to start an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    pub row: AgentRow,
    /// Our own binary, which supervises it.
    pub supervisor: PathBuf,
    /// Marks every process, so that the next gateway finds what this one could not end.
    pub owner: Arc<str>,
    /// The model to work with, by the agent's own name; `None`: as the agent likes.
    pub model: Option<String>,
    /// A conversation of an earlier process to go on with, as [`super::AgentOutput::Opened`] told it.
    pub resume: Option<String>,
}

impl Program {
    pub(super) fn has_approvals(&self) -> bool {
        match self.row.kind {
            AgentKind::Acp => true,
            AgentKind::Command(_) => false,
        }
    }

    /// The row's command, by the name under which its program is installed.
    pub(super) fn command(&self) -> Vec<String> {
        let found = first_of(self.row.names()).map(|(name, _)| name.to_owned());
        let program = found.or_else(|| self.row.command.first().cloned());
        program.into_iter().chain(self.row.command.iter().skip(1).cloned()).collect()
    }

    /// Why a program that is there may not be found in its box, and what to do.
    pub(super) fn box_hint(&self, place: &Place) -> Option<String> {
        place.confinement.as_ref()?;
        let (_, found) = first_of(self.row.names())?;
        let replaced = sandbox::replaced_in(&found)?;
        Some(format!(
            "it is at {}, and its box has a {} of its own, where only the program's own directory is to be seen: \
             install it elsewhere",
            found.display(),
            replaced.display()
        ))
    }

    /// How it is started.
    pub(crate) fn launcher(&self) -> Launcher {
        Launcher {
            supervisor: self.supervisor.clone(),
            owner: Arc::clone(&self.owner),
            variables: self.row.env.clone(),
        }
    }
}

/// Where the row's command is found, if it is there and may be run.
pub fn installed(row: &AgentRow) -> Option<PathBuf> {
    Some(first_of(row.names())?.1)
}

pub(super) fn start(program: &Arc<Program>, place: &Place) -> AgentLink {
    match &program.row.kind {
        AgentKind::Acp => acp::start(Arc::clone(program), place.clone()),
        AgentKind::Command(format) => {
            command::start(Arc::clone(program), format.clone(), place.clone())
        }
    }
}
