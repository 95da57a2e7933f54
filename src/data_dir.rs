//! The data directory belongs to one running gateway at a time, for as long as this value lives.

use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

const LOCK: &str = "kakehashi.lock";

/// Keeps other gateways out; the system gives the lock back even after `kill -9`.
#[derive(Debug)]
pub struct DataDir {
    _lock: File,
}

#[derive(Debug, thiserror::Error)]
pub enum DataDirError {
    #[error("cannot write to data directory {}: {reason}", path.display())]
    Unwritable { path: PathBuf, reason: io::Error },
    #[error("data directory {} is in use by another running gateway", .0.display())]
    InUse(PathBuf),
}

impl DataDir {
    /// Makes the directory if needed, readable for this user only, and takes it.
    pub fn open(path: &Path) -> Result<Self, DataDirError> {
        let unwritable = |reason| DataDirError::Unwritable { path: path.to_owned(), reason };
        DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(unwritable)?;
        let lock = lock_file(path).map_err(unwritable)?;
        match lock.try_lock() {
            Ok(()) => (),
            Err(TryLockError::WouldBlock) => return Err(DataDirError::InUse(path.to_owned())),
            Err(TryLockError::Error(reason)) => return Err(unwritable(reason)),
        }
        probe(path).map_err(unwritable)?;
        Ok(Self { _lock: lock })
    }
}

/// The rights of the directory, if others on this machine have any.
pub fn open_to_others(path: &Path) -> Option<u32> {
    let mode = path.metadata().ok()?.permissions().mode() & 0o777;
    (mode & 0o077 != 0).then_some(mode)
}

/// Whether a running gateway holds the directory. Nothing is made for this, and nothing is kept: only a gateway that
/// starts in this very moment could be turned away.
pub fn is_taken(path: &Path) -> io::Result<bool> {
    let lock = match File::open(path.join(LOCK)) {
        Ok(lock) => lock,
        Err(err)
            if matches!(err.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) =>
        {
            return Ok(false);
        }
        Err(err) => return Err(err),
    };
    match lock.try_lock_shared() {
        Ok(()) => Ok(false),
        Err(TryLockError::WouldBlock) => Ok(true),
        Err(TryLockError::Error(reason)) => Err(reason),
    }
}

fn lock_file(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.create(true).truncate(false).write(true).mode(0o600);
    options.open(path.join(LOCK))
}

/// The lock file may be older than a change of rights, so only a new file shows that we can still make one.
fn probe(path: &Path) -> io::Result<()> {
    let file = path.join("kakehashi.probe");
    std::fs::write(&file, b"x")?;
    std::fs::remove_file(&file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_has_one_owner_at_a_time() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("new/data");
        assert!(!is_taken(&path).unwrap());
        let first = DataDir::open(&path).unwrap();
        assert!(is_taken(&path).unwrap());
        let refused = DataDir::open(&path).unwrap_err();
        assert!(matches!(refused, DataDirError::InUse(_)), "{refused}");
        drop(first);
        assert!(!is_taken(&path).unwrap());
        DataDir::open(&path).unwrap();
    }

    #[test]
    fn a_file_is_no_data_directory() {
        let refused = DataDir::open(Path::new("/dev/null/data")).unwrap_err();
        assert!(
            refused.to_string().starts_with("cannot write to data directory /dev/null/data: "),
            "{refused}"
        );
    }
}
