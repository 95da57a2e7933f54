//! Accepts an agent's result: into the project's files, or as a branch.

use super::apply::Course;
use super::filtered::RealCourse;
use super::git::Git;
use super::index::Extent;
use super::merge::Merged;
use super::objects::{Ids, Lender};
use super::snapshot::Snapshot;
use super::{Backup, Changes, CommitId, Conflict, GitError, Repository, TreeId, Worktree};
use crate::message::{BackupReason, WorkVersion};
use sha2::{Digest, Sha256};

/// Where an accepted result goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// The project's files. The user's index and HEAD stay as they are.
    Project,
    /// A new branch, one commit after the project's HEAD. The project's files stay as they are.
    Branch { name: String, message: String },
}

/// Paths in `left_out` are no part of the result, see [`Snapshot::left_out`]; they stay in the worktree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Accepted {
    /// The project has the result. `backup` is of the project before that; there is another one of the worktree.
    Project {
        changes: Changes,
        backup: Backup,
        left_out: Vec<String>,
    },
    Branch {
        commit: CommitId,
        changes: Changes,
        left_out: Vec<String>,
    },
    /// The target has everything in the result already.
    Nothing {
        left_out: Vec<String>,
    },
    /// Nothing was changed.
    Conflicts(Vec<Conflict>),
}

impl Worktree {
    /// Names the state of the agent's work that `result` is of.
    pub fn version(&self, result: &Snapshot) -> Result<WorkVersion, GitError> {
        Ok(version(&self.base_kept()?.tree, &result.tree))
    }

    /// Merges what the agent has changed since its base, all or nothing. Files that somebody else writes meanwhile end
    /// it with [`GitError::PlaceChanged`]. Once the project has the result, the worktree continues from the project's
    /// new state.
    pub fn accept(&self, target: &Target) -> Result<Accepted, GitError> {
        self.accept_version(target, None)
    }

    /// [`Worktree::accept`], but only of what somebody has looked at: see [`Worktree::version`].
    pub fn accept_version(
        &self,
        target: &Target,
        seen: Option<&WorkVersion>,
    ) -> Result<Accepted, GitError> {
        let _lock = self.repository().lock();
        match target {
            Target::Project => self.accept_into_project(seen),
            Target::Branch { name, message } => self.accept_as_branch(name, message, seen),
        }
    }

    fn accept_into_project(&self, seen: Option<&WorkVersion>) -> Result<Accepted, GitError> {
        let repository = self.repository();
        let base = self.base_kept()?;
        let (result, own_index) = repository.snapshot_worktree(self, "worktree")?;
        check(seen, &base.tree, &result.tree)?;
        let (project, index) = repository.snapshot_project("project")?;
        let merged = match repository.merge(&base.tree, &project.tree, &result.tree)? {
            Merged::Clean(tree) => tree,
            Merged::Conflicts(conflicts) => return Ok(Accepted::Conflicts(conflicts)),
        };
        let RealCourse { from, to, kept } =
            repository.real_course(&index, &project.tree, &merged, None)?;
        let changes = repository.changes(&from, &to)?;
        let left_out = [result.left_out.clone(), kept].concat();
        if changes.total > 0 {
            let reason = BackupReason::Accept;
            // The worktree continues from the project's new state, so without a backup the agent's own version would be
            // lost.
            repository.keep_backup(self.session(), reason, &result, Some(self))?;
            let before = Snapshot { tree: from.clone(), ..project };
            let backup = repository.keep_backup(self.session(), reason, &before, None)?;
            let (from, to, extent) = (&from, &to, Extent::Project);
            repository.bring(&Course { index: &index, from, to, extent, only: None })?;
            self.go_on(&own_index, &result, merged);
            return Ok(Accepted::Project { changes, backup, left_out });
        }
        self.go_on(&own_index, &result, merged);
        Ok(Accepted::Nothing { left_out })
    }

