//! The only thread that writes. It commits all waiting writes in one transaction and tells each session which of its
//! writes are committed. If the disk refuses a batch, it retries until the disk accepts it; nothing is dropped.

use super::conversation::{self, Conversation};
use super::damage::Damage;
use super::database_file::DatabaseFile;
use super::outside_id::{self, Claimed};
use super::token::{self, TokenRow};
use super::{SessionKey, audit, record, removal, schema, setting, usage};
use crate::message::{
    AuditEntry, Controls, Entry, Epoch, OutsideId, Principal, RequestNo, Run, RunId, SessionId,
    SettingChange,
};
use rusqlite::{Connection, ErrorCode, Transaction, params};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use tokio::sync::{mpsc, oneshot, watch};
use tracing::{error, warn};

/// Jobs waiting for the thread. Full: sessions keep their writes and stop reading from their providers.
const QUEUE_CAPACITY: usize = 1024;
/// Writes in one transaction; bounds how long the first of them waits for its commit.
const BATCH_LIMIT: usize = 512;
/// Pause between retries while the disk refuses writes.
const RETRY_PAUSE: Duration = Duration::from_millis(250);

pub(super) type Jobs = mpsc::Sender<Job>;

#[derive(Debug)]
pub(super) enum Job {
    Write(Write),
    Create {
        id: SessionId,
        principal: Principal,
        epoch: Epoch,
        done: oneshot::Sender<Result<SessionKey, rusqlite::Error>>,
    },
    Claim {
        principal: Principal,
        outside: OutsideId,
        fresh: (SessionId, Epoch),
        most: usize,
        done: oneshot::Sender<Result<Claimed, rusqlite::Error>>,
    },
    ForgetRequests {
        age: Duration,
    },
    KeepToken {
        token: TokenRow,
        done: oneshot::Sender<Result<(), rusqlite::Error>>,
    },
    AddTokens {
        principal: Principal,
        tokens: u64,
        done: oneshot::Sender<Result<(), rusqlite::Error>>,
    },
    DropTokens {
        digests: Vec<[u8; 32]>,
        done: oneshot::Sender<Result<(), rusqlite::Error>>,
    },
    /// Deletes one batch of entries before this time, in milliseconds since 1970; answers whether there may be more.
    PruneAudit {
        before: i64,
        done: oneshot::Sender<Result<bool, rusqlite::Error>>,
    },
    /// Blanks one batch; answers whether there may be more.
    BlankAudit {
        key: SessionKey,
        done: oneshot::Sender<Result<bool, rusqlite::Error>>,
    },
    /// Answers whether the session existed.
    Remove {
        key: SessionKey,
        done: oneshot::Sender<Result<bool, rusqlite::Error>>,
    },
    /// Deletes one batch; answers whether there may be more.
    Purge {
        done: oneshot::Sender<Result<bool, rusqlite::Error>>,
    },
    /// Answered when everything before it is committed.
    Barrier {
        done: oneshot::Sender<()>,
    },
    Close {
        done: oneshot::Sender<()>,
    },
}

/// Changes of one session that are committed together or not at all.
#[derive(Debug)]
pub(super) struct Write {
    key: SessionKey,
    changes: Vec<Change>,
    ticket: u64,
    progress: Arc<watch::Sender<Progress>>,
}

/// How far one session's writes are committed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Progress {
    /// The newest committed ticket.
    pub committed: u64,
    /// A write failed for good, so the session's memory no longer matches the disk.
    pub failed: bool,
}

impl Write {
    fn tell_committed(&self) {
        self.progress.send_modify(|progress| progress.committed = self.ticket);
    }
}

/// One change of one session's rows.
#[derive(Debug, Clone)]
pub enum Change {
    /// Stores an event.
    Append(Arc<Entry>),
    Controls(Controls),
    /// Only settings that differ from the configuration.
    Settings(Vec<SettingChange>),
    /// The command with this request number was carried out.
    Request(RequestNo),
    Audit(AuditEntry),
    Conversation(Conversation),
    Run(Run, RunState),
    RunOver(RunId),
    /// Whether the chat takes no texts until the user resets it.
    Locked(bool),
    /// The session is in use now.
    Used,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunState {
    Waiting,
    Running,
}

/// One session's access to the writer thread. Tickets rise by one; `Progress` names the newest committed ticket.
#[derive(Debug)]
pub struct SessionWriter {
    key: SessionKey,
    jobs: Jobs,
    last_ticket: u64,
    progress: Arc<watch::Sender<Progress>>,
}

impl SessionWriter {
    pub(super) fn new(key: SessionKey, jobs: Jobs) -> Self {
        Self { key, jobs, last_ticket: 0, progress: Arc::default() }
    }

