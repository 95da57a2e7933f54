//! Wire dialects: each turns frames into [`Inbound`] and [`Delivery`] into frames. Pure: no sockets, no sessions.

pub mod aicore;
mod fields;

pub use fields::{BodyError, Fields};

use crate::message::{Delivery, Greeting, Inbound, RequestNo};

/// One wire protocol spoken on one socket.
pub trait Dialect: Send + Sync + 'static {
    /// Reads one text frame.
    fn decode(&self, frame: &str) -> Result<Inbound, Refusal>;

    /// Appends what a client is told before its history.
    fn greet(&self, greeting: &Greeting, frames: &mut Vec<String>);

    /// Appends what a client is told after its history.
    fn settle(&self, greeting: &Greeting, frames: &mut Vec<String>);

    /// Appends the frame that tells `delivery`; none if this dialect cannot say it.
    fn encode(&self, delivery: &Delivery, frames: &mut Vec<String>);

    /// Appends the frame that tells the peer what was wrong.
    fn refuse(&self, refusal: &Refusal, frames: &mut Vec<String>);
}

/// A frame that was not taken. The peer is told; the socket stays open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    pub error: DecodeError,
    /// The client's number of the refused command, if it could be read.
    pub request: Option<RequestNo>,
}

impl From<DecodeError> for Refusal {
    fn from(error: DecodeError) -> Self {
        Self { error, request: None }
    }
}

/// What is wrong with a frame; always the peer's mistake.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    #[error("frame is not JSON: {0}")]
    Malformed(String),
    #[error("frame is not a JSON object")]
    NotAnObject,
    #[error("frame has no message kind")]
    MissingKind,
    #[error("unknown message kind `{0}`")]
    UnknownKind(String),
    #[error("`{0}` may not be sent on the audio socket")]
    AudioOnly(String),
    #[error("`{0}` belongs on the audio socket")]
    NoAudioHere(String),
    #[error("channel `{0}` only receives")]
    ReceiveOnly(&'static str),
    #[error("channel `{value}` cannot be used here; allowed: {allowed}")]
    WrongChannel { value: String, allowed: &'static str },
    #[error("field `{field}` must be {expected}")]
    BadField { field: &'static str, expected: &'static str },
    #[error("frame of {size} bytes is over the limit of {limit}")]
    TooLarge { size: usize, limit: usize },
    #[error("field `{field}` is not base64")]
    BadBase64 { field: &'static str },
    #[error("audio refused: {0}")]
    BadAudio(&'static str),
    #[error("binary frames are not used")]
    Binary,
}

impl DecodeError {
    /// A word for programs and metrics; people get the text.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Malformed(_) => "malformed",
            Self::NotAnObject => "not_an_object",
            Self::MissingKind => "missing_kind",
            Self::UnknownKind(_) => "unknown_kind",
            Self::AudioOnly(_) => "audio_only",
            Self::NoAudioHere(_) => "no_audio_here",
            Self::ReceiveOnly(_) => "receive_only",
            Self::WrongChannel { .. } => "wrong_channel",
            Self::BadField { .. } => "bad_field",
            Self::TooLarge { .. } => "too_large",
            Self::BadBase64 { .. } => "bad_base64",
            Self::BadAudio(_) => "bad_audio",
            Self::Binary => "binary",
        }
    }
}
