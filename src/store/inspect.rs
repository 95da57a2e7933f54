//! Reads a database that may be in use, without creating or changing any file beside it.

use super::{StoreError, damage, schema};
use rusqlite::{Connection, OpenFlags};
use std::fmt::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// What was found in a database.
#[derive(Debug, PartialEq, Eq)]
pub struct Inspection {
    pub schema: i64,
    /// The newest schema that this version can read.
    pub known: i64,
    pub sessions: i64,
    pub kib: u64,
    /// SQLite's message if the database is damaged.
    pub damage: Option<String>,
}

/// Read-only. Rows that are still in the WAL of a running or killed gateway are counted.
pub fn inspect(path: &Path) -> Result<Inspection, StoreError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
    let connection = Connection::open_with_flags(address(path), flags)?;
    let kib = path.metadata().map_or(0, |about| about.len() / 1024);
    let mut found =
        Inspection { schema: 0, known: schema::newest(), sessions: 0, kib, damage: None };
    // A damaged database may answer anything, so nothing else is read.
    found.damage = damage::check(&connection)?;
    if found.damage.is_none() {
        found.schema = connection.query_row("PRAGMA user_version", [], |row| row.get(0))?;
        found.sessions = if found.schema == 0 { 0 } else { count(&connection)? };
    }
    Ok(found)
}

/// Without a WAL the file is opened as immutable, so that SQLite creates none. With a WAL the existing files are used.
fn address(path: &Path) -> String {
    let has_wal = has_file_beside(path, "-wal") && has_file_beside(path, "-shm");
    uri(path, if has_wal { "readonly_shm=1" } else { "immutable=1" })
}

/// For longer reads: like `address`, but takes part in SQLite's locking if there is a WAL.
pub(super) fn shared_address(path: &Path) -> String {
    uri(path, if has_file_beside(path, "-wal") { "cache=private" } else { "immutable=1" })
}

fn has_file_beside(path: &Path, suffix: &str) -> bool {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    Path::new(&name).metadata().is_ok_and(|about| about.len() > 0)
}

fn uri(path: &Path, parameters: &str) -> String {
    let mut address = "file:".to_owned();
    for byte in path.as_os_str().as_bytes() {
        // A path may contain any byte; a URI may not.
        let _ = match byte {
            b'/' | b'.' | b'-' | b'_' | b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' => {
                write!(address, "{}", char::from(*byte))
            }
            _ => write!(address, "%{byte:02X}"),
        };
    }
    address + "?mode=ro&" + parameters
}

fn count(connection: &Connection) -> Result<i64, StoreError> {
    Ok(connection.query_row("SELECT count(*) FROM sessions", [], |row| row.get(0))?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn files(dir: &Path) -> BTreeMap<std::ffi::OsString, Vec<u8>> {
        let entries = std::fs::read_dir(dir).unwrap().map(Result::unwrap);
        entries.map(|entry| (entry.file_name(), std::fs::read(entry.path()).unwrap())).collect()
    }

    #[track_caller]
    fn check_inspection(path: &Path, sessions: i64) {
        let before = files(path.parent().unwrap());
        let found = inspect(path).unwrap();
        assert_eq!((found.schema, found.sessions, found.damage), (found.known, sessions, None));
        assert!(files(path.parent().unwrap()) == before, "files beside {} changed", path.display());
    }

    fn add(connection: &Connection, id: &str) {
        let row = "INSERT INTO sessions (id, principal, epoch, created_at, used_at) VALUES (?1, 'local', 1, 1, 1)";
        connection.execute(row, [id]).unwrap();
    }

    #[test]
    fn an_inspection_leaves_no_trace() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a ?#%\u{3042}.db");
        let connection = schema::open(&path).unwrap();
        add(&connection, "a");
        // Open: the rows are still in the WAL. SQLite behaves differently within one process, so the files beside an
        // open database are compared in the tests of the command.
        assert_eq!(inspect(&path).unwrap().sessions, 1);
        // Killed: a copy of the files as they are, which no process has open.
        let left = tempfile::tempdir().unwrap();
        for (name, bytes) in files(dir.path()) {
            std::fs::write(left.path().join(name), bytes).unwrap();
        }
        check_inspection(&left.path().join(path.file_name().unwrap()), 1);
        // Closed: there is no WAL.
        drop(connection);
        check_inspection(&path, 1);
    }

    #[test]
    fn a_newer_schema_is_reported() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("new.db");
        let connection = schema::open(&path).unwrap();
        connection.execute_batch("PRAGMA user_version = 99").unwrap();
        drop(connection);
        assert_eq!(inspect(&path).unwrap().schema, 99);
    }
}
