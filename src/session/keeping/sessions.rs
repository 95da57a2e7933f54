//! Lists, exports and deletes sessions, on request or when they are too old. Somebody else's session is answered like
//! one that does not exist.

use super::archive::Archive;
use super::erase;
use crate::message::{Principal, SessionId};
use crate::session::registry::Registry;
use crate::store::{Scope, SessionSummary, StoreError};
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use tokio::sync::oneshot;
use tokio::time::{MissedTickBehavior, interval};
use tracing::{info, warn};

/// Most exports at the same time; each holds a thread while its client reads it.
pub(in crate::session) const EXPORTS: usize = 4;
/// How often unused file indexes are dropped.
const INDEX_SWEEP: Duration = Duration::from_secs(60);
/// Attempts to delete a session, because another request may unload or delete it at the same moment.
const TRIES: usize = 5;

/// Why a session cannot be listed, exported or deleted.
#[derive(Debug, thiserror::Error)]
pub enum KeepingError {
    #[error("there is no such session")]
    Unknown,
    #[error("{EXPORTS} exports are on their way already; try again later")]
    TooManyExports,
    #[error("storage does not answer ({reason}); try again later")]
    Stalled { reason: String },
    #[error("the gateway is stopping; try again later")]
    Stopping,
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Registry {
    /// At most `most` sessions, last used first.
    pub async fn list(
        &self,
        scope: Scope<'_>,
        most: usize,
    ) -> Result<Vec<SessionSummary>, KeepingError> {
        Ok(self.env.store.list(scope, most).await?)
    }

    /// Exports the session as it is now.
    pub async fn export(&self, scope: Scope<'_>, id: &SessionId) -> Result<Archive, KeepingError> {
        let place = Arc::clone(&self.exports).try_acquire_owned();
        let place = place.map_err(|_| KeepingError::TooManyExports)?;
        let (env, id, principal) = (self.env.clone(), id.clone(), scope.owned());
        let taken = tokio::task::spawn_blocking(move || {
            // The task owns the permit, so it is kept also if nobody waits for the export any more.
            let taken = Archive::take(&env.store, &env.config.data, Scope::of(&principal), &id);
            taken.map(|archive| archive.map(|archive| archive.holding(place)))
        });
        taken.await.map_err(|_| StoreError::Stopped)??.ok_or(KeepingError::Unknown)
    }

    /// Ends the session if it is loaded, and deletes everything of it. It is gone when this returns. The deletion goes
    /// on even if the caller stops waiting.
    pub async fn delete(
        self: &Arc<Self>,
        scope: Scope<'_>,
        id: &SessionId,
    ) -> Result<(), KeepingError> {
        let (reply, answer) = oneshot::channel();
        let (registry, principal, id) = (Arc::clone(self), scope.owned(), id.clone());
        self.tasks.spawn("delete", async move {
            let _ = reply.send(registry.delete_whole(Scope::of(&principal), &id).await);
        });
        answer.await.unwrap_or(Err(KeepingError::Stopping))
    }

    /// Deletes a session in which nothing has happened, because the client that it was made for went on in another one.
    /// False: it is used, and kept.
    pub async fn discard(&self, principal: &Principal, id: &SessionId) -> bool {
        let handle = self.sessions.get(id).and_then(|slot| slot.get().cloned());
        match handle.filter(|handle| handle.is_of(principal)) {
            Some(handle) => handle.delete_unused().await,
            None => false,
        }
    }

    async fn delete_whole(&self, scope: Scope<'_>, id: &SessionId) -> Result<(), KeepingError> {
        for _ in 0..TRIES {
            if self.stop.is_cancelled() {
                return Err(KeepingError::Stopping);
            }
            if let Some(reason) = self.env.store.trouble() {
                return Err(KeepingError::Stalled { reason });
            }
            let slot = Arc::clone(&self.sessions.entry(id.clone()).or_default());
            // Whoever opens the session meanwhile waits for this slot, too, and then finds nothing stored.
            let filled =
                slot.get_or_try_init(async || Err(self.remove_stored(scope, id, None).await)).await;
            match filled {
                Err(removed) => {
                    self.forget_unused(id, &slot);
                    removed?;
                }
                Ok(handle) if !scope.covers(&handle.inner.principal) => {
                    return Err(KeepingError::Unknown);
                }
                Ok(handle) => match handle.delete().await {
                    Some(removed) => removed?,
                    None => {
                        // A session that is still being deleted keeps its slot to the end.
                        if handle.is_closed() {
                            self.forget(id, &slot);
                        }
                        continue;
                    }
                },
            }
            self.purge().await;
            return Ok(());
        }
        Err(KeepingError::Stopping)
    }

    /// Deletes sessions that nobody has used for `age`. Sessions in memory are skipped: they have sockets or work, or
    /// had them just now.
    pub(in crate::session) async fn retire(self: &Arc<Self>, age: Duration) {
        let Some(since) = SystemTime::now().checked_sub(age) else { return };
        let unused = match self.env.store.unused_since(since).await {
            Ok(unused) => unused,
            Err(err) => {
                return warn!(%err, "old sessions cannot be looked up; the next sweep tries again");
            }
        };
        for id in unused {
            if self.stop.is_cancelled() || self.env.store.trouble().is_some() {
                return;
            }
            let slot = Arc::clone(&self.sessions.entry(id.clone()).or_default());
            let removal =
                async || Err(self.remove_stored(Scope::Everybody, &id, Some(since)).await);
            match slot.get_or_try_init(removal).await {
                Ok(_) | Err(Err(KeepingError::Unknown)) => {}
                Err(Ok(())) => {
                    info!(session = %id, "session deleted: nobody has used it for retention_days")
                }
                Err(Err(err)) => {
                    warn!(session = %id, %err, "an old session is not deleted; the next sweep tries again")
                }
            }
            self.forget_unused(&id, &slot);
        }
    }

    /// Drops file indexes that nobody uses any more.
    pub(in crate::session) async fn tidy_indexes(self: Arc<Self>) {
        let mut ticks = interval(INDEX_SWEEP);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        while self.stop.run_until_cancelled(ticks.tick()).await.is_some() {
            for files in self.env.projects.opened() {
                if files.has_unused() {
                    // A failed join means that the gateway stops.
                    let _ = tokio::task::spawn_blocking(move || files.forget_unused()).await;
                }
            }
        }
    }

    /// Removes rows of deleted sessions. Rows that are left cannot be reached, and the next sweep removes them.
    pub(in crate::session) async fn purge(&self) {
        if let Err(err) = self.env.store.purge().await {
            warn!(%err, "rows of deleted sessions are left; the next sweep tries again");
        }
    }

    /// Called only while the session's slot is ours, so that nothing loads the session meanwhile.
    async fn remove_stored(
        &self,
        scope: Scope<'_>,
        id: &SessionId,
        unused_since: Option<SystemTime>,
    ) -> Result<(), KeepingError> {
        // An earlier actor of this session may have left writes in the queue.
        self.env.store.settle().await?;
        let found = self.env.store.find(scope, id).await?.ok_or(KeepingError::Unknown)?;
        if unused_since.is_some_and(|since| found.has_work || found.used >= since) {
            return Err(KeepingError::Unknown);
        }
        Ok(erase::remove(&self.env, id, found.key, &found.principal, Vec::new()).await?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    use crate::message::{
        Channel, Command, ConnectionId, Features, Inbound, Principal, Route, Typed, View,
    };
    use crate::metrics::Metrics;
    use crate::session::{Attach, Devices, Role};
    use crate::task::Tasks;
    use rusqlite::Connection;

    const DAY: Duration = Duration::from_secs(86_400);

    fn registry(home: &tempfile::TempDir) -> Arc<Registry> {
        let config = Arc::new(Config::for_test(home.path(), home.path().join("data")));
        Registry::start(&config, &Metrics::new(), Tasks::default()).unwrap()
    }

    fn attach(connection: u64) -> Attach {
        Attach {
            address: None,
            language: None,
            view: View::One(Channel::Chat),
            devices: Devices::None,
            connection: ConnectionId(connection),
            role: Role::Participant,
            cursor: None,
            history: crate::session::History::Whole,
            features: Features::default(),
        }
    }

    /// As if nobody had used any session for ten days.
    fn grow_old(home: &tempfile::TempDir) {
        let database = Connection::open(home.path().join("data/kakehashi.db")).unwrap();
        database.execute("UPDATE sessions SET used_at = used_at - 864000000", []).unwrap();
    }

    async fn ids(registry: &Registry, scope: Scope<'_>) -> Vec<SessionId> {
        let found = registry.list(scope, 100).await.unwrap();
        found.into_iter().map(|session| session.id).collect()
    }

    #[tokio::test]
    async fn somebody_elses_session_does_not_exist() {
        let home = tempfile::tempdir().unwrap();
        let registry = registry(&home);
        let (ann, bob) = (Principal::new("ann"), Principal::new("bob"));
        let id = registry.open(&ann, None).await.unwrap().id().clone();
        let unknown = SessionId::from_random(7);
        // First while it is in memory, then while it is only in the store.
        for _ in 0..2 {
            for id in [&id, &unknown] {
                let exported = registry.export(Scope::Own(&bob), id).await.unwrap_err();
                let deleted = registry.delete(Scope::Own(&bob), id).await.unwrap_err();
                assert!(matches!(exported, KeepingError::Unknown), "{exported}");
                assert!(matches!(deleted, KeepingError::Unknown), "{deleted}");
            }
            assert_eq!(ids(&registry, Scope::Own(&bob)).await, []);
            assert_eq!(ids(&registry, Scope::Own(&ann)).await, std::slice::from_ref(&id));
            registry.sessions.clear();
        }
        assert!(registry.export(Scope::Own(&ann), &id).await.is_ok());
        registry.delete(Scope::Own(&ann), &id).await.unwrap();
        assert_eq!(ids(&registry, Scope::Everybody).await, []);
        // The id is free again, for anybody.
        registry.open(&bob, Some(id.clone())).await.unwrap();
        assert_eq!(ids(&registry, Scope::Own(&bob)).await, [id]);
        assert!(registry.sessions.get(&unknown).is_none());
    }

    #[tokio::test]
    async fn the_operator_sees_and_deletes_everybodys() {
        let home = tempfile::tempdir().unwrap();
        let registry = registry(&home);
        let mut made = Vec::new();
        for name in ["ann", "bob"] {
            let session = registry.open(&Principal::new(name), None).await.unwrap();
            made.push(session.id().clone());
        }
        assert_eq!(ids(&registry, Scope::Everybody).await.len(), 2);
        for id in &made {
            assert!(registry.export(Scope::Everybody, id).await.is_ok());
            registry.delete(Scope::Everybody, id).await.unwrap();
        }
        assert_eq!(ids(&registry, Scope::Everybody).await, []);
    }

    #[tokio::test]
    async fn many_deletions_and_opens_at_once_leave_one_session_or_none() {
        let home = tempfile::tempdir().unwrap();
        let registry = registry(&home);
        let (ann, id) = (Principal::new("ann"), SessionId::from_random(1));
        for _ in 0..20 {
            registry.open(&ann, Some(id.clone())).await.unwrap();
            let (own, other) = (Scope::Own(&ann), Scope::Everybody);
            let (first, second, opened, third) = tokio::join!(
                registry.delete(own, &id),
                registry.delete(other, &id),
                registry.open(&ann, Some(id.clone())),
                registry.delete(own, &id),
            );
            let gone = [&first, &second, &third].iter().filter(|done| done.is_ok()).count();
            assert!(gone >= 1, "{first:?} {second:?} {third:?}");
            opened.unwrap();
            let again = registry.open(&ann, Some(id.clone())).await.unwrap();
            again.attach(attach(1)).await.unwrap();
            assert_eq!(ids(&registry, Scope::Everybody).await, std::slice::from_ref(&id));
        }
    }

    #[tokio::test]
    async fn only_unused_sessions_expire() {
        let home = tempfile::tempdir().unwrap();
        let registry = registry(&home);
        let ann = Principal::new("ann");
        let unused = registry.open(&ann, None).await.unwrap().id().clone();
        let attached = registry.open(&ann, None).await.unwrap();
        let (_, _reader) = attached.attach(attach(1)).await.unwrap();
        let busy = registry.open(&ann, None).await.unwrap();
        let text = "sleep 60".to_owned();
        let command = Command::SendText { route: Route::Chat, text: Typed::on_socket(text) };
        busy.submit(ConnectionId(2), Inbound { request: None, command }).await.unwrap();
        while registry.list(Scope::Own(&ann), 9).await.unwrap().iter().all(|row| row.running == 0) {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        registry.env.store.settle().await.unwrap();
        grow_old(&home);
        registry.sessions.remove(&unused);
        registry.retire(DAY * 11).await;
        assert_eq!(ids(&registry, Scope::Everybody).await.len(), 3);
        registry.retire(DAY * 9).await;
        let mut left = ids(&registry, Scope::Everybody).await;
        left.sort();
        let mut expected = vec![attached.id().clone(), busy.id().clone()];
        expected.sort();
        assert_eq!(left, expected);
        // Unfinished work in the store counts, too.
        registry.sessions.remove(busy.id());
        registry.retire(DAY * 9).await;
        assert_eq!(ids(&registry, Scope::Everybody).await.len(), 2);
    }
}
