//! Git repositories that an agent creates in the shared project. Their settings could run programs for whoever uses git
//! there next, so they are moved out of the project during the run and at its end, and the user is told.

use super::site::{Site, WorkplaceRequest};
use crate::message::{Channel, Event, RunId};
use crate::session::job::JobDone;
use crate::session::journal::Step;
use crate::session::run::Runs;
use crate::session::run::lanes::LaneId;
use crate::session::shared::Shared;
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
    lane: LaneId,
    run: RunId,
    known: Arc<GitLayouts>,
    request: WorkplaceRequest,
    pause: Duration,
}

/// Does nothing for an agent with its own copy: nobody else uses git there.
pub(super) fn watch(shared: &mut Shared, lane: LaneId, run: RunId, site: &Site) {
    let (Site::Shared(project), LaneId::Agent(slot)) = (site, lane) else { return };
    let (known, request) = (Arc::clone(&project.layouts), WorkplaceRequest::of(shared, slot));
    shared.jobs.spawn(look(RepositoryWatch { lane, run, known, request, pause: SHORTEST_PAUSE }));
}

/// Goes on looking while the run works. The look at its end is another one.
pub(in crate::session) fn on_looked(
    shared: &mut Shared,
    runs: &Runs,
    watch: RepositoryWatch,
    moved: &[SetAside],
) {
    tell_set_aside(shared, watch.lane.channel(), moved);
    if runs.has_workplace(watch.lane, watch.run) {
        shared.jobs.spawn(look(watch));
    }
}

pub(super) fn tell_set_aside(shared: &mut Shared, channel: Channel, moved: &[SetAside]) {
    let mut step = Step::default();
    for SetAside { path, place } in moved {
        let place = place.display().to_string();
        let values = [("path", path.as_str()), ("place", &place)];
        let line = shared.env.language.get().say("notice", "repository_set_aside", &values);
        shared.append(&mut step, channel, Event::RunLine(line));
    }
    shared.record_changes(step);
}

async fn look(mut watch: RepositoryWatch) -> JobDone {
    sleep(watch.pause).await;
    let (known, aside) = (Arc::clone(&watch.known), watch.request.aside());
    let turn = watch.request.turn().await;
    let began = Instant::now();
    let moved = turn.blocking(move || known.set_new_ones_aside(&aside)).await.unwrap_or_default();
    watch.pause = (began.elapsed() * PAUSE_FACTOR).max(SHORTEST_PAUSE);
    JobDone::LookedForRepositories { watch, moved }
}
