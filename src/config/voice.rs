//! `[voice]`: how people and live models take turns.

use super::raw::Within;
use crate::provider::row::{TurnRules, Turns};
use serde::Deserialize;
use std::time::Duration;

/// Words that say no more than "go on", one in a line.
const BACKCHANNELS: &str = include_str!("../../config/prompts/backchannels.txt");

#[derive(Debug, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct RawVoice {
    turns: RawTurns,
    threshold_percent: Within<1, 100>,
    min_speech_ms: Within<50, 10_000>,
    silence_ms: Within<100, 10_000>,
    guard_ms: Within<0, 10_000>,
    half_duplex: bool,
    backchannels: Vec<String>,
    answer_seconds: Within<1, 300>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum RawTurns {
    Model,
    Gateway,
}

impl Default for RawVoice {
    fn default() -> Self {
        Self {
            turns: RawTurns::Model,
            threshold_percent: Within(50),
            min_speech_ms: Within(500),
            silence_ms: Within(600),
            guard_ms: Within(500),
            half_duplex: false,
            backchannels: Vec::new(),
            answer_seconds: Within(10),
        }
    }
}

impl RawVoice {
    pub(super) fn rules(&self) -> TurnRules {
        let milliseconds = |number: u32| Duration::from_millis(number.into());
        let own = self.backchannels.iter().map(String::as_str);
        let all = BACKCHANNELS.lines().chain(own).map(|word| word.trim().to_lowercase());
        TurnRules {
            threshold_percent: self.threshold_percent.0,
            min_speech: milliseconds(self.min_speech_ms.0),
            silence: milliseconds(self.silence_ms.0),
            backchannels: all.filter(|word| !word.is_empty()).collect(),
            guard: milliseconds(self.guard_ms.0),
            half_duplex: self.half_duplex,
            turns: match self.turns {
                RawTurns::Model => Turns::Model,
                RawTurns::Gateway => Turns::Gateway,
            },
            patience: self.answer_seconds.seconds(),
        }
    }
}
