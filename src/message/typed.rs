//! Text that a user typed: the only text that can approve a tool call or decide about results.

/// Text that a user typed and sent over a socket. Only typed text can answer approval questions or decide about
/// results. Attachments, output of agents and tools, words of a model, and calls from outside never can. So only a
/// dialect creates it, from what it reads on a socket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Typed(String);

impl Typed {
    pub fn on_socket(text: String) -> Self {
        Self(text)
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Turns it into ordinary text, which can no longer answer questions.
    pub fn into_text(self) -> String {
        self.0
    }
}
