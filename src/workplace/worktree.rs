//! One agent's own copy of the project: a repository of its own, made from the files as they are, also those that are
//! not committed yet.

use super::agent_git::AgentGit;
use super::apply::Course;
use super::index::{Extent, Index};
use super::private::{fingerprint, make_directory, replace};
use super::refs::Kept;
use super::snapshot::{Place, Snapshot};
use super::{Backup, Changes, CommitId, GitError, Repository, TreeId};
use crate::message::{AgentSlot, BackupReason, RunId, SessionId};
use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use tracing::warn;

/// The worktree of one channel of one session. HEAD is detached: git in there can commit, but has no branch.
#[derive(Debug, Clone)]
pub struct Worktree {
    repository: Repository,
    session: SessionId,
    slot: AgentSlot,
    git: AgentGit,
    /// It was made anew by the call that returned this, without these.
    fresh: Option<Vec<String>>,
    /// Tells a throw-away copy from the agent's own.
    copy: Option<usize>,
}

/// What [`Worktree::discard`] has done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Discarded {
    /// Of the result that was thrown away.
    pub backup: Backup,
    /// No part of the backup, and still where it was.
    pub left_out: Vec<String>,
    /// See [`Worktree::is_fresh`].
    pub fresh: bool,
}

/// The first line of a note about a worktree that was made to the end.
const READY: &[u8] = b"ready\n";

/// Whether it was made to the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    Begun,
    Ready,
}

impl Repository {
    /// Where worktrees are best made: `worktrees/<session>/` in the data directory, with a name of its own for each
    /// repository, so that a session can change its project and find the work in the first one again.
    pub fn worktree_path(&self, session: &SessionId, slot: AgentSlot) -> PathBuf {
        let repository = self.private().name().display();
        let name = format!("{repository}{}-{}", self.mark(), slot.number());
        self.data().join("worktrees").join(session.as_str()).join(name)
    }

    fn worktree_name(&self, session: &SessionId, slot: AgentSlot) -> String {
        format!("{session}-{}{}", slot.number(), self.mark())
    }

    /// Several projects may be in one repository, as directories or as checkouts of their own. Their agents must not
    /// meet, because the work of one would be accepted into the other.
    pub(super) fn mark(&self) -> String {
        let is_linked = self.user().is_some_and(|user| user.git_dir != user.common);
        if self.prefix().as_os_str().is_empty() && !is_linked {
            return String::new();
        }
        let mark = fingerprint(self.top().join(self.prefix()).as_os_str());
        format!("-{}", &mark[..8.min(mark.len())])
    }

    /// Makes the worktree at `path`, which must not be there or be ours. One that is there is brought to the
    /// project's state if nothing was changed in it, and left alone otherwise.
    pub fn ensure(
        &self,
        session: &SessionId,
        slot: AgentSlot,
        path: &Path,
    ) -> Result<Worktree, GitError> {
        let _lock = self.lock();
        Ok(self.ensure_locked(session, slot, path)?.0)
    }

    /// The same before a run, with a backup of its files, for which they are not looked at twice.
    pub fn ensure_backed_up(
        &self,
        session: &SessionId,
        slot: AgentSlot,
        path: &Path,
        run: RunId,
    ) -> Result<(Worktree, TreeId), GitError> {
        let _lock = self.lock();
        let (worktree, seen) = self.ensure_locked(session, slot, path)?;
        let snapshot = match seen {
            Some(snapshot) => snapshot,
            None => self.snapshot_of(Place::Worktree(&worktree), &self.subject(Some(slot)))?,
        };
        self.keep_backup(session, BackupReason::Run(run), &snapshot, Some(&worktree))?;
        Ok((worktree, snapshot.tree))
    }

