//! What a restore finds where it wants to write. Only what is nothing, or is held by a backup, may be replaced.

use crate::files::tree::{Stamp, Tree};
use cap_std::fs::{Dir, Metadata};
use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// The project on disk, and what backups hold of it.
pub(super) struct Ground<'a> {
    pub(super) project: &'a Dir,
    pub(super) kept: &'a Tree,
}

/// What stands at a path.
#[derive(Debug, PartialEq, Eq)]
enum Standing {
    Nothing,
    File(Stamp),
    Directory,
    /// A link, a pipe or the like: no backup can hold it.
    Other,
    /// Something that is no directory, at a path above.
    Below(PathBuf),
}

impl Ground<'_> {
    /// Whether there is a file, and a backup holds just this one.
    pub(super) fn is_kept(&self, path: &Path) -> bool {
        match stands(self.project, path) {
            Standing::File(stamp) => self.kept.get(path) == Some(stamp),
            Standing::Nothing | Standing::Directory | Standing::Other | Standing::Below(_) => false,
        }
    }

    /// Whether something would be lost for good if a file was put there after those that are `leaving` have gone.
    pub(super) fn is_blocked(&self, path: &Path, leaving: &BTreeSet<PathBuf>) -> bool {
        match stands(self.project, path) {
            Standing::Nothing => false,
            Standing::File(stamp) => self.kept.get(path) != Some(stamp),
            Standing::Directory => self.has_more(path, leaving),
            Standing::Below(above) => !leaving.contains(&above),
            Standing::Other => true,
        }
    }

    fn has_more(&self, directory: &Path, leaving: &BTreeSet<PathBuf>) -> bool {
        let Ok(mut entries) = self.project.read_dir(directory) else { return true };
        entries.any(|entry| {
            let Ok(entry) = entry else { return true };
            let path = directory.join(entry.file_name());
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => self.has_more(&path, leaving),
                Ok(_) | Err(_) => !leaving.contains(&path),
            }
        })
    }
}

/// A file that a backup could hold.
pub(super) fn is_file(project: &Dir, path: &Path) -> bool {
    matches!(stands(project, path), Standing::File(_))
}

/// Links are not followed: behind them are other files than those of this path.
fn stands(project: &Dir, path: &Path) -> Standing {
    let mut above: Vec<&Path> = path.ancestors().skip(1).collect();
    above.retain(|part| !part.as_os_str().is_empty());
    for part in above.into_iter().rev() {
        match project.symlink_metadata(part) {
            Ok(about) if about.is_dir() => {}
            Err(err) if err.kind() == ErrorKind::NotFound => return Standing::Nothing,
            Ok(_) | Err(_) => return Standing::Below(part.to_owned()),
        }
    }
    match project.symlink_metadata(path) {
        Ok(about) if about.is_dir() => Standing::Directory,
        Ok(about) if about.is_file() => stamp(&about).map_or(Standing::Other, Standing::File),
        Err(err) if err.kind() == ErrorKind::NotFound => Standing::Nothing,
        Ok(_) | Err(_) => Standing::Other,
    }
}

fn stamp(about: &Metadata) -> Option<Stamp> {
    Some(Stamp { modified: about.modified().ok()?.into_std(), size: about.len() })
}

#[cfg(test)]
mod tests {
    use crate::files::FileError;
    use crate::files::fixture::{Fixture, without_rights};
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    #[test]
    fn a_file_that_was_never_copied_is_not_removed() {
        without_rights(|| {
            let fixture = Fixture::new();
            fixture.add("a", "1");
            let first = fixture.back_up().unwrap();
            fixture.add("locked", "precious");
            let locked = fixture.project().join("locked");
            fs::set_permissions(&locked, fs::Permissions::from_mode(0o000)).unwrap();
            fixture.add("new", "1");
            let restored = fixture.files.restore(first, None).unwrap();
            assert_eq!(restored.removed, ["new"]);
            fs::set_permissions(&locked, fs::Permissions::from_mode(0o600)).unwrap();
            assert_eq!(fixture.read("locked").as_deref(), Some("precious"));
        });
    }

