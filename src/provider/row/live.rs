//! A live speech model, as the operator configured it, and the rules for turn taking.

use super::ChatKey;
use std::time::Duration;

/// One live model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LiveModel {
    /// Name in the settings.
    pub name: String,
    /// Label for people.
    pub label: String,
    pub kind: LiveKind,
    /// `ws://` or `wss://`, without a trailing slash.
    pub base_url: String,
    /// The vendor's name for it.
    pub model: String,
    /// `None`: the vendor's default.
    pub voice: Option<String>,
    /// `None`: the server needs no key.
    pub key: Option<ChatKey>,
    /// Spoken language, such as `ja` or `ja-JP`; `None`: the model detects it.
    pub language: Option<String>,
    /// The vendor's name of the model that transcribes the user; `None`: the default one.
    pub transcription: Option<String>,
}

impl LiveModel {
    /// Whether it can be used: its key is set, or it needs none.
    pub fn has_key(&self) -> bool {
        self.key.as_ref().is_none_or(|key| key.secret.is_some())
    }
}

/// The protocol of the model's server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LiveKind {
    /// The Realtime API in its generally available version.
    OpenAi,
    Gemini,
}

/// When the user's turn begins and ends, and which sounds do not count as speech.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnRules {
    /// How certain our voice detection has to be that it hears speech.
    pub threshold_percent: u32,
    /// Speech of at least this length interrupts the model.
    pub min_speech: Duration,
    /// Silence of this length ends the user's turn.
    pub silence: Duration,
    /// Words that only mean "go on", in lower case; they do not interrupt.
    pub backchannels: Vec<String>,
    /// For this long after a reply begins, speech does not interrupt it.
    pub guard: Duration,
    /// The model hears nothing while it speaks, for speakers that feed back into the microphone.
    pub half_duplex: bool,
    pub turns: Turns,
    /// Timeout for a reply after the user's turn; then the model is asked again.
    pub patience: Duration,
}

/// Who decides that the user's turn has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turns {
    Model,
    Gateway,
}
