//! The lists of one root, ready-made: a list is made once per change and handed out as often as it is asked for.

use super::clock;
use super::index::{Index, Seen};
use super::tree::{Root, Tree};
use crate::message::{FileList, KnownList, ListRoots, ListScope, ListedFile};
use std::collections::VecDeque;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

/// Older uploads and results are no longer news.
const RECENT: Duration = Duration::from_secs(3_600);
/// A catalog that nobody asked for this long is given up, with its watches.
const UNUSED: Duration = Duration::from_secs(600);
/// Lists whose like is remembered. More than a client could hold on to.
const REMEMBERED: usize = 64;

#[derive(Debug)]
pub(super) struct Catalog {
    pub(super) index: Index,
    prefix: &'static str,
    lists: Mutex<Lists>,
    used: Mutex<Instant>,
}

/// A list, and whether its time and length stand for it alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    pub list: Arc<FileList>,
    /// False: another list of the same time and length has been handed out before.
    pub unique: bool,
}

impl Listed {
    /// Whether the client has this very list.
    pub fn is(&self, known: &KnownList) -> bool {
        self.unique && self.list.newest == known.newest && self.list.files.len() == known.count
    }
}

/// What is said about a list besides its files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) roots: ListRoots,
    /// `None`: the newest file's.
    pub(super) newest: Option<String>,
}

#[derive(Debug, Default)]
struct Lists {
    usual: Option<Ready>,
    all: Option<Ready>,
    /// Newest last.
    told: VecDeque<Told>,
}

#[derive(Debug)]
struct Ready {
    revision: u64,
    head: Head,
    /// When the oldest entry of a list of recent files drops out.
    until: Option<SystemTime>,
    listed: Listed,
}

#[derive(Debug, PartialEq, Eq)]
struct Told {
    newest: Option<String>,
    count: usize,
    digest: u64,
}

impl Catalog {
    /// Paths are shown behind `prefix`.
    pub(super) fn new(root: Root, prefix: &'static str) -> Self {
        Self {
            index: Index::new(root),
            prefix,
            lists: Mutex::default(),
            used: Mutex::new(Instant::now()),
        }
    }

    /// Without touching the disk; `None` if the list has to be made.
    pub(super) fn ready(&self, head: &Head, scope: ListScope) -> Option<Listed> {
        self.use_now();
        let seen = self.index.ready()?;
        let lists = self.lists.try_lock().ok()?;
        lists.of(scope).as_ref().filter(|ready| ready.is_good(&seen, head)).map(Ready::give)
    }

    pub(super) fn list(&self, head: &Head, scope: ListScope) -> io::Result<Listed> {
        self.use_now();
        let seen = self.index.refresh()?;
        Ok(self.show(&seen, head, scope))
    }

    /// Length and digest of the list that these files make.
    pub(super) fn digest(&self, tree: &Tree) -> (usize, u64) {
        let (files, _) = self.files(tree, None);
        (files.len(), digest(&files))
    }

    /// Takes note of a list that was handed out, or may have been.
    pub(super) fn remember(&self, newest: Option<String>, count: usize, digest: u64) {
        self.lock().remember(Told { newest, count, digest });
    }

    pub(super) fn is_unused(&self) -> bool {
        let used = *self.used.lock().unwrap_or_else(PoisonError::into_inner);
        used.elapsed() > UNUSED && !self.index.has_subscribers()
    }

    #[cfg(test)]
    pub(super) fn grow_old(&self) {
        if let Some(long_ago) = Instant::now().checked_sub(UNUSED + Duration::from_secs(1)) {
            *self.used.lock().unwrap_or_else(PoisonError::into_inner) = long_ago;
        }
    }

