//! The loop of one WebSocket: one task, the same for every dialect.

use super::AppState;
use super::connection::Heard;
use crate::dialect::{Dialect, Encoder, Frame, FrameError, Received, Refusal};
use crate::message::{ConnectionId, Delivery, Greeting, Inbound, Problem, Signal, SystemNotice};
use crate::metrics::Metrics;
use crate::session::{Reader, ReaderEnd, Role, SessionHandle, Step};
use crate::task::Doorbell;
use axum::extract::ws::{CloseFrame, Message, Utf8Bytes, WebSocket, WebSocketUpgrade};
use bytes::Bytes;
use futures_util::future::select;
use futures_util::{FutureExt, SinkExt, StreamExt};
use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::{Instant, MissedTickBehavior, interval_at, timeout};
use tokio_util::sync::CancellationToken;
use tungstenite::error::{CapacityError, Error as WsError};

/// Small on purpose: the default of 128 KiB per socket is most of what an idle connection costs.
const READ_BUFFER: usize = 8 * 1024;
/// Frames are collected up to here before they go to the network.
const WRITE_BUFFER: usize = 16 * 1024;
/// At most this many packets share one write to the network.
const WRITE_BATCH: usize = 64;
/// A batch is also closed at this many bytes, because its write buffer never shrinks. Two audio packets of an existing
/// client still share one write: each is 8.4 KB at 24 kHz.
const WRITE_BYTES: usize = 12 * 1024;
/// Limit of unwritten bytes. The longest packet, a file list of a very large project, has to fit.
const LONGEST_WRITE: usize = 64 * 1024 * 1024;
/// A file list above this size is answered with `list_failed`. The rest is room for other packets of the same write.
const LONGEST_PACKET: usize = LONGEST_WRITE - 1024 * 1024;
/// Longer frames are decoded on a blocking thread, because decoding them would delay other connections.
const INLINE_DECODE: usize = 64 * 1024;
/// Timeout for closing: for sending our close frame, and again for the peer's answer.
const CLOSE_PATIENCE: Duration = Duration::from_secs(1);
/// How long a socket waits for the shutdown notice before it closes without it.
const NOTICE_PATIENCE: Duration = Duration::from_millis(200);
/// After a shutdown, reconnects are spread over this time.
const RETRY_SPREAD_MS: u64 = 3000;

/// What applies to one connection: its limits, its role, and what ends it.
#[derive(Debug)]
pub(super) struct Terms {
    pub(super) connection: ConnectionId,
    pub(super) role: Role,
    /// Longest frame the client may send, in bytes.
    pub(super) frame_limit: usize,
    /// Longest binary frame: queues of sound count chunks, so each has to be short.
    pub(super) sound_limit: usize,
    pub(super) ping: Duration,
    pub(super) heard: Heard,
    /// Cancelled when the connection's login ends, when the database is damaged, and when the gateway stops.
    pub(super) over: CancellationToken,
    /// Cancelled only when the gateway stops.
    pub(super) stop: CancellationToken,
    pub(super) damage: watch::Receiver<Option<String>>,
    pub(super) metrics: Metrics,
}

