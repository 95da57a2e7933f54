//! An agent that is a program on this machine: which one, with what environment, and whether it is there.

use super::process::PASSED_ON;
use super::{AgentHome, AgentLink, Place, acp, command};
use crate::message::{AgentKind, AgentRow};
use crate::which::which;
use std::ffi::OsString;
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

    /// The only variables that the agent sees, besides its mark.
    pub(super) fn environment(&self, home: Option<&AgentHome>) -> Vec<(OsString, OsString)> {
        let always = PASSED_ON.into_iter().chain(["TERM"]).map(str::to_owned);
        let always = always.filter_map(|name| Some((name.clone().into(), std::env::var_os(name)?)));
        let listed = self.row.env.iter().filter_map(|entry| match entry.split_once('=') {
            Some((name, value)) => Some((name.into(), value.into())),
            None => Some((entry.into(), std::env::var_os(entry)?)),
        });
        let own = home.into_iter().flat_map(AgentHome::variables);
        always.chain(own).chain(listed).collect()
    }
}

/// Where the row's command is found, if it is there and may be run.
pub fn installed(row: &AgentRow) -> Option<PathBuf> {
    which(row.command.first()?)
}

pub(super) fn start(program: &Arc<Program>, place: &Place) -> AgentLink {
    match &program.row.kind {
        AgentKind::Acp => acp::start(Arc::clone(program), place.clone()),
        AgentKind::Command(format) => {
            command::start(Arc::clone(program), format.clone(), place.clone())
        }
    }
}
