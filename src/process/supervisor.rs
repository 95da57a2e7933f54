//! The process between the gateway and one agent: our own binary, started again. Whatever the agent leaves behind
//! becomes a child of this process, also what is in a session of its own, so that nothing below it is ever lost.
//!
//! It ends everything when the agent has ended, when it is told to (TERM; QUIT does not wait), and when its stdin
//! has no writer any more, which is how a gateway that was killed looks from here. The signal that the kernel sends
//! at the death of a parent is bound to the thread that started the child, and the gateway's threads come and go.

use super::tree::{self, Process};
use crate::sandbox::{self, BoxError, Confinement, Next, Way};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, getpid, getppid, kill_process, wait};
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;
use tokio::signal::unix::{self, SignalKind, signal};
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep_until};

/// Time to leave after TERM.
const GRACE: Duration = Duration::from_secs(2);
/// What forks while it is killed is killed again.
const AGAIN: Duration = Duration::from_millis(20);
/// The kernel ends a process namespace by itself, and looking for processes would take time from it. This is for the
/// case that somebody is left nevertheless.
const LOOK_AGAIN: Duration = Duration::from_secs(1);
/// What a shell says about a command that it cannot start.
pub(crate) const NOT_STARTED: u8 = 127;
/// We ourselves could not do our work.
const NOT_SUPERVISED: u8 = 126;

/// What the agent reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProgramStdin {
    /// What the gateway writes.
    Passed,
    /// Nothing; programs that take their prompt as an argument would wait for more.
    Empty,
}

/// Runs the command until it and everything that came out of it is gone; the exit code is the command's.
pub fn supervise(command: &[OsString], stdin: ProgramStdin, confinement: Option<&str>) -> ExitCode {
    match run(command, stdin, confinement) {
        Ok(code) => code,
        Err(err) => {
            complain(&format!("the agent cannot be supervised: {err}"));
            ExitCode::from(NOT_SUPERVISED)
        }
    }
}

/// The last step before the agent, in its own process: it is to die with its supervisor, and becomes the command.
pub fn become_agent(supervisor: u32, command: &[OsString], confinement: Option<&str>) -> ExitCode {
    if let Err(err) = die_with_parent() {
        complain(&format!("the agent cannot be bound to its supervisor: {err}"));
        return ExitCode::from(NOT_SUPERVISED);
    }
    let parent = getppid().and_then(|pid| u32::try_from(pid.as_raw_nonzero().get()).ok());
    if parent != Some(supervisor) {
        return ExitCode::from(NOT_SUPERVISED);
    }
    become_command(command, confinement)
}

/// Becomes the command, in its box if it has one.
pub fn become_command(command: &[OsString], confinement: Option<&str>) -> ExitCode {
    let Some((program, arguments)) = command.split_first() else {
        complain("there is no command");
        return ExitCode::from(NOT_STARTED);
    };
    match confinement.map(|text| confine(text, command)) {
        Some(Ok(Next::Become(next))) => replaced_by(next, " in its box"),
        Some(Ok(Next::Hold(first))) => waited(sandbox::hold(first)),
        Some(Ok(Next::Lead(agent))) => waited(sandbox::lead(agent)),
        Some(Err(err)) => {
            complain(&format!("there is no box: {err}"));
            ExitCode::from(NOT_SUPERVISED)
        }
        None => {
            let mut next = Command::new(program);
            next.args(arguments);
            replaced_by(next, "")
        }
    }
}

fn replaced_by(mut next: Command, place: &str) -> ExitCode {
    let err = next.exec();
    complain(&format!("{} cannot be started{place}: {err}", next.get_program().display()));
    ExitCode::from(NOT_STARTED)
}

fn waited(ended: io::Result<ExitCode>) -> ExitCode {
    ended.unwrap_or_else(|err| {
        complain(&format!("there is no box: its processes cannot be started: {err}"));
        ExitCode::from(NOT_SUPERVISED)
    })
}

/// What this process has to do next.
fn confine(text: &str, command: &[OsString]) -> Result<Next, BoxError> {
    let directory =
        std::env::current_dir().map_err(|reason| BoxError::Path { path: ".".into(), reason })?;
    sandbox::enter(&Confinement::from_text(text)?, &directory, command)
}

