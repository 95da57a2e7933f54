//! One WebSocket to a vendor in a task of its own, so that neither a slow server nor a full network makes the
//! conversation wait. Dropping the line hangs up.

use super::dial::{Dialer, Refusal, Socket};
use super::protocol::Address;
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

/// Frames for the vendor, some twenty seconds of microphone. Full: the vendor does not read, and the line is given up.
const OUTGOING: usize = 512;
/// Frames of the vendor. Full: it is not read any further, because nobody has heard yet what it has said already.
const INCOMING: usize = 32;
const WRITE: Duration = Duration::from_secs(10);
const PING: Duration = Duration::from_secs(20);
/// Some vendors take half a minute for a pong and are well all the same.
const PONG: Duration = Duration::from_secs(60);
const GOODBYE: Duration = Duration::from_secs(1);
/// How long the line before this one may take to hang up.
const PREDECESSOR: Duration = Duration::from_secs(2);

#[derive(Debug)]
pub(super) struct Line {
    outgoing: mpsc::Sender<String>,
    news: mpsc::Receiver<News>,
    /// Of its task.
    over: JoinHandle<()>,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum News {
    Opened,
    Frame(Bytes),
    Closed { code: Option<u16>, reason: String },
    Refused(Refusal),
}

/// The vendor has not read for long.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Jammed;

impl Line {
    /// Begins to connect, once the line before it has hung up: vendors refuse to resume what is still open.
    pub(super) fn open(dialer: Dialer, address: Address, before: Option<JoinHandle<()>>) -> Self {
        let (outgoing, frames) = mpsc::channel(OUTGOING);
        let (told, news) = mpsc::channel(INCOMING);
        let over = task::spawn("live-line", async move {
            if let Some(before) = before {
                let _ = timeout(PREDECESSOR, before).await;
            }
            run(dialer, address, frames, told).await;
        });
        Self { outgoing, news, over }
    }

    pub(super) fn send(&self, frame: String) -> Result<(), Jammed> {
        // One that has ended says so by its news.
        match self.outgoing.try_send(frame) {
            Ok(()) | Err(mpsc::error::TrySendError::Closed(_)) => Ok(()),
            Err(mpsc::error::TrySendError::Full(_)) => Err(Jammed),
        }
    }

    /// Loses nothing when it is cancelled. `None`: nothing follows.
    pub(super) async fn news(&mut self) -> Option<News> {
        self.news.recv().await
    }

    /// The end of its task, for whoever has to wait until it has hung up.
    pub(super) fn hang_up(self) -> JoinHandle<()> {
        self.over
    }
}

async fn run(
    dialer: Dialer,
    address: Address,
    frames: mpsc::Receiver<String>,
    told: mpsc::Sender<News>,
) {
    let socket = tokio::select! {
        socket = dialer.dial(&address) => socket,
        () = told.closed() => return,
    };
    let socket = match socket {
        Ok(socket) => socket,
        Err(refusal) => {
            let _ = told.send(News::Refused(refusal)).await;
            return;
        }
    };
    let _ = told.send(News::Opened).await;
    let (mut sink, stream) = socket.split();
    let signs = Signs::default();
    let end = tokio::select! {
        end = read(stream, &told, &signs) => end,
        end = write(&mut sink, frames, &signs) => end,
    };
    match end {
        Some(end) => drop(told.send(end).await),
        None => {
            let close = CloseFrame { code: CloseCode::Normal, reason: "".into() };
            let _ = timeout(GOODBYE, sink.send(Message::Close(Some(close)))).await;
        }
    }
}

/// Whether the vendor is still there.
#[derive(Debug, Default)]
struct Signs {
    /// Since when a ping has no answer.
    asked: Mutex<Option<Instant>>,
}

impl Signs {
    fn set(&self, asked: Option<Instant>) {
        *self.asked.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = asked;
    }

    /// Notes a ping; false if an earlier one has had no answer for too long.
    fn ask(&self) -> bool {
        let mut asked = self.asked.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        asked.get_or_insert_with(Instant::now).elapsed() < PONG
    }
}

/// Until the vendor hangs up, or nobody wants to hear of it any more.
async fn read(
    mut stream: SplitStream<Socket>,
    told: &mpsc::Sender<News>,
    signs: &Signs,
) -> Option<News> {
    loop {
        let Ok(room) = told.reserve().await else { return None };
        // What it said while nobody listened is still to be read.
        signs.set(None);
        let frame = loop {
            let message = tokio::select! {
                message = stream.next() => message,
                () = told.closed() => return None,
            };
            signs.set(None);
            match message {
                Some(Ok(Message::Text(text))) => break Bytes::from(text),
                Some(Ok(Message::Binary(bytes))) => break bytes,
                Some(Ok(Message::Close(Some(close)))) => {
                    let reason = close.reason.to_string();
                    return Some(News::Closed { code: Some(close.code.into()), reason });
                }
                Some(Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_))) => (),
                Some(Ok(Message::Close(None))) | None => {
                    let reason = "its server hung up".to_owned();
                    return Some(News::Closed { code: None, reason });
                }
                Some(Err(err)) => {
                    return Some(News::Closed { code: None, reason: err.to_string() });
                }
            }
        };
        room.send(News::Frame(frame));
    }
}

/// Until nothing can be sent any more; never because nothing is to be sent.
async fn write(
    sink: &mut SplitSink<Socket, Message>,
    mut frames: mpsc::Receiver<String>,
    signs: &Signs,
) -> Option<News> {
    let mut pings = interval_at(Instant::now() + PING, PING);
    loop {
        let message = tokio::select! {
            frame = frames.recv() => match frame {
                Some(frame) => Message::text(frame),
                // The line was dropped; the reader notices.
                None => pending().await,
            },
            _ = pings.tick() => {
                if !signs.ask() {
                    let reason = "its server has said nothing for a minute".to_owned();
                    return Some(News::Closed { code: None, reason });
                }
                Message::Ping(Bytes::new())
            }
        };
        match timeout(WRITE, sink.send(message)).await {
            Ok(Ok(())) => (),
            // Why it was closed is for the reader to find.
            Ok(Err(_)) => pending().await,
            Err(_) => {
                let reason = "its server does not take what is sent".to_owned();
                return Some(News::Closed { code: None, reason });
            }
        }
    }
}
