//! All files of a place at one moment, as a commit: what git tracks, and new files that are not ignored.

use super::git::Git;
use super::index::{Extent, Index};
use super::objects::Lender;
use super::refs::commit_id;
use super::{CommitId, GitError, Repository, TreeId, Worktree};
use tracing::warn;

/// Files are taken instead of damaged blobs first, then instead of damaged trees.
const MOST_ATTEMPTS: usize = 4;

/// Whose files.
#[derive(Debug, Clone, Copy)]
pub enum Place<'a> {
    /// The user's own, also when an agent works there.
    Project,
    Worktree(&'a Worktree),
}

/// Kept in our own git directory as long as a ref there names it; see [`Repository::back_up`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    pub commit: CommitId,
    pub tree: TreeId,
    /// Too large, not readable, or a repository of its own, in a submodule or a directory that may be an agent's work
    /// although it is called like what tools make (its name ends with a slash then). Sorted, by paths of the project.
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

    /// With the index that it was taken with, for whoever is going to change these files. All objects of it are our
    /// own: nothing of it depends on what becomes of the user's repository.
    pub(super) fn snapshot_project(&self, about: &str) -> Result<(Snapshot, Index), GitError> {
        let index = Index::of_project(self)?;
        let taken = match index.take(Extent::Repository) {
            // A split or damaged index cannot be used as a copy. Reading every file always works.
            Err(GitError::Failed { .. }) => {
                let head = self.head()?.map(|(_, tree)| tree);
                let head = head.filter(|tree| self.copy_tree(tree).is_ok());
                index.reset(head.as_ref())?;
                index.take(Extent::Repository)
            }
            taken => taken,
        };
        let (tree, left_out) = taken?;
        let tree = self.complete(&index, tree)?;
        let commit = self.commit(&tree, None, about)?;
        // The next one begins with what is known by then, and what an index knows must not be swept.
        self.keep(&self.last_name(), &commit)?;
        Ok((Snapshot { commit, tree, left_out }, index))
    }

    /// Copies what is in the user's repository only. What is not what its name says there is taken from the files.
    fn complete(&self, index: &Index, tree: TreeId) -> Result<TreeId, GitError> {
        if !self.has_git() {
            return Ok(tree);
        }
        let last = self.kept_one(&self.last_name())?.map(|kept| kept.tree);
        let mut tree = tree;
        for _ in 0..MOST_ATTEMPTS {
            let ids = self.objects_since(last.as_ref(), &tree)?;
            let wrong = match self.copy_objects(&ids, Lender::User, &self.private().objects()) {
                Ok(wrong) => wrong,
                // One that cannot be read at all keeps all others from being copied.
                Err(GitError::Failed { .. }) => self.absent_here(&ids)?,
                Err(err) => return Err(err),
            };
            if wrong.is_empty() {
                return Ok(tree);
            }
            warn!(count = wrong.len(), "objects of the user's repository are damaged");
            tree = index.take_again(&wrong)?;
        }
        Err(GitError::Damaged { count: 1 })
    }

    fn last_name(&self) -> String {
        format!("project/last{}", self.mark())
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
        if !index.exists() {
            index.reset(Some(&base.tree))?;
        }
        let taken = match index.take(extent) {
            Err(GitError::Failed { .. }) => {
                index.reset(Some(&base.tree))?;
                index.take(extent)
            }
            taken => taken,
        };
        let (tree, mut left_out) = taken?;
        left_out.extend(index.generated()?);
        left_out.sort();
        let commit = self.commit(&tree, Some(&base.commit), about)?;
        // What the index knows of must not be swept: it is not read again.
        self.keep(&worktree.last_name(), &commit)?;
        Ok((Snapshot { commit, tree, left_out }, index))
    }

    /// Under our own name, so that nobody is made the author of what an agent did.
    pub(super) fn commit(
        &self,
        tree: &TreeId,
        parent: Option<&CommitId>,
        message: &str,
    ) -> Result<CommitId, GitError> {
        let git = self.content("commit-tree", &[]);
        self.commit_with(git, tree, parent, message)
    }

    /// The same after a commit of the user, for whoever has the user's objects, too. It is not to be kept here.
    pub(super) fn commit_after(
        &self,
        tree: &TreeId,
        users: &CommitId,
        message: &str,
    ) -> Result<CommitId, GitError> {
        let git = self.with_users("commit-tree", &[]);
        self.commit_with(git, tree, Some(users), message)
    }

    pub(super) fn commit_with(
        &self,
        git: Git,
        tree: &TreeId,
        parent: Option<&CommitId>,
        message: &str,
    ) -> Result<CommitId, GitError> {
        let owner = format!("{}@kakehashi.invalid", self.private().owner());
        let mut git = git.env("GIT_AUTHOR_EMAIL", owner);
        if let Some(parent) = parent {
            git = git.args(["-p", parent.as_str()]);
        }
        let message = format!("{}\n", message.trim_end()).into_bytes();
        let made = git.arg(tree.as_str()).input(message).word()?;
        commit_id("commit-tree", &made)
    }
}
