//! The agents' own ids of their conversations with a session. A later process resumes a conversation by this id.

use super::{SessionKey, StoreError};
use crate::message::AgentSlot;
use rusqlite::{Connection, params};
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

/// One conversation. A slot has one per agent and directory, because agents keep their conversations by directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conversation {
    pub slot: AgentSlot,
    /// The agent's name in the configuration.
    pub agent: String,
    pub directory: PathBuf,
    /// The agent's own id for the conversation.
    pub name: String,
}

/// Replaces the conversation of the same slot, agent and directory.
pub(super) fn write(
    connection: &Connection,
    key: SessionKey,
    conversation: &Conversation,
) -> Result<(), rusqlite::Error> {
    // Rows of earlier versions may end with a slash.
    let directory: PathBuf = conversation.directory.components().collect();
    let mut outdated = directory.as_os_str().as_bytes().to_vec();
    outdated.push(b'/');
    connection
        .prepare_cached(
            "DELETE FROM conversations WHERE session = ?1 AND slot = ?2 AND agent = ?3 AND directory = ?4",
        )?
        .execute(params![key.0, conversation.slot.number(), conversation.agent, outdated])?;
    let mut insert = connection
        .prepare_cached("INSERT OR REPLACE INTO conversations VALUES (?1, ?2, ?3, ?4, ?5)")?;
    insert.execute(params![
        key.0,
        conversation.slot.number(),
        conversation.agent,
        directory.as_os_str().as_bytes(),
        conversation.name
    ])?;
    Ok(())
}

pub(super) fn all(
    connection: &Connection,
    key: SessionKey,
) -> Result<Vec<Conversation>, StoreError> {
    let mut query = connection.prepare_cached(
        "SELECT slot, agent, directory, name FROM conversations WHERE session = ?1",
    )?;
    let rows = query.query_map(params![key.0], |row| {
        let directory = OsString::from_vec(row.get(2)?);
        let directory: PathBuf = PathBuf::from(directory).components().collect();
        Ok((row.get(0)?, row.get(1)?, directory, row.get(3)?))
    })?;
    let mut found = Vec::new();
    for row in rows {
        let (number, agent, directory, name) = row?;
        found.extend(AgentSlot::new(number).map(|slot| Conversation {
            slot,
            agent,
            directory,
            name,
        }));
    }
    Ok(found)
}
