//! Lists of the project's files and of a user's recent ones.

use super::{FileError, Files, clock};
use crate::message::{FileList, ListKind, ListRoots, ListedFile, Principal};
use ignore::{DirEntry, WalkBuilder};
use std::path::{Component, Path};
use std::time::{Duration, SystemTime};

/// Older uploads and results are no longer news.
const RECENT: Duration = Duration::from_secs(3_600);
/// Made by tools or by the gateway; compared with whole names, never with parts of them. Directories that begin
/// with a dot are left out too.
const GENERATED: [&str; 10] = [
    "__pycache__",
    "venv",
    "node_modules",
    "dist",
    "build",
    "target",
    "backup",
    "temp",
    "logs",
    "_data",
];
const DESKTOP_FILES: [&str; 2] = [".DS_Store", "Thumbs.db"];

impl Files {
    pub fn list(&self, kind: ListKind, principal: &Principal) -> Result<FileList, FileError> {
        match kind {
            ListKind::Backup => self.list_project(),
            ListKind::Temp => Ok(self.list_recent(principal)),
        }
    }

    fn list_project(&self) -> Result<FileList, FileError> {
        if !self.project().is_dir() {
            return Err(FileError::ProjectMissing);
        }
        let name =
            self.project().file_name().map_or("project".into(), |name| name.to_string_lossy());
        let backup = self.data().join("backup").join(name.as_ref());
        let roots = ListRoots::Backup {
            project: self.project().to_string_lossy().into_owned(),
            backup: backup.to_string_lossy().into_owned(),
        };
        let found = project_walk(self.project(), self.data())
            .build()
            .filter_map(|entry| found_file(&entry.ok()?, self.project(), ""));
        Ok(FileList { roots, newest: None, files: shown(found) })
    }

    fn list_recent(&self, principal: &Principal) -> FileList {
        let root = self.temp(principal);
        let oldest = SystemTime::now().checked_sub(RECENT).unwrap_or(SystemTime::UNIX_EPOCH);
        let mut walk = WalkBuilder::new(&root);
        // Hidden files are uploads that are not complete yet.
        walk.standard_filters(false).hidden(true);
        let entries = walk.build().filter_map(|entry| found_file(&entry.ok()?, &root, "temp/"));
        let found: Vec<Found> = entries.filter(|file| file.modified >= oldest).collect();
        let newest = found.iter().map(|file| file.modified).max().map(clock::shown);
        FileList { roots: ListRoots::Temp, newest, files: shown(found) }
    }
}

struct Found {
    path: String,
    modified: SystemTime,
}

/// Only the project's own `.gitignore` files count, with or without a repository around it.
fn project_walk(project: &Path, data: &Path) -> WalkBuilder {
    let data = data.to_owned();
    let mut walk = WalkBuilder::new(project);
    walk.standard_filters(false)
        .git_ignore(true)
        .require_git(false)
        .follow_links(false)
        .filter_entry(move |entry| {
            entry.depth() == 0 || (is_wanted(entry) && entry.path() != data)
        });
    walk
}

fn is_wanted(entry: &DirEntry) -> bool {
    let name = entry.file_name().to_string_lossy();
    if entry.file_type().is_some_and(|kind| kind.is_dir()) {
        !name.starts_with('.') && !GENERATED.contains(&name.as_ref())
    } else {
        !DESKTOP_FILES.contains(&name.as_ref())
    }
}

/// `None` for what is no regular file, or gone since its directory was read.
fn found_file(entry: &DirEntry, root: &Path, prefix: &str) -> Option<Found> {
    if !entry.file_type()?.is_file() {
        return None;
    }
    let modified = entry.metadata().ok()?.modified().ok()?;
    let below = with_slashes(entry.path().strip_prefix(root).ok()?);
    Some(Found { path: format!("{prefix}{below}"), modified })
}

fn shown(found: impl IntoIterator<Item = Found>) -> Vec<ListedFile> {
    let listed =
        |file: Found| ListedFile { path: file.path, modified: clock::shown(file.modified) };
    let mut files: Vec<ListedFile> = found.into_iter().map(listed).collect();
    files.sort_unstable_by(|a, b| a.path.cmp(&b.path));
    files
}

fn with_slashes(path: &Path) -> String {
    let names =
        path.components().map(|component: Component<'_>| component.as_os_str().to_string_lossy());
    names.collect::<Vec<_>>().join("/")
}

#[cfg(test)]
mod tests {
    use super::super::fixture::Fixture;
    use super::*;
    use std::ffi::OsStr;
    use std::fs::{self, File};
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::symlink;

    #[test]
    fn project_lists_sources_and_nothing_generated() {
        let fixture = Fixture::new();
        for path in
            ["src/b.rs", "src/a.rs", ".env", "src/.eslintrc", "catalog.md", "builder/x", "logs.txt"]
        {
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
        let limits = crate::files::FileLimits { max_pixels: 1 };
        let files = Files::new(&project, &project.join("state"), limits).unwrap();
        fs::write(project.join("state/secret"), "x").unwrap();
        let list = files.list(ListKind::Backup, &Principal::local()).unwrap();
        assert_eq!(paths(&list), ["a"]);
        let project = project.canonicalize().unwrap();
        let expected = ListRoots::Backup {
            project: project.to_str().unwrap().to_owned(),
            backup: project.join("state/backup/build").to_str().unwrap().to_owned(),
        };
        assert_eq!((list.roots, list.newest), (expected, None));
    }

    #[test]
    fn missing_project_is_told() {
        let fixture = Fixture::new();
        fs::remove_dir(fixture.project()).unwrap();
        let refused = fixture.files.list(ListKind::Backup, &Principal::local());
        assert_eq!(refused, Err(FileError::ProjectMissing));
    }

    #[test]
    fn recent_files_are_one_users_of_the_last_hour() {
        let fixture = Fixture::new();
        let (ann, bob) = (Principal::new("ann"), Principal::new("bob"));
        let empty = fixture.files.list(ListKind::Temp, &ann).unwrap();
        assert_eq!(empty, FileList { roots: ListRoots::Temp, newest: None, files: Vec::new() });
        let new = fixture.files.save_upload(&ann, "new", b"x").unwrap();
        let old = fixture.files.save_upload(&ann, "old", b"x").unwrap();
        fixture.files.save_upload(&bob, "other", b"x").unwrap();
        let output = fixture.files.temp(&ann).join("output/deep");
        fs::create_dir_all(&output).unwrap();
        fs::write(output.join("made.png"), "x").unwrap();
        fs::write(fixture.files.temp(&ann).join("input/.1.part"), "x").unwrap();
        let hour_ago = SystemTime::now() - Duration::from_secs(3_601);
        File::options().write(true).open(&old.absolute).unwrap().set_modified(hour_ago).unwrap();
        let list = fixture.files.list(ListKind::Temp, &ann).unwrap();
        assert_eq!(paths(&list), [&new.note.path.unwrap(), "temp/output/deep/made.png"]);
        assert_eq!(list.newest.as_ref(), list.files.iter().map(|file| &file.modified).max());
    }

    #[track_caller]
    fn check(fixture: &Fixture, expected: &[&str]) {
        let list = fixture.files.list(ListKind::Backup, &Principal::local()).unwrap();
        assert_eq!(paths(&list), expected);
    }

    fn paths(list: &FileList) -> Vec<&str> {
        list.files.iter().map(|file| file.path.as_str()).collect()
    }
}
