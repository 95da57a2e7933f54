//! Places of work of agents in git repositories: worktrees made from the project as it is, backups, what was changed,
//! and the way of an agent's result into the project. Blocking functions around the git command line.
//!
//! Whatever is in a worktree or in its folder below `.git/worktrees` was written by an agent and is data. No call
//! looks for a repository from there, reads a configuration from there or starts a program that is named there.
//! Sessions, packets and the question who may ask for what are not known here.

mod accept;
mod apply;
mod backup;
mod change;
mod diff;
mod error;
mod folder;
mod git;
mod include;
mod index;
mod link;
mod merge;
mod nested;
mod private;
mod refs;
mod repository;
mod scratch;
mod snapshot;
mod staging;
mod sweep;
mod worktree;

pub use accept::{Accepted, Target};
pub use backup::{Backup, Restored};
pub use change::Changes;
pub use diff::Diff;
pub use error::GitError;
pub use git::{Version, version};
pub use merge::{Conflict, ConflictKind};
pub use nested::Nested;
pub use refs::{CommitId, TreeId};
pub use repository::Repository;
pub use scratch::Scratch;
pub use snapshot::{Place, Snapshot};
pub use sweep::remove_leftovers;
pub use worktree::{Discarded, Worktree};

#[cfg(test)]
mod tests;
