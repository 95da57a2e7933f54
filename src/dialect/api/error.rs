//! Why a frame of the session API is refused; always the client's mistake.

use crate::dialect::{BodyError, FrameError};
use crate::locale::Locale;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ApiError {
    #[error("the frame cannot be used: {0:?}")]
    Body(BodyError),
    #[error("unknown type `{0}`")]
    UnknownType(String),
    #[error("`{field}` must be {expected}")]
    BadField { field: &'static str, expected: &'static str },
    #[error("frame of {size} bytes is over the limit of {limit}")]
    TooLarge { size: usize, limit: usize },
    #[error("sound needs \"audio\" among the features of the hello")]
    NoAudio,
    #[error("16-bit samples need an even number of bytes, and at least one sample")]
    BadAudio,
    #[error("the first frame must be a hello")]
    NoHello,
    #[error("the frame could not be read")]
    Unreadable,
}

impl FrameError for ApiError {
    fn too_large(size: usize, limit: usize) -> Self {
        Self::TooLarge { size, limit }
    }

    fn unreadable() -> Self {
        Self::Unreadable
    }

    fn code(&self) -> &'static str {
        match self {
            Self::Body(error) if !error.is_json() => "malformed",
            Self::Body(error) if error.field().is_some() => "bad_field",
            Self::Body(_) => "not_an_object",
            Self::UnknownType(_) => "unknown_type",
            Self::BadField { .. } => "bad_field",
            Self::TooLarge { .. } => "too_large",
            Self::NoAudio => "no_audio",
            Self::BadAudio => "bad_audio",
            Self::NoHello => "no_hello",
            Self::Unreadable => "malformed",
        }
    }
}

impl From<BodyError> for ApiError {
    fn from(error: BodyError) -> Self {
        Self::Body(error)
    }
}

impl ApiError {
    /// For people.
    pub fn say(&self, locale: Locale) -> String {
        let say = |name, values: &[(&str, &str)]| locale.say("api", name, values);
        match self {
            Self::Body(BodyError::NotAnObject) => say("not_an_object", &[]),
            Self::Body(BodyError::NotJson(at)) => at.say(locale, "api", "not_json"),
            Self::Body(BodyError::NotText) | Self::Unreadable => say("unreadable", &[]),
            Self::Body(error) => error.say(locale),
            Self::UnknownType(name) => say("unknown_type", &[("type", name)]),
            Self::BadField { field, expected } => {
                say("bad_field", &[("field", field), ("expected", &locale.word(expected))])
            }
            Self::TooLarge { size, limit } => {
                say("too_large", &[("size", &size.to_string()), ("limit", &limit.to_string())])
            }
            Self::NoAudio => say("no_audio", &[]),
            Self::BadAudio => say("bad_audio", &[]),
            Self::NoHello => say("no_hello", &[]),
        }
    }
}
