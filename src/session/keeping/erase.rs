//! Deletes a session: its runs end, its sockets are told not to come back, and everything that could still write for it
//! is finished before its rows and files are removed.

use crate::files::{FileError, SavedFile};
use crate::message::{Principal, RunOutcome, SessionId};
use crate::session::actor::Session;
use crate::session::job::JobDone;
use crate::session::models;
use crate::session::run::lane::Lane;
use crate::session::workplace::agent_home;
use crate::session::workplace::site;
use crate::session::{Env, SessionHandle, Urgent};
use crate::store::{SessionKey, StoreError};
use crate::workplace::remove_tree;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::time::timeout;
use tracing::{info, warn};

/// How long agents get to end their processes. After that their links are dropped and they are killed.
const WORKERS_PATIENCE: Duration = Duration::from_secs(6);
/// Timeout for uploads that are being stored.
const JOBS_PATIENCE: Duration = Duration::from_secs(30);

/// Sends the result to whoever waits for the deletion.
pub(in crate::session) type Doom = oneshot::Sender<Result<(), StoreError>>;

impl SessionHandle {
    /// `None`: the actor has ended by itself. The session may have a new actor, or be gone.
    pub(super) async fn delete(&self) -> Option<Result<(), StoreError>> {
        let (reply, answer) = oneshot::channel();
        self.inner.urgent.send(Urgent::Delete(reply)).await.ok()?;
        answer.await.ok()
    }
}

impl Session {
    /// Sockets that want to attach meanwhile wait in the inbox, and get a new session when this one is dropped.
    pub(in crate::session) async fn erase(&mut self, doom: Doom) {
        self.audience.dismiss();
        let working = self.lanes.iter().filter(|lane| lane.current.is_some()).count();
        (0..working).for_each(|_| self.env.metrics.run_ended(RunOutcome::Cancelled));
        let ends = self.lanes.iter_mut().map(Lane::end_worker).collect::<Vec<_>>();
        if timeout(WORKERS_PATIENCE, futures_util::future::join_all(ends)).await.is_err() {
            warn!(session = %self.id, "agents of a deleted session did not end in time");
        }
        let mut stored = Vec::new();
        if timeout(JOBS_PATIENCE, self.last_files(&mut stored)).await.is_err() {
            warn!(session = %self.id, "a deleted session was still storing files; they may be left behind");
        }
        while !self.journal.is_empty() {
            self.journal.progress().await;
            if self.journal.take_effects().is_err() {
                break;
            }
        }
        let removed = remove(&self.env, &self.id, self.key, &self.principal, stored).await;
        if removed.is_ok() {
            info!(session = %self.id, "session deleted");
        }
        // The requester may have stopped waiting.
        let _ = doom.send(removed);
    }

    /// Ends or awaits all jobs, and collects the files that they have stored, which no event will ever mention.
    async fn last_files(&mut self, stored: &mut Vec<String>) {
        self.desk.followed.drain().for_each(|(_, following)| following.abort());
        self.lanes.iter_mut().for_each(Lane::stop_preparing);
        while let Some(done) = self.jobs.join_next().await {
            match done {
                Ok(JobDone::Stored { saved, .. } | JobDone::ImageStored { saved, .. }) => {
                    stored.extend(path(saved));
                }
                Ok(
                    JobDone::LookedUp { .. }
                    | JobDone::Listed { .. }
                    | JobDone::Followed { .. }
                    | JobDone::Placed { .. }
                    | JobDone::Prepared { .. }
                    | JobDone::Guarded { .. }
                    | JobDone::Concluded { .. }
                    | JobDone::Copied { .. }
                    | JobDone::Described { .. }
                    | JobDone::Compared { .. }
                    | JobDone::Diffed { .. }
                    | JobDone::BackupsListed { .. }
                    | JobDone::Judged(_)
                    | JobDone::Offered { .. }
                    | JobDone::ProjectOpened { .. }
                    | JobDone::Kept { .. }
                    | JobDone::LookedForRepositories { .. }
                    | JobDone::Chosen { .. },
                )
                | Err(_) => {}
            }
        }
        // A preparation that nobody waits for may still be making a workplace.
        self.env.place_work.is_over(&self.id).await;
    }
}

