//! What users have sent and what was backed up is for nobody else on this machine, whoever made the data directory.

use cap_std::fs::{Dir, DirBuilder as DirBuilderBelow, DirBuilderExt as _};
use std::fs::{self, DirBuilder, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt};
use std::path::Path;
use tracing::warn;

const DIRECTORY: u32 = 0o700;
/// Of a file that only we need.
pub(super) const FILE: u32 = 0o600;

/// With all that is missing above it.
pub(super) fn make_directory(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(DIRECTORY).create(path)
}

/// The same below a directory that must not be left.
pub(super) fn make_directory_below(root: &Dir, path: &Path) -> io::Result<()> {
    root.create_dir_with(path, DirBuilderBelow::new().recursive(true).mode(DIRECTORY))
}

/// Closes a directory that was made with wider rights; with it all that is below is out of reach.
pub(super) fn tighten(directory: &Path) {
    let Ok(about) = fs::metadata(directory) else { return };
    if about.permissions().mode() & 0o077 == 0 {
        return;
    }
    if let Err(err) = fs::set_permissions(directory, Permissions::from_mode(DIRECTORY)) {
        let path = directory.display();
        warn!(%err, %path, "others on this machine may read this directory");
    }
}
