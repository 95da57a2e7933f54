//! Ids by which clients of a dialect know sessions: (principal, dialect, id) leads to a session of that principal.

use super::{SessionKey, StoreError, writer};
use crate::message::{Epoch, OutsideId, Principal, SessionId};
use rusqlite::{Connection, OptionalExtension, params};

/// The result of claiming an outside id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Claimed {
    /// The id already leads to this session.
    Known(SessionId),
    /// A session was created for the id.
    Made,
    /// The principal has too many outside ids.
    Full,
}

/// The principal's session of this id. The principal is part of the key, so an id never leads to a session of another
/// principal.
pub(super) fn find(
    connection: &Connection,
    principal: &Principal,
    outside: &OutsideId,
) -> Result<Option<SessionId>, StoreError> {
    Ok(known(connection, principal, outside)?)
}

fn known(
    connection: &Connection,
    principal: &Principal,
    outside: &OutsideId,
) -> Result<Option<SessionId>, rusqlite::Error> {
    let mut query = connection.prepare_cached(
        "SELECT sessions.id FROM outside_ids JOIN sessions ON key = session
         WHERE outside_ids.principal = ?1 AND dialect = ?2 AND outside_ids.id = ?3
               AND sessions.principal = ?1",
    )?;
    let id = query
        .query_row(params![principal.as_str(), outside.dialect(), outside.as_str()], |row| {
            row.get::<_, String>(0)
        });
    Ok(id.optional()?.as_deref().and_then(SessionId::parse))
}

/// Creates the session `fresh` for an outside id that leads to no session yet, in one transaction.
pub(super) fn claim(
    connection: &mut Connection,
    principal: &Principal,
    outside: &OutsideId,
    fresh: (&SessionId, Epoch),
    most: usize,
) -> Result<Claimed, rusqlite::Error> {
    let change = connection.transaction()?;
    if let Some(id) = known(&change, principal, outside)? {
        return Ok(Claimed::Known(id));
    }
    let count: i64 = change.query_row(
        "SELECT count(*) FROM outside_ids WHERE principal = ?1",
        params![principal.as_str()],
        |row| row.get(0),
    )?;
    if usize::try_from(count).is_ok_and(|count| count >= most) {
        return Ok(Claimed::Full);
    }
    let key = writer::create(&change, fresh.0, principal, fresh.1)?;
    change.execute(
        "INSERT OR REPLACE INTO outside_ids VALUES (?1, ?2, ?3, ?4)",
        params![principal.as_str(), outside.dialect(), outside.as_str(), key.0],
    )?;
    change.commit()?;
    Ok(Claimed::Made)
}

/// All outside ids of a session, as dialect and id. A database of an older gateway may lack the table.
pub(super) fn of_session(
    connection: &Connection,
    key: SessionKey,
) -> Result<Vec<(String, String)>, rusqlite::Error> {
    let table = "SELECT EXISTS (SELECT 1 FROM sqlite_master WHERE name = 'outside_ids')";
    if !connection.query_row(table, [], |row| row.get::<_, bool>(0))? {
        return Ok(Vec::new());
    }
    let mut query = connection
        .prepare("SELECT dialect, id FROM outside_ids WHERE session = ?1 ORDER BY dialect, id")?;
    let rows = query.query_map(params![key.0], |row| Ok((row.get(0)?, row.get(1)?)))?;
    rows.collect()
}

#[cfg(test)]
mod tests {
    use super::super::{removal, schema};
    use super::*;

    #[test]
    fn an_outside_id_leads_to_one_session_of_its_principal() {
        let dir = tempfile::tempdir().unwrap();
        let mut connection = schema::open(&dir.path().join("x.db")).unwrap();
        let (ann, bob) = (Principal::new("ann"), Principal::new("bob"));
        let board = OutsideId::new("api", "board").unwrap();
        let session = |number: u128| SessionId::from_random(number);
        let mut claim = |who: &Principal, outside: &OutsideId, number: u128| {
            let fresh = (&session(number), Epoch(1));
            super::claim(&mut connection, who, outside, fresh, 2).unwrap()
        };
        assert_eq!(claim(&ann, &board, 1), Claimed::Made);
        assert_eq!(claim(&ann, &board, 2), Claimed::Known(session(1)));
        // Another principal and another dialect have their own.
        assert_eq!(claim(&bob, &board, 3), Claimed::Made);
        assert_eq!(claim(&ann, &OutsideId::new("coach", "board").unwrap(), 4), Claimed::Made);
        assert_eq!(claim(&ann, &OutsideId::new("api", "other").unwrap(), 5), Claimed::Full);
        assert_eq!(claim(&ann, &board, 6), Claimed::Known(session(1)));
        let key: i64 = connection
            .query_row("SELECT key FROM sessions WHERE id = ?1", [session(1).as_str()], |row| {
                row.get(0)
            })
            .unwrap();
        let listed = of_session(&connection, SessionKey(key)).unwrap();
        assert_eq!(listed, [("api".to_owned(), "board".to_owned())]);
        // The id is deleted with its session.
        removal::remove(&mut connection, SessionKey(key)).unwrap();
        assert_eq!(find(&connection, &ann, &board).unwrap(), None);
        assert_eq!(of_session(&connection, SessionKey(key)).unwrap(), []);
        assert_eq!(find(&connection, &bob, &board).unwrap(), Some(session(3)));
    }
}