    /// Submits changes without waiting; returns them if the writer's queue is full.
    pub fn try_write(&mut self, changes: Vec<Change>) -> Result<u64, Vec<Change>> {
        match self.jobs.try_reserve() {
            Ok(permit) => {
                self.last_ticket += 1;
                let (key, ticket) = (self.key, self.last_ticket);
                permit.send(Job::Write(Write {
                    key,
                    changes,
                    ticket,
                    progress: Arc::clone(&self.progress),
                }));
                Ok(ticket)
            }
            Err(_) => Err(changes),
        }
    }

    /// Waits until the queue has room; forever, if the writer has stopped.
    pub async fn room(&self) {
        if self.jobs.reserve().await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    pub fn watch(&self) -> watch::Receiver<Progress> {
        self.progress.subscribe()
    }
}

/// Starts the thread; it ends with [`Job::Close`] or when every handle is dropped.
pub(super) fn start(
    connection: Connection,
    file: DatabaseFile,
    damage: Damage,
    observe: impl Fn(usize, Duration) + Send + 'static,
) -> io::Result<(Jobs, watch::Receiver<Option<String>>)> {
    let (jobs, queue) = mpsc::channel(QUEUE_CAPACITY);
    let (trouble, health) = watch::channel(None);
    let lost = trouble.clone();
    thread::Builder::new().name("store-writer".to_owned()).spawn(move || {
        let writer = Writer { connection, file, damage, queue, trouble };
        if catch_unwind(AssertUnwindSafe(|| writer.run(observe))).is_err() {
            error!("the thread that writes to the database has panicked; restart the gateway");
            lost.send_replace(Some("the writer has failed".to_owned()));
        }
    })?;
    Ok((jobs, health))
}

struct Writer {
    connection: Connection,
    file: DatabaseFile,
    damage: Damage,
    queue: mpsc::Receiver<Job>,
    trouble: watch::Sender<Option<String>>,
}

impl Writer {
    fn run(mut self, observe: impl Fn(usize, Duration)) {
        let mut batch = Vec::with_capacity(BATCH_LIMIT);
        while self.queue.blocking_recv_many(&mut batch, BATCH_LIMIT) > 0 {
            let started = Instant::now();
            let writes = self.take_writes(&mut batch);
            if !writes.is_empty() {
                self.commit_until_done(&writes);
                observe(writes.len(), started.elapsed());
            }
            for job in batch.drain(..) {
                match job {
                    // `take_writes` has removed all of them.
                    Job::Write(_) => {}
                    Job::Create { id, principal, epoch, done } => {
                        let result = create(&self.connection, &id, &principal, epoch);
                        let _ = done.send(self.reporting_damage(result));
                    }
                    Job::Claim { principal, outside, fresh, most, done } => {
                        let (connection, fresh) = (&mut self.connection, (&fresh.0, fresh.1));
                        let result =
                            outside_id::claim(connection, &principal, &outside, fresh, most);
                        let _ = done.send(self.reporting_damage(result));
                    }
                    Job::ForgetRequests { age } => self.forget_requests(age),
                    Job::KeepToken { token, done } => {
                        let result = token::keep(&self.connection, &token);
                        let _ = done.send(self.reporting_damage(result));
                    }
                    Job::AddTokens { principal, tokens, done } => {
                        let result = usage::add(&self.connection, &principal, tokens);
                        let _ = done.send(self.reporting_damage(result));
                    }
                    Job::DropTokens { digests, done } => {
                        let result = token::forget(&mut self.connection, &digests);
                        let _ = done.send(self.reporting_damage(result));
                    }
                    Job::PruneAudit { before, done } => {
                        let result = audit::prune(&self.connection, before);
                        let _ = done.send(self.reporting_damage(result));
                    }
                    Job::BlankAudit { key, done } => {
                        let result = audit::blank_inputs(&self.connection, key);
                        let _ = done.send(self.reporting_damage(result));
                    }
                    Job::Remove { key, done } => {
                        let result = removal::remove(&mut self.connection, key);
                        let _ = done.send(self.reporting_damage(result));
                    }
                    Job::Purge { done } => {
                        let result = removal::purge(&mut self.connection);
                        let _ = done.send(self.reporting_damage(result));
                    }
                    Job::Barrier { done } => drop(done.send(())),
                    Job::Close { done } => return self.close(done),
                }
            }
        }
    }

