//! Backups: snapshots that are kept. One is made before each run and before everything that overwrites or removes
//! files, so that it can be undone.

use super::apply::Course;
use super::filtered::RealCourse;
use super::index::{Extent, paths};
use super::refs::{Kept, commit_id};
use super::snapshot::{Place, Snapshot};
use super::{Changes, CommitId, GitError, Repository, TreeId, Worktree};
use crate::message::{AgentSlot, BackupReason, RunId, SessionId};
use std::path::{Component, Path};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Commit messages of backups, which say whose files they hold.
const PROJECT: &str = "backup of the project";
const CHANNEL: &str = "backup of channel ";

/// A ref `refs/kakehashi/backup/<session>-<run>`, or with a reason and a time instead of the run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Backup {
    /// Unique within its repository.
    pub name: String,
    pub reason: BackupReason,
    /// The agent whose files these are; `None` for the project's own.
    pub slot: Option<AgentSlot>,
    pub made: SystemTime,
    pub commit: CommitId,
    pub tree: TreeId,
}

/// What a restore has done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Restored {
    pub changes: Changes,
    /// Backup of the state before the restore; `None` if there was nothing to do.
    pub backup: Option<Backup>,
    /// Files with a filter that stay as they are, because the backup has only their stored form, or because they are too
    /// large to be backed up.
    pub left_out: Vec<String>,
}

impl Repository {
    /// Backs up the files of a place before a run. A second backup for the same run replaces the first.
    pub fn back_up(
        &self,
        place: Place<'_>,
        session: &SessionId,
        run: RunId,
    ) -> Result<(Backup, Snapshot), GitError> {
        let _lock = self.lock();
        let worktree = match place {
            Place::Project => None,
            Place::Worktree(worktree) => Some(worktree),
        };
        let snapshot = self.snapshot_of(place, &self.subject(worktree.map(Worktree::slot)))?;
        let kept = match place {
            Place::Project => {
                Snapshot { tree: self.real_tree(&snapshot.tree)?, ..snapshot.clone() }
            }
            Place::Worktree(_) => snapshot.clone(),
        };
        let backup = self.keep_backup(session, BackupReason::Run(run), &kept, worktree)?;
        Ok((backup, snapshot))
    }

    /// Backups of one session in this project, oldest first.
    pub fn backups(&self, session: &SessionId) -> Result<Vec<Backup>, GitError> {
        let (kept, mark) = (self.kept("backup")?, self.mark());
        let own = kept.iter().filter_map(|kept| parse(kept, session, &mark));
        let mut backups: Vec<_> = own.collect();
        backups.sort_by(|one, other| age(one).cmp(&age(other)));
        Ok(backups)
    }

    /// Restores one file, by its path in the project, or all files of a place. Files that were not there then are
    /// removed. The present state is backed up first. The place must be the one that the backup is of: another agent's
    /// work would come without the base that it started from.
    pub fn restore(
        &self,
        place: Place<'_>,
        session: &SessionId,
        name: &str,
        path: Option<&str>,
    ) -> Result<Restored, GitError> {
        let wanted = self.backups(session)?.into_iter().find(|backup| backup.name == name);
        let wanted = wanted.ok_or(GitError::NoSuchBackup)?;
        let _lock = self.lock();
        let ((now, index), worktree) = match place {
            Place::Project => (self.snapshot_project("project")?, None),
            Place::Worktree(worktree) => {
                (self.snapshot_worktree(worktree, "worktree")?, Some(worktree))
            }
        };
        if wanted.slot != worktree.map(Worktree::slot) {
            return Err(GitError::NoSuchBackup);
        }
        let RealCourse { from, to, kept } = match place {
            Place::Project => self.real_course(&index, &now.tree, &wanted.tree, path)?,
            Place::Worktree(_) => RealCourse::plain(&now.tree, &wanted.tree),
        };
        let mut changes = self.changes_without_renames(&from, &to)?;
        if let Some(path) = path {
            self.narrow(&mut changes, &wanted.tree, path)?;
        }
        let base = match (worktree, path) {
            (Some(worktree), None) => self.earlier_base(worktree, &wanted)?,
            (Some(_) | None, _) => None,
        };
        if changes.total == 0 && base.is_none() {
            return Ok(Restored { changes, backup: None, left_out: kept });
        }
        let before = Snapshot { tree: from.clone(), ..now };
        let backup = self.keep_backup(session, BackupReason::Restore, &before, worktree)?;
        let (from, to, extent) = (&from, &to, Extent::Project);
        self.bring(&Course { index: &index, from, to, extent, only: path })?;
        if let (Some(worktree), Some((name, base))) = (worktree, base) {
            self.keep(&name, &base)?;
            worktree.show_base(&worktree.base_kept()?)?;
        }
        Ok(Restored { changes, backup: Some(backup), left_out: kept })
    }

    /// The base that a worktree's backup was made against, if the worktree has another one now. With the newer base,
    /// later changes of the project would look as if the agent had reverted them, and accepted work would not look like
    /// the agent's.
    fn earlier_base(
        &self,
        worktree: &Worktree,
        wanted: &Backup,
    ) -> Result<Option<(String, CommitId)>, GitError> {
        let git = self.content("rev-parse", &[]).args(["--verify", "--quiet"]);
        let parent = git.arg(format!("{}^", wanted.commit.as_str())).word()?;
        let base = commit_id("rev-parse", &parent)?;
        let is_other = worktree.base_kept()?.commit != base;
        Ok(is_other.then(|| (worktree.base_name(), base)))
    }

