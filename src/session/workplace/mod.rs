//! Workplaces: where an agent works, the backups around its runs, and what becomes of its results: compare, accept,
//! discard, restore. Owns the results that are not decided about, and workplaces that are made ahead of a request.
//! Knows when a run begins and ends, but not what its agent does.

pub(super) mod agent_home;
pub(super) mod choice;
mod comparison;
mod early;
mod handlers;
pub(super) mod inspect;
pub(super) mod kept;
pub(super) mod place_work;
pub(super) mod planted;
mod restore;
mod results;
pub(super) mod run_backup;
pub(super) mod safeguard;
pub(super) mod site;

use self::early::EarlyPlaces;
use self::results::{Results, project_name};
use crate::files::Files;
use crate::message::{AgentSlot, RunSummary};
use tokio::sync::watch;

#[derive(Debug)]
pub(super) struct Workplaces {
    /// Tells handles and readers which project the session works on; the same files as in its `Env`.
    project: watch::Sender<Files>,
    results: Results,
    early: EarlyPlaces,
}

impl Workplaces {
    /// Results are rebuilt from stored summaries, oldest first.
    pub(super) fn new(
        project: watch::Sender<Files>,
        summaries: Vec<(AgentSlot, RunSummary)>,
    ) -> Self {
        let name = project_name(&project.borrow());
        let results = Results::restored(name, summaries);
        Self { project, results, early: EarlyPlaces::default() }
    }

    /// The session changes to another project. Results in the former one are kept.
    pub(super) fn move_to_project(&mut self, files: &Files) {
        self.results.move_to(project_name(files));
        self.project.send_replace(files.clone());
        self.early.forget_lacks();
    }

    /// Whether the agent's own workplace has changes that are neither accepted nor discarded.
    pub(super) fn has_open_work(&self, slot: AgentSlot) -> bool {
        self.results.is_open(slot)
    }

    /// Estimated memory in bytes, mostly paths.
    pub(super) fn bytes(&self) -> usize {
        self.results.bytes()
    }
}
