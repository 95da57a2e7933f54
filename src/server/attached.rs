//! The loop of one attached client, the same for every dialect and every transport: it exchanges frames until either
//! side ends. The dialect knows the format of a frame, the transport knows how it travels.

use super::connection::PeerActivity;
use crate::dialect::{Decoded, Dialect, Elsewhere, Encoder, Frame, FrameError, Received, Refusal};
use crate::message::{ConnectionId, Delivery, Greeting, Inbound, Problem, Signal, SystemNotice};
use crate::metrics::Metrics;
use crate::session::{Reader, ReaderEnd, Role, SessionHandle, Step};
use crate::task::Doorbell;
use axum::extract::ws::Utf8Bytes;
use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::future::select;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::{Instant, MissedTickBehavior, interval_at, timeout};
use tokio_util::sync::CancellationToken;

/// At most this many packets share one write to the network.
const WRITE_BATCH: usize = 64;
/// A batch is also closed at this many bytes, because its write buffer never shrinks. Two audio packets of an existing
/// client still share one write: each is 8.4 KB at 24 kHz.
const WRITE_BYTES: usize = 12 * 1024;
/// A file list above this size is answered with `list_failed`.
pub(super) const LONGEST_PACKET: usize = 63 * 1024 * 1024;
/// Longer frames are decoded on a blocking thread, because decoding them would delay other connections.
const INLINE_DECODE: usize = 64 * 1024;
/// After this many pings without a byte of the peer, the next one is not sent: the connection ends.
const UNANSWERED_PINGS: u32 = 2;
/// Timeout for the shutdown notice; then the socket closes without it.
const NOTICE_TIMEOUT: Duration = Duration::from_millis(200);

/// How frames travel between a client and its connection. A transport knows no dialect and no session.
pub(super) trait FrameTransport: Send {
    /// Whether clients answer pings, so that a silent client is a dead one.
    const ANSWERS_PINGS: bool;

    /// The next frame of the client. Dropping the future loses nothing.
    fn receive(&mut self) -> impl Future<Output = Result<Incoming, End>> + Send;

    /// Sends all frames and empties the list. Fails if the client does not accept them in time.
    fn send(&mut self, frames: &mut Vec<Frame>) -> impl Future<Output = Result<(), End>> + Send;

    /// Sends something that keeps the connection alive.
    fn ping(&mut self) -> impl Future<Output = Result<(), End>> + Send;

    /// Tells the client why the connection ends.
    fn close(&mut self, end: &End) -> impl Future<Output = ()> + Send;
}

/// One frame from the client.
#[derive(Debug)]
pub(super) enum Incoming {
    Text(Utf8Bytes),
    Binary(Bytes),
    /// A sign of life without content.
    Pulse,
}

/// What applies to one connection: its limits, its role, and what ends it.
#[derive(Debug)]
pub(super) struct Terms {
    pub(super) connection: ConnectionId,
    pub(super) role: Role,
    /// Longest frame the client may send, in bytes.
    pub(super) frame_limit: usize,
    /// Longest binary frame, in bytes. Audio queues count chunks, so each chunk has to be short.
    pub(super) sound_limit: usize,
    pub(super) ping: Duration,
    pub(super) activity: PeerActivity,
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

/// A client that is attached to a session.
#[derive(Debug)]
pub(super) struct Attached<D: Dialect, T> {
    pub(super) transport: T,
    pub(super) dialect: Arc<D>,
    pub(super) encoder: D::Encoder,
    pub(super) session: SessionHandle,
    pub(super) greeting: Greeting,
    pub(super) reader: Reader,
    pub(super) terms: Terms,
}

impl<D: Dialect, T: FrameTransport> Attached<D, T> {
    /// Greets, exchanges frames until either side ends, then closes with the right code.
    #[expect(clippy::manual_async_fn, reason = "an async fn keeps its arguments in memory twice")]
    pub(super) fn run(mut self) -> impl Future<Output = End> + Send {
        async move {
            let mut out = Vec::new();
            self.encoder.greet(&self.greeting, &mut out);
            let end = loop {
                match self.exchange_frames(&mut out).await {
                    // Nobody here can lead a client to another session.
                    Ok(_) => self.encoder.refuse(&D::Error::unreadable().into(), &mut out),
                    Err(end) => break end,
                }
            };
            self.finish(end).await
        }
    }