    /// Leaves only one path. A file that has not changed is no error; a path that is in neither state is.
    fn narrow(&self, changes: &mut Changes, then: &TreeId, path: &str) -> Result<(), GitError> {
        changes.files.retain(|change| change.path == path);
        changes.total = changes.files.len();
        if changes.total == 0 && !self.has_file(then, path)? {
            return Err(GitError::NoSuchFile { path: path.to_owned() });
        }
        Ok(())
    }

    /// Whether the tree has a file at this path. Directories do not count, and only plain relative paths are looked up.
    fn has_file(&self, tree: &TreeId, path: &str) -> Result<bool, GitError> {
        let mut parts = Path::new(path).components();
        let is_plain = parts.all(|part| matches!(part, Component::Normal(_)));
        if path.is_empty() || path.contains('\0') || !is_plain {
            return Ok(false);
        }
        let whole = self.prefix().join(path);
        let git = self.content("ls-tree", &[]).args(["-r", "-z", "--name-only", "--full-tree"]);
        let listed = git.arg(tree.as_str()).arg("--").arg(&whole).read()?;
        Ok(paths(&listed).iter().any(|found| *found == *whole.as_os_str()))
    }

    /// Removes backups that are older than `age`, and all but the newest `keep`.
    pub fn prune_backups(
        &self,
        session: &SessionId,
        keep: usize,
        age: Duration,
    ) -> Result<usize, GitError> {
        let _lock = self.lock();
        let backups = self.backups(session)?;
        let oldest = SystemTime::now().checked_sub(age).unwrap_or(UNIX_EPOCH);
        let surplus = backups.len().saturating_sub(keep);
        let old = backups.iter().enumerate();
        let old = old.filter(|(place, backup)| *place < surplus || backup.made < oldest);
        let names: Vec<_> = old.map(|(_, backup)| format!("backup/{}", backup.name)).collect();
        self.forget(&names)?;
        Ok(names.len())
    }

    pub(super) fn keep_backup(
        &self,
        session: &SessionId,
        reason: BackupReason,
        snapshot: &Snapshot,
        worktree: Option<&Worktree>,
    ) -> Result<Backup, GitError> {
        let slot = worktree.map(Worktree::slot);
        let parent = match worktree {
            Some(worktree) => Some(worktree.base_kept()?.commit),
            None => None,
        };
        let commit = self.commit(&snapshot.tree, parent.as_ref(), &self.subject(slot))?;
        let made = SystemTime::now();
        let name = format!("{session}-{}", label(reason, made));
        self.keep(&format!("backup/{name}"), &commit)?;
        Ok(Backup { name, reason, slot, made, commit, tree: snapshot.tree.clone() })
    }

    /// Commit message of a backup. It holds the mark of the project, so that a session that has changed its project
    /// does not take one project's files for another's.
    pub(super) fn subject(&self, slot: Option<AgentSlot>) -> String {
        let mark = self.mark();
        match slot {
            None => format!("{PROJECT}{mark}"),
            Some(slot) => format!("{CHANNEL}{}{mark}", slot.number()),
        }
    }
}

/// Unique within a session, unless two backups of a kind are made in one microsecond.
fn label(reason: BackupReason, made: SystemTime) -> String {
    let micros = made.duration_since(UNIX_EPOCH).unwrap_or_default().as_micros();
    match reason {
        BackupReason::Run(run) => run.0.to_string(),
        BackupReason::Accept => format!("accept-{micros}"),
        BackupReason::Discard => format!("discard-{micros}"),
        BackupReason::Restore => format!("restore-{micros}"),
    }
}

/// Commits are dated in whole seconds. The numbers of runs grow, so they order the backups of one second.
fn age(backup: &Backup) -> (SystemTime, u64, &str) {
    let run = match backup.reason {
        BackupReason::Run(run) => run.0,
        BackupReason::Accept | BackupReason::Discard | BackupReason::Restore => 0,
    };
    (backup.made, run, &backup.name)
}

/// Whose files a backup holds. `None`: it is another project's, or not a backup.
fn whose(subject: &str, mark: &str) -> Option<Option<AgentSlot>> {
    let subject = subject.strip_suffix(mark)?;
    if subject == PROJECT {
        return Some(None);
    }
    let number = subject.strip_prefix(CHANNEL)?.parse().ok()?;
    AgentSlot::new(number).map(Some)
}

fn parse(kept: &Kept, session: &SessionId, mark: &str) -> Option<Backup> {
    let name = kept.name.strip_prefix("backup/")?;
    let label = name.strip_prefix(session.as_str())?.strip_prefix('-')?;
    let (word, micros) = label.split_once('-').unwrap_or((label, ""));
    let reason = match word {
        "accept" => BackupReason::Accept,
        "discard" => BackupReason::Discard,
        "restore" => BackupReason::Restore,
        run => BackupReason::Run(RunId(run.parse().ok()?)),
    };
    let seconds = Duration::from_secs(kept.seconds.try_into().ok()?);
    let exact = micros.parse().ok().map(Duration::from_micros);
    Some(Backup {
        name: name.to_owned(),
        reason,
        slot: whose(&kept.subject, mark)?,
        made: UNIX_EPOCH + exact.unwrap_or(seconds),
        commit: kept.commit.clone(),
        tree: kept.tree.clone(),
    })
}
