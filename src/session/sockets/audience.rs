//! What attached sockets see: how far each channel has been published, what is sent to whom, and who holds microphone
//! and speaker.

use super::Sockets;
use crate::message::{
    Channel, ConnectionId, Delivery, Entry, Event, Features, Position, Problem, ReportStage, RunId,
    Seq, Signal, StopReason, View,
};
use crate::provider::live::Listener;
use crate::session::Attach;
use crate::session::job::Asker;
use crate::session::shared::Shared;
use bytes::Bytes;
use std::net::IpAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use tokio::sync::mpsc::{self, error::TrySendError};

/// Published events waiting for one socket. Full: the socket lags and catches up from the store.
const LOG_CAPACITY: usize = 256;
/// Limit of that queue in bytes, because a thumbnail weighs as much as a thousand lines.
const LOG_BYTES: usize = 1024 * 1024;
/// Signals waiting for one socket; more than all answers that can be due at once. Full: the socket is too slow and is
/// closed; the client reconnects and resumes.
const SIGNAL_CAPACITY: usize = 1024;

/// Bytes counted for every queued item besides its payload.
const ENTRY_WEIGHT: usize = 64;

/// Whether a socket may send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    Participant,
    Viewer,
}

/// Whether a socket wants to hold microphone and speaker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Devices {
    Wanted,
    None,
}

/// Why the session dropped a socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dropped {
    Slow,
    Deleted,
}

/// The receiving ends of one socket: events, signals and sound.
#[derive(Debug)]
pub(in crate::session) struct SocketQueues {
    pub(super) log: LogQueue,
    pub(super) signals: mpsc::Receiver<Signal>,
    /// Only for a socket that may hold the speaker.
    pub(super) sound: Option<Listener>,
    /// Set when the session drops the socket; unset when the socket leaves by itself.
    pub(super) dropped: Arc<OnceLock<Dropped>>,
}

/// Published events on their way to one socket.
#[derive(Debug)]
pub(in crate::session) struct LogQueue {
    /// Everything up to here is in the store; later events come through the lane.
    pub(super) top: Position,
    items: mpsc::Receiver<Item>,
    queued: Arc<AtomicUsize>,
}

/// An item of a log lane. Kept small: a queue allocates room for many items at once, and most never need it.
#[derive(Debug)]
enum Item {
    Logged(Arc<Entry>),
    /// Part of an answer, with its weight.
    Piece(Box<(Signal, usize)>),
}

impl Item {
    fn weight(&self) -> usize {
        match self {
            Self::Logged(entry) => weight(&entry.event),
            Self::Piece(piece) => piece.1,
        }
    }

    fn delivery(self) -> Delivery {
        match self {
            Self::Logged(entry) => Delivery::Logged(entry),
            Self::Piece(piece) => Delivery::Passing(piece.0),
        }
    }
}

impl LogQueue {
    /// `None`: the socket lagged behind, or the session is over.
    pub(super) async fn recv(&mut self) -> Option<Delivery> {
        let item = self.items.recv().await?;
        self.queued.fetch_sub(item.weight(), Ordering::Relaxed);
        Some(item.delivery())
    }

    pub(super) fn try_recv(&mut self) -> Option<Delivery> {
        let item = self.items.try_recv().ok()?;
        self.queued.fetch_sub(item.weight(), Ordering::Relaxed);
        Some(item.delivery())
    }
}

/// Part of a growing answer. Not stored; the complete answer is.
#[derive(Debug)]
pub(in crate::session) struct Piece {
    pub(in crate::session) channel: Channel,
    pub(in crate::session) run: RunId,
    /// New text, for sockets with the `stream` feature.
    pub(in crate::session) text: String,
    /// Complete lines of an agent's answer, for all other sockets. Empty: none.
    pub(in crate::session) lines: String,
}

impl Piece {
    pub(in crate::session) fn weight(&self) -> usize {
        ENTRY_WEIGHT + self.text.len() + self.lines.len()
    }

