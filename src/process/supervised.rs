//! The gateway's side of one supervised agent: its pipes, its last words and its end.

use super::line::{LineError, Lines};
use super::tree::{self, Process};
use super::{AgentHome, Launcher, MARK, Place, ProgramStdin};
use rustix::process::{Pid, Signal, kill_process};
use std::collections::VecDeque;
use std::io;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::time::{Instant, sleep, timeout_at};
use tracing::warn;

/// A supervisor needs two seconds for those who do not leave by themselves, and longer on a busy machine. It must not be
/// killed while it works, because then nobody knows when the rest is gone; one that needs this long is broken.
const END_LIMIT: Duration = Duration::from_secs(60);
/// How long a killed process may take to be gone.
const KILL_LIMIT: Duration = Duration::from_secs(10);
/// A supervisor that was just started may not listen yet, and an order to kill that is ignored until then is lost.
const SIGNAL_AGAIN: Duration = Duration::from_millis(50);
/// How often one looks for it.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// Longer lines on stderr are not shown.
const LONGEST_COMPLAINT: usize = 64 * 1024;
/// How much of stderr is remembered.
const LAST_WORDS: usize = 4 * 1024;

/// The process; dropping it closes nothing that is not closed already, but its supervisor ends with its stdin.
#[derive(Debug)]
pub(crate) struct Supervised {
    child: Child,
    pid: Option<Pid>,
    mark: String,
    /// What it was told, and until when it has to be gone.
    ending: Option<(Signal, Instant)>,
}

#[derive(Debug)]
pub(crate) struct Pipes {
    /// Closing it ends the agent and everything it started.
    pub(crate) stdin: ChildStdin,
    pub(crate) stdout: ChildStdout,
    pub(crate) stderr: Stderr,
}

pub(crate) fn spawn(
    launcher: &Launcher,
    command: &[String],
    place: &Place,
    stdin: ProgramStdin,
) -> io::Result<(Supervised, Pipes)> {
    let home = place.home.as_ref();
    home.map_or(Ok(()), AgentHome::make)?;
    let mark = super::fresh_mark(&launcher.owner);
    let mut supervisor = Command::new(&launcher.supervisor);
    supervisor.arg("supervise");
    if stdin == ProgramStdin::Empty {
        supervisor.arg("--no-input");
    }
    if let Some(confinement) = &place.confinement {
        let confinement = confinement.to_text().map_err(io::Error::other)?;
        supervisor.arg("--confinement").arg(confinement);
    }
    supervisor.arg("--").args(command).current_dir(&place.directory);
    supervisor.env_clear().envs(launcher.environment(home)).env(MARK, &mark);
    supervisor.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    // Not killed on drop: the supervisor has to outlive everybody below it.
    let mut child = supervisor.process_group(0).spawn().map_err(super::refused)?;
    let pid = child.id().and_then(|pid| Pid::from_raw(i32::try_from(pid).ok()?));
    let missing = || io::Error::other("a pipe is missing");
    let pipes = Pipes {
        stdin: child.stdin.take().ok_or_else(missing)?,
        stdout: child.stdout.take().ok_or_else(missing)?,
        stderr: Stderr::new(child.stderr.take().ok_or_else(missing)?),
    };
    Ok((Supervised { child, pid, mark, ending: None }, pipes))
}

impl Supervised {
    /// Everything is asked to leave, and killed two seconds later.
    pub(crate) fn end(&mut self) {
        self.tell(Signal::TERM);
    }

    /// Everything is killed now.
    pub(crate) fn kill(&mut self) {
        self.tell(Signal::QUIT);
    }

    fn tell(&mut self, signal: Signal) {
        let limit = self.ending.map_or_else(|| Instant::now() + END_LIMIT, |(_, limit)| limit);
        self.ending = Some((signal, limit));
        self.signal(signal);
        self.wake_up();
    }

    /// An agent without a box may have stopped its supervisor.
    fn wake_up(&self) {
        self.signal(Signal::CONT);
    }

    pub(crate) fn interrupt(&self) {
        self.signal(Signal::INT);
    }

    /// Everybody below the supervisor. Empty, once that has ended.
    pub(crate) async fn family(&self) -> Vec<Process> {
        let Some(supervisor) = self.pid.filter(|_| self.child.id().is_some()) else {
            return Vec::new();
        };
        // A failed join means that the runtime is ending.
        tokio::task::spawn_blocking(move || tree::below(supervisor)).await.unwrap_or_default()
    }

    /// A child that was not waited for keeps its number, so the signal reaches nobody else.
    fn signal(&self, signal: Signal) {
        if let (Some(pid), Some(_)) = (self.pid, self.child.id()) {
            // A supervisor that is about to exit needs no signal.
            let _ = kill_process(pid, signal);
        }
    }

    /// Returns when the supervisor has ended. Dropping the future loses nothing.
    pub(crate) async fn exited(&mut self) {
        // One that cannot be waited for is over too.
        let _ = self.child.wait().await;
    }

