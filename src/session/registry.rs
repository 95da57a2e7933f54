//! Finds sessions and starts their actors: for new sessions, and for those that only the store remembers.

use super::actor::{Ended, Inboxes, Session};
use super::analysis::{self, Interpreters};
use super::keeping::erase;
use super::keeping::idle::IdleSessions;
use super::keeping::library::{HANDED_OUT, READS, file_limits};
use super::keeping::projects::Projects;
use super::keeping::sessions::EXPORTS;
use super::language::Language;
use super::voice::hearing::Hearing;
use super::voice::microphone::Microphone;
use super::workplace::agent_home;
use super::workplace::place_work::PlaceWork;
use super::workplace::site;
use super::{COMMAND_BYTES, COMMAND_CAPACITY, Env, HandleInner, SessionHandle, URGENT_CAPACITY};
use crate::config::Config;
use crate::files::Files;
use crate::message::{Channel, Epoch, Order, OutsideId, Principal, Seq, SessionId, SystemNotice};
use crate::metrics::Metrics;
use crate::policy::{Rules, RulesError};
use crate::process;
use crate::provider::live::Speaker;
use crate::provider::{chat, live, webhook};
use crate::store::{self, Claimed, SessionRecord, Store, StoreError};
use crate::task::Tasks;
use dashmap::DashMap;
use std::collections::HashSet;
use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;
use tokio::sync::{OnceCell, Semaphore, mpsc, watch};
use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;
use tracing::{error, info, warn};

/// How often old request numbers, sessions and files are removed.
const SWEEP: Duration = Duration::from_secs(3600);

/// Outside ids that a principal can have at a time. More are refused; deleting a session frees its ids.
const MOST_OUTSIDE_IDS: usize = 1000;
/// A session may be deleted just as its outside id is looked up; the next try makes a new one.
const CLAIM_TRIES: usize = 3;

/// The entry of one session; several sockets that ask for it wait here for one actor.
type Slot = Arc<OnceCell<SessionHandle>>;

#[derive(Debug)]
pub struct Registry {
    pub(super) sessions: DashMap<SessionId, Slot>,
    pub(super) env: Env,
    pub(super) tasks: Tasks,
    pub(super) stop: CancellationToken,
    pub(super) exports: Arc<Semaphore>,
    pub(super) reads: Arc<Semaphore>,
    pub(super) handouts: Arc<Semaphore>,
}

#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("data directory: {0}")]
    Files(#[from] io::Error),
    #[error("policy: {0}")]
    Rules(#[from] RulesError),
}

/// Why a session cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error("the session belongs to somebody else")]
    Refused,
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("the system has no random numbers")]
    NoRandomness,
    #[error("the gateway is stopping")]
    Stopping,
}

