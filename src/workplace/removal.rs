//! Removes directories that agents have made. An agent can nest directories far deeper than any stack or limit of open
//! files allows, so nothing here recurses: what is deep is moved up first. No symlink is followed.

use super::folder::Folder;
use rustix::fd::AsRawFd;
use rustix::fs::{Dir, Mode, OFlags, chmod, fstat, openat, renameat};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Attempts to empty a directory that somebody fills again meanwhile.
const MOST_ROUNDS: usize = 1_000_000;

/// Removes a directory tree, a file or a symlink. What is gone already is no error. Directories without permissions are
/// opened first. Blocking.
pub fn remove_tree(path: &Path) -> io::Result<()> {
    let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    match Folder::open(path.parent().unwrap_or(Path::new("/"))) {
        Ok(parent) => parent.clear(name),
        Err(err) => gone_or(Err(err)),
    }
}

/// What somebody else has removed need not be removed.
fn gone_or(removed: io::Result<()>) -> io::Result<()> {
    removed.or_else(|err| if err.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(err) })
}

impl Folder {
    /// Removes whatever has this name, also a directory with everything in it.
    pub(super) fn clear(&self, name: &OsStr) -> io::Result<()> {
        if self.remove(name).is_ok() {
            return Ok(());
        }
        gone_or(self.own_child(name).and_then(|folder| folder.empty()))?;
        gone_or(self.remove_empty(name))
    }

    /// Each round removes one directory level and moves the next one up.
    fn empty(&self) -> io::Result<()> {
        let mut number = 0;
        for _ in 0..MOST_ROUNDS {
            let names = self.names()?;
            if names.is_empty() {
                return Ok(());
            }
            for name in names {
                if self.remove(&name).is_err() {
                    gone_or(self.flatten(&name, &mut number))?;
                }
            }
        }
        Err(io::ErrorKind::DirectoryNotEmpty.into())
    }

    /// Removes the files of a directory, moves its directories here, and removes it.
    fn flatten(&self, name: &OsStr, number: &mut u64) -> io::Result<()> {
        let inner = self.own_child(name)?;
        for below in inner.names()? {
            if inner.remove(&below).is_err() {
                self.pull_up(&inner, &below, number)?;
            }
        }
        match self.remove_empty(name) {
            // Somebody has put something there meanwhile; the next round removes it.
            Err(err) if err.kind() == io::ErrorKind::DirectoryNotEmpty => Ok(()),
            removed => removed,
        }
    }

    fn pull_up(&self, inner: &Self, below: &OsStr, number: &mut u64) -> io::Result<()> {
        let mut is_open = false;
        loop {
            *number += 1;
            match renameat(inner, below, self, number.to_string()) {
                Ok(()) | Err(Errno::NOENT) => return Ok(()),
                // The name is taken.
                Err(Errno::NOTEMPTY | Errno::EXIST | Errno::NOTDIR) => {}
                // To move a directory, one has to be able to write it.
                Err(Errno::ACCESS) if !is_open => {
                    inner.own_child(below)?;
                    is_open = true;
                }
                // Some layered file systems do not move directories.
                Err(Errno::XDEV) => return inner.clear(below),
                Err(err) => return Err(err.into()),
            }
        }
    }

    /// Opens a directory, also one that its owner has closed for itself.
    fn own_child(&self, name: &OsStr) -> io::Result<Self> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let found = openat(self, name, flags, Mode::empty())?;
        let mode = Mode::from_raw_mode(fstat(&found)?.st_mode);
        if !mode.contains(Mode::RWXU) {
            // Such a descriptor is good only for naming the directory.
            chmod(format!("/proc/self/fd/{}", found.as_raw_fd()), Mode::RWXU)?;
        }
        let flags = OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(Self::from(openat(&found, ".", flags, Mode::empty())?))
    }

    fn names(&self) -> io::Result<Vec<OsString>> {
        let entries = Dir::read_from(self)?.collect::<Result<Vec<_>, _>>()?;
        let names = entries.iter().map(|entry| OsStr::from_bytes(entry.file_name().to_bytes()));
        Ok(names.filter(|name| *name != "." && *name != "..").map(OsStr::to_owned).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    /// Makes directories in each other. Their path is longer than the system takes.
    fn dig(top: &Path, depth: usize) {
        let mut folder = Folder::open(top).unwrap();
        for _ in 0..depth {
            folder = folder.child_or_new(OsStr::new("d")).unwrap();
        }
        folder.new_file(OsStr::new("end"), 0o600).unwrap();
    }

    #[test]
    fn no_directory_is_too_deep_to_be_removed() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().join("top");
        fs::create_dir_all(top.join("1/2")).unwrap();
        fs::write(top.join("1/2/file"), "x").unwrap();
        fs::write(top.join("2"), "x").unwrap();
        dig(&top, 14_000);
        dig(&top.join("1"), 300);
        remove_tree(&top).unwrap();
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
        remove_tree(&top).unwrap();
        remove_tree(&top.join("below")).unwrap();
    }

    #[test]
    fn what_is_behind_links_stays_as_it_is() {
        let dir = tempfile::tempdir().unwrap();
        let (top, outside) = (dir.path().join("top"), dir.path().join("outside"));
        for path in [&top.join("closed/deep"), &outside.join("deep")] {
            fs::create_dir_all(path).unwrap();
            fs::write(path.join("file"), "x").unwrap();
        }
        symlink(&outside, top.join("link")).unwrap();
        symlink(&outside, top.join("closed/deep/link")).unwrap();
        for path in [top.join("closed/deep"), top.join("closed"), outside.clone()] {
            fs::set_permissions(path, fs::Permissions::from_mode(0o500)).unwrap();
        }
        remove_tree(&top).unwrap();
        assert!(!top.exists());
        assert!(outside.join("deep/file").exists());
        assert_eq!(fs::metadata(&outside).unwrap().permissions().mode() & 0o777, 0o500);
        symlink(&outside, &top).unwrap();
        remove_tree(&top).unwrap();
        assert!(outside.join("deep/file").exists());
    }
}
