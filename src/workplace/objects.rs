//! Copies objects from one store to another. Each object is hashed on arrival: one that does not match its name never
//! arrives, whoever has written it.

use super::footprint::Mark;
use super::git::Git;
use super::refs::TreeId;
use super::user::UserGit;
use super::{GitError, Repository};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

/// Hashes of blobs, trees and commits.
pub(super) type Ids = BTreeSet<String>;

/// Where the objects to copy are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lender {
    /// Our own git directory.
    Own,
    /// The user's repository, besides our own.
    User,
}

impl Repository {
    /// A git call that also finds the user's objects. It does not write to the user's repository.
    pub(super) fn with_users(&self, what: &'static str, settings: &[&str]) -> Git {
        let git = self.content(what, settings);
        match self.user() {
            Some(user) => git.env("GIT_ALTERNATE_OBJECT_DIRECTORIES", quoted(&user.objects())),
            None => git,
        }
    }

    fn lending(&self, lender: Lender, what: &'static str) -> Git {
        match lender {
            Lender::Own => self.content(what, &[]),
            Lender::User => self.with_users(what, &[]),
        }
    }

    /// Objects of a tree that `earlier` lacks, with the tree itself. Contents of submodules are not among them.
    pub(super) fn objects_since(
        &self,
        earlier: Option<&TreeId>,
        tree: &TreeId,
    ) -> Result<Ids, GitError> {
        let mut ids = match earlier {
            Some(earlier) => self.ids_of_difference(earlier, tree)?,
            None => self.ids_of_tree(tree)?,
        };
        ids.insert(tree.as_str().to_owned());
        Ok(ids)
    }

    fn ids_of_tree(&self, tree: &TreeId) -> Result<Ids, GitError> {
        let git = self.with_users("ls-tree", &[]).args(["-r", "-t", "-z", "--full-tree"]);
        let listed =
            git.args(["--format=%(objecttype) %(objectname)"]).arg(tree.as_str()).read()?;
        let lines = listed.split(|byte| *byte == 0).filter_map(|line| {
            let (kind, id) = std::str::from_utf8(line).ok()?.split_once(' ')?;
            (kind != "commit").then(|| id.to_owned())
        });
        Ok(lines.collect())
    }

    fn ids_of_difference(&self, earlier: &TreeId, tree: &TreeId) -> Result<Ids, GitError> {
        let git = self.with_users("diff-tree", &[]).args(["-r", "-t", "-z", "--raw"]);
        let git = git.args(["--no-abbrev", "--no-renames", "--no-ext-diff", "--no-textconv"]);
        let listed = git.arg(earlier.as_str()).arg(tree.as_str()).read()?;
        let lines = listed.split(|byte| *byte == 0).filter_map(|line| {
            let text = std::str::from_utf8(line).ok()?.strip_prefix(':')?;
            let words: Vec<_> = text.split(' ').collect();
            let [_, mode, _, id, _] = words.as_slice() else { return None };
            (!matches!(*mode, "000000" | "160000")).then(|| (*id).to_owned())
        });
        Ok(lines.collect())
    }

    /// Objects that our own git directory lacks.
    pub(super) fn absent_here(&self, ids: &Ids) -> Result<Ids, GitError> {
        absent(self.content("cat-file", &[]), ids)
    }

    /// Objects that an object directory lacks, together with everything that it borrows from.
    pub(super) fn absent_in(&self, objects: &Path, ids: &Ids) -> Result<Ids, GitError> {
        absent(self.content("cat-file", &[]).env("GIT_OBJECT_DIRECTORY", objects), ids)
    }

