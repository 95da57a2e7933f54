//! Changes the files of a place from one tree to another, all or nothing. Only files that differ are touched, and only
//! if they still match the first tree.

use super::change::{Mode, RawChange};
use super::folder::{Folder, Stamp, is_absent};
use super::index::{Extent, Index, joined};
use super::staging::{Moves, Staging, is_content};
use super::{GitError, Repository, TreeId};
use std::collections::HashMap;
use std::ffi::OsString;
use std::io;
use std::path::Path;

/// `None`: nothing is on disk.
type Stamps = HashMap<OsString, Option<Stamp>>;

/// A change from one tree to another.
pub(super) struct Course<'a> {
    /// Index of the files, taken when they matched `from`.
    pub(super) index: &'a Index,
    pub(super) from: &'a TreeId,
    pub(super) to: &'a TreeId,
    pub(super) extent: Extent,
    /// Only this path, relative to the project.
    pub(super) only: Option<&'a str>,
}

impl Repository {
    /// Carries out the change. Returns what was changed, by paths of the repository.
    pub(super) fn bring(&self, course: &Course<'_>) -> Result<Vec<RawChange>, GitError> {
        let mut changes = self.differences(course.from, course.to, Extent::Repository)?;
        changes.retain(|change| self.is_meant(course, change));
        if changes.is_empty() {
            return Ok(changes);
        }
        let top = course.index.top();
        let mut staging = Staging::new(self, top)?;
        self.stage(&staging, course.to, &changes)?;
        let stamps = self.verified(course.index, &changes)?;
        let moved = Moves::begin(&mut staging, top, self.prefix())
            .map_err(|err| (OsString::new(), err))
            .and_then(|mut moves| {
                carry_out(&mut moves, &changes, &stamps)?;
                moves.finish();
                Ok(())
            });
        moved.map_err(|(path, err)| self.failed(&path, err))?;
        course.index.note(&changes.iter().map(entry).collect::<Vec<_>>())?;
        Ok(changes)
    }

    fn is_meant(&self, course: &Course<'_>, change: &RawChange) -> bool {
        let path = Path::new(&change.path);
        match (course.extent, course.only) {
            (_, Some(only)) => {
                path.strip_prefix(self.prefix()).is_ok_and(|path| path.to_string_lossy() == only)
            }
            (Extent::Project, None) => path.starts_with(self.prefix()),
            (Extent::Repository | Extent::Everything, None) => true,
        }
    }

    /// Git writes the new files, so that line ends and modes are right. It looks for attributes in an empty directory,
    /// so that those of the tree count.
    fn stage(&self, staging: &Staging, to: &TreeId, changes: &[RawChange]) -> Result<(), GitError> {
        let index = Index::of_nothing(self, &staging.no_files());
        index.reset(Some(to))?;
        let wanted = changes.iter().filter(|change| is_content(change));
        let paths: Vec<_> = wanted.map(|change| change.path.clone()).collect();
        let mut prefix = OsString::from("--prefix=");
        prefix.push(staging.new_files());
        prefix.push("/");
        let git = index.git("checkout-index").args(["-z", "--stdin", "-q"]).arg(prefix);
        git.input(joined(&paths)).read().map(drop)
    }

    /// Takes the stamps of the files first and compares the files with the index after that, so that one of the two
    /// notices a later change.
    fn verified(&self, index: &Index, changes: &[RawChange]) -> Result<Stamps, GitError> {
        let doing = "looking at the files";
        let top = Folder::open(index.top()).map_err(GitError::io(doing))?;
        let mut stamps = Stamps::new();
        for change in changes {
            let stamp = top.stamp(Path::new(&change.path)).map_err(GitError::io(doing))?;
            stamps.insert(change.path.clone(), stamp);
        }
        let changed = index.changed(Extent::Repository)?;
        let in_the_way = |change: &&RawChange| {
            let stamp = stamps.get(&change.path).copied().flatten();
            let appeared = change.old_mode == Mode::Nothing;
            changed.contains(&change.path)
                || (appeared && stamp.is_some_and(|stamp| !stamp.is_directory()))
        };
        let paths: Vec<_> =
            changes.iter().filter(in_the_way).map(|change| self.told(&change.path)).collect();
        if paths.is_empty() { Ok(stamps) } else { Err(GitError::PlaceChanged { paths }) }
    }

    fn failed(&self, path: &OsString, err: io::Error) -> GitError {
        let taken =
            matches!(err.kind(), io::ErrorKind::AlreadyExists | io::ErrorKind::DirectoryNotEmpty);
        if taken || is_absent(&err) {
            return GitError::PlaceChanged { paths: vec![self.told(path)] };
        }
        GitError::io("writing files")(err)
    }

    /// A path of the repository as people know it, relative to the project.
    pub(super) fn told(&self, path: &OsString) -> String {
        let path = Path::new(path);
        path.strip_prefix(self.prefix()).unwrap_or(path).to_string_lossy().into_owned()
    }
}

/// Removals come first, because a directory may replace a file, or a file a directory.
fn carry_out(
    moves: &mut Moves<'_>,
    changes: &[RawChange],
    stamps: &Stamps,
) -> Result<(), (OsString, io::Error)> {
    let stamp = |change: &RawChange| stamps.get(&change.path).copied().flatten();
    for change in changes.iter().filter(|change| change.new_mode == Mode::Nothing) {
        let path = Path::new(&change.path);
        if let Some(stamp) = stamp(change).filter(|stamp| !stamp.is_directory()) {
            moves.take_away(path, &stamp).map_err(|err| (change.path.clone(), err))?;
            moves.tidy(path);
        }
    }
    for change in changes.iter().filter(|change| is_content(change)) {
        let path = Path::new(&change.path);
        let placed = match stamp(change) {
            Some(stamp) if stamp.is_directory() => {
                // Left empty by the removals, or a submodule without files.
                let _ = moves.remove_directory(path);
                moves.place(path)
            }
            Some(stamp) => moves.put(path, &stamp),
            None => moves.place(path),
        };
        placed.map_err(|err| (change.path.clone(), err))?;
    }
    Ok(())
}

/// A line for `update-index --index-info`.
fn entry(change: &RawChange) -> Vec<u8> {
    let mut line = format!("{} {}\t", change.new_mode.octal(), change.new_hash).into_bytes();
    line.extend_from_slice(change.path.as_encoded_bytes());
    line
}
