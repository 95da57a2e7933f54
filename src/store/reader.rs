//! Queries. Each has its own connection, so that a long query never waits for the writer or delays it.

use super::damage::{self, Damage};
use super::writer::now_millis;
use super::{
    Conversation, OpenCall, SessionKey, StoreError, conversation, open_call, record, setting,
};
use crate::message::{
    AgentSlot, Channel, Confirmation, Controls, Entry, Epoch, Event, EventTime, FileNote, Order,
    Position, Principal, RequestNo, Run, RunSummary, Seq, SessionId, SettingChange, View,
};
use rusqlite::{Connection, OpenFlags, OptionalExtension, params};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tracing::error;

/// Rows in one page: enough to keep a socket busy, few enough not to delay other queries.
const PAGE_ROWS: i64 = 256;
/// A page ends early when its payload passes this.
const PAGE_BYTES: usize = 512 * 1024;
/// Files sent within this time belong to the next text.
const RECENT_MILLIS: i64 = 60_000;
/// Events that are looked back at for the newest run.
const LOOKED_BACK: usize = 4096;
/// At most this many results of one agent are loaded; older ones are ignored.
const MOST_SUMMARIES: i64 = 256;
/// Idle connections kept for the next query.
const SPARE_CONNECTIONS: usize = 4;

/// Everything that is loaded with a session.
#[derive(Debug, Clone)]
pub struct SessionRecord {
    pub key: SessionKey,
    pub principal: Principal,
    pub epoch: Epoch,
    pub controls: Controls,
    /// Only settings that differ from the configuration.
    pub settings: Vec<SettingChange>,
    /// Number of the newest event of each channel, by [`Channel::index`].
    pub tops: [Seq; Channel::COUNT],
    /// Order of the newest event of all channels.
    pub last_order: Order,
    pub last_run: u64,
    pub waiting: Vec<Run>,
    /// Files sent so recently that the next text includes them: channel, path and age.
    pub recent_files: Vec<(Channel, String, Duration)>,
    /// Runs that were interrupted when the process ended.
    pub running: Vec<Run>,
    /// Tool calls of the interrupted runs that were still open.
    pub open_calls: Vec<OpenCall>,
    /// Conversations with agents; the agents' processes are gone.
    pub conversations: Vec<Conversation>,
    /// Results since the agent's work in that project was last accepted or discarded, oldest first.
    pub summaries: Vec<(AgentSlot, RunSummary)>,
    /// Approval questions without an answer; the runs that asked are gone.
    pub questions: Vec<Confirmation>,
    /// Too many tool calls have failed, and the user has not reset the chat since.
    pub is_locked: bool,
    /// The number of the last question on each channel that has asked one.
    pub last_questions: Vec<(Channel, u32)>,
}

/// A part of a view's history.
#[derive(Debug)]
pub struct Page {
    pub entries: Vec<Arc<Entry>>,
    /// Everything up to this position has been read; the next page starts after it.
    pub reached: Position,
}

#[derive(Debug)]
pub(super) struct Readers {
    path: PathBuf,
    damage: Damage,
    spare: Mutex<Vec<Connection>>,
}

impl Readers {
    pub(super) fn new(path: &Path, damage: Damage) -> Self {
        Self { path: path.to_owned(), damage, spare: Mutex::new(Vec::new()) }
    }

    /// Reads the whole database and reports damage. Takes as long as the disk needs.
    pub(super) fn check(&self) -> Result<(), StoreError> {
        if let Some(what) = damage::check(&self.open()?)? {
            self.damage.report(what);
        }
        Ok(())
    }

    /// Runs a query on a spare connection, or on a new one, and reports damage.
    pub(super) fn with<T>(
        &self,
        query: impl FnOnce(&Connection) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        self.query(query).inspect_err(|err| {
            if let StoreError::Sqlite(err) = err {
                self.damage.report_if_damage(err);
            }
        })
    }

    fn query<T>(
        &self,
        query: impl FnOnce(&Connection) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let spare = self.spare.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let connection = match spare {
            Some(connection) => connection,
            None => self.open()?,
        };
        let result = query(&connection)?;
        let mut spare = self.spare.lock().unwrap_or_else(PoisonError::into_inner);
        if spare.len() < SPARE_CONNECTIONS {
            spare.push(connection);
        }
        Ok(result)
    }

