//! A file that appears when it is complete, and never in the place of another.

use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::io::Errno;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Dropped before it is kept, it leaves nothing behind.
#[derive(Debug)]
pub(super) struct Output {
    path: PathBuf,
    part: PathBuf,
}

impl Output {
    /// The file is written under a hidden name beside its own.
    pub(super) fn create(path: &Path) -> io::Result<(Self, File)> {
        if path.symlink_metadata().is_ok() {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        let mut hidden = std::ffi::OsString::from(".");
        hidden.push(path.file_name().ok_or(io::ErrorKind::InvalidInput)?);
        hidden.push(format!(".{}.part", std::process::id()));
        let part = path.with_file_name(hidden);
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&part)?;
        Ok((Self { path: path.to_owned(), part }, file))
    }

    /// Gives the file its name, unless somebody has taken it meanwhile.
    pub(super) fn keep(self) -> io::Result<()> {
        match renameat_with(CWD, &self.part, CWD, &self.path, RenameFlags::NOREPLACE) {
            // Not every file system can promise it; then only the look at the start does.
            Err(Errno::INVAL | Errno::NOSYS) if self.path.symlink_metadata().is_err() => {
                std::fs::rename(&self.part, &self.path)
            }
            renamed => Ok(renamed?),
        }
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        // Kept ones are not there under this name any more.
        let _ = std::fs::remove_file(&self.part);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn names(directory: &Path) -> Vec<String> {
        let entries = std::fs::read_dir(directory).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }

    #[test]
    fn a_file_appears_whole_or_not_at_all() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.tar");
        let (output, mut file) = Output::create(&path).unwrap();
        file.write_all(b"half").unwrap();
        assert!(!path.exists());
        drop(output);
        assert_eq!(names(dir.path()), [""; 0]);
        let (output, mut file) = Output::create(&path).unwrap();
        file.write_all(b"whole").unwrap();
        output.keep().unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"whole");
        assert_eq!(names(dir.path()), ["a.tar"]);
    }

    #[test]
    fn nothing_is_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.tar");
        let (late, _) = Output::create(&path).unwrap();
        std::fs::write(&path, "other").unwrap();
        assert_eq!(Output::create(&path).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(late.keep().unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(std::fs::read(&path).unwrap(), b"other");
        assert_eq!(names(dir.path()), ["a.tar"]);
    }
}