    /// Closes with the right code.
    #[expect(clippy::manual_async_fn, reason = "an async fn keeps its arguments in memory twice")]
    pub(super) fn finish(mut self, end: End) -> impl Future<Output = End> + Send {
        async move {
            // Damage takes precedence: the reader ended because of it.
            let is_damaged = matches!(end, End::Reader(_)) && self.terms.damage.borrow().is_some();
            let end = if is_damaged { End::Damaged } else { end };
            if matches!(end, End::Stopping) {
                self.send_shutdown_notice().await;
            }
            if matches!(end, End::Damaged) {
                let problem = Problem::StorageDamaged;
                let failed = Delivery::Passing(Signal::Failed { problem, request: None });
                let mut out = Vec::new();
                self.encoder.encode(&failed, &mut out);
                let _ = self.write(&mut out).await;
            }
            // Dropping the reader detaches the socket from the session before the slow close.
            drop(self.reader);
            self.transport.close(&end).await;
            end
        }
    }

    /// Writes `out`, then exchanges frames until either side ends, or until the client names another session.
    pub(super) async fn exchange_frames(&mut self, out: &mut Vec<Frame>) -> Result<Elsewhere, End> {
        self.write(out).await?;
        let mut unanswered = 0;
        let mut pings = interval_at(Instant::now() + self.terms.ping, self.terms.ping);
        pings.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let over = self.terms.over.clone();
        let mut over = pin!(over.cancelled());
        // One audio packet takes two rounds of this loop. Polling the ping timer and `over` in each of them would be
        // most of the cost, so a doorbell says when they need to be polled.
        let duties = Doorbell::default();
        let mut last = Side::Session;
        loop {
            let duty = poll_fn(|cx| {
                duties.poll(cx, |cx| match over.as_mut().poll(cx) {
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
                    if self.terms.activity.was_heard() {
                        unanswered = 0;
                    }
                    if T::ANSWERS_PINGS && unanswered == UNANSWERED_PINGS {
                        return Err(End::Silent);
                    }
                    unanswered += 1;
                    self.transport.ping().await?;
                }
                turn = next_turn(&mut self.transport, &mut self.reader, last) => match turn {
                    Turn::Peer(frame) => {
                        last = Side::Peer;
                        let elsewhere = self.on_frame(frame?, out).await?;
                        // While the session was busy, this loop read nothing; that does not count as the peer's
                        // silence.
                        self.terms.activity.touch();
                        if let Some(elsewhere) = elsewhere {
                            self.write(out).await?;
                            return Ok(elsewhere);
                        }
                    }
                    Turn::Session(step) => {
                        last = Side::Session;
                        self.on_step(step?, out);
                        self.add_waiting(out);
                    }
                },
            }
            self.write(out).await?;
        }
    }

    /// Returns the other session that the frame is for, if there is one.
    async fn on_frame(
        &mut self,
        frame: Incoming,
        frames: &mut Vec<Frame>,
    ) -> Result<Option<Elsewhere>, End> {
        let Some(received) = frame.received() else { return Ok(None) };
        self.terms.metrics.frame_in(size(received));
        match self.decode(frame).await {
            Ok(Decoded::One(inbound)) => self.submit(inbound, frames).await?,
            Ok(Decoded::Several(all)) => self.submit_all(all, frames).await?,
            Ok(Decoded::Elsewhere(elsewhere)) => return Ok(Some(elsewhere)),
            Ok(Decoded::Ping) => self.encoder.pong(frames),
            Err(refusal) => {
                self.terms.metrics.frame_refused(refusal.error.code());
                self.encoder.refuse(&refusal, frames);
            }
        }
        Ok(None)
    }

    /// Hands commands over in this order.
    pub(super) async fn submit_all(
        &mut self,
        all: Vec<Inbound>,
        frames: &mut Vec<Frame>,
    ) -> Result<(), End> {
        for inbound in all {
            self.submit(inbound, frames).await?;
        }
        Ok(())
    }

    async fn decode(&mut self, frame: Incoming) -> Result<Decoded, Refusal<D::Error>> {
        let Some(received) = frame.received() else { return Err(D::Error::unreadable().into()) };
        let size = size(received);
        let limit = match received {
            Received::Text(_) => self.terms.frame_limit,
            Received::Binary(_) => self.terms.sound_limit,
        };
        if size > limit {
            return Err(D::Error::too_large(size, limit).into());
        }
        if size <= INLINE_DECODE {
            return self.dialect.decode(received);
        }
        let dialect = Arc::clone(&self.dialect);
        let decode = move || frame.received().map(|received| dialect.decode(received));
        let decoded = tokio::task::spawn_blocking(decode).await.ok().flatten();
        decoded.unwrap_or_else(|| Err(D::Error::unreadable().into()))
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
        // The session is polled first: its inbox nearly always has room, and then `over` need not be polled.
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
                deliver(&mut self.encoder, &delivery, frames, LONGEST_PACKET);
            }
            Step::CaughtUp => self.encoder.end_replay(&self.greeting, frames),
        }
    }

