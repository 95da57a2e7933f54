//! Git repositories that an agent creates in the shared project. Their settings could run programs for whoever uses git
//! there next, so they are moved out of the project during the run and at its end, and the user is told.

use super::site::{Site, SiteWish};
use crate::message::{Channel, Event, RunId};
use crate::session::actor::Session;
use crate::session::job::JobDone;
use crate::session::journal::Step;
use crate::session::run::lanes::LaneId;
use crate::workplace::{GitLayouts, SetAside};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::time::sleep;

/// Shortest pause between two searches. A pause also lasts at least `PAUSE_FACTOR` times as long as the last search.
const SHORTEST_PAUSE: Duration = Duration::from_millis(500);
const PAUSE_FACTOR: u32 = 20;

/// A repeated search for new repositories during a run.
#[derive(Debug, Clone)]
pub(in crate::session) struct RepositoryWatch {
    channel: Channel,
    run: RunId,
    known: Arc<GitLayouts>,
    wish: SiteWish,
    pause: Duration,
}

impl Session {
    /// Does nothing for an agent with its own copy: nobody else uses git there.
    pub(super) fn watch_for_repositories(&mut self, channel: Channel, run: RunId, site: &Site) {
        let (Site::Shared(shared), Channel::Agent(slot)) = (site, channel) else { return };
        let (known, wish) = (Arc::clone(&shared.layouts), self.wish(slot));
        let pause = SHORTEST_PAUSE;
        self.shared.jobs.spawn(look(RepositoryWatch { channel, run, known, wish, pause }));
    }

    pub(in crate::session) fn on_looked_for_repositories(
        &mut self,
        watch: RepositoryWatch,
        moved: Vec<SetAside>,
    ) {
        self.tell_set_aside(watch.channel, &moved);
        let current =
            LaneId::of(watch.channel).and_then(|lane_id| self.lanes[lane_id].current.as_ref());
        // The look at its end is another one.
        if current.is_some_and(|current| current.run.id == watch.run && current.before.is_some()) {
            self.shared.jobs.spawn(look(watch));
        }
    }

    pub(super) fn tell_set_aside(&mut self, channel: Channel, moved: &[SetAside]) {
        let mut step = Step::default();
        for SetAside { path, place } in moved {
            let place = place.display().to_string();
            let values = [("path", path.as_str()), ("place", &place)];
            let line =
                self.shared.env.language.get().say("notice", "repository_set_aside", &values);
            self.shared.append(&mut step, channel, Event::RunLine(line));
        }
        self.shared.record_changes(step);
    }
}

async fn look(mut watch: RepositoryWatch) -> JobDone {
    sleep(watch.pause).await;
    let (known, aside) = (Arc::clone(&watch.known), watch.wish.aside());
    let turn = watch.wish.turn().await;
    let began = Instant::now();
    let moved = turn.blocking(move || known.set_new_ones_aside(&aside)).await.unwrap_or_default();
    watch.pause = (began.elapsed() * PAUSE_FACTOR).max(SHORTEST_PAUSE);
    JobDone::LookedForRepositories { watch, moved }
}
