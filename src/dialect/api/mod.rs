//! The session API: plain English JSON, one connection for the whole session, PCM in binary frames.
//! `docs/api.md` is its page for people who write clients.

mod data;
mod decode;
mod encode;
mod error;
mod hello;
mod kind;
mod name;
mod settings;

pub use error::ApiError;
pub use hello::{Hello, RequestedSession, read_hello};
pub use kind::client_types;

use super::{Decoded, Dialect, Encoder, Frame, FrameError, FrameId, Received, Refusal};
use crate::locale::Locale;
use crate::message::{Delivery, Epoch, Generation, Greeting, SessionId};
use serde_json::{Value, json};

/// The dialect's name in outside ids.
const NAME: &str = "api";

/// Speaks the session API on one connection.
#[derive(Debug, Clone)]
pub struct ApiDialect {
    session: SessionId,
    locale: Locale,
    /// Sample rate of the client's microphone; `None`: the client sends no audio.
    rate: Option<u32>,
}

impl ApiDialect {
    pub fn new(session: SessionId, locale: Locale, rate: Option<u32>) -> Self {
        Self { session, locale, rate }
    }
}

impl Dialect for ApiDialect {
    type Error = ApiError;
    type Encoder = ApiEncoder;

    fn decode(&self, frame: Received<'_>) -> Result<Decoded, Refusal<ApiError>> {
        let inbound = match frame {
            Received::Text(text) => decode::read(text)?,
            Received::Binary(pcm) => decode::read_sound(self.rate, pcm)?,
        };
        Ok(inbound.into())
    }

    fn encoder(&self) -> ApiEncoder {
        ApiEncoder {
            session: self.session.clone(),
            locale: self.locale,
            epoch: Epoch(0),
            playing: None,
        }
    }
}

/// Remembers which reply is being played, so that each reply is announced once before its audio.
#[derive(Debug)]
pub struct ApiEncoder {
    session: SessionId,
    locale: Locale,
    /// As the greeting told it.
    epoch: Epoch,
    playing: Option<Generation>,
}

impl Encoder for ApiEncoder {
    type Error = ApiError;

    fn greet(&mut self, greeting: &Greeting, frames: &mut Vec<Frame>) {
        self.epoch = greeting.epoch;
        push(
            frames,
            &json!({
                "type": "hello",
                "session": self.session.as_str(),
                "epoch": format!("{:016x}", greeting.epoch.0),
                "resumed": greeting.resumed,
                "project": &*greeting.project,
                "language": self.locale.tag(),
            }),
        );
    }

    fn end_replay(&mut self, _greeting: &Greeting, frames: &mut Vec<Frame>) {
        push(frames, &json!({"type": "ready"}));
    }

    fn encode(&mut self, delivery: &Delivery, frames: &mut Vec<Frame>) {
        match delivery {
            Delivery::Logged(entry) => {
                let id = FrameId::Order(self.epoch, entry.order);
                frames.push(Frame::Event(id, encode::entry(self.locale, entry).to_string()));
            }
            Delivery::Passing(signal) => encode::signal(self, signal, frames),
        }
    }

    fn refuse(&mut self, refusal: &Refusal<ApiError>, frames: &mut Vec<Frame>) {
        let (code, text) = (refusal.error.code(), refusal.error.say(self.locale));
        push(frames, &encode::error(code, &text, refusal.request.as_ref()));
    }
}

/// The error frame for a client that is not let in.
pub fn refusal(code: &str, text: &str) -> String {
    encode::error(code, text, None).to_string()
}

fn push(frames: &mut Vec<Frame>, frame: &Value) {
    frames.push(Frame::Text(frame.to_string()));
}
