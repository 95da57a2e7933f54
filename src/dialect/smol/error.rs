//! Why a frame of the agent UI is refused; always the client's mistake.

use crate::dialect::{BodyError, FrameError};
use crate::locale::Locale;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SmolError {
    #[error("the frame cannot be used: {0:?}")]
    Body(BodyError),
    #[error("unknown type `{0}`")]
    UnknownType(String),
    #[error("`{field}` must be {expected}")]
    BadField { field: &'static str, expected: &'static str },
    #[error("frame of {size} bytes is over the limit of {limit}")]
    TooLarge { size: usize, limit: usize },
    #[error("frames must be text")]
    Binary,
    #[error("the frame could not be read")]
    Unreadable,
}

impl FrameError for SmolError {
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
            Self::Binary | Self::Unreadable => "malformed",
        }
    }
}

impl From<BodyError> for SmolError {
    fn from(error: BodyError) -> Self {
        Self::Body(error)
    }
}

impl SmolError {
    /// For people.
    pub fn say(&self, locale: Locale) -> String {
        let say = |name, values: &[(&str, &str)]| locale.say("api", name, values);
        match self {
            Self::Body(BodyError::NotAnObject) => say("not_an_object", &[]),
            Self::Body(BodyError::NotJson(at)) => at.say(locale, "api", "not_json"),
            Self::Body(BodyError::NotText) | Self::Unreadable | Self::Binary => {
                say("unreadable", &[])
            }
            Self::Body(error) => error.say(locale),
            Self::UnknownType(name) => say("unknown_type", &[("type", name)]),
            Self::BadField { field, expected } => {
                say("bad_field", &[("field", field), ("expected", &locale.word(expected))])
            }
            Self::TooLarge { size, limit } => {
                say("too_large", &[("size", &size.to_string()), ("limit", &limit.to_string())])
            }
        }
    }
}
