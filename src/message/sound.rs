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
    /// `None`: the client sent no rate; the rate that the live model expects is assumed.
    pub rate: Option<u32>,
    pub pcm: Bytes,
}
