//! Refused connections: the error packet, and the close code that says whether the client should retry.

use super::error::DecodeError;
use super::wire::ConnectionPacket;
use super::{encode, phrase};
use crate::dialect::FrameError;
use crate::locale::Locale;

/// Why a connection is closed before it is attached to a session.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Rejection {
    #[error("no connect packet within {seconds} s")]
    Silent { seconds: u64 },
    #[error(transparent)]
    Malformed(#[from] DecodeError),
    #[error("unknown socket number `{0}`")]
    UnknownSocket(String),
    /// Not a valid id, or another user's session; the client is not told which.
    #[error("session id cannot be used")]
    SessionRefused,
    /// No token or cookie, or one that is unknown, expired or revoked.
    #[error("not logged in")]
    Unauthorized,
    #[error("{scope} takes at most {limit} sockets")]
    TooManySockets { scope: &'static str, limit: usize },
    #[error("storage does not answer: {reason}")]
    Stalled { reason: String },
    #[error("the database is damaged")]
    Damaged,
    #[error("the gateway stops")]
    Stopping,
    #[error("internal error")]
    Internal,
}

impl Rejection {
    /// 3000 to 3499 ask the client to retry, 3500 to 3999 tell it not to repeat the same attempt.
    pub fn close_code(&self) -> u16 {
        match self {
            Self::Silent { .. } => 3501,
            Self::Malformed(_) => 3502,
            Self::UnknownSocket(_) => 3503,
            Self::SessionRefused => 3504,
            Self::Unauthorized => 3506,
            Self::Damaged => 3507,
            // Dead sockets of the same client may still occupy the places; they time out by themselves.
            Self::TooManySockets { .. } => 3005,
            Self::Stalled { .. } => 3006,
            Self::Stopping => 3001,
            Self::Internal => 1011,
        }
    }

    pub fn code(&self) -> &'static str {
        match self {
            Self::Silent { .. } => "no_connect",
            Self::Malformed(error) => error.code(),
            Self::UnknownSocket(_) => "unknown_socket",
            Self::SessionRefused => "session_refused",
            Self::Unauthorized => "unauthorized",
            Self::TooManySockets { .. } => "too_many_sockets",
            Self::Stalled { .. } => "store_stalled",
            Self::Damaged => "storage_damaged",
            Self::Stopping => "stopping",
            Self::Internal => "internal",
        }
    }

    /// The `error` packet that is sent before the close.
    pub fn frame(&self, locale: Locale) -> String {
        let packet = ConnectionPacket {
            kind: "error",
            session: "",
            body: self.text(locale),
            code: Some(self.code()),
            request: None,
        };
        let mut frames = Vec::with_capacity(1);
        encode::push(&mut frames, &packet);
        frames.pop().and_then(|frame| frame.text().map(str::to_owned)).unwrap_or_default()
    }

    fn text(&self, locale: Locale) -> String {
        let say = |values: &[(&str, &str)]| locale.say("error", self.code(), values);
        match self {
            Self::Silent { seconds } => say(&[("seconds", &seconds.to_string())]),
            Self::Malformed(error) => phrase::decode_error(locale, error),
            Self::Stalled { reason } => say(&[("reason", &locale.word(reason))]),
            Self::UnknownSocket(value) => say(&[("value", value)]),
            Self::TooManySockets { scope, limit } => {
                let scope = locale.say("scope", scope, &[]);
                say(&[("scope", &scope), ("limit", &limit.to_string())])
            }
            Self::SessionRefused
            | Self::Unauthorized
            | Self::Damaged
            | Self::Stopping
            | Self::Internal => say(&[]),
        }
    }
}
