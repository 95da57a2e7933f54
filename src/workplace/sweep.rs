//! The end of what belongs to sessions that are gone. Only what our own notes name is ever removed.

use super::link::remove_tree;
use super::private::{DIRECTORY, remove_file};
use super::worktree::noted_path;
use super::{GitError, Repository};
use crate::message::SessionId;
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::Path;

impl Repository {
    /// Worktrees, backups and notes of one session. What is gone already is no error.
    pub fn remove_session(&self, session: &SessionId) -> Result<(), GitError> {
        let _lock = self.lock();
        self.remove_all_of(session)
    }

    /// The same for every session of this gateway that no longer exists.
    pub fn prune(&self, exists: impl Fn(&SessionId) -> bool) -> Result<(), GitError> {
        let _lock = self.lock();
        let mut sessions: BTreeSet<_> =
            self.private().states().iter().filter_map(|name| session_of(name)).collect();
        for kept in self.kept("backup")? {
            // Another gateway's sessions are not ours to judge.
            if kept.owner == self.private().owner() {
                sessions.extend(kept.name.strip_prefix("backup/").and_then(session_of));
            }
        }
        self.private().tidy(self.common_dir());
        for session in sessions.iter().filter(|session| !exists(session)) {
            self.remove_all_of(session)?;
        }
        Ok(())
    }

    fn remove_all_of(&self, session: &SessionId) -> Result<(), GitError> {
        let states = self.private().states();
        for name in states.iter().filter(|name| session_of(name).as_ref() == Some(session)) {
            self.remove_worktree(name)?;
        }
        let mine = |name: &str| {
            let name = name.strip_prefix("backup/").or_else(|| name.strip_prefix("base/"));
            name.and_then(session_of).as_ref() == Some(session)
        };
        let kept = self.kept("")?.into_iter().map(|kept| kept.name);
        self.forget(&kept.filter(|name| mine(name)).collect::<Vec<_>>())
    }

    /// The note goes last: what was cut off can be repeated.
    pub(super) fn remove_worktree(&self, name: &str) -> Result<(), GitError> {
        if let Some(link) = self.noted_link(name) {
            link.remove()?;
        }
        let doing = "removing notes about a worktree";
        for path in [self.private().index(name), self.private().state(name)] {
            remove_file(&path).map_err(GitError::io(doing))?;
        }
        Ok(())
    }
}

/// The same as far as it is in the data directory, for a session whose project is gone. Without git.
pub fn remove_leftovers(data: &Path, session: &SessionId) -> io::Result<()> {
    let repositories = fs::read_dir(data.join(DIRECTORY)).into_iter().flatten().flatten();
    for repository in repositories.map(|entry| entry.path()) {
        let states = fs::read_dir(repository.join("state")).into_iter().flatten().flatten();
        for state in states.map(|entry| entry.path()) {
            let name = state.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if session_of(&name).as_ref() == Some(session) {
                if let Some(path) = noted_path(&fs::read(&state)?) {
                    remove_tree(&data.join(path))?;
                }
                remove_file(&repository.join("index").join(&name))?;
                remove_file(&state)?;
            }
        }
    }
    Ok(())
}

/// `ws-<hex>-<something>`; the hex has no dash in it.
fn session_of(name: &str) -> Option<SessionId> {
    let rest = name.strip_prefix("ws-")?;
    let (digits, _) = rest.split_once('-')?;
    SessionId::parse(&format!("ws-{digits}"))
}
