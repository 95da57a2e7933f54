//! SQLite storage: sessions, their switches, the log of every channel, unfinished runs, request numbers.
//! One thread writes in batches; readers have their own connections. Knows nothing of sockets or actors.

mod assistant_record;
mod audit;
mod conversation;
mod damage;
mod database_file;
mod export;
mod floor_record;
mod inspect;
mod kind;
mod mention;
mod open_call;
mod outside_id;
mod read_only;
mod reader;
mod record;
mod removal;
mod schema;
mod setting;
mod summary;
mod token;
mod usage;
mod work_record;
mod writer;

pub use audit::AuditRow;
pub use conversation::Conversation;
pub use damage::repair_instructions;
pub use export::Exported;
pub use inspect::{Inspection, inspect};
pub use open_call::OpenCall;
pub use outside_id::Claimed;
pub use read_only::ReadOnlyStore;
pub use reader::{Page, SessionRecord};
pub use summary::{Found, Scope, SessionSummary};
pub use token::TokenRow;
pub use writer::{Change, Progress, RunState, SessionWriter};

use crate::message::{Epoch, OutsideId, Position, Principal, RequestNo, SessionId, View};
use damage::Damage;
use database_file::DatabaseFile;
use reader::Readers;
use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use tokio::sync::{Semaphore, oneshot, watch};
use tokio::time::timeout;
use tracing::warn;
use writer::{Job, Jobs};

/// Name of the database in the data directory.
pub const FILE: &str = "kakehashi.db";

/// Primary key of a session's rows; small, because it is part of every other key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SessionKey(pub(crate) i64);

