//! What is left out of lists and backups: whole names, and what the project's own `.gitignore` files say.
//! Nothing is ever compared with a part of a path.

use super::private::{self, Identity};
use crate::gitignore;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

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
            Self::Project { .. } => name == gitignore::NAME,
            Self::Temp | Self::Everything => false,
        }
    }
}

fn is_hidden(name: &OsStr) -> bool {
    name.as_encoded_bytes().starts_with(b".")
}

fn is_one_of(name: &OsStr, names: &[&str]) -> bool {
    names.iter().any(|known| name == *known)
}
