//! Starts slow agents when a socket attaches to their channel, so that the first request need not wait for them. Errors
//! are shown only when there is a request.

use super::lane::Lane;
use crate::message::{AgentSlot, Channel, RunId, Slots, View};
use crate::session::actor::Session;
use crate::session::job::JobDone;
use crate::session::workplace::agent_home::Tenant;
use crate::session::workplace::site::{Site, SiteError, SiteWish};
use std::path::Path;

/// Workplaces that are made ahead of a request, by slot.
#[derive(Debug, Default)]
pub(in crate::session) struct Warming {
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

impl Warming {
    fn of(&mut self, slot: AgentSlot) -> &mut Placing {
        &mut self.placing[slot]
    }

    /// What the workplace of this agent lacks and the user was not told yet.
    pub(in crate::session) fn lacks(&mut self, slot: AgentSlot) -> &mut Vec<String> {
        &mut self.lacks[slot]
    }

    /// The session moved to another project, which has other workplaces.
    pub(in crate::session) fn forget_lacks(&mut self) {
        self.lacks = Default::default();
    }

    /// True: the workplace is being made, and the run is prepared afterwards.
    pub(in crate::session) fn defer(&mut self, slot: AgentSlot, run: RunId) -> bool {
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

impl Session {
    /// Makes the workplace and starts the agent ahead of a request, if a socket sees its channel.
    pub(in crate::session) fn warm_up(&mut self, slot: AgentSlot) {
        let is_placing = !matches!(self.warming.of(slot), Placing::No);
        if !self.shared.env.config.agents_early
            || is_placing
            || !self.is_watched(slot)
            || !self.lane_of(slot).could_be_warm()
        {
            return;
        }
        *self.warming.of(slot) = Placing::Alone;
        let wish = SiteWish::new(&self.shared.env, &self.shared.id, slot, &self.shared.settings);
        let project = wish.files().project().to_owned();
        self.shared.jobs.spawn(async move {
            let turn = wish.turn().await;
            let found = turn.blocking(move || site(&wish)).await;
            JobDone::Placed { slot, project, site: found.unwrap_or_default() }
        });
    }

    pub(in crate::session) fn on_placed(
        &mut self,
        slot: AgentSlot,
        project: &Path,
        site: Option<Site>,
    ) {
        if project == self.shared.env.files.project()
            && let Some(site) = site.as_ref().filter(|site| site.is_fresh())
        {
            *self.warming.lacks(slot) = site.lacks();
        }
        match std::mem::take(self.warming.of(slot)) {
            Placing::Awaited(run) => self.prepare(slot, run),
            Placing::No | Placing::Alone if project != self.shared.env.files.project() => {
                self.warm_up(slot);
            }
            Placing::No | Placing::Alone => {
                // The socket may have left, a request or another agent may have come meanwhile.
                if let Some(site) = site
                    && self.is_watched(slot)
                    && self.lane_of(slot).could_be_warm()
                {
                    self.start_early(slot, &site);
                }
            }
        }
    }

    fn start_early(&mut self, slot: AgentSlot, site: &Site) {
        let place = self.quarters().place(site, self.lane_of(slot).row(), Tenant::Agent(slot));
        let lane = &mut self.lanes[slot];
        lane.work_at(place);
        let resume = self.conversations.of(lane);
        lane.warm(resume);
    }

    fn is_watched(&self, slot: AgentSlot) -> bool {
        self.sockets.count_view(View::One(Channel::Agent(slot))) > 0
    }

    fn lane_of(&self, slot: AgentSlot) -> &Lane {
        &self.lanes[slot]
    }
}

/// The workplace of the next run, made if it does not exist yet. Blocking.
fn site(wish: &SiteWish) -> Option<Site> {
    match wish.worktree() {
        Ok(_) | Err(SiteError::NoWork) => {
            let repository = wish.repository().ok()??;
            let place = repository.worktree_path(wish.session(), wish.slot());
            repository.ensure(wish.session(), wish.slot(), &place).ok().map(Site::Worktree)
        }
        Err(SiteError::IsShared) => Some(wish.shared(wish.repository().ok()?)),
        Err(_) => None,
    }
}
