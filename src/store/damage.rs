//! Detects a damaged database: by a check at the start, and by the errors of every query. Damage is final until the
//! gateway restarts with an intact database, because reads cannot be trusted and writes may be lost.

use rusqlite::{Connection, ErrorCode, OptionalExtension};
use std::path::Path;
use std::sync::Arc;
use tokio::sync::watch;
use tracing::error;

/// The damage that was found, shared by everything that uses the database.
#[derive(Debug, Clone, Default)]
pub(super) struct Damage(Arc<watch::Sender<Option<String>>>);

impl Damage {
    /// Whether this error means damage; if so, it is reported to everybody who watches.
    pub(super) fn report_if_damage(&self, err: &rusqlite::Error) -> bool {
        let is_damage = is_damage(err);
        if is_damage {
            self.report(err.to_string());
        }
        is_damage
    }

    pub(super) fn report(&self, what: String) {
        self.0.send_if_modified(|known| {
            let news = known.is_none();
            if news {
                error!(what, "the database is damaged; see `kakehashi doctor`");
                *known = Some(what);
            }
            news
        });
    }

    pub(super) fn watch(&self) -> watch::Receiver<Option<String>> {
        self.0.subscribe()
    }
}

pub(super) fn is_damage(err: &rusqlite::Error) -> bool {
    let code = err.sqlite_error_code();
    matches!(code, Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase))
}

/// Reads every page; `None`: the database is intact.
pub(super) fn check(connection: &Connection) -> Result<Option<String>, rusqlite::Error> {
    let found: Result<Option<String>, _> =
        connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0)).optional();
    match found {
        Ok(found) => Ok(found.filter(|found| found != "ok").map(|found| found.replace('\n', " "))),
        Err(err) if is_damage(&err) => Ok(Some(err.to_string())),
        Err(err) => Err(err),
    }
}

/// Instructions for the operator, with commands to paste into a shell.
pub fn repair_instructions(path: &Path) -> String {
    let quoted = |path: &Path| format!("'{}'", path.display().to_string().replace('\'', "'\\''"));
    let directory = path.parent().unwrap_or(path);
    let aside = directory.join("damaged");
    let moved = path.file_name().map_or_else(|| aside.clone(), |name| aside.join(name));
    let (file, aside, moved) = (quoted(path), quoted(&aside), quoted(&moved));
    format!(
        "stop the gateway and restore a copy of the database, or begin without its history: \
         `mkdir {aside} && mv {file}* {aside}/`; after that \
         `sqlite3 {moved} .recover | sqlite3 {file}` recovers what can still be read"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_corruption_counts_as_damage_and_the_first_is_kept() {
        let damage = Damage::default();
        let of = |code| rusqlite::Error::SqliteFailure(rusqlite::ffi::Error::new(code), None);
        for code in
            [rusqlite::ffi::SQLITE_FULL, rusqlite::ffi::SQLITE_BUSY, rusqlite::ffi::SQLITE_IOERR]
        {
            assert!(!damage.report_if_damage(&of(code)));
        }
        assert_eq!(*damage.watch().borrow(), None);
        assert!(damage.report_if_damage(&of(rusqlite::ffi::SQLITE_CORRUPT)));
        assert!(damage.report_if_damage(&of(rusqlite::ffi::SQLITE_NOTADB)));
        assert!(damage.watch().borrow().as_ref().unwrap().contains("malformed"));
    }

    #[test]
    fn the_repair_commands_move_the_file_and_its_log_aside() {
        let dir = tempfile::tempdir().unwrap();
        let data = dir.path().join("it's data");
        std::fs::create_dir(&data).unwrap();
        for name in ["kakehashi.db", "kakehashi.db-wal", "other"] {
            std::fs::write(data.join(name), name).unwrap();
        }
        let text = repair_instructions(&data.join("kakehashi.db"));
        let command = text.split('`').nth(1).unwrap();
        let done = std::process::Command::new("sh").args(["-c", command]).status().unwrap();
        assert!(done.success(), "{command}");
        assert!(!data.join("kakehashi.db").exists() && data.join("other").exists());
        assert!(data.join("damaged/kakehashi.db-wal").exists());
    }
}
