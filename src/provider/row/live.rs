//! A live speech model as the operator wrote it down, and how people and models take turns.

use super::ChatKey;
use std::time::Duration;

/// One model that can be talked with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LiveModel {
    /// What sessions choose it by.
    pub name: String,
    /// What people read.
    pub label: String,
    pub kind: LiveKind,
    /// `ws://` or `wss://`, without a slash at its end.
    pub base_url: String,
    /// What its vendor calls it.
    pub model: String,
    /// `None`: as the vendor likes.
    pub voice: Option<String>,
    /// `None`: its server wants none.
    pub key: Option<ChatKey>,
    /// What is spoken, such as `ja` or `ja-JP`; `None`: whatever the model hears.
    pub language: Option<String>,
    /// Who writes down what the user says, by its vendor's name for it; `None`: the vendor's usual one.
    pub transcription: Option<String>,
}

impl LiveModel {
    /// Whether it can be asked at all: it has its key, or needs none.
    pub fn has_key(&self) -> bool {
        self.key.as_ref().is_none_or(|key| key.secret.is_some())
    }
}

/// The protocol that its server speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LiveKind {
    /// Realtime, as it is generally available.
    OpenAi,
    Gemini,
}

/// When the user has the word, and when a sound is nobody's word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnRules {
    /// How sure our own gate has to be that it hears a voice.
    pub threshold_percent: u32,
    /// Whoever speaks for so long while the model speaks interrupts it.
    pub min_speech: Duration,
    /// So much silence ends what the user says.
    pub silence: Duration,
    /// Words that say no more than "go on", in lower case.
    pub backchannels: Vec<String>,
    /// What is heard in this time after a reply begins does not interrupt it.
    pub guard: Duration,
    /// The model hears nothing while it speaks: for speakers whose sound comes back into the microphone.
    pub half_duplex: bool,
    pub turns: Turns,
    /// A model that says nothing for so long after the user's turn is asked again.
    pub patience: Duration,
}

/// Who decides that the user has finished.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turns {
    Model,
    Gateway,
}