    /// With its files, if they are as they were when they were looked at for this.
    fn ensure_locked(
        &self,
        session: &SessionId,
        slot: AgentSlot,
        path: &Path,
    ) -> Result<(Worktree, Option<Snapshot>), GitError> {
        if self.user().is_some_and(|user| user.common.join("reftable").is_dir()) {
            return Err(GitError::Unsupported { what: "keeps its refs as reftable" });
        }
        let mut worktree = self.worktree_at(session, slot, path)?;
        let seen;
        (worktree.fresh, seen) = match worktree.stage() {
            Some(Stage::Ready) if worktree.is_whole()? => worktree.follow()?,
            Some(_) | None => {
                worktree.make_room()?;
                (Some(worktree.create()?), None)
            }
        };
        Ok((worktree, seen))
    }

    /// One that was made before and is still there.
    pub fn worktree(
        &self,
        session: &SessionId,
        slot: AgentSlot,
    ) -> Result<Option<Worktree>, GitError> {
        let _lock = self.lock();
        let Some((Stage::Ready, path)) = self.noted(&self.worktree_name(session, slot)) else {
            return Ok(None);
        };
        let worktree = self.worktree_at(session, slot, &path)?;
        Ok(worktree.is_whole()?.then_some(worktree))
    }

    fn worktree_at(
        &self,
        session: &SessionId,
        slot: AgentSlot,
        path: &Path,
    ) -> Result<Worktree, GitError> {
        let doing = "making a directory for a worktree";
        let parent = path.parent().unwrap_or(Path::new("/"));
        make_directory(parent).map_err(GitError::io(doing))?;
        // Without links: git compares these paths as text.
        let parent = parent.canonicalize().map_err(GitError::io(doing))?;
        let top = parent.join(path.file_name().unwrap_or_default());
        let git = AgentGit::new(self, &self.worktree_name(session, slot), &top);
        let (repository, session) = (self.clone(), session.clone());
        Ok(Worktree { repository, session, slot, git, fresh: None, copy: None })
    }

    fn noted(&self, name: &str) -> Option<(Stage, PathBuf)> {
        let text = fs::read(self.private().state(name)).ok()?;
        let stage = if text.starts_with(READY) { Stage::Ready } else { Stage::Begun };
        Some((stage, self.data().join(noted_path(&text)?)))
    }

    /// Where a worktree of ours is or was; nothing else may ever be removed.
    pub(super) fn noted_git(&self, name: &str) -> Option<AgentGit> {
        self.noted(name).map(|(_, path)| AgentGit::new(self, name, &path))
    }
}

impl Worktree {
    /// Where the agent works: the project's place in the worktree.
    pub fn place(&self) -> PathBuf {
        self.repository.project_in(&self.git.top)
    }

    /// The whole worktree, which the agent may write.
    pub fn top(&self) -> &Path {
        &self.git.top
    }

    /// Its directories were made anew, by [`Repository::ensure`]: an agent that was started in the earlier ones has
    /// to be started again.
    pub fn is_fresh(&self) -> bool {
        self.fresh.is_some()
    }

    /// What the project has and a copy that was just made has not, see [`Snapshot::left_out`].
    pub fn lacks(&self) -> &[String] {
        self.fresh.as_deref().unwrap_or_default()
    }

    pub fn repository(&self) -> &Repository {
        &self.repository
    }

    pub fn session(&self) -> &SessionId {
        &self.session
    }

    pub fn slot(&self) -> AgentSlot {
        self.slot
    }

    /// What the agent's git needs besides [`Worktree::top`], to be read only: the objects of its base, and those of the
    /// user's repository, with whatever that borrows from.
    pub fn borrowed_objects(&self) -> Vec<PathBuf> {
        self.git.borrowed(&self.repository)
    }

    /// The project's state that it began with.
    pub fn base(&self) -> Result<(CommitId, TreeId), GitError> {
        let kept = self.base_kept()?;
        Ok((kept.commit, kept.tree))
    }

    /// Its files as they are; compared with [`Worktree::base`] they are the agent's result, committed or not.
    pub fn result(&self) -> Result<Snapshot, GitError> {
        self.repository.snapshot(Place::Worktree(self))
    }

    /// What the agent's result is.
    pub fn changes(&self) -> Result<Changes, GitError> {
        let result = self.result()?;
        self.repository.changes(&self.base()?.1, &result.tree)
    }

