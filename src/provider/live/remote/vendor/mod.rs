//! The vendors' protocols: a pure mapping between their JSON frames and our [`Request`](super::protocol::Request)s and
//! [`Effect`](super::protocol::Effect)s. It opens no sockets and plays no sound; who speaks next is decided by the
//! conversation, wherever a vendor lets it.

pub(super) mod gemini;
mod openai;

use super::protocol::{Protocol, Setup};
use crate::provider::row::LiveKind;

/// The protocol of this model's vendor.
pub(super) fn protocol(setup: Setup) -> Box<dyn Protocol> {
    match setup.model.kind {
        LiveKind::OpenAi => Box::new(openai::OpenAi::new(setup)),
        LiveKind::Gemini => Box::new(gemini::Gemini::new(setup)),
    }
}

/// Voices that a vendor is known to have; there may be others.
pub fn voices(kind: LiveKind) -> &'static [&'static str] {
    match kind {
        LiveKind::OpenAi => &[
            "marin", "cedar", "alloy", "ash", "ballad", "coral", "echo", "sage", "shimmer", "verse",
        ],
        LiveKind::Gemini => {
            &["Zephyr", "Puck", "Charon", "Kore", "Fenrir", "Leda", "Orus", "Aoede"]
        }
    }
}
