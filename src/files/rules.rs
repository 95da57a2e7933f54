//! What is left out of lists and backups: whole names, and what the project's own `.gitignore` files say.
//! Nothing is ever compared with a part of a path.

use super::private::{self, Identity};
use crate::gitignore;
use crate::workplace::{DESKTOP_FILES, GENERATED, is_dot_git};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// What the gateway itself puts into a project for a moment begins with this.
const OURS: &[u8] = b".kakehashi-";

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
            Self::Project { .. } => !is_one_of(name, &DESKTOP_FILES) && !is_dot_git(name),
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
                    && !is_dot_git(name)
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