/// Why a connection ended.
#[derive(Debug, thiserror::Error)]
pub(super) enum End {
    #[error("closed by the peer")]
    Peer,
    #[error("the gateway stops")]
    Stopping,
    #[error("the database is damaged")]
    Damaged,
    #[error("the login has ended")]
    LoggedOut,
    #[error("the peer is silent")]
    Silent,
    #[error(transparent)]
    Reader(#[from] ReaderEnd),
    #[error("websocket: {0}")]
    WebSocket(#[from] axum::Error),
}

impl Terms {
    /// The reason why `over` was cancelled.
    fn end(&self) -> End {
        if self.damage.borrow().is_some() {
            End::Damaged
        } else if self.stop.is_cancelled() {
            End::Stopping
        } else {
            End::LoggedOut
        }
    }
}

/// A connection that is attached to a session.
#[derive(Debug)]
pub(super) struct Connection<D: Dialect> {
    pub(super) socket: WebSocket,
    pub(super) dialect: Arc<D>,
    pub(super) encoder: D::Encoder,
    pub(super) session: SessionHandle,
    pub(super) greeting: Greeting,
    pub(super) reader: Reader,
    pub(super) terms: Terms,
}

impl<D: Dialect> Connection<D> {
    /// Carries frames both ways until either side ends, then closes with the right code.
    #[expect(clippy::manual_async_fn, reason = "an async fn keeps its arguments in memory twice")]
    pub(super) fn run(mut self) -> impl Future<Output = End> + Send {
        async move {
            let end = match self.talk().await {
                Ok(never) => match never {},
                // Damage takes precedence: the reader ended because of it.
                Err(End::Reader(_)) if self.terms.damage.borrow().is_some() => End::Damaged,
                Err(end) => end,
            };
            if matches!(end, End::Stopping) {
                self.last_words().await;
            }
            if matches!(end, End::Damaged) {
                let problem = Problem::StorageDamaged;
                let told = Delivery::Passing(Signal::Failed { problem, request: None });
                let mut frames = Vec::new();
                self.encoder.encode(&told, &mut frames);
                let _ = self.write(&mut frames).await;
            }
            // Dropping the reader frees the place in the session before the slow close.
            drop(self.reader);
            match close_code(&end) {
                Some((code, reason)) => close(&mut self.socket, code, &reason).await,
                None => wait_for_end(&mut self.socket).await,
            }
            end
        }
    }

    async fn talk(&mut self) -> Result<std::convert::Infallible, End> {
        let mut frames = Vec::new();
        self.encoder.greet(&self.greeting, &mut frames);
        self.write(&mut frames).await?;
        let mut pings = interval_at(Instant::now() + self.terms.ping, self.terms.ping);
        pings.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let over = self.terms.over.clone();
        let mut over = pin!(over.cancelled());
        // One audio packet takes two rounds of this loop. Polling the ping timer and `over` in each of them would be
        // most of the cost, so a doorbell says when they need to be polled.
        let (seldom, door) = (Doorbell::default(), Doorbell::default());
        let mut last = Side::Session;
        loop {
            let duty = poll_fn(|cx| {
                seldom.poll(cx, |cx| match over.as_mut().poll(cx) {
                    Poll::Ready(()) => Poll::Ready(Duty::End),
                    Poll::Pending => pings.poll_tick(cx).map(|_| Duty::Ping),
                })
            });
            tokio::select! {
                biased;
                duty = duty => {
                    if duty == Duty::End {
                        return Err(self.terms.end());
                    }
                    if self.terms.heard.silence() > self.terms.ping * 2 {
                        return Err(End::Silent);
                    }
                    self.socket.send(Message::Ping(Bytes::new())).await?;
                }
                turn = next_turn(&mut self.socket, &door, &mut self.reader, last) => match turn {
                    Turn::Peer(message) => {
                        last = Side::Peer;
                        let message = message.ok_or(End::Peer)??;
                        self.on_message(message, &mut frames).await?;
                        // While the session was busy, this loop read nothing; that does not count as the peer's
                        // silence.
                        self.terms.heard.touch();
                    }
                    Turn::Session(step) => {
                        last = Side::Session;
                        self.on_step(step?, &mut frames);
                        self.gather(&mut frames);
                    }
                },
            }
            self.write(&mut frames).await?;
        }
    }

    async fn on_message(&mut self, message: Message, frames: &mut Vec<Frame>) -> Result<(), End> {
        let frame = match message {
            Message::Text(text) => Incoming::Text(text),
            Message::Binary(bytes) => Incoming::Binary(bytes),
            Message::Ping(_) | Message::Pong(_) => return Ok(()),
            Message::Close(_) => return Err(End::Peer),
        };
        self.terms.metrics.frame_in(frame.size());
        match self.decode(frame).await {
            Ok(inbound) => self.submit(inbound, frames).await,
            Err(refusal) => {
                self.terms.metrics.frame_refused(refusal.error.code());
                self.encoder.refuse(&refusal, frames);
                Ok(())
            }
        }
    }

    async fn decode(&mut self, frame: Incoming) -> Result<Inbound, Refusal<D::Error>> {
        let size = frame.size();
        let limit = match frame {
            Incoming::Text(_) => self.terms.frame_limit,
            Incoming::Binary(_) => self.terms.sound_limit,
        };
        if size > limit {
            return Err(D::Error::too_large(size, limit).into());
        }
        if size <= INLINE_DECODE {
            return self.dialect.decode(frame.received());
        }
        let dialect = Arc::clone(&self.dialect);
        let decoded = tokio::task::spawn_blocking(move || dialect.decode(frame.received())).await;
        decoded.unwrap_or_else(|_| Err(D::Error::unreadable().into()))
    }

    async fn submit(&mut self, inbound: Inbound, frames: &mut Vec<Frame>) -> Result<(), End> {
        if self.terms.role == Role::Viewer {
            let signal = Signal::Failed { problem: Problem::ReadOnly, request: inbound.request };
            self.terms.metrics.frame_refused(Problem::ReadOnly.code());
            self.encoder.encode(&Delivery::Passing(signal), frames);
            return Ok(());
        }
        // Commands of an ended login are not carried out.
        if self.terms.over.is_cancelled() {
            return Err(self.terms.end());
        }
        // The session first: it nearly always has room, and then `over` need not be polled.
        tokio::select! {
            biased;
            taken = self.session.submit(self.terms.connection, inbound) => {
                taken.map_err(|_| self.reader.end().into())
            }
            () = self.terms.over.cancelled() => Err(self.terms.end()),
        }
    }

    fn on_step(&mut self, step: Step, frames: &mut Vec<Frame>) {
        match step {
            Step::Deliver(delivery) => {
                deliver(&mut self.encoder, &delivery, frames, LONGEST_PACKET)
            }
            Step::CaughtUp => self.encoder.settle(&self.greeting, frames),
        }
    }

    /// Adds deliveries that are already waiting, so that a burst costs one write instead of many.
    fn gather(&mut self, frames: &mut Vec<Frame>) {
        let mut counted = 0;
        let mut bytes = 0;
        loop {
            bytes += frames[counted..].iter().map(Frame::size).sum::<usize>();
            counted = frames.len();
            if counted >= WRITE_BATCH || bytes >= WRITE_BYTES {
                return;
            }
            match self.reader.ready() {
                Some(step) => self.on_step(step, frames),
                None => return,
            }
        }
    }

    /// Fails if the peer does not take the data in time: `connection.rs` has a write deadline.
    async fn write(&mut self, frames: &mut Vec<Frame>) -> Result<(), End> {
        if frames.is_empty() {
            return Ok(());
        }
        for frame in frames.drain(..) {
            self.terms.metrics.frame_out(frame.size());
            let message = match frame {
                Frame::Text(text) => Message::Text(text.into()),
                Frame::Binary(bytes) => Message::Binary(bytes),
            };
            self.socket.feed(message).await?;
        }
        self.socket.flush().await?;
        Ok(())
    }

    /// The shutdown notice is in the queue when sockets are stopped; it should arrive before the close frame.
    async fn last_words(&mut self) {
        let mut frames = Vec::new();
        let notice = async {
            while let Ok(step) = self.reader.next().await {
                let last = matches!(
                    step,
                    Step::Deliver(Delivery::Passing(Signal::System(SystemNotice::ShuttingDown)))
                );
                match step {
                    Step::Deliver(delivery) => self.encoder.encode(&delivery, &mut frames),
                    Step::CaughtUp => {}
                }
                if last {
                    break;
                }
            }
        };
        let _ = timeout(NOTICE_PATIENCE, notice).await;
        let _ = self.write(&mut frames).await;
    }
}

/// Appends the frames of a delivery. Only file lists have no size limit of their own: one above `most` bytes is
/// replaced by an error.
fn deliver(encoder: &mut impl Encoder, delivery: &Delivery, frames: &mut Vec<Frame>, most: usize) {
    let before = frames.len();
    encoder.encode(delivery, frames);
    let Some(size) = frames[before..].iter().map(Frame::size).find(|size| *size > most) else {
        return;
    };
    frames.truncate(before);
    let reason = format!("it has {size} bytes, and at most {most} can be sent");
    let signal = Signal::Failed { problem: Problem::ListFailed { reason }, request: None };
    encoder.encode(&Delivery::Passing(signal), frames);
}

/// One frame from the client.
enum Incoming {
    Text(Utf8Bytes),
    Binary(Bytes),
}

impl Incoming {
    fn size(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::Binary(bytes) => bytes.len(),
        }
    }

    fn received(&self) -> Received<'_> {
        match self {
            Self::Text(text) => Received::Text(text),
            Self::Binary(bytes) => Received::Binary(bytes),
        }
    }
}

