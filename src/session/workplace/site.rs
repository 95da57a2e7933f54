//! Where an agent works: in its own copy of the project, or in the shared project. Everything here blocks.

use super::place_work::{PlaceWork, Turn};
use crate::config::Config;
use crate::files::{FileError, Files, Snapshot};
use crate::message::{
    AgentSlot, ChangeStatus, FileChange, MOST_LEFT_OUT, PlaceKind, RunId, SessionId,
    SessionSettings, WorkVersion, WorkplaceChoice,
};
use crate::session::Env;
use crate::session::shared::Shared;
use crate::workplace::{
    self, GitError, GitLayouts, Nested, Repository, SetAside, TreeId, Worktree,
};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tracing::warn;

/// Directories below the data directory, with one directory in them for each session.
const DIRECTORY: &str = "worktrees";
const ASIDE: &str = "set-aside";
/// Prefix of the files in `ASIDE` that list the repositories a project had before a run.
const KNOWN: &str = "known-";
/// Most changed files that are listed one by one.
const MOST_CHANGED: usize = 1_000;

/// Which agent of which session needs a workplace, and where the user wants it to work.
#[derive(Debug, Clone)]
pub(in crate::session) struct WorkplaceRequest {
    files: Files,
    data: PathBuf,
    session: SessionId,
    slot: AgentSlot,
    wanted: Wanted,
    /// Hidden paths and private files of the operator.
    private: Vec<PathBuf>,
    backups: (usize, std::time::Duration),
    work: PlaceWork,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wanted {
    /// The agent's own copy of the project.
    Worktree,
    Shared,
}

/// Where an agent works.
#[derive(Debug, Clone)]
pub(in crate::session) enum Site {
    Worktree(Worktree),
    Shared(SharedProject),
}

/// The shared project.
#[derive(Debug, Clone)]
pub(in crate::session) struct SharedProject {
    /// The repository that the project is in.
    pub(super) repository: Option<Repository>,
    /// Repositories inside the project.
    pub(super) nested: Nested,
    /// All of these repositories, as they were before a run.
    pub(super) layouts: Arc<GitLayouts>,
}

/// The state of a workplace before a run.
#[derive(Debug, Clone)]
pub(in crate::session) struct Before {
    pub(in crate::session) site: Site,
    /// `None` where there is no git, or git could make no snapshot.
    tree: Option<TreeId>,
    /// Files of the project; `None` if they could not be listed.
    survey: Option<Snapshot>,
}

/// Files that a run has changed.
#[derive(Debug, Default)]
pub(in crate::session) struct Changed {
    pub(in crate::session) files: Vec<FileChange>,
    pub(super) more: bool,
    /// Files in the agent's own workplace that cannot become part of its result.
    pub(super) left_out: Vec<String>,
    /// The agent's whole work in its own workplace.
    pub(super) version: Option<WorkVersion>,
}

/// Why there is no workplace, or nothing to choose from.
#[derive(Debug, thiserror::Error)]
pub(in crate::session) enum SiteError {
    #[error(
        "the project is a git directory itself, so there is no copy of it to work in; choose another project, or `shared`"
    )]
    NoCopy,
    #[error(
        "this agent works in the project itself, so its work is there already; \
         what it left in a copy of its own is kept until its place is `worktree` again"
    )]
    IsShared,
    #[error("this agent has not worked in a place of its own yet")]
    NoWork,
    #[error("there is no backup of run {0}")]
    NoBackup(u64),
    #[error(
        "the project is in no git repository, so there is no backup of a single run; choose one of `backups`"
    )]
    NoRunBackups,
    #[error("this is a backup of the work of agent {}; restore it there", .0.number())]
    OtherAgents(AgentSlot),
    #[error("agents work in the project; stop them or wait, then try again")]
    ProjectBusy,
    #[error(transparent)]
    Git(#[from] GitError),
    #[error(transparent)]
    Files(#[from] FileError),
}

impl WorkplaceRequest {
    pub(in crate::session) fn new(
        env: &Env,
        session: &SessionId,
        slot: AgentSlot,
        settings: &SessionSettings,
    ) -> Self {
        Self {
            files: env.files.clone(),
            data: env.config.data.clone(),
            session: session.clone(),
            slot,
            wanted: wanted(settings, slot),
            private: env.hidden.iter().cloned().chain(env.config.private_files()).collect(),
            backups: (env.config.files.backup_keep, env.config.files.backup_age),
            work: env.place_work.clone(),
        }
    }

    /// For an agent of the actor's own session.
    pub(in crate::session) fn of(shared: &Shared, slot: AgentSlot) -> Self {
        Self::new(&shared.env, &shared.id, slot, &shared.settings)
    }

    /// Waits until it is this session's turn to work on its workplaces.
    pub(in crate::session) async fn turn(&self) -> Turn {
        self.work.turn(&self.session, self.files.project()).await
    }

    /// Directory of the agent's files: its own workplace, or the project.
    pub(in crate::session) fn root(&self) -> PathBuf {
        self.worktree()
            .map_or_else(|_| self.files.project().to_owned(), |worktree| worktree.place())
    }

    /// The agent's own workplace, made if it is missing, with a backup of its files.
    fn own(&self, run: RunId) -> Result<(Site, Option<TreeId>), SiteError> {
        let repository = self.copied()?;
        let place = repository.worktree_path(&self.session, self.slot);
        let (worktree, tree) =
            repository.ensure_backed_up(&self.session, self.slot, &place, run)?;
        Ok((Site::Worktree(worktree), Some(tree)))
    }

    /// The shared project, with a backup in git if it is in a repository.
    fn projects(&self, run: RunId) -> (Site, Option<TreeId>) {
        // Git is optional in the shared project, so a repository that cannot be used is only logged.
        let repository = self.repository().unwrap_or_else(|err| {
            warn!(%err, "the project's repository cannot be used");
            None
        });
        let site = self.shared(repository);
        let Site::Shared(shared) = &site else { return (site, None) };
        // The list tells a restarted gateway which repositories are new after it was killed. Nothing else depends on
        // it.
        if let Err(err) = shared.layouts.save(&self.known_layouts()) {
            warn!(%err, "which repositories the project has cannot be noted");
        }
        // File backups protect the project. The backup in git is a convenience, so its failure is only logged.
        let kept = shared.repository.as_ref().and_then(|repository| {
            let kept = repository.back_up(workplace::Place::Project, &self.session, run);
            kept.inspect_err(|err| warn!(%err, "no backup in git before a run")).ok()
        });
        (site, kept.map(|(_, snapshot)| snapshot.tree))
    }

    /// The repository that copies of the project are made from.
    fn copied(&self) -> Result<Repository, SiteError> {
        if let Some(repository) = self.repository()? {
            return Ok(repository);
        }
        workplace::version()?;
        Err(SiteError::NoCopy)
    }

    /// The shared project as a workplace.
    pub(in crate::session) fn shared(&self, repository: Option<Repository>) -> Site {
        let nested = Nested::find(self.files.project(), &self.private);
        let layouts = Arc::new(GitLayouts::find(self.files.project(), &self.private));
        // A project without git has file backups instead.
        let repository = repository.filter(Repository::has_git);
        Site::Shared(SharedProject { repository, nested, layouts })
    }

    pub(super) fn is_shared(&self) -> bool {
        self.wanted == Wanted::Shared
    }

    /// Opens the workplace and backs it up, so that the run can be undone.
    pub(super) fn prepare(
        &self,
        run: RunId,
        survey: Option<Snapshot>,
    ) -> Result<Before, SiteError> {
        let (site, tree) = match self.wanted {
            Wanted::Worktree => self.own(run)?,
            Wanted::Shared => self.projects(run),
        };
        Ok(Before { site, tree, survey })
    }

    /// The file that lists the repositories the project had before the current run.
    fn known_layouts(&self) -> PathBuf {
        let name = [KNOWN, &self.slot.number().to_string()].concat();
        self.aside().join(name)
    }

    /// Where repositories go that an agent creates in the shared project.
    pub(super) fn aside(&self) -> PathBuf {
        aside(&self.data, &self.session)
    }

    /// Moves repositories that the agent has created out of the shared project.
    pub(super) fn set_repositories_aside(&self, before: &Before) -> Vec<SetAside> {
        let Site::Shared(shared) = &before.site else { return Vec::new() };
        let moved = shared.layouts.set_new_ones_aside(&self.aside());
        let _ = std::fs::remove_file(self.known_layouts());
        moved
    }

    /// The agent's own workplace, if it works there and has begun.
    pub(in crate::session) fn worktree(&self) -> Result<Worktree, SiteError> {
        match self.wanted {
            // A worktree from before the agent was set to the shared project is not its present work.
            Wanted::Shared => Err(SiteError::IsShared),
            Wanted::Worktree => {
                self.copied()?.worktree(&self.session, self.slot)?.ok_or(SiteError::NoWork)
            }
        }
    }

    /// Number of changed files in the agent's own workplace, wherever it works now.
    pub(super) fn kept(&self) -> Result<usize, SiteError> {
        let Some(repository) = self.repository()? else { return Ok(0) };
        match repository.worktree(&self.session, self.slot)? {
            Some(worktree) => Ok(worktree.changes()?.total),
            None => Ok(0),
        }
    }

    pub(in crate::session) fn repository(&self) -> Result<Option<Repository>, GitError> {
        Repository::discover_without(self.files.project(), &self.data, &self.private)
    }

    /// Files of the project.
    pub(in crate::session) fn files(&self) -> &Files {
        &self.files
    }

    pub(in crate::session) fn session(&self) -> &SessionId {
        &self.session
    }

    pub(in crate::session) fn slot(&self) -> AgentSlot {
        self.slot
    }

    /// Deletes old backups in git by the limits for file backups.
    pub(super) fn forget_old_backups(&self, repository: &Repository) {
        let (keep, age) = self.backups;
        if let Err(err) = repository.prune_backups(&self.session, keep, age) {
            warn!(%err, "old backups of agents are left");
        }
    }
}

impl Site {
    /// The shared project, without a look at its own repository.
    pub(super) fn project(env: &Env) -> Self {
        let private: Vec<_> =
            env.hidden.iter().cloned().chain(env.config.private_files()).collect();
        let nested = Nested::find(env.files.project(), &private);
        let layouts = Arc::new(GitLayouts::find(env.files.project(), &private));
        Self::Shared(SharedProject { repository: None, nested, layouts })
    }

    pub(in crate::session) fn kind(&self) -> PlaceKind {
        match self {
            Self::Worktree(_) => PlaceKind::Worktree,
            Self::Shared(_) => PlaceKind::Shared,
        }
    }

    /// Whether it is the agent's own copy.
    pub(in crate::session) fn is_own(&self) -> bool {
        matches!(self, Self::Worktree(_))
    }

    /// Whether its directories were made anew. A process that was started in the earlier ones has to be started again.
    pub(in crate::session) fn is_fresh(&self) -> bool {
        match self {
            Self::Worktree(worktree) => worktree.is_fresh(),
            Self::Shared(_) => false,
        }
    }

    /// Parts of the project that a newly made workplace lacks.
    pub(in crate::session) fn lacks(&self) -> Vec<String> {
        match self {
            Self::Worktree(worktree) => named(worktree.lacks().to_vec()),
            Self::Shared(_) => Vec::new(),
        }
    }

    /// Directory in which the agent's process starts.
    pub(super) fn directory(&self, files: &Files) -> PathBuf {
        match self {
            Self::Worktree(worktree) => worktree.place(),
            Self::Shared(_) => files.project().to_owned(),
        }
    }
}

impl Before {
    /// Changes found on disk since then, whoever made them. `survey` lists the project's files as they are now.
    pub(super) fn changed(&self, survey: Option<&Snapshot>) -> Changed {
        let found = match (&self.site, &self.tree) {
            (Site::Worktree(worktree), Some(tree)) => self.in_worktree(worktree, tree),
            (Site::Shared(SharedProject { repository: Some(repository), .. }), Some(tree)) => {
                self.in_repository(repository, tree, survey)
            }
            (Site::Worktree(_) | Site::Shared(_), _) => Ok(self.in_project(survey)),
        };
        let mut changed = found.unwrap_or_else(|err| {
            warn!(%err, "what a run has changed cannot be told by git");
            self.in_project(survey)
        });
        changed.more |= changed.files.len() > MOST_CHANGED;
        changed.files.truncate(MOST_CHANGED);
        changed
    }

    fn in_worktree(&self, worktree: &Worktree, before: &TreeId) -> Result<Changed, GitError> {
        let after = worktree.result()?;
        let changes = worktree.repository().changes(before, &after.tree)?;
        let version = Some(worktree.version(&after)?);
        let (more, left_out) = (changes.is_cut(), named(after.left_out));
        Ok(Changed { files: changes.files, more, left_out, version })
    }

    /// Git counts lines. The survey adds changed files that git ignores.
    fn in_repository(
        &self,
        repository: &Repository,
        before: &TreeId,
        survey: Option<&Snapshot>,
    ) -> Result<Changed, GitError> {
        let after = repository.snapshot(workplace::Place::Project)?;
        let changes = repository.changes(before, &after.tree)?;
        let more = changes.is_cut();
        // Nothing is left out: work in the shared project is there already, whether git tracks it or not.
        let mut changed = Changed { files: changes.files, more, ..Changed::default() };
        for file in self.in_project(survey).files {
            let is_told = |told: &FileChange| {
                told.path == file.path || told.old_path.as_ref() == Some(&file.path)
            };
            if !changed.files.iter().any(is_told) {
                changed.files.push(file);
            }
        }
        Ok(changed)
    }

    fn in_project(&self, survey: Option<&Snapshot>) -> Changed {
        let (Site::Shared(_), Some(before), Some(after)) = (&self.site, &self.survey, survey)
        else {
            return Changed::default();
        };
        let change = |(path, status)| FileChange {
            path,
            old_path: None,
            status,
            added: None,
            removed: None,
        };
        let files = before.changes_until(after).into_iter().map(change).collect();
        Changed { files, ..Changed::default() }
    }
}

/// As many left-out paths as are named to the user.
pub(super) fn named(mut left_out: Vec<String>) -> Vec<String> {
    left_out.truncate(MOST_LEFT_OUT);
    left_out
}

/// Directory of one session.
fn directory(data: &Path, session: &SessionId) -> PathBuf {
    data.join(DIRECTORY).join(session.as_str())
}

/// Repositories that were moved out of the project while a session's agents worked in it.
fn aside(data: &Path, session: &SessionId) -> PathBuf {
    data.join(ASIDE).join(session.as_str())
}

/// Moves repositories away that agents of a killed gateway created in shared projects.
pub(in crate::session) fn sweep_interrupted(config: &Config) {
    let sessions = std::fs::read_dir(config.data.join(ASIDE)).into_iter().flatten().flatten();
    let hidden: Vec<_> = config.private_files().into_iter().chain([config.data.clone()]).collect();
    for aside in sessions.map(|entry| entry.path()) {
        for note in std::fs::read_dir(&aside).into_iter().flatten().flatten() {
            if !note.file_name().to_string_lossy().starts_with(KNOWN) {
                continue;
            }
            let known = GitLayouts::load(&note.path(), &hidden);
            for moved in known.iter().flat_map(|known| known.set_new_ones_aside(&aside)) {
                warn!(?moved, "a repository that an agent made in the project was moved out of it");
            }
            let _ = std::fs::remove_file(note.path());
        }
    }
}

/// Removes what agents of a deleted session have left in any project.
pub(in crate::session) fn remove(config: &Config, session: &SessionId) {
    in_every_repository(config, |repository| repository.remove_session(session));
    // Also for projects that are not configured any more.
    if let Err(err) = workplace::remove_leftovers(&config.data, session) {
        warn!(%err, "copies that agents of a deleted session worked in are left behind");
    }
    let _ = workplace::remove_tree(&aside(&config.data, session));
    // Empty by now, or never made.
    let _ = std::fs::remove_dir(directory(&config.data, session));
}

/// Removes what agents have left whose sessions do not exist any more.
pub(in crate::session) fn tidy(config: &Config, exists: impl Fn(&SessionId) -> bool) {
    in_every_repository(config, |repository| repository.prune(&exists));
}

fn in_every_repository(config: &Config, work: impl Fn(&Repository) -> Result<(), GitError>) {
    let projects = config.projects.iter().map(|(_, path)| path.as_path());
    for project in projects.chain([config.project.as_path()]) {
        let private = config.private_files();
        let found = Repository::discover_without(project, &config.data, &private);
        if let Err(err) = found.and_then(|found| found.as_ref().map_or(Ok(()), &work)) {
            warn!(%err, "what agents of deleted sessions made is left behind");
        }
    }
}

fn wanted(settings: &SessionSettings, slot: AgentSlot) -> Wanted {
    match settings.agents[slot].workplace {
        WorkplaceChoice::Shared => Wanted::Shared,
        WorkplaceChoice::Auto | WorkplaceChoice::Worktree => Wanted::Worktree,
    }
}

/// Whether an agent is to work in the project itself.
pub(super) fn is_shared(settings: &SessionSettings, slot: AgentSlot) -> bool {
    wanted(settings, slot) == Wanted::Shared
}

/// Whether the run made or changed this file and it is a picture.
pub(super) fn is_picture(file: &FileChange) -> bool {
    const ENDINGS: [&str; 6] = ["png", "jpg", "jpeg", "gif", "webp", "bmp"];
    let ending = file.path.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase());
    let is_there = match file.status {
        ChangeStatus::Added | ChangeStatus::Modified | ChangeStatus::TypeChanged => true,
        ChangeStatus::Renamed | ChangeStatus::Deleted => false,
    };
    is_there && ending.is_some_and(|ending| ENDINGS.contains(&ending.as_str()))
}