    /// Whether the user's repository has all of these. Git is asked again only if a directory that could hold them has
    /// changed.
    pub(super) fn are_present(&self, user: &UserGit, ids: &Ids) -> Result<bool, GitError> {
        let objects = user.objects();
        let borrows = objects.join("info/alternates").exists();
        let marks = |id: &str| {
            let loose = objects.join(id.get(..2).unwrap_or_default());
            let packs = Mark::of(&objects.join("pack")).filter(|_| !borrows)?;
            // A missing directory holds nothing.
            Some(Mark::of(&loose).into_iter().chain([packs]).collect::<Vec<_>>())
        };
        let marked: Vec<_> = ids.iter().map(|id| (id, marks(id))).collect();
        let is_known = |(id, marks): &(&String, Option<Vec<Mark>>)| {
            marks.as_ref().is_some_and(|marks| self.memory().is_present(id, marks))
        };
        if marked.iter().all(is_known) {
            return Ok(true);
        }
        let are_present = self.absent_in(&objects, ids)?.is_empty();
        for (id, marks) in marked.into_iter().filter(|_| are_present) {
            if let Some(marks) = marks {
                self.memory().note_present(id, marks);
            }
        }
        Ok(are_present)
    }

    /// Copies objects into an object directory. Objects that the lender lacks are skipped, because a partial clone does
    /// not have everything. Returns those that do not match their names and did not arrive.
    pub(super) fn copy_objects(
        &self,
        ids: &Ids,
        lender: Lender,
        into: &Path,
    ) -> Result<Ids, GitError> {
        let wanted = self.absent_in(into, ids)?;
        let nowhere = absent(self.lending(lender, "cat-file"), &wanted)?;
        let there: Ids = wanted.difference(&nowhere).cloned().collect();
        if there.is_empty() {
            return Ok(Ids::new());
        }
        let moving = self.private().fresh_directory()?;
        let copied = self.copy_pack(&there, lender, &moving, into);
        let _ = fs::remove_dir_all(&moving);
        copied?;
        self.absent_in(into, &there)
    }

    /// The first pack has the names that the lender claims. `index-pack` computes them again.
    fn copy_pack(
        &self,
        ids: &Ids,
        lender: Lender,
        moving: &Path,
        into: &Path,
    ) -> Result<(), GitError> {
        let pack = self.lending(lender, "pack-objects").args(["-q", "--window=0"]);
        let name = pack.arg(moving.join("pack")).input(lines(ids)).word()?;
        let file = moving.join(format!("pack-{name}.pack"));
        let index = self.content("index-pack", &[]).arg("--stdin").input_file(file);
        index.env("GIT_OBJECT_DIRECTORY", into).read().map(drop)
    }

    /// Copies a tree of the user's repository with everything in it.
    pub(super) fn copy_tree(&self, tree: &TreeId) -> Result<(), GitError> {
        let ids = self.objects_since(None, tree)?;
        let wrong = self.copy_objects(&ids, Lender::User, &self.private().objects())?;
        if wrong.is_empty() { Ok(()) } else { Err(GitError::Damaged { count: wrong.len() }) }
    }
}

fn absent(git: Git, ids: &Ids) -> Result<Ids, GitError> {
    if ids.is_empty() {
        return Ok(Ids::new());
    }
    let git = git.args(["--batch-check=%(objectname)", "--buffer"]);
    let told = git.input(lines(ids)).read()?;
    let told = String::from_utf8_lossy(&told);
    let absent = told.lines().filter_map(|line| line.strip_suffix(" missing"));
    Ok(absent.map(str::to_owned).collect())
}

fn lines(ids: &Ids) -> Vec<u8> {
    ids.iter().flat_map(|id| [id.as_bytes(), b"\n"].concat()).collect()
}

/// Quotes a path for a list in the environment, where a colon would begin another entry.
fn quoted(path: &Path) -> OsString {
    let mut text = vec![b'"'];
    for byte in path.as_os_str().as_bytes() {
        match byte {
            b'"' | b'\\' => text.extend([b'\\', *byte]),
            b'\n' => text.extend(b"\\n"),
            _ => text.push(*byte),
        }
    }
    text.push(b'"');
    OsString::from_vec(text)
}
