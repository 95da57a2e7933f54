//! A three-way merge of trees that touches no files. The outcome is a tree, or conflicts.

use super::refs::tree_id;
use super::{GitError, Repository, TreeId};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;

/// A path that both sides have changed in conflicting ways.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflict {
    /// Relative to the project.
    pub path: String,
    pub kinds: Vec<ConflictKind>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConflictKind {
    /// Both changed the same lines, or both made a file of this name.
    Content,
    /// Both changed a file that has no lines.
    Binary,
    /// One changed what the other removed.
    ModifyDelete,
    /// One renamed what the other removed or renamed too.
    Rename,
    /// A file here, a directory there.
    FileDirectory,
    /// A file here, a link there.
    Type,
    Submodule,
    Other,
}

impl ConflictKind {
    pub fn name(self) -> &'static str {
        match self {
            Self::Content => "content",
            Self::Binary => "binary",
            Self::ModifyDelete => "modify/delete",
            Self::Rename => "rename",
            Self::FileDirectory => "file/directory",
            Self::Type => "type",
            Self::Submodule => "submodule",
            Self::Other => "other",
        }
    }
}

pub(super) enum Merged {
    Clean(TreeId),
    Conflicts(Vec<Conflict>),
}

impl Repository {
    pub(super) fn merge(
        &self,
        base: &TreeId,
        ours: &TreeId,
        theirs: &TreeId,
    ) -> Result<Merged, GitError> {
        // Three commits, with the base as the only common ancestor: older versions of git cannot be given a base.
        let base = self.commit(base, None, "base")?;
        let ours = self.commit(ours, Some(&base), "ours")?;
        let theirs = self.commit(theirs, Some(&base), "theirs")?;
        // Guessing that a whole directory was renamed would move files that nobody has touched.
        let git = self.content("merge-tree", &["merge.directoryRenames=false"]);
        let git = git.args(["--write-tree", "-z", "--messages"]);
        let output = git.arg(ours.as_str()).arg(theirs.as_str()).run()?;
        match output.code {
            0 => {
                let tree = output.stdout.split(|byte| *byte == 0).next().unwrap_or_default();
                tree_id("merge-tree", &String::from_utf8_lossy(tree)).map(Merged::Clean)
            }
            1 => {
                let sides = [format!("~{ours}"), format!("~{theirs}")];
                Ok(Merged::Conflicts(self.conflicts(&output.stdout, &sides)))
            }
            _ => Err(GitError::from_stderr("merge-tree", &output.stderr)),
        }
    }

    /// Parses the output: `TREE`, then `MODE HASH STAGE\tPATH` for each side, an empty part, then for each message the
    /// number of its paths, the paths, its kind and its text. A file in the way of a directory has its side appended to
    /// its name.
    fn conflicts(&self, output: &[u8], sides: &[String; 2]) -> Vec<Conflict> {
        let mut parts = output.split(|byte| *byte == 0).skip(1);
        let mut found: BTreeMap<OsString, Vec<ConflictKind>> = BTreeMap::new();
        for part in parts.by_ref().take_while(|part| !part.is_empty()) {
            if let Some(tab) = part.iter().position(|byte| *byte == b'\t') {
                found.entry(OsString::from_vec(part[tab + 1..].to_vec())).or_default();
            }
        }
        while let Some((paths, kind)) = message(&mut parts) {
            let Some(kind) = kind else { continue };
            for path in paths {
                if let Some(kinds) = found.get_mut(&path).filter(|kinds| !kinds.contains(&kind)) {
                    kinds.push(kind);
                }
            }
        }
        let told = found.into_iter().map(|(path, mut kinds)| {
            if kinds.is_empty() {
                kinds.push(ConflictKind::Other);
            }
            let told = self.told(&path);
            let plain = sides.iter().find_map(|side| told.strip_suffix(side.as_str()));
            Conflict { path: plain.unwrap_or(&told).to_owned(), kinds }
        });
        told.collect()
    }
}

type Message = (Vec<OsString>, Option<ConflictKind>);

fn message<'a>(parts: &mut impl Iterator<Item = &'a [u8]>) -> Option<Message> {
    let count: usize = std::str::from_utf8(parts.next()?).ok()?.parse().ok()?;
    let mut paths = Vec::new();
    for _ in 0..count {
        paths.push(OsString::from_vec(parts.next()?.to_vec()));
    }
    let kind = kind(&String::from_utf8_lossy(parts.next()?));
    parts.next()?;
    Some((paths, kind))
}

/// `None`: the message is not about a conflict.
fn kind(text: &str) -> Option<ConflictKind> {
    let inside = text.strip_prefix("CONFLICT (")?;
    Some(if inside.starts_with("contents") || inside.starts_with("add/add") {
        ConflictKind::Content
    } else if inside.starts_with("binary") {
        ConflictKind::Binary
    } else if inside.starts_with("modify/delete") {
        ConflictKind::ModifyDelete
    } else if inside.starts_with("rename") {
        ConflictKind::Rename
    } else if inside.starts_with("file/directory") || inside.starts_with("directory/file") {
        ConflictKind::FileDirectory
    } else if inside.starts_with("distinct") {
        ConflictKind::Type
    } else if inside.contains("submodule") {
        ConflictKind::Submodule
    } else {
        ConflictKind::Other
    })
}
