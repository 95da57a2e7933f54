//! Opens files that others may have replaced by anything. A pipe keeps nobody waiting, and a device is no file.

use cap_std::fs::{Dir, OpenOptions, OpenOptionsExt};
use rustix::fs::{CWD, Mode, OFlags, openat};
use std::fs::File;
use std::io::{self, ErrorKind};
use std::path::Path;

/// Links are followed, but not out of the directory.
pub fn open_below(directory: &Dir, path: &Path) -> io::Result<File> {
    let flags = i32::try_from(OFlags::NONBLOCK.bits()).unwrap_or_default();
    let file = directory.open_with(path, OpenOptions::new().read(true).custom_flags(flags))?;
    checked(file.into_std())
}

/// A link in its place is not followed.
pub fn open(path: &Path) -> io::Result<File> {
    let flags =
        OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    checked(File::from(openat(CWD, path, flags, Mode::empty())?))
}

fn checked(file: File) -> io::Result<File> {
    if file.metadata()?.is_file() { Ok(file) } else { Err(ErrorKind::InvalidInput.into()) }
}
