//! A chat model, configured by the operator or found by the gateway: its server, its name and its abilities.

use std::fmt;
use std::time::Duration;

/// One chat model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChatModel {
    /// Name in the settings.
    pub name: String,
    /// Label for people.
    pub label: String,
    pub kind: ChatKind,
    /// Without a trailing slash.
    pub base_url: String,
    /// The vendor's name for it.
    pub model: String,
    /// `None`: the server needs no key.
    pub key: Option<ChatKey>,
    /// Size of its context in tokens, if known.
    pub context_tokens: Option<u32>,
    pub max_output_tokens: Option<u32>,
    /// Accepts images as input.
    pub images: bool,
    /// Generates images.
    pub image_output: bool,
    /// Can call tools.
    pub tools: bool,
    /// Timeout while the model sends nothing; `None`: the default.
    pub patience: Option<Duration>,
}

/// The protocol of the model's server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChatKind {
    /// Chat completions: OpenAI, OpenRouter, Ollama, llama.cpp, vLLM and many others.
    OpenAi,
    Anthropic,
    Gemini,
}

/// An API key and the environment variable that holds it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChatKey {
    pub variable: String,
    /// `None`: the variable was not set when the gateway started.
    pub secret: Option<Secret>,
}

/// A text that is not printed by `Debug`; only `expose` returns it.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Secret")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_does_not_show_itself() {
        let key = ChatKey { variable: "A_KEY".to_owned(), secret: Some(Secret::new("sk-123")) };
        let shown = format!("{key:?}");
        assert!(shown.contains("A_KEY") && !shown.contains("sk-123"), "{shown}");
        assert_eq!(Secret::new("sk-123").expose(), "sk-123");
    }
}
