//! Finds the user's own files that a session's events mention. They are exported and deleted with the session.

use super::{SessionKey, StoreError};
use rusqlite::{Connection, ToSql, params};
use serde::Deserialize;
use std::collections::BTreeSet;

/// Prefix of uploads and results in the paths that users see.
const USER_FILES: &str = "temp/";

#[derive(Deserialize)]
struct Body {
    path: Option<String>,
    #[serde(default)]
    files: Vec<String>,
}

/// Calls `tell` for each of the user's own files that this event mentions.
pub(super) fn paths(kind: &str, body: &str, mut tell: impl FnMut(&str)) {
    if !matches!(kind, "user_file" | "file_made" | "user_text" | "user_request") {
        return;
    }
    let Ok(body) = serde_json::from_str::<Body>(body) else { return };
    let own = body.path.iter().chain(&body.files).filter(|path| path.starts_with(USER_FILES));
    own.for_each(|path| tell(path));
}

/// Existing files that this session mentions and no other session of its user does.
pub(super) fn only_in_session(
    connection: &Connection,
    key: SessionKey,
    mut is_there: impl FnMut(&str) -> bool,
) -> Result<BTreeSet<String>, StoreError> {
    let mut found = BTreeSet::new();
    each(connection, "session = ?1", params![key.0], |path| {
        if !found.contains(path) && is_there(path) {
            found.insert(path.to_owned());
        }
    })?;
    if !found.is_empty() {
        let others = "session IN (SELECT other.key FROM sessions AS other, sessions AS own
                      WHERE own.key = ?1 AND other.key <> ?1 AND other.principal = own.principal)";
        each(connection, others, params![key.0], |path| {
            found.remove(path);
        })?;
    }
    Ok(found)
}

fn each(
    connection: &Connection,
    sessions: &str,
    values: &[&dyn ToSql],
    mut tell: impl FnMut(&str),
) -> Result<(), StoreError> {
    // SQLite filters out nearly all rows, so that a long history costs little.
    let mut query = connection.prepare(&format!(
        "SELECT kind, body FROM events WHERE {sessions} AND body LIKE '%\"{USER_FILES}%'
         AND kind IN ('user_file', 'file_made', 'user_text', 'user_request')"
    ))?;
    let mut rows = query.query(values)?;
    while let Some(row) = rows.next()? {
        let (kind, body): (String, String) = (row.get(0)?, row.get(1)?);
        paths(&kind, &body, &mut tell);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::schema;
    use super::*;

    fn mentioned(kind: &str, body: &str) -> Vec<String> {
        let mut found = Vec::new();
        paths(kind, body, |path| found.push(path.to_owned()));
        found
    }

    #[test]
    fn only_a_users_own_files_count() {
        let file = r#"{"name":"a","path":"temp/input/a"}"#;
        assert_eq!(mentioned("user_file", file), ["temp/input/a"]);
        assert_eq!(mentioned("run_line", file), [""; 0]);
        assert_eq!(mentioned("file_made", r#"{"name":"a","path":"src/a.rs"}"#), [""; 0]);
        let said = r#"{"text":"see temp/input/b","files":["temp/input/a","/etc/passwd"]}"#;
        assert_eq!(mentioned("user_text", said), ["temp/input/a"]);
        assert_eq!(mentioned("user_file", "torn"), [""; 0]);
    }

    #[test]
    fn a_file_that_another_session_mentions_too_is_not_listed() {
        let dir = tempfile::tempdir().unwrap();
        let connection = schema::open(&dir.path().join("x.db")).unwrap();
        for (key, owner) in [(1, "ann"), (2, "ann"), (3, "bob")] {
            let row = "INSERT INTO sessions (key, id, principal, epoch, created_at, used_at) VALUES (?1, ?1, ?2, 1, 1, 1)";
            connection.execute(row, params![key, owner]).unwrap();
        }
        let rows = [(1, "a"), (1, "b"), (1, "gone"), (2, "b"), (3, "a")];
        for (seq, (key, name)) in (1..).zip(rows) {
            let body = format!(r#"{{"name":"x","path":"temp/input/{name}"}}"#);
            let row = "INSERT INTO events VALUES (?1, 3, ?2, 1, 'user_file', ?3, NULL, ?2)";
            connection.execute(row, params![key, seq, body]).unwrap();
        }
        let found =
            only_in_session(&connection, SessionKey(1), |path| !path.ends_with("gone")).unwrap();
        // Bob's file of that name is another file.
        assert_eq!(Vec::from_iter(found), ["temp/input/a"]);
    }
}
