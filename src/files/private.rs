//! The operator's own files: settings with passwords, the TLS key. A project may happen to hold them, but they are no
//! part of it: they are neither listed nor backed up nor handed out, under whatever name.

use super::Files;
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Which file it is, whatever it is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Identity {
    device: u64,
    inode: u64,
}

impl Identity {
    pub(super) fn of(about: &Metadata) -> Self {
        Self { device: about.dev(), inode: about.ino() }
    }
}

/// Those that are there now; editors replace files, so this is asked anew every time.
pub(super) fn identities(paths: &[PathBuf]) -> Vec<Identity> {
    paths.iter().filter_map(|path| fs::metadata(path).ok()).map(|it| Identity::of(&it)).collect()
}

impl Files {
    pub(super) fn is_private(&self, about: &Metadata) -> bool {
        identities(&self.places.limits.private).contains(&Identity::of(about))
    }

    /// The same by the path below the project, for backups from the time before the file was the operator's.
    pub(super) fn has_private_name(&self, below: &Path) -> bool {
        let path = self.project().join(below);
        let is_it = |private: &PathBuf| {
            *private == path || private.canonicalize().is_ok_and(|real| real == path)
        };
        self.places.limits.private.iter().any(is_it)
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::LIMITS;
    use super::*;
    use crate::files::{ContentError, FileError, FileLimits};
    use crate::message::{ListKind, ListScope, Principal};
    use std::os::unix::fs::symlink;

    fn open(project: &Path, private: Vec<PathBuf>) -> Files {
        let limits = FileLimits { private, ..LIMITS };
        Files::new(project, &project.with_file_name("state"), limits).unwrap()
    }

    fn listed(files: &Files) -> Vec<String> {
        let list = files.list(ListKind::Backup, ListScope::Usual, &Principal::local()).unwrap();
        list.list.files.iter().map(|file| file.path.clone()).collect()
    }

    #[test]
    fn a_private_file_is_no_part_of_the_project_under_any_name() {
        let directory = tempfile::tempdir().unwrap();
        let project = directory.path().join("project");
        fs::create_dir_all(project.join("etc")).unwrap();
        let secret = project.join("etc/kakehashi.toml");
        fs::write(&secret, "hash").unwrap();
        fs::write(project.join("a.txt"), "a").unwrap();
        fs::hard_link(&secret, project.join("twin")).unwrap();
        symlink("etc/kakehashi.toml", project.join("link")).unwrap();
        // The operator may name it by a link from elsewhere.
        let named = directory.path().join("named.toml");
        symlink(&secret, &named).unwrap();
        let files = open(&project, vec![named]);
        assert_eq!(listed(&files), ["a.txt"]);
        for name in ["etc/kakehashi.toml", "twin", "link"] {
            let read = files.read(&Principal::local(), name);
            assert_eq!(read, Err(ContentError::NotFound), "{name}");
        }
        files.back_up(&files.survey().unwrap()).unwrap();
        assert_eq!(files.backups()[0].files, 1);
        // Another file under the same name is still the operator's.
        fs::remove_file(&secret).unwrap();
        fs::remove_file(project.join("twin")).unwrap();
        fs::write(&secret, "another").unwrap();
        assert_eq!(listed(&open(&project, vec![secret.clone()])), ["a.txt"]);
        assert_eq!(files.read(&Principal::local(), "twin"), Err(ContentError::NotFound));
    }

    #[test]
    fn older_backups_neither_show_it_nor_bring_it_back() {
        let directory = tempfile::tempdir().unwrap();
        let project = directory.path().join("project");
        fs::create_dir(&project).unwrap();
        let secret = project.join("kakehashi.toml");
        fs::write(&secret, "old").unwrap();
        let before = open(&project, Vec::new());
        before.back_up(&before.survey().unwrap()).unwrap();
        let moment = before.backups()[0].moment;
        fs::write(&secret, "newer").unwrap();
        let files = open(&project, vec![secret.canonicalize().unwrap()]);
        let shown = format!("backup/project/{}/{}.all/kakehashi.toml", moment.day(), moment.time());
        assert!(before.read(&Principal::local(), &shown).is_ok());
        assert_eq!(files.read(&Principal::local(), &shown), Err(ContentError::NotFound));
        let one = files.restore(moment, Some("kakehashi.toml"));
        assert_eq!(one, Err(FileError::NotInBackup));
        files.restore(moment, None).unwrap();
        assert_eq!(fs::read_to_string(&secret).unwrap(), "newer");
    }
}
