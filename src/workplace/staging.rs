//! Writes files into a place, all or nothing. All new contents are prepared outside of it first, then each file is
//! renamed into place. If one rename fails, all are undone.

use super::change::RawChange;
use super::folder::{Folder, Stamp};
use super::private::{STAGING, make_directory};
use super::{GitError, Repository};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use tracing::error;

/// A temporary directory on the same disk as the place. It is removed on drop.
#[derive(Debug)]
pub(super) struct Staging {
    root: PathBuf,
    keep: bool,
}

impl Staging {
    /// In the data directory; if that is on another disk, in the user's git directory, where nobody looks; among the
    /// files only if there is no other way.
    pub(super) fn new(repository: &Repository, top: &Path) -> Result<Self, GitError> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("{}-{number}", std::process::id());
        let disk = |path: &Path| fs::metadata(path).map(|about| about.dev()).ok();
        let private = repository.private();
        let root = match repository.user() {
            _ if disk(&private.git_dir()) == disk(top) => private.fresh_directory()?,
            Some(user) if disk(&user.common) == disk(top) => {
                user.common.join(format!("kakehashi-{name}"))
            }
            Some(_) | None => top.join(format!("{STAGING}{name}")),
        };
        // Left by a killed process that had our process id.
        let _ = fs::remove_dir_all(&root);
        for part in ["new", "old", "none"] {
            make_directory(&root.join(part)).map_err(GitError::io("preparing files"))?;
        }
        Ok(Self { root, keep: false })
    }

    pub(super) fn new_files(&self) -> PathBuf {
        self.root.join("new")
    }

    /// Always empty.
    pub(super) fn no_files(&self) -> PathBuf {
        self.root.join("none")
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        if !self.keep {
            let _ = fs::remove_dir_all(&self.root);
        }
    }
}

/// One step that was done and can be undone.
#[derive(Debug)]
enum Done {
    TookAway { path: PathBuf, number: usize },
    Placed { path: PathBuf },
    Swapped { path: PathBuf },
    MadeDirectory { path: PathBuf },
    RemovedDirectory { path: PathBuf, mode: u32 },
}

/// The renames. They are undone on drop, unless [`Moves::finish`] was called.
#[derive(Debug)]
pub(super) struct Moves<'a> {
    staging: &'a mut Staging,
    top: Folder,
    new: Folder,
    old: Folder,
    /// Directories up to this one stay, even if they are empty.
    root: PathBuf,
    done: Vec<Done>,
}

impl<'a> Moves<'a> {
    pub(super) fn begin(staging: &'a mut Staging, top: &Path, root: &Path) -> io::Result<Self> {
        let new = Folder::open(&staging.new_files())?;
        let old = Folder::open(&staging.root.join("old"))?;
        let (top, root) = (Folder::open(top)?, root.to_owned());
        Ok(Self { staging, top, new, old, root, done: Vec::new() })
    }

    /// Removes a file, if it is still the expected one.
    pub(super) fn take_away(&mut self, path: &Path, expected: &Stamp) -> io::Result<()> {
        let number = self.done.len();
        let aside = OsString::from(number.to_string());
        let (folder, name) = self.top.parent_of(path)?;
        folder.move_to(&name, &self.old, &aside)?;
        self.done.push(Done::TookAway { path: path.to_owned(), number });
        same(self.old.stamp(Path::new(&aside))?, expected)
    }

    /// Removes the directories that a removed file has left empty.
    pub(super) fn tidy(&mut self, path: &Path) {
        for parent in path.ancestors().skip(1) {
            if parent == self.root || self.remove_directory(parent).is_err() {
                break;
            }
        }
    }

    pub(super) fn remove_directory(&mut self, path: &Path) -> io::Result<()> {
        let mode = self.top.stamp(path)?.map_or(0o755, |stamp| stamp.mode & 0o7777);
        let (folder, name) = self.top.parent_of(path)?;
        folder.remove_empty(&name)?;
        self.done.push(Done::RemovedDirectory { path: path.to_owned(), mode });
        Ok(())
    }

