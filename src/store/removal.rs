//! Deletes sessions. A session disappears in one step: its row loses its id and owner. Its events are deleted in
//! batches, so that a long history does not block the writer. After a crash the next sweep continues.

use super::SessionKey;
use rusqlite::{Connection, OptionalExtension, params};

/// Events that one job of the writer deletes, so that other writes do not wait long.
const BATCH_ROWS: i64 = 200;

/// After this nobody finds the session, and a new session may have its id.
pub(super) fn remove(
    connection: &mut Connection,
    key: SessionKey,
) -> Result<bool, rusqlite::Error> {
    let change = connection.transaction()?;
    let found = change.execute(
        "UPDATE sessions SET id = 'removed-' || key, principal = '', controls = '{}', settings = '{}' WHERE key = ?1",
        params![key.0],
    )?;
    change.execute("DELETE FROM runs WHERE session = ?1", params![key.0])?;
    change.execute("DELETE FROM requests WHERE session = ?1", params![key.0])?;
    change.execute("DELETE FROM conversations WHERE session = ?1", params![key.0])?;
    change.execute("DELETE FROM outside_ids WHERE session = ?1", params![key.0])?;
    change.commit()?;
    Ok(found > 0)
}

/// Deletes one batch of what removed sessions have left; false if nothing is left.
pub(super) fn purge(connection: &mut Connection) -> Result<bool, rusqlite::Error> {
    let change = connection.transaction()?;
    let key: Option<i64> = change
        .query_row(
            "SELECT key FROM sessions WHERE id >= 'removed-' AND id < 'removed.' LIMIT 1",
            [],
            |row| row.get(0),
        )
        .optional()?;
    let Some(key) = key else { return Ok(false) };
    let gone = change.execute(
        "DELETE FROM events WHERE session = ?1 AND (channel, seq) IN
         (SELECT channel, seq FROM events WHERE session = ?1 LIMIT ?2)",
        params![key, BATCH_ROWS],
    )?;
    if i64::try_from(gone).unwrap_or(BATCH_ROWS) < BATCH_ROWS {
        // The key is recorded, so that no later session gets it: code that still holds the key must find nothing.
        change.execute(
            "INSERT OR REPLACE INTO meta
             SELECT 'last_key', max(?1, coalesce((SELECT CAST(value AS INTEGER) FROM meta WHERE name = 'last_key'), 0))",
            params![key],
        )?;
        change.execute("DELETE FROM sessions WHERE key = ?1", params![key])?;
    }
    change.commit()?;
    Ok(true)
}

/// A key that no session has or ever had.
pub(super) fn fresh_key(connection: &Connection) -> Result<SessionKey, rusqlite::Error> {
    let key = connection.query_row(
        "SELECT 1 + max(coalesce((SELECT max(key) FROM sessions), 0),
                        coalesce((SELECT CAST(value AS INTEGER) FROM meta WHERE name = 'last_key'), 0))",
        [],
        |row| row.get(0),
    )?;
    Ok(SessionKey(key))
}

#[cfg(test)]
mod tests {
    use super::super::schema;
    use super::*;

    fn add(connection: &Connection, id: &str, events: i64) -> SessionKey {
        let key = fresh_key(connection).unwrap();
        let row = "INSERT INTO sessions (key, id, principal, epoch, created_at, used_at) VALUES (?1, ?2, 'local', 1, 1, 1)";
        connection.execute(row, params![key.0, id]).unwrap();
        for seq in 1..=events {
            let row = "INSERT INTO events VALUES (?1, ?2, ?3, 1, 'run_line', '\"x\"', NULL, ?3)";
            connection.execute(row, params![key.0, seq % 8, seq]).unwrap();
        }
        connection.execute("INSERT INTO requests VALUES (?1, 'a', 1)", params![key.0]).unwrap();
        connection
            .execute("INSERT INTO runs VALUES (?1, 1, 3, 'waiting', '{}')", params![key.0])
            .unwrap();
        let row = "INSERT INTO conversations VALUES (?1, 1, 'goose', X'2F', 'a')";
        connection.execute(row, params![key.0]).unwrap();
        key
    }

    fn count(connection: &Connection, table: &str) -> i64 {
        connection
            .query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get(0))
            .unwrap()
    }

    #[test]
    fn a_session_disappears_at_once_and_its_events_are_deleted_in_batches() {
        let dir = tempfile::tempdir().unwrap();
        let mut connection = schema::open(&dir.path().join("x.db")).unwrap();
        let kept = add(&connection, "ws-kept", 3);
        let gone = add(&connection, "ws-gone", BATCH_ROWS * 2 + 1);
        assert!(remove(&mut connection, gone).unwrap());
        let named = "SELECT count(*) FROM sessions WHERE id = 'ws-gone'";
        assert_eq!(connection.query_row(named, [], |row| row.get::<_, i64>(0)), Ok(0));
        // Runs, requests and conversations are deleted together with the id.
        let left = ["runs", "requests", "conversations"].map(|table| count(&connection, table));
        assert_eq!(left, [1, 1, 1]);
        let mut batches = 0;
        while purge(&mut connection).unwrap() {
            batches += 1;
        }
        assert_eq!(batches, 3);
        assert_eq!(["sessions", "events"].map(|table| count(&connection, table)), [1, 3]);
        assert!(!remove(&mut connection, gone).unwrap());
        // The highest key is unused again, but is not reused.
        assert_eq!(fresh_key(&connection).unwrap(), SessionKey(gone.0 + 1));
        assert!(remove(&mut connection, kept).unwrap());
        while purge(&mut connection).unwrap() {}
        assert_eq!(fresh_key(&connection).unwrap(), SessionKey(gone.0 + 1));
    }
}
