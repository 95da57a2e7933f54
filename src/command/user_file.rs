//! The file that holds the users: they are changed in it, and everything else stays as it is.

use super::user::UserCommandError;
use crate::config::{self, User};
use std::fs::{self, DirBuilder, File, Metadata, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use toml_edit::{Array, ArrayOfTables, DocumentMut, Item};
use tracing::debug;

/// A change that can be taken back; until this is dropped others wait.
#[derive(Debug)]
pub(super) struct Edit {
    path: PathBuf,
    /// `None`: there was no file.
    before: Option<String>,
    _turn: File,
}

impl Edit {
    pub(super) fn undo(self) -> io::Result<()> {
        match &self.before {
            Some(text) => replace(&self.path, text),
            None => fs::remove_file(&self.path),
        }
    }
}

/// The file is replaced as a whole, so that no moment shows half of it, and by one of us at a time.
pub(super) fn edit(
    path: &Path,
    change: impl FnOnce(&[User], &mut ArrayOfTables) -> Result<(), UserCommandError>,
) -> Result<Edit, UserCommandError> {
    let failed = |reason: String| UserCommandError::File { path: path.to_owned(), reason };
    // A link stays one: what it points to is replaced.
    let path = &path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let turn = take_turn(path).map_err(|err| failed(err.to_string()))?;
    let known = config::users(path)?;
    let before = match fs::read_to_string(path) {
        Ok(text) => Some(text),
        Err(err) if err.kind() == ErrorKind::NotFound => None,
        Err(err) => return Err(failed(err.to_string())),
    };
    let text = before.as_deref().unwrap_or_default();
    let mut remark = None;
    let mut document: DocumentMut = text.parse().map_err(|err| failed(format!("{err}")))?;
    let mut users = match document.remove_entry("users") {
        None => ArrayOfTables::new(),
        // As the file that comes with the gateway has it, whose comment goes with the first user.
        Some((key, item)) if item.as_array().is_some_and(Array::is_empty) => {
            remark = key.leaf_decor().prefix().cloned();
            ArrayOfTables::new()
        }
        // Also a list in one line.
        Some((_, item)) => {
            item.into_array_of_tables().map_err(|_| failed("`users` is no list".into()))?
        }
    };
    change(&known, &mut users)?;
    if let (Some(remark), Some(first)) = (remark, users.get_mut(0)) {
        let text = remark.as_str().unwrap_or_default();
        first.decor_mut().set_prefix(format!("\n{}", text.trim_start_matches('\n')));
    }
    if !users.is_empty() {
        document.insert("users", Item::ArrayOfTables(users));
    }
    replace(path, &document.to_string()).map_err(|err| failed(err.to_string()))?;
    Ok(Edit { path: path.clone(), before, _turn: turn })
}

/// Hashes are nobody else's business, so a new file is private; an old one keeps its rights.
fn replace(path: &Path, text: &str) -> io::Result<()> {
    // A name that nobody can have put there before us.
    let fresh = path.with_extension(format!("{:016x}.new", getrandom::u64().unwrap_or_default()));
    let mut options = OpenOptions::new();
    let mut file = options.write(true).create_new(true).mode(0o600).open(&fresh)?;
    let written =
        fill(&mut file, text, fs::metadata(path).ok()).and_then(|()| fs::rename(&fresh, path));
    if written.is_err() {
        // Half a file is of no use to anybody.
        let _ = fs::remove_file(&fresh);
    }
    written
}

fn fill(file: &mut File, text: &str, old: Option<Metadata>) -> io::Result<()> {
    if let Some(old) = old {
        file.set_permissions(fs::Permissions::from_mode(old.permissions().mode() & 0o777))?;
        // An administrator who edits somebody's file leaves it theirs.
        if let Err(err) = std::os::unix::fs::fchown(&*file, Some(old.uid()), Some(old.gid())) {
            debug!(%err, "the file belongs to whoever changed it");
        }
    }
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

/// Others wait until it is dropped.
fn take_turn(path: &Path) -> io::Result<File> {
    let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
    DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
    let turn = File::open(dir)?;
    turn.lock()?;
    Ok(turn)
}

#[cfg(test)]
mod tests {
    use super::super::user::{is, row, set};
    use super::*;

    #[track_caller]
    fn check(before: &str, change: impl FnOnce(&mut ArrayOfTables), after: &str) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("deep/kakehashi.toml");
        if !before.is_empty() {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, before).unwrap();
        }
        edit(&path, |_, users| {
            change(users);
            Ok(())
        })
        .unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), after);
    }

    #[test]
    fn the_rest_of_the_file_stays_as_it_is() {
        const HASH: &str = "$argon2id$v=19$m=8,t=1,p=1$c29tZXNhbHQ$RdescudvJCsgt3ub+b+dWA";
        let user = |name: &str| format!("[[users]]\nname = \"{name}\"\npassword = \"{HASH}\"\n");
        let add = |users: &mut ArrayOfTables| users.push(row("ann", HASH));
        let ann = user("ann");
        check("", add, &ann);
        let before = "# mine\nlisten = \"127.0.0.1:1\" # here\n\n[limits]\nsockets = 5\n";
        check(before, add, &format!("{before}\n{ann}"));
        let shipped = "a = 1\n# Who may come in.\nusers = []\n\n[limits]\n"
            .replace("a = 1", "language = \"en\"");
        check(
            &shipped,
            add,
            &format!("language = \"en\"\n\n[limits]\n\n# Who may come in.\n{ann}"),
        );
        let both = format!("{ann}\n{}", user("bob"));
        check(&both, |users| users.retain(|user| !is(user, "ann")), &format!("\n{}", user("bob")));
        check(&ann, |users| users.clear(), "");
        let noted = ann.replace("\"\n", "\" # kept\n");
        let other = "$argon2id$v=19$m=8,t=1,p=1$c29tZXNhbHQ$AAAAAAAAAAAAAAAAAAAAAA";
        let changed = noted.replace(HASH, other);
        check(&noted, |users| users.iter_mut().for_each(|user| set(user, other)), &changed);
    }

    #[test]
    fn what_is_undone_was_never_there() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("kakehashi.toml");
        let add = || {
            let ann = |_: &[User], users: &mut ArrayOfTables| {
                users.push(row("ann", "x"));
                Ok(())
            };
            edit(&path, ann).unwrap()
        };
        add().undo().unwrap();
        assert!(!path.exists());
        fs::write(&path, "# mine\n").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        add().undo().unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "# mine\n");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
    }

    #[test]
    fn a_name_that_lies_in_wait_is_not_written_through() {
        let dir = tempfile::tempdir().unwrap();
        let (path, victim) = (dir.path().join("kakehashi.toml"), dir.path().join("victim"));
        fs::write(&victim, "mine").unwrap();
        std::os::unix::fs::symlink(&victim, dir.path().join("kakehashi.toml.new")).unwrap();
        replace(&path, "new").unwrap();
        assert_eq!(fs::read_to_string(&victim).unwrap(), "mine");
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
    }

    #[test]
    fn a_new_file_is_private_and_an_old_one_keeps_its_rights() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("kakehashi.toml");
        let mode = || fs::metadata(&path).unwrap().permissions().mode() & 0o777;
        replace(&path, "").unwrap();
        assert_eq!(mode(), 0o600);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        replace(&path, "").unwrap();
        assert_eq!(mode(), 0o640);
    }
}