    /// Moves the worktree to the merged state. If that fails, the old base stays and nothing is lost: merging the same
    /// changes again changes nothing.
    fn go_on(&self, index: &super::index::Index, result: &Snapshot, merged: TreeId) {
        let repository = self.repository();
        let moved = repository.commit(&merged, None, "base").and_then(|commit| {
            let to = Snapshot { commit, tree: merged, left_out: Vec::new() };
            self.bring(index, &result.tree, &to)
        });
        if let Err(err) = moved {
            tracing::warn!(%err, "a worktree stays behind the project that took its result");
        }
    }

    fn accept_as_branch(
        &self,
        name: &str,
        message: &str,
        seen: Option<&WorkVersion>,
    ) -> Result<Accepted, GitError> {
        let repository = self.repository();
        repository.check_branch(name)?;
        let (head, ours) = repository.head()?.ok_or(GitError::NoCommit)?;
        repository.copy_tree(&ours)?;
        let base = self.base_kept()?;
        let (result, _) = repository.snapshot_worktree(self, "worktree")?;
        check(seen, &base.tree, &result.tree)?;
        let merged = match repository.merge(&base.tree, &ours, &result.tree)? {
            Merged::Clean(tree) => tree,
            Merged::Conflicts(conflicts) => return Ok(Accepted::Conflicts(conflicts)),
        };
        let changes = repository.changes(&ours, &merged)?;
        if changes.total == 0 {
            return Ok(Accepted::Nothing { left_out: result.left_out });
        }
        let commit = repository.commit_after(&merged, &head, message)?;
        let mut ids = repository.objects_since(Some(&ours), &merged)?;
        ids.insert(commit.as_str().to_owned());
        repository.make_branch(name, &commit, &ids)?;
        Ok(Accepted::Branch { commit, changes, left_out: result.left_out })
    }
}

fn check(seen: Option<&WorkVersion>, base: &TreeId, result: &TreeId) -> Result<(), GitError> {
    let is_same = seen.is_none_or(|seen| *seen == version(base, result));
    if is_same { Ok(()) } else { Err(GitError::ResultChanged) }
}

/// Names the work from `base` to `result`. An agent must not find two results with one name, so all 32 bytes count.
fn version(base: &TreeId, result: &TreeId) -> WorkVersion {
    let hash = Sha256::digest(format!("{base} {result}"));
    let digits: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
    WorkVersion::new(digits)
}

impl Repository {
    fn check_branch(&self, name: &str) -> Result<(), GitError> {
        let user = self.user().ok_or(GitError::NoBranches)?;
        let full = format!("refs/heads/{name}");
        let checked = Git::new("check-ref-format").arg(&full).run()?;
        if checked.code != 0 || name.starts_with('-') || name == "HEAD" {
            return Err(GitError::BadBranch { name: name.to_owned() });
        }
        if user.has_branch(name) {
            return Err(GitError::BranchExists { name: name.to_owned() });
        }
        Ok(())
    }

    /// Copies these objects into the user's repository and creates the branch. Fails if the branch exists: somebody may
    /// have been faster.
    fn make_branch(&self, name: &str, commit: &CommitId, ids: &Ids) -> Result<(), GitError> {
        let (Some(user), Some(git)) = (self.user(), self.real("update-ref")) else {
            return Err(GitError::NoBranches);
        };
        let wrong = self.copy_objects(ids, Lender::Own, &user.objects())?;
        if !wrong.is_empty() {
            return Err(GitError::Damaged { count: wrong.len() });
        }
        let line = format!("create refs/heads/{name}\0{commit}\0").into_bytes();
        let made = git.args(["-z", "--stdin"]).input(line).run()?;
        let taken =
            made.stderr.contains("already exists") || made.stderr.contains("exists; cannot");
        match made.code {
            0 => Ok(()),
            _ if taken => Err(GitError::BranchExists { name: name.to_owned() }),
            _ => Err(GitError::from_stderr("update-ref", &made.stderr)),
        }
    }
}
