//! One agent's own copy of the project: a repository of its own, made from the files as they are, committed or not.

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

/// The worktree of one agent in one session. HEAD is detached: git in there can commit, but has no branch.
#[derive(Debug, Clone)]
pub struct Worktree {
    repository: Repository,
    session: SessionId,
    slot: AgentSlot,
    git: AgentGit,
    /// `Some` if the call that returned this has made it anew, with the paths that it lacks.
    fresh: Option<Vec<String>>,
    /// Number of a scratch copy; `None` for the agent's own worktree.
    copy: Option<usize>,
}

/// What [`Worktree::discard`] has done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Discarded {
    /// Backup of the result that was discarded.
    pub backup: Backup,
    /// Paths that are not in the backup and still where they were.
    pub left_out: Vec<String>,
    /// See [`Worktree::is_fresh`].
    pub fresh: bool,
}

/// First line of the note about a complete worktree.
const READY: &[u8] = b"ready\n";

/// Whether a worktree is complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    Begun,
    Ready,
}

impl Repository {
    /// Path for a new worktree: in `worktrees/<session>/` of the data directory. The name differs for each repository,
    /// so that a session can change its project and find the work in the first one again.
    pub fn worktree_path(&self, session: &SessionId, slot: AgentSlot) -> PathBuf {
        let repository = self.private().name().display();
        let name = format!("{repository}{}-{}", self.mark(), slot.number());
        self.data().join("worktrees").join(session.as_str()).join(name)
    }

    fn worktree_name(&self, session: &SessionId, slot: AgentSlot) -> String {
        format!("{session}-{}{}", slot.number(), self.mark())
    }

    /// Tells projects in one repository apart, which may be directories or checkouts of their own. Without it, the work
    /// of an agent could be accepted into the wrong project.
    pub(super) fn mark(&self) -> String {
        let is_linked = self.user().is_some_and(|user| user.git_dir != user.common);
        if self.prefix().as_os_str().is_empty() && !is_linked {
            return String::new();
        }
        let mark = fingerprint(self.top().join(self.prefix()).as_os_str());
        format!("-{}", &mark[..8.min(mark.len())])
    }

    /// Makes the worktree at `path`, where there must be nothing or a worktree of ours. A worktree without changes is
    /// brought to the project's state; one with changes is left alone.
    pub fn ensure(
        &self,
        session: &SessionId,
        slot: AgentSlot,
        path: &Path,
    ) -> Result<Worktree, GitError> {
        let _lock = self.lock();
        Ok(self.ensure_locked(session, slot, path)?.0)
    }

    /// [`Repository::ensure`] before a run, with a backup of the worktree's files. The files are looked at only once.
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

    /// Also returns a snapshot of the files, if one was taken and they were not changed since.
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

    /// A worktree that was made before and is still there.
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
        // Without symlinks, because git compares these paths as text.
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

    /// A present or former worktree of ours, by its note. Nothing without a note may ever be removed.
    pub(super) fn noted_git(&self, name: &str) -> Option<AgentGit> {
        self.noted(name).map(|(_, path)| AgentGit::new(self, name, &path))
    }
}

impl Worktree {
    /// Where the agent works: the project's directory in the worktree.
    pub fn place(&self) -> PathBuf {
        self.repository.project_in(&self.git.top)
    }

    /// The whole worktree, which the agent may write.
    pub fn top(&self) -> &Path {
        &self.git.top
    }

    /// Whether its directories were made anew by [`Repository::ensure`]. An agent that was started in the earlier ones
    /// has to be started again.
    pub fn is_fresh(&self) -> bool {
        self.fresh.is_some()
    }

    /// What the project has and a new copy lacks, see [`Snapshot::left_out`].
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

    /// Directories that the agent's git reads besides [`Worktree::top`]: the objects of its base, and those of the
    /// user's repository with everything that it borrows from.
    pub fn borrowed_objects(&self) -> Vec<PathBuf> {
        self.git.borrowed(&self.repository)
    }

