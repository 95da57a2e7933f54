//! The two processes around a process namespace. The holder is outside: it waits for the first process inside and hands
//! signals on to it. The first process starts the agent and takes leave of everybody who ends. The kernel kills the
//! whole namespace when its first process is gone, however fast the others fork, and that one dies with its holder.

use super::namespace;
use rustix::process::{
    Pid, Signal, WaitOptions, WaitStatus, getpid, kill_process, kill_process_group,
    set_parent_process_death_signal, wait,
};
use std::fs::File;
use std::io;
use std::process::{Command, ExitCode};
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};
use tokio::signal::unix::{self, SignalKind, signal};
use tokio::time::{Instant, sleep_until};

/// Time to leave after TERM.
const GRACE: Duration = Duration::from_secs(2);
/// The first process may not listen yet; asked twice it does not ask the others again.
const ASK_AGAIN: Duration = Duration::from_millis(20);
/// How a program ended that was killed.
const KILLED: u8 = 128 + 9;

/// Outside of the namespace: starts its first process and returns how that ended. There can be no threads here, since
/// they would be in two namespaces.
pub fn hold(mut first: Command) -> io::Result<ExitCode> {
    runtime()?.block_on(async {
        let mut signals = Signals::listen()?;
        let first = Pid::from_child(&first.spawn()?);
        release_output()?;
        namespace::give_up_rights().map_err(io::Error::other)?;
        let (mut status, mut ask_at) = (None, None);
        while reap(first, &mut status) {
            tokio::select! {
                _ = signals.child.recv() => {}
                _ = signals.interrupt.recv() => pass_on(first, Signal::INT),
                _ = signals.end.recv() => ask_at = Some(Instant::now()),
                () = at(ask_at) => {
                    pass_on(first, Signal::TERM);
                    ask_at = Some(Instant::now() + ASK_AGAIN);
                }
            }
        }
        Ok(exit_code(status))
    })
}

/// The first process of the namespace: starts the agent, and ends when everybody has left or the time for that is over.
pub fn lead(mut agent: Command) -> io::Result<ExitCode> {
    // Anywhere else "everybody" would be everybody on this machine.
    if !getpid().is_init() {
        return Err(io::Error::other("this is not the first process of a namespace"));
    }
    // Whoever holds the namespace from outside ends it by ending.
    set_parent_process_death_signal(Some(Signal::KILL))?;
    runtime()?.block_on(async {
        let mut signals = Signals::listen()?;
        let agent = Pid::from_child(&agent.spawn()?);
        release_output()?;
        let (mut status, mut kill_at) = (None, None);
        while reap(agent, &mut status) {
            if status.is_some() {
                ask(&mut kill_at);
            }
            tokio::select! {
                _ = signals.child.recv() => {}
                _ = signals.interrupt.recv() => pass_on_to_all(Signal::INT),
                _ = signals.end.recv() => ask(&mut kill_at),
                () = at(kill_at) => break,
            }
        }
        Ok(exit_code(status))
    })
}

/// Everybody is asked to leave, once.
fn ask(kill_at: &mut Option<Instant>) {
    if kill_at.is_none() {
        pass_on_to_all(Signal::TERM);
        *kill_at = Some(Instant::now() + GRACE);
    }
}

/// Whoever is gone already needs no signal.
fn pass_on(process: Pid, signal: Signal) {
    let _ = kill_process(process, signal);
}

/// The first process is the leader of no group: by its number this is everybody in the namespace but itself, and nobody
/// who is just being forked is left out.
fn pass_on_to_all(signal: Signal) {
    let _ = kill_process_group(Pid::INIT, signal);
}

fn runtime() -> io::Result<Runtime> {
    Builder::new_current_thread().enable_all().build()
}

struct Signals {
    end: unix::Signal,
    interrupt: unix::Signal,
    child: unix::Signal,
}

impl Signals {
    /// Before anything is started, so that no end is missed.
    fn listen() -> io::Result<Self> {
        Ok(Self {
            end: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            child: signal(SignalKind::child())?,
        })
    }
}

/// The pipes belong to the agent alone, so that the gateway sees when it closes them.
fn release_output() -> io::Result<()> {
    let nowhere = File::options().read(true).write(true).open("/dev/null")?;
    rustix::stdio::dup2_stdin(&nowhere)?;
    rustix::stdio::dup2_stdout(&nowhere)?;
    Ok(rustix::stdio::dup2_stderr(&nowhere)?)
}

async fn at(moment: Option<Instant>) {
    match moment {
        Some(moment) => sleep_until(moment).await,
        None => std::future::pending().await,
    }
}

/// Takes leave of everybody who has ended, and remembers how the awaited one did. False: nobody is left.
fn reap(awaited: Pid, status: &mut Option<WaitStatus>) -> bool {
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(Some((pid, how))) if pid == awaited => *status = Some(how),
            Ok(Some(_)) | Err(rustix::io::Errno::INTR) => (),
            Ok(None) => return true,
            Err(_) => return false,
        }
    }
}

fn exit_code(status: Option<WaitStatus>) -> ExitCode {
    let code = status.and_then(|status| match status.exit_status() {
        Some(code) => Some(code),
        None => status.terminating_signal().map(|signal| 128 + signal),
    });
    ExitCode::from(code.and_then(|code| u8::try_from(code).ok()).unwrap_or(KILLED))
}
