//! Differences between two trees, file by file.

use super::index::Extent;
use super::{GitError, Repository, TreeId};
use crate::message::{ChangeStatus as Status, FileChange};
use std::collections::HashMap;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;

/// Further changes are counted, but not listed.
const MOST_TOLD: usize = 2_000;

/// The first changed files, sorted by path. Paths are relative to the project, with slashes; bytes that are not UTF-8
/// are replaced.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Changes {
    pub files: Vec<FileChange>,
    /// How many there are, listed or not.
    pub total: usize,
}

impl Changes {
    pub fn is_cut(&self) -> bool {
        self.files.len() < self.total
    }
}

/// One line of git's list, unchanged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RawChange {
    /// Relative to the repository or to the project, depending on the extent.
    pub(super) path: OsString,
    pub(super) old_path: Option<OsString>,
    pub(super) status: Status,
    pub(super) old_mode: Mode,
    pub(super) old_hash: String,
    pub(super) new_mode: Mode,
    pub(super) new_hash: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    Nothing,
    File,
    Executable,
    Link,
    Submodule,
}

impl Mode {
    fn parse(text: &str) -> Self {
        match text {
            "100755" => Self::Executable,
            "120000" => Self::Link,
            "160000" => Self::Submodule,
            "000000" => Self::Nothing,
            _ => Self::File,
        }
    }

    pub(super) fn octal(self) -> &'static str {
        match self {
            Self::Nothing => "0",
            Self::File => "100644",
            Self::Executable => "100755",
            Self::Link => "120000",
            Self::Submodule => "160000",
        }
    }
}

type Lines = (Option<u32>, Option<u32>);

impl Repository {
    /// Changes of the project's files, with renames.
    pub fn changes(&self, from: &TreeId, to: &TreeId) -> Result<Changes, GitError> {
        self.counted(from, to, "-M", MOST_TOLD)
    }

    /// All changes; a rename is a removal and an addition.
    pub(super) fn changes_without_renames(
        &self,
        from: &TreeId,
        to: &TreeId,
    ) -> Result<Changes, GitError> {
        self.counted(from, to, "--no-renames", usize::MAX)
    }

    fn counted(
        &self,
        from: &TreeId,
        to: &TreeId,
        renames: &str,
        most: usize,
    ) -> Result<Changes, GitError> {
        let (raw, lines) = self.compare(from, to, Extent::Project, &[renames, "--numstat"])?;
        let total = raw.len();
        let files = raw.into_iter().take(most).map(|change| told(change, &lines)).collect();
        Ok(Changes { files, total })
    }

    /// Each path by itself, for callers that are going to write the files.
    pub(super) fn differences(
        &self,
        from: &TreeId,
        to: &TreeId,
        extent: Extent,
    ) -> Result<Vec<RawChange>, GitError> {
        Ok(self.compare(from, to, extent, &["--no-renames"])?.0)
    }

    pub(super) fn renames(&self, from: &TreeId, to: &TreeId) -> Result<Vec<RawChange>, GitError> {
        Ok(self.compare(from, to, Extent::Project, &["-M"])?.0)
    }

    fn compare(
        &self,
        from: &TreeId,
        to: &TreeId,
        extent: Extent,
        options: &[&str],
    ) -> Result<(Vec<RawChange>, HashMap<OsString, Lines>), GitError> {
        if from == to {
            return Ok((Vec::new(), HashMap::new()));
        }
        let mut git = self.content("diff-tree", &[]);
        git = git.args(["-r", "-z", "--raw", "--no-abbrev", "--no-ext-diff", "--no-textconv"]);
        for option in options {
            git = git.arg(option);
        }
        if let (Extent::Project, Some(relative)) = (extent, self.relative()) {
            git = git.arg(relative);
        }
        Ok(parse(&git.arg(from.as_str()).arg(to.as_str()).read()?))
    }

    /// The option that limits git to the project.
    pub(super) fn relative(&self) -> Option<OsString> {
        let prefix = self.prefix().as_os_str();
        let mut option = OsString::from("--relative=");
        option.push(prefix);
        option.push("/");
        (!prefix.is_empty()).then_some(option)
    }
}

fn told(change: RawChange, lines: &HashMap<OsString, Lines>) -> FileChange {
    let (added, removed) = lines.get(&change.path).copied().unwrap_or_default();
    FileChange {
        path: change.path.to_string_lossy().into_owned(),
        old_path: change.old_path.map(|path| path.to_string_lossy().into_owned()),
        status: change.status,
        added,
        removed,
    }
}

/// Git's list of changes without counts.
pub(super) fn raw_changes(listed: &[u8]) -> Vec<RawChange> {
    parse(listed).0
}

/// First every change as `:MODE MODE HASH HASH STATUS`, then every count as `ADDED\tREMOVED\tPATH`, each part ended
/// by a zero. A renamed file has two paths in both.
fn parse(listed: &[u8]) -> (Vec<RawChange>, HashMap<OsString, Lines>) {
    let mut parts = listed.split(|byte| *byte == 0);
    let (mut changes, mut lines) = (Vec::new(), HashMap::new());
    while let Some(part) = parts.next().filter(|part| !part.is_empty()) {
        if part.starts_with(b":") {
            changes.extend(raw_change(part, &mut parts));
        } else {
            lines.extend(count(part, &mut parts));
        }
    }
    (changes, lines)
}

fn raw_change<'a>(part: &[u8], rest: &mut impl Iterator<Item = &'a [u8]>) -> Option<RawChange> {
    let text = String::from_utf8_lossy(part).into_owned();
    let words: Vec<_> = text.trim_start_matches(':').split(' ').collect();
    let [old_mode, new_mode, old_hash, new_hash, letter] = words.as_slice() else { return None };
    let first = OsString::from_vec(rest.next()?.to_vec());
    let (status, old_path) = match letter.as_bytes().first()? {
        b'A' => (Status::Added, None),
        b'D' => (Status::Deleted, None),
        b'T' => (Status::TypeChanged, None),
        b'R' => (Status::Renamed, Some(first.clone())),
        _ => (Status::Modified, None),
    };
    let path = match old_path {
        Some(_) => OsString::from_vec(rest.next()?.to_vec()),
        None => first,
    };
    let (old_mode, new_mode) = (Mode::parse(old_mode), Mode::parse(new_mode));
    let (old_hash, new_hash) = ((*old_hash).to_owned(), (*new_hash).to_owned());
    Some(RawChange { path, old_path, status, old_mode, old_hash, new_mode, new_hash })
}

fn count<'a>(part: &[u8], rest: &mut impl Iterator<Item = &'a [u8]>) -> Option<(OsString, Lines)> {
    let mut fields = part.splitn(3, |byte| *byte == b'\t');
    let mut number = || std::str::from_utf8(fields.next()?).ok()?.parse().ok();
    let lines = (number(), number());
    let path = match fields.next()? {
        b"" => rest.nth(1)?,
        path => path,
    };
    Some((OsString::from_vec(path.to_vec()), lines))
}
