//! The regular files below a root with their times, as far as the rules want them. Made by a survey of the disk
//! and kept up to date path by path; links are never followed.

use super::private::Identity;
use super::rules::Rules;
use crate::gitignore;
use ignore::gitignore::Gitignore;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::{self, Metadata};
use std::io;
use std::iter;
use std::num::NonZero;
use std::os::unix::fs::{DirEntryExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::mpsc::sync_channel;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::SystemTime;

/// Fewer directories are read faster than threads are started.
const WIDE: usize = 32;
/// More would only wait for the same disk.
const MOST_THREADS: usize = 8;

/// Equal trees hold the same files, as far as can be told without reading them.
#[derive(Debug, Clone, Default)]
pub(super) struct Tree {
    /// By path below the root, which itself is the empty path.
    directories: BTreeMap<PathBuf, Directory>,
}

#[derive(Debug, Clone, Default)]
struct Directory {
    /// Another number under the same name is another directory.
    inode: u64,
    rules: Option<Gitignore>,
    files: BTreeMap<OsString, Stamp>,
}

/// Changes whenever a file is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamp {
    pub(super) modified: SystemTime,
    pub(super) size: u64,
}

/// What one look at one path has led to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Update {
    Same,
    Changed,
    /// More than this path is in question.
    Unclear,
}

/// Where a tree is, and what belongs to it.
#[derive(Debug, Clone)]
pub(super) struct Root {
    pub(super) path: PathBuf,
    pub(super) rules: Rules,
}

/// One directory as it was read.
struct Found {
    below: PathBuf,
    directory: Directory,
    directories: Vec<Unread>,
}

/// A directory by its path below the root, and its inode.
type Unread = (PathBuf, u64);

/// Told of every directory before it is read, so that nothing is missed between a look and a watch.
pub(super) type Enter<'a> = &'a mut dyn FnMut(&Path);

impl Tree {
    /// Reads everything. Directories that cannot be read are left out; only the root has to be there.
    pub(super) fn survey(root: &Root, enter: Enter<'_>) -> io::Result<Self> {
        let inode = fs::metadata(&root.path)?.ino();
        let mut tree = Self::default();
        enter(&root.path);
        let top = tree.read_directory(root, (PathBuf::new(), inode), &root.rules.unwanted())?;
        let todo = tree.keep(top);
        tree.read_all(root, todo, enter);
        Ok(tree)
    }

