//! Named, tracked tasks: the gateway spawns every task through this module.

mod doorbell;
mod fair_queue;
mod runtime;

pub use doorbell::Doorbell;
pub use fair_queue::{FairLimits, FairPermit, FairQueue};
pub use runtime::{NoThreads, keep_spare_threads, start_runtime, start_small_runtime};

use futures_util::FutureExt;
use std::future::Future;
use std::panic::AssertUnwindSafe;
use tokio::task::JoinHandle;
use tokio_util::task::TaskTracker;
use tracing::error;

/// Tracks the tasks that must end before the process does.
#[derive(Debug, Clone, Default)]
pub struct Tasks {
    tracker: TaskTracker,
}

impl Tasks {
    /// Starts a task that [`Tasks::finish`] waits for.
    pub fn spawn<F>(&self, name: &'static str, future: F) -> JoinHandle<()>
    where
        F: Future<Output = ()> + Send + 'static,
    {
        self.tracker.spawn(guarded(name, future))
    }

    /// Waits until every task has ended; the owner of the stop token must cancel it first.
    pub async fn finish(&self) {
        self.tracker.close();
        self.tracker.wait().await;
    }
}

/// Starts an untracked task, which ends by itself when the queues it serves are dropped.
pub fn spawn<F>(name: &'static str, future: F) -> JoinHandle<()>
where
    F: Future<Output = ()> + Send + 'static,
{
    tokio::spawn(guarded(name, future))
}

/// A panic ends only its own task; it is logged with the task's name.
async fn guarded<F>(name: &'static str, future: F)
where
    F: Future<Output = ()> + Send + 'static,
{
    if AssertUnwindSafe(future).catch_unwind().await.is_err() {
        error!(task = name, "task panicked; what it served ends with it");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_panic_ends_its_own_task_only() {
        let tasks = Tasks::default();
        let (sender, receiver) = tokio::sync::oneshot::channel();
        tasks.spawn("clumsy", async { panic!("on purpose") });
        tasks.spawn("careful", async move {
            let _ = sender.send("still here");
        });
        assert_eq!(receiver.await, Ok("still here"));
        tasks.finish().await;
    }
}