    fn open(&self) -> Result<Connection, StoreError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(&self.path, flags)?;
        connection.execute_batch("PRAGMA busy_timeout = 5000; PRAGMA query_only = ON;")?;
        Ok(connection)
    }
}

pub(super) fn load(
    connection: &Connection,
    id: &SessionId,
) -> Result<Option<SessionRecord>, StoreError> {
    let mut query = connection.prepare_cached(
        "SELECT key, principal, epoch, controls, last_run, settings, locked FROM sessions WHERE id = ?1",
    )?;
    let found = query.query_row(params![id.as_str()], |row| {
        let principal: String = row.get(1)?;
        let controls: String = row.get(3)?;
        let settings: String = row.get(5)?;
        Ok(SessionRecord {
            key: SessionKey(row.get(0)?),
            principal: Principal::new(&principal),
            epoch: Epoch(row.get::<_, i64>(2)?.cast_unsigned()),
            controls: record::read_controls(&controls),
            settings: setting::read(&settings),
            tops: [Seq(0); Channel::COUNT],
            last_order: Order(0),
            last_run: row.get::<_, i64>(4)?.cast_unsigned(),
            waiting: Vec::new(),
            running: Vec::new(),
            open_calls: Vec::new(),
            recent_files: Vec::new(),
            conversations: Vec::new(),
            summaries: Vec::new(),
            questions: Vec::new(),
            is_locked: row.get(6)?,
            last_questions: Vec::new(),
        })
    });
    let Some(mut session) = found.optional()? else { return Ok(None) };
    for channel in Channel::ALL {
        session.tops[channel.index()] = top(connection, session.key, channel)?;
    }
    session.last_order = last_order(connection, session.key)?;
    load_runs(connection, &mut session)?;
    session.conversations = conversation::all(connection, session.key)?;
    load_recent_files(connection, &mut session)?;
    load_summaries(connection, &mut session)?;
    load_questions(connection, &mut session)?;
    session.open_calls = open_call::find(connection, &session)?;
    load_last_questions(connection, &mut session)?;
    Ok(Some(session))
}

fn top(connection: &Connection, key: SessionKey, channel: Channel) -> Result<Seq, StoreError> {
    let mut query = connection
        .prepare_cached("SELECT max(seq) FROM events WHERE session = ?1 AND channel = ?2")?;
    let top: Option<i64> =
        query.query_row(params![key.0, record::channel_number(channel)], |row| row.get(0))?;
    Ok(Seq(top.unwrap_or(0).cast_unsigned()))
}

fn last_order(connection: &Connection, key: SessionKey) -> Result<Order, StoreError> {
    let mut query = connection.prepare_cached("SELECT max(ord) FROM events WHERE session = ?1")?;
    let last: Option<i64> = query.query_row(params![key.0], |row| row.get(0))?;
    Ok(Order(last.unwrap_or(0).cast_unsigned()))
}

fn load_runs(connection: &Connection, session: &mut SessionRecord) -> Result<(), StoreError> {
    let mut query = connection.prepare_cached(
        "SELECT run, channel, state, body FROM runs WHERE session = ?1 ORDER BY run",
    )?;
    let mut rows = query.query(params![session.key.0])?;
    while let Some(row) = rows.next()? {
        let (id, channel): (i64, i64) = (row.get(0)?, row.get(1)?);
        let (state, body): (String, String) = (row.get(2)?, row.get(3)?);
        match record::read_run(id, channel, &body) {
            Some(run) if state == "waiting" => session.waiting.push(run),
            Some(run) => session.running.push(run),
            None => error!(run = id, "a stored run cannot be read and is ignored"),
        }
    }
    Ok(())
}

/// Reads only the newest events of each channel: a session may have a million older ones.
fn load_recent_files(
    connection: &Connection,
    session: &mut SessionRecord,
) -> Result<(), StoreError> {
    let now = now_millis();
    let mut query = connection.prepare_cached(
        "SELECT at, kind, body FROM events WHERE session = ?1 AND channel = ?2 ORDER BY seq DESC LIMIT 64",
    )?;
    for channel in Channel::ALL.into_iter().filter(|channel| channel.runs_work()) {
        let mut rows = query.query(params![session.key.0, record::channel_number(channel)])?;
        while let Some(row) = rows.next()? {
            let (at, kind, body): (i64, String, String) = (row.get(0)?, row.get(1)?, row.get(2)?);
            if now - at > RECENT_MILLIS {
                break;
            }
            if let Some(Event::UserFile(FileNote { path: Some(path), .. })) =
                record::read_event(&kind, &body, None)
            {
                let age = Duration::from_millis(u64::try_from(now - at).unwrap_or(0));
                session.recent_files.push((channel, path, age));
            }
        }
    }
    Ok(())
}

