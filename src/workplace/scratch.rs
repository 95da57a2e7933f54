//! A copy of an agent's files for whoever may leave something behind, such as a check: nothing that is done in there
//! becomes part of the agent's work.

use super::worktree::Stage;
use super::{GitError, Worktree};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};
use tracing::warn;

/// Which copies are there at the moment, by their tops. What else is on disk was left by a gateway that was killed.
static TAKEN: LazyLock<Mutex<BTreeSet<PathBuf>>> = LazyLock::new(Mutex::default);

/// A worktree that is gone with this value. Dropping it takes as long as the disk does.
#[derive(Debug)]
pub struct Scratch {
    worktree: Worktree,
}

impl Worktree {
    /// Its files as they are, without those that git ignores, except for what every worktree gets.
    pub fn scratch(&self) -> Result<Scratch, GitError> {
        let result = self.result()?;
        let _lock = self.repository().lock();
        let base = self.base_kept()?;
        let (number, top) = take(self.top());
        let scratch = Scratch { worktree: self.elsewhere(number, &top) };
        scratch.worktree.make_room()?;
        scratch.worktree.note(Stage::Begun)?;
        scratch.worktree.write_out(&result.tree, &base.tree)?;
        Ok(scratch)
    }
}

impl Scratch {
    pub fn worktree(&self) -> &Worktree {
        &self.worktree
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let removed = self.worktree.repository().remove_worktree(&self.worktree.name());
        if let Err(err) = removed {
            warn!(%err, "a copy of an agent's files is left until the next one is made");
        }
        taken().remove(self.worktree.top());
    }
}

fn taken() -> MutexGuard<'static, BTreeSet<PathBuf>> {
    TAKEN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The first place beside `own` that nobody has.
fn take(own: &Path) -> (usize, PathBuf) {
    let mut taken = taken();
    let mut number = 0;
    loop {
        let mut name = own.file_name().map(OsString::from).unwrap_or_default();
        name.push(format!("-copy{number}"));
        let top = own.with_file_name(name);
        if taken.insert(top.clone()) {
            return (number, top);
        }
        number += 1;
    }
}

/// What a gateway that is killed does with it: nothing.
#[cfg(test)]
pub(super) fn forget(scratch: Scratch) {
    taken().remove(scratch.worktree.top());
    std::mem::forget(scratch);
}
