//! The processes of one agent: starts shell commands, passes their output on as lines, and ends everything that
//! came out of them, also what moved into a session of its own.

mod lines;
pub(super) mod tree;

use super::{AgentHome, AgentOutput, Place};
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use std::io;
use std::process::{ExitStatus, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::process::{Child, Command};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep};
use tree::{Process, Search};

/// All that a command sees of our environment.
pub(super) const PASSED_ON: [&str; 3] = ["PATH", "HOME", "LANG"];
/// A process whose parents are gone is recognised by this variable, which it inherited.
pub(super) const MARK: &str = "KAKEHASHI_AGENT";
/// Time to leave after TERM.
const GRACE: Duration = Duration::from_secs(2);
/// After KILL only the kernel can still be busy with a process.
const LAST_WAIT: Duration = Duration::from_secs(1);
const POLL: Duration = Duration::from_millis(50);

/// Everything one agent started. Dropping it kills; [`Processes::end`] is the polite way.
#[derive(Debug)]
pub(super) struct Processes {
    place: Place,
    mark: String,
    /// Not reaped before its pipes are drained, so its number stays ours meanwhile.
    running: Option<Child>,
    known: Vec<Process>,
    any_started: bool,
}

#[derive(Debug, thiserror::Error)]
pub(super) enum RunError {
    #[error("the command could not be started: {0}")]
    Start(#[source] io::Error),
    #[error("the end of the command was not seen: {0}")]
    Wait(#[source] io::Error),
    #[error("nobody takes the output any more")]
    LinkDropped,
}

impl Processes {
    pub(super) fn new(place: Place, owner: &str) -> Self {
        Self {
            place,
            mark: fresh_mark(owner),
            running: None,
            known: Vec::new(),
            any_started: false,
        }
    }

    /// Runs one shell command until both of its pipes are closed and it has exited. Dropping the future leaves
    /// the command running; [`Processes::end`] finds it.
    pub(super) async fn run(
        &mut self,
        command: &str,
        output: &mpsc::Sender<AgentOutput>,
    ) -> Result<ExitStatus, RunError> {
        let child =
            self.running.insert(spawn(command, &self.place, &self.mark).map_err(RunError::Start)?);
        self.any_started = true;
        let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
        tokio::try_join!(lines::forward(stdout, output), lines::forward(stderr, output))
            .map_err(|_| RunError::LinkDropped)?;
        let status = child.wait().await.map_err(RunError::Wait)?;
        self.running = None;
        Ok(status)
    }

    /// Asks everything to leave, waits a little, then kills what is left. Takes about three seconds at most.
    pub(super) async fn end(&mut self) {
        if !self.any_started {
            return;
        }
        self.signal(Signal::TERM).await;
        if !self.left_within(GRACE).await {
            self.kill().await;
        }
        self.running = None;
        self.known.clear();
        self.any_started = false;
    }

    async fn left_within(&mut self, time: Duration) -> bool {
        let deadline = Instant::now() + time;
        loop {
            self.reap();
            if self.find().await == 0 && self.running.is_none() {
                return true;
            }
            if Instant::now() >= deadline {
                return false;
            }
            sleep(POLL).await;
        }
    }

    /// Repeats itself, because a process may have forked between the look and the signal.
    async fn kill(&mut self) {
        let deadline = Instant::now() + LAST_WAIT;
        while self.signal(Signal::KILL).await > 0 && Instant::now() < deadline {
            sleep(POLL).await;
            self.reap();
        }
        self.reap();
    }

    /// Signals everything that lives and returns how many that were.
    async fn signal(&mut self, signal: Signal) -> usize {
        // Looked up first: once a parent is gone, its children are harder to find.
        let found = self.find().await;
        signal_all(self.group(), &self.known, signal);
        found
    }

    async fn find(&mut self) -> usize {
        let search = self.search();
        // Reads a few files per process of the machine. A failed join means that the runtime is ending; then
        // dropping `self` looks again.
        let living = tokio::task::spawn_blocking(move || tree::living(&search)).await;
        self.known = living.unwrap_or_default();
        self.known.len()
    }

    fn search(&self) -> Search {
        let variable = format!("{MARK}={}", self.mark);
        Search { variable, group: self.group(), known: self.known.clone() }
    }

    fn group(&self) -> Option<Pid> {
        let pid = self.running.as_ref()?.id()?;
        Pid::from_raw(i32::try_from(pid).ok()?)
    }

    fn reap(&mut self) {
        if self.running.as_mut().is_some_and(|child| !matches!(child.try_wait(), Ok(None))) {
            self.running = None;
        }
    }
}

impl Drop for Processes {
    fn drop(&mut self) {
        if self.any_started {
            signal_all(self.group(), &tree::living(&self.search()), Signal::KILL);
        }
    }
}

fn spawn(command: &str, place: &Place, mark: &str) -> io::Result<Child> {
    let passed_on = PASSED_ON.iter().filter_map(|name| Some((name, std::env::var_os(name)?)));
    let home = place.home.as_ref();
    home.map_or(Ok(()), AgentHome::make)?;
    let mut shell = match &place.confinement {
        Some(confinement) => {
            let text = confinement.to_text().map_err(io::Error::other)?;
            let mut launcher = Command::new(&confinement.launcher);
            launcher.arg("boxed").arg(text).args(["--", "sh"]);
            launcher
        }
        None => Command::new("sh"),
    };
    shell
        .arg("-c")
        .arg(command)
        .current_dir(&place.directory)
        .env_clear()
        .envs(passed_on)
        .envs(home.into_iter().flat_map(AgentHome::variables))
        .env(MARK, mark)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .kill_on_drop(true)
        .spawn()
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

/// Not a secret, only different from every other agent on this machine. It begins with the owner, and no mark
/// begins with another.
pub(super) fn fresh_mark(owner: &str) -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
    format!("{owner}.{}.{now}.{count}.", std::process::id())
}
