//! What a newly attached client says it supports, and what it is told first.

use super::{Controls, Epoch, SessionId, SessionSettings, SetupHint, View};
use std::sync::Arc;

/// Optional features that a client says it supports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Features {
    /// Streamed answers.
    pub stream: bool,
    /// Approval questions as structured data; other clients get plain text.
    pub confirm: bool,
    /// Agent activity and results as structured data; other clients get lines of text.
    pub agents: bool,
    /// Numbered replies in audio, and acknowledging the playback position.
    pub playback: bool,
}

/// What an encoder needs to greet a newly attached reader.
#[derive(Debug, Clone)]
pub struct Greeting {
    pub session: SessionId,
    pub view: View,
    pub epoch: Epoch,
    /// Whether the replay continues at the client's cursor. Otherwise it covers the history from the beginning, or as
    /// much as the client asked for.
    pub resumed: bool,
    /// Whether this is the first socket with its view since the session was loaded.
    pub first: bool,
    pub controls: Controls,
    pub settings: Arc<SessionSettings>,
    pub project: Arc<str>,
    /// The project's description of itself, for dialects that show it.
    pub overview: Option<String>,
    /// How to set up other models, for dialects that show it.
    pub setup: Option<SetupHint>,
}
