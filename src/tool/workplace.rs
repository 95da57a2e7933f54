//! Reads and writes files in a workplace. A path is resolved to one without links and checked. Then its directories are
//! opened one by one without following links, so that the checked path is the one that is used. All of this is
//! blocking.

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use rustix::fs::{Mode, OFlags, fstat, mkdirat, openat};
use rustix::io::Errno;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

/// Larger files are not read.
const LARGEST_FILE: u64 = 4 * 1024 * 1024;

#[derive(Debug, Clone)]
pub struct Workplace {
    root: PathBuf,
    private: Vec<PathBuf>,
}

#[derive(Debug, thiserror::Error)]
pub enum WorkplaceError {
    #[error("{path} leads outside the workplace; only paths within it can be used")]
    Outside { path: String },
    #[error("{path} belongs to git; use git itself")]
    Git { path: String },
    #[error("{path} is not a file")]
    NotAFile { path: String },
    #[error("{path} does not exist")]
    Missing { path: String },
    #[error("{path} is larger than {} MiB", LARGEST_FILE / (1024 * 1024))]
    TooLarge { path: String },
    #[error("{path} is not text ({size} bytes)")]
    Binary { path: String, size: usize },
    #[error("{path} has changed meanwhile; read it again")]
    Changed { path: String },
    #[error("{path}: {reason}")]
    Io { path: String, reason: io::Error },
}

/// A file name in an open directory.
struct FileInDirectory {
    directory: OwnedFd,
    name: OsString,
}

