//! What is in a file that a list has shown. A path is text from a client: its root is found by comparing, and
//! everything below that root by descriptor, so that neither `..` nor a link nor a race leads anywhere else.

use super::Files;
use super::backup::is_backup;
use super::spelling::{self, Meaning};
use super::workspaces;
use crate::message::Principal;
use crate::workplace::is_dot_git;
use cap_std::ambient_authority;
use cap_std::fs::Dir;
use rustix::fs::{Mode, OFlags, fstat, openat};
use rustix::io::Errno;
use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

/// A whole file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Content {
    /// Its last part.
    pub name: String,
    pub bytes: Vec<u8>,
}

/// Why there is none; no text tells whether something outside exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ContentError {
    #[error("this is no path of a file; take one from a list")]
    Invalid,
    #[error("there is no such file any more; ask for the list again")]
    NotFound,
    #[error("the file is larger than {limit} bytes; open it on the server")]
    TooLarge { limit: u64 },
    #[error("the server cannot read this file; ask the operator to check its rights")]
    Unreadable,
    #[error("several files are shown by this name; rename them on the server")]
    Ambiguous,
}

/// Where a path begins.
struct Start {
    root: PathBuf,
    below: PathBuf,
    within: Within,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Within {
    /// It may hold the data directory, which nobody may read through it.
    Project,
    Temp,
    Workspace,
    Backup,
}

impl Files {
    /// A shown path is `temp/...`, `workspace/...`, `backup/PROJECT/DAY/TIME/...`, relative to the project, or one of these with its
    /// directory before it.
    pub fn read(&self, principal: &Principal, shown: &str) -> Result<Content, ContentError> {
        self.read_from(&self.start(principal, shown)?)
    }

    /// A file below another root of ours, such as an agent's own copy of the project.
    pub fn read_in(&self, root: &Path, shown: &str) -> Result<Content, ContentError> {
        let below = PathBuf::from(shown);
        let plain = below.components().all(|part| matches!(part, Component::Normal(_)));
        if !plain || below.as_os_str().is_empty() {
            return Err(ContentError::Invalid);
        }
        self.read_from(&Start { root: root.to_owned(), below, within: Within::Project })
    }

    fn read_from(&self, start: &Start) -> Result<Content, ContentError> {
        let root = Dir::open_ambient_dir(&start.root, ambient_authority()).map_err(refusal)?;
        let below = meant(&root, &start.below)?;
        let in_project = || below.iter().skip(2).collect::<PathBuf>();
        if start.within == Within::Backup && self.has_private_name(&in_project()) {
            return Err(ContentError::NotFound);
        }
        let file = self.open_below(root, &below, start.within).map_err(refusal)?;
        let name = below.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Ok(Content { name, bytes: read(file, self.places.limits.content)? })
    }

    /// Whether this absolute path is one of the backups of any project.
    pub fn is_backup(&self, path: &Path) -> bool {
        path.starts_with(self.data().join("backup"))
    }

    /// Whether it is one of this project's.
    pub fn has_backup(&self, path: &Path) -> bool {
        path.starts_with(self.places.backups.base())
    }

    fn start(&self, principal: &Principal, shown: &str) -> Result<Start, ContentError> {
        let shown = Path::new(shown);
        let (temp, backup) = (self.temp(principal), self.places.backups.base().to_owned());
        let own_backups = Path::new("backup").join(backup.file_name().unwrap_or_default());
        let below = |prefix: &Path| shown.strip_prefix(prefix).ok().map(Path::to_owned);
        let in_temp = below(&temp).or_else(|| below(Path::new("temp")));
        let in_backup = below(&backup).or_else(|| below(&own_backups).filter(|it| is_backup(it)));
        let start = if let Some(below) = in_temp {
            Start { root: temp, below, within: Within::Temp }
        } else if let Some(below) = below(Path::new(workspaces::DIRECTORY)) {
            Start {
                root: self.workspaces(principal).root().to_owned(),
                below,
                within: Within::Workspace,
            }
        } else if let Some(below) = in_backup {
            if !is_backup(&below) {
                return Err(ContentError::Invalid);
            }
            Start { root: backup, below, within: Within::Backup }
        } else {
            let below = below(self.project()).unwrap_or_else(|| shown.to_owned());
            Start { root: self.project().to_owned(), below, within: Within::Project }
        };
        let plain = start.below.components().all(|part| matches!(part, Component::Normal(_)));
        let named = !start.below.as_os_str().is_empty();
        (plain && named).then_some(start).ok_or(ContentError::Invalid)
    }

