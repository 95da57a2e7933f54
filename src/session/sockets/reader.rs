//! One socket's view of a session: first the events it missed, from the store, then new events as they happen. Signals
//! overtake the replay. A socket that falls behind catches up from the store by itself.

use super::audience::{Dropped, LogQueue, SocketQueues};
use crate::files::Files;
use crate::message::{
    ConnectionId, Delivery, Entry, Event, FileList, ListKind, ListScope, Position, Principal,
    Signal, View,
};
use crate::provider::live::{Listener, Sound};
use crate::session::job;
use crate::session::{History, SessionHandle};
use crate::store::{Page, SessionKey, Store, StoreError};
use std::collections::VecDeque;
use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use tokio::sync::{mpsc, watch};

/// What comes next on a socket.
#[derive(Debug)]
pub enum Step {
    Deliver(Delivery),
    /// The replay is complete. Sent once.
    CaughtUp,
}

/// Why a reader ended.
#[derive(Debug, thiserror::Error)]
pub enum ReaderEnd {
    #[error("the session was unloaded or has failed")]
    SessionOver,
    #[error("the socket was too slow")]
    Slow,
    #[error("the session was deleted")]
    Deleted,
    #[error("the history cannot be read: {0}")]
    Store(#[from] StoreError),
}

/// Where a reader begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::session) enum Start {
    /// After this position.
    Resume(Position),
    With(History),
}

type Loading = Pin<Box<dyn Future<Output = Result<(Position, Page), StoreError>> + Send>>;

pub struct Reader {
    source: Source,
    session: SessionHandle,
    connection: ConnectionId,
    /// Everything up to here has been delivered.
    cursor: Position,
    /// Where the replay begins; set until the first page is loaded.
    opening: Option<History>,
    /// News ([`Event::is_news`]) up to here is out of date and not delivered.
    old_news: Position,
    page: VecDeque<Arc<Entry>>,
    /// Everything up to here is in `page` or was delivered.
    paged_to: Position,
    /// Kept across calls, so that `next` may be cancelled at any point.
    loading: Option<Loading>,
    log: LogQueue,
    signals: mpsc::Receiver<Signal>,
    sound: Option<Listener>,
    dropped: Arc<OnceLock<Dropped>>,
    caught_up: bool,
}

impl fmt::Debug for Reader {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Reader")
            .field("view", &self.source.view)
            .field("cursor", &self.cursor)
            .finish()
    }
}

impl Reader {
    pub(in crate::session) fn new(
        source: Source,
        session: SessionHandle,
        connection: ConnectionId,
        start: Start,
        queues: SocketQueues,
    ) -> Self {
        let (cursor, opening, old_news) = match start {
            Start::Resume(seq) => (seq, None, Position(0)),
            Start::With(history) => (Position(0), Some(history), queues.log.top),
        };
        Self {
            source,
            session,
            connection,
            cursor,
            opening,
            old_news,
            page: VecDeque::new(),
            paged_to: cursor,
            loading: None,
            log: queues.log,
            signals: queues.signals,
            sound: queues.sound,
            dropped: queues.dropped,
            caught_up: false,
        }
    }

    /// Waits for the next step. Cancelling it loses nothing.
    pub async fn next(&mut self) -> Result<Step, ReaderEnd> {
        loop {
            if let Ok(signal) = self.signals.try_recv() {
                return Ok(Step::Deliver(Delivery::Passing(signal)));
            }
            if let Some(entry) = self.page.pop_front() {
                return Ok(self.deliver(entry));
            }
            self.cursor = self.cursor.max(self.paged_to);
            if self.cursor < self.log.top {
                match self.load_or_signal().await? {
                    Some(step) => return Ok(step),
                    None => continue,
                }
            }
            if !self.caught_up {
                self.caught_up = true;
                self.opening = None;
                return Ok(Step::CaughtUp);
            }
            tokio::select! {
                biased;
                signal = self.signals.recv() => return self.pass(signal),
                sound = next_sound(&mut self.sound) => return Ok(play(sound)),
                item = self.log.recv() => match item {
                    Some(item) => {
                        if let Some(step) = self.hand_on(item) {
                            return Ok(step);
                        }
                    }
                    None => self.catch_up().await?,
                },
            }
        }
    }

    /// The next step, if it is available without waiting.
    pub fn ready(&mut self) -> Option<Step> {
        if let Ok(signal) = self.signals.try_recv() {
            return Some(Step::Deliver(Delivery::Passing(signal)));
        }
        if let Some(sound) = self.sound.as_mut().and_then(Listener::ready) {
            return Some(play(sound));
        }
        if let Some(entry) = self.page.pop_front() {
            return Some(self.deliver(entry));
        }
        if !self.caught_up || self.cursor.max(self.paged_to) < self.log.top {
            return None;
        }
        let item = self.log.try_recv()?;
        self.hand_on(item)
    }

