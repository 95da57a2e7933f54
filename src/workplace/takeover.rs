//! Takes over once what earlier versions left in the user's repository: bases and backups as refs below
//! `refs/kakehashi`, with their objects. The refs are removed then. Worktrees of that time keep their files and become
//! repositories of their own with the next run; commits that agents made in them are not taken over.

use super::objects::{Ids, Lender};
use super::private::remove_file;
use super::refs::{Kept, commit_id, delete_refs, read_refs, tree_id};
use super::{CommitId, GitError, Repository, TreeId};
use std::collections::HashMap;
use tracing::{info, warn};

impl Repository {
    /// Does nothing if nothing is left.
    pub(super) fn take_over_earlier(&self) -> Result<(), GitError> {
        if !self.private().has_old_layout() {
            return Ok(());
        }
        let _lock = self.lock();
        if !self.private().has_old_layout() {
            return Ok(());
        }
        // The indexes rely on contents that only the user's repository has.
        for index in self.private().indexes() {
            remove_file(&index).map_err(GitError::io("removing an index"))?;
        }
        self.take_refs_over()?;
        self.private().is_taken_over()
    }

    fn take_refs_over(&self) -> Result<(), GitError> {
        let Some(git) = self.real("for-each-ref") else { return Ok(()) };
        let mut kept = read_refs(git, "")?;
        kept.retain(|kept| self.is_ours(kept));
        let mut trees = HashMap::new();
        for one in &kept {
            trees.insert(one.commit.clone(), one.tree.clone());
            if let Some((parent, tree)) = self.parent_of(one)? {
                trees.insert(parent, tree);
            }
        }
        self.copy_trees(trees.values());
        let mut taken = Vec::new();
        for one in kept {
            match self.take_over(&one, &trees) {
                Ok(()) => taken.push(one.name),
                // The ref stays in the user's repository, for whoever looks for it.
                Err(err) => warn!(%err, name = one.name, "an earlier backup cannot be taken over"),
            }
        }
        if let Some(git) = self.real("update-ref") {
            delete_refs(git, &taken)?;
        }
        info!(refs = taken.len(), "backups are in the data directory now");
        Ok(())
    }

    /// Other gateways may have refs there, too. A base can be a commit of the user, so it is known by the note about
    /// its worktree.
    fn is_ours(&self, kept: &Kept) -> bool {
        match kept.name.strip_prefix("base/") {
            Some(name) => self.private().state(name).exists(),
            None => kept.owner == self.private().owner(),
        }
    }

    /// The base that a worktree's backup was made against.
    fn parent_of(&self, kept: &Kept) -> Result<Option<(CommitId, TreeId)>, GitError> {
        if !kept.name.starts_with("backup/") {
            return Ok(None);
        }
        let ask = |what: String| {
            let git = self.with_users("rev-parse", &[]).args(["--verify", "--quiet"]);
            git.arg(what).run().map(|told| String::from_utf8_lossy(&told.stdout).trim().to_owned())
        };
        let parent = ask(format!("{}^", kept.commit))?;
        let Ok(parent) = commit_id("rev-parse", &parent) else { return Ok(None) };
        let tree = ask(format!("{parent}^{{tree}}"))?;
        Ok(tree_id("rev-parse", &tree).ok().map(|tree| (parent, tree)))
    }

    /// Copies all trees together, because most of them are nearly the same. What could not be copied is noticed later,
    /// one by one.
    fn copy_trees<'a>(&self, trees: impl Iterator<Item = &'a TreeId>) {
        let mut ids = Ids::new();
        for tree in trees {
            ids.extend(self.objects_since(None, tree).unwrap_or_default());
        }
        if let Err(err) = self.copy_objects(&ids, Lender::User, &self.private().objects()) {
            warn!(%err, "objects of earlier backups cannot be copied together");
        }
    }

    fn take_over(&self, kept: &Kept, trees: &HashMap<CommitId, TreeId>) -> Result<(), GitError> {
        self.copy_tree(&kept.tree)?;
        let parent = match self.parent_of(kept)? {
            Some((parent, tree)) if trees.contains_key(&parent) => {
                self.copy_tree(&tree)?;
                Some(self.commit_at(&tree, None, "base", kept.seconds)?)
            }
            Some(_) | None => None,
        };
        let commit = self.commit_at(&kept.tree, parent.as_ref(), &kept.subject, kept.seconds)?;
        self.keep(&kept.name, &commit)
    }
}
