//! Why a packet is refused; always the client's mistake.

use crate::dialect::{FrameError, TextPosition};
use serde_json::error::Category;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    #[error("frame cannot be read: {0:?}")]
    Malformed(Malformed),
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

/// Why a frame cannot be read at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Malformed {
    NotJson(TextPosition),
    /// The JSON ends too early.
    CutOff(TextPosition),
    DuplicateKey(TextPosition),
    /// The frame could not be decoded for another reason than its JSON.
    Unreadable,
}

impl Malformed {
    /// The fields of packets accept any value, so the only data error in valid JSON is a duplicate key.
    pub(super) fn of(frame: &str, error: &serde_json::Error) -> Self {
        let at = TextPosition::of(frame, error);
        match error.classify() {
            Category::Syntax => Self::NotJson(at),
            Category::Eof => Self::CutOff(at),
            Category::Data => Self::DuplicateKey(at),
            Category::Io => Self::Unreadable,
        }
    }
}

impl FrameError for DecodeError {
    fn too_large(size: usize, limit: usize) -> Self {
        Self::TooLarge { size, limit }
    }

    fn unreadable() -> Self {
        Self::Malformed(Malformed::Unreadable)
    }

    fn code(&self) -> &'static str {
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
