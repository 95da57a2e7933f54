//! The way into the box, in the order in which each step still can do what the next one forbids.

use super::error::BoxError;
use super::inner::{again, check, inner};
use super::means::{Seen, Way};
use super::namespace::Pids;
use super::plan::Plan;
use super::view::Processes;
use super::{
    ClosedView, Confinement, allowed, bwrap, filter, library, limit, namespace, root, ruleset, view,
};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What a process has to do next on its way into the box.
#[derive(Debug)]
pub enum Next {
    /// To become this command, which is the agent or something that becomes it.
    Become(Command),
    /// To start this as the first process of a process namespace, and to wait for it: [`super::hold`].
    Hold(Command),
    /// To start this as that first process: [`super::lead`].
    Lead(Command),
}

/// For a process with one thread that is about to become the agent; on an error it must end. `directory` is where
/// it works.
pub fn enter(
    confinement: &Confinement,
    directory: &Path,
    command: &[OsString],
) -> Result<Next, BoxError> {
    // A terminal that one has in common with the gateway could be written to; who leads a group has left it already.
    let _ = rustix::process::setsid();
    if let Some(view) = &confinement.closed {
        return enter_closed(view, confinement, command);
    }
    match &confinement.means.way {
        Way::Own => {
            let plan = arrange(confinement, directory, Pids::Own)?;
            namespace::pass_on_rights()?;
            let first = inner(confinement, &plan, |path| path, Way::First)?;
            return own_binary(&first, command).map(Next::Hold);
        }
        Way::SharedPids => {
            let plan = arrange(confinement, directory, Pids::Shared)?;
            close(confinement, &plan.writable)?;
            namespace::give_up_rights()?;
        }
        Way::Bwrap(program) => {
            return bwrap::wrapped(program, confinement, directory, command).map(Next::Become);
        }
        Way::First(seen) => {
            view::renew_proc(Processes::AndKernel)?;
            namespace::give_up_rights()?;
            let mut made = confinement.clone();
            made.means.way = Way::Made(seen.clone());
            return own_binary(&made, command).map(Next::Lead);
        }
        Way::Made(seen) => {
            check(seen)?;
            close(confinement, &confinement.writable)?;
            namespace::check_rights()?;
        }
    }
    filter::install(&confinement.means)?;
    let (program, arguments) = command.split_first().ok_or(BoxError::NoCommand)?;
    let mut next = Command::new(program);
    next.args(arguments);
    Ok(Next::Become(next))
}

/// The same way into a closed view. It is made by ourselves and with a process namespace, or not at all.
fn enter_closed(
    view: &ClosedView,
    confinement: &Confinement,
    command: &[OsString],
) -> Result<Next, BoxError> {
    let goes_on = |way: fn(Vec<Seen>) -> Way, view: &ClosedView| {
        let mut inner = confinement.clone();
        inner.means.way = way(Vec::new());
        inner.closed = Some(Box::new(view.clone()));
        own_binary(&inner, command)
    };
    match &confinement.means.way {
        Way::Own => {
            namespace::enter(confinement.network, Pids::Own)?;
            // Only this process knows what it has loaded; whoever asked for the view may be another program.
            let view = library::with_own(view)?;
            root::arrange(&view)?;
            namespace::pass_on_rights()?;
            return goes_on(Way::First, &view).map(Next::Hold);
        }
        Way::First(_) => {
            view::renew_proc(Processes::Only)?;
            namespace::give_up_rights()?;
            return goes_on(Way::Made, view).map(Next::Lead);
        }
        // Nothing here is found by a path that somebody else could have changed.
        Way::Made(_) => (),
        Way::SharedPids | Way::Bwrap(_) => return Err(BoxError::NotClosed),
    }
    limit::apply(confinement.limits)?;
    limit::apply_closed(view)?;
    ruleset::restrict_closed(view, confinement.means.landlock)?;
    namespace::check_rights()?;
    allowed::install()?;
    let (program, arguments) = command.split_first().ok_or(BoxError::NoCommand)?;
    let mut next = Command::new(program);
    next.args(arguments).env_clear().envs(view.variables.iter().cloned());
    Ok(Next::Become(next))
}

fn arrange(confinement: &Confinement, directory: &Path, pids: Pids) -> Result<Plan, BoxError> {
    namespace::enter(confinement.network, pids)?;
    let plan = Plan::new(confinement)?;
    view::arrange(&plan, pids)?;
    // By its name: the old one is on the other side of what was hidden, and so is everything above it.
    std::env::set_current_dir(directory)
        .map_err(|reason| BoxError::Path { path: directory.to_owned(), reason })?;
    Ok(plan)
}

/// Our own binary once more. By this name it is found wherever it is, also where nothing of it is to be seen.
fn own_binary(inner: &Confinement, command: &[OsString]) -> Result<Command, BoxError> {
    let mut binary = Command::new("/proc/self/exe");
    again(&mut binary, inner, command)?;
    Ok(binary)
}

fn close(confinement: &Confinement, writable: &[PathBuf]) -> Result<(), BoxError> {
    limit::apply(confinement.limits)?;
    ruleset::restrict(confinement, writable)
}