    /// Returns when nothing of the agent is left, which takes a limited time once it was told to end. Dropping the
    /// future loses nothing.
    pub(crate) async fn gone(&mut self) -> Option<ExitStatus> {
        let status = match self.ending {
            Some((signal, limit)) => self.ended(signal, limit).await,
            None => self.child.wait().await.ok(),
        };
        self.sweep().await;
        status
    }

    async fn ended(&mut self, signal: Signal, limit: Instant) -> Option<ExitStatus> {
        loop {
            let again = limit.min(Instant::now() + SIGNAL_AGAIN);
            match timeout_at(again, self.child.wait()).await {
                Ok(status) => return status.ok(),
                // Who asks politely asks once: everybody may do something about each request.
                Err(_) if Instant::now() < limit => {
                    if signal == Signal::QUIT {
                        self.signal(signal);
                    }
                }
                Err(_) => {
                    let limit = END_LIMIT.as_secs();
                    warn!(pid = ?self.pid, limit, "a supervisor did not end its agent in time and is killed");
                    return None;
                }
            }
        }
    }

    /// Kills what a supervisor has left that was killed itself; usually there is nothing.
    async fn sweep(&self) {
        let variable = format!("{MARK}={}", self.mark);
        let group = self.child.id().and(self.pid);
        let search = tree::Search { variable, group, known: Vec::new() };
        let limit = Instant::now() + KILL_LIMIT;
        loop {
            let search = search.clone();
            let swept = tokio::task::spawn_blocking(move || {
                let left = tree::living(&search);
                super::signal_all(None, &left, Signal::KILL);
                left.len()
            });
            match swept.await {
                Ok(left) if left > 0 && Instant::now() < limit => sleep(LOOK_EVERY).await,
                Ok(0) => return,
                Ok(processes) => {
                    warn!(processes, "killed processes of an agent are still there");
                    return;
                }
                // The runtime is ending; the next gateway looks again.
                Err(_) => return,
            }
        }
    }
}

/// How a program ended, for people.
pub(crate) fn described(status: Option<ExitStatus>) -> String {
    match status.and_then(|status| status.code()) {
        Some(code @ 129..=159) => format!("ended by signal {}", code - 128),
        Some(code) => format!("exit status {code}"),
        None => "ended without a status".to_owned(),
    }
}

/// What an agent writes for people; the last of it is kept.
#[derive(Debug)]
pub(crate) struct Stderr {
    lines: Option<Lines<ChildStderr>>,
    last: VecDeque<String>,
    size: usize,
}

impl Stderr {
    fn new(pipe: ChildStderr) -> Self {
        let lines = Some(Lines::new(pipe, LONGEST_COMPLAINT));
        Self { lines, last: VecDeque::new(), size: 0 }
    }

    /// Of an agent that has none.
    pub(crate) fn none() -> Self {
        Self { lines: None, last: VecDeque::new(), size: 0 }
    }

    /// The pipe itself, for those who want all that comes and remember nothing.
    pub(crate) fn into_pipe(self) -> Option<ChildStderr> {
        self.lines.map(Lines::into_pipe)
    }

    /// The next line; waits for ever when there is none to come. Dropping the future loses nothing.
    pub(crate) async fn next(&mut self) -> String {
        while let Some(lines) = &mut self.lines {
            match lines.next().await {
                Ok(Some(line)) => {
                    let line = String::from_utf8_lossy(&line).into_owned();
                    self.remember(line.clone());
                    return line;
                }
                Err(LineError::TooLong { .. }) => lines.discard(),
                Ok(None) | Err(LineError::Read(_)) => self.lines = None,
            }
        }
        std::future::pending().await
    }

    /// Takes what is still there of a program that is gone.
    pub(crate) async fn drain(&mut self, limit: Duration) {
        let Some(mut lines) = self.lines.take() else { return };
        let until = Instant::now() + limit;
        while let Ok(Ok(Some(line))) = timeout_at(until, lines.next()).await {
            self.remember(String::from_utf8_lossy(&line).into_owned());
        }
        let rest = String::from_utf8_lossy(lines.rest()).into_owned();
        if !rest.is_empty() {
            self.remember(rest);
        }
    }

    fn remember(&mut self, line: String) {
        self.size += line.len();
        self.last.push_back(line);
        while self.size > LAST_WORDS && self.last.len() > 1 {
            self.size -= self.last.pop_front().map_or(0, |line| line.len());
        }
    }

    /// The last lines, the most recent at the end.
    pub(crate) fn last_words(&self) -> String {
        let words = self.last.iter().map(|line| line.trim()).filter(|line| !line.is_empty());
        let words: Vec<&str> = words.collect();
        let words = words.join("\n");
        let start =
            words.char_indices().map(|(at, _)| at).find(|at| words.len() - at <= LAST_WORDS);
        words[start.unwrap_or(0)..].to_owned()
    }
}
