//! Starts the gateway's runtime in a way that survives a system which later refuses threads. Threads for blocking work
//! are started in advance, and some are kept alive. Without any such thread, blocking work panics if the system refuses
//! a new one; if all threads are busy, it waits.

use std::io;
use std::panic;
use std::thread;
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};
use tokio::task::spawn_blocking;
use tokio_util::sync::CancellationToken;

/// As many as the store has readers, so that clients are answered while other work waits for the disk.
const SPARE_THREADS: usize = 8;
/// Other threads end after being idle for this long.
const KEPT: Duration = Duration::from_secs(60);
/// Long enough that all jobs overlap, so that each takes its own thread.
const USE: Duration = Duration::from_millis(5);

/// The system refuses the threads that the gateway needs.
#[derive(Debug, thiserror::Error)]
#[error(
    "the system refuses threads or files to this command ({0}); raise its limit of processes (`ulimit -u`, `TasksMax`)"
)]
pub struct NoThreads(io::Error);

/// Tokio panics when the system refuses a thread; this returns an error instead.
pub fn start_runtime() -> Result<Runtime, NoThreads> {
    let hook = panic::take_hook();
    panic::set_hook(Box::new(|_| ()));
    let started = panic::catch_unwind(|| {
        let runtime = Builder::new_multi_thread().enable_all().thread_keep_alive(KEPT).build()?;
        runtime.block_on(async { use_spare_threads() });
        Ok(runtime)
    });
    panic::set_hook(hook);
    let refused = |_| Err(io::Error::from(io::ErrorKind::WouldBlock));
    started.unwrap_or_else(refused).map_err(NoThreads)
}

/// For a short-lived command. It starts no threads of its own, so a limit on processes does not stop it.
pub fn start_small_runtime() -> io::Result<Runtime> {
    let started = Builder::new_current_thread().enable_all().build();
    started.map_err(|err| io::Error::other(NoThreads(err)))
}

/// Uses the spare threads often enough that they do not end.
pub async fn keep_spare_threads(stop: CancellationToken) {
    let mut ticks = tokio::time::interval(KEPT / 3);
    while stop.run_until_cancelled(ticks.tick()).await.is_some() {
        use_spare_threads();
    }
}

fn use_spare_threads() {
    for _ in 0..SPARE_THREADS {
        // Nothing waits for the job.
        drop(spawn_blocking(|| thread::sleep(USE)));
    }
}
