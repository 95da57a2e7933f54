//! Chat models. [`ask`] starts one turn; dropping the [`ChatTurn`] cancels it and closes its connection.

mod answer;
mod anthropic;
mod attachment;
mod client;
mod discover;
mod error;
mod failure;
mod gemini;
mod openai;
mod picture;
mod prompt;
mod remote;
mod scripted;
mod sse;

pub use client::Client;
pub use discover::{Candidates, discover};
pub use error::ChatError;
pub(in crate::provider) use failure::presentable;
pub use picture::{Picture, picture};

use crate::provider::row::ChatModel;
use bytes::Bytes;
use std::path::PathBuf;
use std::sync::Arc;
use tokio::sync::mpsc;

/// Pieces of an answer waiting for the session. Full: the model waits.
pub const CHAT_OUTPUT_CAPACITY: usize = 64;

#[derive(Debug, Clone)]
pub enum ChatConfig {
    Scripted,
    Remote {
        model: Arc<ChatModel>,
        /// One for all models, so that connections are used again.
        client: Client,
    },
}

/// The client is the same for all, so only the model counts.
impl PartialEq for ChatConfig {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Scripted, Self::Scripted) => true,
            (Self::Remote { model, .. }, Self::Remote { model: another, .. }) => model == another,
            (Self::Scripted, Self::Remote { .. }) | (Self::Remote { .. }, Self::Scripted) => false,
        }
    }
}

impl Eq for ChatConfig {}

/// What a model can do besides text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Capabilities {
    /// Answers come piece by piece.
    pub streaming: bool,
    pub images_in: bool,
    pub images_out: bool,
    pub tools: bool,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChatRequest {
    /// Empty, and no attachments: the history ends with what is to be answered, such as results of tools.
    pub text: String,
    /// Files the user sent shortly before, where they are stored.
    pub attachments: Vec<PathBuf>,
    /// What was said before, oldest first. Whoever asks keeps it within the model's `context_tokens`.
    pub history: Vec<ChatMessage>,
    pub system: Option<String>,
    pub tools: Vec<ToolSpec>,
    /// What the scripted model begins an echo with; empty: `echo: `.
    pub echo: &'static str,
    /// The smaller one of this and the model's own holds.
    pub max_output_tokens: Option<u32>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChatMessage {
    User {
        text: String,
        images: Vec<Picture>,
    },
    Assistant {
        text: String,
        calls: Vec<ToolCall>,
    },
    /// What a tool answered; it follows the call.
    Tool(ToolResult),
}

/// A tool that the model may call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolSpec {
    pub name: String,
    pub description: String,
    /// JSON schema of its arguments, an object.
    pub schema: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolCall {
    /// Not empty, and different for each call of an answer.
    pub id: String,
    pub name: String,
    /// As the model wrote them: meant to be a JSON object.
    pub arguments: String,
    /// What the vendor wants to see again with this call.
    pub signature: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolResult {
    /// Of the call.
    pub id: String,
    pub name: String,
    /// What the tool said, or why it did not work.
    pub outcome: Result<String, String>,
}

#[derive(Debug, PartialEq, Eq)]
pub enum ChatOutput {
    /// The next piece of the answer, to be appended.
    Delta(String),
    /// The model wants this done and its result in the history of the next request.
    ToolCall(ToolCall),
    /// A picture that the model made.
    Image { mime: String, bytes: Bytes },
    /// What the turn has cost. At most once, before the end.
    Usage(Usage),
    /// The answer is complete. Nothing follows.
    Done { reason: DoneReason },
    /// There is no answer, or no more of it. Nothing follows.
    Failed(ChatError),
}

/// In tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    pub input: u64,
    pub output: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DoneReason {
    Complete,
    /// The answer was cut off where it became too long.
    Length,
    /// Tools are to be called, and the model asked again with their results.
    Tools,
}

#[derive(Debug)]
pub struct ChatTurn {
    pub output: mpsc::Receiver<ChatOutput>,
}

/// Asks the configured model. Returns at once; trouble arrives as [`ChatOutput::Failed`].
pub fn ask(config: &ChatConfig, request: ChatRequest) -> ChatTurn {
    match config {
        ChatConfig::Scripted => scripted::ask(request),
        ChatConfig::Remote { model, client } => {
            remote::ask(Arc::clone(model), client.clone(), request)
        }
    }
}

/// The text with what is to be said about these files, and the pictures among them, if the model sees any. Reads
/// files, so it belongs on a thread of its own.
pub fn with_files(text: String, paths: &[PathBuf], images: bool) -> (String, Vec<Picture>) {
    attachment::read(text, paths, images)
}

pub fn capabilities(config: &ChatConfig) -> Capabilities {
    match config {
        ChatConfig::Scripted => {
            Capabilities { streaming: true, images_in: false, images_out: false, tools: false }
        }
        ChatConfig::Remote { model, .. } => Capabilities {
            streaming: true,
            images_in: model.images,
            images_out: model.image_output,
            tools: model.tools,
        },
    }
}
