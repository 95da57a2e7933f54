//! Lists of the project's files and of a user's recent ones, each from the catalog of its root.

use super::catalog::{Catalog, Head, Listed};
use super::rights;
use super::rules::Rules;
use super::tree::Root;
use super::{FileError, Files};
use crate::message::{ListKind, ListRoots, ListScope, Principal};
use std::io::{self, ErrorKind};
use std::sync::{Arc, MutexGuard, PoisonError};
use tokio::sync::watch;

/// What is listed.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Place {
    Project,
    Temp(Principal),
}

impl Place {
    fn of(kind: ListKind, principal: &Principal) -> Self {
        match kind {
            ListKind::Backup => Self::Project,
            ListKind::Temp => Self::Temp(principal.clone()),
        }
    }
}

impl Files {
    /// A list that is there already. Does not block; `None` means that the disk has to be asked.
    pub fn ready(&self, kind: ListKind, scope: ListScope, principal: &Principal) -> Option<Listed> {
        let place = Place::of(kind, principal);
        let catalog = Arc::clone(self.catalogs().get(&place)?);
        catalog.ready(&self.head(kind), scope)
    }

    /// The list as it is now. The first use of a root reads all of it, later ones what has changed.
    pub fn list(
        &self,
        kind: ListKind,
        scope: ListScope,
        principal: &Principal,
    ) -> Result<Listed, FileError> {
        let place = Place::of(kind, principal);
        let listed = self.catalog(&place).list(&self.head(kind), scope);
        listed.map_err(|err| lost(&place, err))
    }

    /// Counts changes, at least one for every change of the list; a list of recent files also changes with time.
    pub fn watch(&self, kind: ListKind, principal: &Principal) -> watch::Receiver<u64> {
        self.catalog(&Place::of(kind, principal)).index.subscribe()
    }

    /// True: [`Files::forget_unused`] would do something.
    pub fn has_unused(&self) -> bool {
        self.catalogs().values().any(|catalog| catalog.is_unused())
    }

    /// Gives up indexes, and the watches that belong to them, that nobody has used for a while.
    pub fn forget_unused(&self) {
        let mut unused = Vec::new();
        self.catalogs().retain(|_, catalog| {
            let keep = !catalog.is_unused();
            if !keep {
                unused.push(Arc::clone(catalog));
            }
            keep
        });
        // A large index takes a moment to go, and nobody should wait for the map meanwhile.
        drop(unused);
    }

    pub(super) fn catalog(&self, place: &Place) -> Arc<Catalog> {
        let make = || Arc::new(self.open_catalog(place));
        Arc::clone(self.catalogs().entry(place.clone()).or_insert_with(make))
    }

    /// Tells the index of a user's files, if there is one, what we have done ourselves.
    pub(super) fn note_temp(&self, principal: &Principal, path: &std::path::Path) {
        let catalog = self.catalogs().get(&Place::Temp(principal.clone())).cloned();
        if let Some(catalog) = catalog {
            catalog.index.note(path);
        }
    }

    /// The same, whoever's it is.
    pub(super) fn note_in_temp(&self, path: &std::path::Path) {
        let is_around = |place: &Place| match place {
            Place::Project => false,
            Place::Temp(principal) => path.starts_with(self.temp(principal)),
        };
        let catalogs: Vec<_> =
            self.catalogs().iter().map(|(at, it)| (at.clone(), it.clone())).collect();
        for (_, catalog) in catalogs.iter().filter(|(place, _)| is_around(place)) {
            catalog.index.note(path);
        }
    }

    fn open_catalog(&self, place: &Place) -> Catalog {
        match place {
            Place::Project => {
                let private = self.places.limits.private.clone();
                let rules = Rules::Project { data: self.data().to_owned(), private };
                let catalog = Catalog::new(Root { path: self.project().to_owned(), rules }, "");
                // Clients may have this list from an earlier process.
                if let Some(last) = self.places.backups.last() {
                    catalog.remember(Some(last.shown), last.count, last.digest);
                }
                catalog
            }
            Place::Temp(principal) => {
                let path = self.temp(principal);
                // Nothing can be watched that is not there; where it cannot be made, the survey says why.
                let _ = rights::make_directory(&path);
                Catalog::new(Root { path, rules: Rules::Temp }, "temp/")
            }
        }
    }