    /// Takes the writes out of the batch; they are committed before the other jobs. That order is safe: a session is
    /// written to only after its creation was answered, and removed only after its last writer has ended.
    fn take_writes(&self, batch: &mut Vec<Job>) -> Vec<Write> {
        let mut writes = Vec::with_capacity(batch.len());
        let mut others = Vec::new();
        for job in batch.drain(..) {
            match job {
                Job::Write(write) => writes.push(write),
                Job::Create { .. }
                | Job::Claim { .. }
                | Job::ForgetRequests { .. }
                | Job::KeepToken { .. }
                | Job::AddTokens { .. }
                | Job::DropTokens { .. }
                | Job::PruneAudit { .. }
                | Job::BlankAudit { .. }
                | Job::Remove { .. }
                | Job::Purge { .. }
                | Job::Barrier { .. }
                | Job::Close { .. } => others.push(job),
            }
        }
        *batch = others;
        writes
    }

    fn commit_until_done(&mut self, writes: &[Write]) {
        while let Err(reason) = self.file.check() {
            self.wait_to_retry(reason);
        }
        loop {
            match commit(&mut self.connection, writes) {
                Ok(()) => {
                    writes.iter().for_each(Write::tell_committed);
                    break;
                }
                Err(err) if self.should_retry(&err) => self.wait_to_retry(err.to_string()),
                Err(err) => {
                    error!(?err, "a batch was refused; writing its parts one by one");
                    self.commit_one_by_one(writes);
                    break;
                }
            }
        }
        if self.trouble.borrow().is_some() {
            warn!("the database accepts writes again");
            self.trouble.send_replace(None);
        }
    }

    fn reporting_damage<T>(
        &self,
        result: Result<T, rusqlite::Error>,
    ) -> Result<T, rusqlite::Error> {
        if let Err(err) = &result {
            self.damage.report_if_damage(err);
        }
        result
    }

    /// Retrying does not repair a damaged database, but it keeps the batch while the sessions are told to stop.
    fn should_retry(&self, err: &rusqlite::Error) -> bool {
        is_temporary(err) || self.damage.report_if_damage(err)
    }

    /// One session's bad write must not make the other sessions' writes fail.
    fn commit_one_by_one(&mut self, writes: &[Write]) {
        for write in writes {
            if write.progress.borrow().failed {
                continue;
            }
            loop {
                match commit(&mut self.connection, std::slice::from_ref(write)) {
                    Ok(()) => break write.tell_committed(),
                    Err(err) if self.should_retry(&err) => self.wait_to_retry(err.to_string()),
                    Err(err) => break self.give_up(write, &err),
                }
            }
        }
    }

    /// Ends the session before any client sees the write. The new epoch makes the clients reload what is stored.
    fn give_up(&self, write: &Write, err: &rusqlite::Error) {
        error!(?err, "a write was refused for good; its session starts again from what is stored");
        let renewed = self
            .connection
            .execute("UPDATE sessions SET epoch = random() WHERE key = ?1", params![write.key.0]);
        if let Err(err) = renewed {
            error!(%err, "the session's epoch could not be renewed");
        }
        write.progress.send_modify(|progress| progress.failed = true);
    }

    fn wait_to_retry(&self, reason: String) {
        // Logged once per reason, not at every retry.
        self.trouble.send_if_modified(|trouble| {
            let news = trouble.as_ref() != Some(&reason);
            if news {
                error!(reason, "the database does not accept writes; retrying, nothing is dropped");
                *trouble = Some(reason);
            }
            news
        });
        thread::sleep(RETRY_PAUSE);
    }

    fn forget_requests(&self, age: Duration) {
        let oldest = now_millis() - i64::try_from(age.as_millis()).unwrap_or(i64::MAX);
        if let Err(err) =
            self.connection.execute("DELETE FROM requests WHERE at < ?1", params![oldest])
        {
            warn!(%err, "old request numbers were not removed; the next sweep tries again");
        }
    }

