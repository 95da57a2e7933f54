//! What makes a directory a linked worktree of the repository: a `.git` file in it, and a folder of its own below
//! `.git/worktrees`. Agents write both, so they are put right before every run and never read.

use super::folder::Folder;
use super::private::{make_directory, remove_file};
use super::{CommitId, GitError, Repository};
use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

const DOT_GIT: &str = ".git";

/// The two ends of it.
#[derive(Debug, Clone)]
pub(super) struct Link {
    /// Where the files are.
    pub(super) top: PathBuf,
    /// The folder below `.git/worktrees`.
    pub(super) folder: PathBuf,
}

impl Link {
    pub(super) fn new(repository: &Repository, name: &str, top: &Path) -> Self {
        let folder = repository.common_dir().join("worktrees").join(format!("kakehashi-{name}"));
        Self { top: top.to_owned(), folder }
    }

    /// Whatever was there before: HEAD is this commit, and git begins with this index, so nothing is staged.
    pub(super) fn set(&self, head: &CommitId, index: &Path) -> Result<(), GitError> {
        let set = || {
            self.put_right()?;
            write(&self.folder, "HEAD", format!("{head}\n").as_bytes())?;
            write(&self.folder, "index", &fs::read(index)?)?;
            remove_file(&self.folder.join("index.lock"))
        };
        set().map_err(GitError::io("linking a worktree"))
    }

    /// Whatever an agent has made of it, git works in there again. Its own commits stay.
    pub(super) fn repair(&self) -> Result<(), GitError> {
        self.put_right().map_err(GitError::io("linking a worktree"))
    }

    /// Without these there is nothing to repair.
    pub(super) fn has_head(&self) -> bool {
        self.has_plain("HEAD") && self.has_plain("index")
    }

    fn put_right(&self) -> io::Result<()> {
        let mut back = b"gitdir: ".to_vec();
        back.extend_from_slice(self.folder.as_os_str().as_bytes());
        back.push(b'\n');
        write(&self.top, DOT_GIT, &back)?;
        let worktrees = self.folder.parent().unwrap_or(Path::new("/"));
        fs::create_dir_all(worktrees)?;
        make_directory(&self.folder)?;
        // The name of the other end goes first: git removes folders that lead nowhere.
        let mut there = self.top.join(DOT_GIT).into_os_string().as_bytes().to_vec();
        there.push(b'\n');
        write(&self.folder, "gitdir", &there)?;
        write(&self.folder, "commondir", b"../..\n")
    }

    pub(super) fn has_folder(&self) -> bool {
        self.folder.symlink_metadata().is_ok_and(|about| about.is_dir())
    }

    fn has_plain(&self, name: &str) -> bool {
        self.folder.join(name).symlink_metadata().is_ok_and(|about| about.is_file())
    }

    pub(super) fn remove(&self) -> Result<(), GitError> {
        remove_tree(&self.top).map_err(GitError::io("removing a worktree"))?;
        remove_tree(&self.folder).map_err(GitError::io("removing a worktree"))
    }
}

/// A directory that has taken the place of the file is removed.
fn write(directory: &Path, name: &str, content: &[u8]) -> io::Result<()> {
    let path = directory.join(name);
    if path.symlink_metadata().is_ok_and(|about| about.is_dir()) {
        remove_tree(&path)?;
    }
    Folder::open(directory)?.write(name, content)
}

/// Links are removed, not followed. Directories that nobody may write are opened first.
pub(super) fn remove_tree(path: &Path) -> io::Result<()> {
    for attempt in 0..2 {
        match fs::remove_dir_all(path) {
            Err(err) if err.kind() == ErrorKind::PermissionDenied && attempt == 0 => {
                Folder::open_up(path)?;
            }
            Err(err) if err.kind() != ErrorKind::NotFound => return Err(err),
            Ok(()) | Err(_) => break,
        }
    }
    Ok(())
}
