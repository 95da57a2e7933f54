//! Why a packet is refused; always the client's mistake.

use crate::dialect::FrameError;

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

impl FrameError for DecodeError {
    fn too_large(size: usize, limit: usize) -> Self {
        Self::TooLarge { size, limit }
    }

    fn unreadable() -> Self {
        Self::Malformed("the frame could not be read".to_owned())
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