fn complain(text: &str) {
    // Without a stderr there is nobody to tell; the exit code is all that is left.
    let _ = writeln!(io::stderr(), "{text}");
}

fn run(
    command: &[OsString],
    stdin: ProgramStdin,
    confinement: Option<&str>,
) -> io::Result<ExitCode> {
    adopt_orphans()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        // Listening comes before starting, so that no end is missed.
        let mut signals = Signals::listen()?;
        let gateway = watch_gateway()?;
        let agent = spawn(command, stdin, confinement)?;
        let mut family = Family::new(agent, bounds(confinement));
        release_output()?;
        family.watch(&mut signals, gateway).await;
        Ok(family.exit_code())
    })
}

#[cfg(target_os = "linux")]
fn adopt_orphans() -> io::Result<()> {
    Ok(rustix::process::set_child_subreaper(Some(getpid()))?)
}

#[cfg(target_os = "linux")]
fn die_with_parent() -> io::Result<()> {
    Ok(rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?)
}

/// Elsewhere what left the agent's family is found by its inherited mark only.
#[cfg(not(target_os = "linux"))]
fn adopt_orphans() -> io::Result<()> {
    Ok(())
}

#[cfg(not(target_os = "linux"))]
fn die_with_parent() -> io::Result<()> {
    Ok(())
}

fn spawn(command: &[OsString], stdin: ProgramStdin, confinement: Option<&str>) -> io::Result<Pid> {
    // By this name the binary is found also when it was replaced meanwhile.
    let own =
        if cfg!(target_os = "linux") { "/proc/self/exe".into() } else { std::env::current_exe()? };
    let mut agent = Command::new(own);
    agent.arg("supervise").arg("--child-of").arg(std::process::id().to_string());
    if let Some(confinement) = confinement {
        agent.arg("--confinement").arg(confinement);
    }
    agent.arg("--").args(command);
    if stdin == ProgramStdin::Empty {
        agent.stdin(Stdio::null());
    }
    // Reaped together with everybody else.
    Ok(Pid::from_child(&agent.spawn()?))
}

/// The agent alone holds the pipes, so that the gateway sees when it closes them.
fn release_output() -> io::Result<()> {
    let nowhere = File::options().write(true).open("/dev/null")?;
    rustix::stdio::dup2_stdout(&nowhere)?;
    Ok(rustix::stdio::dup2_stderr(&nowhere)?)
}

/// Told when nobody can write to our stdin any more. What was written is for the agent and stays unread here.
fn watch_gateway() -> io::Result<oneshot::Receiver<()>> {
    let (gone, told) = oneshot::channel();
    std::thread::Builder::new().spawn(move || {
        let stdin = io::stdin();
        loop {
            let mut watched = [PollFd::new(&stdin, PollFlags::empty())];
            match poll(&mut watched, None) {
                Ok(_) if watched[0].revents().is_empty() => (),
                Err(rustix::io::Errno::INTR) => (),
                Ok(_) | Err(_) => break,
            }
        }
        // The receiver is gone only when everything is over.
        let _ = gone.send(());
    })?;
    Ok(told)
}

struct Signals {
    end: unix::Signal,
    kill: unix::Signal,
    interrupt: unix::Signal,
    child: unix::Signal,
}

impl Signals {
    fn listen() -> io::Result<Self> {
        Ok(Self {
            end: signal(SignalKind::terminate())?,
            kill: signal(SignalKind::quit())?,
            interrupt: signal(SignalKind::interrupt())?,
            child: signal(SignalKind::child())?,
        })
    }
}

/// How everybody in the family is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Bounds {
    /// One by one, as they are found.
    None,
    /// Through the holder of their process namespace, which hands signals on and whose end is theirs.
    Namespace,
    /// The end of bubblewrap is the end of their process namespace, but it hands no signals on.
    Bwrap,
}

/// A text that cannot be read makes no box; then there is nobody.
fn bounds(confinement: Option<&str>) -> Bounds {
    let Some(Ok(confinement)) = confinement.map(Confinement::from_text) else {
        return Bounds::None;
    };
    match confinement.means.way {
        Way::Own => Bounds::Namespace,
        Way::Bwrap(_) => Bounds::Bwrap,
        Way::SharedPids | Way::First(_) | Way::Made(_) => Bounds::None,
    }
}

