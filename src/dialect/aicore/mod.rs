//! The AIcore dialect: JSON objects with Japanese keys, on one socket per channel.
//! `docs/aicore.md` is its page for people who write frontends.

mod activity;
mod choice;
pub mod client;
mod connect;
mod decode;
mod encode;
mod error;
pub mod http;
pub(super) mod phrase;
mod playback;
mod reject;
mod rows;
pub mod settings;
mod value;
mod wire;
mod work;

pub use connect::{Connect, read_connect};
pub use decode::client_kinds;
pub use error::DecodeError;
pub use reject::Rejection;
pub use wire::{SOCKET_PATH, UNSTATED_RATE};

use super::{Decoded, Dialect, Encoder, Frame, FrameError, Received, Refusal};
use crate::locale::Locale;
use crate::message::{Channel, ControlValue, Delivery, Features, Greeting, SessionId, View};
use serde_json::Value;
use std::collections::BTreeMap;
use wire::{Body, ConnectionPacket, InitBody, InitPacket, Packet};

/// The AIcore dialect on one socket.
#[derive(Debug, Clone)]
pub struct AicoreDialect {
    session: SessionId,
    channel: Channel,
    locale: Locale,
    features: Features,
    audio_prefix: String,
}

impl AicoreDialect {
    pub fn new(session: SessionId, channel: Channel, locale: Locale) -> Self {
        let audio_prefix = wire::audio_prefix(session.as_str());
        Self { session, channel, locale, features: Features::default(), audio_prefix }
    }

    /// Sets the optional features that the client supports.
    pub fn with_features(self, features: Features) -> Self {
        Self { features, ..self }
    }

    /// Clients without the `confirm` feature get questions as text on the chat and agent channels, where users can type
    /// an answer. On other channels text could not be answered.
    fn asks_in_text(&self, channel: Channel) -> bool {
        matches!(channel, Channel::Agent(_) | Channel::Chat) && !self.features.confirm
    }

    fn packet<'a>(&'a self, channel: Channel, kind: &'a str, body: Body<'a>) -> Packet<'a> {
        Packet {
            session: self.session.as_str(),
            channel: value::channel_name(channel),
            kind,
            body,
            file_name: Some(None),
            thumbnail: Some(None),
            seq: None,
            run: None,
            place: None,
            source: None,
            generation: None,
            interrupted: None,
            played_ms: None,
        }
    }

    fn init<'a>(&'a self, greeting: &'a Greeting) -> InitPacket<'a> {
        let name = value::channel_name(self.channel);
        InitPacket {
            session: self.session.as_str(),
            socket: name,
            channel: name,
            kind: "init",
            body: init_body(greeting),
            epoch: format!("{:016x}", greeting.epoch.0),
            resumed: greeting.resumed,
            features: wire::FEATURES,
        }
    }
}

impl Dialect for AicoreDialect {
    type Error = DecodeError;
    type Encoder = Self;

    fn decode(&self, frame: Received<'_>) -> Result<Decoded, Refusal<DecodeError>> {
        match frame {
            Received::Text(text) => decode::read(self.channel, text).map(Decoded::One),
            Received::Binary(_) => Err(DecodeError::Binary.into()),
        }
    }

    /// Packets do not depend on earlier ones, so the encoder has no state.
    fn encoder(&self) -> Self {
        self.clone()
    }
}

impl Encoder for AicoreDialect {
    type Error = DecodeError;

    fn greet(&mut self, greeting: &Greeting, frames: &mut Vec<Frame>) {
        encode::push(frames, &self.init(greeting));
        // A client that resumes was welcomed before and needs only what it missed.
        if greeting.resumed {
            return;
        }
        if let Some(text) = phrase::welcome_info(self.locale, greeting) {
            encode::push(frames, &self.packet(self.channel, "welcome_info", Body::Owned(text)));
        }
        // The original AIcore server sends this once per session.
        if greeting.first && self.channel == Channel::Input {
            let body = self.locale.say("welcome", "streaming", &[]);
            let session = self.session.as_str();
            let packet = ConnectionPacket {
                kind: "streaming_started",
                session,
                body,
                code: None,
                request: None,
            };
            encode::push(frames, &packet);
        }
    }

    fn end_replay(&mut self, greeting: &Greeting, frames: &mut Vec<Frame>) {
        if greeting.resumed {
            return;
        }
        if let Some(text) = phrase::welcome_text(self.locale, greeting) {
            encode::push(frames, &self.packet(self.channel, "welcome_text", Body::Owned(text)));
        }
    }

    fn encode(&mut self, delivery: &Delivery, frames: &mut Vec<Frame>) {
        match delivery {
            Delivery::Logged(entry) => encode::entry(self, entry, frames),
            Delivery::Passing(signal) => encode::signal(self, signal, frames),
        }
    }

    fn refuse(&mut self, refusal: &Refusal<DecodeError>, frames: &mut Vec<Frame>) {
        let body = phrase::decode_error(self.locale, &refusal.error);
        let request = refusal.request.as_ref().map(Into::into);
        let code = Some(refusal.error.code());
        encode::push(
            frames,
            &ConnectionPacket {
                kind: "error",
                session: self.session.as_str(),
                body,
                code,
                request,
            },
        );
    }
}

fn init_body(greeting: &Greeting) -> InitBody<'_> {
    if greeting.view != View::One(Channel::Input) {
        return InitBody::default();
    }
    let defaults = wire::DEFAULT_CONTROLS.iter().map(|(name, on)| (*name, Value::Bool(*on)));
    let mut controls: BTreeMap<&str, Value> = defaults.collect();
    controls.extend(greeting.controls.iter().map(|(name, value)| (name.as_str(), control(value))));
    InitBody { controls: Some(controls), settings: Some(settings::write(&greeting.settings)) }
}

fn control(value: &ControlValue) -> Value {
    match value {
        ControlValue::Flag(flag) => Value::Bool(*flag),
        ControlValue::Number(number) => {
            serde_json::Number::from_f64(*number).map_or(Value::Null, Value::Number)
        }
        ControlValue::Text(text) => Value::String(text.clone()),
    }
}
