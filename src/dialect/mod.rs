//! Wire dialects: each decodes frames into [`Inbound`] and encodes [`Delivery`] as frames. They know no sockets and no
//! sessions.

pub mod aicore;
pub mod analyst;
pub mod api;
pub mod core_ui;
mod fields;
mod position;
pub mod smol;
mod work;

pub use fields::{BodyError, Fields};
pub use position::TextPosition;

use crate::message::{Command, Delivery, Epoch, Greeting, Inbound, Order, RequestNo};
use bytes::Bytes;
use std::fmt;

/// One frame for a client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Frame {
    Text(String),
    /// A text about a stored event. Transports that can resume by themselves name the id apart from the text.
    Event(FrameId, String),
    Binary(Bytes),
}

/// Where a client resumes that has received this frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FrameId {
    /// The order of the event, and the epoch in which it counts.
    Order(Epoch, Order),
    /// The dialect's own number.
    Number(u64),
}

impl fmt::Display for FrameId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Order(epoch, order) => write!(out, "{:016x}-{}", epoch.0, order.0),
            Self::Number(number) => write!(out, "{number}"),
        }
    }
}

impl Frame {
    /// Size in bytes.
    pub fn size(&self) -> usize {
        match self {
            Self::Text(text) | Self::Event(_, text) => text.len(),
            Self::Binary(bytes) => bytes.len(),
        }
    }

    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) | Self::Event(_, text) => Some(text),
            Self::Binary(_) => None,
        }
    }
}

/// One frame of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Received<'a> {
    Text(&'a str),
    Binary(&'a Bytes),
}

/// What one frame of a client means.
#[derive(Debug, Clone, PartialEq)]
pub enum Decoded {
    One(Inbound),
    /// To be carried out in this order.
    Several(Vec<Inbound>),
    /// The frame names another session than that of its connection: the client goes on there, with these commands.
    Elsewhere(Elsewhere),
    /// The client wants a sign of life.
    Ping,
}

/// Another session, as the client has named it, and what it wants to do there.
#[derive(Debug, Clone, PartialEq)]
pub struct Elsewhere {
    pub session: String,
    pub commands: Vec<Inbound>,
}

impl Decoded {
    /// The request number belongs to the last command.
    pub fn several(request: Option<RequestNo>, mut commands: Vec<Command>) -> Self {
        let last = commands.pop().map(|command| Inbound { request, command });
        let others = commands.into_iter().map(|command| Inbound { request: None, command });
        Self::Several(others.chain(last).collect())
    }

    /// The only command of the frame.
    pub fn into_one(self) -> Option<Inbound> {
        match self {
            Self::One(inbound) => Some(inbound),
            Self::Several(_) | Self::Elsewhere(_) | Self::Ping => None,
        }
    }

    /// The commands for the session of the connection.
    pub fn into_commands(self) -> Vec<Inbound> {
        match self {
            Self::One(inbound) => vec![inbound],
            Self::Several(all) => all,
            Self::Elsewhere(_) | Self::Ping => Vec::new(),
        }
    }
}

impl From<Inbound> for Decoded {
    fn from(inbound: Inbound) -> Self {
        Self::One(inbound)
    }
}

/// One wire format on one connection. Decoding is pure, so that a long frame can be decoded on another thread. Encoding
/// is done by the encoder, which may keep state.
pub trait Dialect: Send + Sync + 'static {
    type Error: FrameError;
    type Encoder: Encoder<Error = Self::Error>;

    fn decode(&self, frame: Received<'_>) -> Result<Decoded, Refusal<Self::Error>>;

    /// A new encoder for one connection.
    fn encoder(&self) -> Self::Encoder;
}

/// Encodes everything that one client is sent, in order.
pub trait Encoder: Send + 'static {
    type Error: FrameError;

    /// Appends the frames before the replay.
    fn greet(&mut self, greeting: &Greeting, frames: &mut Vec<Frame>);

    /// Appends the frames after the replay.
    fn end_replay(&mut self, greeting: &Greeting, frames: &mut Vec<Frame>);

    /// Appends the frames of `delivery`; none if the dialect cannot express it.
    fn encode(&mut self, delivery: &Delivery, frames: &mut Vec<Frame>);

    /// Appends the answer to a ping, in dialects that have one.
    fn pong(&mut self, _frames: &mut Vec<Frame>) {}

    /// Appends the error frame for a refused frame of the client.
    fn refuse(&mut self, refusal: &Refusal<Self::Error>, frames: &mut Vec<Frame>);
}

/// Why a dialect cannot read a frame; always the client's mistake.
pub trait FrameError: std::error::Error + Send + Sync + 'static {
    /// The frame is longer than the connection allows.
    fn too_large(size: usize, limit: usize) -> Self;

    /// The decoder panicked on the frame.
    fn unreadable() -> Self;

    /// For programs and metrics; people get the text.
    fn code(&self) -> &'static str;
}

/// A refused frame. The client gets an error; the connection stays open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal<E> {
    pub error: E,
    /// The request number of the refused command, if it could be read.
    pub request: Option<RequestNo>,
}

impl<E> From<E> for Refusal<E> {
    fn from(error: E) -> Self {
        Self { error, request: None }
    }
}
