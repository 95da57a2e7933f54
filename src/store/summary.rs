//! Sessions as a list shows them: owner, last use and size.

use super::{SessionKey, StoreError};
use crate::message::{Principal, SessionId};
use rusqlite::{Connection, OptionalExtension, Row, params};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// One session in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionSummary {
    pub id: SessionId,
    pub principal: Principal,
    pub created: SystemTime,
    pub used: SystemTime,
    pub events: u64,
    /// Runs that are active, and runs that wait in a queue.
    pub running: u64,
    pub waiting: u64,
}

/// Which sessions a caller may see.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope<'a> {
    /// The user's own; all others are treated as unknown.
    Own(&'a Principal),
    /// The operator sees all sessions.
    Everybody,
}

impl<'a> Scope<'a> {
    /// The principal as an owned value, for a query on another thread; `of` turns it back.
    pub fn owned(self) -> Option<Principal> {
        match self {
            Self::Own(principal) => Some(principal.clone()),
            Self::Everybody => None,
        }
    }

    pub fn of(principal: &'a Option<Principal>) -> Self {
        principal.as_ref().map_or(Self::Everybody, Self::Own)
    }

    pub fn covers(&self, principal: &Principal) -> bool {
        match self {
            Self::Own(own) => *own == principal,
            Self::Everybody => true,
        }
    }

    fn principal(&self) -> Option<&str> {
        match self {
            Self::Own(principal) => Some(principal.as_str()),
            Self::Everybody => None,
        }
    }
}

/// A session's key, and the data that decides whether it may be deleted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    pub key: SessionKey,
    pub principal: Principal,
    pub used: SystemTime,
    pub has_work: bool,
}

/// Most recently used first.
pub(super) fn list(
    connection: &Connection,
    scope: Scope<'_>,
    most: usize,
) -> Result<Vec<SessionSummary>, StoreError> {
    let mut query = connection.prepare(
        "SELECT id, principal, created_at, used_at,
                (SELECT count(*) FROM events WHERE session = key),
                (SELECT count(*) FROM runs WHERE session = key AND state = 'running'),
                (SELECT count(*) FROM runs WHERE session = key AND state <> 'running')
         FROM sessions WHERE id LIKE 'ws-%' AND (?1 IS NULL OR principal = ?1)
         ORDER BY used_at DESC, key DESC LIMIT ?2",
    )?;
    let most = i64::try_from(most).unwrap_or(i64::MAX);
    let mut rows = query.query(params![scope.principal(), most])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.extend(read(row)?);
    }
    Ok(found)
}

/// `None`: there is no such session within this scope.
pub(super) fn find(
    connection: &Connection,
    scope: Scope<'_>,
    id: &SessionId,
) -> Result<Option<Found>, StoreError> {
    let mut query = connection.prepare_cached(
        "SELECT key, principal, used_at, EXISTS (SELECT 1 FROM runs WHERE session = key)
         FROM sessions WHERE id = ?1 AND (?2 IS NULL OR principal = ?2)",
    )?;
    let found = query.query_row(params![id.as_str(), scope.principal()], |row| {
        Ok(Found {
            key: SessionKey(row.get(0)?),
            principal: Principal::new(&row.get::<_, String>(1)?),
            used: time(row.get(2)?),
            has_work: row.get(3)?,
        })
    });
    Ok(found.optional()?)
}

/// Sessions that have no unfinished runs and were not used since then.
pub(super) fn unused_since(
    connection: &Connection,
    since: SystemTime,
) -> Result<Vec<SessionId>, StoreError> {
    let mut query = connection.prepare(
        "SELECT id FROM sessions
         WHERE used_at < ?1 AND key NOT IN (SELECT session FROM runs) ORDER BY used_at",
    )?;
    let rows = query.query_map(params![millis(since)], |row| row.get::<_, String>(0))?;
    let mut found = Vec::new();
    for row in rows {
        found.extend(SessionId::parse(&row?));
    }
    Ok(found)
}

/// `None` for a removed session: it keeps a row without a valid id until its last event is deleted.
fn read(row: &Row<'_>) -> Result<Option<SessionSummary>, StoreError> {
    let Some(id) = SessionId::parse(&row.get::<_, String>(0)?) else { return Ok(None) };
    let count = |column| row.get::<_, i64>(column).map(i64::cast_unsigned);
    Ok(Some(SessionSummary {
        id,
        principal: Principal::new(&row.get::<_, String>(1)?),
        created: time(row.get(2)?),
        used: time(row.get(3)?),
        events: count(4)?,
        running: count(5)?,
        waiting: count(6)?,
    }))
}

pub(super) fn time(millis: i64) -> SystemTime {
    UNIX_EPOCH + Duration::from_millis(u64::try_from(millis).unwrap_or(0))
}

fn millis(time: SystemTime) -> i64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
