//! Lists and restores the backups of a session. For an agent in a shared project without git, these are the project's
//! file backups, which belong to everybody who works on the project.

use super::choice::{ChoiceError, Inquiry};
use super::inspect::{Carried, ProjectUse, blocking, done, paths};
use super::site::{SiteError, WorkplaceRequest};
use crate::files::{self, FileError, Files, Moment};
use crate::message::{AgentSlot, BackupList, BackupNote, BackupReason, PlaceKind, RestorePoint};
use crate::session::SessionHandle;
use crate::workplace::{Backup, GitError, Place, Repository};
use std::sync::Arc;

impl SessionHandle {
    /// Backups that can be restored on the channel of `agent`, or those of all agents.
    pub async fn backups(&self, agent: Option<AgentSlot>) -> Result<Arc<BackupList>, ChoiceError> {
        self.inquire(|reply| Inquiry::Backups { agent, reply }).await
    }
}

pub(super) async fn backups(
    request: WorkplaceRequest,
    agent: Option<AgentSlot>,
) -> Result<BackupList, String> {
    blocking(request, move |request| {
        let repository =
            request.repository()?.filter(|found| found.has_git() || !request.is_shared());
        let mut backups: Vec<_> = match repository {
            Some(repository) => {
                let backups = repository.backups(request.session())?;
                backups.into_iter().filter(|backup| fits(backup, agent)).map(note).collect()
            }
            None => request
                .files()
                .backups()
                .into_iter()
                .map(|backup| file_note(backup.moment))
                .collect(),
        };
        backups.reverse();
        Ok(BackupList { agent, backups })
    })
    .await
}

/// Backups of the project can be restored on any agent's channel.
fn fits(backup: &Backup, agent: Option<AgentSlot>) -> bool {
    agent.is_none() || backup.slot.is_none() || backup.slot == agent
}

fn note(backup: Backup) -> BackupNote {
    BackupNote {
        name: backup.name,
        reason: Some(backup.reason),
        made: files::shown(backup.made),
        agent: backup.slot,
    }
}

fn file_note(moment: Moment) -> BackupNote {
    BackupNote { name: moment.name(), reason: None, made: moment.to_string(), agent: None }
}

/// Restores into the agent's own workplace, or into the project if the backup is of the project.
pub(super) fn restore(
    request: &WorkplaceRequest,
    point: &RestorePoint,
    path: Option<&str>,
    others: ProjectUse,
) -> Result<Carried, SiteError> {
    let Some(repository) = request.repository()? else {
        return restore_files(request.files(), point, path, others);
    };
    let backup = match find(request, &repository, point) {
        Err(_) if is_of_files(request, &repository, point) => {
            return restore_files(request.files(), point, path, others);
        }
        found => found?,
    };
    let (restored, touched) = match backup.slot {
        None if others == ProjectUse::Busy => return Err(SiteError::ProjectBusy),
        None => {
            let place = Place::Project;
            let restored = repository.restore(place, request.session(), &backup.name, path)?;
            (restored, PlaceKind::Shared)
        }
        Some(slot) if slot != request.slot() => return Err(SiteError::OtherAgents(slot)),
        Some(_) => {
            let worktree = request.worktree()?;
            let place = Place::Worktree(&worktree);
            let restored = repository.restore(place, request.session(), &backup.name, path)?;
            (restored, PlaceKind::Worktree)
        }
    };
    let before = restored.backup.map(|backup| backup.name);
    Ok(done(touched, paths(restored.changes), before).without(restored.left_out))
}

/// Whether a file backup is meant. In a shared project without git there are no others. Earlier versions listed only
/// file backups without git, so a name with `/` still means one.
fn is_of_files(request: &WorkplaceRequest, repository: &Repository, point: &RestorePoint) -> bool {
    let is_moment = match point {
        RestorePoint::Named(name) => name.contains('/'),
        RestorePoint::Before(_) => false,
    };
    !repository.has_git() && (request.is_shared() || is_moment)
}

fn find(
    request: &WorkplaceRequest,
    repository: &Repository,
    point: &RestorePoint,
) -> Result<Backup, SiteError> {
    let mut backups = repository.backups(request.session())?.into_iter();
    match point {
        RestorePoint::Before(run) => {
            let of_run = |backup: &Backup| {
                backup.reason == BackupReason::Run(*run) && fits(backup, Some(request.slot()))
            };
            backups.find(of_run).ok_or(SiteError::NoBackup(run.0))
        }
        RestorePoint::Named(name) => {
            let found = backups.find(|backup| backup.name == *name);
            found.ok_or(SiteError::Git(GitError::NoSuchBackup))
        }
    }
}

/// Unlike a restore with git, this is not all or nothing: files written before a full disk stay, and the backup that
/// was made first can undo them.
fn restore_files(
    files: &Files,
    point: &RestorePoint,
    path: Option<&str>,
    others: ProjectUse,
) -> Result<Carried, SiteError> {
    let RestorePoint::Named(name) = point else { return Err(SiteError::NoRunBackups) };
    let (day, time) = name.split_once('/').unwrap_or_default();
    let moment = Moment::parse(day, time).ok_or(FileError::NotInBackup)?;
    if others == ProjectUse::Busy {
        return Err(SiteError::ProjectBusy);
    }
    let restored = files.restore(moment, path)?;
    let changed = restored.written.into_iter().chain(restored.removed).collect();
    // A restore first backs up the current files, and no backup is newer than that one.
    let before = files.backups().last().map(|backup| backup.moment.name());
    Ok(done(PlaceKind::Shared, changed, before))
}
