//! Wire dialects: each turns frames into [`Inbound`] and [`Delivery`] into frames. Pure: no sockets, no sessions.

pub mod aicore;
pub mod api;
mod fields;

pub use fields::{BodyError, Fields};

use crate::message::{Delivery, Greeting, Inbound, RequestNo};
use bytes::Bytes;

/// One frame for a client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Frame {
    Text(String),
    Binary(Bytes),
}

impl Frame {
    /// In bytes.
    pub fn size(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::Binary(bytes) => bytes.len(),
        }
    }

    /// `None` for a binary frame.
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
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

/// One wire protocol spoken on one connection. Reading is pure, so that a long frame can be read on another thread;
/// writing is the encoder's, which may keep state.
pub trait Dialect: Send + Sync + 'static {
    type Error: FrameError;
    type Encoder: Encoder<Error = Self::Error>;

    fn decode(&self, frame: Received<'_>) -> Result<Inbound, Refusal<Self::Error>>;

    /// For one connection.
    fn encoder(&self) -> Self::Encoder;
}

/// Writes what one client is told, in order.
pub trait Encoder: Send + 'static {
    type Error: FrameError;

    /// Appends what a client is told before its history.
    fn greet(&mut self, greeting: &Greeting, frames: &mut Vec<Frame>);

    /// Appends what a client is told after its history.
    fn settle(&mut self, greeting: &Greeting, frames: &mut Vec<Frame>);

    /// Appends the frames that tell `delivery`; none if this dialect cannot say it.
    fn encode(&mut self, delivery: &Delivery, frames: &mut Vec<Frame>);

    /// Appends the frame that tells the client what was wrong with one of its own.
    fn refuse(&mut self, refusal: &Refusal<Self::Error>, frames: &mut Vec<Frame>);
}

/// What a dialect says about a frame that it cannot read; always the client's mistake.
pub trait FrameError: std::error::Error + Send + Sync + 'static {
    /// A frame that is longer than the connection takes.
    fn too_large(size: usize, limit: usize) -> Self;

    /// A frame that made the decoder fail.
    fn unreadable() -> Self;

    /// A word for programs and metrics; people get the text.
    fn code(&self) -> &'static str;
}

/// A frame that was not taken. The client is told; the connection stays open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal<E> {
    pub error: E,
    /// The client's number of the refused command, if it could be read.
    pub request: Option<RequestNo>,
}

impl<E> From<E> for Refusal<E> {
    fn from(error: E) -> Self {
        Self { error, request: None }
    }
}
