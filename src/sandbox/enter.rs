//! The way into the box, in the order in which each step still can do what the next one forbids.

use super::error::BoxError;
use super::{Confinement, filter, namespace, ruleset, view};
use std::path::Path;

/// For a process with one thread that is about to become the agent; on an error it must end. `directory` is where
/// it works.
pub fn enter(confinement: &Confinement, directory: &Path) -> Result<(), BoxError> {
    // A terminal that one has in common with the gateway could be written to; who leads a group has left it already.
    let _ = rustix::process::setsid();
    namespace::enter(confinement.network)?;
    let writable = view::arrange(confinement)?;
    // By its name: the old one is on the other side of what was hidden, and so is everything above it.
    std::env::set_current_dir(directory)
        .map_err(|reason| BoxError::Path { path: directory.to_owned(), reason })?;
    ruleset::restrict(confinement, &writable)?;
    namespace::give_up_rights()?;
    filter::install()
}