/// Why an outside id opens no session.
#[derive(Debug, thiserror::Error)]
pub enum OutsideError {
    #[error(transparent)]
    Open(#[from] OpenError),
    #[error("a user can have at most {limit} of these ids; delete sessions that are not needed")]
    TooMany { limit: usize },
}

impl Registry {
    /// Opens the store and takes up work that was cut off.
    pub fn start(
        config: &Arc<Config>,
        metrics: &Metrics,
        tasks: Tasks,
    ) -> Result<Arc<Self>, StartError> {
        std::fs::create_dir_all(&config.data)?;
        // Interrupted runs are announced as such, so their processes must not go on in secret.
        let left = process::end_all(&process::owner(&config.data));
        if left > 0 {
            warn!(processes = left, "ended what agents of a former gateway had left running");
        }
        erase::clear_temp(&config.data);
        let committed = metrics.clone();
        let observe = move |events, took| committed.batch_committed(events, took);
        let store = Store::open(&config.data.join(store::FILE), observe)?;
        let files = Files::new(&config.project, &config.data, file_limits(config))?;
        let rules = Rules::load(config.policy.as_deref())?;
        let stop = CancellationToken::new();
        let python = Interpreters::new(
            config.data.clone(),
            config.supervisor.clone(),
            analysis::limits(config),
            stop.child_token(),
        );
        let client = chat::Client::new();
        let calls = config.webhook.clone();
        let env = Env {
            python,
            webhook: calls.and_then(|one| webhook::Caller::start(one, client.clone())),
            config: Arc::clone(config),
            store,
            projects: Projects::new(files.clone()),
            files,
            metrics: metrics.clone(),
            place_work: PlaceWork::new(metrics),
            idle: IdleSessions::new(&config.limits),
            chat: client,
            live: live::Client::default(),
            rules: Arc::new(rules),
            no_box: agent_home::no_box(config),
            hidden: agent_home::hidden(config),
            language: Language::new(config.language),
        };
        let registry = Arc::new(Self {
            sessions: DashMap::new(),
            env,
            tasks,
            stop,
            exports: Arc::new(Semaphore::new(EXPORTS)),
            reads: Arc::new(Semaphore::new(READS)),
            handouts: Arc::new(Semaphore::new(HANDED_OUT)),
        });
        let (restoring, sweeping) = (Arc::clone(&registry), Arc::clone(&registry));
        let tidying = Arc::clone(&registry);
        registry.tasks.spawn("indexes", async move { tidying.tidy_indexes().await });
        registry.tasks.spawn("restore", async move { restoring.restore().await });
        registry.tasks.spawn("sweep", async move { sweeping.sweep().await });
        Ok(registry)
    }

    /// Opens the session with this id, or a new one.
    pub async fn open(
        self: &Arc<Self>,
        principal: &Principal,
        id: Option<SessionId>,
    ) -> Result<SessionHandle, OpenError> {
        let id = match id {
            Some(id) => id,
            None => new_id()?,
        };
        loop {
            if self.stop.is_cancelled() {
                return Err(OpenError::Stopping);
            }
            let slot = Arc::clone(&self.sessions.entry(id.clone()).or_default());
            let opened = slot.get_or_try_init(|| self.bring_up(principal, &id, &slot)).await;
            match opened {
                Ok(handle) if handle.inner.principal != *principal => {
                    return Err(OpenError::Refused);
                }
                Ok(handle) if !handle.is_closed() => return Ok(handle.clone()),
                // It was unloaded between our look and now: ask again.
                Ok(_) => self.forget(&id, &slot),
                Err(err) => {
                    self.forget_unused(&id, &slot);
                    return Err(err);
                }
            }
        }
    }

    /// Opens the session with this id, if it exists and belongs to this principal.
    pub async fn reopen(
        self: &Arc<Self>,
        principal: &Principal,
        id: &SessionId,
    ) -> Result<Option<SessionHandle>, OpenError> {
        match self.env.store.find(store::Scope::Own(principal), id).await? {
            Some(_) => self.open(principal, Some(id.clone())).await.map(Some),
            None => Ok(None),
        }
    }

    /// Opens the session that the principal knows by an outside id, or makes one for it. An id of one of the principal's
    /// own sessions opens that one. Every other id is only a name, so that knowing an id lets nobody in.
    pub async fn open_outside(
        self: &Arc<Self>,
        principal: &Principal,
        outside: &OutsideId,
    ) -> Result<SessionHandle, OutsideError> {
        if let Some(id) = SessionId::parse(outside.as_str())
            && let Some(own) = self.reopen(principal, &id).await?
        {
            return Ok(own);
        }
        for _ in 0..CLAIM_TRIES {
            let id = self.claim(principal, outside).await?;
            if let Some(session) = self.reopen(principal, &id).await? {
                return Ok(session);
            }
        }
        Err(OpenError::Refused.into())
    }

