//! Watched file lists: sent whenever they change, as long as some socket sees the file channel.

use super::Sockets;
use crate::message::{
    Channel, ConnectionId, Event, FileList, ListKind, ListRoots, View, WatchTarget, WatchWish,
};
use crate::session::job::{self, Asker};
use crate::session::journal::Step;
use crate::session::shared::Shared;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;
use tokio::task::AbortHandle;

/// Shortest pause between two lists of one kind.
const PAUSE: Duration = Duration::from_secs(1);
const WATCHED: [ListKind; 2] = [ListKind::Backup, ListKind::Temp];

#[derive(Debug, Default)]
pub(super) struct FileWatches {
    /// Jobs that wait for a list to change.
    jobs: HashMap<ListKind, AbortHandle>,
    watchers: HashMap<ListKind, Watchers>,
}

/// Who wants to be shown one list.
#[derive(Debug, Default)]
struct Watchers {
    /// Some socket of one channel has asked for all sockets of the file channel.
    panes: bool,
    /// Sockets that see the whole session, each for itself.
    views: HashSet<ConnectionId>,
}

impl FileWatches {
    fn is_running(&self, kind: ListKind) -> bool {
        self.jobs.contains_key(&kind)
    }

    fn start(
        &mut self,
        shared: &mut Shared,
        kind: ListKind,
        before: Option<Arc<FileList>>,
        pause: Duration,
    ) {
        let (env, principal) = (shared.env.clone(), shared.principal.clone());
        let job = shared.jobs.spawn(job::follow(env, principal, kind, before, pause));
        self.jobs.insert(kind, job);
    }

    /// Returns whether the list was watched.
    fn stop(&mut self, kind: ListKind) -> bool {
        let job = self.jobs.remove(&kind);
        job.inspect(AbortHandle::abort).is_some()
    }
}

impl Sockets {
    pub(in crate::session) fn watch_files(
        &mut self,
        shared: &mut Shared,
        asker: Asker,
        target: WatchTarget,
        wish: WatchWish,
    ) {
        let kinds = match target {
            WatchTarget::One(kind) => vec![kind],
            WatchTarget::Every => WATCHED.to_vec(),
        };
        let by_view = self.view_of(asker.connection) == Some(View::All);
        for kind in kinds {
            let watchers = self.file_watches.watchers.entry(kind).or_default();
            match (wish, by_view) {
                (WatchWish::Start, true) => drop(watchers.views.insert(asker.connection)),
                (WatchWish::Start, false) => watchers.panes = true,
                (WatchWish::Stop, true) => drop(watchers.views.remove(&asker.connection)),
                (WatchWish::Stop, false) => watchers.panes = false,
            }
            match wish {
                WatchWish::Start if self.file_watches.is_running(kind) && !by_view => {}
                WatchWish::Start => {
                    // A client that joins others gets the list now, and so do they.
                    self.file_watches.stop(kind);
                    self.file_watches.start(shared, kind, None, Duration::ZERO);
                }
                WatchWish::Stop => self.stop_unwanted_watches(),
            }
        }
        shared.record_for(asker, Step::default());
    }

    pub(in crate::session) fn on_list_changed(
        &mut self,
        shared: &mut Shared,
        kind: ListKind,
        before: Option<Arc<FileList>>,
        list: Arc<FileList>,
    ) {
        // The list was made before the session moved to another project; a new one is under way.
        if is_elsewhere(shared, &list) {
            return;
        }
        // Usually the job that just ended. If watching was stopped and started meanwhile it is a newer one, and one is
        // enough.
        if !self.file_watches.stop(kind) || !self.is_watched(kind) {
            return;
        }
        // Storage does not keep up: the list is made again later instead of adding to the backlog.
        if shared.journal.is_full() {
            return self.file_watches.start(shared, kind, before, PAUSE);
        }
        let event = Event::Files { kind, list: Some(Arc::clone(&list)) };
        shared.record_event(Channel::File, event);
        self.file_watches.start(shared, kind, Some(list), PAUSE);
    }

    /// Stops watching lists that no socket is shown.
    pub(super) fn stop_unwanted_watches(&mut self) {
        for kind in WATCHED {
            if !self.is_watched(kind) {
                self.file_watches.stop(kind);
            }
        }
    }

    /// The session is deleted: no list is watched any more.
    pub(in crate::session) fn stop_all_watches(&mut self) {
        for kind in WATCHED {
            self.file_watches.stop(kind);
        }
    }

    /// Detaches a socket. A departed client of a whole session watches nothing. A client with a socket for each channel
    /// asks on one of them and sees the lists on another, so its wish lasts as long as a socket shows them.
    pub(in crate::session) fn on_detach(&mut self, connection: ConnectionId) {
        self.detach(connection);
        for watchers in self.file_watches.watchers.values_mut() {
            watchers.views.remove(&connection);
        }
        self.stop_unwanted_watches();
    }

    fn is_watched(&self, kind: ListKind) -> bool {
        let is_shown = self.count_view(View::One(Channel::File)) > 0;
        let watchers = self.file_watches.watchers.get(&kind);
        watchers.is_some_and(|watchers| !watchers.views.is_empty() || (watchers.panes && is_shown))
    }

    /// The session works on another project now: its lists are shown from there on.
    pub(in crate::session) fn watch_other_project(&mut self, shared: &mut Shared) {
        for kind in WATCHED {
            if self.file_watches.stop(kind) {
                self.file_watches.start(shared, kind, None, Duration::ZERO);
            }
        }
    }
}

/// Whether the list is about a project that the session has left.
pub(in crate::session) fn is_elsewhere(shared: &Shared, list: &FileList) -> bool {
    match &list.roots {
        ListRoots::Backup { project, .. } => {
            *project != shared.env.files.project().to_string_lossy()
        }
        ListRoots::Temp => false,
    }
}
