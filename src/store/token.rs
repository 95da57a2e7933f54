//! Stored logins. Only digests of their secrets are stored.

use super::StoreError;
use crate::message::Principal;
use rusqlite::{Connection, params};

/// One login.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenRow {
    pub digest: [u8; 32],
    pub principal: Principal,
    /// Digest of the credential that the user logged in with; after a change of the password it no longer matches.
    pub credential: [u8; 32],
    /// Milliseconds since 1970, like `expires_at`.
    pub created_at: i64,
    pub expires_at: i64,
}

pub(super) fn all(connection: &Connection) -> Result<Vec<TokenRow>, StoreError> {
    let mut query = connection
        .prepare_cached("SELECT digest, principal, created_at, expires_at, shown FROM tokens")?;
    let rows = query.query_map([], |row| {
        let principal: String = row.get(1)?;
        Ok(TokenRow {
            digest: row.get(0)?,
            principal: Principal::new(&principal),
            created_at: row.get(2)?,
            expires_at: row.get(3)?,
            credential: row.get(4)?,
        })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

pub(super) fn keep(connection: &Connection, token: &TokenRow) -> Result<(), rusqlite::Error> {
    let mut insert =
        connection.prepare_cached("INSERT OR REPLACE INTO tokens VALUES (?1, ?2, ?3, ?4, ?5)")?;
    let TokenRow { digest, principal, credential, created_at, expires_at } = token;
    insert
        .execute(params![digest, principal.as_str(), credential, created_at, expires_at])
        .map(|_| ())
}

pub(super) fn forget(
    connection: &mut Connection,
    digests: &[[u8; 32]],
) -> Result<(), rusqlite::Error> {
    let change = connection.transaction()?;
    for digest in digests {
        change.prepare_cached("DELETE FROM tokens WHERE digest = ?1")?.execute(params![digest])?;
    }
    change.commit()
}
