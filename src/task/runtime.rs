//! The gateway's runtime, started so that a system which refuses threads cannot end it later: threads for blocking work
//! are there before anybody needs them, and some of them stay. Blocking work that finds no thread at all, and for which
//! the system refuses a new one, panics; work that finds all of them busy waits for one.

use std::io;
use std::panic;
use std::thread;
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};
use tokio::task::spawn_blocking;
use tokio_util::sync::CancellationToken;

/// As many as the store has readers, so that clients are answered while others wait for their disk.
const SPARE_THREADS: usize = 8;
/// Further threads end when they had nothing to do for so long.
const KEPT: Duration = Duration::from_secs(60);
/// Long enough for all of them to begin, so that each takes a thread of its own.
const USE: Duration = Duration::from_millis(5);

/// The gateway cannot start.
#[derive(Debug, thiserror::Error)]
#[error(
    "the system refuses threads or files to this command ({0}); raise its limit of processes (`ulimit -u`, `TasksMax`)"
)]
pub struct NoThreads(io::Error);

/// Tokio panics when the system refuses a thread to it; here that is an error.
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

/// For a command that does one thing and ends. It has no threads of its own, so a limit of processes does not stop it.
pub fn start_small_runtime() -> io::Result<Runtime> {
    let started = Builder::new_current_thread().enable_all().build();
    started.map_err(|err| io::Error::other(NoThreads(err)))
}

/// Uses them so often that they never end.
pub async fn keep_spare_threads(stop: CancellationToken) {
    let mut ticks = tokio::time::interval(KEPT / 3);
    while stop.run_until_cancelled(ticks.tick()).await.is_some() {
        use_spare_threads();
    }
}

fn use_spare_threads() {
    for _ in 0..SPARE_THREADS {
        // Nobody waits for its end.
        drop(spawn_blocking(|| thread::sleep(USE)));
    }
}