    /// Links are followed below the root first. Then every directory on the way is opened by itself and no link any
    /// more, so that the way that was judged is the way that was taken.
    fn open_below(&self, root: Dir, below: &Path, within: Within) -> io::Result<File> {
        let real = root.canonicalize(below)?;
        // Settings and refs of a repository are nobody's files; also by the name of a link that leads there.
        if is_gits(&real) {
            return Err(ErrorKind::NotFound.into());
        }
        let parent = real.parent().unwrap_or(Path::new(""));
        let name = real.file_name().ok_or(ErrorKind::NotFound)?;
        let data = std::fs::metadata(self.data())?;
        let allowed = |directory: &OwnedFd| -> io::Result<()> {
            let about = fstat(directory)?;
            let is_data = (about.st_dev, about.st_ino) == (data.dev(), data.ino());
            if within == Within::Project && is_data {
                Err(ErrorKind::NotFound.into())
            } else {
                Ok(())
            }
        };
        let mut directory = OwnedFd::from(root.into_std_file());
        allowed(&directory)?;
        for part in parent {
            directory = open_at(&directory, part.as_ref(), OFlags::DIRECTORY)?;
            allowed(&directory)?;
        }
        // Opening a pipe must not wait for somebody who writes into it.
        let file = File::from(open_at(&directory, name.as_ref(), OFlags::NONBLOCK)?);
        let about = file.metadata()?;
        if !about.is_file() || self.is_private(&about) {
            return Err(ErrorKind::NotFound.into());
        }
        Ok(file)
    }
}

/// Whether something is a `.git` or below one, however it is written.
pub(super) fn is_gits(path: &Path) -> bool {
    path.iter().any(is_dot_git)
}

/// By the names on disk, which may be no text.
fn meant(root: &Dir, shown: &Path) -> Result<PathBuf, ContentError> {
    if !spelling::may_be_another(shown) {
        return Ok(shown.to_owned());
    }
    match spelling::meaning(root, shown).map_err(refusal)? {
        Meaning::One(path) => Ok(path),
        Meaning::Several => Err(ContentError::Ambiguous),
    }
}

fn open_at(directory: &impl AsFd, name: &Path, kind: OFlags) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NOCTTY | kind;
    openat(directory, name, flags, Mode::empty())
}

/// The file may grow while it is read.
fn read(file: File, limit: u64) -> Result<Vec<u8>, ContentError> {
    let length = file.metadata().map_err(refusal)?.len();
    if length > limit {
        return Err(ContentError::TooLarge { limit });
    }
    let mut bytes = Vec::with_capacity(usize::try_from(length).unwrap_or_default());
    file.take(limit.saturating_add(1)).read_to_end(&mut bytes).map_err(refusal)?;
    if bytes.len() as u64 > limit {
        return Err(ContentError::TooLarge { limit });
    }
    Ok(bytes)
}