    /// The session that an outside id leads to, made if there is none.
    async fn claim(
        &self,
        principal: &Principal,
        outside: &OutsideId,
    ) -> Result<SessionId, OutsideError> {
        let store = &self.env.store;
        let found = store.find_outside(principal, outside).await.map_err(OpenError::from)?;
        if let Some(id) = found {
            return Ok(id);
        }
        let fresh = new_id()?;
        let epoch = Epoch(getrandom::u64().map_err(|_| OpenError::NoRandomness)?);
        let most = MOST_OUTSIDE_IDS;
        let claimed = store.claim_outside(principal, outside, (&fresh, epoch), most).await;
        match claimed.map_err(OpenError::from)? {
            // Another socket was faster.
            Claimed::Known(id) => Ok(id),
            Claimed::Made => {
                info!(session = %fresh, dialect = outside.dialect(), "session created");
                Ok(fresh)
            }
            Claimed::Full => Err(OutsideError::TooMany { limit: most }),
        }
    }

    /// Sends a notice to every session in memory, and returns how many took it.
    pub fn broadcast(&self, notice: &SystemNotice) -> usize {
        let handles = self.sessions.iter().filter_map(|slot| slot.value().get().cloned());
        handles.filter(|handle| handle.tell(notice.clone())).count()
    }

    /// The error says why the store cannot write at the moment.
    pub fn store_health(&self) -> Result<(), String> {
        self.env.store.trouble().map_or(Ok(()), Err)
    }

    /// Returns the reason when the store has been unable to write for `patience`.
    pub async fn stalled(&self, patience: Duration) -> String {
        self.env.store.stalled(patience).await
    }

    /// The database, for modules that store something else in it.
    pub fn store(&self) -> Store {
        self.env.store.clone()
    }

    /// The project's description of itself, for greetings.
    pub async fn overview(&self) -> Option<String> {
        let files = self.env.files.clone();
        tokio::task::spawn_blocking(move || files.overview()).await.ok().flatten()
    }

    pub(super) fn files(&self) -> &Files {
        &self.env.files
    }

    /// Ends every session after it has stored what it decided, then closes the store.
    pub async fn shutdown(&self) {
        self.stop.cancel();
        self.tasks.finish().await;
        self.env.python.end_all();
        self.env.store.close().await;
    }

    /// Waits until no agent process is left.
    pub async fn agents_gone(&self) {
        process::all_gone(&process::owner(&self.env.config.data)).await;
    }

    async fn bring_up(
        self: &Arc<Self>,
        principal: &Principal,
        id: &SessionId,
        slot: &Slot,
    ) -> Result<SessionHandle, OpenError> {
        // An earlier actor of this session may still have writes pending.
        self.env.store.settle().await?;
        let mut record = match self.env.store.load(id).await? {
            Some(record) if record.principal != *principal => return Err(OpenError::Refused),
            Some(record) => record,
            None => self.create(principal, id).await?,
        };
        let settled = self.settled(std::mem::take(&mut record.settings));
        let env = Env { files: settled.files.clone(), ..self.env.clone() };
        let (moved, workplace) = watch::channel(settled.files.clone());
        let (commands, command_queue) = mpsc::channel(COMMAND_CAPACITY);
        let (urgent, urgent_queue) = mpsc::channel(URGENT_CAPACITY);
        let (microphone, speaker) = (Microphone::default(), Speaker::default());
        let hearing = Hearing::new(env.metrics.clone(), microphone.clone());
        let inner = HandleInner {
            id: id.clone(),
            key: record.key,
            principal: principal.clone(),
            env: env.clone(),
            commands,
            budget: Arc::new(Semaphore::new(COMMAND_BYTES)),
            urgent,
            microphone: microphone.clone(),
            hearing: hearing.clone(),
            speaker: speaker.clone(),
            workplace,
            last_order: AtomicU64::new(0),
            last_use: AtomicU64::new(0),
        };
        let inboxes =
            Inboxes { commands: command_queue, urgent: urgent_queue, microphone, hearing, speaker };
        let mut session = Session::new(env, id.clone(), record, settled, moved, inboxes);
        let place = Place { registry: Arc::clone(self), id: id.clone(), slot: Arc::clone(slot) };
        let stop = self.stop.clone();
        self.tasks.spawn("session", async move {
            // Dropped before the actor, so that whoever still has the old handle finds a new actor.
            let place = place;
            match session.run(stop).await {
                Ended::Stopped => session.finish().await,
                Ended::Deleted(reply) => session.erase(reply).await,
                Ended::Unloaded | Ended::Diverged => {}
            }
            drop(place);
        });
        Ok(SessionHandle { inner: Arc::new(inner) })
    }

