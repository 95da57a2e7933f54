//! Tables, migrations, and whether cursors from before an unclean shutdown are still valid.

use super::{StoreError, damage};
use rusqlite::{Connection, OptionalExtension, params};
use std::fs::{OpenOptions, Permissions};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;
use tracing::warn;

/// One step per released schema. Steps are never edited, only appended.
const MIGRATIONS: &[&str] = &[
    "
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;

CREATE TABLE sessions (
    key        INTEGER PRIMARY KEY,
    id         TEXT NOT NULL UNIQUE,
    principal  TEXT NOT NULL,
    epoch      INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    used_at    INTEGER NOT NULL,
    controls   TEXT NOT NULL DEFAULT '{}',
    last_run   INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX sessions_by_principal ON sessions (principal, used_at);

-- One row per numbered packet. The payload of `blob` is a thumbnail.
CREATE TABLE events (
    session INTEGER NOT NULL REFERENCES sessions (key) ON DELETE CASCADE,
    channel INTEGER NOT NULL,
    seq     INTEGER NOT NULL,
    at      INTEGER NOT NULL,
    kind    TEXT NOT NULL,
    body    TEXT NOT NULL,
    blob    BLOB,
    PRIMARY KEY (session, channel, seq)
) WITHOUT ROWID;

-- Work that is waiting or running; a finished run has no row.
CREATE TABLE runs (
    session INTEGER NOT NULL REFERENCES sessions (key) ON DELETE CASCADE,
    run     INTEGER NOT NULL,
    channel INTEGER NOT NULL,
    state   TEXT NOT NULL,
    body    TEXT NOT NULL,
    PRIMARY KEY (session, run)
) WITHOUT ROWID;

CREATE TABLE requests (
    session INTEGER NOT NULL REFERENCES sessions (key) ON DELETE CASCADE,
    number  TEXT NOT NULL,
    at      INTEGER NOT NULL,
    PRIMARY KEY (session, number)
) WITHOUT ROWID;
CREATE INDEX requests_by_age ON requests (at);
",
    "
-- Logins, by the SHA-256 of their secrets.
CREATE TABLE tokens (
    digest     BLOB PRIMARY KEY,
    principal  TEXT NOT NULL,
    -- SHA-256 of what the principal had to show; another password is another one.
    shown      BLOB NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL
) WITHOUT ROWID;

-- Decisions about tool calls; without a reference, because they outlive their session.
CREATE TABLE audit (
    key        INTEGER PRIMARY KEY,
    at         INTEGER NOT NULL,
    session    TEXT NOT NULL,
    principal  TEXT NOT NULL,
    agent      INTEGER NOT NULL,
    run        INTEGER NOT NULL,
    tool       TEXT NOT NULL,
    input      TEXT NOT NULL,
    approved   INTEGER NOT NULL,
    decided_by TEXT NOT NULL,
    reason     TEXT NOT NULL
);

-- Tokens of chats, by person and day.
CREATE TABLE usage (
    principal TEXT NOT NULL,
    day       INTEGER NOT NULL,
    tokens    INTEGER NOT NULL,
    PRIMARY KEY (principal, day)
) WITHOUT ROWID;

-- The agents' own ids of their conversations with a session, by slot, agent and directory.
CREATE TABLE conversations (
    session   INTEGER NOT NULL REFERENCES sessions (key) ON DELETE CASCADE,
    slot      INTEGER NOT NULL,
    agent     TEXT NOT NULL,
    directory BLOB NOT NULL,
    name      TEXT NOT NULL,
    PRIMARY KEY (session, slot, agent, directory)
) WITHOUT ROWID;

-- Model settings in which a session differs from the configuration.
ALTER TABLE sessions ADD COLUMN settings TEXT NOT NULL DEFAULT '{}';
",
    "
-- Old decisions are deleted by age; the inputs of calls are blanked when their session is deleted.
CREATE INDEX audit_by_age ON audit (at);
CREATE INDEX audit_inputs ON audit (session) WHERE input <> '';

-- For queries that every loading of a session makes; only few events are of these kinds.
CREATE INDEX questions ON events (session, channel, seq) WHERE kind = 'confirm_asked';
CREATE INDEX results ON events (session, channel, seq) WHERE kind IN ('run_summed', 'chosen');
",
    "
-- The agent's own id for the call.
ALTER TABLE audit ADD COLUMN call TEXT NOT NULL DEFAULT '';
",
    "
-- The order of events over all channels of a session. Older rows are ordered by time, but never against
-- the order within their channel, even if the clock was set back.
ALTER TABLE events ADD COLUMN ord INTEGER NOT NULL DEFAULT 0;
UPDATE events SET ord = ranked.ord FROM (
    SELECT session, channel, seq, row_number() OVER (PARTITION BY session ORDER BY time, channel, seq) AS ord
    FROM (
        SELECT session, channel, seq, max(at) OVER (PARTITION BY session, channel ORDER BY seq) AS time FROM events
    )
) AS ranked
WHERE events.session = ranked.session AND events.channel = ranked.channel AND events.seq = ranked.seq;
CREATE UNIQUE INDEX events_by_order ON events (session, ord);
",
    "
-- Not only agents call tools.
ALTER TABLE audit ADD COLUMN caller TEXT NOT NULL DEFAULT '';
UPDATE audit SET caller = 'agent' || agent;
ALTER TABLE audit DROP COLUMN agent;
",
    r#"
-- Settings were stored under the names of the AIcore client. Replacing names as text is safe: only a name is followed
-- by a quote and a colon, because quotes within values are escaped.
UPDATE sessions SET settings = replace(settings, '"CHAT_AI_NAME":', '"chat":');
UPDATE sessions SET settings = replace(settings, '"CHAT_GEMINI_MODEL":', '"chat_model.gemini":');
UPDATE sessions SET settings = replace(settings, '"CHAT_FREEAI_MODEL":', '"chat_model.freeai":');
UPDATE sessions SET settings = replace(settings, '"CHAT_OPENRT_MODEL":', '"chat_model.openrt":');
UPDATE sessions SET settings = replace(settings, '"LIVE_AI_NAME":', '"live":');
UPDATE sessions SET settings = replace(settings, '"LIVE_GEMINI_MODEL":', '"live_model.gemini_live":');
UPDATE sessions SET settings = replace(settings, '"LIVE_GEMINI_VOICE":', '"live_voice.gemini_live":');
UPDATE sessions SET settings = replace(settings, '"LIVE_FREEAI_MODEL":', '"live_model.freeai_live":');
UPDATE sessions SET settings = replace(settings, '"LIVE_FREEAI_VOICE":', '"live_voice.freeai_live":');
UPDATE sessions SET settings = replace(settings, '"LIVE_OPENAI_MODEL":', '"live_model.openai_live":');
UPDATE sessions SET settings = replace(settings, '"LIVE_OPENAI_VOICE":', '"live_voice.openai_live":');
UPDATE sessions SET settings = replace(settings, '"CODE_AI1_NAME":', '"agent1":');
UPDATE sessions SET settings = replace(settings, '"CODE_AI1_MODEL":', '"agent1_model":');
UPDATE sessions SET settings = replace(settings, '"CODE_AI1_PLACE":', '"agent1_workplace":');
UPDATE sessions SET settings = replace(settings, '"CODE_AI2_NAME":', '"agent2":');
UPDATE sessions SET settings = replace(settings, '"CODE_AI2_MODEL":', '"agent2_model":');
UPDATE sessions SET settings = replace(settings, '"CODE_AI2_PLACE":', '"agent2_workplace":');
UPDATE sessions SET settings = replace(settings, '"CODE_AI3_NAME":', '"agent3":');
UPDATE sessions SET settings = replace(settings, '"CODE_AI3_MODEL":', '"agent3_model":');
UPDATE sessions SET settings = replace(settings, '"CODE_AI3_PLACE":', '"agent3_workplace":');
UPDATE sessions SET settings = replace(settings, '"CODE_AI4_NAME":', '"agent4":');
UPDATE sessions SET settings = replace(settings, '"CODE_AI4_MODEL":', '"agent4_model":');
UPDATE sessions SET settings = replace(settings, '"CODE_AI4_PLACE":', '"agent4_workplace":');
UPDATE sessions SET settings = replace(settings, '"CODE_BASE_PATH":', '"project":');
"#,
    "
-- Ids by which clients of a dialect know sessions of a principal.
CREATE TABLE outside_ids (
    principal TEXT NOT NULL,
    dialect   TEXT NOT NULL,
    id        TEXT NOT NULL,
    session   INTEGER NOT NULL REFERENCES sessions (key) ON DELETE CASCADE,
    PRIMARY KEY (principal, dialect, id)
) WITHOUT ROWID;
CREATE INDEX outside_ids_by_session ON outside_ids (session);
",
    "
-- What a decision was judged by: the tool's own name, how dangerous the call is, and where the user was.
ALTER TABLE audit ADD COLUMN name TEXT NOT NULL DEFAULT '';
ALTER TABLE audit ADD COLUMN level TEXT NOT NULL DEFAULT '';
ALTER TABLE audit ADD COLUMN address TEXT NOT NULL DEFAULT '';
",
    "
-- Too many tool calls have failed; the user has not sent /reset since.
ALTER TABLE sessions ADD COLUMN locked INTEGER NOT NULL DEFAULT 0;
",
];

/// A database up to this size is checked before it is used, which takes about a second. A larger one is checked in the
/// background.
pub(super) const CHECKED_AT_START: u64 = 256 * 1024 * 1024;

/// The schema that this version writes.
pub(super) fn newest() -> i64 {
    i64::try_from(MIGRATIONS.len()).unwrap_or(i64::MAX)
}

/// Opens the database for writing and brings its tables up to date.
pub(super) fn open(path: &Path) -> Result<Connection, StoreError> {
    keep_private(path);
    let mut connection = Connection::open(path)?;
    // With NORMAL every commit survives `kill -9`. A power cut can lose the last commits; then
    // `invalidate_cursors_after_power_cut` makes clients load the history again. `secure_delete` overwrites deleted
    // data, because a user wanted it gone; deletes are rare.
    connection.execute_batch(
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA foreign_keys = ON;
         PRAGMA busy_timeout = 5000; PRAGMA journal_size_limit = 67108864; PRAGMA secure_delete = ON;",
    )?;
    if path.metadata().is_ok_and(|about| about.len() <= CHECKED_AT_START)
        && let Some(what) = damage::check(&connection)?
    {
        return Err(StoreError::Damaged { path: path.to_owned(), what });
    }
    migrate(&mut connection)?;
    invalidate_cursors_after_power_cut(&mut connection)?;
    Ok(connection)
}

/// Makes the file readable only by its owner, because conversations are private. SQLite gives its other files the same
/// permissions.
fn keep_private(path: &Path) {
    let made = OpenOptions::new().create(true).append(true).mode(0o600).open(path);
    let closed = made.and_then(|file| file.set_permissions(Permissions::from_mode(0o600)));
    if let Err(err) = closed {
        // Opening the database reports the actual problem.
        warn!(%err, "the database could not be made private");
    }
}

fn migrate(connection: &mut Connection) -> Result<(), StoreError> {
    let known = newest();
    let found: i64 = connection.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    if found > known {
        return Err(StoreError::TooNew { found, known });
    }
    let done = usize::try_from(found).unwrap_or(0);
    for (index, step) in MIGRATIONS.iter().enumerate().skip(done) {
        let change = connection.transaction()?;
        change.execute_batch(step)?;
        change.execute_batch(&format!("PRAGMA user_version = {}", index + 1))?;
        change.commit()?;
    }
    Ok(())
}

/// After a power cut the newest commits may be lost although clients have seen them. A new epoch for every session
/// makes cursors from before invalid.
fn invalidate_cursors_after_power_cut(connection: &mut Connection) -> Result<(), StoreError> {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let change = connection.transaction()?;
    let last: Option<String> = change
        .query_row("SELECT value FROM meta WHERE name = 'open_since_boot'", [], |row| row.get(0))
        .optional()?;
    // Empty: this system has no boot id, so every unclean shutdown counts as a power cut.
    if last.is_some_and(|last| last.is_empty() || last != boot) {
        let sessions = change.execute("UPDATE sessions SET epoch = random()", [])?;
        warn!(
            sessions,
            "the machine went down with the database open; clients will load their history again"
        );
    }
    change.execute("INSERT OR REPLACE INTO meta VALUES ('open_since_boot', ?1)", params![boot])?;
    change.commit()?;
    Ok(())
}

/// Records a clean shutdown: everything is committed, so every cursor stays valid.
pub(super) fn mark_closed(connection: &Connection) -> Result<(), rusqlite::Error> {
    connection.execute("DELETE FROM meta WHERE name = 'open_since_boot'", []).map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::{AgentSettings, AgentSlot, SessionSettings, WorkplaceChoice};

    #[test]
    fn settings_of_older_versions_keep_their_meaning() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("old.db");
        let old = Connection::open(&path).unwrap();
        for step in &MIGRATIONS[..5] {
            old.execute_batch(step).unwrap();
        }
        old.execute_batch("PRAGMA user_version = 5").unwrap();
        // As written by the last version that used these names.
        let rows = r#"{"CHAT_AI_NAME":"ollama:a","CHAT_GEMINI_MODEL":"odd\"CHAT_AI_NAME\":","CODE_AI3_MODEL":"large","CODE_AI3_NAME":"goose","CODE_AI3_PLACE":"shared","CODE_BASE_PATH":"/srv/other","LIVE_AI_NAME":"openai_live","LIVE_OPENAI_VOICE":"cedar"}"#;
        let session = "INSERT INTO sessions (id, principal, epoch, created_at, used_at, settings) VALUES ('a', 'local', 1, 1, 1, ?1)";
        old.execute(session, params![rows]).unwrap();
        drop(old);
        let new = open(&path).unwrap();
        let rows: String =
            new.query_row("SELECT settings FROM sessions", [], |row| row.get(0)).unwrap();
        let mut settings = SessionSettings::default();
        super::super::setting::read(&rows).into_iter().for_each(|change| settings.apply(change));
        let mut expected = SessionSettings {
            chat: "ollama:a".to_owned(),
            chat_models: [("gemini".to_owned(), r#"odd"CHAT_AI_NAME":"#.to_owned())].into(),
            live: "openai_live".to_owned(),
            live_voices: [("openai_live".to_owned(), "cedar".to_owned())].into(),
            project: Some("/srv/other".to_owned()),
            ..SessionSettings::default()
        };
        expected.agents[AgentSlot::ALL[2]] = AgentSettings {
            name: "goose".to_owned(),
            model: Some("large".to_owned()),
            workplace: WorkplaceChoice::Shared,
        };
        assert_eq!(settings, expected);
    }

    #[test]
    fn older_events_get_the_order_of_their_times_and_channels() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("old.db");
        let old = Connection::open(&path).unwrap();
        for step in &MIGRATIONS[..4] {
            old.execute_batch(step).unwrap();
        }
        old.execute_batch("PRAGMA user_version = 4").unwrap();
        let session = "INSERT INTO sessions (key, id, principal, epoch, created_at, used_at) VALUES (?1, ?1, 'local', 1, 1, 1)";
        for key in [1, 2] {
            old.execute(session, params![key]).unwrap();
        }
        // The clock was set back between the two events of channel 3 in session 1.
        for (key, channel, seq, at) in
            [(1, 3, 1, 20), (1, 3, 2, 5), (1, 4, 1, 10), (1, 4, 2, 30), (2, 3, 1, 1)]
        {
            let row = "INSERT INTO events VALUES (?1, ?2, ?3, ?4, 'run_line', '\"x\"', NULL)";
            old.execute(row, params![key, channel, seq, at]).unwrap();
        }
        drop(old);
        let new = open(&path).unwrap();
        let mut query =
            new.prepare("SELECT session, channel, seq FROM events ORDER BY session, ord").unwrap();
        let rows = query.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?))).unwrap();
        let rows: Vec<(i64, i64, i64)> = rows.map(Result::unwrap).collect();
        assert_eq!(rows, [(1, 4, 1), (1, 3, 1), (1, 3, 2), (1, 4, 2), (2, 3, 1)]);
    }

    #[test]
    fn older_decisions_keep_their_agent() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("old.db");
        let old = Connection::open(&path).unwrap();
        for step in &MIGRATIONS[..5] {
            old.execute_batch(step).unwrap();
        }
        old.execute_batch(
            "PRAGMA user_version = 5;
             INSERT INTO audit VALUES (NULL, 1, 'ws-1', 'local', 3, 1, 'Write', '', 1, 'user', '', '')",
        )
        .unwrap();
        drop(old);
        let new = open(&path).unwrap();
        let caller: String =
            new.query_row("SELECT caller FROM audit", [], |row| row.get(0)).unwrap();
        assert_eq!(caller, "agent3");
    }
}
