//! Removes what belongs to deleted sessions. Only paths that our own notes name are ever removed.

use super::private::{AGENT_GITS, ASIDE, DIRECTORY, remove_file};
use super::refs::OURS;
use super::removal::remove_tree;
use super::worktree::noted_path;
use super::{GitError, Repository};
use crate::message::SessionId;
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::Path;

/// From this many loose objects or packs on, objects are repacked.
const MOST_LOOSE: u64 = 2_000;
const MOST_PACKS: u64 = 20;
const YOUNG: &str = "1.hour.ago";

impl Repository {
    /// Removes worktrees, backups and notes of one session. What is gone already is no error.
    pub fn remove_session(&self, session: &SessionId) -> Result<(), GitError> {
        let _lock = self.lock();
        self.remove_all_of(session)
    }

    /// Removes those of all sessions of this gateway that do not exist any more.
    pub fn prune(&self, exists: impl Fn(&SessionId) -> bool) -> Result<(), GitError> {
        let _lock = self.lock();
        let mut sessions: BTreeSet<_> =
            self.private().states().iter().filter_map(|name| session_of(name)).collect();
        for kept in self.kept("backup")? {
            sessions.extend(kept.name.strip_prefix("backup/").and_then(session_of));
        }
        self.private().tidy(self.user());
        for session in sessions.iter().filter(|session| !exists(session)) {
            self.remove_all_of(session)?;
        }
        self.collect_garbage()
    }

    /// Removes objects that nothing of ours needs any more, once there are enough of them. Young ones stay, because a
    /// ref may be about to name them.
    fn collect_garbage(&self) -> Result<(), GitError> {
        let counted = self.content("count-objects", &[]).arg("-v").word()?;
        let count = |name: &str| {
            let mut lines = counted.lines().filter_map(|line| line.strip_prefix(name));
            let number = lines.find_map(|rest| rest.strip_prefix(": "));
            number.and_then(|number| number.parse::<u64>().ok()).unwrap_or_default()
        };
        if count("count") < MOST_LOOSE && count("packs") < MOST_PACKS {
            return Ok(());
        }
        let repack = self.content("repack", &[]).args(["-A", "-d", "-q", "--window=0"]);
        repack.arg(format!("--unpack-unreachable={YOUNG}")).read()?;
        self.content("prune", &[]).arg(format!("--expire={YOUNG}")).read().map(drop)
    }

    fn remove_all_of(&self, session: &SessionId) -> Result<(), GitError> {
        let states = self.private().states();
        for name in states.iter().filter(|name| session_of(name).as_ref() == Some(session)) {
            self.remove_worktree(name)?;
        }
        let mine = |name: &str| {
            let prefixes = ["backup/", "base/", "last/"];
            let name = prefixes.iter().find_map(|prefix| name.strip_prefix(prefix));
            name.and_then(session_of).as_ref() == Some(session)
        };
        let kept = self.kept("")?.into_iter().map(|kept| kept.name);
        self.forget(&kept.filter(|name| mine(name)).collect::<Vec<_>>())
    }

    /// The note is removed last, so that an interrupted removal can be repeated.
    pub(super) fn remove_worktree(&self, name: &str) -> Result<(), GitError> {
        if let Some(git) = self.noted_git(name) {
            git.remove()?;
        }
        let doing = "removing notes about a worktree";
        remove_tree(&self.private().aside(name)).map_err(GitError::io(doing))?;
        for path in [self.private().index(name), self.private().state(name)] {
            remove_file(&path).map_err(GitError::io(doing))?;
        }
        Ok(())
    }
}

/// Removes what the data directory holds of a session, without git. For a session whose project is gone.
pub fn remove_leftovers(data: &Path, session: &SessionId) -> io::Result<()> {
    let repositories = fs::read_dir(data.join(DIRECTORY)).into_iter().flatten().flatten();
    for repository in repositories.map(|entry| entry.path()) {
        let refs = repository.join("git").join(OURS);
        for kind in fs::read_dir(&refs).into_iter().flatten().flatten() {
            for kept in fs::read_dir(kind.path()).into_iter().flatten().flatten() {
                if session_of(&kept.file_name().to_string_lossy()).as_ref() == Some(session) {
                    remove_file(&kept.path())?;
                }
            }
        }
        let states = fs::read_dir(repository.join("state")).into_iter().flatten().flatten();
        for state in states.map(|entry| entry.path()) {
            let name = state.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if session_of(&name).as_ref() == Some(session) {
                if let Some(path) = noted_path(&fs::read(&state)?) {
                    remove_tree(&data.join(path))?;
                }
                for part in ["lent", AGENT_GITS, ASIDE] {
                    remove_tree(&repository.join(part).join(&name))?;
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
