//! The processes of one agent: starts shell commands below a supervisor, passes their output on as lines, and finds
//! what a gateway that is gone has left running.

mod lines;
pub(super) mod tree;

use super::program::Program;
use super::supervised::{self, Pipes, Supervised};
use super::{AgentOutput, AgentStdin, Place};
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use std::io;
use std::process::ExitStatus;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::process::ChildStdin;
use tokio::sync::mpsc;
use tree::{Process, Search};

/// All that a command sees of our environment.
pub(super) const PASSED_ON: [&str; 3] = ["PATH", "HOME", "LANG"];
/// A process whose parents are gone is recognised by this variable, which it inherited.
pub(super) const MARK: &str = "KAKEHASHI_AGENT";

/// The shell commands of one agent, one at a time, each below a supervisor of its own. Dropping it ends the command
/// that runs.
#[derive(Debug)]
pub(super) struct Processes {
    program: Program,
    place: Place,
    running: Option<Running>,
}

#[derive(Debug)]
struct Running {
    supervised: Supervised,
    /// The supervisor ends with it, so it stays open until then.
    _stdin: ChildStdin,
}

/// How often the gateway looks whether everything is gone while it ends.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// The machine, or a limit of the service, refuses another process.
const NO_PROCESS: &str = "the server may not start another process now; try again, and ask the operator to raise its \
                          limit of processes if it happens again";

#[derive(Debug, thiserror::Error)]
pub(super) enum RunError {
    #[error("the command could not be started: {0}")]
    Start(#[source] io::Error),
    #[error("nobody takes the output any more")]
    LinkDropped,
}

impl Processes {
    pub(super) fn new(program: Program, place: Place) -> Self {
        Self { program, place, running: None }
    }

    /// Runs one shell command until it and everything that it started is gone; what it leaves in the background ends
    /// with it. Dropping the future leaves the command running; [`Processes::end`] ends it.
    pub(super) async fn run(
        &mut self,
        command: &str,
        output: &mpsc::Sender<AgentOutput>,
    ) -> Result<Option<ExitStatus>, RunError> {
        let shell = ["sh", "-c", command].map(str::to_owned);
        let (supervised, Pipes { stdin, stdout, stderr }) =
            supervised::spawn(&self.program, &shell, &self.place, AgentStdin::Empty)
                .map_err(RunError::Start)?;
        let running = self.running.insert(Running { supervised, _stdin: stdin });
        let stderr = stderr.into_pipe();
        tokio::try_join!(lines::forward(Some(stdout), output), lines::forward(stderr, output))
            .map_err(|_| RunError::LinkDropped)?;
        let status = running.supervised.gone().await;
        self.running = None;
        Ok(status)
    }

    /// Asks everything to leave, waits a little, then kills what is left. Returns when it is gone.
    pub(super) async fn end(&mut self) {
        if let Some(running) = &mut self.running {
            running.supervised.end();
            // How it ended is of no interest any more.
            let _ = running.supervised.gone().await;
            self.running = None;
        }
    }
}

/// What a limit of processes says by itself is no help to anybody.
pub(super) fn refused(err: io::Error) -> io::Error {
    const REFUSED: [io::ErrorKind; 2] = [io::ErrorKind::WouldBlock, io::ErrorKind::OutOfMemory];
    match err.kind() {
        kind if REFUSED.contains(&kind) => io::Error::new(kind, NO_PROCESS),
        _ => err,
    }
}

/// Members of the group get the signal once, through the group. Whoever is gone already needs none.
pub(super) fn signal_all(group: Option<Pid>, processes: &[Process], signal: Signal) {
    if let Some(group) = group {
        let _ = kill_process_group(group, signal);
    }
    for process in processes.iter().filter(|process| Some(process.group) != group) {
        let _ = kill_process(process.pid, signal);
    }
}

/// Kills everything that agents of this owner have started, in this process or in one that is gone. Reads many files.
pub(super) fn end_all(owner: &str) -> usize {
    let search = Search { variable: format!("{MARK}={owner}."), group: None, known: Vec::new() };
    let found = tree::living(&search);
    signal_all(None, &found, Signal::KILL);
    found.len()
}

/// Returns when no agent of this owner has a process any more. A supervisor has the mark itself and stays until everybody
/// below it is gone, also those who have thrown their environment away.
pub(super) async fn all_gone(owner: &str) {
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

/// Not a secret, only different from every other agent on this machine. It begins with the owner, and no mark
/// begins with another.
pub(super) fn fresh_mark(owner: &str) -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
    format!("{owner}.{}.{now}.{count}.", std::process::id())
}