    /// `None`: the event was already delivered from the store.
    fn hand_on(&mut self, item: Delivery) -> Option<Step> {
        match item {
            Delivery::Logged(entry) if self.position(&entry) > self.cursor => {
                Some(self.deliver(entry))
            }
            Delivery::Logged(_) => None,
            Delivery::Passing(_) => Some(Step::Deliver(item)),
        }
    }

    fn position(&self, entry: &Entry) -> Position {
        self.source.view.position(entry)
    }

    fn deliver(&mut self, entry: Arc<Entry>) -> Step {
        self.cursor = self.position(&entry);
        self.paged_to = self.paged_to.max(self.cursor);
        Step::Deliver(Delivery::Logged(entry))
    }

    fn pass(&self, signal: Option<Signal>) -> Result<Step, ReaderEnd> {
        signal.map(|signal| Step::Deliver(Delivery::Passing(signal))).ok_or_else(|| self.end())
    }

    /// Why the session dropped this socket.
    pub fn end(&self) -> ReaderEnd {
        match self.dropped.get() {
            Some(Dropped::Slow) => ReaderEnd::Slow,
            Some(Dropped::Deleted) => ReaderEnd::Deleted,
            None => ReaderEnd::SessionOver,
        }
    }

    /// Fetches the next page of the history, unless a signal comes first.
    async fn load_or_signal(&mut self) -> Result<Option<Step>, ReaderEnd> {
        let (source, after, upto) = (&self.source, self.cursor, self.log.top);
        let opening = self.opening;
        let loading =
            self.loading.get_or_insert_with(|| Box::pin(source.clone().load(after, upto, opening)));
        tokio::select! {
            biased;
            signal = self.signals.recv() => return self.pass(signal).map(Some),
            sound = next_sound(&mut self.sound) => return Ok(Some(play(sound))),
            loaded = loading => {
                self.loading = None;
                self.opening = None;
                let (from, page) = loaded?;
                // Never backwards: a page that begins earlier has been delivered in part.
                self.cursor = self.cursor.max(from);
                let view = self.source.view;
                let is_wanted = |entry: &Arc<Entry>| {
                    let is_new = view.position(entry) > self.old_news;
                    view.shows(entry) && (is_new || !entry.event.is_news(entry.channel))
                };
                self.page = page.entries.into_iter().filter(is_wanted).collect();
                self.paged_to = page.reached;
            }
        }
        Ok(None)
    }

    /// Gets a new log lane; the events missed in between are in the store.
    async fn catch_up(&mut self) -> Result<(), ReaderEnd> {
        let lane = self.session.catch_up(self.connection).await;
        self.log = lane.ok_or_else(|| self.end())?;
        Ok(())
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.session.detach(self.connection);
    }
}

/// Waits for ever on a socket that plays no sound.
async fn next_sound(listener: &mut Option<Listener>) -> Sound {
    match listener {
        Some(listener) => listener.next().await,
        None => std::future::pending().await,
    }
}

fn play(sound: Sound) -> Step {
    Step::Deliver(Delivery::Passing(match sound {
        Sound::Play { generation, chunk } => Signal::Audio { generation, chunk },
        Sound::Stop { generation, reason } => {
            Signal::StopPlayback { generation: Some(generation), reason }
        }
    }))
}

/// Where the history of a view is read.
#[derive(Debug, Clone)]
pub(in crate::session) struct Source {
    pub(in crate::session) store: Store,
    /// The session may move to another project while this socket reads.
    pub(in crate::session) workplace: watch::Receiver<Files>,
    pub(in crate::session) key: SessionKey,
    pub(in crate::session) principal: Principal,
    pub(in crate::session) view: View,
}

impl Source {
    async fn load(
        self,
        after: Position,
        upto: Position,
        opening: Option<History>,
    ) -> Result<(Position, Page), StoreError> {
        let after = match opening {
            Some(History::Last(count)) => {
                self.store.before_last(self.key, self.view, upto, count).await?
            }
            Some(History::LastRun) => self.store.before_last_run(self.key, self.view, upto).await?,
            Some(History::Whole) | None => after,
        };
        let mut page = self.store.page(self.key, self.view, after, upto).await?;
        let mut shown = Vec::with_capacity(page.entries.len());
        for entry in page.entries {
            shown.extend(self.fill_in(entry).await);
        }
        page.entries = shown;
        Ok((after, page))
    }

    /// Stored file lists have no content. The list is made anew, and left out if that fails.
    async fn fill_in(&self, entry: Arc<Entry>) -> Option<Arc<Entry>> {
        let Event::Files { kind, list: None } = entry.event else { return Some(entry) };
        let event = Event::Files { kind, list: Some(self.list(kind).await?) };
        Some(Arc::new(Entry { event, ..*entry }))
    }

    /// `None` if it cannot be made.
    async fn list(&self, kind: ListKind) -> Option<Arc<FileList>> {
        let scope = ListScope::Usual;
        let files = self.workplace.borrow().clone();
        let listed = job::make_list(&files, kind, scope, &self.principal).await;
        listed.ok().map(|listed| listed.list)
    }
}
