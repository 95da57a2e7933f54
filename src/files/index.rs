//! One root's files, kept in memory and up to date: the system tells what changes, and only that is looked at.
//! Whenever it is not certain what has changed everything is read again; an index is never wrong, only slower.

use super::tree::{Root, Tree, Update};
use super::watch::{Changes, Watch};
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// How often the root itself is looked at, and everything where nothing can be watched.
pub(super) const LOOK: Duration = Duration::from_secs(2);
/// After this long it is tried again to watch what could not be watched.
const RETRY: Duration = Duration::from_secs(60);

#[derive(Debug)]
pub(super) struct Index {
    root: Root,
    state: Mutex<State>,
    /// Counts notices of the system; who waits for changes waits here.
    news: watch::Sender<u64>,
    sight: Sight,
}

/// Whether it is tried to watch the root.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sight {
    Wanted,
    #[cfg(test)]
    Missing,
}

/// The files at one moment; the same revision means the same files.
#[derive(Debug, Clone)]
pub(super) struct Seen {
    pub(super) tree: Arc<Tree>,
    pub(super) revision: u64,
}

#[derive(Debug, Default)]
struct State {
    revision: u64,
    /// `None` before the first use, and after a failure.
    view: Option<View>,
}

#[derive(Debug)]
struct View {
    tree: Arc<Tree>,
    root_inode: u64,
    looked: Instant,
    eye: Eye,
}

#[derive(Debug)]
enum Eye {
    Open(Watch),
    /// Watching is not possible.
    Closed {
        retry: Instant,
    },
}

impl Index {
    pub(super) fn new(root: Root) -> Self {
        let (state, news) = (Mutex::default(), watch::Sender::new(0));
        Self { root, state, news, sight: Sight::Wanted }
    }

    /// Without touching the disk; `None` if that cannot be said.
    pub(super) fn ready(&self) -> Option<Seen> {
        let state = match self.state.try_lock() {
            Ok(state) => state,
            Err(TryLockError::Poisoned(broken)) => broken.into_inner(),
            Err(TryLockError::WouldBlock) => return None,
        };
        let view = state.view.as_ref().filter(|view| view.looked.elapsed() < LOOK)?;
        let quiet = match &view.eye {
            Eye::Open(watch) => watch.is_quiet(),
            Eye::Closed { .. } => true,
        };
        quiet.then(|| Seen { tree: Arc::clone(&view.tree), revision: state.revision })
    }

    /// Looks at what has changed, if anything has.
    pub(super) fn refresh(&self) -> io::Result<Seen> {
        let mut state = self.lock();
        let view = match state.view.take() {
            Some(view) => self.renew(&mut state, view)?,
            None => self.build(&mut state, None)?,
        };
        Ok(state.keep(view))
    }

    /// Reads everything, because what matters now must not depend on a notice that is still on its way.
    pub(super) fn survey(&self) -> io::Result<Seen> {
        let mut state = self.lock();
        let view = match state.view.take() {
            Some(view) => self.compare(&mut state, view)?,
            None => self.build(&mut state, None)?,
        };
        Ok(state.keep(view))
    }

    /// Wakes who waits for changes.
    pub(super) fn poke(&self) {
        self.news.send_modify(|count| *count = count.wrapping_add(1));
    }

    /// A path that we have changed ourselves. Where nothing is watched it is looked at here and now.
    pub(super) fn note(&self, path: &Path) {
        let mut state = self.lock();
        let update = match &mut state.view {
            Some(View { eye: Eye::Open(watch), .. }) => {
                watch.note(path);
                Update::Same
            }
            Some(View { eye: Eye::Closed { .. }, tree, .. }) => {
                look_down_to(&self.root, Arc::make_mut(tree), path)
            }
            None => Update::Same,
        };
        match update {
            Update::Same => {}
            Update::Changed => state.revision += 1,
            Update::Unclear => state.view = None,
        }
        drop(state);
        self.poke();
    }

    pub(super) fn subscribe(&self) -> watch::Receiver<u64> {
        self.news.subscribe()
    }

    pub(super) fn has_subscribers(&self) -> bool {
        self.news.receiver_count() > 0
    }