    fn head(&self, kind: ListKind) -> Head {
        match kind {
            ListKind::Backup => {
                let project = self.project().to_string_lossy().into_owned();
                let base = || self.places.backups.base().to_string_lossy().into_owned();
                let (newest, backup) = match self.places.backups.last() {
                    Some(last) => (Some(last.shown), last.path),
                    None => (None, base()),
                };
                Head { roots: ListRoots::Backup { project, backup }, newest }
            }
            ListKind::Temp => Head { roots: ListRoots::Temp, newest: None },
        }
    }

    fn catalogs(&self) -> MutexGuard<'_, std::collections::HashMap<Place, Arc<Catalog>>> {
        self.places.catalogs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(super) fn lost(place: &Place, err: io::Error) -> FileError {
    match (place, err.kind()) {
        (Place::Project, ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            FileError::ProjectMissing
        }
        (Place::Project | Place::Temp(_), _) => err.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::Fixture;
    use super::*;
    use crate::message::FileList;
    use std::ffi::OsStr;
    use std::fs::{self, File};
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::symlink;
    use std::time::{Duration, Instant, SystemTime};

    #[test]
    fn project_lists_sources_and_nothing_generated() {
        let fixture = Fixture::new();
        for path in
            ["src/b.rs", "src/a.rs", ".env", "src/.eslintrc", "catalog.md", "builder/x", "logs.txt"]
        {
            fixture.add(path, "x");
        }
        for path in [".github/workflows/ci.yml", ".vscode/launch.json", ".gitlab/x"] {
            fixture.add(path, "x");
        }
        for path in
            [".git/HEAD", "node_modules/a/b.js", "src/target/x", "x/.venv/y", "logs/a", ".DS_Store"]
        {
            fixture.add(path, "x");
        }
        check(
            &fixture,
            &[
                ".env",
                ".github/workflows/ci.yml",
                ".gitlab/x",
                ".vscode/launch.json",
                "builder/x",
                "catalog.md",
                "logs.txt",
                "src/.eslintrc",
                "src/a.rs",
                "src/b.rs",
            ],
        );
    }

    #[test]
    fn gitignore_counts_without_a_repository() {
        let fixture = Fixture::new();
        fixture.add(".gitignore", "*.log\n/secret/\n");
        fixture.add("a.log", "x");
        fixture.add("secret/key", "x");
        fixture.add("sub/.gitignore", "!keep.log\n");
        fixture.add("sub/keep.log", "x");
        check(&fixture, &[".gitignore", "sub/.gitignore", "sub/keep.log"]);
    }

    #[test]
    fn nothing_of_git_is_listed_however_it_is_written() {
        let fixture = Fixture::new();
        for path in [".git/config", "sub/.GIT/config", "linked/.git", "x.git/file", ".gitignore"] {
            fixture.add(path, "");
        }
        check(&fixture, &[".gitignore", "x.git/file"]);
    }

    #[test]
    fn links_are_not_followed_and_odd_names_are_shown() {
        let fixture = Fixture::new();
        symlink("/etc", fixture.project().join("etc")).unwrap();
        symlink("/etc/hostname", fixture.project().join("host")).unwrap();
        symlink(".", fixture.project().join("loop")).unwrap();
        fs::write(fixture.project().join(OsStr::from_bytes(b"a\xff")), "x").unwrap();
        check(&fixture, &["a\u{fffd}"]);
    }

    #[test]
    fn project_may_have_a_generated_name_and_hold_the_data() {
        let directory = tempfile::tempdir().unwrap();
        let project = directory.path().join("build");
        fs::create_dir(&project).unwrap();
        fs::write(project.join("a"), "x").unwrap();
        let limits = super::super::fixture::LIMITS;
        let files = Files::new(&project, &project.join("state"), limits).unwrap();
        fs::write(project.join("state/secret"), "x").unwrap();
        let list =
            files.list(ListKind::Backup, ListScope::Usual, &Principal::local()).unwrap().list;
        assert_eq!(paths(&list), ["a"]);
        let project = project.canonicalize().unwrap();
        let expected = ListRoots::Backup {
            project: project.to_str().unwrap().to_owned(),
            backup: project.join("state/backup/build").to_str().unwrap().to_owned(),
        };
        assert_eq!((&list.roots, &list.newest), (&expected, &None));
    }

    #[test]
    fn missing_project_is_told() {
        let fixture = Fixture::new();
        fs::remove_dir(fixture.project()).unwrap();
        let refused = fixture.files.list(ListKind::Backup, ListScope::Usual, &Principal::local());
        assert_eq!(refused, Err(FileError::ProjectMissing));
    }

    #[test]
    fn recent_files_are_one_users_of_the_last_hour() {
        let fixture = Fixture::new();
        let (ann, bob) = (Principal::new("ann"), Principal::new("bob"));
        let recent = || fixture.files.list(ListKind::Temp, ListScope::Usual, &ann).unwrap().list;
        assert_eq!(*recent(), FileList { roots: ListRoots::Temp, newest: None, files: Vec::new() });
        let new = fixture.files.save_upload(&ann, "new", b"x").unwrap();
        let old = fixture.files.save_upload(&ann, "old", b"x").unwrap();
        fixture.files.save_upload(&bob, "other", b"x").unwrap();
        let output = fixture.files.temp(&ann).join("output/deep");
        fs::create_dir_all(&output).unwrap();
        fs::write(output.join("made.png"), "x").unwrap();
        fs::write(fixture.files.temp(&ann).join("input/.1.part"), "x").unwrap();
        let hour_ago = SystemTime::now() - Duration::from_secs(3_601);
        File::options().write(true).open(&old.absolute).unwrap().set_modified(hour_ago).unwrap();
        let new = new.note.path.unwrap();
        eventually(|| paths(&recent()) == [&new, "temp/output/deep/made.png"]);
        let list = recent();
        let newest = list.files.iter().map(|file| &*file.modified).max();
        assert_eq!(list.newest.as_deref(), newest);
        let all = fixture.files.list(ListKind::Temp, ListScope::All, &ann).unwrap().list;
        assert_eq!(all.files.len(), 3);
    }

    #[test]
    fn an_unchanged_list_is_the_same_and_costs_nothing() {
        let fixture = Fixture::new();
        fixture.add("a", "x");
        let local = Principal::local();
        let usual = ListScope::Usual;
        assert_eq!(fixture.files.ready(ListKind::Backup, usual, &local), None);
        let first = fixture.files.list(ListKind::Backup, usual, &local).unwrap();
        let again = fixture.files.ready(ListKind::Backup, usual, &local).unwrap();
        assert!(Arc::ptr_eq(&first.list, &again.list));
        fixture.add("b", "x");
        eventually(|| {
            let listed = fixture.files.list(ListKind::Backup, usual, &local).unwrap();
            paths(&listed.list) == ["a", "b"]
        });
    }

    #[test]
    fn a_list_that_looks_like_another_says_so() {
        let fixture = Fixture::new();
        fixture.add("a", "x");
        let local = Principal::local();
        let list = || fixture.files.list(ListKind::Backup, ListScope::Usual, &local).unwrap();
        assert!(list().unique);
        fs::rename(fixture.project().join("a"), fixture.project().join("b")).unwrap();
        eventually(|| paths(&list().list) == ["b"]);
        assert!(!list().unique);
        fixture.add("c", "x");
        eventually(|| list().list.files.len() == 2);
        assert!(list().unique);
    }

    #[test]
    fn a_list_of_recent_files_gets_shorter_by_itself() {
        let fixture = Fixture::new();
        let local = Principal::local();
        let list = || fixture.files.list(ListKind::Temp, ListScope::Usual, &local).unwrap().list;
        let saved = fixture.files.save_upload(&local, "a", b"x").unwrap();
        let soon = SystemTime::now() - Duration::from_millis(3_599_500);
        File::options().write(true).open(saved.absolute).unwrap().set_modified(soon).unwrap();
        assert_eq!(list().files.len(), 1);
        eventually(|| list().files.is_empty());
        assert_eq!(list().newest, None);
    }

    #[test]
    fn an_unused_catalog_is_kept_while_somebody_waits() {
        let fixture = Fixture::new();
        let waiting = fixture.files.watch(ListKind::Backup, &Principal::local());
        fixture.files.catalog(&Place::Project).grow_old();
        assert!(!fixture.files.has_unused());
        drop(waiting);
        assert!(fixture.files.has_unused());
        fixture.files.forget_unused();
        assert!(fixture.files.catalogs().is_empty());
    }

    #[track_caller]
    fn eventually(mut condition: impl FnMut() -> bool) {
        let end = Instant::now() + Duration::from_secs(10);
        while !condition() {
            assert!(Instant::now() < end, "it never came true");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    #[track_caller]
    fn check(fixture: &Fixture, expected: &[&str]) {
        let local = Principal::local();
        let list = fixture.files.list(ListKind::Backup, ListScope::Usual, &local).unwrap().list;
        assert_eq!(paths(&list), expected);
    }

    fn paths(list: &FileList) -> Vec<&str> {
        list.files.iter().map(|file| file.path.as_str()).collect()
    }
}
