//! Work on agents' places: making them, looking at them, taking results over. It costs threads, processes of git and the
//! disk, so there is a bounded amount of it at the same time, and sessions take turns. Work that is not wanted any more
//! before its turn comes is never begun.

use crate::message::SessionId;
use crate::metrics::{Held, Metrics};
use crate::task::{FairLimits, FairPermit, FairQueue};
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use tokio::task::{JoinHandle, spawn_blocking};

/// Work on one project is mostly work of one repository, which does one thing at a time: more than this of it would only
/// fill threads. At least two, so that a session never waits for another one alone.
const PER_PROJECT: std::ops::RangeInclusive<usize> = 2..=8;
/// Projects that are busy at the same time without any session noticing another.
const BUSY_PROJECTS: usize = 4;

/// One for all sessions.
#[derive(Debug, Clone)]
pub(crate) struct PlaceWork {
    queue: FairQueue<SessionId, PathBuf>,
    metrics: Metrics,
}

/// A turn, which ends when this and everything that was begun with it is over.
#[derive(Debug, Clone)]
pub(in crate::session) struct Turn(
    #[expect(dead_code, reason = "held, not used")] Arc<(Permit, Held)>,
);

type Permit = FairPermit<SessionId, PathBuf>;

impl PlaceWork {
    pub(in crate::session) fn new(metrics: &Metrics) -> Self {
        let cores = thread::available_parallelism().map_or(1, NonZero::get);
        let per_project = cores.clamp(*PER_PROJECT.start(), *PER_PROJECT.end());
        let limits = FairLimits {
            total: per_project * BUSY_PROJECTS,
            per_group: per_project,
            per_owner: per_project / 2,
        };
        Self { queue: FairQueue::new(limits), metrics: metrics.clone() }
    }

    /// Waits for the session's turn. Dropping the future gives the place in the queue up.
    pub(super) async fn turn(&self, session: &SessionId, project: &Path) -> Turn {
        let waiting = self.metrics.place_work_waits();
        let permit = self.queue.enter(session.clone(), project.to_owned()).await;
        drop(waiting);
        Turn(Arc::new((permit, self.metrics.place_work_begun())))
    }

    /// Waits until nothing is under way for this session.
    pub(in crate::session) async fn is_over(&self, session: &SessionId) {
        self.queue.idle(session).await;
    }
}

impl Turn {
    /// Blocking work within this turn. It holds the turn until it is done, also if nobody waits for it any more.
    pub(in crate::session) fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> JoinHandle<T> {
        let turn = self.clone();
        spawn_blocking(move || {
            let done = work();
            drop(turn);
            done
        })
    }
}