    fn renew(&self, state: &mut State, mut view: View) -> io::Result<View> {
        let due = view.looked.elapsed() >= LOOK;
        match &mut view.eye {
            Eye::Closed { retry } if due && Instant::now() < *retry => self.compare(state, view),
            Eye::Closed { .. } if due => self.build(state, Some(&view.tree)),
            Eye::Closed { .. } => Ok(view),
            Eye::Open(watch) => {
                let changes = watch.take();
                if changes.everything || (due && self.inode().ok() != Some(view.root_inode)) {
                    return self.build(state, Some(&view.tree));
                }
                if due {
                    view.looked = Instant::now();
                }
                match self.look(&mut view.tree, watch, changes) {
                    Update::Same => {}
                    Update::Changed => state.revision += 1,
                    // The tree may be half changed by now, so there is nothing left to compare with.
                    Update::Unclear => return self.build(state, None),
                }
                if !watch.is_complete() {
                    return self.build(state, None);
                }
                Ok(view)
            }
        }
    }

    fn look(&self, tree: &mut Arc<Tree>, watch: &mut Watch, changes: Changes) -> Update {
        let mut outcome = Update::Same;
        if changes.paths.is_empty() {
            return outcome;
        }
        let tree = Arc::make_mut(tree);
        for (path, removed) in changes.paths {
            match tree.look(&self.root, &path, removed, &mut |entered| watch.enter(entered)) {
                Update::Same => {}
                Update::Changed => outcome = Update::Changed,
                Update::Unclear => return Update::Unclear,
            }
        }
        outcome
    }

    /// Reads everything and keeps the watches, if they are still on the same directories.
    fn compare(&self, state: &mut State, view: View) -> io::Result<View> {
        if let Eye::Open(watch) = &view.eye {
            let Changes { paths, everything } = watch.take();
            let mut gone = paths.iter().filter(|(_, removed)| **removed);
            if everything || gone.any(|(path, _)| view.tree.has_directory(&self.root, path)) {
                return self.build(state, Some(&view.tree));
            }
        }
        let root_inode = self.inode()?;
        let tree = Tree::survey(&self.root, &mut |_| {})?;
        let watching = matches!(view.eye, Eye::Open(_));
        if watching && (root_inode != view.root_inode || !tree.same_directories(&view.tree)) {
            return self.build(state, Some(&view.tree));
        }
        let tree = state.adopt(tree, Some(&view.tree));
        Ok(View { tree, root_inode, looked: Instant::now(), eye: view.eye })
    }

    /// Starts anew, with new watches.
    fn build(&self, state: &mut State, before: Option<&Tree>) -> io::Result<View> {
        let mut watch = match self.sight {
            Sight::Wanted => Watch::new(&self.root.path, self.news.clone()),
            #[cfg(test)]
            Sight::Missing => None,
        };
        let root_inode = self.inode()?;
        let tree = Tree::survey(&self.root, &mut |directory| {
            if let Some(watch) = &mut watch {
                watch.enter(directory);
            }
        })?;
        let eye = match watch.filter(Watch::is_complete) {
            Some(watch) => Eye::Open(watch),
            None => Eye::Closed { retry: Instant::now() + RETRY },
        };
        let tree = state.adopt(tree, before);
        Ok(View { tree, root_inode, looked: Instant::now(), eye })
    }

    fn inode(&self) -> io::Result<u64> {
        fs::metadata(&self.root.path).map(|about| about.ino())
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Directories on the way may be new, too.
fn look_down_to(root: &Root, tree: &mut Tree, path: &Path) -> Update {
    let mut way: Vec<&Path> = path.ancestors().take_while(|part| *part != root.path).collect();
    way.reverse();
    let mut outcome = Update::Same;
    for part in way {
        match tree.look(root, part, false, &mut |_| {}) {
            Update::Same => {}
            Update::Changed => outcome = Update::Changed,
            Update::Unclear => return Update::Unclear,
        }
    }
    outcome
}

impl State {
    fn adopt(&mut self, tree: Tree, before: Option<&Tree>) -> Arc<Tree> {
        if !before.is_some_and(|before| before.same_files(&tree)) {
            self.revision += 1;
        }
        Arc::new(tree)
    }

    fn keep(&mut self, view: View) -> Seen {
        let seen = Seen { tree: Arc::clone(&view.tree), revision: self.revision };
        self.view = Some(view);
        seen
    }
}

#[cfg(test)]
mod tests;
