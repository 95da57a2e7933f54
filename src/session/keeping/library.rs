//! File contents and file backups of projects, for requests that come from outside of a session's sockets.

use crate::config::Config;
use crate::files::{Backup, Content, ContentError, FileError, FileLimits, Files, Moment, Restored};
use crate::message::{AgentSet, AgentSlot, Principal};
use crate::session::workplace::site::WorkplaceRequest;
use crate::session::{Env, Registry, SessionHandle};
use std::cmp::Reverse;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::sync::OwnedSemaphorePermit;
use tokio::task::spawn_blocking;

/// The configured limits, as `files` takes them.
pub fn file_limits(config: &Config) -> FileLimits {
    FileLimits {
        max_pixels: config.limits.image_pixels,
        backup_keep: config.files.backup_keep,
        backup_age: config.files.backup_age,
        temp_quota: config.files.temp_quota,
        temp_age: config.files.temp_age,
        content: config.files.content,
        private: config.private_files(),
    }
}

/// Files that are read and prepared at the same time; further ones wait.
pub(in crate::session) const READS: usize = 4;
/// Files that wait, are read, or are on their way to a client. More are refused.
pub(in crate::session) const HANDED_OUT: usize = 20;

/// Most sessions whose copies are searched for a file that is named without its session.
const SEARCHED: usize = 8;

/// A file on its way to a client.
#[derive(Debug)]
pub struct Handout {
    pub content: Content,
    /// Permit to read, kept until the answer is made: memory is needed for more than the answer until then.
    pub turn: OwnedSemaphorePermit,
    /// Permit that is kept until the client has the answer.
    pub place: OwnedSemaphorePermit,
}

/// Why a file is not handed out.
#[derive(Debug, thiserror::Error)]
pub enum HandoutError {
    #[error("{HANDED_OUT} files are on their way already")]
    Busy,
    #[error(transparent)]
    Content(#[from] ContentError),
}

/// Why backups cannot be listed or restored.
#[derive(Debug, thiserror::Error)]
pub enum LibraryError {
    #[error("this is neither the gateway's project nor one of [projects] in its configuration")]
    UnknownProject,
    #[error(transparent)]
    Files(#[from] FileError),
}

impl Registry {
    /// Reads a whole file, by a path that a list has shown to this user. Without a session the file is looked for in
    /// the projects of this user's sessions, because existing clients do not say whose list it was.
    pub async fn content(
        &self,
        principal: &Principal,
        session: Option<&SessionHandle>,
        agent: Option<AgentSlot>,
        shown: &str,
    ) -> Result<Handout, HandoutError> {
        let place = Arc::clone(&self.handouts).try_acquire_owned();
        let place = place.map_err(|_| HandoutError::Busy)?;
        let root = match session.zip(agent).filter(|_| Path::new(shown).is_relative()) {
            Some((session, slot)) => Some(self.root_of(session, slot).await?),
            None => None,
        };
        let turn = Arc::clone(&self.reads).acquire_owned().await;
        let turn = turn.map_err(|_| HandoutError::Busy)?;
        let places = match session {
            _ if Path::new(shown).is_absolute() => vec![self.files_with(Path::new(shown))],
            Some(session) => vec![session.workplace()],
            None => self.workplaces(principal),
        };
        let (principal, shown) = (principal.clone(), shown.to_owned());
        // The read owns both permits, so a disk that hangs keeps them even when nobody waits any more.
        let read = spawn_blocking(move || {
            let content = match root {
                Some(root) => places[0].read_in(&root, &shown),
                None => read_first(&places, &principal, &shown),
            };
            let content = content?;
            Ok(Handout { content, turn, place })
        });
        // A panic is logged, and the client is told that the file cannot be read.
        read.await.unwrap_or(Err(ContentError::Unreadable.into()))
    }

    /// Reads a file from agents' own copies: in one session, or in this user's sessions that were used last.
    pub async fn content_in_copies(
        &self,
        principal: &Principal,
        session: Option<&SessionHandle>,
        agents: AgentSet,
        shown: &str,
    ) -> Result<Handout, HandoutError> {
        let sessions = match session {
            Some(session) => vec![session.clone()],
            None => self.own_sessions(principal).into_iter().take(SEARCHED).collect(),
        };
        let places = sessions.iter().flat_map(|one| agents.iter().map(move |slot| (one, slot)));
        for (session, slot) in places.filter(|_| Path::new(shown).is_relative()) {
            if self.root_of(session, slot).await? == session.workplace().project() {
                continue;
            }
            match self.content(principal, Some(session), Some(slot), shown).await {
                Err(HandoutError::Content(ContentError::NotFound)) => {}
                read => return read,
            }
        }
        Err(ContentError::NotFound.into())
    }

