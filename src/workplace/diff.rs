//! Differences between two trees as text.

use super::{GitError, Repository, TreeId};
use std::ffi::OsString;

/// Longest diff, in bytes. Nobody reads more than this.
const LONGEST: usize = 1 << 20;

/// A unified diff. Of binary files it says only that they differ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diff {
    pub text: String,
    /// The end is missing, but the last line is complete.
    pub truncated: bool,
}

impl Repository {
    /// Diff of the whole project, or of one changed file, by its path in [`Repository::changes`].
    pub fn diff(&self, from: &TreeId, to: &TreeId, path: Option<&str>) -> Result<Diff, GitError> {
        let mut git = self.content("diff-tree", &[]);
        git = git.args(["-r", "-p", "-M", "--no-color", "--no-ext-diff", "--no-textconv"]);
        git = git.args(["--src-prefix=a/", "--dst-prefix=b/"]);
        if let Some(relative) = self.relative() {
            git = git.arg(relative);
        }
        git = git.arg(from.as_str()).arg(to.as_str()).arg("--");
        if let Some(path) = path {
            for exact in self.exact_paths(from, to, path)? {
                git = git.arg(self.prefix().join(exact));
            }
        }
        let output = git.most(LONGEST).run()?;
        if output.code != 0 {
            return Err(GitError::from_stderr("diff-tree", &output.stderr));
        }
        let mut bytes = output.stdout;
        if output.cut {
            let end = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
            bytes.truncate(end);
        }
        let text = String::from_utf8_lossy(&bytes).into_owned();
        Ok(Diff { text, truncated: output.cut })
    }

    /// Exact paths of a changed file. A name that is not UTF-8 is found by the way it is shown.
    fn exact_paths(
        &self,
        from: &TreeId,
        to: &TreeId,
        path: &str,
    ) -> Result<Vec<OsString>, GitError> {
        let changes = self.renames(from, to)?;
        let found = changes.into_iter().find(|change| change.path.to_string_lossy() == path);
        let change = found.ok_or_else(|| GitError::NoSuchFile { path: path.to_owned() })?;
        Ok([Some(change.path), change.old_path].into_iter().flatten().collect())
    }
}
