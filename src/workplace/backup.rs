//! Snapshots that are kept: one before each run and before everything that overwrites or removes files, so that each
//! of them can be undone.

use super::apply::Course;
use super::index::{Extent, paths};
use super::refs::{Kept, commit_id};
use super::snapshot::{Place, Snapshot};
use super::{Changes, CommitId, GitError, Repository, TreeId, Worktree};
use crate::message::{AgentSlot, BackupReason, RunId, SessionId};
use std::path::{Component, Path};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// What the commits of backups say of whose files they are.
const PROJECT: &str = "backup of the project";
const CHANNEL: &str = "backup of channel ";

/// A ref `refs/kakehashi/backup/<session>-<run>`, or with a word and a time instead of the run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Backup {
    /// Names it within its repository.
    pub name: String,
    pub reason: BackupReason,
    /// Whose files; `None` for the project's own.
    pub slot: Option<AgentSlot>,
    pub made: SystemTime,
    pub commit: CommitId,
    pub tree: TreeId,
}

/// Files that are back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Restored {
    pub changes: Changes,
    /// What was there before; `None` if there was nothing to do.
    pub backup: Option<Backup>,
}

impl Repository {
    /// Keeps the files of a place as they are before a run. A second one of the same run takes its place.
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
        let backup = self.keep_backup(session, BackupReason::Run(run), &snapshot, worktree)?;
        Ok((backup, snapshot))
    }

    /// Those of one session in this project, oldest first.
    pub fn backups(&self, session: &SessionId) -> Result<Vec<Backup>, GitError> {
        let (kept, mark) = (self.kept("backup")?, self.mark());
        let own = kept.iter().filter_map(|kept| parse(kept, session, &mark));
        let mut backups: Vec<_> = own.collect();
        backups.sort_by(|one, other| (one.made, &one.name).cmp(&(other.made, &other.name)));
        Ok(backups)
    }

    /// Brings one file, by its path in the project, or all files of a place back to what they were then. Files that
    /// were not there then are removed. What is there now is backed up first. The place is the one that the backup is
    /// of: another agent's work would come without what it began with.
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
        let mut changes = self.changes_without_renames(&now.tree, &wanted.tree)?;
        if let Some(path) = path {
            self.narrow(&mut changes, &wanted.tree, path)?;
        }
        let base = match (worktree, path) {
            (Some(worktree), None) => self.earlier_base(worktree, &wanted)?,
            (Some(_) | None, _) => None,
        };
        if changes.total == 0 && base.is_none() {
            return Ok(Restored { changes, backup: None });
        }
        let backup = self.keep_backup(session, BackupReason::Restore, &now, worktree)?;
        let (from, to, extent) = (&now.tree, &wanted.tree, Extent::Project);
        self.bring(&Course { index: &index, from, to, extent, only: path })?;
        if let (Some(worktree), Some((name, base))) = (worktree, base) {
            self.keep(&name, &base)?;
            worktree.show_base(&worktree.base_kept()?)?;
        }
        Ok(Restored { changes, backup: Some(backup) })
    }

    /// What a worktree's backup was made against, if that is another than now. With a newer base, what the project got
    /// since would look as if the agent had taken it back; and what the project has taken, as if it was not the agent's.
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

    /// A file that is as it was is no error; one that is in no list is.
    fn narrow(&self, changes: &mut Changes, then: &TreeId, path: &str) -> Result<(), GitError> {
        changes.files.retain(|change| change.path == path);
        changes.total = changes.files.len();
        if changes.total == 0 && !self.has_file(then, path)? {
            return Err(GitError::NoSuchFile { path: path.to_owned() });
        }
        Ok(())
    }

    /// A directory is none, and nothing else than a plain path is looked for.
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

    /// Old ones go: those that are older than `age`, and all but the newest `keep`.
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

    /// With the mark of the project: a session that has moved must not mistake one project's files for another's.
    pub(super) fn subject(&self, slot: Option<AgentSlot>) -> String {
        let mark = self.mark();
        match slot {
            None => format!("{PROJECT}{mark}"),
            Some(slot) => format!("{CHANNEL}{}{mark}", slot.number()),
        }
    }
}

/// Unique within a session as long as there are not two of a kind in one microsecond.
fn label(reason: BackupReason, made: SystemTime) -> String {
    let micros = made.duration_since(UNIX_EPOCH).unwrap_or_default().as_micros();
    match reason {
        BackupReason::Run(run) => run.0.to_string(),
        BackupReason::Accept => format!("accept-{micros}"),
        BackupReason::Discard => format!("discard-{micros}"),
        BackupReason::Restore => format!("restore-{micros}"),
    }
}

/// `None`: it is another project's, or no backup at all.
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
