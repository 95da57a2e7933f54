//! One WebSocket to a vendor in a task of its own, so that neither a slow server nor a full network makes the
//! conversation wait. Dropping the socket closes it.

use super::dial::{Dialer, Refusal, Socket};
use crate::provider::live::remote::protocol::Address;
use crate::task;
use bytes::Bytes;
use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt, StreamExt};
use std::future::pending;
use std::sync::Mutex;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::{Instant, interval_at, timeout};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;

/// Frames to the vendor, about twenty seconds of microphone. Full: the vendor does not read, and the socket is given up.
const OUTGOING: usize = 512;
/// Frames from the vendor. Full: the socket is not read until the conversation has caught up.
const INCOMING: usize = 32;
const WRITE: Duration = Duration::from_secs(10);
const PING: Duration = Duration::from_secs(20);
/// Some vendors take half a minute for a pong although they work.
const PONG: Duration = Duration::from_secs(60);
const GOODBYE: Duration = Duration::from_secs(1);
/// How long the socket before this one may take to close.
const PREDECESSOR: Duration = Duration::from_secs(2);

#[derive(Debug)]
pub(in crate::provider::live::remote) struct VendorSocket {
    outgoing: mpsc::Sender<String>,
    events: mpsc::Receiver<SocketEvent>,
    /// Ends with the task.
    task: JoinHandle<()>,
}

#[derive(Debug, PartialEq, Eq)]
pub(in crate::provider::live::remote) enum SocketEvent {
    Opened,
    Frame(Bytes),
    Closed { code: Option<u16>, reason: String },
    Refused(Refusal),
}

/// The vendor has not read for some time.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::provider::live::remote) struct SendQueueFull;

impl VendorSocket {
    /// Starts connecting once the socket before it is closed: vendors refuse to resume a session that is still open.
    pub(in crate::provider::live::remote) fn open(
        dialer: Dialer,
        address: Address,
        before: Option<JoinHandle<()>>,
    ) -> Self {
        let (outgoing, frames) = mpsc::channel(OUTGOING);
        let (event_sender, events) = mpsc::channel(INCOMING);
        let task = task::spawn("live-line", async move {
            if let Some(before) = before {
                let _ = timeout(PREDECESSOR, before).await;
            }
            run(dialer, address, frames, event_sender).await;
        });
        Self { outgoing, events, task }
    }

    pub(in crate::provider::live::remote) fn send(
        &self,
        frame: String,
    ) -> Result<(), SendQueueFull> {
        // If the socket has ended, `SocketEvent::Closed` says so.
        match self.outgoing.try_send(frame) {
            Ok(()) | Err(mpsc::error::TrySendError::Closed(_)) => Ok(()),
            Err(mpsc::error::TrySendError::Full(_)) => Err(SendQueueFull),
        }
    }

    /// Cancel-safe. `None`: there are no more events.
    pub(in crate::provider::live::remote) async fn next_event(&mut self) -> Option<SocketEvent> {
        self.events.recv().await
    }

    /// Closes the socket. The handle ends when that is done.
    pub(in crate::provider::live::remote) fn close(self) -> JoinHandle<()> {
        self.task
    }
}

async fn run(
    dialer: Dialer,
    address: Address,
    frames: mpsc::Receiver<String>,
    event_sender: mpsc::Sender<SocketEvent>,
) {
    let socket = tokio::select! {
        socket = dialer.dial(&address) => socket,
        () = event_sender.closed() => return,
    };
    let socket = match socket {
        Ok(socket) => socket,
        Err(refusal) => {
            let _ = event_sender.send(SocketEvent::Refused(refusal)).await;
            return;
        }
    };
    let _ = event_sender.send(SocketEvent::Opened).await;
    let (mut sink, stream) = socket.split();
    let liveness = Liveness::default();
    let end = tokio::select! {
        end = read(stream, &event_sender, &liveness) => end,
        end = write(&mut sink, frames, &liveness) => end,
    };
    match end {
        Some(end) => drop(event_sender.send(end).await),
        None => {
            let close = CloseFrame { code: CloseCode::Normal, reason: "".into() };
            let _ = timeout(GOODBYE, sink.send(Message::Close(Some(close)))).await;
        }
    }
}

/// Ping and pong: whether the vendor still answers.
#[derive(Debug, Default)]
struct Liveness {
    /// When the oldest unanswered ping was sent.
    asked: Mutex<Option<Instant>>,
}

impl Liveness {
    fn set(&self, asked: Option<Instant>) {
        *self.asked.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = asked;
    }

    /// Notes a ping. False if an earlier one has been unanswered for too long.
    fn ping(&self) -> bool {
        let mut asked = self.asked.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        asked.get_or_insert_with(Instant::now).elapsed() < PONG
    }
}

/// Reads until the vendor closes (`Some`) or the conversation has dropped the socket (`None`).
async fn read(
    mut stream: SplitStream<Socket>,
    event_sender: &mpsc::Sender<SocketEvent>,
    liveness: &Liveness,
) -> Option<SocketEvent> {
    loop {
        let Ok(room) = event_sender.reserve().await else { return None };
        // While the queue was full nothing was read, so pongs may still be unread.
        liveness.set(None);
        let frame = loop {
            let message = tokio::select! {
                message = stream.next() => message,
                () = event_sender.closed() => return None,
            };
            liveness.set(None);
            match message {
                Some(Ok(Message::Text(text))) => break Bytes::from(text),
                Some(Ok(Message::Binary(bytes))) => break bytes,
                Some(Ok(Message::Close(Some(close)))) => {
                    let reason = close.reason.to_string();
                    return Some(SocketEvent::Closed { code: Some(close.code.into()), reason });
                }
                Some(Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_))) => (),
                Some(Ok(Message::Close(None))) | None => {
                    let reason = "its server hung up".to_owned();
                    return Some(SocketEvent::Closed { code: None, reason });
                }
                Some(Err(err)) => {
                    return Some(SocketEvent::Closed { code: None, reason: err.to_string() });
                }
            }
        };
        room.send(SocketEvent::Frame(frame));
    }
}

/// Writes until writing fails. An empty queue does not end it.
async fn write(
    sink: &mut SplitSink<Socket, Message>,
    mut frames: mpsc::Receiver<String>,
    liveness: &Liveness,
) -> Option<SocketEvent> {
    let mut pings = interval_at(Instant::now() + PING, PING);
    loop {
        let message = tokio::select! {
            frame = frames.recv() => match frame {
                Some(frame) => Message::text(frame),
                // The socket was dropped; `read` notices.
                None => pending().await,
            },
            _ = pings.tick() => {
                if !liveness.ping() {
                    let reason = "its server has said nothing for a minute".to_owned();
                    return Some(SocketEvent::Closed { code: None, reason });
                }
                Message::Ping(Bytes::new())
            }
        };
        match timeout(WRITE, sink.send(message)).await {
            Ok(Ok(())) => (),
            // `read` finds out why it was closed.
            Ok(Err(_)) => pending().await,
            Err(_) => {
                let reason = "its server does not take what is sent".to_owned();
                return Some(SocketEvent::Closed { code: None, reason });
            }
        }
    }
}