/// What the loop does apart from carrying frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Duty {
    End,
    Ping,
}

/// The two sides of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Peer,
    Session,
}

/// What arrived from one side.
#[derive(Debug)]
enum Turn {
    Peer(Option<Result<Message, axum::Error>>),
    Session(Result<Step, ReaderEnd>),
}

/// Waits for either side. The side that came last is polled last, so that neither can starve the other. With audio in
/// both directions, the side polled first is usually the one that woke the task.
async fn next_turn(
    socket: &mut WebSocket,
    door: &Doorbell,
    reader: &mut Reader,
    last: Side,
) -> Turn {
    let peer = poll_fn(|cx| door.poll(cx, |cx| socket.poll_next_unpin(cx))).map(Turn::Peer);
    let peer = pin!(peer);
    let session = pin!(reader.next().map(Turn::Session));
    match last {
        Side::Session => select(peer, session).await.factor_first().0,
        Side::Peer => select(session, peer).await.factor_first().0,
    }
}

/// Close code and reason; `None` if the peer closed first.
fn close_code(end: &End) -> Option<(u16, String)> {
    match end {
        End::Peer => None,
        End::Stopping => Some((3001, retry_hint())),
        End::Damaged => Some((3507, Problem::StorageDamaged.code().to_owned())),
        End::LoggedOut => Some((3506, "the login has ended".to_owned())),
        End::Silent => Some((3003, "no sign of life".to_owned())),
        End::Reader(ReaderEnd::Slow) => Some((3002, "too slow; reconnect and resume".to_owned())),
        End::Reader(ReaderEnd::Deleted) => Some((3505, Problem::SessionDeleted.code().to_owned())),
        End::Reader(ReaderEnd::SessionOver | ReaderEnd::Store(_)) => {
            Some((3004, "the session was unloaded; reconnect".to_owned()))
        }
        End::WebSocket(err) => protocol_code(err),
    }
}

