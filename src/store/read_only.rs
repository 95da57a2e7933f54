//! Read-only access for commands that run beside the gateway, whether or not a gateway has the database open.

use super::audit::{self, AuditRow};
use super::summary::{Scope, SessionSummary};
use super::{Exported, StoreError, export, inspect, schema, summary};
use crate::message::{Principal, SessionId};
use rusqlite::{Connection, OpenFlags};
use std::io::Write;
use std::path::Path;

#[derive(Debug)]
pub struct ReadOnlyStore {
    /// `None`: there is no database yet, or it is empty.
    connection: Option<Connection>,
}

impl ReadOnlyStore {
    /// If no gateway is running, the caller must hold the lock on the data directory, so that none starts meanwhile.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        if !path.exists() {
            return Ok(Self { connection: None });
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
        let connection = Connection::open_with_flags(inspect::shared_address(path), flags)?;
        connection.execute_batch("PRAGMA busy_timeout = 5000;")?;
        let known = schema::newest();
        match connection.query_row("PRAGMA user_version", [], |row| row.get::<_, i64>(0))? {
            0 => Ok(Self { connection: None }),
            found if found > known => Err(StoreError::TooNew { found, known }),
            _ => Ok(Self { connection: Some(connection) }),
        }
    }

    /// Most recently used first.
    pub fn list(&self) -> Result<Vec<SessionSummary>, StoreError> {
        let Some(connection) = &self.connection else { return Ok(Vec::new()) };
        summary::list(connection, Scope::Everybody, usize::MAX)
    }

    /// The newest decisions about tool calls, newest first.
    pub fn audit(&self, most: usize) -> Result<Vec<AuditRow>, StoreError> {
        let Some(connection) = &self.connection else { return Ok(Vec::new()) };
        audit::newest(connection, most)
    }

    /// See [`super::Store::export`].
    pub fn export(
        &self,
        id: &SessionId,
        lines: &mut impl Write,
        mentioned: &mut dyn FnMut(&Principal, &str),
    ) -> Result<Option<Exported>, StoreError> {
        let Some(connection) = &self.connection else { return Ok(None) };
        export::export(connection, Scope::Everybody, id, lines, mentioned)
    }
}
