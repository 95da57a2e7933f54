//! Workplaces of agents: copies of the project that are git repositories of their own, backups of them, what was
//! changed in them, and how a result gets into the project. Blocking functions around the git command line.
//!
//! Everything in a worktree, also its `.git`, was written by an agent and is treated as data. No call looks for a
//! repository there, reads a configuration or an object from there, or starts a program that is named there. What we
//! keep is in our own git directory in the data directory. No agent can write to it, and we hash everything on its way
//! there. This module knows nothing of packets, or of who may ask for what.

mod accept;
mod agent_git;
mod apply;
mod backup;
mod change;
mod diff;
mod error;
mod filtered;
mod folder;
mod footprint;
mod frozen;
mod generated;
mod git;
mod include;
mod index;
mod layout;
mod memory;
mod merge;
mod nested;
mod objects;
mod pipes;
mod planted;
mod private;
mod refs;
mod removal;
mod repository;
mod scratch;
mod settings;
mod snapshot;
mod staging;
mod sweep;
mod takeover;
mod user;
mod worktree;

pub use accept::{Accepted, Target};
pub use backup::{Backup, Restored};
pub use change::Changes;
pub use diff::Diff;
pub use error::GitError;
pub use generated::{DESKTOP_FILES, GENERATED};
pub use git::{Version, version};
pub use merge::{Conflict, ConflictKind};
pub use nested::{Nested, is_dot_git};
pub use planted::{GitLayouts, SetAside};
pub use refs::{CommitId, TreeId};
pub use removal::remove_tree;
pub use repository::Repository;
pub use scratch::Scratch;
pub use snapshot::{Place, Snapshot};
pub use sweep::remove_leftovers;
pub use worktree::{Discarded, Worktree};

#[cfg(test)]
#[cfg(feature = "slow-tests")]
mod tests;