    fn close(self, done: oneshot::Sender<()>) {
        if let Err(err) = schema::mark_closed(&self.connection) {
            warn!(%err, "the database could not be marked as closed");
        }
        if let Err((_, err)) = self.connection.close() {
            warn!(%err, "the database did not close cleanly");
        }
        let _ = done.send(());
    }
}

/// Adds the row of a new session.
pub(super) fn create(
    connection: &Connection,
    id: &SessionId,
    principal: &Principal,
    epoch: Epoch,
) -> Result<SessionKey, rusqlite::Error> {
    let (key, now) = (removal::fresh_key(connection)?, now_millis());
    connection.execute(
        "INSERT INTO sessions (key, id, principal, epoch, created_at, used_at) VALUES (?1, ?2, ?3, ?4, ?5, ?5)",
        params![key.0, id.as_str(), principal.as_str(), epoch.0.cast_signed(), now],
    )?;
    Ok(key)
}

fn commit(connection: &mut Connection, writes: &[Write]) -> Result<(), rusqlite::Error> {
    let batch = connection.transaction()?;
    let now = now_millis();
    for write in writes.iter().filter(|write| !write.progress.borrow().failed) {
        for change in &write.changes {
            apply(&batch, write.key, change, now)?;
        }
    }
    batch.commit()
}

fn apply(
    batch: &Transaction<'_>,
    key: SessionKey,
    change: &Change,
    now: i64,
) -> Result<(), rusqlite::Error> {
    match change {
        Change::Append(entry) => return append(batch, key, entry),
        Change::Controls(controls) => {
            let mut update =
                batch.prepare_cached("UPDATE sessions SET controls = ?2 WHERE key = ?1")?;
            update.execute(params![key.0, record::controls_body(controls)])?;
        }
        Change::Settings(settings) => {
            let mut update =
                batch.prepare_cached("UPDATE sessions SET settings = ?2 WHERE key = ?1")?;
            update.execute(params![key.0, setting::body(settings)])?;
        }
        Change::Locked(is_locked) => {
            let mut update =
                batch.prepare_cached("UPDATE sessions SET locked = ?2 WHERE key = ?1")?;
            update.execute(params![key.0, is_locked])?;
        }
        Change::Request(request) => {
            let mut insert =
                batch.prepare_cached("INSERT OR REPLACE INTO requests VALUES (?1, ?2, ?3)")?;
            insert.execute(params![key.0, request.to_string(), now])?;
        }
        Change::Audit(entry) => return audit::write(batch, key, entry, now),
        Change::Conversation(changed) => return conversation::write(batch, key, changed),
        Change::Run(run, state) => return save_run(batch, key, run, *state),
        Change::RunOver(run) => {
            let mut delete =
                batch.prepare_cached("DELETE FROM runs WHERE session = ?1 AND run = ?2")?;
            delete.execute(params![key.0, run.0.cast_signed()])?;
        }
        Change::Used => {
            let mut update =
                batch.prepare_cached("UPDATE sessions SET used_at = ?2 WHERE key = ?1")?;
            update.execute(params![key.0, now])?;
        }
    }
    Ok(())
}

fn append(batch: &Transaction<'_>, key: SessionKey, entry: &Entry) -> Result<(), rusqlite::Error> {
    let row = record::event_row(&entry.event);
    let channel = record::channel_number(entry.channel);
    let seq = entry.seq.0.cast_signed();
    if record::replaces_older(&entry.event) {
        let mut delete = batch.prepare_cached(
            "DELETE FROM events WHERE session = ?1 AND channel = ?2 AND kind = ?3 AND seq < ?4",
        )?;
        delete.execute(params![key.0, channel, row.kind.name(), seq])?;
    }
    let mut insert =
        batch.prepare_cached("INSERT INTO events VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)")?;
    let (at, order) = (entry.at.0, entry.order.0.cast_signed());
    insert.execute(params![key.0, channel, seq, at, row.kind.name(), row.body, row.blob, order])?;
    Ok(())
}

fn save_run(
    batch: &Transaction<'_>,
    key: SessionKey,
    run: &Run,
    state: RunState,
) -> Result<(), rusqlite::Error> {
    let state = match state {
        RunState::Waiting => "waiting",
        RunState::Running => "running",
    };
    let id = run.id.0.cast_signed();
    let channel = record::channel_number(run.channel);
    let mut save =
        batch.prepare_cached("INSERT OR REPLACE INTO runs VALUES (?1, ?2, ?3, ?4, ?5)")?;
    save.execute(params![key.0, id, channel, state, record::run_body(run)])?;
    let mut last =
        batch.prepare_cached("UPDATE sessions SET last_run = max(last_run, ?2) WHERE key = ?1")?;
    last.execute(params![key.0, id])?;
    Ok(())
}

/// Errors that an operator can fix (space, permissions, a lock), as opposed to a statement that can never work.
fn is_temporary(err: &rusqlite::Error) -> bool {
    matches!(
        err.sqlite_error_code(),
        Some(
            ErrorCode::DiskFull
                | ErrorCode::SystemIoFailure
                | ErrorCode::DatabaseBusy
                | ErrorCode::DatabaseLocked
                | ErrorCode::CannotOpen
                | ErrorCode::ReadOnly
                | ErrorCode::PermissionDenied
                | ErrorCode::OutOfMemory
        )
    )
}

pub(super) fn now_millis() -> i64 {
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since_epoch.as_millis()).unwrap_or(i64::MAX)
}
