//! Copies one file, sharing its blocks where the file system can. Nothing outside the two directories is touched:
//! paths are resolved by descriptor.

use super::super::rights;
use super::super::tree::Stamp;
use crate::regular;
use cap_std::fs::{Dir, OpenOptions, OpenOptionsExt};
use rustix::fs::ioctl_ficlone;
use std::fs::Permissions;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// Returns what was copied, which may be newer than what was expected.
pub(super) fn copy_file(from: &Dir, to: &Dir, path: &Path) -> io::Result<Stamp> {
    let mut source = regular::open_below(from, path)?;
    let about = source.metadata()?;
    if let Some(parent) = path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        rights::make_directory_below(to, parent)?;
    }
    let mut options = OpenOptions::new();
    let copy = to.open_with(path, options.write(true).create_new(true).mode(rights::FILE))?;
    let modified = about.modified()?;
    let mode = about.permissions().mode() & 0o777;
    let mut copy = copy.into_std();
    if ioctl_ficlone(&copy, &source).is_err() {
        io::copy(&mut source, &mut copy)?;
    }
    // The time goes last: until then nobody takes the copy for a complete one.
    copy.set_permissions(Permissions::from_mode(mode))?;
    copy.set_modified(modified)?;
    Ok(Stamp { modified, size: about.len() })
}
