//! Snapshots: all files of a place at one moment, as a commit. They hold what git tracks, and new files that are not
//! ignored.

use super::footprint::{Footprint, Mark, NoFootprint};
use super::git::Git;
use super::index::{Extent, Index, PROJECT as PROJECT_INDEX};
use super::memory::{Look, Seen};
use super::objects::Lender;
use super::planted::clear_way;
use super::refs::{Kept, commit_id};
use super::{CommitId, GitError, Repository, TreeId, Worktree};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};
use tracing::warn;

/// Attempts to replace damaged objects by the files on disk: first blobs, then trees.
const MOST_ATTEMPTS: usize = 4;

/// Whose files a snapshot is of.
#[derive(Debug, Clone, Copy)]
pub enum Place<'a> {
    /// The project's own files, also when an agent works there.
    Project,
    Worktree(&'a Worktree),
}

/// A commit in our own git directory. It is kept as long as a ref there names it; see [`Repository::back_up`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    pub commit: CommitId,
    pub tree: TreeId,
    /// Paths that are not in the snapshot: files that are too large or not readable, other repositories, submodules
    /// with files in them, and directories that are named like generated ones but may be an agent's work. Directories
    /// end with a slash. Sorted, relative to the project.
    pub left_out: Vec<String>,
}

impl Repository {
    /// Changes neither the files nor anybody's index.
    pub fn snapshot(&self, place: Place<'_>) -> Result<Snapshot, GitError> {
        let _lock = self.lock();
        self.snapshot_of(place, "snapshot")
    }

    pub(super) fn snapshot_of(&self, place: Place<'_>, about: &str) -> Result<Snapshot, GitError> {
        match place {
            Place::Project => self.look_at_project(about),
            Place::Worktree(worktree) => Ok(self.snapshot_worktree(worktree, about)?.0),
        }
    }

    /// Snapshot for callers that do not change the project's files. Git is asked only if the files have changed since
    /// the last look.
    pub(super) fn look_at_project(&self, about: &str) -> Result<Snapshot, GitError> {
        let footprint = self.footprint_of_project()?;
        match self.seen(&self.last_name(), footprint, self.project_index(), None)? {
            Some(snapshot) => Ok(snapshot),
            None => Ok(self.snapshot_project_at(footprint, about)?.0),
        }
    }

    /// Snapshot with its index, for callers that are going to change the files. All its objects are our own, so it does
    /// not depend on what becomes of the user's repository.
    pub(super) fn snapshot_project(&self, about: &str) -> Result<(Snapshot, Index), GitError> {
        self.snapshot_project_at(self.footprint_of_project()?, about)
    }

    fn snapshot_project_at(
        &self,
        footprint: Result<Footprint, NoFootprint>,
        about: &str,
    ) -> Result<(Snapshot, Index), GitError> {
        let begun_with = self.project_index();
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
        let stored = self.in_stored_form(tree.clone())?;
        let tree = if stored == tree { tree } else { self.complete(&index, stored)? };
        let last = self.last_name();
        let commit = self.keep_last(&last, &tree, None, about)?;
        let snapshot = Snapshot { commit, tree, left_out };
        // The user's own index is only read, and the user may have replaced it meanwhile.
        let mark = if self.has_git() { begun_with } else { self.project_index() };
        self.note_look(last, footprint, mark, &snapshot);
        Ok((snapshot, index))
    }

    /// Keeps the snapshot of the last look. The index relies on its objects and does not read the files again, so they
    /// must not be removed.
    fn keep_last(
        &self,
        name: &str,
        tree: &TreeId,
        parent: Option<&CommitId>,
        about: &str,
    ) -> Result<CommitId, GitError> {
        if let Some(last) = self.kept_one(name)?
            && last.tree == *tree
            && last.parent.as_ref() == parent
        {
            return Ok(last.commit);
        }
        let commit = self.commit(tree, parent, about)?;
        self.keep(name, &commit)?;
        Ok(commit)
    }

    /// The snapshot of the last look, if nothing has changed since: neither the files, nor git's rules, nor the index,
    /// nor the base. The snapshot is still kept if its ref is the same.
    fn seen(
        &self,
        last: &str,
        footprint: Result<Footprint, NoFootprint>,
        index: Option<Mark>,
        base: Option<&CommitId>,
    ) -> Result<Option<Snapshot>, GitError> {
        let (Ok(footprint), Some(Look::Seen(seen))) = (footprint, self.memory().look(last)) else {
            return Ok(None);
        };
        if seen.footprint != footprint || seen.index != index {
            return Ok(None);
        }
        let kept = self.kept_one(last)?;
        let is_kept = kept.is_some_and(|kept| {
            kept.commit == seen.snapshot.commit && kept.parent.as_ref() == base
        });
        Ok(is_kept.then_some(seen.snapshot))
    }