fn path(saved: Result<SavedFile, FileError>) -> Option<String> {
    saved.ok().and_then(|saved| saved.note.path)
}

/// Removes files first: if this is cut off in between, the session is still there and can be deleted again.
pub(super) async fn remove(
    env: &Env,
    id: &SessionId,
    key: SessionKey,
    principal: &Principal,
    more: Vec<String>,
) -> Result<(), StoreError> {
    let belongings = env.files.belongings(principal);
    let mut paths = env.store.mentioned_only_in(key, move |path| belongings.holds(path)).await?;
    paths.extend(more);
    let (files, principal) = (env.files.clone(), principal.clone());
    let (config, id) = (Arc::clone(&env.config), id.clone());
    let removed = tokio::task::spawn_blocking(move || {
        site::remove(&config, &id);
        if let Err(err) = forget_agents(&config.data, &id) {
            warn!(%err, session = %id, "what agents of a deleted session remember is left until the next sweep");
        }
        for path in paths {
            if let Err(err) = files.remove(&principal, &path) {
                warn!(%err, "a file of a deleted session is left until it is too old");
            }
        }
    });
    // Only a panic could fail here, and then the rows still have to be removed.
    let _ = removed.await;
    env.store.remove(key).await.map(|_| ())
}

/// Removes the conversations and temporary files of the session's agents. Needs no gateway.
pub fn forget_agents(data: &Path, id: &SessionId) -> io::Result<()> {
    let forgotten = remove_tree(&models::conversations(data, id));
    remove_tree(&agent_home::temp(data, id)).and(forgotten)
}

/// Removes temporary files of agents that an earlier gateway ran. No agent needs them, not even one that goes on with
/// its conversation.
pub(in crate::session) fn clear_temp(data: &Path) {
    for id in sessions_in(&data.join(agent_home::TEMP)) {
        if let Err(err) = remove_tree(&agent_home::temp(data, &id)) {
            warn!(%err, session = %id, "temporary files of agents are left behind");
        }
    }
}

/// Removes conversations and temporary files of sessions that do not exist any more.
pub(in crate::session) fn tidy_agents(data: &Path, exists: impl Fn(&SessionId) -> bool) {
    let places = [models::CONVERSATIONS, agent_home::TEMP].map(|name| data.join(name));
    for id in places.iter().flat_map(|place| sessions_in(place)).filter(|id| !exists(id)) {
        if let Err(err) = forget_agents(data, &id) {
            warn!(%err, session = %id, "what agents of a deleted session remember is left behind");
        }
    }
}

fn sessions_in(place: &Path) -> Vec<SessionId> {
    let entries = std::fs::read_dir(place).into_iter().flatten();
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    names.filter_map(|name| SessionId::parse(&name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::without_rights;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    fn lock(directory: &Path) {
        fs::create_dir_all(directory.join("deep")).unwrap();
        fs::write(directory.join("deep/file"), "x").unwrap();
        for path in [directory.join("deep"), directory.to_owned()] {
            fs::set_permissions(path, fs::Permissions::from_mode(0o555)).unwrap();
        }
    }

    #[test]
    fn what_an_agent_has_locked_is_removed_too() {
        without_rights(|| {
            let data = tempfile::tempdir().unwrap();
            let ids = ["1", "2"]
                .map(|digit| SessionId::parse(&format!("ws-{}", digit.repeat(32))).unwrap());
            for id in &ids {
                lock(&agent_home::temp(data.path(), id).join("1/cache"));
            }
            forget_agents(data.path(), &ids[0]).unwrap();
            assert!(!agent_home::temp(data.path(), &ids[0]).exists());
            clear_temp(data.path());
            assert!(!agent_home::temp(data.path(), &ids[1]).exists());
        });
    }
}
