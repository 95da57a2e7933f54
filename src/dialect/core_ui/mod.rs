//! The core/UI interface: frames that are named like the callbacks of its document, for one lane of a session.
//! `docs/core-ui.md` is its page for people who write clients. A second form of the same events, `agent_event`, is in
//! `agent_event/`.

mod agent_event;
mod args;
mod decode;
mod encode;
mod error;
mod feature;
mod seq;
mod turn;
mod wire;

pub use agent_event::{AgentEventDialect, AgentEventEncoder};
pub use encode::CoreUiEncoder;
pub use error::CoreUiError;
pub use feature::Additions;
pub use seq::FrameSeq;
pub use wire::{FORM_NAME, client_types, explain, refusal};

use super::{Decoded, Dialect, Encoder, Frame, Received, Refusal};
use crate::locale::Locale;
use crate::message::{Channel, Delivery, Greeting, SessionId};

/// Speaks the core/UI interface on one connection.
#[derive(Debug, Clone)]
pub struct CoreUiDialect {
    pub session: SessionId,
    pub locale: Locale,
    /// The channel of the lane that the client talks to: the chat's or an agent's.
    pub lane: Channel,
    pub additions: Additions,
    /// The last frame that the client already has.
    pub after: FrameSeq,
}

impl Dialect for CoreUiDialect {
    type Error = CoreUiError;
    type Encoder = CoreUiEncoder;

    fn decode(&self, frame: Received<'_>) -> Result<Decoded, Refusal<CoreUiError>> {
        match frame {
            Received::Text(text) => decode::read(&self.session, self.lane, text),
            Received::Binary(_) => Err(CoreUiError::Binary.into()),
        }
    }

    fn encoder(&self) -> CoreUiEncoder {
        CoreUiEncoder::new(self.clone())
    }
}

impl Encoder for CoreUiEncoder {
    type Error = CoreUiError;

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

    fn refuse(&mut self, refusal: &Refusal<CoreUiError>, frames: &mut Vec<Frame>) {
        self.refused(refusal, frames);
    }
}