    /// Directory of an agent's files. Found before a read permit is taken, because git may be slow.
    async fn root_of(
        &self,
        session: &SessionHandle,
        slot: AgentSlot,
    ) -> Result<PathBuf, HandoutError> {
        let settings = session.settings().await.map_err(|_| HandoutError::Busy)?;
        let env = Env { files: session.workplace(), ..self.env.clone() };
        let request = WorkplaceRequest::new(&env, session.id(), slot, &settings);
        let found = spawn_blocking(move || request.root()).await;
        found.map_err(|_| ContentError::Unreadable.into())
    }

    /// Files of the project that holds this path, itself or in its backups; otherwise those of the gateway's own
    /// project.
    fn files_with(&self, shown: &Path) -> Files {
        let own = self.files();
        let others = self.env.config.projects.iter().map(|(_, path)| path.as_path());
        let known = others.chain([own.project()]);
        // Projects may be nested; the innermost one is meant.
        let around = known.clone().filter(|path| shown.starts_with(path));
        let around = around.max_by_key(|path| path.components().count());
        let open = |path: &Path| {
            let is_own = path == own.project();
            if is_own {
                Some(own.clone())
            } else {
                self.env.projects.open(Some(path.to_str()?)).ok()
            }
        };
        let found = if own.is_backup(shown) {
            known.filter_map(open).find(|files| files.has_backup(shown))
        } else {
            around.and_then(open)
        };
        found.unwrap_or_else(|| own.clone())
    }

    /// This user's sessions in memory, last used first.
    fn own_sessions(&self, principal: &Principal) -> Vec<SessionHandle> {
        let handles = self.sessions.iter().filter_map(|slot| slot.value().get().cloned());
        let mut handles: Vec<_> = handles.filter(|handle| handle.is_of(principal)).collect();
        handles.sort_by_key(|handle| Reverse(handle.last_use()));
        handles
    }

    /// Projects of this user's sessions in memory, last used first, and then the gateway's own project.
    fn workplaces(&self, principal: &Principal) -> Vec<Files> {
        let handles = self.own_sessions(principal);
        let mut places: Vec<Files> = Vec::new();
        for files in handles.iter().map(SessionHandle::workplace).chain([self.files().clone()]) {
            if places.iter().all(|known| known.project() != files.project()) {
                places.push(files);
            }
        }
        places
    }

    /// File backups of a project, newest first. `None` is the gateway's own project.
    pub async fn backups(&self, project: Option<&Path>) -> Result<Vec<Backup>, LibraryError> {
        let files = self.known_project(project)?;
        let mut backups = spawn_blocking(move || files.backups()).await.unwrap_or_default();
        backups.reverse();
        Ok(backups)
    }

    /// Restores a file backup. It runs to its end, even if the caller stops waiting.
    pub async fn restore_backup(
        &self,
        project: Option<&Path>,
        moment: Moment,
        path: Option<String>,
    ) -> Result<Restored, LibraryError> {
        let files = self.known_project(project)?;
        let restored = spawn_blocking(move || files.restore(moment, path.as_deref())).await;
        Ok(restored.unwrap_or(Err(FileError::Internal))?)
    }

    /// Files of a configured project. Shared with the sessions on it, so that each knows what the other has backed up.
    fn known_project(&self, project: Option<&Path>) -> Result<Files, LibraryError> {
        let own = self.files();
        let Some(path) = project.filter(|path| !path.as_os_str().is_empty()) else {
            return Ok(own.clone());
        };
        if path == own.project() || path == self.env.config.project {
            return Ok(own.clone());
        }
        let listed = self.env.config.projects.iter().find(|(_, listed)| listed == path);
        let path = listed.and_then(|(_, listed)| listed.to_str());
        let path = path.ok_or(LibraryError::UnknownProject)?;
        self.env.projects.open(Some(path)).map_err(|_| FileError::ProjectMissing.into())
    }
}

/// Reads the file from the first project that has it.
fn read_first(
    places: &[Files],
    principal: &Principal,
    shown: &str,
) -> Result<Content, ContentError> {
    let mut found = Err(ContentError::NotFound);
    for files in places {
        found = files.read(principal, shown);
        if found != Err(ContentError::NotFound) {
            break;
        }
    }
    found
}
