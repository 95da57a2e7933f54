//! What a place of work means to an agent's process: its directory, its home, and the box around it.

use super::actor::Session;
use super::site::Site;
use crate::files::Files;
use crate::message::{AgentKind, AgentRow, CommandFormat};
use crate::provider::agent::{self, Checker, Place, Program};
use std::sync::Arc;

/// Makes places of sites.
#[derive(Debug, Clone)]
pub(super) struct Quarters {
    files: Files,
}

impl Quarters {
    pub(super) fn place(&self, site: &Site) -> Place {
        Place::open(site.directory(&self.files))
    }
}

impl Session {
    pub(super) fn quarters(&self) -> Quarters {
        Quarters { files: self.env.files.clone() }
    }

    /// The operator's check command, if there is one.
    pub(super) fn checker(&self) -> Option<Checker> {
        let check = self.env.config.check.as_ref()?;
        let row = AgentRow {
            name: "check".to_owned(),
            label: "check".to_owned(),
            kind: AgentKind::Command(CommandFormat::Text),
            command: check.command.clone(),
            env: check.env.clone(),
            mode: None,
            mode_option: None,
            model_option: None,
            models: Vec::new(),
            network: check.network,
            install: String::new(),
        };
        let config = &self.env.config;
        let (supervisor, owner) = (config.supervisor.clone(), agent::owner(&config.data));
        let program = Program { row, supervisor, owner, model: None, resume: None };
        Some(Checker { program: Arc::new(program), limit: check.limit })
    }
}
