//! Files that git ignores and agents need all the same, such as `.env`: `.worktreeinclude` in the project names them
//! with patterns as in `.gitignore`, and a new worktree gets copies.

use super::index::{Index, paths};
use super::repository::small_file;
use super::{GitError, Repository};
use crate::regular;
use std::ffi::{OsStr, OsString};
use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::fs::{OpenOptionsExt, symlink};
use std::path::Path;
use tracing::warn;

const PATTERNS: &str = ".worktreeinclude";
/// Limits of what is copied. Whoever names `node_modules` here should install it instead.
const MOST_FILES: usize = 1_000;
const MOST_BYTES: u64 = 64 << 20;

impl Repository {
    /// Copies files that are named and not there yet. A file that cannot be copied is logged and stays missing.
    pub(super) fn include(&self, top: &Path) -> Result<(), GitError> {
        let patterns = self.project_in(self.top()).join(PATTERNS);
        let Some(patterns) = small_file(&patterns) else { return Ok(()) };
        let mut left = MOST_BYTES;
        for path in self.named(&patterns)?.iter().take(MOST_FILES) {
            if let Err(err) = self.include_one(top, path, &mut left) {
                warn!(%err, path = %path.display(), "a file could not be copied into a worktree");
            }
        }
        Ok(())
    }

    /// Git gets a copy of the patterns, because it would follow a symlink and block on a pipe.
    fn named(&self, patterns: &[u8]) -> Result<Vec<OsString>, GitError> {
        let index = Index::of_project(self)?;
        let copy = index.path().with_extension("include");
        fs::write(&copy, patterns).map_err(GitError::io("writing patterns for git"))?;
        let mut option = OsString::from("--exclude-from=");
        option.push(&copy);
        let git = index.git("ls-files").args(["-z", "--others", "--ignored"]).arg(option).arg("--");
        let listed =
            if self.prefix().as_os_str().is_empty() { git } else { git.arg(self.prefix()) };
        let listed = listed.read();
        let _ = fs::remove_file(&copy);
        Ok(paths(&listed?))
    }

    fn include_one(&self, top: &Path, path: &OsStr, left: &mut u64) -> io::Result<()> {
        let (from, to) = (self.top().join(path), top.join(path));
        let about = from.symlink_metadata()?;
        if self.is_hidden(&from) || to.symlink_metadata().is_ok() {
            return Ok(());
        }
        *left = left.checked_sub(about.len()).ok_or(io::ErrorKind::FileTooLarge)?;
        if let Some(parent) = to.parent() {
            fs::create_dir_all(parent)?;
        }
        if about.is_symlink() {
            symlink(fs::read_link(&from)?, &to)
        } else if about.is_file() {
            copy(&from, &to)
        } else {
            Ok(())
        }
    }
}

/// A file may have become a symlink to somewhere else by now, which is not followed.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    let mut source = regular::open(from)?;
    let rights = source.metadata()?.permissions();
    // Nobody else can read the copy before its permissions are set.
    let mut copy = OpenOptions::new().write(true).create_new(true).mode(0o600).open(to)?;
    let copied = io::copy(&mut source, &mut copy).and_then(|_| copy.set_permissions(rights));
    if copied.is_err() {
        // A partial copy would be taken for a complete one the next time.
        let _ = fs::remove_file(to);
    }
    copied
}
