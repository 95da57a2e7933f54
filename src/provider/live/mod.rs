//! Live speech models. [`connect`] returns a [`LiveLink`]: two bounded queues, and the [`Speaker`] that the model's
//! sound goes to. Dropping the link ends the model.

mod errand;
mod remote;
mod scripted;
mod speaker;

pub use errand::{Errand, GIVE_WORK_TOOL};
pub use remote::{Client, Remote, voices};
pub use speaker::{Cut, Listener, Pace, Played, SPEAKER_RATE, Sound, Speaker, Stale};

use crate::message::{AudioChunk, Interruption, Speaker as Side, TalkKey, TurnTimes};
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
    /// Models of vendors, in the order in which they are tried.
    Remote(Remote),
}

impl LiveConfig {
    /// Name of the model that is tried first; empty for the scripted one.
    pub fn name(&self) -> &str {
        match self {
            Self::Scripted => "",
            Self::Remote(remote) => remote.models.first().map_or("", |model| &model.name),
        }
    }
}

#[derive(Debug)]
pub enum LiveInput {
    Audio {
        chunk: AudioChunk,
        /// Chunks that were dropped right before this one.
        lost: u64,
    },
    Text(String),
    /// The text that follows has its place in the conversation here; answered with [`LiveOutput::Placed`].
    Place(u64),
    /// News to pass on to the user by voice, not to be answered.
    Report(String),
    /// An encoded picture, as the client sent it.
    Image(Bytes),
    /// The user wants silence; the speaker is silent already.
    Interrupt,
    TalkKey(TalkKey),
    /// What came of a [`LiveOutput::ToolCall`].
    ToolResult {
        id: String,
        outcome: Result<String, String>,
    },
}

/// What a model says, besides its sound.
#[derive(Debug, PartialEq)]
pub enum LiveOutput {
    /// What somebody said, in the order in which it was said, and only what was heard.
    Transcript {
        speaker: Side,
        text: String,
        interrupted: Option<Interruption>,
    },
    /// Everything that was said before a [`LiveInput::Place`] is told.
    Placed(u64),
    /// The answer to a text.
    Text(String),
    /// Wants something done; answered with [`LiveInput::ToolResult`].
    ToolCall {
        id: String,
        name: String,
        /// A JSON object.
        arguments: String,
    },
    /// Does not want it any more.
    ToolsCancelled {
        ids: Vec<String>,
    },
    Turn(TurnTimes),
    /// Tokens that were used since the last time.
    Usage {
        input: u64,
        output: u64,
    },
    /// Another model goes on with the conversation.
    Replaced {
        model: String,
        reason: String,
    },
    /// The model is gone; the session opens a new link at the next use.
    Failed {
        reason: String,
    },
}

/// What was said before, oldest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said {
    pub by_user: bool,
    pub text: String,
}

#[derive(Debug)]
pub struct LiveLink {
    pub input: mpsc::Sender<LiveInput>,
    pub output: mpsc::Receiver<LiveOutput>,
}

/// Opens a conversation, which goes on from `past`. Returns at once; trouble arrives as [`LiveOutput::Failed`].
pub fn connect(
    config: &LiveConfig,
    speaker: Speaker,
    past: impl Future<Output = Vec<Said>> + Send + 'static,
) -> LiveLink {
    match config {
        LiveConfig::Scripted => scripted::connect(speaker),
        LiveConfig::Remote(remote) => remote::connect(remote.clone(), speaker, past),
    }
}
