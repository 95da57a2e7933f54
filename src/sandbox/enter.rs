//! The way into the box, in the order in which each step still can do what the next one forbids.

use super::error::BoxError;
use super::means::Way;
use super::plan::Plan;
use super::{Confinement, bwrap, filter, limit, namespace, ruleset, view};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

/// For a process with one thread that is about to become the agent; on an error it must end. `directory` is where
/// it works. Returns what it has to become next, which is the command itself or something that becomes it.
pub fn enter(
    confinement: &Confinement,
    directory: &Path,
    command: &[OsString],
) -> Result<Command, BoxError> {
    // A terminal that one has in common with the gateway could be written to; who leads a group has left it already.
    let _ = rustix::process::setsid();
    match &confinement.means.way {
        Way::Own => {
            namespace::enter(confinement.network)?;
            let plan = Plan::new(confinement)?;
            view::arrange(&plan)?;
            // By its name: the old one is on the other side of what was hidden, and so is everything above it.
            std::env::set_current_dir(directory)
                .map_err(|reason| BoxError::Path { path: directory.to_owned(), reason })?;
            close(confinement, &plan.writable)?;
            namespace::give_up_rights()?;
        }
        Way::Bwrap(program) => return bwrap::wrapped(program, confinement, directory, command),
        Way::Made(seen) => {
            bwrap::check(seen)?;
            close(confinement, &confinement.writable)?;
            namespace::check_rights()?;
        }
    }
    filter::install()?;
    let (program, arguments) = command.split_first().ok_or(BoxError::NoCommand)?;
    let mut next = Command::new(program);
    next.args(arguments);
    Ok(next)
}

fn close(confinement: &Confinement, writable: &[PathBuf]) -> Result<(), BoxError> {
    limit::apply(confinement.limits)?;
    ruleset::restrict(confinement, writable)
}
