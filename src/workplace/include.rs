//! Files that git ignores and agents need all the same, such as `.env`: `.worktreeinclude` in the project names them
//! with patterns as in `.gitignore`, and a new worktree gets copies.

use super::folder::Folder;
use super::index::{Index, paths};
use super::repository::small_file;
use super::{GitError, Repository};
use std::ffi::OsString;
use std::fs::{self, Permissions};
use std::io::{self, Read};
use std::os::unix::fs::PermissionsExt;
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
        let open = |path: &Path| Folder::open(path).map_err(GitError::io("copying ignored files"));
        let (from, to) = (open(self.top())?, open(top)?);
        let mut left = MOST_BYTES;
        for path in self.named(&patterns)?.iter().take(MOST_FILES).map(Path::new) {
            if self.is_hidden(&self.top().join(path)) {
                continue;
            }
            if let Err(err) = include_one(&from, &to, path, &mut left) {
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
        let listed = index.look(|| {
            let git = index.git("ls-files").args(["-z", "--others", "--ignored"]).arg(&option);
            index.only_project(git.arg("--"))
        });
        let _ = fs::remove_file(&copy);
        Ok(paths(&listed?))
    }
}

/// Uses descriptors on both sides. A directory of the project may have become a symlink by now, and the worktree may
/// have a symlink of an agent where the project has a directory; neither is followed.
fn include_one(from: &Folder, to: &Folder, path: &Path, left: &mut u64) -> io::Result<()> {
    let Some(stamp) = from.stamp(path)?.filter(|stamp| stamp.is_file() || stamp.is_link()) else {
        return Ok(());
    };
    if to.stamp(path)?.is_some() {
        return Ok(());
    }
    *left = left.checked_sub(stamp.size()).ok_or(io::ErrorKind::FileTooLarge)?;
    let name = path.file_name().unwrap_or_default();
    let room = to.descend_or_new(path.parent().unwrap_or(Path::new("")))?;
    if stamp.is_link() {
        return room.new_link(name, &from.read_link(path)?);
    }
    let Some((source, stamp)) = from.open_file(path)? else { return Ok(()) };
    // Nobody else can read the copy before its permissions are set.
    let mut copy = room.new_file(name, 0o600)?;
    let rights = Permissions::from_mode(stamp.mode & 0o777);
    let copied = io::copy(&mut source.take(MOST_BYTES), &mut copy)
        .and_then(|_| copy.set_permissions(rights));
    if copied.is_err() {
        // A partial copy would be taken for a complete one the next time.
        let _ = room.remove(name);
    }
    copied
}