/// Every approval question is also logged on the input channel. Questions do not stay open for long, so only the newest
/// events of that channel are read.
fn load_questions(connection: &Connection, session: &mut SessionRecord) -> Result<(), StoreError> {
    let mut query = connection.prepare_cached(
        "SELECT kind, body FROM
         (SELECT seq, kind, body FROM events WHERE session = ?1 AND channel = ?2 ORDER BY seq DESC LIMIT 4096)
         WHERE kind IN ('confirm_asked', 'confirm_settled') ORDER BY seq",
    )?;
    let channel = record::channel_number(Channel::Input);
    let mut rows = query.query(params![session.key.0, channel])?;
    while let Some(row) = rows.next()? {
        let (kind, body): (String, String) = (row.get(0)?, row.get(1)?);
        match record::read_event(&kind, &body, None) {
            Some(Event::ConfirmAsked(asked)) => session.questions.push(asked),
            Some(Event::ConfirmSettled { id, .. }) => {
                session.questions.retain(|asked| asked.id != id);
            }
            Some(_) | None => {}
        }
    }
    Ok(())
}

/// For the next two queries there are partial indexes. SQLite uses a partial index only if the query repeats its
/// condition word for word. `INDEXED BY` is needed, because SQLite would otherwise scan all events of the channel.
pub(super) const LAST_QUESTION: &str = "SELECT kind, body FROM events INDEXED BY questions
     WHERE session = ?1 AND channel = ?2 AND kind = 'confirm_asked' ORDER BY seq DESC";
pub(super) const LAST_RESULTS: &str = "SELECT kind, body FROM events INDEXED BY results
     WHERE session = ?1 AND channel = ?2 AND kind IN ('run_summed', 'chosen') ORDER BY seq DESC LIMIT ?3";

/// The newest question has the highest number.
fn load_last_questions(
    connection: &Connection,
    session: &mut SessionRecord,
) -> Result<(), StoreError> {
    let mut query = connection.prepare_cached(LAST_QUESTION)?;
    let agents = AgentSlot::ALL.into_iter().map(Channel::Agent);
    for channel in std::iter::once(Channel::Chat).chain(agents) {
        let mut rows = query.query(params![session.key.0, record::channel_number(channel)])?;
        while let Some(row) = rows.next()? {
            let (kind, body): (String, String) = (row.get(0)?, row.get(1)?);
            if let Some(Event::ConfirmAsked(asked)) = record::read_event(&kind, &body, None) {
                // The chat also shows questions of agents, which have numbers of their own.
                if asked.channel == channel {
                    session.last_questions.push((channel, asked.number));
                    break;
                }
            }
        }
    }
    Ok(())
}

/// Loads the results since the last choice that settled the agent's work in the same project.
fn load_summaries(connection: &Connection, session: &mut SessionRecord) -> Result<(), StoreError> {
    let mut query = connection.prepare_cached(LAST_RESULTS)?;
    for slot in AgentSlot::ALL {
        let channel = record::channel_number(Channel::Agent(slot));
        let mut rows = query.query(params![session.key.0, channel, MOST_SUMMARIES])?;
        let mut settled = BTreeSet::new();
        while let Some(row) = rows.next()? {
            let (kind, body): (String, String) = (row.get(0)?, row.get(1)?);
            match record::read_event(&kind, &body, None) {
                Some(Event::RunSummed(summary)) => {
                    // Earlier versions did not record the project of a run or a choice.
                    let is_settled = match &summary.project {
                        Some(_) => settled.contains(&summary.project),
                        None => !settled.is_empty(),
                    };
                    if !is_settled {
                        session.summaries.push((slot, summary));
                    }
                }
                Some(Event::Chosen(chosen)) if chosen.settles() => {
                    if chosen.project.is_none() {
                        break;
                    }
                    settled.insert(chosen.project);
                }
                Some(_) | None => {}
            }
        }
    }
    session.summaries.reverse();
    Ok(())
}