    /// The files with their paths below the root, in no particular order of the whole path.
    pub(super) fn files(&self) -> impl Iterator<Item = (PathBuf, Stamp)> + '_ {
        self.directories.iter().flat_map(|(path, directory)| {
            directory.files.iter().map(|(name, stamp)| (join(path, name), *stamp))
        })
    }

    pub(super) fn count(&self) -> usize {
        self.directories.values().map(|directory| directory.files.len()).sum()
    }

    pub(super) fn insert(&mut self, path: &Path, stamp: Stamp) {
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else { return };
        let directory = self.directories.entry(parent.to_owned()).or_default();
        directory.files.insert(name.to_owned(), stamp);
    }

    pub(super) fn remove(&mut self, path: &Path) {
        if let (Some(parent), Some(name)) = (path.parent(), path.file_name()) {
            self.forget_file(parent, name);
        }
    }

    /// What was made or changed until `later`, and what is gone by then.
    pub(super) fn differences(&self, later: &Self) -> (Vec<PathBuf>, Vec<PathBuf>) {
        let (mut changed, mut gone) = (Vec::new(), Vec::new());
        let nothing = BTreeMap::new();
        for (path, directory) in &later.directories {
            let before = self.directories.get(path).map_or(&nothing, |before| &before.files);
            let fresh = directory.files.iter().filter(|(name, at)| before.get(*name) != Some(at));
            changed.extend(fresh.map(|(name, _)| path.join(name)));
        }
        for (path, directory) in &self.directories {
            let after = later.directories.get(path).map_or(&nothing, |after| &after.files);
            let lost = directory.files.keys().filter(|name| !after.contains_key(*name));
            gone.extend(lost.map(|name| path.join(name)));
        }
        (changed, gone)
    }

    pub(super) fn get(&self, path: &Path) -> Option<Stamp> {
        self.directories.get(path.parent()?)?.files.get(path.file_name()?).copied()
    }

    pub(super) fn has(&self, path: &Path) -> bool {
        self.get(path).is_some()
    }

    pub(super) fn same_directories(&self, other: &Self) -> bool {
        let ours = self.directories.iter().map(|(path, directory)| (path, directory.inode));
        ours.eq(other.directories.iter().map(|(path, directory)| (path, directory.inode)))
    }

    pub(super) fn same_files(&self, other: &Self) -> bool {
        let full = |(_, directory): &(&PathBuf, &Directory)| !directory.files.is_empty();
        let ours = self.directories.iter().filter(full);
        let theirs = other.directories.iter().filter(full);
        ours.map(|(path, directory)| (path, &directory.files))
            .eq(theirs.map(|(path, directory)| (path, &directory.files)))
    }

    /// Looks at one path again; `removed` says that something of this name has gone, whatever is there now.
    pub(super) fn look(
        &mut self,
        root: &Root,
        path: &Path,
        removed: bool,
        enter: Enter<'_>,
    ) -> Update {
        let Ok(below) = path.strip_prefix(&root.path) else { return Update::Same };
        let (Some(parent), Some(name)) = (below.parent(), below.file_name()) else {
            // The root itself: only its end matters, not that its times changed.
            return if removed { Update::Unclear } else { Update::Same };
        };
        if !self.directories.contains_key(parent) {
            return Update::Same;
        }
        if root.rules.is_rule_file(name) {
            return Update::Unclear;
        }
        let known = self.directories.get(below).map(|directory| directory.inode);
        let found = fs::symlink_metadata(path).ok();
        let inode = found.as_ref().filter(|about| about.is_dir()).map(Metadata::ino);
        match (known, inode) {
            (Some(known), Some(inode)) if known == inode && !removed => Update::Same,
            // Its watch may have gone with it, or have gone along to another name.
            (Some(_), _) => Update::Unclear,
            (None, Some(inode)) => {
                let was_file = self.forget_file(parent, name);
                let added = self.add_directory(root, path, below, inode, enter);
                if was_file { Update::Changed } else { added }
            }
            (None, None) if root.rules.wants_file(name) => {
                let unwanted = root.rules.unwanted();
                let found = found.filter(|about| !unwanted.contains(&Identity::of(about)));
                self.look_at_file(path, parent, name, found)
            }
            (None, None) => Update::Same,
        }
    }

    pub(super) fn has_directory(&self, root: &Root, path: &Path) -> bool {
        path.strip_prefix(&root.path).is_ok_and(|below| self.directories.contains_key(below))
    }

    fn forget_file(&mut self, parent: &Path, name: &OsStr) -> bool {
        let directory = self.directories.get_mut(parent);
        directory.is_some_and(|directory| directory.files.remove(name).is_some())
    }

    fn look_at_file(
        &mut self,
        path: &Path,
        parent: &Path,
        name: &OsStr,
        found: Option<Metadata>,
    ) -> Update {
        let stamp = found.filter(Metadata::is_file).and_then(|about| stamp(&about));
        let stamp = stamp.filter(|_| !gitignore::is_ignored(self.rules_for(parent), path, false));
        let Some(directory) = self.directories.get_mut(parent) else { return Update::Same };
        let before = match stamp {
            Some(stamp) => directory.files.insert(name.to_owned(), stamp),
            None => directory.files.remove(name),
        };
        if before == stamp { Update::Same } else { Update::Changed }
    }

    fn add_directory(
        &mut self,
        root: &Root,
        path: &Path,
        below: &Path,
        inode: u64,
        enter: Enter<'_>,
    ) -> Update {
        let parent = below.parent().unwrap_or(Path::new(""));
        if !root.rules.wants_directory(path)
            || gitignore::is_ignored(self.rules_for(parent), path, true)
        {
            return Update::Same;
        }
        self.read_all(root, vec![(below.to_owned(), inode)], enter);
        Update::Changed
    }

    /// Reads directories and all below them, level by level, because rules come from above. What has vanished or may
    /// not be read is not there.
    fn read_all(&mut self, root: &Root, mut todo: Vec<Unread>, enter: Enter<'_>) {
        while !todo.is_empty() {
            let read = self.read_level(root, todo, enter);
            todo = read.into_iter().flat_map(|found| self.keep(found)).collect();
        }
    }

    /// The disk answers several questions at once, so a wide level is read by several threads, while directories
    /// further on are still being entered. That is work for one core, which reads along when it is done.
    fn read_level(&self, root: &Root, todo: Vec<Unread>, enter: Enter<'_>) -> Vec<Found> {
        let unwanted = root.rules.unwanted();
        let read = |unread: Unread| self.read_directory(root, unread, &unwanted).ok();
        let threads = thread::available_parallelism().map_or(1, NonZero::get).min(MOST_THREADS);
        // Has room for all of them, so that entering never waits.
        let (entered, queue) = sync_channel(todo.len());
        let queue = Mutex::new(queue);
        let next = || queue.lock().unwrap_or_else(PoisonError::into_inner).recv().ok();
        let read_on = || iter::from_fn(next).filter_map(read).collect::<Vec<_>>();
        let is_wide = todo.len() >= WIDE;
        thread::scope(|scope| {
            let readers = if is_wide { threads.max(2) - 1 } else { 0 };
            let start = |_| thread::Builder::new().spawn_scoped(scope, read_on).ok();
            // The system may refuse threads; then there are fewer of them, or only this one.
            let reading: Vec<_> = (0..readers).map_while(start).collect();
            for unread in todo {
                enter(&root.path.join(&unread.0));
                // Cannot fail: the queue is here.
                let _ = entered.send(unread);
            }
            drop(entered);
            let mut found = read_on();
            // What a thread that panicked has read is not there; the panic itself is logged.
            found.extend(reading.into_iter().filter_map(|part| part.join().ok()).flatten());
            found
        })
    }

    /// Takes a directory in, and tells what is below it.
    fn keep(&mut self, found: Found) -> Vec<Unread> {
        self.directories.insert(found.below, found.directory);
        found.directories
    }

    fn read_directory(
        &self,
        root: &Root,
        (below, inode): Unread,
        unwanted: &[Identity],
    ) -> io::Result<Found> {
        let (mut files, mut directories) = (Vec::new(), Vec::new());
        let path = root.path.join(&below);
        let entries = fs::read_dir(&path)?.filter_map(Result::ok);
        let entries: Vec<_> = entries.map(|entry| (entry.file_name(), entry)).collect();
        let has_rules = entries.iter().any(|(name, _)| root.rules.is_rule_file(name));
        let own = has_rules.then(|| gitignore::read(&path)).flatten();
        let above = below.parent().map(|parent| self.rules_for(parent)).into_iter().flatten();
        let wanted = |about: &Metadata| !unwanted.contains(&Identity::of(about));
        let chain: Vec<&Gitignore> = own.iter().chain(above).collect();
        // Most directories have no rules, and then nobody needs whole paths of files.
        let is_ignored = |name: &OsStr, is_dir| {
            !chain.is_empty()
                && gitignore::is_ignored(chain.iter().copied(), &path.join(name), is_dir)
        };
        for (name, entry) in entries {
            let Ok(kind) = entry.file_type() else { continue };
            if kind.is_dir() {
                if root.rules.wants_directory(&path.join(&name)) && !is_ignored(&name, true) {
                    directories.push((below.join(name), entry.ino()));
                }
            } else if kind.is_file()
                && root.rules.wants_file(&name)
                && !is_ignored(&name, false)
                && let Some(about) = entry.metadata().ok().filter(wanted)
                && let Some(stamp) = stamp(&about)
            {
                files.push((name, stamp));
            }
        }
        // All at once, which is cheaper than one by one.
        let files = BTreeMap::from_iter(files);
        Ok(Found { below, directory: Directory { inode, rules: own, files }, directories })
    }

    /// From the nearest to the root's.
    fn rules_for(&self, below: &Path) -> impl Iterator<Item = &Gitignore> {
        below.ancestors().filter_map(|path| self.directories.get(path)?.rules.as_ref())
    }
}

/// In one piece of memory of the right size, because there are many of them.
fn join(path: &Path, name: &OsStr) -> PathBuf {
    let mut joined = PathBuf::with_capacity(path.as_os_str().len() + 1 + name.len());
    joined.push(path);
    joined.push(name);
    joined
}

fn stamp(about: &Metadata) -> Option<Stamp> {
    Some(Stamp { modified: about.modified().ok()?, size: about.len() })
}
