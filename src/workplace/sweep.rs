//! The end of what belongs to sessions that are gone. Only what our own notes name is ever removed.

use super::{GitError, Repository};
use crate::message::SessionId;
use std::collections::BTreeSet;

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
    fn remove_worktree(&self, name: &str) -> Result<(), GitError> {
        if let Some(link) = self.noted_link(name) {
            link.remove()?;
        }
        let doing = "removing notes about a worktree";
        for path in [self.private().index(name), self.private().state(name)] {
            super::private::remove_file(&path).map_err(GitError::io(doing))?;
        }
        Ok(())
    }
}

/// `ws-<hex>-<something>`; the hex has no dash in it.
fn session_of(name: &str) -> Option<SessionId> {
    let rest = name.strip_prefix("ws-")?;
    let (digits, _) = rest.split_once('-')?;
    SessionId::parse(&format!("ws-{digits}"))
}