    #[test]
    fn a_file_that_cannot_be_copied_is_not_overwritten() {
        without_rights(|| {
            let fixture = Fixture::new();
            fixture.add("a", "1");
            fixture.add("b", "1");
            let first = fixture.back_up().unwrap();
            fixture.add("a", "precious");
            fixture.add("b", "22");
            let locked = fixture.project().join("a");
            fs::set_permissions(&locked, fs::Permissions::from_mode(0o000)).unwrap();
            for path in [None, Some("a")] {
                let refused = fixture.files.restore(first, path);
                assert_eq!(refused, Err(FileError::InTheWay { path: "a".to_owned() }));
            }
            assert_eq!(fixture.read("b").as_deref(), Some("22"));
            fs::set_permissions(&locked, fs::Permissions::from_mode(0o600)).unwrap();
            assert_eq!(fixture.read("a").as_deref(), Some("precious"));
        });
    }

    #[test]
    fn what_is_ignored_by_now_is_kept_before_it_is_overwritten() {
        for path in [None, Some(".env")] {
            let fixture = Fixture::new();
            fixture.add(".env", "old");
            fixture.add(".gitignore", "*.log\n");
            let first = fixture.back_up().unwrap();
            fixture.add(".gitignore", ".env\n");
            fixture.back_up().unwrap();
            fixture.add(".env", "precious");
            fixture.files.restore(first, path).unwrap();
            assert_eq!(fixture.read(".env").as_deref(), Some("old"));
            let before = *fixture.moments().last().unwrap();
            fixture.files.restore(before, Some(".env")).unwrap();
            assert_eq!(fixture.read(".env").as_deref(), Some("precious"));
        }
    }

    #[test]
    fn links_and_full_directories_are_in_the_way() {
        let fixture = Fixture::new();
        fixture.add("link", "1");
        fixture.add("sub/deep", "1");
        fixture.add("full", "1");
        fixture.add("z", "1");
        let first = fixture.back_up().unwrap();
        for name in ["link", "full"] {
            fs::remove_file(fixture.project().join(name)).unwrap();
        }
        fs::remove_dir_all(fixture.project().join("sub")).unwrap();
        fixture.add("z", "22");
        fixture.add("elsewhere/deep", "precious");
        fixture.add("full/node_modules/x", "precious");
        symlink("z", fixture.project().join("link")).unwrap();
        symlink("elsewhere", fixture.project().join("sub")).unwrap();
        for path in ["link", "sub/deep", "full"] {
            let refused = fixture.files.restore(first, Some(path));
            assert_eq!(refused, Err(FileError::InTheWay { path: path.to_owned() }));
        }
        assert!(matches!(fixture.files.restore(first, None), Err(FileError::InTheWay { .. })));
        assert_eq!(fixture.read("z").as_deref(), Some("22"));
        assert_eq!(fixture.read("elsewhere/deep").as_deref(), Some("precious"));
        assert_eq!(fixture.read("full/node_modules/x").as_deref(), Some("precious"));
        assert!(fixture.project().join("link").is_symlink());
    }

    #[test]
    fn directories_without_files_are_in_nobodys_way() {
        for path in [None, Some("full")] {
            let fixture = Fixture::new();
            fixture.add("full", "1");
            let first = fixture.back_up().unwrap();
            fs::remove_file(fixture.project().join("full")).unwrap();
            fs::create_dir_all(fixture.project().join("full/empty/deep")).unwrap();
            if path.is_none() {
                fixture.add("full/new/file", "1");
            }
            fixture.files.restore(first, path).unwrap();
            assert_eq!(fixture.read("full").as_deref(), Some("1"));
        }
    }
}
