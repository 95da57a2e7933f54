//! Private copies of changed files, for git to hash. An agent may change its files at any moment. If git read them
//! itself, the agent could put a symlink in the place of a file after git has looked at it, and git would store what
//! the symlink names: a file that the agent cannot read. So we open each file by descriptors without following any
//! symlink, copy what is really there, and git sees only the copies.

use super::folder::{Folder, Stamp, is_absent};
use super::removal::remove_tree;
use super::{GitError, Repository};
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

/// Larger files are left out, because a backup is made before every run.
pub(super) const LARGEST_FILE: u64 = 256 << 20;
/// Git hashes the copies when there are this many, so that they never take much room.
const MOST_FILES: usize = 4_096;
const MOST_BYTES: u64 = 256 << 20;
const COPYING: &str = "copying files that may change";
const ATTRIBUTES: &str = ".gitattributes";
/// Time of all copies, after 1970 began. No file looks like its copy, so the index does not confuse the two.
const LONG_AGO: Duration = Duration::from_secs(1);

/// A directory with copies at the same paths as in the place. It is removed on drop.
#[derive(Debug)]
pub(super) struct Frozen<'a> {
    root: PathBuf,
    /// The same directory. Copies are written by descriptors, because one of them may be a symlink of an agent.
    folder: Folder,
    place: &'a Folder,
    paths: Vec<OsString>,
    bytes: u64,
    /// Directories whose attributes were copied, if they have any.
    seen: BTreeSet<PathBuf>,
}

/// What became of one path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Copied {
    Done,
    /// Nothing is there any more.
    Gone,
    /// Too large, not readable, or not a file.
    Unfit,
}

impl<'a> Frozen<'a> {
    pub(super) fn new(repository: &Repository, place: &'a Folder) -> Result<Self, GitError> {
        let root = repository.private().fresh_directory()?;
        let folder = Folder::open(&root).map_err(GitError::io(COPYING))?;
        Ok(Self { root, folder, place, paths: Vec::new(), bytes: 0, seen: BTreeSet::new() })
    }

    /// The top directory of the copies.
    pub(super) fn top(&self) -> &Path {
        &self.root
    }

    pub(super) fn paths(&self) -> &[OsString] {
        &self.paths
    }

    pub(super) fn is_full(&self) -> bool {
        self.paths.len() >= MOST_FILES || self.bytes >= MOST_BYTES
    }

    /// Copies a file or symlink. Git takes a path without a copy for a removed file. False: it cannot be copied.
    pub(super) fn add(&mut self, path: &OsStr) -> Result<bool, GitError> {
        self.add_attributes(Path::new(path))?;
        let copied = match self.place.parent_of(Path::new(path)) {
            Ok((folder, name)) => self.copy(&folder, &name, Path::new(path))?,
            Err(err) if is_absent(&err) => Copied::Gone,
            Err(_) => Copied::Unfit,
        };
        match copied {
            Copied::Done | Copied::Gone => {
                self.paths.push(path.to_owned());
                Ok(true)
            }
            Copied::Unfit => Ok(false),
        }
    }

    /// Git asks for the attributes of a file in all directories above it. What is not on disk it takes from the index.
    fn add_attributes(&mut self, path: &Path) -> Result<(), GitError> {
        let parent = path.parent().unwrap_or(Path::new(""));
        if self.seen.contains(parent) {
            return Ok(());
        }
        let mut folder = self.place.descend(Path::new("")).ok();
        let mut directory = PathBuf::new();
        for name in parent.iter().map(Some).chain([None]) {
            let Some(here) = folder.take() else { break };
            if self.seen.insert(directory.clone()) {
                let to = directory.join(ATTRIBUTES);
                self.copy(&here, OsStr::new(ATTRIBUTES), &to)?;
            }
            directory.extend(name);
            folder = name.and_then(|name| here.child(name).ok());
        }
        Ok(())
    }

    /// `to` is relative to the copies.
    fn copy(&mut self, folder: &Folder, name: &OsStr, to: &Path) -> Result<Copied, GitError> {
        let from = Path::new(name);
        match folder.stamp(from) {
            Ok(Some(stamp)) if stamp.is_link() => match folder.read_link(from) {
                Ok(target) => made(self.room(to).and_then(|room| room.new_link(name, &target))),
                Err(_) => Ok(Copied::Gone),
            },
            Ok(Some(stamp)) if stamp.is_file() => match folder.open_file(from) {
                Ok(Some((file, stamp))) => self.copy_file(file, &stamp, to),
                Err(err) if is_absent(&err) => Ok(Copied::Gone),
                Ok(None) | Err(_) => Ok(Copied::Unfit),
            },
            Ok(_) => Ok(Copied::Gone),
            Err(_) => Ok(Copied::Unfit),
        }
    }

    fn copy_file(&mut self, file: File, stamp: &Stamp, to: &Path) -> Result<Copied, GitError> {
        if stamp.size() > LARGEST_FILE {
            return Ok(Copied::Unfit);
        }
        let name = to.file_name().unwrap_or_default();
        let mode = if stamp.mode & 0o100 == 0 { 0o600 } else { 0o700 };
        let written = self.room(to).and_then(|room| {
            let mut copy = room.new_file(name, mode)?;
            let bytes = io::copy(&mut file.take(LARGEST_FILE + 1), &mut copy)?;
            copy.set_modified(UNIX_EPOCH + LONG_AGO)?;
            if bytes > LARGEST_FILE {
                // It has grown since.
                room.remove(name)?;
            }
            Ok(bytes)
        });
        match written {
            Ok(bytes) if bytes > LARGEST_FILE => Ok(Copied::Unfit),
            Ok(bytes) => {
                self.bytes += bytes;
                Ok(Copied::Done)
            }
            Err(err) => made(Err(err)),
        }
    }

    /// The directory for a copy.
    fn room(&self, to: &Path) -> io::Result<Folder> {
        self.folder.descend_or_new(to.parent().unwrap_or(Path::new("")))
    }
}

impl Drop for Frozen<'_> {
    fn drop(&mut self) {
        let _ = remove_tree(&self.root);
    }
}

fn made(copy: io::Result<()>) -> Result<Copied, GitError> {
    match copy {
        Ok(()) => Ok(Copied::Done),
        // The attributes were copied before.
        Err(err) if err.kind() == ErrorKind::AlreadyExists => Ok(Copied::Done),
        // Something was a file or a symlink a moment ago, and is a directory now.
        Err(err) if is_absent(&err) || err.kind() == ErrorKind::InvalidFilename => {
            Ok(Copied::Unfit)
        }
        Err(err) => Err(GitError::io(COPYING)(err)),
    }
}
