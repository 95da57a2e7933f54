//! The frames of the agent UI: a text in; code, pictures, texts and orders for the floor plan out, in the order of its
//! document. `docs/agent-ui.md` is the page for people who write clients.

mod decode;
mod encode;
mod error;
mod order;
mod output;
pub mod parser;
mod picture;
mod turn;

pub use encode::SmolEncoder;
pub use error::SmolError;
pub use picture::{filled, wanted};

use super::{Decoded, Dialect, Encoder, Frame, Received, Refusal};
use crate::locale::Locale;
use crate::message::floor::FloorOrder;
use crate::message::{Delivery, Greeting, Seq, SessionId};
use serde_json::{Value, json};

/// Speaks the agent UI's frames on one connection.
#[derive(Debug, Clone)]
pub struct SmolDialect {
    pub session: SessionId,
    pub locale: Locale,
    /// The client has named its conversation or has taken one over, so there may be a history.
    pub resumed: bool,
    /// The last event that the client was told. Older ones only say what a turn under way has done so far.
    pub after: Seq,
}

/// The rooms of the floor as a file, for clients that load it themselves.
pub fn rectangles() -> Value {
    let name = |_| String::new();
    parser::definition(name, |_| String::new())["floors"][0]["rectangles"].take()
}

/// The types of frames that clients send. A message has none.
pub fn client_types() -> [&'static str; 2] {
    [decode::CANCEL, decode::CONFIRM]
}

/// The order's own fields, in the words of the document.
pub(super) fn floor_content(order: &FloorOrder) -> Value {
    let mut frame = order::frame(order, "");
    if let Value::Object(fields) = &mut frame["content"] {
        fields.remove("timestamp");
    }
    frame["content"].take()
}

/// The error for a client that is not let in.
pub fn refusal(text: &str) -> Value {
    json!({"type": "error", "content": text})
}

impl Dialect for SmolDialect {
    type Error = SmolError;
    type Encoder = SmolEncoder;

    fn decode(&self, frame: Received<'_>) -> Result<Decoded, Refusal<SmolError>> {
        match frame {
            Received::Text(text) => Ok(decode::read(text)?.into()),
            Received::Binary(_) => Err(SmolError::Binary.into()),
        }
    }

    fn encoder(&self) -> SmolEncoder {
        SmolEncoder::new(self.clone())
    }
}

impl Encoder for SmolEncoder {
    type Error = SmolError;

    fn greet(&mut self, _greeting: &Greeting, frames: &mut Vec<Frame>) {
        self.connected(frames);
    }

    fn end_replay(&mut self, _greeting: &Greeting, frames: &mut Vec<Frame>) {
        self.caught_up(frames);
    }

    fn encode(&mut self, delivery: &Delivery, frames: &mut Vec<Frame>) {
        match delivery {
            Delivery::Logged(entry) => self.entry(entry, frames),
            Delivery::Passing(signal) => self.signal(signal, frames),
        }
    }

    fn refuse(&mut self, refusal: &Refusal<SmolError>, frames: &mut Vec<Frame>) {
        let text = refusal.error.say(self.locale());
        self.failed(&text, frames);
    }
}