    fn use_now(&self) {
        *self.used.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    fn show(&self, seen: &Seen, head: &Head, scope: ListScope) -> Listed {
        let mut lists = self.lock();
        if let Some(ready) = lists.of(scope).as_ref().filter(|ready| ready.is_good(seen, head)) {
            return ready.give();
        }
        let is_recent = head.roots == ListRoots::Temp && scope == ListScope::Usual;
        let (files, span) = self.files(&seen.tree, is_recent.then(SystemTime::now));
        let newest = match head.roots {
            ListRoots::Temp => span.map(|(_, newest)| clock::shown(newest)),
            ListRoots::Backup { .. } => head.newest.clone(),
        };
        let told = Told { newest: newest.clone(), count: files.len(), digest: digest(&files) };
        let unique = lists.remember(told);
        let list = FileList { roots: head.roots.clone(), newest, files };
        let until = span.filter(|_| is_recent).map(|(oldest, _)| oldest + RECENT);
        let place = lists.of_mut(scope);
        // Who waits for another list is not woken by the same one.
        let before = place.take().map(|ready| ready.listed.list).filter(|before| **before == list);
        let listed = Listed { list: before.unwrap_or_else(|| Arc::new(list)), unique };
        let ready = Ready { revision: seen.revision, head: head.clone(), until, listed };
        place.insert(ready).give()
    }

    /// Sorted, with the times of the oldest and the newest; at a certain time only the recent ones.
    fn files(
        &self,
        tree: &Tree,
        now: Option<SystemTime>,
    ) -> (Vec<ListedFile>, Option<(SystemTime, SystemTime)>) {
        let oldest = now.and_then(|now| now.checked_sub(RECENT));
        let mut span: Option<(SystemTime, SystemTime)> = None;
        let mut times = clock::Shown::default();
        let mut files = Vec::with_capacity(if oldest.is_some() { 0 } else { tree.count() });
        for (path, stamp) in tree.files() {
            let modified = stamp.modified;
            if oldest.is_some_and(|oldest| modified <= oldest) {
                continue;
            }
            let (first, last) = span.unwrap_or((modified, modified));
            span = Some((first.min(modified), last.max(modified)));
            let path = self.shown(path);
            files.push(ListedFile { path, modified: times.of(modified) });
        }
        files.sort_unstable_by(|a, b| a.path.cmp(&b.path));
        (files, span)
    }

    /// Nearly all paths are text and need no copy.
    fn shown(&self, path: PathBuf) -> String {
        let path = path.into_os_string().into_string();
        let path = path.unwrap_or_else(|odd| with_slashes(Path::new(&odd)));
        if self.prefix.is_empty() { path } else { format!("{}{path}", self.prefix) }
    }

    fn lock(&self) -> MutexGuard<'_, Lists> {
        self.lists.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Ready {
    fn is_good(&self, seen: &Seen, head: &Head) -> bool {
        self.revision == seen.revision
            && self.head == *head
            && self.until.is_none_or(|until| SystemTime::now() < until)
    }

    fn give(&self) -> Listed {
        self.listed.clone()
    }
}

impl Lists {
    fn of(&self, scope: ListScope) -> &Option<Ready> {
        match scope {
            ListScope::Usual => &self.usual,
            ListScope::All => &self.all,
        }
    }

    fn of_mut(&mut self, scope: ListScope) -> &mut Option<Ready> {
        match scope {
            ListScope::Usual => &mut self.usual,
            ListScope::All => &mut self.all,
        }
    }

    /// True: there has been no other list of this time and length.
    fn remember(&mut self, told: Told) -> bool {
        let alike = |other: &&Told| other.newest == told.newest && other.count == told.count;
        let unique = self.told.iter().filter(alike).all(|other| other.digest == told.digest);
        if !self.told.contains(&told) {
            self.told.push_back(told);
            if self.told.len() > REMEMBERED {
                self.told.pop_front();
            }
        }
        unique
    }
}

fn digest(files: &[ListedFile]) -> u64 {
    let mut hasher = DefaultHasher::new();
    for file in files {
        (&file.path, &file.modified).hash(&mut hasher);
    }
    hasher.finish()
}

pub(super) fn with_slashes(path: &Path) -> String {
    if let Some(text) = path.to_str() {
        return text.to_owned();
    }
    let names =
        path.components().map(|component: Component<'_>| component.as_os_str().to_string_lossy());
    names.collect::<Vec<_>>().join("/")
}
