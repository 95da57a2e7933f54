//! A directory by its descriptor. Names are looked up one by one and symlinks are never followed, so nothing outside of
//! it is reached, whatever somebody does to the files meanwhile.

use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{
    Access, AtFlags, CWD, Dir, FileType, Mode, OFlags, RenameFlags, Stat, accessat, chmodat,
    fchmod, fstat, mkdirat, openat, readlinkat, renameat, renameat_with, statat, symlinkat,
    unlinkat,
};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::ffi::OsStringExt;
use std::path::{Component, Path};

#[derive(Debug)]
pub(super) struct Folder(OwnedFd);

/// Tells whether a file is still the same one with the same content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamp {
    device: u64,
    number: u64,
    size: i64,
    seconds: i64,
    nanoseconds: u64,
    pub(super) mode: u32,
}

impl From<OwnedFd> for Folder {
    fn from(descriptor: OwnedFd) -> Self {
        Self(descriptor)
    }
}

impl AsFd for Folder {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl Stamp {
    fn new(about: &Stat) -> Self {
        Self {
            device: about.st_dev,
            number: about.st_ino,
            size: about.st_size,
            seconds: about.st_mtime,
            nanoseconds: about.st_mtime_nsec,
            mode: about.st_mode,
        }
    }

    pub(super) fn is_directory(&self) -> bool {
        FileType::from_raw_mode(self.mode) == FileType::Directory
    }

    pub(super) fn is_link(&self) -> bool {
        FileType::from_raw_mode(self.mode) == FileType::Symlink
    }

    pub(super) fn size(&self) -> u64 {
        self.size.try_into().unwrap_or(0)
    }

    pub(super) fn is_file(&self) -> bool {
        FileType::from_raw_mode(self.mode) == FileType::RegularFile
    }
}

impl Folder {
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let flags = OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(Self(openat(CWD, path, flags, Mode::empty())?))
    }

    pub(super) fn child(&self, name: &OsStr) -> io::Result<Self> {
        let flags = OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        Ok(Self(openat(&self.0, name, flags, Mode::empty())?))
    }

    /// The directory that a path is in, and its name there.
    pub(super) fn parent_of(&self, path: &Path) -> io::Result<(Self, OsString)> {
        let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
        let folder = self.descend(path.parent().unwrap_or(Path::new("")))?;
        Ok((folder, name.to_owned()))
    }

    pub(super) fn descend(&self, path: &Path) -> io::Result<Self> {
        let mut folder = Self(self.0.try_clone()?);
        for part in path.components() {
            let Component::Normal(name) = part else {
                return Err(io::ErrorKind::InvalidInput.into());
            };
            folder = folder.child(name)?;
        }
        Ok(folder)
    }

    /// `None`: nothing is there, or the path goes through a symlink.
    pub(super) fn stamp(&self, path: &Path) -> io::Result<Option<Stamp>> {
        let seen = self
            .parent_of(path)
            .and_then(|(folder, name)| Ok(statat(&folder.0, name, AtFlags::SYMLINK_NOFOLLOW)?));
        match seen {
            Ok(about) => Ok(Some(Stamp::new(&about))),
            Err(err) if is_absent(&err) => Ok(None),
            Err(err) => Err(err),
        }
    }

    /// Opens a regular file with its stamp. `None`: it is something else by now, which is not waited for.
    pub(super) fn open_file(&self, path: &Path) -> io::Result<Option<(File, Stamp)>> {
        let (folder, name) = self.parent_of(path)?;
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
        let file = openat(&folder.0, name, flags | OFlags::CLOEXEC, Mode::empty())?;
        let stamp = Stamp::new(&fstat(&file)?);
        Ok(stamp.is_file().then(|| (File::from(file), stamp)))
    }

    pub(super) fn read_link(&self, path: &Path) -> io::Result<OsString> {
        let (folder, name) = self.parent_of(path)?;
        let target = readlinkat(&folder.0, name, Vec::new())?;
        Ok(OsString::from_vec(target.into_bytes()))
    }

    /// Whether there is a directory with anything in it.
    pub(super) fn holds_something(&self, path: &Path) -> bool {
        let listed = self.descend(path).and_then(|folder| Ok(Dir::read_from(&folder.0)?));
        let is_entry = |name: &[u8]| name != b"." && name != b"..";
        listed.is_ok_and(|mut entries| {
            entries.any(|entry| entry.is_ok_and(|entry| is_entry(entry.file_name().to_bytes())))
        })
    }

    pub(super) fn can_read(&self, path: &Path) -> bool {
        self.parent_of(path).is_ok_and(|(folder, name)| {
            accessat(&folder.0, name, Access::READ_OK, AtFlags::empty()).is_ok()
        })
    }

    /// Whether git would take this for a git directory: HEAD, and objects and refs here or where `commondir` says.
    pub(super) fn is_layout(&self) -> bool {
        let is = |name: &str, kind: FileType| {
            let about = statat(&self.0, name, AtFlags::SYMLINK_NOFOLLOW);
            let found = about.map(|about| FileType::from_raw_mode(about.st_mode));
            found.is_ok_and(|found| found == kind || found == FileType::Symlink)
        };
        let has_parts = ["objects", "refs"].iter().all(|name| is(name, FileType::Directory));
        is("HEAD", FileType::RegularFile) && (has_parts || is("commondir", FileType::RegularFile))
    }

