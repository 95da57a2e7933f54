//! Deletes a session: its runs end, its sockets are told not to come back, and everything that could still write for it
//! is finished before its rows and files are removed.

use crate::message::{Principal, SessionId};
use crate::session::models;
use crate::session::workplace::agent_home;
use crate::session::workplace::site;
use crate::session::{Env, SessionHandle, Urgent};
use crate::store::{SessionKey, StoreError};
use crate::workplace::remove_tree;
use std::io;
use std::path::Path;
use std::sync::Arc;
use tokio::sync::oneshot;
use tracing::warn;

/// Sends the result to whoever waits for the deletion.
pub(in crate::session) type DeletionReply = oneshot::Sender<Result<(), StoreError>>;

impl SessionHandle {
    /// `None`: the actor has ended by itself. The session may have a new actor, or be gone.
    pub(super) async fn delete(&self) -> Option<Result<(), StoreError>> {
        let (reply, answer) = oneshot::channel();
        self.inner.urgent.send(Urgent::Delete(reply)).await.ok()?;
        answer.await.ok()
    }

    /// Deletes the session if it is as it was made, and nobody has it open. False: it is kept.
    pub(super) async fn delete_unused(&self) -> bool {
        let (reply, answer) = oneshot::channel();
        let asked = self.inner.urgent.send(Urgent::DeleteUnused(reply)).await;
        asked.is_ok() && matches!(answer.await, Ok(Ok(())))
    }
}

/// Removes files first: if this is cut off in between, the session is still there and can be deleted again.
pub(super) async fn remove(
    env: &Env,
    id: &SessionId,
    key: SessionKey,
    principal: &Principal,
    more: Vec<String>,
) -> Result<(), StoreError> {
    env.python.forget(id);
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
        if let Err(err) = files.workspaces(&principal).remove(&id) {
            warn!(%err, session = %id, "analysed data of a deleted session is left behind");
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