    async fn create(
        &self,
        principal: &Principal,
        id: &SessionId,
    ) -> Result<SessionRecord, OpenError> {
        let epoch = Epoch(getrandom::u64().map_err(|_| OpenError::NoRandomness)?);
        let key = self.env.store.create(id, principal, epoch).await?;
        info!(session = %id, "session created");
        Ok(SessionRecord {
            key,
            principal: principal.clone(),
            epoch,
            controls: crate::message::Controls::new(),
            settings: Vec::new(),
            tops: [Seq(0); Channel::COUNT],
            last_order: Order(0),
            last_run: 0,
            waiting: Vec::new(),
            running: Vec::new(),
            open_calls: Vec::new(),
            recent_files: Vec::new(),
            conversations: Vec::new(),
            summaries: Vec::new(),
            questions: Vec::new(),
            is_locked: false,
            last_questions: Vec::new(),
        })
    }

    /// Loads the sessions with unfinished work at the start, so that interrupted runs are announced and queued runs go
    /// on before anybody connects.
    async fn restore(self: Arc<Self>) {
        let config = Arc::clone(&self.env.config);
        let _ = tokio::task::spawn_blocking(move || site::sweep_interrupted(&config)).await;
        let unfinished = match self.env.store.unfinished().await {
            Ok(unfinished) => unfinished,
            Err(err) => return error!(%err, "unfinished work cannot be looked up"),
        };
        for (id, principal) in unfinished {
            if let Err(err) = self.open(&principal, Some(id.clone())).await {
                warn!(session = %id, %err, "a session with unfinished work cannot be restored now");
            }
        }
    }

    async fn sweep(self: Arc<Self>) {
        let mut ticks = interval(SWEEP);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        // `Files::new` has just tidied all files, and users want the disk now.
        let mut just_tidied = true;
        while self.stop.run_until_cancelled(ticks.tick()).await.is_some() {
            // Fails only when the store is closed, and then the loop is about to end.
            let _ = self.env.store.forget_requests(self.env.config.limits.request).await;
            if let Some(age) = self.env.config.retention {
                self.retire(age).await;
            }
            self.purge().await;
            if let Some(age) = self.env.config.audit_age
                && let Err(err) = self.env.store.prune_audit(age).await
            {
                warn!(%err, "old decisions are left; the next sweep tries again");
            }
            self.tidy_places().await;
            if !std::mem::take(&mut just_tidied) {
                let files = self.env.files.clone();
                // A failed join means that the gateway stops.
                let _ = tokio::task::spawn_blocking(move || files.retire_uploads()).await;
            }
        }
    }

    /// Removes what agents of sessions that no longer exist have left, as when the gateway was killed during a
    /// deletion.
    async fn tidy_places(self: &Arc<Self>) {
        let Ok(known) = self.env.store.list(store::Scope::Everybody, usize::MAX >> 1).await else {
            return;
        };
        let known: HashSet<SessionId> = known.into_iter().map(|session| session.id).collect();
        let registry = Arc::clone(self);
        // Sessions created since are in the registry. A failed join means that the gateway stops.
        let _ = tokio::task::spawn_blocking(move || {
            let lives = |id: &SessionId| registry.sessions.contains_key(id);
            let exists = |id: &SessionId| known.contains(id) || lives(id);
            site::tidy(&registry.env.config, exists);
            erase::tidy_agents(&registry.env.config.data, exists);
        })
        .await;
    }

    /// Removes an entry without an actor, unless others wait to fill it. Clones are only made under the map's lock, so
    /// two of them mean the map's and ours.
    pub(super) fn forget_unused(&self, id: &SessionId, slot: &Slot) {
        self.sessions.remove_if(id, |_, current| {
            Arc::ptr_eq(current, slot) && Arc::strong_count(current) == 2 && !current.initialized()
        });
    }

