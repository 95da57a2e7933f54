//! Files that git ignores and agents need all the same, such as `.env`: `.worktreeinclude` in the project names them
//! with patterns as in `.gitignore`, and a new worktree gets copies.

use super::index::{Index, paths};
use super::{GitError, Repository};
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::Path;
use tracing::warn;

const PATTERNS: &str = ".worktreeinclude";
/// Somebody who names `node_modules` here should install it instead.
const MOST_FILES: usize = 1_000;
const MOST_BYTES: u64 = 64 << 20;

impl Repository {
    /// Copies what is named and not there yet. What cannot be copied is missing, and the log says so.
    pub(super) fn include(&self, top: &Path) -> Result<(), GitError> {
        let patterns = self.top().join(self.prefix()).join(PATTERNS);
        if !patterns.is_file() {
            return Ok(());
        }
        let index = Index::of_project(self)?;
        let mut option = std::ffi::OsString::from("--exclude-from=");
        option.push(&patterns);
        let git = index.git("ls-files").args(["-z", "--others", "--ignored"]).arg(option).arg("--");
        let listed =
            if self.prefix().as_os_str().is_empty() { git } else { git.arg(self.prefix()) };
        let mut left = MOST_BYTES;
        for path in paths(&listed.read()?).iter().take(MOST_FILES) {
            if let Err(err) = self.include_one(top, path, &mut left) {
                warn!(%err, path = %path.display(), "a file could not be copied into a worktree");
            }
        }
        Ok(())
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
            fs::copy(&from, &to).map(drop)
        } else {
            Ok(())
        }
    }
}