/// Why the database refused an operation.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("database: {0}")]
    Sqlite(#[from] rusqlite::Error),
    #[error("the database was written by a newer version (schema {found}, this one knows {known})")]
    TooNew { found: i64, known: i64 },
    #[error("{} is damaged ({what}); {}", path.display(), repair_instructions(path))]
    Damaged { path: PathBuf, what: String },
    #[error("database: {0}")]
    File(#[from] std::io::Error),
    #[error("the writer has stopped")]
    Stopped,
}

/// Most concurrent queries, not counting exports; each holds a connection and some file descriptors.
const MOST_QUERIES: usize = 8;

/// Cheap handle to one open database.
#[derive(Debug, Clone)]
pub struct Store {
    jobs: Jobs,
    query_permits: Arc<Semaphore>,
    readers: Arc<Readers>,
    health: watch::Receiver<Option<String>>,
    damage: watch::Receiver<Option<String>>,
}

impl Store {
    /// Opens or creates the database. Blocking; called once at startup.
    pub fn open(
        path: &Path,
        observe: impl Fn(usize, Duration) + Send + 'static,
    ) -> Result<Self, StoreError> {
        let connection = schema::open(path).map_err(|err| damaged(err, path))?;
        let seen = Damage::default();
        let damage = seen.watch();
        let readers = Arc::new(Readers::new(path, seen.clone()));
        check_later(path, &readers);
        let (jobs, health) = writer::start(connection, DatabaseFile::of(path)?, seen, observe)?;
        let query_permits = Arc::new(Semaphore::new(MOST_QUERIES));
        Ok(Self { jobs, query_permits, readers, health, damage })
    }

    /// Why writing does not work at the moment; `None` if it works.
    pub fn trouble(&self) -> Option<String> {
        let damaged = |what: &String| {
            format!("the database is damaged: {what}; `kakehashi doctor` says what to do")
        };
        let damage = self.damage.borrow().as_ref().map(damaged);
        damage.or_else(|| self.health.borrow().clone())
    }

    /// Changes when the database is found to be damaged, which is final.
    pub fn watch_damage(&self) -> watch::Receiver<Option<String>> {
        self.damage.clone()
    }

    /// Changes when writing stops working or works again.
    pub fn watch_trouble(&self) -> watch::Receiver<Option<String>> {
        self.health.clone()
    }

    /// Creates a session; it is committed when this returns.
    pub async fn create(
        &self,
        id: &SessionId,
        principal: &Principal,
        epoch: Epoch,
    ) -> Result<SessionKey, StoreError> {
        let (done, key) = oneshot::channel();
        let job = Job::Create { id: id.clone(), principal: principal.clone(), epoch, done };
        self.jobs.send(job).await.map_err(|_| StoreError::Stopped)?;
        key.await.map_err(|_| StoreError::Stopped)?.map_err(StoreError::from)
    }

    /// The principal's session that an outside id leads to.
    pub async fn find_outside(
        &self,
        principal: &Principal,
        outside: &OutsideId,
    ) -> Result<Option<SessionId>, StoreError> {
        let (principal, outside) = (principal.clone(), outside.clone());
        self.read(move |connection| outside_id::find(connection, &principal, &outside)).await
    }

    /// Creates a session for an outside id, unless the id leads to one already or the principal has `most` outside ids.
    /// It is committed when this returns.
    pub async fn claim_outside(
        &self,
        principal: &Principal,
        outside: &OutsideId,
        fresh: (&SessionId, Epoch),
        most: usize,
    ) -> Result<Claimed, StoreError> {
        let (done, claimed) = oneshot::channel();
        let (principal, outside) = (principal.clone(), outside.clone());
        let fresh = (fresh.0.clone(), fresh.1);
        let job = Job::Claim { principal, outside, fresh, most, done };
        self.jobs.send(job).await.map_err(|_| StoreError::Stopped)?;
        claimed.await.map_err(|_| StoreError::Stopped)?.map_err(StoreError::from)
    }

    /// Every change of a session's rows after `create` goes through this writer, except `remove`.
    pub fn writer(&self, key: SessionKey) -> SessionWriter {
        SessionWriter::new(key, self.jobs.clone())
    }

    pub async fn load(&self, id: &SessionId) -> Result<Option<SessionRecord>, StoreError> {
        let id = id.clone();
        self.read(move |connection| reader::load(connection, &id)).await
    }

    /// Sessions with runs that were unfinished when the process ended.
    pub async fn unfinished(&self) -> Result<Vec<(SessionId, Principal)>, StoreError> {
        self.read(reader::unfinished).await
    }

    /// The next events after `after` up to `upto`, as many as fit into one page.
    pub async fn page(
        &self,
        key: SessionKey,
        view: View,
        after: Position,
        upto: Position,
    ) -> Result<Page, StoreError> {
        self.read(move |connection| reader::page(connection, key, view, after, upto)).await
    }

    /// The position right before the newest `count` events up to `upto`.
    pub async fn before_last(
        &self,
        key: SessionKey,
        view: View,
        upto: Position,
        count: usize,
    ) -> Result<Position, StoreError> {
        self.read(move |connection| reader::before_last(connection, key, view, upto, count)).await
    }

    /// The position right before the newest run of a view up to `upto`, and the text that has started it.
    pub async fn before_last_run(
        &self,
        key: SessionKey,
        view: View,
        upto: Position,
    ) -> Result<Position, StoreError> {
        self.read(move |connection| reader::before_last_run(connection, key, view, upto)).await
    }

    /// Whether this command was carried out before.
    pub async fn knows_request(
        &self,
        key: SessionKey,
        request: RequestNo,
    ) -> Result<bool, StoreError> {
        self.read(move |connection| reader::knows_request(connection, key, &request)).await
    }

    /// Deletes request numbers older than `age`.
    pub async fn forget_requests(&self, age: Duration) -> Result<(), StoreError> {
        self.jobs.send(Job::ForgetRequests { age }).await.map_err(|_| StoreError::Stopped)
    }

    /// Tokens that this user's chats have used since midnight UTC.
    pub async fn tokens_today(&self, principal: &Principal) -> Result<u64, StoreError> {
        let principal = principal.clone();
        self.read(move |connection| usage::today_of(connection, &principal)).await
    }

    /// Adds to the user's token count; it is committed when this returns.
    pub async fn add_tokens(&self, principal: &Principal, tokens: u64) -> Result<(), StoreError> {
        let (done, added) = oneshot::channel();
        let job = Job::AddTokens { principal: principal.clone(), tokens, done };
        self.jobs.send(job).await.map_err(|_| StoreError::Stopped)?;
        added.await.map_err(|_| StoreError::Stopped)?.map_err(StoreError::from)
    }

    /// All stored logins.
    pub async fn tokens(&self) -> Result<Vec<TokenRow>, StoreError> {
        self.read(token::all).await
    }

    /// Stores a login; it is committed when this returns.
    pub async fn keep_token(&self, token: TokenRow) -> Result<(), StoreError> {
        let (done, kept) = oneshot::channel();
        self.jobs.send(Job::KeepToken { token, done }).await.map_err(|_| StoreError::Stopped)?;
        kept.await.map_err(|_| StoreError::Stopped)?.map_err(StoreError::from)
    }

    /// Deletes logins; the deletion is committed when this returns.
    pub async fn drop_tokens(&self, digests: Vec<[u8; 32]>) -> Result<(), StoreError> {
        let (done, dropped) = oneshot::channel();
        let job = Job::DropTokens { digests, done };
        self.jobs.send(job).await.map_err(|_| StoreError::Stopped)?;
        dropped.await.map_err(|_| StoreError::Stopped)?.map_err(StoreError::from)
    }

    /// Sessions within the scope, most recently used first, at most `most`.
    pub async fn list(
        &self,
        scope: Scope<'_>,
        most: usize,
    ) -> Result<Vec<SessionSummary>, StoreError> {
        let principal = scope.owned();
        self.read(move |connection| summary::list(connection, Scope::of(&principal), most)).await
    }

    /// `None`: there is no such session within this scope.
    pub async fn find(
        &self,
        scope: Scope<'_>,
        id: &SessionId,
    ) -> Result<Option<Found>, StoreError> {
        let (principal, id) = (scope.owned(), id.clone());
        self.read(move |connection| summary::find(connection, Scope::of(&principal), &id)).await
    }

    /// Sessions that have no unfinished runs and were not used since then.
    pub async fn unused_since(&self, since: SystemTime) -> Result<Vec<SessionId>, StoreError> {
        self.read(move |connection| summary::unused_since(connection, since)).await
    }

    /// Writes one line of JSON per event, from one consistent read, and reports every file of the user that an event
    /// mentions. Blocks for as long as `lines` does.
    pub fn export(
        &self,
        scope: Scope<'_>,
        id: &SessionId,
        lines: &mut impl Write,
        mentioned: &mut dyn FnMut(&Principal, &str),
    ) -> Result<Option<Exported>, StoreError> {
        self.readers.with(|connection| export::export(connection, scope, id, lines, mentioned))
    }

    /// Existing files of the user that this session mentions and no other session does.
    pub async fn mentioned_only_in(
        &self,
        key: SessionKey,
        is_there: impl FnMut(&str) -> bool + Send + 'static,
    ) -> Result<BTreeSet<String>, StoreError> {
        self.read(move |connection| mention::only_in_session(connection, key, is_there)).await
    }

    /// Once this returns, the session cannot be found any more, and the audit log no longer has the inputs of its
    /// calls. The session's writers must be gone before.
    pub async fn remove(&self, key: SessionKey) -> Result<bool, StoreError> {
        self.in_batches(|done| Job::BlankAudit { key, done }).await?;
        let (done, removed) = oneshot::channel();
        self.jobs.send(Job::Remove { key, done }).await.map_err(|_| StoreError::Stopped)?;
        removed.await.map_err(|_| StoreError::Stopped)?.map_err(StoreError::from)
    }

    /// Deletes the rows of removed sessions, in batches.
    pub async fn purge(&self) -> Result<(), StoreError> {
        self.in_batches(|done| Job::Purge { done }).await
    }

    /// Deletes audit entries older than `age`, in batches.
    pub async fn prune_audit(&self, age: Duration) -> Result<(), StoreError> {
        let age = i64::try_from(age.as_millis()).unwrap_or(i64::MAX);
        let before = writer::now_millis().saturating_sub(age);
        self.in_batches(|done| Job::PruneAudit { before, done }).await
    }

    /// Submits the job until it answers that nothing is left.
    async fn in_batches(
        &self,
        job: impl Fn(oneshot::Sender<Result<bool, rusqlite::Error>>) -> Job,
    ) -> Result<(), StoreError> {
        loop {
            let (done, more) = oneshot::channel();
            self.jobs.send(job(done)).await.map_err(|_| StoreError::Stopped)?;
            if !more.await.map_err(|_| StoreError::Stopped)?? {
                return Ok(());
            }
        }
    }

    /// Returns when everything submitted so far is committed.
    pub async fn settle(&self) -> Result<(), StoreError> {
        let (done, settled) = oneshot::channel();
        self.jobs.send(Job::Barrier { done }).await.map_err(|_| StoreError::Stopped)?;
        settled.await.map_err(|_| StoreError::Stopped)
    }

    /// Commits everything submitted so far, marks the database as cleanly closed and stops the writer.
    pub async fn close(&self) {
        let (done, closed) = oneshot::channel();
        if self.jobs.send(Job::Close { done }).await.is_ok() {
            // An error means that the writer has already stopped.
            let _ = closed.await;
        }
    }

    /// Returns the reason once writing has failed without a break for this long.
    pub async fn stalled(&self, limit: Duration) -> String {
        let mut health = self.health.clone();
        loop {
            if health.wait_for(Option::is_some).await.is_err() {
                // The writer has stopped, so writing cannot work again.
                return self.trouble().unwrap_or_default();
            }
            if timeout(limit, health.wait_for(Option::is_none)).await.is_err() {
                return self.trouble().unwrap_or_default();
            }
        }
    }

    async fn read<T, F>(&self, query: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnOnce(&rusqlite::Connection) -> Result<T, StoreError> + Send + 'static,
    {
        let _permit = self.query_permits.acquire().await.map_err(|_| StoreError::Stopped)?;
        let readers = Arc::clone(&self.readers);
        tokio::task::spawn_blocking(move || readers.with(query))
            .await
            .map_err(|_| StoreError::Stopped)?
    }
}

fn damaged(err: StoreError, path: &Path) -> StoreError {
    if let StoreError::Sqlite(sqlite) = &err
        && damage::is_damage(sqlite)
    {
        return StoreError::Damaged { path: path.to_owned(), what: sqlite.to_string() };
    }
    err
}

/// Checks a large database in the background. A smaller one was checked by [`schema::open`].
fn check_later(path: &Path, readers: &Arc<Readers>) {
    if path.metadata().is_ok_and(|about| about.len() <= schema::CHECKED_AT_START) {
        return;
    }
    let readers = Arc::clone(readers);
    let check = move || {
        if let Err(err) = readers.check() {
            warn!(%err, "the database could not be checked");
        }
    };
    let started = std::thread::Builder::new().name("database-check".to_owned()).spawn(check);
    if let Err(err) = started {
        warn!(%err, "the database is not checked");
    }
}