    /// The signal for a socket with these features; `None` if there is nothing for it.
    fn form(&self, features: Features) -> Option<Signal> {
        let (channel, run) = (self.channel, self.run);
        if features.stream {
            let text = Some(self.text.clone()).filter(|text| !text.is_empty())?;
            return Some(Signal::AnswerPart { channel, run, text });
        }
        let text = Some(self.lines.clone()).filter(|lines| !lines.is_empty())?;
        Some(Signal::AnswerLines { channel, text })
    }
}

#[derive(Debug)]
struct LogSender {
    items: mpsc::Sender<Item>,
    queued: Arc<AtomicUsize>,
}

impl LogSender {
    /// False: the socket is too far behind.
    fn offer(&self, item: Item) -> bool {
        let weight = item.weight();
        if self.queued.load(Ordering::Relaxed) + weight > LOG_BYTES.max(weight) {
            return false;
        }
        self.queued.fetch_add(weight, Ordering::Relaxed);
        let taken = self.items.try_send(item).is_ok();
        if !taken {
            self.queued.fetch_sub(weight, Ordering::Relaxed);
        }
        taken
    }
}

/// One attached socket.
#[derive(Debug)]
pub(super) struct Peer {
    connection: ConnectionId,
    address: Option<IpAddr>,
    view: View,
    role: Role,
    devices: Devices,
    features: Features,
    /// `None` while the socket lags.
    log: Option<LogSender>,
    signals: mpsc::Sender<Signal>,
    dropped: Arc<OnceLock<Dropped>>,
    told_not_holder: bool,
}

impl Peer {
    /// Whether this socket may hold microphone and speaker.
    fn may_hold(&self) -> bool {
        self.role == Role::Participant && self.devices == Devices::Wanted
    }
}

impl Sockets {
    /// Where the client of a socket is.
    pub(in crate::session) fn address(&self, connection: ConnectionId) -> Option<IpAddr> {
        self.peers.iter().find(|peer| peer.connection == connection)?.address
    }

    pub(in crate::session) fn published(&self, channel: Channel) -> Seq {
        self.tops[channel.index()]
    }

    /// All events of the view up to here are in the store.
    pub(in crate::session) fn published_in(&self, view: View) -> Position {
        match view {
            View::One(channel) => Position(self.published(channel).0),
            View::All => Position(self.published.0),
        }
    }

    /// How many sockets see this channel, alone or among others.
    pub(in crate::session) fn count(&self, channel: Channel) -> usize {
        self.peers.iter().filter(|peer| peer.view.contains(channel)).count()
    }

    /// `None`: it is gone.
    pub(in crate::session) fn view_of(&self, connection: ConnectionId) -> Option<View> {
        self.peers.iter().find(|peer| peer.connection == connection).map(|peer| peer.view)
    }

    /// How many sockets have this view.
    pub(in crate::session) fn count_view(&self, view: View) -> usize {
        self.peers.iter().filter(|peer| peer.view == view).count()
    }

    pub(in crate::session) fn is_empty(&self) -> bool {
        self.peers.is_empty()
    }

    pub(in crate::session) fn attach(&mut self, attach: &Attach) -> SocketQueues {
        let Attach { view, connection, address, role, devices, features, .. } = *attach;
        let (log, entries) = log_queue(self.published_in(view));
        let (signals, incoming) = mpsc::channel(SIGNAL_CAPACITY);
        let dropped = Arc::new(OnceLock::new());
        let peer = Peer {
            connection,
            address,
            view,
            role,
            devices,
            features,
            log: Some(log),
            signals,
            dropped: Arc::clone(&dropped),
            told_not_holder: false,
        };
        let plays = peer.may_hold();
        // Old clients of one channel answer each stop of ours with one of their own.
        let echoes = !features.playback && matches!(view, View::One(_));
        if plays {
            self.silence_holder();
        }
        self.peers.push(peer);
        self.pass_devices();
        let sound = plays.then(|| self.speaker.listen(connection, echoes));
        SocketQueues { log: entries, signals: incoming, sound, dropped }
    }

