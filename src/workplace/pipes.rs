//! Pipes in the place of files that git reads whenever it looks at a directory. Git would wait for somebody to write
//! into them, with our lock in its hands.

use super::GitError;
use super::folder::Folder;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use tracing::warn;

const READ: [&str; 2] = [".gitignore", ".gitattributes"];

/// Whose files they are among.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Owner {
    /// Nothing is lost with a pipe, so it is removed.
    Agent,
    /// We remove nothing; the user is told.
    User,
}

pub(super) fn remove(top: &Path, owner: Owner) -> Result<(), GitError> {
    for path in find(top) {
        let name = path.display().to_string();
        match owner {
            Owner::User => return Err(GitError::Pipe { path: name }),
            Owner::Agent => {
                warn!(path = name, "git waited for a pipe of an agent, which is removed");
                take_away(top, &path).map_err(GitError::io("removing a pipe"))?;
            }
        }
    }
    Ok(())
}

/// Relative to `top`. The search uses paths, so it goes no deeper than git does.
fn find(top: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut waiting = vec![PathBuf::new()];
    while let Some(directory) = waiting.pop() {
        for entry in fs::read_dir(top.join(&directory)).into_iter().flatten().flatten() {
            let Ok(kind) = entry.file_type() else { continue };
            let path = directory.join(entry.file_name());
            if kind.is_dir() {
                waiting.push(path);
            } else if kind.is_fifo() && is_read(&entry.file_name()) {
                found.push(path);
            }
        }
    }
    found
}

fn is_read(name: &OsStr) -> bool {
    READ.iter().any(|read| name.eq_ignore_ascii_case(read))
}

fn take_away(top: &Path, path: &Path) -> io::Result<()> {
    let (folder, name) = Folder::open(top)?.parent_of(path)?;
    folder.remove(&name)
}
