//! A temporary copy of an agent's files, such as for a check: nothing that is done in there becomes part of the agent's
//! work.

use super::worktree::Stage;
use super::{GitError, Worktree};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};
use tracing::warn;

/// Scratch copies in use, by their top directories. Any other one on disk was left by a killed gateway.
static TAKEN: LazyLock<Mutex<BTreeSet<PathBuf>>> = LazyLock::new(Mutex::default);

/// A worktree that is removed on drop. Dropping it blocks on the disk.
#[derive(Debug)]
pub struct Scratch {
    worktree: Worktree,
}

impl Worktree {
    /// Copies the files as they are, without ignored ones, except for those that every worktree gets.
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

/// Takes the first free path beside `own`.
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

/// Acts like a gateway that is killed: nothing is removed.
#[cfg(test)]
#[cfg(feature = "slow-tests")]
pub(super) fn forget(scratch: Scratch) {
    taken().remove(scratch.worktree.top());
    std::mem::forget(scratch);
}
