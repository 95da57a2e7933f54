//! Chat models. [`ask`] starts one turn; dropping the [`ChatTurn`] cancels it.

mod scripted;

use std::path::PathBuf;
use tokio::sync::mpsc;

/// Pieces of an answer waiting for the session. Full: the model waits.
pub const CHAT_OUTPUT_CAPACITY: usize = 64;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChatConfig {
    Scripted,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChatRequest {
    pub text: String,
    /// Files the user sent shortly before, where they are stored.
    pub attachments: Vec<PathBuf>,
}

#[derive(Debug, PartialEq, Eq)]
pub enum ChatOutput {
    /// The next piece of the answer, to be appended.
    Delta(String),
    /// The answer is complete.
    Done,
    Failed {
        reason: String,
    },
}

#[derive(Debug)]
pub struct ChatTurn {
    pub output: mpsc::Receiver<ChatOutput>,
}

/// Asks the configured model. Returns at once; trouble arrives as [`ChatOutput::Failed`].
pub fn ask(config: &ChatConfig, request: ChatRequest) -> ChatTurn {
    match config {
        ChatConfig::Scripted => scripted::ask(request),
    }
}
