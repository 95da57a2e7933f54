//! Audio of microphones and speakers.

use bytes::Bytes;

/// 16-bit little-endian mono PCM, always whole samples.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AudioChunk {
    pub rate: u32,
    pub pcm: Bytes,
}

/// Microphone audio.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recorded {
    pub rate: SampleRate,
    pub pcm: Bytes,
}

/// Samples per second of microphone audio.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SampleRate {
    Hz(u32),
    /// The client sends no rate, and records at the rate of the live model that it talks to.
    ByModel(&'static ModelRates),
}

/// The rate at which clients of one dialect record for a live model, by the model's name.
#[derive(Debug, PartialEq, Eq)]
pub struct ModelRates {
    pub named: &'static [(&'static str, u32)],
    pub other: u32,
}

impl SampleRate {
    /// `model` is the name of the live model that listens.
    pub fn for_model(self, model: &str) -> u32 {
        match self {
            Self::Hz(rate) => rate,
            Self::ByModel(rates) => {
                let named = rates.named.iter().find(|(name, _)| *name == model);
                named.map_or(rates.other, |(_, rate)| *rate)
            }
        }
    }
}