    /// Opens the directory of this name, or makes it. A file or symlink of this name is removed; a symlink is not
    /// followed.
    pub(super) fn ensure(&self, name: &OsStr) -> io::Result<Self> {
        if let Ok(folder) = self.child(name) {
            return Ok(folder);
        }
        self.remove(name)?;
        mkdirat(&self.0, name, Mode::from_raw_mode(0o700))?;
        self.child(name)
    }

    /// Opens the directory of this name, or makes it. Fails if something else has this name.
    pub(super) fn child_or_new(&self, name: &OsStr) -> io::Result<Self> {
        match mkdirat(&self.0, name, Mode::RWXU) {
            Ok(()) | Err(Errno::EXIST) => self.child(name),
            Err(err) => Err(err.into()),
        }
    }

    /// Opens the directory at this path, and makes all that are missing.
    pub(super) fn descend_or_new(&self, path: &Path) -> io::Result<Self> {
        let mut folder = self.descend(Path::new(""))?;
        for name in path {
            folder = folder.child_or_new(name)?;
        }
        Ok(folder)
    }

    /// Makes a file where there is nothing.
    pub(super) fn new_file(&self, name: &OsStr, mode: u32) -> io::Result<File> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let mode = Mode::from_raw_mode(mode);
        Ok(File::from(openat(&self.0, name, flags | OFlags::NOFOLLOW, mode)?))
    }

    /// Makes a symlink where there is nothing.
    pub(super) fn new_link(&self, name: &OsStr, target: &OsStr) -> io::Result<()> {
        Ok(symlinkat(target, &self.0, name)?)
    }

    /// Removes a file or symlink, if it is there.
    pub(super) fn remove(&self, name: &OsStr) -> io::Result<()> {
        match unlinkat(&self.0, name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(err) => Err(err.into()),
        }
    }

    pub(super) fn clear_unless_file(&self, name: &OsStr) -> io::Result<()> {
        match self.stamp(Path::new(name))? {
            Some(stamp) if !stamp.is_file() => self.clear(name),
            Some(_) | None => Ok(()),
        }
    }

    pub(super) fn make(&self, name: &OsStr) -> io::Result<()> {
        Ok(mkdirat(&self.0, name, Mode::from_raw_mode(0o777))?)
    }

    /// Makes a directory with this mode. By its descriptor: somebody may put a symlink in its place meanwhile.
    pub(super) fn make_with(&self, name: &OsStr, mode: u32) -> io::Result<()> {
        self.make(name)?;
        Ok(fchmod(self.child(name)?, Mode::from_raw_mode(mode))?)
    }

    /// Removes a directory only if it is empty.
    pub(super) fn remove_empty(&self, name: &OsStr) -> io::Result<()> {
        Ok(unlinkat(&self.0, name, AtFlags::REMOVEDIR)?)
    }

    /// Only for directories that nobody else writes: a symlink would be followed.
    pub(super) fn set_mode(&self, name: &OsStr, mode: u32) -> io::Result<()> {
        Ok(chmodat(&self.0, name, Mode::from_raw_mode(mode), AtFlags::empty())?)
    }

    /// Fails if the new name is taken.
    pub(super) fn move_to(&self, name: &OsStr, to: &Self, new_name: &OsStr) -> io::Result<()> {
        match renameat_with(&self.0, name, &to.0, new_name, RenameFlags::NOREPLACE) {
            Err(Errno::INVAL | Errno::NOSYS) => {}
            moved => return Ok(moved?),
        }
        // This file system cannot check and rename in one step.
        match statat(&to.0, new_name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(_) => Err(io::ErrorKind::AlreadyExists.into()),
            Err(_) => Ok(renameat(&self.0, name, &to.0, new_name)?),
        }
    }

    /// Exchanges two names in one step, so both exist at every moment. False: this file system cannot do it.
    pub(super) fn swap(&self, name: &OsStr, with: &Self, other: &OsStr) -> io::Result<bool> {
        match renameat_with(&self.0, name, &with.0, other, RenameFlags::EXCHANGE) {
            Err(Errno::INVAL | Errno::NOSYS) => Ok(false),
            Ok(()) => Ok(true),
            Err(err) => Err(err.into()),
        }
    }

    /// Replaces the file or symlink of this name. A symlink is replaced itself, not followed.
    pub(super) fn write(&self, name: &str, content: &[u8]) -> io::Result<()> {
        let part = format!(".{name}.kakehashi");
        let _ = unlinkat(&self.0, part.as_str(), AtFlags::empty());
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let file =
            openat(&self.0, part.as_str(), flags | OFlags::NOFOLLOW, Mode::from_raw_mode(0o666))?;
        File::from(file).write_all(content)?;
        Ok(renameat(&self.0, part.as_str(), &self.0, name)?)
    }
}

/// Nothing is there, or a part of the path is not a directory.
pub(super) fn is_absent(err: &io::Error) -> bool {
    let code = err.raw_os_error().map(Errno::from_raw_os_error);
    matches!(code, Some(Errno::NOENT | Errno::NOTDIR | Errno::LOOP))
}