    pub(super) fn forget(&self, id: &SessionId, slot: &Slot) {
        self.sessions.remove_if(id, |_, current| Arc::ptr_eq(current, slot));
    }
}

/// A running actor's entry in the registry, removed when the actor ends, also by a panic.
struct Place {
    registry: Arc<Registry>,
    id: SessionId,
    slot: Slot,
}

impl Drop for Place {
    fn drop(&mut self) {
        self.registry.forget(&self.id, &self.slot);
    }
}

fn new_id() -> Result<SessionId, OpenError> {
    let mut bits = [0; 16];
    getrandom::fill(&mut bits).map_err(|_| OpenError::NoRandomness)?;
    Ok(SessionId::from_random(u128::from_be_bytes(bits)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn registry(home: &tempfile::TempDir) -> Arc<Registry> {
        let config = Arc::new(Config::for_test(home.path(), home.path().join("data")));
        Registry::start(&config, &Metrics::new(), Tasks::default()).unwrap()
    }

    #[tokio::test]
    async fn a_session_without_sockets_is_not_woken() {
        let home = tempfile::tempdir().unwrap();
        let registry = registry(&home);
        let owner = Principal::new("owner");
        for _ in 0..20 {
            registry.open(&owner, None).await.unwrap();
        }
        // Not before: the store has a thread of its own, for which paused time does not wait.
        tokio::time::pause();
        let wakes = || tokio::runtime::Handle::current().metrics().worker_park_count(0);
        tokio::time::sleep(Duration::from_secs(60)).await;
        let before = wakes();
        tokio::time::sleep(Duration::from_secs(1200)).await;
        assert_eq!(registry.sessions.len(), 20);
        // The gateway's own sweeps; a heartbeat of each session would make it thousands.
        let woken = wakes() - before;
        assert!(woken < 200, "{woken}");
        tokio::time::sleep(Duration::from_secs(1800)).await;
        assert_eq!(registry.sessions.len(), 0);
    }

    #[tokio::test]
    async fn an_outside_id_opens_one_session_however_many_ask_at_once() {
        let home = tempfile::tempdir().unwrap();
        let registry = registry(&home);
        let (owner, stranger) = (Principal::new("owner"), Principal::new("stranger"));
        let board = OutsideId::new("api", "board").unwrap();
        let opened = (0..8).map(|_| registry.open_outside(&owner, &board));
        let opened = futures_util::future::join_all(opened).await;
        let first = opened[0].as_ref().unwrap();
        for other in &opened {
            assert!(Arc::ptr_eq(&first.inner, &other.as_ref().unwrap().inner));
        }
        assert_eq!(registry.sessions.len(), 1);
        let elsewhere = registry.open_outside(&stranger, &board).await.unwrap();
        assert_ne!(elsewhere.id(), first.id());
        // The id of a session opens it for its owner. For anybody else it is a name like any other.
        let direct = OutsideId::new("api", first.id().as_str()).unwrap();
        assert_eq!(registry.open_outside(&owner, &direct).await.unwrap().id(), first.id());
        let guessed = registry.open_outside(&stranger, &direct).await.unwrap();
        assert!(guessed.id() != first.id() && guessed.id() != elsewhere.id());
    }

    #[tokio::test]
    async fn a_failed_open_does_not_make_a_second_actor() {
        let home = tempfile::tempdir().unwrap();
        let registry = registry(&home);
        let (owner, stranger) = (Principal::new("owner"), Principal::new("stranger"));
        let id = registry.open(&owner, None).await.unwrap().id().clone();
        for _ in 0..50 {
            // Removed from memory, so that both of the next two calls have to load it.
            registry.sessions.clear();
            let (refused, opened) = tokio::join!(
                registry.open(&stranger, Some(id.clone())),
                registry.open(&owner, Some(id.clone()))
            );
            assert!(matches!(refused, Err(OpenError::Refused)));
            let again = registry.open(&owner, Some(id.clone())).await.unwrap();
            assert!(Arc::ptr_eq(&opened.unwrap().inner, &again.inner));
        }
    }
}