    /// Sends part of an answer to the channel's sockets, in order with the events around it. A socket without room
    /// misses this part; it gets the complete answer later.
    pub(in crate::session) fn pass(&mut self, piece: &Piece) {
        for peer in self.peers.iter().filter(|peer| peer.view.contains(piece.channel)) {
            if let (Some(log), Some(signal)) = (&peer.log, piece.form(peer.features)) {
                let _ = log.offer(Item::Piece(Box::new((signal, piece.weight()))));
            }
        }
    }

    /// Signals the channel's sockets that understand agent packets.
    pub(in crate::session) fn tell_knowing(&mut self, channel: Channel, signal: &Signal) {
        self.send_where(|peer| peer.view.contains(channel) && peer.features.agents, signal);
    }

    /// A new lane for a socket that lagged behind; `None` if the session has dropped it meanwhile.
    pub(in crate::session) fn catch_up(&mut self, connection: ConnectionId) -> Option<LogQueue> {
        let at = self.peers.iter().position(|peer| peer.connection == connection)?;
        let (log, entries) = log_queue(self.published_in(self.peers[at].view));
        self.peers[at].log = Some(log);
        Some(entries)
    }

    pub(super) fn detach(&mut self, connection: ConnectionId) {
        self.peers.retain(|peer| peer.connection != connection);
        self.pass_devices();
    }

    /// Sends a committed event to every socket that sees its channel. A socket without room loses its lane and catches
    /// up from the store.
    pub(in crate::session) fn publish(&mut self, entry: &Arc<Entry>) {
        self.tops[entry.channel.index()] = entry.seq;
        debug_assert!(entry.order > self.published);
        self.published = entry.order;
        for peer in self.peers.iter_mut().filter(|peer| peer.view.shows(entry)) {
            let item = || Item::Logged(Arc::clone(entry));
            if peer.log.as_ref().is_some_and(|log| !log.offer(item())) {
                peer.log = None;
            }
        }
    }

    /// Sends one socket something that is not stored.
    pub(in crate::session) fn signal(&mut self, connection: ConnectionId, signal: Signal) {
        self.send_where(|peer| peer.connection == connection, &signal);
    }

    /// Tells the socket that its command is not carried out, and why.
    pub(in crate::session) fn refuse(&mut self, shared: &Shared, asker: Asker, problem: Problem) {
        shared.env.metrics.frame_refused(problem.code());
        let signal = Signal::Failed { problem, request: asker.request };
        self.signal(asker.connection, signal);
    }

    /// Forgets sockets that closed without detaching.
    pub(super) fn sweep(&mut self) {
        self.peers.retain(|peer| !peer.signals.is_closed());
        self.pass_devices();
    }

    /// Tells every socket that the session is deleted, and drops them all.
    pub(in crate::session) fn dismiss(&mut self) {
        let farewell = Signal::Failed { problem: Problem::SessionDeleted, request: None };
        for peer in self.peers.drain(..) {
            let _ = peer.dropped.set(Dropped::Deleted);
            // A socket without room learns it from the close code.
            let _ = peer.signals.try_send(farewell.clone());
        }
        self.pass_devices();
    }

    /// Signals every socket that sees a channel.
    pub(in crate::session) fn signal_channel(&mut self, channel: Channel, signal: &Signal) {
        self.send_where(|peer| peer.view.contains(channel), signal);
    }

    /// Signals every socket with this view.
    pub(in crate::session) fn signal_view(&mut self, view: View, signal: &Signal) {
        self.send_where(|peer| peer.view == view, signal);
    }

    pub(in crate::session) fn signal_everyone(&mut self, signal: &Signal) {
        self.send_where(|_| true, signal);
    }

    /// Gives microphone and speaker to the current holder. Called whenever sockets come or go.
    fn pass_devices(&self) {
        let holder = self.holder();
        self.microphone.give_to(holder);
        self.speaker.give_to(holder);
    }

    /// The newest socket that wants microphone and speaker and may send holds both.
    fn holder(&self) -> Option<ConnectionId> {
        self.peers.iter().rev().find(|peer| peer.may_hold()).map(|peer| peer.connection)
    }

    /// True only the first time, so that a socket is told once.
    pub(in crate::session) fn tell_not_holder(&mut self, connection: ConnectionId) -> bool {
        let peer = self.peers.iter_mut().find(|peer| peer.connection == connection);
        peer.is_some_and(|peer| !std::mem::replace(&mut peer.told_not_holder, true))
    }