pub(super) fn unfinished(
    connection: &Connection,
) -> Result<Vec<(SessionId, Principal)>, StoreError> {
    let mut query = connection.prepare(
        "SELECT id, principal FROM sessions WHERE key IN (SELECT session FROM runs) ORDER BY key",
    )?;
    let rows =
        query.query_map([], |row| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?)))?;
    let mut found = Vec::new();
    for row in rows {
        let (id, principal) = row?;
        found.extend(SessionId::parse(&id).map(|id| (id, Principal::new(&principal))));
    }
    Ok(found)
}

/// A view of one channel is read by the channel's own numbers, a view of several by the session's order. Both have
/// gaps, because a file list deletes older ones.
pub(super) fn page(
    connection: &Connection,
    key: SessionKey,
    view: View,
    after: Position,
    upto: Position,
) -> Result<Page, StoreError> {
    let (by, channels) = selection(view);
    let mut query = connection.prepare_cached(&format!(
        "SELECT channel, seq, ord, at, kind, body, blob FROM events
         WHERE session = ?1 AND {channels} AND {by} > ?2 AND {by} <= ?3 ORDER BY {by} LIMIT ?4"
    ))?;
    let (after, last) = (after.0.cast_signed(), upto.0.cast_signed());
    let mut rows = query.query(params![key.0, after, last, PAGE_ROWS])?;
    let mut page = Page { entries: Vec::new(), reached: upto };
    let (mut count, mut bytes) = (0, 0);
    while let Some(row) = rows.next()? {
        let Some(channel) = record::read_channel(row.get(0)?) else { continue };
        let seq = Seq(row.get::<_, i64>(1)?.cast_unsigned());
        let order = Order(row.get::<_, i64>(2)?.cast_unsigned());
        let at = EventTime(row.get(3)?);
        let (kind, body): (String, String) = (row.get(4)?, row.get(5)?);
        let blob: Option<Vec<u8>> = row.get(6)?;
        bytes += body.len() + blob.as_ref().map_or(0, Vec::len);
        match record::read_event(&kind, &body, blob) {
            Some(event) => page.entries.push(Arc::new(Entry { channel, seq, order, at, event })),
            None => error!(kind, seq = seq.0, "a stored event cannot be read and is skipped"),
        }
        count += 1;
        if bytes > PAGE_BYTES || count == PAGE_ROWS {
            page.reached = view.position_of(seq, order);
            break;
        }
    }
    Ok(page)
}

/// The column that a view counts by, and the condition for its channels.
fn selection(view: View) -> (&'static str, String) {
    match view {
        View::One(channel) => ("seq", format!("channel = {}", record::channel_number(channel))),
        View::All => ("ord", "TRUE".to_owned()),
    }
}

pub(super) fn before_last(
    connection: &Connection,
    key: SessionKey,
    view: View,
    upto: Position,
    count: usize,
) -> Result<Position, StoreError> {
    let (by, channels) = selection(view);
    let mut query = connection.prepare_cached(&format!(
        "SELECT {by} FROM events WHERE session = ?1 AND {channels} AND {by} <= ?2 ORDER BY {by} DESC LIMIT 1 OFFSET ?3"
    ))?;
    let offset = i64::try_from(count).unwrap_or(i64::MAX);
    let found: Option<i64> = query
        .query_row(params![key.0, upto.0.cast_signed(), offset], |row| row.get(0))
        .optional()?;
    Ok(Position(found.unwrap_or(0).cast_unsigned()))
}

/// Only so many of the newest events are looked at; a longer run is told from there on.
pub(super) fn before_last_run(
    connection: &Connection,
    key: SessionKey,
    view: View,
    upto: Position,
) -> Result<Position, StoreError> {
    let (by, channels) = selection(view);
    let mut query = connection.prepare_cached(&format!(
        "SELECT coalesce(max(place) FILTER (WHERE kind = 'run_started') - 2, min(place) - 1, 0) FROM
         (SELECT {by} AS place, kind FROM events
          WHERE session = ?1 AND {channels} AND {by} <= ?2 ORDER BY {by} DESC LIMIT {LOOKED_BACK})"
    ))?;
    let found: i64 = query.query_row(params![key.0, upto.0.cast_signed()], |row| row.get(0))?;
    Ok(Position(found.max(0).cast_unsigned()))
}

pub(super) fn knows_request(
    connection: &Connection,
    key: SessionKey,
    request: &RequestNo,
) -> Result<bool, StoreError> {
    let mut query =
        connection.prepare_cached("SELECT 1 FROM requests WHERE session = ?1 AND number = ?2")?;
    Ok(query.exists(params![key.0, request.to_string()])?)
}