    /// The git directory that the agent writes, and the path at which it has to see it. What is there outside is for
    /// people, and not for the agent to write.
    pub fn git_stand_in(&self) -> (PathBuf, PathBuf) {
        self.git.stand_in()
    }

    /// The state of the project that the worktree started from.
    pub fn base(&self) -> Result<(CommitId, TreeId), GitError> {
        let kept = self.base_kept()?;
        Ok((kept.commit, kept.tree))
    }

    /// Snapshot of the files as they are. The difference to [`Worktree::base`] is the agent's result, committed or not.
    pub fn result(&self) -> Result<Snapshot, GitError> {
        self.repository.snapshot(Place::Worktree(self))
    }

    /// The agent's result: what it has changed since the base.
    pub fn changes(&self) -> Result<Changes, GitError> {
        let result = self.result()?;
        self.repository.changes(&self.base()?.1, &result.tree)
    }

    /// Discards the agent's result, after a backup of it, and starts again from the project as it is now.
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

    /// A scratch copy at another path. [`Worktree::write_out`] has to make it.
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

    /// Ref of the last snapshot of its files.
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
        // Relative to the data directory, because that may be moved.
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

    /// Removes what a killed gateway left at this path. Fails if something there is not ours.
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

    /// Makes the worktree. Returns what the project has and the worktree lacks.
    fn create(&self) -> Result<Vec<String>, GitError> {
        self.note(Stage::Begun)?;
        let project = self.repository.look_at_project("base")?;
        self.repository.keep(&self.base_name(), &project.commit)?;
        self.write_out(&project.tree, &project.tree)?;
        self.note(Stage::Ready)?;
        Ok(project.left_out)
    }

    /// Writes `tree` to a path where there is nothing yet. `base` is what the agent sees as HEAD.
    pub(super) fn write_out(&self, tree: &TreeId, base: &TreeId) -> Result<(), GitError> {
        make_directory(&self.git.top).map_err(GitError::io("making a worktree"))?;
        let index = Index::of_worktree(&self.repository, &self.name(), &self.git.top);
        index.reset(Some(tree))?;
        index.git("checkout-index").args(["-a", "-u", "-f", "-q"]).read()?;
        self.git.show(&self.repository, base, tree, &index)?;
        self.repository.include(&self.git.top)?;
        make_directory(&self.place()).map_err(GitError::io("making a worktree"))
    }

    /// Brings a worktree without changes to the project's present state, if nothing is lost by it. The first value is
    /// `Some` if it was made anew, with the paths that it lacks; the second one if its files were left as they are.
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

    /// Shows the agent's git the files as changes since `base`, with nothing staged.
    pub(super) fn show_base(&self, base: &Kept) -> Result<(), GitError> {
        let index = Index::of_nothing(&self.repository, &self.git.top);
        index.reset(Some(&base.tree))?;
        index.note(&[])?;
        self.git.show(&self.repository, &base.tree, &base.tree, &index)
    }

    /// Brings the worktree to the project's state. Ignored files stay unless they are in the way, so that nothing has
    /// to be built again. `Some`: it was made anew, and lacks these paths.
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

    /// Paths in the worktree that are not in `kept`, also outside of the project.
    fn unkept(&self, kept: &TreeId) -> Result<Vec<String>, GitError> {
        // Not the worktree's own index: files outside of the project must not become part of later results.
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
        self.git.show(&self.repository, &to.tree, &to.tree, index)
    }
}

fn copy_name(own: &str, number: usize) -> String {
    format!("{own}-copy{number}")
}

/// Path in the second line of a note, relative to the data directory if possible.
pub(super) fn noted_path(note: &[u8]) -> Option<PathBuf> {
    let end = note.iter().position(|byte| *byte == b'\n')?;
    Some(PathBuf::from(OsString::from_vec(note[end + 1..].to_vec())))
}
