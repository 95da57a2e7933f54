//! The data analyst's frames: a question in, the steps of the analysis and its report out. `docs/analyst.md` is its page
//! for people who write clients.

mod decode;
mod encode;

pub use encode::AnalystEncoder;

pub use super::api::ApiError as AnalystError;
pub use super::core_ui::FrameSeq;

use super::{Decoded, Dialect, Encoder, Frame, FrameError, Received, Refusal, work};
use crate::locale::Locale;
use crate::message::{Dataset, Delivery, Greeting, SessionId};
use serde_json::{Value, json};

/// Speaks the analyst's frames on one connection.
#[derive(Debug, Clone)]
pub struct AnalystDialect {
    pub session: SessionId,
    pub locale: Locale,
    /// The last frame that the client already has.
    pub after: FrameSeq,
}

/// The types of frames that clients send.
pub fn client_types() -> [&'static str; 4] {
    [decode::ASK, decode::CANCEL, decode::CHOOSE, decode::ANSWER]
}

/// The answer to an upload.
pub fn uploaded(session: &SessionId, set: &Dataset) -> Value {
    let mut answer = work::dataset(set);
    answer["session"] = json!(session.as_str());
    answer
}

/// The error for a client that is not let in, or whose upload is refused.
pub fn refusal(code: &str, text: &str) -> Value {
    json!({"type": "error", "code": code, "message": text})
}

/// Where a file of a session is downloaded.
pub fn file_url(session: &SessionId, name: &str) -> String {
    format!("/analyst/files/{}/{}", session.as_str(), escaped(name))
}

/// A name as a part of an address.
pub fn escaped(name: &str) -> String {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.".contains(byte);
    let part = |byte: u8| {
        if plain(&byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }
    };
    name.bytes().map(part).collect()
}

impl Dialect for AnalystDialect {
    type Error = AnalystError;
    type Encoder = AnalystEncoder;

    fn decode(&self, frame: Received<'_>) -> Result<Decoded, Refusal<AnalystError>> {
        match frame {
            Received::Text(text) => decode::read(text).map(Decoded::from),
            Received::Binary(_) => Err(AnalystError::Unreadable.into()),
        }
    }

    fn encoder(&self) -> AnalystEncoder {
        AnalystEncoder::new(self.clone())
    }
}

impl Encoder for AnalystEncoder {
    type Error = AnalystError;

    fn greet(&mut self, greeting: &Greeting, frames: &mut Vec<Frame>) {
        self.connected(greeting, frames);
    }

    fn end_replay(&mut self, _greeting: &Greeting, _frames: &mut Vec<Frame>) {}

    fn encode(&mut self, delivery: &Delivery, frames: &mut Vec<Frame>) {
        match delivery {
            Delivery::Logged(entry) => self.entry(entry, frames),
            Delivery::Passing(signal) => self.signal(signal, frames),
        }
    }

    fn refuse(&mut self, refusal: &Refusal<AnalystError>, frames: &mut Vec<Frame>) {
        let text = refusal.error.say(self.locale());
        self.error(refusal.error.code(), &text, refusal.request.as_ref(), frames);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_safe_in_addresses() {
        let session = SessionId::from_random(7);
        let url = file_url(&session, "\u{58f2} a/../b?.png");
        assert!(url.ends_with("/%E5%A3%B2%20a%2F..%2Fb%3F.png"), "{url}");
    }
}