    /// Throws the agent's result away, after a backup of it, and starts again from the project as it is now.
    pub fn discard(&self) -> Result<Discarded, GitError> {
        let _lock = self.repository.lock();
        let extent = Extent::Everything;
        let (result, index) = self.repository.snapshot_extent(self, "worktree", extent)?;
        let backup = self.repository.keep_backup(
            &self.session,
            BackupReason::Discard,
            &result,
            Some(self),
        )?;
        let project = self.repository.look_at_project("base")?;
        let fresh = self.move_to(&index, &result, &project)?.is_some();
        Ok(Discarded { backup, left_out: result.left_out, fresh })
    }

    pub(super) fn name(&self) -> String {
        let own = self.repository.worktree_name(&self.session, self.slot);
        match self.copy {
            None => own,
            Some(number) => copy_name(&own, number),
        }
    }

    /// The same files in another place, which is still to be made; see [`Worktree::write_out`].
    pub(super) fn elsewhere(&self, number: usize, top: &Path) -> Self {
        let name = copy_name(&self.name(), number);
        let git = AgentGit::new(&self.repository, &name, top);
        Self { git, copy: Some(number), ..self.clone() }
    }

    pub(super) fn base_kept(&self) -> Result<Kept, GitError> {
        let kept = self.repository.kept_one(&self.base_name())?;
        kept.ok_or(GitError::WorktreeGone)
    }

    pub(super) fn base_name(&self) -> String {
        format!("base/{}", self.name())
    }

    /// Of the last look at its files.
    pub(super) fn last_name(&self) -> String {
        format!("last/{}", self.name())
    }

    fn stage(&self) -> Option<Stage> {
        let (stage, path) = self.repository.noted(&self.name())?;
        Some(if path == self.git.top { stage } else { Stage::Begun })
    }

    pub(super) fn note(&self, stage: Stage) -> Result<(), GitError> {
        let mut text = match stage {
            Stage::Begun => b"begun\n".to_vec(),
            Stage::Ready => READY.to_vec(),
        };
        // Seen from the data directory, which may be moved.
        let top = &self.git.top;
        let path = top.strip_prefix(self.repository.data()).unwrap_or(top);
        text.extend_from_slice(path.as_os_str().as_bytes());
        let state = self.repository.private().state(&self.name());
        replace(&state, &text).map_err(GitError::io("noting a worktree"))
    }

    fn is_whole(&self) -> Result<bool, GitError> {
        let directory = self.git.top.symlink_metadata().is_ok_and(|about| about.is_dir());
        let known = self.repository.kept_one(&self.base_name())?.is_some();
        Ok(directory && known)
    }

    /// What a killed gateway left is removed; what is not ours is not.
    pub(super) fn make_room(&self) -> Result<(), GitError> {
        if let Some(earlier) = self.repository.noted_git(&self.name()) {
            earlier.remove()?;
        }
        let empty = fs::remove_dir(&self.git.top);
        match empty.map_err(|err| err.kind()) {
            Ok(()) | Err(std::io::ErrorKind::NotFound) => Ok(()),
            Err(_) => Err(GitError::NotOurs { path: self.git.top.display().to_string() }),
        }
    }

    /// Returns what the project has and this has not.
    fn create(&self) -> Result<Vec<String>, GitError> {
        self.note(Stage::Begun)?;
        let project = self.repository.look_at_project("base")?;
        self.repository.keep(&self.base_name(), &project.commit)?;
        self.write_out(&project.tree, &project.tree)?;
        self.note(Stage::Ready)?;
        Ok(project.left_out)
    }

    /// Where there is nothing yet.
    pub(super) fn write_out(&self, tree: &TreeId, base: &TreeId) -> Result<(), GitError> {
        make_directory(&self.git.top).map_err(GitError::io("making a worktree"))?;
        let index = Index::of_worktree(&self.repository, &self.name(), &self.git.top);
        index.reset(Some(tree))?;
        index.git("checkout-index").args(["-a", "-u", "-f", "-q"]).read()?;
        self.git.show(&self.repository, base, tree, index.path())?;
        self.repository.include(&self.git.top)?;
        make_directory(&self.place()).map_err(GitError::io("making a worktree"))
    }