fn protocol_code(err: &axum::Error) -> Option<(u16, String)> {
    let source = std::error::Error::source(err)?;
    let error = source.downcast_ref::<WsError>()?;
    if let WsError::Capacity(CapacityError::MessageTooLong { max_size, .. }) = error {
        Some((1009, format!("at most {max_size} bytes")))
    } else if let WsError::Utf8(_) = error {
        Some((1007, "text must be UTF-8".to_owned()))
    } else if let WsError::Protocol(reason) = error {
        Some((1002, reason.to_string()))
    } else {
        None
    }
}

/// A random delay, so that clients do not all reconnect at once.
pub(super) fn retry_hint() -> String {
    format!("retry in {} ms", getrandom::u64().unwrap_or(0) % RETRY_SPREAD_MS)
}

/// Sets the buffer sizes and the longest frame, in bytes.
pub(super) fn accept(upgrade: WebSocketUpgrade, longest: usize) -> WebSocketUpgrade {
    upgrade
        .read_buffer_size(READ_BUFFER)
        .write_buffer_size(WRITE_BUFFER)
        .max_write_buffer_size(LONGEST_WRITE)
        .max_message_size(longest)
        .max_frame_size(longest)
}

/// The first frame of a socket: its hello or connect packet.
pub(super) enum First {
    Text(Utf8Bytes),
    /// The peer left without sending anything, or the gateway is stopping and has closed the socket.
    Gone,
    Silent(Duration),
    Binary,
    TooLarge {
        size: usize,
        limit: usize,
    },
    Broken(String),
}

