//! Limits the work on workplaces: making them, looking at them, accepting results. That work costs threads, git
//! processes and disk time, so the amount at the same time is bounded and sessions take turns. Work that is dropped
//! before its turn never begins.

use crate::message::SessionId;
use crate::metrics::{Held, Metrics};
use crate::task::{FairLimits, FairPermit, FairQueue};
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use tokio::task::{JoinHandle, spawn_blocking};

/// Concurrent work on one project. Most of it is in one repository, which does one thing at a time, so more would only
/// fill threads. At least two, so that one session alone cannot make another one wait.
const PER_PROJECT: std::ops::RangeInclusive<usize> = 2..=8;
/// Projects that can be busy at the same time before they slow each other down.
const BUSY_PROJECTS: usize = 4;

/// One queue for all sessions.
#[derive(Debug, Clone)]
pub(crate) struct PlaceWork {
    queue: FairQueue<SessionId, PathBuf>,
    metrics: Metrics,
}

/// A session's turn. It ends when the last clone is dropped, so it lasts as long as the work that was started in it.
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

    /// Waits for the session's turn. Dropping the future leaves the queue.
    pub(super) async fn turn(&self, session: &SessionId, project: &Path) -> Turn {
        let waiting = self.metrics.place_work_waits();
        let permit = self.queue.enter(session.clone(), project.to_owned()).await;
        drop(waiting);
        Turn(Arc::new((permit, self.metrics.place_work_begun())))
    }

    /// Waits until no work is under way for this session.
    pub(in crate::session) async fn is_over(&self, session: &SessionId) {
        self.queue.idle(session).await;
    }
}

impl Turn {
    /// Runs blocking work within this turn. The work holds the turn until it is done, also if nobody waits for it any
    /// more.
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

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt;

    #[test]
    fn many_projects_do_not_make_more_work_than_the_machine_takes() {
        let work = PlaceWork::new(&Metrics::new());
        let turn = |number: u128| {
            let (session, project) = (SessionId::from_random(number), format!("/{number}"));
            work.turn(&session, Path::new(&project)).now_or_never()
        };
        let turns: Vec<_> = (0..1_000).filter_map(turn).collect();
        let cores = thread::available_parallelism().map_or(1, NonZero::get);
        let per_project = cores.clamp(*PER_PROJECT.start(), *PER_PROJECT.end());
        assert_eq!(turns.len(), per_project * BUSY_PROJECTS);
        drop(turns);
        assert!(turn(1_000).is_some(), "they were given back");
    }
}
