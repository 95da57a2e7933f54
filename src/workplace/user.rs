//! The user's own repository, as far as we read it: HEAD, branches and where its objects are. Nothing here starts git,
//! so no setting of the repository has any effect.

use super::refs::is_hash;
use super::repository::small_file;
use crate::regular;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

/// Most refs in a row that name another ref; git itself follows five.
const MOST_NAMES: usize = 5;
/// Most bytes that are read of `packed-refs`.
const MOST_PACKED: u64 = 256 << 20;
/// Most object directories that a repository borrows from.
const MOST_BORROWED: usize = 32;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct UserGit {
    /// Git directory of the project's checkout, with HEAD and the index.
    pub(super) git_dir: PathBuf,
    /// Shared by all worktrees of the repository: objects, branches, settings.
    pub(super) common: PathBuf,
}

impl UserGit {
    /// Git replaces this file as a whole whenever it writes it.
    pub(super) fn index(&self) -> PathBuf {
        self.git_dir.join("index")
    }

    pub(super) fn objects(&self) -> PathBuf {
        self.common.join("objects")
    }

    /// The object directory and everything that it borrows from.
    pub(super) fn all_objects(&self) -> Vec<PathBuf> {
        let mut found = BTreeSet::new();
        let mut waiting = vec![self.objects()];
        while let Some(objects) = waiting.pop() {
            let Ok(real) = objects.canonicalize() else { continue };
            if found.len() < MOST_BORROWED && found.insert(real) {
                let named = small_file(&objects.join("info/alternates")).unwrap_or_default();
                let lines = named.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
                let lines = lines.filter(|line| !line.is_empty() && !line.starts_with(b"#"));
                waiting.extend(lines.map(|line| objects.join(OsStr::from_bytes(line))));
            }
        }
        found.into_iter().collect()
    }

    /// Whether this is a partial clone, so that some contents may be only on a server.
    pub(super) fn is_partial(&self) -> bool {
        let packs = std::fs::read_dir(self.objects().join("pack")).into_iter().flatten().flatten();
        packs.map(|entry| entry.path()).any(|path| path.extension() == Some(OsStr::new("promisor")))
    }

    /// The hash that HEAD leads to; `None` if there is no commit yet.
    pub(super) fn head(&self) -> Option<String> {
        self.resolve("HEAD")
    }

    pub(super) fn has_branch(&self, name: &str) -> bool {
        self.resolve(&format!("refs/heads/{name}")).is_some()
    }

    fn resolve(&self, name: &str) -> Option<String> {
        let mut name = name.to_owned();
        for _ in 0..MOST_NAMES {
            let directory = if name == "HEAD" { &self.git_dir } else { &self.common };
            let Some(text) = small_file(&directory.join(&name)) else { return self.packed(&name) };
            let text = String::from_utf8_lossy(text.trim_ascii()).into_owned();
            match text.strip_prefix("ref:").map(str::trim) {
                Some(next) if is_plain(next) => next.clone_into(&mut name),
                Some(_) => return None,
                None => return is_hash(&text).then_some(text),
            }
        }
        None
    }

    fn packed(&self, name: &str) -> Option<String> {
        let file = regular::open(&self.common.join("packed-refs")).ok()?;
        let lines = BufReader::new(file.take(MOST_PACKED)).split(b'\n').map_while(Result::ok);
        let mut hashes = lines.filter_map(|line| {
            let line = String::from_utf8(line).ok()?;
            let (hash, found) = line.split_once(' ')?;
            (found == name && is_hash(hash)).then(|| hash.to_owned())
        });
        hashes.next()
    }
}

/// Whether this is a name below `refs` that does not lead out of it.
fn is_plain(name: &str) -> bool {
    let mut parts = Path::new(name).components();
    name.starts_with("refs/") && parts.all(|part| matches!(part, Component::Normal(_)))
}
