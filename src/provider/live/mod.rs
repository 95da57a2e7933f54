//! Live speech models. [`connect`] returns a [`LiveLink`]: two bounded queues. Dropping the link ends the model.

mod scripted;

use crate::message::{AudioChunk, Speaker};
use bytes::Bytes;
use tokio::sync::mpsc;

/// Input waiting for the model, about two seconds of microphone. Full: the session keeps the newest audio in a
/// ring of its own and drops the oldest there.
pub const LIVE_INPUT_CAPACITY: usize = 32;
/// Output waiting for the session. Full: the model waits.
pub const LIVE_OUTPUT_CAPACITY: usize = 64;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LiveConfig {
    Scripted,
}

#[derive(Debug)]
pub enum LiveInput {
    Audio {
        chunk: AudioChunk,
        /// Older audio was dropped right before this chunk.
        gap: bool,
    },
    Text(String),
    /// News to pass on to the user by voice, not to be answered.
    Report(String),
    /// An encoded picture, as the client sent it.
    Image(Bytes),
    /// Stop speaking now.
    Interrupt,
}

#[derive(Debug, PartialEq)]
pub enum LiveOutput {
    Audio(AudioChunk),
    /// The user began to speak over an answer; what the client still plays is stale.
    SpeechStarted,
    Transcript {
        speaker: Speaker,
        text: String,
    },
    /// The answer to a text.
    Text(String),
    /// The model is gone; the session opens a new link at the next use.
    Failed {
        reason: String,
    },
}

#[derive(Debug)]
pub struct LiveLink {
    pub input: mpsc::Sender<LiveInput>,
    pub output: mpsc::Receiver<LiveOutput>,
}

/// Opens a conversation. Returns at once; trouble arrives as [`LiveOutput::Failed`].
pub fn connect(config: &LiveConfig) -> LiveLink {
    match config {
        LiveConfig::Scripted => scripted::connect(),
    }
}
