//! What is left out of lists and backups: whole names, and what the project's own `.gitignore` files say.
//! Nothing is ever compared with a part of a path.

use super::private::{self, Identity};
use super::regular;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use std::ffi::OsStr;
use std::io::Read;
use std::path::{Path, PathBuf};

pub(super) const GITIGNORE: &str = ".gitignore";
/// Longer ones are read so far.
const LONGEST_GITIGNORE: u64 = 1 << 20;
/// Directories that tools make or that are none of a project's own work. What people write, such as `.github` and
/// `.vscode`, is not among them.
const GENERATED: [&str; 38] = [
    "__pycache__",
    "venv",
    "node_modules",
    "dist",
    "build",
    "target",
    "backup",
    "temp",
    "logs",
    "_data",
    ".git",
    ".hg",
    ".svn",
    ".jj",
    ".venv",
    ".tox",
    ".nox",
    ".mypy_cache",
    ".pytest_cache",
    ".ruff_cache",
    ".ipynb_checkpoints",
    ".cache",
    ".output",
    ".nuxt",
    ".next",
    ".svelte-kit",
    ".vite",
    ".turbo",
    ".parcel-cache",
    ".angular",
    ".npm",
    ".pnpm-store",
    ".yarn",
    ".gradle",
    ".terraform",
    ".local",
    ".ssh",
    ".gnupg",
];
/// What the gateway itself puts into a project for a moment begins with this.
const OURS: &[u8] = b".kakehashi-";
const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";
const DESKTOP_FILES: [&str; 2] = [".DS_Store", "Thumbs.db"];

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Rules {
    Project {
        /// The gateway's own directory is no part of a project that happens to hold it.
        data: PathBuf,
        /// Nor are the operator's own files.
        private: Vec<PathBuf>,
    },
    /// Hidden files are uploads that are not complete yet.
    Temp,
    /// In a backup there is only what was wanted.
    Everything,
}

impl Rules {
    /// Looks at the name only.
    pub(super) fn wants_file(&self, name: &OsStr) -> bool {
        match self {
            Self::Everything => true,
            Self::Temp => !is_hidden(name),
            Self::Project { .. } => !is_one_of(name, &DESKTOP_FILES),
        }
    }

    /// Looks at the name only; `path` is absolute.
    pub(super) fn wants_directory(&self, path: &Path) -> bool {
        let name = path.file_name().unwrap_or_default();
        match self {
            Self::Everything => true,
            Self::Temp => !is_hidden(name),
            Self::Project { data, .. } => {
                !name.as_encoded_bytes().starts_with(OURS)
                    && !is_one_of(name, &GENERATED)
                    && path != data
            }
        }
    }

    /// What these files are called does not matter.
    pub(super) fn unwanted(&self) -> Vec<Identity> {
        match self {
            Self::Project { private, .. } => private::identities(private),
            Self::Temp | Self::Everything => Vec::new(),
        }
    }

    /// Whether a file of this name changes what is wanted.
    pub(super) fn is_rule_file(&self, name: &OsStr) -> bool {
        match self {
            Self::Project { .. } => name == GITIGNORE,
            Self::Temp | Self::Everything => false,
        }
    }
}

/// The directory's own rules; lines that cannot be understood are passed over, and like git we follow no link.
pub(super) fn read_gitignore(directory: &Path) -> Option<Gitignore> {
    let path = directory.join(GITIGNORE);
    let mut text = Vec::new();
    regular::open(&path).ok()?.take(LONGEST_GITIGNORE).read_to_end(&mut text).ok()?;
    if text.len() as u64 == LONGEST_GITIGNORE {
        // Half a line would be another rule.
        let end = text.iter().rposition(|byte| *byte == b'\n')?;
        text.truncate(end);
    }
    let text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&text);
    let mut builder = GitignoreBuilder::new(directory);
    for line in text.split(|byte| *byte == b'\n').filter_map(|line| str::from_utf8(line).ok()) {
        let line = line.strip_suffix('\r').unwrap_or(line);
        let _ = builder.add_line(Some(path.clone()), line);
    }
    builder.build().ok().filter(|rules| !rules.is_empty())
}

/// Asks the nearest rules first; the first that know the path decide.
pub(super) fn is_ignored<'a>(
    rules: impl IntoIterator<Item = &'a Gitignore>,
    path: &Path,
    is_dir: bool,
) -> bool {
    let decided = rules.into_iter().map(|rules| rules.matched(path, is_dir));
    decided.into_iter().find(|answer| !answer.is_none()).is_some_and(|answer| answer.is_ignore())
}

fn is_hidden(name: &OsStr) -> bool {
    name.as_encoded_bytes().starts_with(b".")
}

fn is_one_of(name: &OsStr, names: &[&str]) -> bool {
    names.iter().any(|known| name == *known)
}
