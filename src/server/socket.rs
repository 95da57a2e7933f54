//! The WebSocket transport: buffers, first frame, and the close codes that tell a client why its connection ends.

use super::AppState;
use super::attached::{End, FrameTransport, Incoming, LONGEST_PACKET};
use crate::dialect::Frame;
use crate::message::Problem;
use crate::session::ReaderEnd;
use crate::task::Doorbell;
use axum::extract::ws::{CloseFrame, Message, Utf8Bytes, WebSocket, WebSocketUpgrade};
use bytes::Bytes;
use futures_util::{SinkExt, StreamExt};
use std::future::poll_fn;
use std::time::Duration;
use tokio::time::timeout;
use tracing::debug;
use tungstenite::error::{CapacityError, Error as WsError};

/// Small on purpose: the default of 128 KiB per socket is most of what an idle connection costs.
const READ_BUFFER: usize = 8 * 1024;
/// Frames are collected up to here before they go to the network.
const WRITE_BUFFER: usize = 16 * 1024;
/// Limit of unwritten bytes: the longest packet, a file list of a very large project, and room for other packets of the
/// same write.
const LONGEST_WRITE: usize = LONGEST_PACKET + 1024 * 1024;
/// Timeout for closing: for sending our close frame, and again for the peer's answer.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);
/// After a shutdown, reconnects are spread over this time.
const RETRY_SPREAD_MS: u64 = 3000;

/// A WebSocket as a transport of frames.
#[derive(Debug)]
pub(super) struct WebSocketTransport {
    socket: WebSocket,
    /// Says when the socket needs to be polled.
    doorbell: Doorbell,
}

impl WebSocketTransport {
    pub(super) fn new(socket: WebSocket) -> Self {
        Self { socket, doorbell: Doorbell::default() }
    }
}

impl FrameTransport for WebSocketTransport {
    const ANSWERS_PINGS: bool = true;

    async fn receive(&mut self) -> Result<Incoming, End> {
        let Self { socket, doorbell } = self;
        let message = poll_fn(|cx| doorbell.poll(cx, |cx| socket.poll_next_unpin(cx))).await;
        match message.ok_or(End::Peer)?? {
            Message::Text(text) => Ok(Incoming::Text(text)),
            Message::Binary(bytes) => Ok(Incoming::Binary(bytes)),
            Message::Ping(_) | Message::Pong(_) => Ok(Incoming::Pulse),
            Message::Close(_) => Err(End::Peer),
        }
    }

    /// The write timeout is in `connection.rs`.
    async fn send(&mut self, frames: &mut Vec<Frame>) -> Result<(), End> {
        for frame in frames.drain(..) {
            let message = match frame {
                Frame::Text(text) | Frame::Event(_, text) => Message::Text(text.into()),
                Frame::Binary(bytes) => Message::Binary(bytes),
            };
            self.socket.feed(message).await?;
        }
        self.socket.flush().await?;
        Ok(())
    }

    async fn ping(&mut self) -> Result<(), End> {
        Ok(self.socket.send(Message::Ping(Bytes::new())).await?)
    }

    async fn close(&mut self, end: &End) {
        match close_code(end) {
            Some((code, reason)) => close(&mut self.socket, code, &reason).await,
            None => wait_for_end(&mut self.socket).await,
        }
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
    /// The peer sent nothing within this time.
    Silent(Duration),
    Binary,
    TooLarge {
        size: usize,
        limit: usize,
    },
    /// Not UTF-8, or not what the WebSocket protocol allows.
    Broken,
}

pub(super) async fn first_frame(state: &AppState, socket: &mut WebSocket) -> First {
    let handshake = state.config.limits.handshake;
    let limit = state.config.limits.other_frame;
    let first =
        state.sockets_stop.run_until_cancelled(timeout(handshake, first_message(socket))).await;
    match first {
        None => {
            close(socket, 3001, &retry_hint()).await;
            First::Gone
        }
        Some(Err(_)) => First::Silent(handshake),
        Some(Ok(Some(Ok(Message::Text(text))))) if text.len() > limit => {
            First::TooLarge { size: text.len(), limit }
        }
        Some(Ok(Some(Ok(Message::Text(text))))) => First::Text(text),
        Some(Ok(Some(Ok(Message::Binary(_))))) => First::Binary,
        Some(Ok(Some(Err(err)))) => {
            debug!(%err, "the first frame cannot be read");
            First::Broken
        }
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
    if let Ok(Ok(())) = timeout(CLOSE_TIMEOUT, socket.send(Message::Close(Some(frame)))).await {
        wait_for_end(socket).await;
    }
}

/// Reads to the end; reading also answers the peer's close frame.
async fn wait_for_end(socket: &mut WebSocket) {
    let rest = async { while let Some(Ok(_)) = socket.recv().await {} };
    let _ = timeout(CLOSE_TIMEOUT, rest).await;
}