/// The agent and all that came out of it.
struct Family {
    /// In a process namespace the one who holds it.
    agent: Pid,
    bounds: Bounds,
    status: Option<WaitStatus>,
    /// Set once everything was asked to leave.
    kill_at: Option<Instant>,
    is_killing: bool,
    /// The namespace was left to the kernel.
    left_to_kernel: bool,
}

impl Family {
    fn new(agent: Pid, bounds: Bounds) -> Self {
        Self {
            agent,
            bounds,
            status: None,
            kill_at: None,
            is_killing: false,
            left_to_kernel: false,
        }
    }

    async fn watch(&mut self, signals: &mut Signals, mut gateway: oneshot::Receiver<()>) {
        let mut gateway_lives = true;
        while self.reap() {
            if self.status.is_some() {
                self.end();
            }
            let kill_at = self.kill_at;
            let deadline = async {
                match kill_at {
                    Some(at) => sleep_until(at).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                _ = signals.child.recv() => {}
                _ = signals.end.recv() => self.end(),
                // Told more than once, in case it was lost; from the first time on the deadline does the rest.
                _ = signals.kill.recv() => if !self.is_killing { self.kill() },
                _ = signals.interrupt.recv() => self.signal(Signal::INT),
                _ = &mut gateway, if gateway_lives => {
                    gateway_lives = false;
                    self.end();
                }
                () = deadline => self.kill(),
            }
        }
    }

    /// Takes leave of everybody who has ended. False: nobody is left, and so nobody is below anybody either.
    fn reap(&mut self) -> bool {
        loop {
            match wait(WaitOptions::NOHANG) {
                Ok(Some((pid, status))) if pid == self.agent => self.status = Some(status),
                Ok(Some(_)) | Err(rustix::io::Errno::INTR) => (),
                Ok(None) => return true,
                Err(_) => return false,
            }
        }
    }

    fn end(&mut self) {
        match self.kill_at {
            Some(_) => (),
            // Without its holder the namespace is ending already, and nobody in it can be asked any more.
            None if self.bounds != Bounds::None && self.status.is_some() => self.kill(),
            None => {
                self.signal(Signal::TERM);
                self.kill_at = Some(Instant::now() + GRACE);
            }
        }
    }

    fn signal(&self, signal: Signal) {
        match self.bounds {
            Bounds::Namespace if self.status.is_none() => self.signal_agent(signal),
            Bounds::Namespace | Bounds::Bwrap | Bounds::None => signal_all(signal),
        }
    }

    /// One that was not waited for yet keeps its number, so the signal reaches nobody else.
    fn signal_agent(&self, signal: Signal) {
        if self.status.is_none() {
            let _ = kill_process(self.agent, signal);
        }
    }

    /// The first process of a namespace whose holder is gone becomes our child, and is not reaped before the kernel has
    /// ended everybody in it. So waiting for our children is waiting for all of them.
    fn kill(&mut self) {
        self.is_killing = true;
        self.signal_agent(Signal::KILL);
        let has_namespace = self.bounds != Bounds::None;
        let again = if has_namespace { LOOK_AGAIN } else { AGAIN };
        if self.left_to_kernel || !has_namespace {
            signal_all(Signal::KILL);
        }
        self.left_to_kernel = has_namespace;
        self.kill_at = Some(Instant::now() + again);
    }

    fn exit_code(&self) -> ExitCode {
        let code = self.status.and_then(|status| match status.exit_status() {
            Some(code) => Some(code),
            None => status.terminating_signal().map(|signal| 128 + signal),
        });
        ExitCode::from(code.and_then(|code| u8::try_from(code).ok()).unwrap_or(NOT_SUPERVISED))
    }
}

/// Whoever is gone already needs no signal.
fn signal_all(signal: Signal) {
    signal_each(&tree::below(getpid()), signal);
}

pub(crate) fn signal_each(processes: &[Process], signal: Signal) {
    for process in processes {
        // Whoever holds a box together takes everybody in it along, and they are to have their time to leave. It goes
        // with the last of them.
        if signal == Signal::KILL || !is_bwrap(process.pid) {
            let _ = kill_process(process.pid, signal);
        }
    }
}

fn is_bwrap(pid: Pid) -> bool {
    let name = std::fs::read(format!("/proc/{}/comm", pid.as_raw_nonzero()));
    name.is_ok_and(|name| name.trim_ascii_end() == b"bwrap")
}