    /// Moves a new file to a path where there is nothing.
    pub(super) fn place(&mut self, path: &Path) -> io::Result<()> {
        self.make_parents(path)?;
        let (from, name) = self.new.parent_of(path)?;
        let (to, _) = self.top.parent_of(path)?;
        from.move_to(&name, &to, &name)?;
        self.done.push(Done::Placed { path: path.to_owned() });
        Ok(())
    }

    /// Replaces a file, if it is still the expected one.
    pub(super) fn put(&mut self, path: &Path, expected: &Stamp) -> io::Result<()> {
        let (from, name) = self.new.parent_of(path)?;
        self.keep_rights(&from, &name, path, expected)?;
        let (to, _) = self.top.parent_of(path)?;
        if from.swap(&name, &to, &name)? {
            self.done.push(Done::Swapped { path: path.to_owned() });
            return same(self.new.stamp(path)?, expected);
        }
        self.take_away(path, expected)?;
        self.place(path)
    }

    /// Keeps the read and write permissions of the old file.
    fn keep_rights(
        &self,
        folder: &Folder,
        name: &OsStr,
        path: &Path,
        old: &Stamp,
    ) -> io::Result<()> {
        let Some(new) = self.new.stamp(path)?.filter(|new| new.is_file() && old.is_file()) else {
            return Ok(());
        };
        let readable = old.mode & 0o666;
        let executable = if new.mode & 0o100 == 0 { 0 } else { (old.mode & 0o444) >> 2 };
        folder.set_mode(name, readable | executable)
    }

    fn make_parents(&mut self, path: &Path) -> io::Result<()> {
        let parents: Vec<_> = path.ancestors().skip(1).collect();
        for parent in parents.into_iter().rev().filter(|parent| !parent.as_os_str().is_empty()) {
            if self.top.stamp(parent)?.is_none() {
                let (folder, name) = self.top.parent_of(parent)?;
                folder.make(&name)?;
                self.done.push(Done::MadeDirectory { path: parent.to_owned() });
            }
        }
        Ok(())
    }

    pub(super) fn finish(mut self) {
        self.done.clear();
    }

    fn undo(&self, done: &Done) -> io::Result<()> {
        match done {
            Done::TookAway { path, number } => {
                let (folder, name) = self.top.parent_of(path)?;
                self.old.move_to(OsStr::new(&number.to_string()), &folder, &name)
            }
            Done::Placed { path } => {
                let (folder, name) = self.top.parent_of(path)?;
                folder.move_to(&name, &self.new.parent_of(path)?.0, &name)
            }
            Done::Swapped { path } => {
                let (folder, name) = self.top.parent_of(path)?;
                folder.swap(&name, &self.new.parent_of(path)?.0, &name).map(drop)
            }
            Done::MadeDirectory { path } => {
                let (folder, name) = self.top.parent_of(path)?;
                folder.remove_empty(&name)
            }
            Done::RemovedDirectory { path, mode } => {
                let (folder, name) = self.top.parent_of(path)?;
                folder.make_with(&name, *mode)
            }
        }
    }
}

impl Drop for Moves<'_> {
    fn drop(&mut self) {
        while let Some(done) = self.done.pop() {
            if let Err(err) = self.undo(&done) {
                let kept = self.staging.root.display();
                error!(%err, ?done, %kept, "a change could not be undone; what was there is kept");
                self.staging.keep = true;
            }
        }
    }
}

fn same(seen: Option<Stamp>, expected: &Stamp) -> io::Result<()> {
    if seen.as_ref() == Some(expected) { Ok(()) } else { Err(io::ErrorKind::AlreadyExists.into()) }
}

/// Whether the change has content to write.
pub(super) fn is_content(change: &RawChange) -> bool {
    use super::change::Mode;
    match change.new_mode {
        Mode::File | Mode::Executable | Mode::Link => true,
        Mode::Nothing | Mode::Submodule => false,
    }
}
