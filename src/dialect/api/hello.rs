//! The first frame of a connection: which session, how much of it the client has seen, and what the client supports.

use super::ApiError;
use super::decode::{flag, texts};
use crate::dialect::Fields;
use crate::locale::Locale;
use crate::message::{Epoch, Features, Order, OutsideId, SentSessionId};

/// Sample rate assumed when the hello names none.
const DEFAULT_RATE: u64 = 24_000;
const RATES: std::ops::RangeInclusive<u32> = 8_000..=48_000;

/// What a client asks for when it connects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hello {
    pub session: RequestedSession,
    /// The order of the last event the client has seen; the replay starts after it.
    pub after: Option<Order>,
    /// The epoch that `after` belongs to, from the reply to an earlier hello. Without it, `after` is used unchecked.
    pub epoch: Option<Epoch>,
    /// How many of the newest events to replay if the client cannot resume; `None`: all.
    pub history: Option<usize>,
    pub read_only: bool,
    pub features: Features,
    /// Sample rate of the client's microphone; `None`: the client uses no audio.
    pub rate: Option<u32>,
    pub language: Option<Locale>,
    /// For clients that can send neither a header nor a cookie.
    pub token: Option<String>,
}

/// The session that a client asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RequestedSession {
    New,
    Id(SentSessionId),
    /// An outside id, which the client has chosen.
    Key(OutsideId),
}

pub fn read_hello(frame: &str) -> Result<Hello, ApiError> {
    let mut fields = Fields::read(frame.as_bytes())?;
    if fields.text("type")? != "hello" {
        return Err(ApiError::NoHello);
    }
    let names = texts(&mut fields, "features")?.unwrap_or_default();
    let has = |feature: &str| names.iter().any(|name| name == feature);
    let rate = fields.optional_number("rate")?.unwrap_or(DEFAULT_RATE);
    let rate = u32::try_from(rate).ok().filter(|rate| RATES.contains(rate));
    let rate =
        rate.ok_or(ApiError::BadField { field: "rate", expected: "a number from 8000 to 48000" })?;
    let count = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
    Ok(Hello {
        session: session(&mut fields)?,
        after: fields.optional_number("after")?.map(Order),
        epoch: epoch(&mut fields)?,
        history: fields.optional_number("history")?.map(count),
        read_only: flag(&mut fields, "read_only")?.unwrap_or(false),
        features: Features { stream: true, confirm: true, agents: true, playback: has("playback") },
        rate: has("audio").then_some(rate),
        language: fields.optional_text("language")?.and_then(|tag| Locale::parse(&tag)),
        token: fields.optional_text("token")?.filter(|token| !token.is_empty()),
    })
}

fn session(fields: &mut Fields) -> Result<RequestedSession, ApiError> {
    let name = fields.optional_text("session")?.filter(|name| !name.is_empty());
    match (name, fields.optional_text("key")?) {
        (None, None) => Ok(RequestedSession::New),
        (Some(name), None) => {
            let expected = ApiError::BadField { field: "session", expected: "the id of a session" };
            SentSessionId::parse(&name).map(RequestedSession::Id).ok_or(expected)
        }
        (None, Some(key)) => {
            let expected = "a text of 1 to 128 bytes without control characters";
            let expected = ApiError::BadField { field: "key", expected };
            OutsideId::new(super::NAME, &key).map(RequestedSession::Key).ok_or(expected)
        }
        (Some(_), Some(_)) => {
            Err(ApiError::BadField { field: "key", expected: "left out if there is `session`" })
        }
    }
}

fn epoch(fields: &mut Fields) -> Result<Option<Epoch>, ApiError> {
    let Some(text) = fields.optional_text("epoch")? else { return Ok(None) };
    let expected = ApiError::BadField { field: "epoch", expected: "the text from the hello" };
    u64::from_str_radix(&text, 16).map(|epoch| Some(Epoch(epoch))).map_err(|_| expected)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_hello_asks_for_a_new_session_without_audio() {
        let hello = read_hello(r#"{"type":"hello"}"#).unwrap();
        assert_eq!((hello.session, hello.after, hello.rate), (RequestedSession::New, None, None));
        assert!(hello.features.stream && hello.features.confirm && hello.features.agents);
    }

    #[test]
    fn cursor_and_features_are_read() {
        let text = format!(
            r#"{{"type":"hello","session":"ws-{}","after":7,"epoch":"00ff","features":["audio","playback"],"rate":16000,"language":"ja"}}"#,
            "0".repeat(32)
        );
        let hello = read_hello(&text).unwrap();
        assert!(matches!(hello.session, RequestedSession::Id(_)) && hello.features.playback);
        assert_eq!((hello.after, hello.epoch), (Some(Order(7)), Some(Epoch(255))));
        assert_eq!((hello.rate, hello.language), (Some(16_000), Some(Locale::Ja)));
    }

    #[test]
    fn wrong_fields_are_named() {
        for (frame, field) in [
            (r#"{"type":"hello","after":"7"}"#, "after"),
            (r#"{"type":"hello","rate":7}"#, "rate"),
            (r#"{"type":"hello","features":[1]}"#, "features"),
            (r#"{"type":"hello","session":"x"}"#, "session"),
            (r#"{"type":"hello","key":""}"#, "key"),
            (r#"{"type":"hello","key":"a\nb"}"#, "key"),
            (r#"{"type":"hello","key":"a","session":"bd07140c92"}"#, "key"),
            (r#"{"type":"hello","epoch":"x"}"#, "epoch"),
            (r#"{"type":"hello","read_only":1}"#, "read_only"),
        ] {
            let error = read_hello(frame).unwrap_err();
            assert!(error.say(Locale::En).contains(field), "{frame}: {error}");
        }
        assert_eq!(read_hello(r#"{"type":"send"}"#), Err(ApiError::NoHello));
    }
}
