//! The second form of the core/UI interface: each event in an `agent_event` envelope, as an existing web page reads
//! them. The session, its rules and its answers are those of the first form.

mod encode;
mod read;

pub use encode::AgentEventEncoder;

use super::CoreUiError;
use crate::dialect::{Decoded, Dialect, Encoder, Frame, Received, Refusal};
use crate::locale::Locale;
use crate::message::{Channel, Delivery, Greeting, SessionId};

/// Speaks the `agent_event` form on one connection.
#[derive(Debug, Clone)]
pub struct AgentEventDialect {
    pub session: SessionId,
    /// The session that was made for this connection and deleted, because the client went on in another one. A text
    /// that still names it is meant for the session of the connection.
    pub former: Option<SessionId>,
    pub locale: Locale,
    pub lane: Channel,
    /// The name of this connection, as its client is told.
    pub client: String,
}

impl AgentEventDialect {
    /// Whether a frame that names this session means the one of the connection.
    fn is_here(&self, named: &str) -> bool {
        let own = std::iter::once(&self.session).chain(&self.former);
        own.into_iter().any(|id| id.as_str() == named)
    }
}

impl Dialect for AgentEventDialect {
    type Error = CoreUiError;
    type Encoder = AgentEventEncoder;

    fn decode(&self, frame: Received<'_>) -> Result<Decoded, Refusal<CoreUiError>> {
        match frame {
            Received::Text(text) => Ok(read::read(self, text)?),
            Received::Binary(_) => Err(CoreUiError::NotAMessage.into()),
        }
    }

    fn encoder(&self) -> AgentEventEncoder {
        AgentEventEncoder::new(self.clone())
    }
}

impl Encoder for AgentEventEncoder {
    type Error = CoreUiError;

    fn greet(&mut self, _greeting: &Greeting, frames: &mut Vec<Frame>) {
        self.connected(frames);
    }

    fn end_replay(&mut self, _greeting: &Greeting, _frames: &mut Vec<Frame>) {}

    fn encode(&mut self, delivery: &Delivery, frames: &mut Vec<Frame>) {
        match delivery {
            Delivery::Logged(entry) => self.entry(entry, frames),
            Delivery::Passing(signal) => self.signal(signal, frames),
        }
    }

    fn pong(&mut self, frames: &mut Vec<Frame>) {
        self.pong_frame(frames);
    }

    fn refuse(&mut self, refusal: &Refusal<CoreUiError>, frames: &mut Vec<Frame>) {
        self.refused(&refusal.error, frames);
    }
}
