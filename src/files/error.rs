//! What can go wrong with files, in words for the user. No text names a directory of the server; paths are those below
//! the project.

use std::io::{self, ErrorKind};

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FileError {
    #[error("the server's disk is full; ask the operator to make room, then try again")]
    DiskFull,
    #[error("the server may not use its own directory; ask the operator to check its permissions")]
    NoPermission,
    #[error("the project directory is gone; ask the operator to check the configured project")]
    ProjectMissing,
    #[error("too many files of this name arrived in one second; wait a moment or rename the file")]
    TooManySameName,
    #[error("no backup holds this; choose another time or file")]
    NotInBackup,
    #[error(
        "nothing is restored: {path} is in the way and no backup holds it; move it away, then try again"
    )]
    InTheWay { path: String },
    #[error("several files are shown as {path}; rename them on the server, or restore everything")]
    Ambiguous { path: String },
    #[error("this is not a picture the gateway knows; send PNG, JPEG, GIF, WebP or BMP")]
    NotAnImage,
    #[error(
        "the server's storage failed ({reason}); try again, and tell the operator if it happens again"
    )]
    Storage { reason: ErrorKind },
    #[error("the gateway made a mistake; try again, and tell the operator if it happens again")]
    Internal,
}

const DISK_FULL: [ErrorKind; 3] =
    [ErrorKind::StorageFull, ErrorKind::QuotaExceeded, ErrorKind::FileTooLarge];
const NO_PERMISSION: [ErrorKind; 2] = [ErrorKind::PermissionDenied, ErrorKind::ReadOnlyFilesystem];

/// The error's own text is left out: it may name a path.
impl From<io::Error> for FileError {
    fn from(err: io::Error) -> Self {
        let reason = err.kind();
        if DISK_FULL.contains(&reason) {
            Self::DiskFull
        } else if NO_PERMISSION.contains(&reason) {
            Self::NoPermission
        } else {
            Self::Storage { reason }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operating_system_errors_become_advice() {
        for (code, expected) in [
            (28, FileError::DiskFull),
            (13, FileError::NoPermission),
            (30, FileError::NoPermission),
        ] {
            assert_eq!(FileError::from(io::Error::from_raw_os_error(code)), expected);
        }
    }

    #[test]
    fn paths_stay_secret() {
        let err = FileError::from(io::Error::new(ErrorKind::NotFound, "/secret/place"));
        assert!(!err.to_string().contains("secret"), "{err}");
    }
}