    /// Another socket takes over: whatever the current holder still plays is stale.
    fn silence_holder(&mut self) {
        if let Some(holder) = self.holder() {
            let reason = StopReason::AnotherSocket;
            self.signal(holder, Signal::StopPlayback { generation: None, reason });
        }
    }

    /// Signals the audio sockets that report their playback position.
    pub(in crate::session) fn tell_playing(&mut self, signal: &Signal) {
        let wants = |peer: &Peer| peer.devices == Devices::Wanted && peer.features.playback;
        self.send_where(wants, signal);
    }

    fn send_where(&mut self, wanted: impl Fn(&Peer) -> bool, signal: &Signal) {
        let before = self.peers.len();
        self.peers.retain(|peer| {
            if !wanted(peer) {
                return true;
            }
            match peer.signals.try_send(signal.clone()) {
                Ok(()) => true,
                // A heartbeat only says that we are alive; a thousand waiting signals say that too.
                Err(TrySendError::Full(Signal::Heartbeat { .. })) => true,
                Err(TrySendError::Full(_)) => {
                    let _ = peer.dropped.set(Dropped::Slow);
                    false
                }
                Err(TrySendError::Closed(_)) => false,
            }
        });
        if self.peers.len() < before {
            self.pass_devices();
        }
    }
}

fn log_queue(top: Position) -> (LogSender, LogQueue) {
    let (sender, items) = mpsc::channel(LOG_CAPACITY);
    let queued = Arc::new(AtomicUsize::new(0));
    (LogSender { items: sender, queued: Arc::clone(&queued) }, LogQueue { top, items, queued })
}

/// Approximate bytes that an event keeps in memory.
pub(in crate::session) fn weight(event: &Event) -> usize {
    let payload = match event {
        Event::UserText { text, attachments } | Event::UserRequest { text, attachments } => {
            text.len() + attachments.iter().map(String::len).sum::<usize>()
        }
        Event::RunLine(text) | Event::RequestAnswered { text, .. } => text.len(),
        Event::ConfirmAsked(asked) => {
            asked.tool.len() + asked.input.len() + asked.diff.as_ref().map_or(0, String::len)
        }
        Event::Tool(note) => {
            let texts = [&note.input, &note.output, &note.error];
            texts.into_iter().flatten().map(String::len).sum()
        }
        Event::Plan(steps) => steps.iter().map(|step| step.text.len()).sum(),
        Event::RunSummed(summary) => summary.files.len() * 64,
        Event::Chosen(_) => 64,
        Event::Work(work) => work.weight(),
        Event::Text { text, .. } | Event::Transcript { text, .. } => text.len(),
        Event::UserFile(note) | Event::FileMade(note) => {
            note.thumbnail.as_ref().map_or(0, Bytes::len)
        }
        Event::FilesChanged { paths, .. } => paths.iter().map(String::len).sum(),
        Event::Files { list, .. } => list.as_ref().map_or(0, |list| list.files.len() * 64),
        Event::AgentReport(report) => match &report.stage {
            ReportStage::Started { request } => request.len(),
            ReportStage::Finished { request, answer } => request.len() + answer.len(),
            ReportStage::Stopped => 0,
        },
        Event::ConfirmSettled { .. }
        | Event::RunStarted(_)
        | Event::RunEnded(_)
        | Event::CancelTaken
        | Event::Notice(_) => 0,
    };
    ENTRY_WEIGHT + payload
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_pieces_are_not_sent() {
        let (stream, plain) =
            (Features { stream: true, ..Features::default() }, Features::default());
        for (text, lines, expected) in
            [("a", "", (true, false)), ("", "a", (false, true)), ("a", "a", (true, true))]
        {
            let (text, lines) = (text.to_owned(), lines.to_owned());
            let piece = Piece { channel: Channel::Chat, run: RunId(1), text, lines };
            let forms = (piece.form(stream).is_some(), piece.form(plain).is_some());
            assert_eq!(forms, expected, "{piece:?}");
        }
    }
}
