//! A chat model as the operator wrote it down or as it was found: where it is, what it is called and what it can do.

use std::fmt;
use std::time::Duration;

/// One model that can be asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChatModel {
    /// What sessions choose it by.
    pub name: String,
    /// What people read.
    pub label: String,
    pub kind: ChatKind,
    /// Without a slash at its end.
    pub base_url: String,
    /// What its vendor calls it.
    pub model: String,
    /// `None`: its server wants none.
    pub key: Option<ChatKey>,
    /// How much it can read and write in one turn, if that is known.
    pub context_tokens: Option<u32>,
    pub max_output_tokens: Option<u32>,
    /// It sees pictures.
    pub images: bool,
    /// It makes pictures.
    pub image_output: bool,
    /// It calls tools.
    pub tools: bool,
    /// How long it may say nothing; `None`: as long as is usual.
    pub patience: Option<Duration>,
}

/// The protocol that its server speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChatKind {
    /// Chat completions: OpenAI, OpenRouter, Ollama, llama.cpp, vLLM and many others.
    OpenAi,
    Anthropic,
    Gemini,
}

/// A key, by the name of the variable that holds it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChatKey {
    pub variable: String,
    /// `None`: the variable was not set when the gateway started.
    pub secret: Option<Secret>,
}

/// A text that must not be seen: it shows itself to nobody, only to whom it is exposed by name.
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
