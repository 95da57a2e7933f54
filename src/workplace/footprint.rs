//! Tells without reading files whether they have changed: one hash over all their names, sizes and times. The times
//! include the ctime, which nobody can set, unlike the mtime that `touch` sets.

use super::nested::is_dot_git;
use rustix::fd::OwnedFd;
use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, Stat, openat, statat};
use sha2::{Digest, Sha256};
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// With more files than this, git is faster.
const MOST_ENTRIES: usize = 20_000;
const DEEPEST: usize = 128;
/// Time resolution of a file system. A file that was just changed can change again within this time without looking
/// different, so it has no footprint until then.
const STEP: Duration = Duration::from_millis(20);
/// Time resolution of file systems that count whole seconds.
const LONG_STEP: Duration = Duration::from_secs(3);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Footprint([u8; 32]);

/// Why there is no footprint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NoFootprint {
    TooLarge,
    /// Something was changed just now, or cannot be judged from outside, such as a nested repository.
    Unsure,
}

/// Metadata of one file: device, inode, mode, size and both times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Mark([i64; 8]);

impl Mark {
    /// `None`: nothing is there, or it was changed just now. A symlink is not followed.
    pub(super) fn of(path: &Path) -> Option<Self> {
        let now = SystemTime::now();
        let about = statat(CWD, path, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        is_settled(&about, now).then(|| Self::new(&about))
    }

    /// For a file that is only ever replaced as a whole: a new version has a new inode.
    pub(super) fn of_replaced(path: &Path) -> Option<Self> {
        statat(CWD, path, AtFlags::SYMLINK_NOFOLLOW).ok().map(|about| Self::new(&about))
    }

    #[expect(clippy::cast_possible_wrap, reason = "compared, not counted")]
    fn new(about: &Stat) -> Self {
        Self([
            about.st_dev as i64,
            about.st_ino as i64,
            i64::from(about.st_mode),
            about.st_size,
            about.st_mtime,
            about.st_mtime_nsec as i64,
            about.st_ctime,
            about.st_ctime_nsec as i64,
        ])
    }
}

impl Footprint {
    /// Covers all files below `top` except its own `.git`, and `rules`, which say how git treats the files.
    pub(super) fn of(top: &Path, rules: &[&[u8]]) -> Result<Self, NoFootprint> {
        let mut walk = Walk { hash: Sha256::new(), entries: 0, now: SystemTime::now() };
        for rule in rules {
            walk.add(rule);
        }
        let folder = openat(CWD, top, OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty());
        walk.directory(folder.map_err(|_| NoFootprint::Unsure)?, 0)?;
        Ok(Self(walk.hash.finalize().into()))
    }
}

struct Walk {
    hash: Sha256,
    entries: usize,
    now: SystemTime,
}

impl Walk {
    fn directory(&mut self, folder: OwnedFd, depth: usize) -> Result<(), NoFootprint> {
        let listed: io::Result<Vec<_>> = Dir::read_from(&folder)
            .map_err(io::Error::from)
            .and_then(|entries| entries.map(|entry| Ok(entry?)).collect());
        for entry in listed.map_err(|_| NoFootprint::Unsure)? {
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if name == ".." || (depth == 0 && name == ".git") {
                continue;
            }
            self.entries += 1;
            if self.entries > MOST_ENTRIES || depth > DEEPEST {
                return Err(NoFootprint::TooLarge);
            }
            let about = statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW);
            let about = about.map_err(|_| NoFootprint::Unsure)?;
            // Git's answer about another repository depends on the content of its git directory.
            if is_dot_git(name) || !is_settled(&about, self.now) {
                return Err(NoFootprint::Unsure);
            }
            self.add(name.as_bytes());
            for number in Mark::new(&about).0 {
                self.hash.update(number.to_le_bytes());
            }
            if name != "." && FileType::from_raw_mode(about.st_mode) == FileType::Directory {
                let flags = OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
                let inner = openat(&folder, name, flags, Mode::empty());
                self.directory(inner.map_err(|_| NoFootprint::Unsure)?, depth + 1)?;
            }
        }
        self.add(b"..");
        Ok(())
    }

    fn add(&mut self, bytes: &[u8]) {
        self.hash.update((bytes.len() as u64).to_le_bytes());
        self.hash.update(bytes);
    }
}

fn is_settled(about: &Stat, now: SystemTime) -> bool {
    let (seconds, nanoseconds) = (about.st_ctime, about.st_ctime_nsec);
    let step = if nanoseconds == 0 { LONG_STEP } else { STEP };
    let changed = u64::try_from(seconds).ok().zip(u32::try_from(nanoseconds).ok());
    changed.is_some_and(|(seconds, nanoseconds)| {
        UNIX_EPOCH + Duration::new(seconds, nanoseconds) + step <= now
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{self, File};
    use std::os::unix::fs::symlink;
    use std::path::PathBuf;

    /// Waits until no file counts as changed just now. How long that takes depends on the file system.
    fn settled(top: &Path) -> Footprint {
        loop {
            match Footprint::of(top, &[]) {
                Ok(footprint) => return footprint,
                Err(NoFootprint::Unsure) => std::thread::yield_now(),
                Err(NoFootprint::TooLarge) => panic!("too large"),
            }
        }
    }

    fn place() -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().to_owned();
        fs::create_dir_all(top.join("src/deep")).unwrap();
        fs::write(top.join("src/deep/a"), "one").unwrap();
        symlink("a", top.join("src/link")).unwrap();
        fs::create_dir(top.join(".git")).unwrap();
        (dir, top)
    }

    #[test]
    fn what_was_just_changed_has_none() {
        let (_dir, top) = place();
        let before = settled(&top);
        fs::write(top.join("src/deep/a"), "two").unwrap();
        assert_eq!(Footprint::of(&top, &[]), Err(NoFootprint::Unsure));
        assert_ne!(settled(&top), before);
    }

    #[test]
    fn every_change_is_seen_also_if_its_time_is_set_back() {
        let (_dir, top) = place();
        let file = top.join("src/deep/a");
        let time = file.metadata().unwrap().modified().unwrap();
        let changes: [&dyn Fn(); 5] = [
            &|| {
                fs::write(&file, "six").unwrap();
                File::options().write(true).open(&file).unwrap().set_modified(time).unwrap();
            },
            &|| fs::rename(top.join("src/link"), top.join("src/lint")).unwrap(),
            &|| fs::create_dir(top.join("src/empty")).unwrap(),
            &|| fs::rename(top.join("src/empty"), top.join("src/deep/empty")).unwrap(),
            &|| fs::remove_file(&file).unwrap(),
        ];
        for (number, change) in changes.iter().enumerate() {
            let before = settled(&top);
            assert_eq!(Footprint::of(&top, &[]), Ok(before));
            assert_ne!(Footprint::of(&top, &[b"another rule"]), Ok(before));
            change();
            assert_ne!(settled(&top), before, "change {number}");
        }
    }

    #[test]
    fn its_own_git_directory_does_not_count_and_another_is_not_judged() {
        let (_dir, top) = place();
        let before = settled(&top);
        fs::write(top.join(".git/HEAD"), "x").unwrap();
        assert_eq!(settled(&top), before);
        fs::create_dir(top.join("src/.git")).unwrap();
        std::thread::sleep(2 * STEP);
        assert_eq!(Footprint::of(&top, &[]), Err(NoFootprint::Unsure));
    }
}