pub(super) async fn first_frame(state: &AppState, socket: &mut WebSocket) -> First {
    let patience = state.config.limits.handshake;
    let limit = state.config.limits.other_frame;
    let first =
        state.sockets_stop.run_until_cancelled(timeout(patience, first_message(socket))).await;
    match first {
        None => {
            close(socket, 3001, &retry_hint()).await;
            First::Gone
        }
        Some(Err(_)) => First::Silent(patience),
        Some(Ok(Some(Ok(Message::Text(text))))) if text.len() > limit => {
            First::TooLarge { size: text.len(), limit }
        }
        Some(Ok(Some(Ok(Message::Text(text))))) => First::Text(text),
        Some(Ok(Some(Ok(Message::Binary(_))))) => First::Binary,
        Some(Ok(Some(Err(err)))) => First::Broken(err.to_string()),
        Some(Ok(Some(Ok(Message::Ping(_) | Message::Pong(_) | Message::Close(_))) | None)) => {
            First::Gone
        }
    }
}

/// Skips pings, which the WebSocket layer answers itself.
async fn first_message(socket: &mut WebSocket) -> Option<Result<Message, axum::Error>> {
    loop {
        match socket.recv().await {
            Some(Ok(Message::Ping(_) | Message::Pong(_))) => {}
            other => return other,
        }
    }
}

/// Sends our close frame and waits for the peer's, so that a TCP reset does not cut off what we sent before.
pub(super) async fn close(socket: &mut WebSocket, code: u16, reason: &str) {
    let frame = CloseFrame { code, reason: reason.into() };
    if let Ok(Ok(())) = timeout(CLOSE_PATIENCE, socket.send(Message::Close(Some(frame)))).await {
        wait_for_end(socket).await;
    }
}

/// Reads to the end; reading also answers the peer's close frame.
async fn wait_for_end(socket: &mut WebSocket) {
    let rest = async { while let Some(Ok(_)) = socket.recv().await {} };
    let _ = timeout(CLOSE_PATIENCE, rest).await;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect::aicore::AicoreDialect;
    use crate::locale::Locale;
    use crate::message::{
        Channel, Entry, Event, EventTime, FileList, ListKind, ListRoots, ListedFile, Order, Seq,
        SessionId,
    };

    #[test]
    fn a_list_over_the_frame_limit_is_reported_as_too_long() {
        let mut dialect = AicoreDialect::new(SessionId::from_random(0), Channel::File, Locale::En);
        let file = |n: u32| ListedFile { path: n.to_string(), modified: "".into() };
        let (roots, files) = (ListRoots::Temp, (0..100).map(file).collect());
        let list = Some(Arc::new(FileList { roots, newest: None, files }));
        let event = Event::Files { kind: ListKind::Temp, list };
        let (seq, order, at) = (Seq(1), Order(1), EventTime(0));
        let entry = Entry { channel: Channel::File, seq, order, at, event };
        let delivery = Delivery::Logged(Arc::new(entry));
        let mut frames = vec![Frame::Text("before".to_owned())];
        deliver(&mut dialect, &delivery, &mut frames, 100_000);
        assert!(frames[1].text().unwrap().contains("files_temp"), "{frames:?}");
        let size = frames[1].size();
        deliver(&mut dialect, &delivery, &mut frames, 1000);
        assert_eq!(frames.len(), 3);
        let told = frames[2].text().unwrap();
        assert!(told.contains("list_failed") && told.contains(&size.to_string()), "{told}");
    }
}
