//! Tells what has changed below a root: the system's own notices, collected until somebody asks.
//! Each directory is watched by itself, so that generated ones cost nothing.

use notify::event::{ModifyKind, RenameMode};
use notify::{
    ErrorKind, Event, EventHandler, EventKind, RecommendedWatcher, RecursiveMode, Watcher,
};
use rustix::fs::statfs;
use std::collections::HashMap;
use std::mem::ManuallyDrop;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use tokio::sync::watch;
use tracing::warn;

/// Paths that wait to be looked at. Full: everything is looked at.
const CAPACITY: usize = 4_096;
/// File systems whose files others can change without a notice: NFS, SMB, FUSE, 9P, Ceph, AFS, VirtualBox.
const SHARED: [u32; 9] = [
    0x6969,
    0x517b,
    0xff53_4d42,
    0xfe53_4d42,
    0x6573_5546,
    0x0102_1997,
    0x00c3_6400,
    0x5346_414f,
    0x786f_4256,
];

/// What has changed since the last look.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Changes {
    /// With whether something of that name has gone meanwhile.
    pub(super) paths: HashMap<PathBuf, bool>,
    /// Notices were lost, or there are too many.
    pub(super) everything: bool,
}

impl Changes {
    fn add(&mut self, path: PathBuf, removed: bool) {
        if self.everything {
            return;
        }
        *self.paths.entry(path).or_default() |= removed;
        if self.paths.len() > CAPACITY {
            self.add_everything();
        }
    }

    fn add_everything(&mut self) {
        self.paths = HashMap::new();
        self.everything = true;
    }

    fn is_empty(&self) -> bool {
        self.paths.is_empty() && !self.everything
    }
}

#[derive(Debug)]
pub(super) struct Watch {
    watcher: RecommendedWatcher,
    changes: Arc<Mutex<Changes>>,
    complete: bool,
}

impl Watch {
    /// `None` if files below this path cannot be watched. Every change is also counted in `news`.
    pub(super) fn new(root: &Path, news: watch::Sender<u64>) -> Option<Self> {
        if is_shared(root) {
            return None;
        }
        let changes = Arc::new(Mutex::new(Changes::default()));
        let collected = Arc::clone(&changes);
        let handler = move |told| {
            if collect(&mut lock(&collected), told) {
                news.send_modify(|count| *count = count.wrapping_add(1));
            }
        };
        match start(handler) {
            Ok(watcher) => Some(Self { watcher, changes, complete: true }),
            Err(err) => {
                let root = root.display();
                warn!(%root, %err, "changes of files are not noticed by themselves: all files are read again when somebody asks for them, and watching is tried again in a minute");
                None
            }
        }
    }

    /// Watches one directory, not those in it.
    pub(super) fn enter(&mut self, directory: &Path) {
        if !self.complete {
            return;
        }
        if let Err(err) = self.watcher.watch(directory, RecursiveMode::NonRecursive) {
            // A directory that has vanished is no longer part of the tree either.
            self.complete = matches!(err.kind, ErrorKind::PathNotFound);
        }
    }

    /// False: the limit of watches is reached, or some directory does not let itself be watched.
    pub(super) fn is_complete(&self) -> bool {
        self.complete
    }

    pub(super) fn is_quiet(&self) -> bool {
        lock(&self.changes).is_empty()
    }

    pub(super) fn take(&self) -> Changes {
        std::mem::take(&mut lock(&self.changes))
    }

    /// What we did ourselves need not wait for the system's notice.
    pub(super) fn note(&self, path: &Path) {
        lock(&self.changes).add(path.to_owned(), false);
    }
}

/// `notify` does not say that the system refused the thread of its event loop: it panics at the first use of such a
/// watcher, and once more when that is dropped, which ends the process.
fn start(handler: impl EventHandler) -> notify::Result<RecommendedWatcher> {
    // Found out beforehand, because a watcher without its thread can only be left behind.
    let thread = thread::Builder::new().spawn(|| ()).map_err(notify::Error::io)?;
    // It does nothing that could panic.
    let _ = thread.join();
    let watcher = RecommendedWatcher::new(handler, notify::Config::default())?;
    let mut watcher = ManuallyDrop::new(watcher);
    // The one question that is answered by an error instead of a panic if nobody is there.
    watcher.configure(notify::Config::default())?;
    Ok(ManuallyDrop::into_inner(watcher))
}

/// True: there is something to look at.
fn collect(changes: &mut Changes, told: notify::Result<Event>) -> bool {
    let Ok(event) = told else {
        changes.add_everything();
        return true;
    };
    if event.need_rescan() {
        changes.add_everything();
    }
    let removed = match event.kind {
        EventKind::Access(_) => return event.need_rescan(),
        EventKind::Remove(_) => true,
        EventKind::Modify(ModifyKind::Name(mode)) => mode != RenameMode::To,
        EventKind::Modify(_) | EventKind::Create(_) | EventKind::Any | EventKind::Other => false,
    };
    for path in event.paths {
        changes.add(path, removed);
    }
    true
}

fn is_shared(path: &Path) -> bool {
    // The kernel's numbers have 32 bits, whatever width the platform gives the field.
    statfs(path).is_ok_and(|about| SHARED.contains(&(about.f_type as u32)))
}

fn lock(changes: &Mutex<Changes>) -> MutexGuard<'_, Changes> {
    changes.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use notify::event::{AccessKind, Flag, RemoveKind};

    fn told(kind: EventKind, path: &str) -> notify::Result<Event> {
        Ok(Event::new(kind).add_path(path.into()))
    }

    #[test]
    fn reading_is_no_change_and_a_removal_is_remembered() {
        let mut changes = Changes::default();
        assert!(!collect(&mut changes, told(EventKind::Access(AccessKind::Any), "/a")));
        assert!(changes.is_empty());
        assert!(collect(&mut changes, told(EventKind::Remove(RemoveKind::Folder), "/a")));
        assert!(collect(&mut changes, told(EventKind::Any, "/a")));
        assert_eq!(changes.paths, HashMap::from([("/a".into(), true)]));
    }

    #[test]
    fn lost_notices_errors_and_too_many_mean_everything() {
        let overflow = Ok(Event::new(EventKind::Other).set_flag(Flag::Rescan));
        for told in [overflow, Err(notify::Error::generic("broken"))] {
            let mut changes = Changes::default();
            assert!(collect(&mut changes, told) && changes.everything);
        }
        let mut changes = Changes::default();
        for number in 0..=CAPACITY {
            changes.add(format!("/{number}").into(), false);
        }
        assert!(changes.everything && changes.paths.is_empty());
    }
}
