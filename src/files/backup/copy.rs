//! Copies one file, sharing its blocks where the file system can. Nothing outside the two directories is touched:
//! paths are resolved by descriptor.

use super::super::rights;
use super::super::tree::Stamp;
use cap_std::fs::{Dir, File, OpenOptions, OpenOptionsExt, Permissions, PermissionsExt};
use rustix::fs::{OFlags, ioctl_ficlone};
use std::io;
use std::path::Path;

/// Returns what was copied, which may be newer than what was expected.
pub(super) fn copy_file(from: &Dir, to: &Dir, path: &Path) -> io::Result<Stamp> {
    let source = open(from, path)?;
    let about = source.metadata()?;
    if !about.is_file() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    if let Some(parent) = path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        rights::make_directory_below(to, parent)?;
    }
    let mut options = OpenOptions::new();
    let copy = to.open_with(path, options.write(true).create_new(true).mode(rights::FILE))?;
    let modified = about.modified()?.into_std();
    let mode = about.permissions().mode() & 0o777;
    let (mut source, mut copy) = (source.into_std(), copy.into_std());
    if ioctl_ficlone(&copy, &source).is_err() {
        io::copy(&mut source, &mut copy)?;
    }
    // The time goes last: until then nobody takes the copy for a complete one.
    copy.set_permissions(Permissions::from_mode(mode).into_std(&copy)?)?;
    copy.set_modified(modified)?;
    Ok(Stamp { modified, size: about.len() })
}

/// A pipe that has taken the file's place must not keep us waiting.
fn open(from: &Dir, path: &Path) -> io::Result<File> {
    let flags = i32::try_from(OFlags::NONBLOCK.bits()).unwrap_or_default();
    from.open_with(path, OpenOptions::new().read(true).custom_flags(flags))
}
