//! Watched file lists: sent whenever they change, as long as some socket sees the file channel.

use crate::message::{
    Channel, ConnectionId, Event, FileList, ListKind, ListRoots, View, WatchTarget, WatchWish,
};
use crate::session::actor::Session;
use crate::session::job::{self, Asker};
use crate::session::journal::Step;
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

/// Shortest pause between two lists of one kind.
const PAUSE: Duration = Duration::from_secs(1);

/// Who wants to be shown one list.
#[derive(Debug, Default)]
pub(in crate::session) struct Watchers {
    /// Some socket of one channel has asked for all sockets of the file channel.
    panes: bool,
    /// Sockets that see the whole session, each for itself.
    views: HashSet<ConnectionId>,
}

impl Session {
    pub(in crate::session) fn watch_files(
        &mut self,
        asker: Asker,
        target: WatchTarget,
        wish: WatchWish,
    ) {
        let kinds = match target {
            WatchTarget::One(kind) => vec![kind],
            WatchTarget::Every => vec![ListKind::Backup, ListKind::Temp],
        };
        let by_view = self.audience.view_of(asker.connection) == Some(View::All);
        for kind in kinds {
            let watchers = self.desk.watchers.entry(kind).or_default();
            match (wish, by_view) {
                (WatchWish::Start, true) => drop(watchers.views.insert(asker.connection)),
                (WatchWish::Start, false) => watchers.panes = true,
                (WatchWish::Stop, true) => drop(watchers.views.remove(&asker.connection)),
                (WatchWish::Stop, false) => watchers.panes = false,
            }
            let is_running = self.desk.followed.contains_key(&kind);
            match wish {
                WatchWish::Start if is_running && !by_view => {}
                WatchWish::Start => {
                    // A client that joins others gets the list now, and so do they.
                    self.stop_following(kind);
                    self.follow(kind, None, Duration::ZERO);
                }
                WatchWish::Stop => self.stop_following_alone(),
            }
        }
        self.shared.record_for(asker, Step::default());
    }

    pub(in crate::session) fn on_followed(
        &mut self,
        kind: ListKind,
        before: Option<Arc<FileList>>,
        list: Arc<FileList>,
    ) {
        // The list was made before the session moved to another project; a new one is under way.
        if self.is_elsewhere(&list) {
            return;
        }
        let Some(job) = self.desk.followed.remove(&kind) else { return };
        // Usually the job that just ended. If watching was stopped and started meanwhile it is a newer one, and one is
        // enough.
        job.abort();
        if !self.is_wanted(kind) {
            return;
        }
        // Storage does not keep up: the list is made again later instead of adding to the backlog.
        if self.shared.journal.is_full() {
            return self.follow(kind, before, PAUSE);
        }
        self.shared.record_event( Channel::File, Event::Files { kind, list: Some(Arc::clone(&list)) });
        self.follow(kind, Some(list), PAUSE);
    }

    /// Stops watching when no socket sees the file channel.
    pub(super) fn stop_following_alone(&mut self) {
        for kind in [ListKind::Backup, ListKind::Temp] {
            if self.desk.followed.contains_key(&kind) && !self.is_wanted(kind) {
                self.stop_following(kind);
            }
        }
    }

    /// A departed client of a whole session watches nothing. A client with a socket for each channel asks on one of them
    /// and sees the lists on another, so its wish lasts as long as a socket shows them.
    pub(super) fn forget_watcher(&mut self, connection: ConnectionId) {
        for watchers in self.desk.watchers.values_mut() {
            watchers.views.remove(&connection);
        }
    }

    fn is_wanted(&self, kind: ListKind) -> bool {
        let is_shown = self.audience.count_view(View::One(Channel::File)) > 0;
        let watchers = self.desk.watchers.get(&kind);
        watchers.is_some_and(|watchers| !watchers.views.is_empty() || (watchers.panes && is_shown))
    }

    /// The session works on another project now: its lists are shown from there on.
    pub(in crate::session) fn follow_elsewhere(&mut self) {
        for kind in [ListKind::Backup, ListKind::Temp] {
            if self.desk.followed.contains_key(&kind) {
                self.stop_following(kind);
                self.follow(kind, None, Duration::ZERO);
            }
        }
    }

    /// Whether the list is about a project that the session has left.
    pub(in crate::session) fn is_elsewhere(&self, list: &FileList) -> bool {
        match &list.roots {
            ListRoots::Backup { project, .. } => {
                *project != self.shared.env.files.project().to_string_lossy()
            }
            ListRoots::Temp => false,
        }
    }

    fn follow(&mut self, kind: ListKind, before: Option<Arc<FileList>>, pause: Duration) {
        let (env, principal) = (self.shared.env.clone(), self.shared.principal.clone());
        let job = self.shared.jobs.spawn(job::follow(env, principal, kind, before, pause));
        self.desk.followed.insert(kind, job);
    }

    fn stop_following(&mut self, kind: ListKind) {
        if let Some(job) = self.desk.followed.remove(&kind) {
            job.abort();
        }
    }
}
