//! Checks that the database file was not deleted or replaced. Writes to a deleted file succeed, but are lost.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

#[derive(Debug)]
pub(super) struct DatabaseFile {
    path: PathBuf,
    file: FileId,
}

/// Device and inode.
type FileId = (u64, u64);

impl DatabaseFile {
    pub(super) fn of(path: &Path) -> io::Result<Self> {
        Ok(Self { path: path.to_owned(), file: file_id(path)? })
    }

    /// The reason if the file was removed or replaced.
    pub(super) fn check(&self) -> Result<(), String> {
        match file_id(&self.path) {
            Ok(file) if file == self.file => Ok(()),
            Ok(_) => Err("the database file was replaced; restart the gateway".to_owned()),
            Err(_) => {
                Err("the database file was removed; restore it or restart the gateway".to_owned())
            }
        }
    }
}

fn file_id(path: &Path) -> io::Result<FileId> {
    let about = fs::metadata(path)?;
    Ok((about.dev(), about.ino()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_removed_or_replaced_file_is_noticed() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("x.db");
        fs::write(&path, "1").unwrap();
        let opened = DatabaseFile::of(&path).unwrap();
        assert_eq!(opened.check(), Ok(()));
        fs::rename(&path, home.path().join("away.db")).unwrap();
        assert!(opened.check().unwrap_err().contains("removed"));
        fs::write(&path, "2").unwrap();
        assert!(opened.check().unwrap_err().contains("replaced"));
    }
}
