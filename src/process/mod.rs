//! Programs that the gateway starts: each below a supervisor, at its place, with its own environment. Nothing that such
//! a program starts outlives it. Knows neither what the programs are for nor who wants them.

mod home;
mod launcher;
mod line;
mod place;
mod supervised;
mod supervisor;
pub(crate) mod tree;

pub use home::AgentHome;
pub use launcher::Launcher;
pub(crate) use line::{LineError, Lines};
pub use place::Place;
pub(crate) use supervised::{Pipes, Stderr, Supervised, described, spawn};
pub(crate) use supervisor::{NOT_STARTED, signal_each};
pub use supervisor::{ProgramStdin, become_agent, become_command, supervise};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tree::{Process, Search};

/// A process whose parents are gone is recognised by this variable, which it inherited.
const MARK: &str = "KAKEHASHI_AGENT";

/// How often the gateway looks whether everything is gone while it ends.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// The machine, or a limit of the service, refuses another process.
const NO_PROCESS: &str = "the server may not start another process now; try again, and ask the operator to raise its \
                          limit of processes if it happens again";

/// The mark of all programs of one data directory.
pub fn owner(data: &Path) -> Arc<str> {
    let mut hasher = DefaultHasher::new();
    data.hash(&mut hasher);
    format!("{:016x}", hasher.finish()).into()
}

/// Kills everything that programs of this owner have started, in this process or in one that is gone, and returns how
/// many processes that were. Reads many files, so it blocks.
pub fn end_all(owner: &str) -> usize {
    let search = Search { variable: format!("{MARK}={owner}."), group: None, known: Vec::new() };
    let found = tree::living(&search);
    signal_all(None, &found, Signal::KILL);
    found.len()
}

/// Returns when no program of this owner has a process any more. A supervisor has the mark itself and stays until
/// everything below it is gone, also processes that have cleared their environment.
pub async fn all_gone(owner: &str) {
    let search = Search { variable: format!("{MARK}={owner}."), group: None, known: Vec::new() };
    loop {
        let search = search.clone();
        // A failed join means that the runtime is ending.
        match tokio::task::spawn_blocking(move || tree::any_root(&search)).await {
            Ok(true) => tokio::time::sleep(LOOK_EVERY).await,
            Ok(false) | Err(_) => return,
        }
    }
}

/// Replaces the system's text about a process limit by one that says what to do.
fn refused(err: io::Error) -> io::Error {
    const REFUSED: [io::ErrorKind; 2] = [io::ErrorKind::WouldBlock, io::ErrorKind::OutOfMemory];
    match err.kind() {
        kind if REFUSED.contains(&kind) => io::Error::new(kind, NO_PROCESS),
        _ => err,
    }
}

/// Members of the group get the signal once, through the group. A process that has ended needs none.
fn signal_all(group: Option<Pid>, processes: &[Process], signal: Signal) {
    if let Some(group) = group {
        let _ = kill_process_group(group, signal);
    }
    for process in processes.iter().filter(|process| Some(process.group) != group) {
        let _ = kill_process(process.pid, signal);
    }
}

/// A mark that no other program on this machine has. It is no secret. It begins with the owner's mark, and no mark is
/// the beginning of another.
fn fresh_mark(owner: &str) -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
    format!("{owner}.{}.{now}.{count}.", std::process::id())
}
