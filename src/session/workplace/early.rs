//! Starts slow agents when a socket attaches to their channel, so that the first request need not wait for them. Errors
//! are shown only when there is a request.

use super::Workplaces;
use super::agent_home::{AgentPlaces, PlaceUser};
use super::site::{Site, SiteError, WorkplaceRequest};
use crate::message::{AgentSlot, Channel, RunId, Slots, View};
use crate::session::job::JobDone;
use crate::session::run::Runs;
use crate::session::shared::Shared;
use crate::session::sockets::Sockets;
use std::path::Path;

/// Workplaces that are made ahead of a request, by slot.
#[derive(Debug, Default)]
pub(super) struct EarlyPlaces {
    placing: Slots<Placing>,
    /// What a place that was made for nobody lacks; told with the first request.
    lacks: Slots<Vec<String>>,
}

#[derive(Debug, Clone, Copy, Default)]
enum Placing {
    #[default]
    No,
    Alone,
    /// This run begins when the workplace is made: nothing may change there while an agent works.
    Awaited(RunId),
}

impl EarlyPlaces {
    fn of(&mut self, slot: AgentSlot) -> &mut Placing {
        &mut self.placing[slot]
    }

    /// What the workplace of this agent lacks and the user was not told yet.
    pub(super) fn lacks(&mut self, slot: AgentSlot) -> &mut Vec<String> {
        &mut self.lacks[slot]
    }

    /// The session moved to another project, which has other workplaces.
    pub(super) fn forget_lacks(&mut self) {
        self.lacks = Default::default();
    }

    /// True: the workplace is being made, and the run is prepared afterwards.
    pub(super) fn defer(&mut self, slot: AgentSlot, run: RunId) -> bool {
        let placing = self.of(slot);
        match placing {
            Placing::No => false,
            Placing::Alone | Placing::Awaited(_) => {
                *placing = Placing::Awaited(run);
                true
            }
        }
    }
}

impl Workplaces {
    /// Makes the workplace and starts the agent ahead of a request, if a socket sees its channel.
    pub(in crate::session) fn warm_up(
        &mut self,
        shared: &mut Shared,
        runs: &Runs,
        sockets: &Sockets,
        slot: AgentSlot,
    ) {
        let is_placing = !matches!(self.early.of(slot), Placing::No);
        if !shared.env.config.agents_early
            || is_placing
            || !is_watched(sockets, slot)
            || !runs.could_be_warm(slot)
        {
            return;
        }
        *self.early.of(slot) = Placing::Alone;
        let request = WorkplaceRequest::of(shared, slot);
        let project = request.files().project().to_owned();
        shared.jobs.spawn(async move {
            let turn = request.turn().await;
            let found = turn.blocking(move || site(&request)).await;
            JobDone::Placed { slot, project, site: found.unwrap_or_default() }
        });
    }

    pub(in crate::session) fn on_placed(
        &mut self,
        shared: &mut Shared,
        runs: &mut Runs,
        sockets: &Sockets,
        slot: AgentSlot,
        project: &Path,
        site: Option<Site>,
    ) {
        let is_elsewhere = project != shared.env.files.project();
        if !is_elsewhere && let Some(site) = site.as_ref().filter(|site| site.is_fresh()) {
            *self.early.lacks(slot) = site.lacks();
        }
        match std::mem::take(self.early.of(slot)) {
            Placing::Awaited(run) => self.prepare(shared, runs, slot, run),
            Placing::No | Placing::Alone if is_elsewhere => {
                self.warm_up(shared, runs, sockets, slot);
            }
            Placing::No | Placing::Alone => {
                // The socket may have left, a request or another agent may have come meanwhile.
                if let Some(site) = site
                    && is_watched(sockets, slot)
                    && runs.could_be_warm(slot)
                {
                    let user = PlaceUser::Agent(slot);
                    let place = AgentPlaces::of(shared).place(&site, runs.row(slot), user);
                    runs.start_ahead(slot, place);
                }
            }
        }
    }
}

fn is_watched(sockets: &Sockets, slot: AgentSlot) -> bool {
    sockets.count_view(View::One(Channel::Agent(slot))) > 0
}

/// The workplace of the next run, made if it does not exist yet. Blocking.
fn site(request: &WorkplaceRequest) -> Option<Site> {
    match request.worktree() {
        Ok(_) | Err(SiteError::NoWork) => {
            let repository = request.repository().ok()??;
            let place = repository.worktree_path(request.session(), request.slot());
            repository.ensure(request.session(), request.slot(), &place).ok().map(Site::Worktree)
        }
        Err(SiteError::IsShared) => Some(request.shared(request.repository().ok()?)),
        Err(_) => None,
    }
}
