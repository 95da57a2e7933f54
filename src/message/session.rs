//! Ids of sessions, and the principal who owns a session.

use std::fmt;
use std::sync::Arc;

/// Identifies a session for as long as its data exists: `ws-` and at least 128 random bits in hex.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SessionId(Arc<str>);

impl SessionId {
    const PREFIX: &str = "ws-";

    /// Makes an id from fresh random bits, which the caller provides.
    pub fn from_random(bits: u128) -> Self {
        Self(format!("{}{bits:032x}", Self::PREFIX).into())
    }

    /// Accepts only ids in our own format, so that nobody can choose a guessable one.
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.strip_prefix(Self::PREFIX)?;
        let well_formed = (32..=64).contains(&digits.len())
            && digits.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        well_formed.then(|| Self(text.into()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

/// A session id as a client sent it: one of ours, or one of the original AIcore server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SentSessionId {
    Ours(SessionId),
    Original(OriginalSession),
}

impl SentSessionId {
    pub fn parse(text: &str) -> Option<Self> {
        SessionId::parse(text)
            .map(Self::Ours)
            .or_else(|| OriginalSession::parse(text).map(Self::Original))
    }
}

/// A session id made by the original AIcore server: ten lower-case hex digits. It may still be in the address of a page
/// that now connects to us. It is too short to be secret, so it is only mapped to a session id of ours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OriginalSession(Arc<str>);

impl OriginalSession {
    fn parse(text: &str) -> Option<Self> {
        let is_digit = |byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        (text.len() == 10 && text.bytes().all(is_digit)).then(|| Self(text.into()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The id by which a client of one dialect knows a session, such as a name in its URL. It is looked up together with
/// the principal who sends it, so it never leads to a session of another principal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutsideId {
    dialect: &'static str,
    id: Arc<str>,
}

impl OutsideId {
    const LONGEST: usize = 128;

    pub fn new(dialect: &'static str, id: &str) -> Option<Self> {
        let is_usable = (1..=Self::LONGEST).contains(&id.len()) && !id.contains(char::is_control);
        is_usable.then(|| Self { dialect, id: id.into() })
    }

    pub fn dialect(&self) -> &'static str {
        self.dialect
    }

    pub fn as_str(&self) -> &str {
        &self.id
    }
}

/// The user who owns a session.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Principal(Arc<str>);

impl Principal {
    pub fn new(name: &str) -> Self {
        Self(name.into())
    }

    /// The only user of a gateway without configured users.
    pub fn local() -> Self {
        Self::new("local")
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}