impl Workplace {
    pub fn new(root: &Path, private: &[PathBuf]) -> Self {
        let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let root = real(root);
        // An agent's worktree is inside the private data directory. Paths cannot lead out of the worktree, so a private
        // directory that contains it is not checked.
        let private = private.iter().map(|path| real(path)).filter(|path| !root.starts_with(path));
        Self { private: private.collect(), root }
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Whether agents must not see this path. The path must be free of links.
    pub fn is_private(&self, path: &Path) -> bool {
        self.private.iter().any(|private| path.starts_with(private))
    }

    /// `None`: there is no such file.
    pub fn text_if_there(&self, path: &str) -> Result<Option<String>, WorkplaceError> {
        match self.text(path) {
            Ok(text) => Ok(Some(text)),
            Err(WorkplaceError::Missing { .. }) => Ok(None),
            Err(err) => Err(err),
        }
    }

    pub fn text(&self, path: &str) -> Result<String, WorkplaceError> {
        let bytes = self.bytes(path)?;
        let size = bytes.len();
        let binary = || WorkplaceError::Binary { path: path.to_owned(), size };
        if bytes.contains(&0) {
            return Err(binary());
        }
        String::from_utf8(bytes).map_err(|_| binary())
    }

    fn bytes(&self, path: &str) -> Result<Vec<u8>, WorkplaceError> {
        let failed = |err: io::Error| failure(path, err);
        check_git(path, &self.resolve(&self.open_root()?, path)?)?;
        let Some(target) = self.open_parent(path, MissingParents::Fail)? else {
            return Err(WorkplaceError::Missing { path: path.to_owned() });
        };
        let file = target.open(OFlags::RDONLY | OFlags::NONBLOCK).map_err(failed)?;
        self.check_file(path, &file)?;
        let mut bytes = Vec::new();
        file.take(LARGEST_FILE + 1).read_to_end(&mut bytes).map_err(failed)?;
        if bytes.len() as u64 > LARGEST_FILE {
            return Err(WorkplaceError::TooLarge { path: path.to_owned() });
        }
        Ok(bytes)
    }

    /// Writes the file, and creates its directories. Refused if the file's content is no longer `before`.
    pub fn write(
        &self,
        path: &str,
        before: Option<&str>,
        text: &str,
    ) -> Result<(), WorkplaceError> {
        if self.text_if_there(path)?.as_deref() != before {
            return Err(WorkplaceError::Changed { path: path.to_owned() });
        }
        let failed = |err: io::Error| failure(path, err);
        self.check_change(path)?;
        let target = self.open_parent(path, MissingParents::Create)?;
        let target = target.ok_or_else(|| WorkplaceError::NotAFile { path: path.to_owned() })?;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::NONBLOCK;
        let mut file = target.open(flags).map_err(failed)?;
        self.check_file(path, &file)?;
        file.set_len(0).map_err(failed)?;
        file.write_all(text.as_bytes()).map_err(failed)
    }

    /// Refuses changes that could never be made, before the user is asked for approval. Git's own files are refused,
    /// also through links: whoever runs git next would use them outside the sandbox.
    pub fn check_change(&self, path: &str) -> Result<(), WorkplaceError> {
        let real = self.resolve(&self.open_root()?, path)?;
        if self.is_private(&self.root.join(&real)) {
            return Err(WorkplaceError::Missing { path: path.to_owned() });
        }
        check_git(path, &real)
    }

    /// Where the path leads: the path below the root without links. `None`: nowhere within the workplace.
    pub fn without_links(&self, path: &str) -> Option<PathBuf> {
        self.open_root().and_then(|root| self.resolve(&root, path)).ok()
    }

    /// The path where a list or a search begins, resolved to one without links.
    pub fn start(&self, path: &str) -> Result<PathBuf, WorkplaceError> {
        let real = self.resolve(&self.open_root()?, path)?;
        check_git(path, &real)?;
        let start = self.root.join(&real);
        if self.is_private(&start) || !start.exists() {
            return Err(WorkplaceError::Missing { path: path.to_owned() });
        }
        Ok(start)
    }

    fn check_file(&self, path: &str, file: &File) -> Result<(), WorkplaceError> {
        let about = file.metadata().map_err(|err| failure(path, err))?;
        if self.private_inodes().contains(&(about.dev(), about.ino())) {
            return Err(WorkplaceError::Missing { path: path.to_owned() });
        }
        if about.is_file() {
            Ok(())
        } else {
            Err(WorkplaceError::NotAFile { path: path.to_owned() })
        }
    }

    /// Device and inode of the private files and directories, which identify them under any name. Read at each use,
    /// because files can be replaced.
    fn private_inodes(&self) -> Vec<(u64, u64)> {
        let existing = self.private.iter().filter_map(|path| std::fs::metadata(path).ok());
        existing.map(|about| (about.dev(), about.ino())).collect()
    }

    fn open_root(&self) -> Result<Dir, WorkplaceError> {
        Dir::open_ambient_dir(&self.root, ambient_authority()).map_err(|err| failure(".", err))
    }

    /// Opens the directory of a file. `None`: a directory of the path is missing.
    fn open_parent(
        &self,
        path: &str,
        missing: MissingParents,
    ) -> Result<Option<FileInDirectory>, WorkplaceError> {
        let root = self.open_root()?;
        let real = self.resolve(&root, path)?;
        let Some(name) = real.file_name().map(OsString::from) else {
            return Err(WorkplaceError::NotAFile { path: path.to_owned() });
        };
        let private = self.private_inodes();
        let mut directory = OwnedFd::from(root.into_std_file());
        for part in real.parent().into_iter().flatten() {
            if missing == MissingParents::Create {
                match mkdirat(&directory, part, Mode::from_raw_mode(0o777)) {
                    Ok(()) | Err(Errno::EXIST) => {}
                    Err(err) => return Err(failure(path, err.into())),
                }
            }
            directory = match open_at(&directory, Path::new(part), OFlags::DIRECTORY) {
                Ok(next) => next,
                Err(Errno::NOENT) => return Ok(None),
                Err(err) => return Err(failure(path, err.into())),
            };
            let about = fstat(&directory).map_err(|err| failure(path, err.into()))?;
            if private.contains(&(about.st_dev, about.st_ino)) {
                return Err(WorkplaceError::Missing { path: path.to_owned() });
            }
        }
        Ok(Some(FileInDirectory { directory, name }))
    }

    /// Resolves the links in the existing part of a path. The result is relative to the root.
    fn resolve(&self, root: &Dir, path: &str) -> Result<PathBuf, WorkplaceError> {
        let mut existing = self.relative(path)?;
        let mut missing = Vec::new();
        let found = loop {
            if existing.as_os_str().is_empty() {
                break PathBuf::new();
            }
            match root.canonicalize(&existing) {
                Ok(found) => break found,
                Err(err) if err.kind() == ErrorKind::NotFound => {
                    missing.extend(existing.file_name().map(OsString::from));
                    existing.pop();
                }
                Err(err) => return Err(failure(path, err)),
            }
        };
        let mut real: PathBuf = found.components().filter(is_name).collect();
        real.extend(missing.iter().rev());
        Ok(real)
    }

    /// The path relative to the root. Models often use absolute paths; those below the root are accepted.
    fn relative(&self, path: &str) -> Result<PathBuf, WorkplaceError> {
        let asked = Path::new(path);
        let relative = asked.strip_prefix(&self.root).unwrap_or(asked);
        let plain = |part: Component<'_>| matches!(part, Component::Normal(_) | Component::CurDir);
        if !relative.components().all(plain) || path.contains('\0') {
            return Err(WorkplaceError::Outside { path: path.to_owned() });
        }
        Ok(relative.components().filter(is_name).collect())
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MissingParents {
    Create,
    Fail,
}

impl FileInDirectory {
    fn open(&self, flags: OFlags) -> io::Result<File> {
        let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NOCTTY;
        let mode = Mode::from_raw_mode(0o666);
        Ok(File::from(openat(&self.directory, Path::new(&self.name), flags, mode)?))
    }
}

fn is_name(part: &Component<'_>) -> bool {
    matches!(part, Component::Normal(_))
}

/// Refuses git's own files, in any upper or lower case. They are neither read nor changed.
fn check_git(path: &str, real: &Path) -> Result<(), WorkplaceError> {
    if real.iter().any(|part| part.eq_ignore_ascii_case(".git")) {
        return Err(WorkplaceError::Git { path: path.to_owned() });
    }
    Ok(())
}

fn open_at(directory: &impl AsFd, name: &Path, kind: OFlags) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | kind;
    openat(directory, name, flags, Mode::empty())
}

fn failure(path: &str, err: io::Error) -> WorkplaceError {
    let path = path.to_owned();
    match (err.kind(), err.raw_os_error().map(Errno::from_raw_os_error)) {
        (ErrorKind::NotFound, _) => WorkplaceError::Missing { path },
        // cap-std's own error for a path that leads outside has no OS error number. `LOOP` is a dangling link, which is
        // not followed.
        (ErrorKind::PermissionDenied, None) | (_, Some(Errno::XDEV | Errno::LOOP)) => {
            WorkplaceError::Outside { path }
        }
        (ErrorKind::IsADirectory | ErrorKind::NotADirectory, _)
        | (_, Some(Errno::NXIO | Errno::NODEV)) => WorkplaceError::NotAFile { path },
        _ => WorkplaceError::Io { path, reason: err },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{CWD, mkfifoat};
    use std::os::unix::fs::symlink;

    struct Fixture {
        directory: tempfile::TempDir,
        place: Workplace,
    }

    /// A project that contains the gateway's data directory.
    fn fixture() -> Fixture {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().join("project");
        std::fs::create_dir_all(root.join("data")).unwrap();
        std::fs::write(root.join("data/token"), "secret").unwrap();
        std::fs::write(root.join("settings.toml"), "secret").unwrap();
        std::fs::write(directory.path().join("outside"), "secret").unwrap();
        let private = [root.join("data"), root.join("settings.toml")];
        let place = Workplace::new(&root, &private);
        Fixture { directory, place }
    }

    #[test]
    fn a_written_file_is_read_by_every_path_that_leads_to_it() {
        let fixture = fixture();
        let place = &fixture.place;
        place.write("a/b/c.txt", None, "hi").unwrap();
        symlink("a", place.root().join("alias")).unwrap();
        let absolute = place.root().join("a/b/c.txt").display().to_string();
        for path in ["a/b/c.txt", "./a/./b/c.txt", "alias/b/c.txt", &absolute] {
            assert_eq!(place.text(path).unwrap(), "hi", "{path}");
        }
        place.write("alias/b/c.txt", Some("hi"), "ho").unwrap();
        assert_eq!(place.text("a/b/c.txt").unwrap(), "ho");
        assert!(matches!(
            place.write("a/b/c.txt", Some("hi"), "x"),
            Err(WorkplaceError::Changed { .. })
        ));
        assert_eq!(place.text_if_there("a/none").unwrap(), None);
    }

    #[test]
    fn paths_outside_and_private_files_are_refused() {
        let Fixture { directory, place } = &fixture();
        let root = place.root().to_owned();
        symlink(directory.path(), root.join("door")).unwrap();
        symlink(directory.path().join("outside"), root.join("window")).unwrap();
        symlink(directory.path().join("new"), root.join("hatch")).unwrap();
        symlink("data", root.join("alias")).unwrap();
        std::fs::hard_link(root.join("settings.toml"), root.join("copy")).unwrap();
        let absolute = directory.path().join("outside").display().to_string();
        let outside =
            ["../outside", "a/../../outside", "door/outside", "door/x/y", "window", "hatch"];
        for path in outside.into_iter().chain(["/etc/passwd", &absolute, "a\0b"]) {
            for refused in [place.text(path).map(drop), place.write(path, None, "x")] {
                let refused = refused.unwrap_err();
                let missing = path == "hatch" && matches!(refused, WorkplaceError::Missing { .. });
                assert!(
                    missing || matches!(refused, WorkplaceError::Outside { .. }),
                    "{path}: {refused}"
                );
            }
        }
        for path in ["data/token", "data/new", "alias/token", "settings.toml", "copy"] {
            assert!(matches!(place.text(path), Err(WorkplaceError::Missing { .. })), "{path}");
            assert!(place.write(path, None, "x").is_err(), "{path}");
        }
        for path in ["data", "alias", "../project", "door"] {
            assert!(place.start(path).is_err(), "{path}");
        }
        assert_eq!(std::fs::read_to_string(directory.path().join("outside")).unwrap(), "secret");
        assert!(!directory.path().join("new").exists() && !root.join("data/new").exists());
    }

    #[test]
    fn the_files_of_git_are_refused_under_any_name() {
        let fixture = fixture();
        let place = &fixture.place;
        let root = place.root();
        std::fs::create_dir_all(root.join(".git/hooks")).unwrap();
        std::fs::create_dir_all(root.join("sub")).unwrap();
        std::fs::write(root.join("sub/.git"), "gitdir: elsewhere\n").unwrap();
        std::fs::write(root.join(".git/config"), "[core]\n").unwrap();
        symlink(".git", root.join("alias")).unwrap();
        symlink(".git/config", root.join("settings")).unwrap();
        let absolute = root.join(".git/hooks/x").display().to_string();
        for path in [
            ".git/hooks/pre-commit",
            ".GIT/new",
            "./.git/config",
            "sub/.git",
            "alias/hooks/pre-commit",
            "settings",
            &absolute,
        ] {
            let read = place.text_if_there(path);
            assert!(matches!(read, Err(WorkplaceError::Git { .. })), "{path}: {read:?}");
            let refused = place.write(path, None, "x");
            assert!(matches!(refused, Err(WorkplaceError::Git { .. })), "{path}: {refused:?}");
        }
        assert_eq!(std::fs::read_dir(root.join(".git/hooks")).unwrap().count(), 0);
        let config = std::fs::read_to_string(root.join(".git/config")).unwrap();
        assert_eq!(config, "[core]\n");
        place.write(".gitignore", None, "target\n").unwrap();
    }

    #[test]
    fn a_workplace_inside_the_data_directory_can_be_used() {
        let data = tempfile::tempdir().unwrap();
        let root = data.path().join("worktrees/1");
        std::fs::create_dir_all(&root).unwrap();
        std::fs::write(data.path().join("token"), "secret").unwrap();
        std::os::unix::fs::symlink("../../token", root.join("link")).unwrap();
        let place = Workplace::new(&root, &[data.path().to_owned()]);
        place.write("src/a.txt", None, "hi").unwrap();
        assert_eq!(place.text("src/a.txt").unwrap(), "hi");
        assert_eq!(place.start("src").unwrap(), place.root().join("src"));
        assert!(matches!(place.text("link"), Err(WorkplaceError::Outside { .. })));
        assert!(matches!(place.text("../../token"), Err(WorkplaceError::Outside { .. })));
    }

    #[test]
    fn a_file_that_is_not_text_is_refused_with_the_reason() {
        let fixture = fixture();
        let place = &fixture.place;
        let root = place.root();
        std::fs::write(root.join("binary"), b"a\0b").unwrap();
        std::fs::write(root.join("latin"), b"caf\xe9").unwrap();
        let huge = File::create(root.join("huge")).unwrap();
        huge.set_len(LARGEST_FILE + 1).unwrap();
        mkfifoat(CWD, root.join("pipe"), Mode::from_raw_mode(0o600)).unwrap();
        let refused = |path: &str| place.text(path).unwrap_err().to_string();
        assert_eq!(refused("binary"), "binary is not text (3 bytes)");
        assert_eq!(refused("latin"), "latin is not text (4 bytes)");
        assert_eq!(refused("huge"), "huge is larger than 4 MiB");
        assert_eq!(refused("pipe"), "pipe is not a file");
        assert_eq!(refused(""), " is not a file");
        assert!(matches!(place.write("pipe", None, "x"), Err(WorkplaceError::NotAFile { .. })));
    }
}