    /// Adds deliveries that are already waiting, so that a burst costs one write instead of many.
    fn add_waiting(&mut self, frames: &mut Vec<Frame>) {
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

    async fn write(&mut self, frames: &mut Vec<Frame>) -> Result<(), End> {
        if frames.is_empty() {
            return Ok(());
        }
        frames.iter().for_each(|frame| self.terms.metrics.frame_out(frame.size()));
        self.transport.send(frames).await
    }

    /// The shutdown notice is in the queue when sockets are stopped; it should arrive before the close frame.
    async fn send_shutdown_notice(&mut self) {
        let mut out = Vec::new();
        let notice = async {
            while let Ok(step) = self.reader.next().await {
                let last = matches!(
                    step,
                    Step::Deliver(Delivery::Passing(Signal::System(SystemNotice::ShuttingDown)))
                );
                match step {
                    Step::Deliver(delivery) => self.encoder.encode(&delivery, &mut out),
                    Step::CaughtUp => {}
                }
                if last {
                    break;
                }
            }
        };
        let _ = timeout(NOTICE_TIMEOUT, notice).await;
        let _ = self.write(&mut out).await;
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

impl Incoming {
    /// `None`: there is nothing to decode.
    fn received(&self) -> Option<Received<'_>> {
        match self {
            Self::Text(text) => Some(Received::Text(text)),
            Self::Binary(bytes) => Some(Received::Binary(bytes)),
            Self::Pulse => None,
        }
    }
}

fn size(frame: Received<'_>) -> usize {
    match frame {
        Received::Text(text) => text.len(),
        Received::Binary(bytes) => bytes.len(),
    }
}

/// What the loop does besides exchanging frames.
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
    Peer(Result<Incoming, End>),
    Session(Result<Step, ReaderEnd>),
}

/// Waits for either side. The side that came last is polled last, so that neither can starve the other. With audio in
/// both directions, the side polled first is usually the one that woke the task.
async fn next_turn(transport: &mut impl FrameTransport, reader: &mut Reader, last: Side) -> Turn {
    let peer = pin!(transport.receive().map(Turn::Peer));
    let session = pin!(reader.next().map(Turn::Session));
    match last {
        Side::Session => select(peer, session).await.factor_first().0,
        Side::Peer => select(session, peer).await.factor_first().0,
    }
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
        let error = frames[2].text().unwrap();
        assert!(error.contains("list_failed") && error.contains(&size.to_string()), "{error}");
    }
}