    /// Brings a worktree without changes to where the project is now, if nothing is lost by it. The first part is
    /// `Some` if it was made anew, without these; the second one if its files were left as they are.
    fn follow(&self) -> Result<(Option<Vec<String>>, Option<Snapshot>), GitError> {
        let base = self.base_kept()?;
        let (result, index) = self.repository.snapshot_worktree(self, "worktree")?;
        let repaired = self.repair(&base)?.then(Vec::new);
        if result.tree != base.tree {
            return Ok((repaired, Some(result)));
        }
        let project = self.repository.look_at_project("base")?;
        if project.tree == base.tree {
            return Ok((repaired, Some(result)));
        }
        match self.move_to(&index, &result, &project) {
            Err(GitError::Unkept { paths }) => {
                warn!(?paths, "a worktree stays behind the project, because of what is only there");
                Ok((repaired, None))
            }
            moved => Ok((moved?.or(repaired), None)),
        }
    }

    fn repair(&self, base: &Kept) -> Result<bool, GitError> {
        let fresh = !self.git.is_there();
        if self.git.is_usable(&self.repository)? {
            self.git.repair(&self.repository)?;
        } else {
            self.show_base(base)?;
        }
        Ok(fresh)
    }

    /// To git in there the files are changes since this state, and nothing is staged.
    pub(super) fn show_base(&self, base: &Kept) -> Result<(), GitError> {
        let index = Index::of_nothing(&self.repository, &self.git.top);
        index.reset(Some(&base.tree))?;
        index.note(&[])?;
        self.git.show(&self.repository, &base.tree, &base.tree, index.path())
    }

    /// Ignored files stay, so that what was built need not be built again, unless they are in the way. `Some`: it was
    /// made anew, without these.
    fn move_to(
        &self,
        index: &Index,
        now: &Snapshot,
        project: &Snapshot,
    ) -> Result<Option<Vec<String>>, GitError> {
        match self.bring(index, &now.tree, project) {
            Err(GitError::PlaceChanged { .. } | GitError::NoPermission { .. }) => {
                let paths = self.unkept(&now.tree)?;
                if !paths.is_empty() {
                    return Err(GitError::Unkept { paths });
                }
                self.git.remove()?;
                self.create().map(Some)
            }
            moved => moved.map(|()| None),
        }
    }

    /// What is in there and not in `kept`, also beside the project.
    fn unkept(&self, kept: &TreeId) -> Result<Vec<String>, GitError> {
        // Not with the worktree's own index: what is beside the project must not become part of later results.
        let index = Index::of_nothing(&self.repository, &self.git.top);
        index.reset(Some(kept))?;
        let (all, mut unkept) = index.take(Extent::Everything)?;
        let beside = self.repository.differences(kept, &all, Extent::Repository)?;
        unkept.extend(beside.iter().map(|change| self.repository.told(&change.path)));
        Ok(unkept)
    }

    pub(super) fn bring(&self, index: &Index, now: &TreeId, to: &Snapshot) -> Result<(), GitError> {
        let extent = Extent::Repository;
        let course = Course { index, from: now, to: &to.tree, extent, only: None };
        self.repository.bring(&course)?;
        self.repository.keep(&self.base_name(), &to.commit)?;
        self.git.show(&self.repository, &to.tree, &to.tree, index.path())
    }
}

fn copy_name(own: &str, number: usize) -> String {
    format!("{own}-copy{number}")
}

/// The second line of a note; relative to the data directory if it can be.
pub(super) fn noted_path(note: &[u8]) -> Option<PathBuf> {
    let end = note.iter().position(|byte| *byte == b'\n')?;
    Some(PathBuf::from(OsString::from_vec(note[end + 1..].to_vec())))
}
