//! Idle sessions, which have neither sockets nor work: how long they stay in memory, how many of them, and how many
//! bytes they may hold together. Above a limit the one that has been idle longest is unloaded. There is no periodic
//! scan: an idle session is woken once, when it has to leave.

use crate::config::Limits;
use std::collections::BTreeMap;
use std::future::pending;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::time::Instant;

/// Memory of a session itself, as measured, besides what it holds for its user.
pub(super) const OWN_BYTES: usize = 160 * 1024;
/// A session that was just loaded waits this long for the socket that wanted it, even above the limits.
const ARRIVAL: Duration = Duration::from_secs(10);

/// The idle ones of all sessions.
#[derive(Debug, Clone)]
pub(crate) struct IdleSessions(Arc<Mutex<Books>>);

#[derive(Debug)]
struct Books {
    most: usize,
    most_bytes: usize,
    bytes: usize,
    last: u64,
    /// In the order in which they became idle.
    places: BTreeMap<u64, Entry>,
}

#[derive(Debug)]
struct Entry {
    bytes: usize,
    /// Dropped when the session has to leave.
    _stays: oneshot::Sender<()>,
}

/// The entry of one idle session, removed when this is dropped or when the session has to leave.
#[derive(Debug)]
struct Place {
    sessions: IdleSessions,
    number: u64,
    stays: oneshot::Receiver<()>,
}

/// Whether one session is idle, and since when.
#[derive(Debug)]
pub(super) struct Idleness {
    sessions: IdleSessions,
    idle: Option<Idle>,
    /// A socket has attached since the session was loaded.
    was_used: bool,
}

#[derive(Debug)]
struct Idle {
    since: Instant,
    place: Place,
    has_to_leave: bool,
}

impl IdleSessions {
    pub(in crate::session) fn new(limits: &Limits) -> Self {
        let (most, most_bytes) = (limits.idle_sessions, limits.idle_bytes);
        let books = Books { most, most_bytes, bytes: 0, last: 0, places: BTreeMap::new() };
        Self(Arc::new(Mutex::new(books)))
    }

    fn enter(&self, bytes: usize) -> Place {
        let (sender, stays) = oneshot::channel();
        let mut books = self.lock();
        books.last += 1;
        let number = books.last;
        books.bytes += bytes;
        books.places.insert(number, Entry { bytes, _stays: sender });
        while books.places.len() > books.most || books.bytes > books.most_bytes {
            let Some((_, oldest)) = books.places.pop_first() else { break };
            books.bytes -= oldest.bytes;
        }
        drop(books);
        Place { sessions: self.clone(), number, stays }
    }

    fn lock(&self) -> MutexGuard<'_, Books> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut books = self.sessions.lock();
        if let Some(entry) = books.places.remove(&self.number) {
            books.bytes -= entry.bytes;
        }
    }
}

impl Idleness {
    pub(super) fn new(sessions: &IdleSessions) -> Self {
        Self { sessions: sessions.clone(), idle: None, was_used: false }
    }

    pub(super) fn note_arrival(&mut self) {
        self.was_used = true;
    }

    /// The session is in use.
    pub(super) fn note_busy(&mut self) {
        self.idle = None;
    }

    /// When the session is unloaded if it stays idle.
    pub(super) fn end(&mut self, unload: Duration, bytes: impl FnOnce() -> usize) -> Instant {
        let begin = || Idle {
            since: Instant::now(),
            place: self.sessions.enter(bytes()),
            has_to_leave: false,
        };
        let idle = self.idle.get_or_insert_with(begin);
        let patience = match (idle.has_to_leave, self.was_used) {
            (false, _) => unload,
            (true, false) => unload.min(ARRIVAL),
            (true, true) => Duration::ZERO,
        };
        idle.since + patience
    }

    /// Returns when a limit is exceeded and this session has been idle longest. Dropping the future loses nothing.
    pub(super) async fn has_to_leave(&mut self) {
        match &mut self.idle {
            Some(idle) if !idle.has_to_leave => {
                // Nothing is ever sent: the sender is dropped.
                let _ = (&mut idle.place.stays).await;
                idle.has_to_leave = true;
            }
            Some(_) | None => pending().await,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    use futures_util::FutureExt;

    fn idle(sessions: &IdleSessions, bytes: usize) -> Idleness {
        let mut idleness = Idleness::new(sessions);
        idleness.note_arrival();
        idleness.end(UNLOAD, || bytes);
        idleness
    }

    fn leaves(idleness: &mut Idleness) -> bool {
        idleness.has_to_leave().now_or_never().is_some()
    }

    const UNLOAD: Duration = Duration::from_secs(1800);

    fn sessions(most: usize, most_bytes: usize) -> IdleSessions {
        let mut limits = Config::for_test("/tmp", "/tmp").limits;
        (limits.idle_sessions, limits.idle_bytes) = (most, most_bytes);
        IdleSessions::new(&limits)
    }

    #[tokio::test(start_paused = true)]
    async fn the_oldest_leaves_when_there_are_too_many() {
        let sessions = sessions(2, usize::MAX);
        let mut first = idle(&sessions, 1);
        let mut second = idle(&sessions, 1);
        assert!(!leaves(&mut first));
        // Used again, so it is not the oldest any more.
        first.idle = None;
        first.end(UNLOAD, || 1);
        let mut third = idle(&sessions, 1);
        assert!(leaves(&mut second) && !leaves(&mut first) && !leaves(&mut third));
        assert!(second.end(UNLOAD, || 1) <= Instant::now());
        assert!(first.end(UNLOAD, || 1) > Instant::now());
        drop((first, second, third));
        assert!(sessions.lock().places.is_empty() && sessions.lock().bytes == 0);
    }

    #[tokio::test(start_paused = true)]
    async fn those_that_hold_much_leave_room_for_fewer() {
        let sessions = sessions(100, 10);
        let mut small = [idle(&sessions, 3), idle(&sessions, 3), idle(&sessions, 3)];
        let mut large = idle(&sessions, 7);
        assert_eq!(small.each_mut().map(leaves), [true, true, false]);
        assert!(!leaves(&mut large));
        assert!(leaves(&mut idle(&sessions, 11)));
        assert!(leaves(&mut large));
    }

    #[tokio::test(start_paused = true)]
    async fn a_session_stays_long_enough_for_its_first_socket() {
        let sessions = sessions(1, usize::MAX);
        let mut awaited = Idleness::new(&sessions);
        awaited.end(UNLOAD, || 1);
        let other = idle(&sessions, 1);
        assert!(leaves(&mut awaited));
        assert_eq!(awaited.end(UNLOAD, || 1), Instant::now() + ARRIVAL);
        drop(other);
    }
}