/// A link that leads out is refused by the system with a lack of rights; to a client there is nothing.
fn refusal(err: io::Error) -> ContentError {
    use ErrorKind::{InvalidFilename, InvalidInput, IsADirectory, NotADirectory, NotFound};
    match (err.kind(), err.raw_os_error().map(Errno::from_raw_os_error)) {
        (InvalidInput | InvalidFilename, _) => ContentError::Invalid,
        (NotFound | NotADirectory | IsADirectory, _) => ContentError::NotFound,
        // A link that leads out, one too many, a socket, a device that is not there.
        (_, Some(Errno::XDEV | Errno::LOOP | Errno::NXIO | Errno::NODEV)) => ContentError::NotFound,
        // cap-std's own refusal of a path that leads out has no number; the system's lack of rights has one.
        (ErrorKind::PermissionDenied, None) => ContentError::NotFound,
        _ => ContentError::Unreadable,
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{Fixture, LIMITS};
    use super::*;
    use rustix::fs::{CWD, mkfifoat};
    use std::ffi::OsStr;
    use std::fs;
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::os::unix::net::UnixListener;

    #[track_caller]
    fn check(fixture: &Fixture, shown: &str, expected: Result<&str, ContentError>) {
        let found = fixture.files.read(&Principal::local(), shown);
        let found = found.map(|content| String::from_utf8(content.bytes).unwrap());
        assert_eq!(found, expected.map(str::to_owned), "{shown}");
    }

    #[test]
    fn nothing_below_a_git_directory_is_handed_out() {
        let fixture = Fixture::new();
        for path in ["a.txt", ".git/config", "sub/.GiT/HEAD", ".gitignore", "x.git/file", "w/.git"]
        {
            fixture.add(path, "a");
        }
        let project = fixture.files.project().to_owned();
        symlink(".git/config", project.join("window")).unwrap();
        symlink("sub/.GiT", project.join("door")).unwrap();
        let absolute = project.join(".git/config");
        for shown in [
            ".git/config",
            "sub/.GiT/HEAD",
            "w/.git",
            "window",
            "door/HEAD",
            absolute.to_str().unwrap(),
        ] {
            check(&fixture, shown, Err(ContentError::NotFound));
            assert!(fixture.files.read_in(&project, shown).is_err(), "{shown}");
        }
        for shown in ["a.txt", ".gitignore", "x.git/file"] {
            check(&fixture, shown, Ok("a"));
        }
    }

    #[test]
    fn paths_that_are_none_are_refused() {
        let fixture = Fixture::new();
        fixture.add("a.txt", "a");
        let outside = fixture.data().join("temp/other/x");
        for shown in [
            "",
            "/",
            ".",
            "..",
            "./a.txt",
            "../project/a.txt",
            "src/../a.txt",
            "temp",
            "temp/",
            "temp/../../token",
            "temp/..",
            "a\0.txt",
            "/etc/passwd",
            "/no/such",
            outside.to_str().unwrap(),
            &"x".repeat(300),
        ] {
            check(&fixture, shown, Err(ContentError::Invalid));
        }
        // Nothing is decoded, so this is a name like any other.
        check(&fixture, "%2e%2e/token", Err(ContentError::NotFound));
        check(&fixture, "..%2ftoken", Err(ContentError::NotFound));
        check(&fixture, "..\\token", Err(ContentError::NotFound));
    }

    #[test]
    fn links_lead_nowhere_else() {
        let fixture = Fixture::new();
        let outside = tempfile::tempdir().unwrap();
        fs::write(outside.path().join("secret"), "secret").unwrap();
        let link = |target: &Path, name: &str| symlink(target, fixture.project().join(name));
        link(&outside.path().join("secret"), "file").unwrap();
        link(outside.path(), "directory").unwrap();
        link(Path::new("../state"), "up").unwrap();
        link(Path::new("round"), "round").unwrap();
        link(Path::new("nowhere"), "dangling").unwrap();
        for shown in ["file", "directory/secret", "up/temp", "round", "dangling"] {
            check(&fixture, shown, Err(ContentError::NotFound));
        }
        fixture.add("src/real.txt", "inside");
        link(Path::new("src/real.txt"), "inner").unwrap();
        link(Path::new("src"), "code").unwrap();
        check(&fixture, "inner", Ok("inside"));
        check(&fixture, "code/real.txt", Ok("inside"));
    }

    #[test]
    fn only_files_are_read_and_nothing_is_waited_for() {
        let fixture = Fixture::new();
        mkfifoat(CWD, fixture.project().join("pipe"), Mode::RUSR | Mode::WUSR).unwrap();
        let _listener = UnixListener::bind(fixture.project().join("socket")).unwrap();
        fixture.add("src/a", "");
        for shown in ["pipe", "socket", "src", "src/a/b", "missing"] {
            check(&fixture, shown, Err(ContentError::NotFound));
        }
        check(&fixture, "src/a", Ok(""));
    }

    #[test]
    fn the_gateways_own_directory_is_not_part_of_the_project() {
        let directory = tempfile::tempdir().unwrap();
        let data = directory.path().join(".kakehashi");
        let files = Files::new(directory.path(), &data, LIMITS).unwrap();
        let local = Principal::local();
        let saved = files.save_upload(&local, "mine.txt", b"mine").unwrap();
        for name in ["token", "kakehashi.db", "temp/other/x"] {
            let path = data.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "secret").unwrap();
        }
        symlink(".kakehashi", directory.path().join("link")).unwrap();
        symlink(".kakehashi/token", directory.path().join("token")).unwrap();
        let absolute = data.canonicalize().unwrap().join("token");
        for shown in [
            ".kakehashi/token",
            ".kakehashi/kakehashi.db",
            ".kakehashi/temp/other/x",
            "link/token",
            "token",
            absolute.to_str().unwrap(),
        ] {
            assert_eq!(files.read(&local, shown), Err(ContentError::NotFound), "{shown}");
        }
        let shown = saved.note.path.unwrap();
        assert_eq!(files.read(&local, &shown).unwrap().bytes, b"mine");
        let absolute = saved.absolute.to_str().unwrap();
        assert_eq!(files.read(&local, absolute).unwrap().bytes, b"mine");
        // The same directory for both: then nothing of it is shown.
        let same = Files::new(&data, &data, LIMITS).unwrap();
        assert_eq!(same.read(&local, "token"), Err(ContentError::NotFound));
    }

    #[test]
    fn a_users_files_are_for_that_user() {
        let fixture = Fixture::new();
        let saved = fixture.files.save_upload(&Principal::local(), "a.txt", b"mine").unwrap();
        let shown = saved.note.path.unwrap();
        let content = fixture.files.read(&Principal::local(), &shown).unwrap();
        assert!(content.name.ends_with(".a.txt"), "{}", content.name);
        let other = Principal::new("other");
        assert_eq!(fixture.files.read(&other, &shown), Err(ContentError::NotFound));
        let absolute = saved.absolute.to_str().unwrap();
        assert_eq!(fixture.files.read(&other, absolute), Err(ContentError::Invalid));
        // Also by a link that the other one might have made.
        fs::create_dir_all(fixture.data().join("temp/other")).unwrap();
        symlink("../local/input", fixture.data().join("temp/other/input")).unwrap();
        assert_eq!(fixture.files.read(&other, &shown), Err(ContentError::NotFound));
    }

    #[test]
    fn backups_are_read_by_their_moment() {
        let fixture = Fixture::new();
        fixture.add("src/a.txt", "then");
        fixture.files.back_up(&fixture.files.survey().unwrap()).unwrap();
        fixture.add("src/a.txt", "now");
        let mut days = fs::read_dir(fixture.data().join("backup/project")).unwrap();
        let is_day = |entry: &fs::DirEntry| entry.path().is_dir();
        let day = days.find_map(|entry| entry.ok().filter(is_day)).unwrap();
        let day = day.file_name().into_string().unwrap();
        let base = fixture.data().canonicalize().unwrap().join("backup/project").join(&day);
        let names = fs::read_dir(&base).unwrap().map(|entry| entry.unwrap().file_name());
        let names: Vec<_> = names.map(|name| name.into_string().unwrap()).collect();
        let layer = names.iter().find(|name| name.ends_with(".all")).unwrap();
        check(&fixture, &format!("backup/project/{day}/{layer}/src/a.txt"), Ok("then"));
        let absolute = base.join(layer).join("src/a.txt");
        check(&fixture, absolute.to_str().unwrap(), Ok("then"));
        check(&fixture, "src/a.txt", Ok("now"));
        let absolute = fixture.files.project().join("src/a.txt");
        check(&fixture, absolute.to_str().unwrap(), Ok("now"));
        let manifest = names.iter().find(|name| name.ends_with(".manifest")).unwrap();
        let absolute = base.join(manifest);
        check(&fixture, absolute.to_str().unwrap(), Err(ContentError::Invalid));
        check(&fixture, &format!("backup/project/{day}/{manifest}"), Err(ContentError::NotFound));
        check(&fixture, &format!("backup/project/{day}/{layer}"), Err(ContentError::NotFound));
        check(&fixture, "backup/other/20260101/000000/a", Err(ContentError::NotFound));
        // A directory of the project that happens to have the name.
        fixture.add("backup/project/notes.txt", "own");
        check(&fixture, "backup/project/notes.txt", Ok("own"));
    }

    #[test]
    fn a_name_that_is_no_text_is_found_as_it_is_shown() {
        let fixture = Fixture::new();
        let odd = |name: &[u8]| fixture.project().join(OsStr::from_bytes(name));
        fs::create_dir(odd(b"d\xff")).unwrap();
        for (name, content) in [(&b"d\xff/z\xfe"[..], "z"), (b"a\xfe", "1"), (b"a\xff", "2")] {
            fs::write(odd(name), content).unwrap();
        }
        check(&fixture, "d\u{fffd}/z\u{fffd}", Ok("z"));
        check(&fixture, "a\u{fffd}", Err(ContentError::Ambiguous));
        check(&fixture, "b\u{fffd}", Err(ContentError::NotFound));
        check(&fixture, "none\u{fffd}/b\u{fffd}", Err(ContentError::NotFound));
        // What is really called so comes first.
        fixture.add("a\u{fffd}", "exact");
        check(&fixture, "a\u{fffd}", Ok("exact"));
        symlink("/etc", odd(b"out\xff")).unwrap();
        check(&fixture, "out\u{fffd}/hostname\u{fffd}", Err(ContentError::NotFound));
    }

    #[test]
    fn large_and_locked_files_are_told_apart() {
        let fixture = Fixture::new();
        let file = File::create(fixture.project().join("huge")).unwrap();
        file.set_len(1 << 40).unwrap();
        let limit = LIMITS.content;
        check(&fixture, "huge", Err(ContentError::TooLarge { limit }));
        file.set_len(limit).unwrap();
        assert!(fixture.files.read(&Principal::local(), "huge").is_ok());
        file.set_permissions(fs::Permissions::from_mode(0o000)).unwrap();
        // Nothing is locked for root.
        if File::open(fixture.project().join("huge")).is_err() {
            check(&fixture, "huge", Err(ContentError::Unreadable));
        }
    }
}