    fn note_look(
        &self,
        last: String,
        footprint: Result<Footprint, NoFootprint>,
        index: Option<Mark>,
        snapshot: &Snapshot,
    ) {
        let look = match footprint {
            Ok(footprint) => {
                Look::Seen(Box::new(Seen { footprint, index, snapshot: snapshot.clone() }))
            }
            Err(NoFootprint::TooLarge) => Look::TooLarge,
            Err(NoFootprint::Unsure) => return,
        };
        self.memory().note_look(last, look);
    }

    fn footprint_of_project(&self) -> Result<Result<Footprint, NoFootprint>, GitError> {
        // The gateway's data directory changes all the time. It is no part of the project, but git may track some of
        // it.
        if self.data().starts_with(self.top()) {
            return Ok(Err(NoFootprint::Unsure));
        }
        self.footprint(&self.last_name(), self.top())
    }

    /// Footprint of the files, and of everything else that git's answer about them depends on.
    fn footprint(
        &self,
        last: &str,
        top: &Path,
    ) -> Result<Result<Footprint, NoFootprint>, GitError> {
        if matches!(self.memory().look(last), Some(Look::TooLarge)) {
            return Ok(Err(NoFootprint::TooLarge));
        }
        self.update_excludes()?;
        let rules = self.private().rules();
        Ok(Footprint::of(top, &rules.each_ref().map(Vec::as_slice)))
    }

    /// Mark of the index that a look at the project starts with.
    fn project_index(&self) -> Option<Mark> {
        let own = || self.private().index(PROJECT_INDEX);
        Mark::of_replaced(&self.user().map_or_else(own, |user| user.index()))
    }

    /// Copies objects that only the user's repository has. Damaged ones are replaced by the files on disk.
    fn complete(&self, index: &Index, tree: TreeId) -> Result<TreeId, GitError> {
        if !self.has_git() {
            return Ok(tree);
        }
        let last = self.kept_one(&self.last_name())?.map(|kept| kept.tree);
        // The last snapshot was copied completely.
        if last.as_ref() == Some(&tree) {
            return Ok(tree);
        }
        let mut tree = tree;
        for _ in 0..MOST_ATTEMPTS {
            let ids = self.objects_since(last.as_ref(), &tree)?;
            let wrong = match self.copy_objects(&ids, Lender::User, &self.private().objects()) {
                Ok(wrong) => wrong,
                // One object that cannot be read keeps all others from being copied.
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
        clear_way(worktree.top(), self.prefix(), &self.private().aside(&worktree.name()));
        let base = worktree.base_kept()?;
        let index = Index::of_worktree(self, &worktree.name(), worktree.top());
        let last = worktree.last_name();
        let footprint = match extent {
            Extent::Project => self.footprint(&last, worktree.top())?,
            Extent::Repository | Extent::Everything => Err(NoFootprint::Unsure),
        };
        let mark = Mark::of_replaced(index.path());
        if let Some(snapshot) = self.seen(&last, footprint, mark, Some(&base.commit))? {
            return Ok((snapshot, index));
        }
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
        let commit = self.keep_last(&last, &tree, Some(&base.commit), about)?;
        let snapshot = Snapshot { commit, tree, left_out };
        self.note_look(last, footprint, Mark::of_replaced(index.path()), &snapshot);
        Ok((snapshot, index))
    }

    /// Commits under our own name, so that nobody becomes the author of what an agent did.
    pub(super) fn commit(
        &self,
        tree: &TreeId,
        parent: Option<&CommitId>,
        message: &str,
    ) -> Result<CommitId, GitError> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        self.commit_at(tree, parent, message, now.try_into().unwrap_or_default())
    }

    /// Commits with this time, and remembers the commit so that git need not be asked for it.
    pub(super) fn commit_at(
        &self,
        tree: &TreeId,
        parent: Option<&CommitId>,
        message: &str,
        seconds: i64,
    ) -> Result<CommitId, GitError> {
        let date = format!("@{seconds} +0000");
        let git = self.content("commit-tree", &[]).env("GIT_COMMITTER_DATE", &date);
        let git = git.env("GIT_AUTHOR_DATE", date);
        let commit = self.commit_with(git, tree, parent, message)?;
        // Git shows a message of several lines differently.
        if !message.trim_end().contains('\n') {
            self.memory().note_commit(Kept {
                name: String::new(),
                commit: commit.clone(),
                tree: tree.clone(),
                parent: parent.cloned(),
                seconds,
                owner: self.private().owner().to_owned(),
                subject: message.trim_end().to_owned(),
            });
        }
        Ok(commit)
    }

    /// Commits after a commit of the user, for a repository that has the user's objects, too. It must not be kept in
    /// ours.
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
