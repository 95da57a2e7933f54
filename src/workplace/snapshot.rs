//! All files of a place at one moment, as a commit: what git tracks, and new files that are not ignored.

use super::index::{Extent, Index};
use super::refs::commit_id;
use super::{CommitId, GitError, Repository, TreeId, Worktree};

/// Whose files.
#[derive(Debug, Clone, Copy)]
pub enum Place<'a> {
    /// The user's own, also when an agent works there.
    Project,
    Worktree(&'a Worktree),
}

/// Kept by git as long as a ref of ours names it; see [`Repository::back_up`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    pub commit: CommitId,
    pub tree: TreeId,
    /// Too large, not readable, or a repository of its own or in a submodule (its name ends with a slash then). Sorted,
    /// by paths of the project.
    pub left_out: Vec<String>,
}

impl Repository {
    /// Does not touch the files, nor anybody's index.
    pub fn snapshot(&self, place: Place<'_>) -> Result<Snapshot, GitError> {
        let _lock = self.lock();
        self.snapshot_of(place, "snapshot")
    }

    pub(super) fn snapshot_of(&self, place: Place<'_>, about: &str) -> Result<Snapshot, GitError> {
        match place {
            Place::Project => Ok(self.snapshot_project(about)?.0),
            Place::Worktree(worktree) => Ok(self.snapshot_worktree(worktree, about)?.0),
        }
    }

    /// With the index that it was taken with, for whoever is going to change these files.
    pub(super) fn snapshot_project(&self, about: &str) -> Result<(Snapshot, Index), GitError> {
        let head = self.head()?;
        let index = Index::of_project(self)?;
        let taken = match index.take(Extent::Repository) {
            // A split or damaged index cannot be used as a copy. Reading every file always works.
            Err(GitError::Failed { .. }) => {
                index.reset(head.as_ref().map(|(_, tree)| tree))?;
                index.take(Extent::Repository)
            }
            taken => taken,
        };
        let (tree, left_out) = taken?;
        let parent = head.map(|(commit, _)| commit);
        let commit = self.commit(&tree, parent.as_ref(), about)?;
        Ok((Snapshot { commit, tree, left_out }, index))
    }

    pub(super) fn snapshot_worktree(
        &self,
        worktree: &Worktree,
        about: &str,
    ) -> Result<(Snapshot, Index), GitError> {
        self.snapshot_extent(worktree, about, Extent::Project)
    }

    pub(super) fn snapshot_extent(
        &self,
        worktree: &Worktree,
        about: &str,
        extent: Extent,
    ) -> Result<(Snapshot, Index), GitError> {
        if !worktree.top().is_dir() {
            return Err(GitError::WorktreeGone);
        }
        let base = worktree.base_kept()?;
        let index = Index::of_worktree(self, &worktree.name(), worktree.top());
        let taken = match index.take(extent) {
            Err(GitError::Failed { .. }) => {
                index.reset(Some(&base.tree))?;
                index.take(extent)
            }
            taken => taken,
        };
        let (tree, left_out) = taken?;
        let commit = self.commit(&tree, Some(&base.commit), about)?;
        Ok((Snapshot { commit, tree, left_out }, index))
    }

    /// Under our own name, so that nobody is made the author of what an agent did.
    pub(super) fn commit(
        &self,
        tree: &TreeId,
        parent: Option<&CommitId>,
        message: &str,
    ) -> Result<CommitId, GitError> {
        let owner = format!("{}@kakehashi.invalid", self.private().owner());
        let mut git = self.content("commit-tree", &[]).env("GIT_AUTHOR_EMAIL", owner);
        if let Some(parent) = parent {
            git = git.args(["-p", parent.as_str()]);
        }
        let message = format!("{}\n", message.trim_end()).into_bytes();
        let made = git.arg(tree.as_str()).input(message).word()?;
        commit_id("commit-tree", &made)
    }
}
