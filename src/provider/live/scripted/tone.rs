//! The voice of the scripted model: a gentle sine, handed out in real time.

use super::SPEAKER_RATE;
use bytes::Bytes;
use std::f32::consts::TAU;
use std::sync::LazyLock;
use std::time::Duration;
use tokio::time::{Interval, interval};

const CHUNK: Duration = Duration::from_millis(40);
const CHUNK_SAMPLES: u32 = SPEAKER_RATE / 25;
/// A whole number of waves fits into a chunk, so one chunk repeated is a seamless tone.
const WAVES_PER_CHUNK: f32 = 18.0;
const AMPLITUDE: f32 = 4_000.0;
const PER_CHARACTER: Duration = Duration::from_millis(60);
const SHORTEST: Duration = Duration::from_millis(400);
const LONGEST: Duration = Duration::from_secs(20);

static RISE: LazyLock<Bytes> = LazyLock::new(|| chunk(|part| part));
static STEADY: LazyLock<Bytes> = LazyLock::new(|| chunk(|_| 1.0));
static FALL: LazyLock<Bytes> = LazyLock::new(|| chunk(|part| 1.0 - part));

#[derive(Debug)]
pub(super) struct Tone {
    /// Ticks missed while the session was busy are caught up, because the speaker played on meanwhile.
    pace: Interval,
    chunks: u32,
    played: u32,
}

impl Tone {
    /// As long as somebody might take to say the text.
    pub(super) fn for_text(text: &str) -> Self {
        let characters = u32::try_from(text.chars().count()).unwrap_or(u32::MAX);
        let length = PER_CHARACTER.saturating_mul(characters).clamp(SHORTEST, LONGEST);
        let chunks = length.as_millis().div_ceil(CHUNK.as_millis());
        Self { pace: interval(CHUNK), chunks: u32::try_from(chunks).unwrap_or(u32::MAX), played: 0 }
    }

    /// The next chunk when it is due; `None` after the last.
    pub(super) async fn next(&mut self) -> Option<Bytes> {
        if self.played == self.chunks {
            return None;
        }
        self.pace.tick().await;
        self.played += 1;
        let chunk = match self.played {
            1 => &RISE,
            last if last == self.chunks => &FALL,
            _ => &STEADY,
        };
        Some(Bytes::clone(chunk))
    }
}

/// One chunk of the sine; `volume` goes by the part of the chunk that has passed.
fn chunk(volume: impl Fn(f32) -> f32) -> Bytes {
    let sample = |n: u32| {
        let part = n as f32 / CHUNK_SAMPLES as f32;
        (AMPLITUDE * volume(part) * (TAU * WAVES_PER_CHUNK * part).sin()) as i16
    };
    (0..CHUNK_SAMPLES).flat_map(|n| sample(n).to_le_bytes()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn length_follows_the_text_within_bounds() {
        for (text, chunks) in [("", 10), ("1234567890", 15), ("x".repeat(5_000).as_str(), 500)] {
            let mut tone = Tone::for_text(text);
            let mut count = 0;
            while tone.next().await.is_some() {
                count += 1;
            }
            assert_eq!(count, chunks);
        }
    }

    #[test]
    fn borders_of_chunks_are_smooth() {
        let joined = [&RISE[..], &STEADY[..], &STEADY[..], &FALL[..]].concat();
        let samples: Vec<i32> = joined
            .chunks_exact(2)
            .map(|pair| i32::from(i16::from_le_bytes([pair[0], pair[1]])))
            .collect();
        let step = samples.windows(2).map(|pair| (pair[1] - pair[0]).abs()).max().unwrap();
        // The sine's own steepest step at this pitch.
        assert!(step <= 480, "{step}");
    }
}
