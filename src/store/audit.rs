//! The audit log of decisions about tool calls. Entries outlive their session, but lose the inputs of the calls, so
//! that it stays readable who approved what. Old entries are deleted by age.

use super::{SessionKey, StoreError};
use crate::message::{AuditEntry, Confirmed, WarningLevel};
use rusqlite::{Connection, params};

/// One decision, as shown to the operator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditRow {
    /// Milliseconds since 1970.
    pub at: i64,
    pub session: String,
    pub principal: String,
    /// The caller's name; see [`crate::message::Caller::name`].
    pub caller: String,
    pub run: u64,
    pub tool: String,
    pub input: String,
    pub approved: bool,
    pub by: String,
    pub reason: String,
    /// The tool's own name; empty if its caller does not tell it.
    pub name: String,
    /// See [`WarningLevel::name`]; empty if nobody has judged the call.
    pub level: String,
    /// Where the user was; empty if that is not known.
    pub address: String,
}

pub(super) fn write(
    connection: &Connection,
    key: SessionKey,
    entry: &AuditEntry,
    now: i64,
) -> Result<(), rusqlite::Error> {
    let mut insert = connection.prepare_cached(
        "INSERT INTO audit (at, session, principal, caller, run, tool, input, approved, decided_by, reason, call, name,
         level, address)
         SELECT ?2, id, principal, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13 FROM sessions WHERE key = ?1",
    )?;
    let approved = entry.confirmed == Confirmed::Approved;
    insert.execute(params![
        key.0,
        now,
        entry.caller.name(),
        entry.run.0.cast_signed(),
        entry.tool,
        entry.input,
        approved,
        entry.by.name(),
        entry.reason,
        entry.call,
        entry.name.as_deref().unwrap_or_default(),
        entry.level.map_or("", WarningLevel::name),
        entry.address.map_or_else(String::new, |address| address.to_string()),
    ])?;
    Ok(())
}

/// Rows that one job of the writer deletes or blanks, so that other writes do not wait long.
const BATCH_ROWS: i64 = 200;

/// Deletes one batch of older entries; false if there are none left.
pub(super) fn prune(connection: &Connection, before: i64) -> Result<bool, rusqlite::Error> {
    let gone = connection.execute(
        "DELETE FROM audit WHERE key IN (SELECT key FROM audit WHERE at < ?1 LIMIT ?2)",
        params![before, BATCH_ROWS],
    )?;
    Ok(gone > 0)
}

/// Blanks the inputs of one batch of a session's entries; false if there are none left.
pub(super) fn blank_inputs(
    connection: &Connection,
    key: SessionKey,
) -> Result<bool, rusqlite::Error> {
    let blanked = connection.execute(
        "UPDATE audit SET input = '' WHERE key IN
         (SELECT key FROM audit WHERE session = (SELECT id FROM sessions WHERE key = ?1) AND input <> '' LIMIT ?2)",
        params![key.0, BATCH_ROWS],
    )?;
    Ok(blanked > 0)
}

/// Newest first.
pub(super) fn newest(connection: &Connection, most: usize) -> Result<Vec<AuditRow>, StoreError> {
    let mut query = connection.prepare(
        "SELECT at, session, principal, caller, run, tool, input, approved, decided_by, reason, name,
                level, address
         FROM audit ORDER BY key DESC LIMIT ?1",
    )?;
    let rows = query.query_map(params![i64::try_from(most).unwrap_or(i64::MAX)], |row| {
        Ok(AuditRow {
            at: row.get(0)?,
            session: row.get(1)?,
            principal: row.get(2)?,
            caller: row.get(3)?,
            run: row.get::<_, i64>(4)?.cast_unsigned(),
            tool: row.get(5)?,
            input: row.get(6)?,
            approved: row.get(7)?,
            by: row.get(8)?,
            reason: row.get(9)?,
            name: row.get(10)?,
            level: row.get(11)?,
            address: row.get(12)?,
        })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

#[cfg(test)]
mod tests {
    use super::super::schema;
    use super::*;

    fn add(connection: &Connection, session: &str, at: i64) {
        let row = "INSERT INTO audit VALUES (NULL, ?1, ?2, 'local', 1, 'Write', 'secret', 1, 'user', '', '', 'agent1', '', '', '')";
        connection.execute(row, params![at, session]).unwrap();
    }

    fn inputs(connection: &Connection) -> Vec<(String, String)> {
        let rows = newest(connection, 2000).unwrap().into_iter();
        rows.map(|row| (row.session, row.input)).collect()
    }

    #[test]
    fn entries_lose_their_inputs_with_their_session_and_are_deleted_by_age() {
        let dir = tempfile::tempdir().unwrap();
        let connection = schema::open(&dir.path().join("x.db")).unwrap();
        let row = "INSERT INTO sessions (key, id, principal, epoch, created_at, used_at) VALUES (7, 'ws-gone', 'local', 1, 1, 1)";
        connection.execute(row, []).unwrap();
        for at in 0..=BATCH_ROWS {
            add(&connection, "ws-gone", at);
            add(&connection, "ws-kept", at);
        }
        let mut batches = 0;
        while blank_inputs(&connection, SessionKey(7)).unwrap() {
            batches += 1;
        }
        assert_eq!(batches, 2);
        let left = inputs(&connection);
        assert_eq!(left.len(), 2 * (usize::try_from(BATCH_ROWS).unwrap() + 1));
        assert!(left.iter().all(|(id, input)| input.is_empty() == (id == "ws-gone")), "{left:?}");
        while prune(&connection, BATCH_ROWS).unwrap() {}
        assert_eq!(inputs(&connection).len(), 2);
    }

    #[test]
    fn every_query_of_audit_and_questions_uses_an_index() {
        let dir = tempfile::tempdir().unwrap();
        let connection = schema::open(&dir.path().join("x.db")).unwrap();
        for (query, index) in [
            (super::super::reader::LAST_QUESTION, "questions"),
            (super::super::reader::LAST_RESULTS, "results"),
            (super::super::open_call::DECISIONS, "audit_by_age"),
            ("SELECT key FROM audit WHERE at < ?1 LIMIT 9", "audit_by_age"),
            ("SELECT key FROM audit WHERE session = ?1 AND input <> '' LIMIT 9", "audit_inputs"),
        ] {
            let plan = format!("EXPLAIN QUERY PLAN {query}");
            let mut plan = connection.prepare(&plan).unwrap();
            let told: String = plan.raw_query().next().unwrap().unwrap().get(3).unwrap();
            assert!(told.contains(&format!("INDEX {index} ")), "{query}: {told}");
        }
    }
}
