//! Files that are asked for outside of any session: what is in them, and the backups of the project.

use super::{Registry, SessionHandle};
use crate::config::Config;
use crate::files::{Backup, Content, ContentError, FileError, FileLimits, Moment, Restored};
use crate::message::Principal;
use tokio::task::spawn_blocking;

/// How much is kept and handed out, in the words of `files`.
pub fn file_limits(config: &Config) -> FileLimits {
    FileLimits {
        max_pixels: config.limits.image_pixels,
        backup_keep: config.files.backup_keep,
        backup_age: config.files.backup_age,
        temp_quota: config.files.temp_quota,
        temp_age: config.files.temp_age,
        content: config.files.content,
    }
}

impl Registry {
    /// A whole file, by a path that a list has shown to this user, maybe in a session that works on another project.
    pub async fn content(
        &self,
        principal: &Principal,
        session: Option<&SessionHandle>,
        shown: &str,
    ) -> Result<Content, ContentError> {
        let files = match session {
            Some(session) => session.files().await.map_err(|_| ContentError::Unreadable)?,
            None => self.files_with(shown),
        };
        let (principal, shown) = (principal.clone(), shown.to_owned());
        let read = spawn_blocking(move || files.read(&principal, &shown)).await;
        // A panic in there is logged; to the client the file is one that cannot be read.
        read.unwrap_or(Err(ContentError::Unreadable))
    }

    /// Newest first.
    pub async fn backups(&self) -> Vec<Backup> {
        let files = self.files().clone();
        let mut backups = spawn_blocking(move || files.backups()).await.unwrap_or_default();
        backups.reverse();
        backups
    }

    /// Goes on to its end, whoever stops waiting for it.
    pub async fn restore_backup(
        &self,
        moment: Moment,
        path: Option<String>,
    ) -> Result<Restored, FileError> {
        let files = self.files().clone();
        let restored = spawn_blocking(move || files.restore(moment, path.as_deref())).await;
        restored.unwrap_or(Err(FileError::Internal))
    }
}
