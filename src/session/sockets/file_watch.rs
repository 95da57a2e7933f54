//! Lists that are shown whenever they change, as long as there is a socket to show them on.

use crate::message::{Channel, Event, FileList, ListKind, ListRoots, WatchTarget, WatchWish};
use crate::session::actor::Session;
use crate::session::job::{self, Asker};
use crate::session::journal::Step;
use std::sync::Arc;
use std::time::Duration;

/// Between two lists of one kind.
const PAUSE: Duration = Duration::from_secs(1);

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
        for kind in kinds {
            match wish {
                WatchWish::Start if self.desk.followed.contains_key(&kind) => {}
                WatchWish::Start => self.follow(kind, None, Duration::ZERO),
                WatchWish::Stop => self.stop_following(kind),
            }
        }
        self.record_for(asker, Step::default());
    }

    pub(in crate::session) fn on_followed(
        &mut self,
        kind: ListKind,
        before: Option<Arc<FileList>>,
        list: Arc<FileList>,
    ) {
        // It was done when the session moved, and another one is under way.
        if self.is_elsewhere(&list) {
            return;
        }
        let Some(job) = self.desk.followed.remove(&kind) else { return };
        // Another one, if it was stopped and started meanwhile; one is enough.
        job.abort();
        if self.audience.count(Channel::File) == 0 {
            return;
        }
        // Storage that does not keep up gets no more; the list is shown later, as it is then.
        if self.journal.is_full() {
            return self.follow(kind, before, PAUSE);
        }
        let mut step = Step::default();
        self.append(&mut step, Channel::File, Event::Files { kind, list: Some(Arc::clone(&list)) });
        self.journal.record(step);
        self.follow(kind, Some(list), PAUSE);
    }

    /// Nobody would see the lists.
    pub(super) fn stop_following_alone(&mut self) {
        if !self.desk.followed.is_empty() && self.audience.count(Channel::File) == 0 {
            self.stop_following(ListKind::Backup);
            self.stop_following(ListKind::Temp);
        }
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

    /// A list that was begun before the session moved.
    pub(in crate::session) fn is_elsewhere(&self, list: &FileList) -> bool {
        match &list.roots {
            ListRoots::Backup { project, .. } => {
                *project != self.env.files.project().to_string_lossy()
            }
            ListRoots::Temp => false,
        }
    }

    fn follow(&mut self, kind: ListKind, before: Option<Arc<FileList>>, pause: Duration) {
        let (env, principal) = (self.env.clone(), self.principal.clone());
        let job = self.jobs.spawn(job::follow(env, principal, kind, before, pause));
        self.desk.followed.insert(kind, job);
    }

    fn stop_following(&mut self, kind: ListKind) {
        if let Some(job) = self.desk.followed.remove(&kind) {
            job.abort();
        }
    }
}
