//! Tokens that each user's chats have used, by day.

use super::StoreError;
use crate::message::Principal;
use rusqlite::{Connection, OptionalExtension, params};

/// Days since 1970 in UTC, so the day begins at the same moment for everybody.
fn today() -> i64 {
    super::writer::now_millis() / 86_400_000
}

pub(super) fn today_of(connection: &Connection, principal: &Principal) -> Result<u64, StoreError> {
    let mut query =
        connection.prepare_cached("SELECT tokens FROM usage WHERE principal = ?1 AND day = ?2")?;
    let tokens: Option<i64> =
        query.query_row(params![principal.as_str(), today()], |row| row.get(0)).optional()?;
    Ok(tokens.unwrap_or(0).cast_unsigned())
}

pub(super) fn add(
    connection: &Connection,
    principal: &Principal,
    tokens: u64,
) -> Result<(), rusqlite::Error> {
    let tokens = i64::try_from(tokens).unwrap_or(i64::MAX);
    let mut insert = connection.prepare_cached(
        "INSERT INTO usage VALUES (?1, ?2, ?3) ON CONFLICT DO UPDATE SET tokens = tokens + excluded.tokens",
    )?;
    insert.execute(params![principal.as_str(), today(), tokens]).map(|_| ())
}
