//! Decisions about tool calls. They stay when their session goes: who let what happen must remain readable.

use super::{SessionKey, StoreError};
use crate::message::{AuditEntry, Confirmed};
use rusqlite::{Connection, params};

/// One decision, as the operator reads it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditRow {
    /// Milliseconds since 1970.
    pub at: i64,
    pub session: String,
    pub principal: String,
    pub agent: u8,
    pub run: u64,
    pub tool: String,
    pub input: String,
    pub approved: bool,
    pub by: String,
    pub reason: String,
}

pub(super) fn write(
    connection: &Connection,
    key: SessionKey,
    entry: &AuditEntry,
    now: i64,
) -> Result<(), rusqlite::Error> {
    let mut insert = connection.prepare_cached(
        "INSERT INTO audit (at, session, principal, agent, run, tool, input, approved, decided_by, reason)
         SELECT ?2, id, principal, ?3, ?4, ?5, ?6, ?7, ?8, ?9 FROM sessions WHERE key = ?1",
    )?;
    let approved = entry.confirmed == Confirmed::Approved;
    insert.execute(params![
        key.0,
        now,
        entry.agent.number(),
        entry.run.0.cast_signed(),
        entry.tool,
        entry.input,
        approved,
        entry.by.name(),
        entry.reason
    ])?;
    Ok(())
}

/// The newest first.
pub(super) fn newest(connection: &Connection, most: usize) -> Result<Vec<AuditRow>, StoreError> {
    let mut query = connection.prepare(
        "SELECT at, session, principal, agent, run, tool, input, approved, decided_by, reason
         FROM audit ORDER BY key DESC LIMIT ?1",
    )?;
    let rows = query.query_map(params![i64::try_from(most).unwrap_or(i64::MAX)], |row| {
        Ok(AuditRow {
            at: row.get(0)?,
            session: row.get(1)?,
            principal: row.get(2)?,
            agent: row.get(3)?,
            run: row.get::<_, i64>(4)?.cast_unsigned(),
            tool: row.get(5)?,
            input: row.get(6)?,
            approved: row.get(7)?,
            by: row.get(8)?,
            reason: row.get(9)?,
        })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}
