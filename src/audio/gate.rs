//! Detects the start and end of speech in a PCM16 stream by its level alone. It counts audio time, so the speed and the
//! size of chunks do not matter.

use crate::message::AudioChunk;
use std::time::Duration;

/// Number of levels in the background, about three seconds of microphone audio.
const BACKGROUND: usize = 50;
/// Shorter chunks are merged into one level, so that the background always covers enough time.
const SHORTEST_WINDOW: Duration = Duration::from_millis(40);
/// How much louder than the background speech has to be.
const MARGIN: u32 = 2_500;
/// A pause of this length ends an utterance.
const PAUSE: Duration = Duration::from_secs(2);

/// Detects speech in one stream.
#[derive(Debug, Default)]
pub struct SpeechGate {
    background: Background,
    utterance: Option<Utterance>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Edge {
    Started,
    Ended {
        /// From the start to the end of the voice, without the pause after it.
        speech: Duration,
    },
}

impl SpeechGate {
    pub fn push(&mut self, chunk: &AudioChunk) -> Option<Edge> {
        let length = length(chunk)?;
        let level = level(&chunk.pcm);
        let voice = self.background.is_exceeded_by(level);
        self.background.add(level, length);
        match (&mut self.utterance, voice) {
            (None, false) => None,
            (None, true) => {
                self.utterance = Some(Utterance { length, silence: Duration::ZERO });
                Some(Edge::Started)
            }
            (Some(utterance), true) => {
                utterance.length += length;
                utterance.silence = Duration::ZERO;
                None
            }
            (Some(utterance), false) => {
                utterance.length += length;
                utterance.silence += length;
                let ended = utterance.silence >= PAUSE;
                if ended { self.end() } else { None }
            }
        }
    }

    fn end(&mut self) -> Option<Edge> {
        let utterance = self.utterance.take()?;
        Some(Edge::Ended { speech: utterance.length - utterance.silence })
    }
}

#[derive(Debug)]
struct Utterance {
    /// Since the voice began, including the silence at the end.
    length: Duration,
    silence: Duration,
}

/// The most recent levels. Starts as silence, so speech is detected even at the very beginning of a stream.
#[derive(Debug)]
struct Background {
    ring: [u16; BACKGROUND],
    next: usize,
    sum: u32,
    /// Highest level of the short chunks that are being merged.
    level: u16,
    length: Duration,
}

impl Default for Background {
    fn default() -> Self {
        Self { ring: [0; BACKGROUND], next: 0, sum: 0, level: 0, length: Duration::ZERO }
    }
}

impl Background {
    fn is_exceeded_by(&self, level: u16) -> bool {
        let count = BACKGROUND as u32;
        u32::from(level) * count > self.sum + MARGIN * count
    }

    fn add(&mut self, level: u16, length: Duration) {
        self.level = self.level.max(level);
        self.length += length;
        if self.length < SHORTEST_WINDOW {
            return;
        }
        self.sum = self.sum + u32::from(self.level) - u32::from(self.ring[self.next]);
        self.ring[self.next] = self.level;
        self.next = (self.next + 1) % BACKGROUND;
        (self.level, self.length) = (0, Duration::ZERO);
    }
}

/// `None` for an empty chunk or a rate of zero.
fn length(chunk: &AudioChunk) -> Option<Duration> {
    let samples = (chunk.pcm.len() / 2) as u64;
    let nanos = (samples * 1_000_000_000).checked_div(u64::from(chunk.rate))?;
    (nanos > 0).then(|| Duration::from_nanos(nanos))
}

/// Peak level; unsigned, because -32768 has no positive counterpart. Arrays of two bytes instead of slices let the
/// compiler use SIMD.
fn level(pcm: &[u8]) -> u16 {
    let (samples, _) = pcm.as_chunks::<2>();
    samples.iter().map(|sample| i16::from_le_bytes(*sample).unsigned_abs()).fold(0, u16::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn level_is_the_largest_distance_from_zero() {
        for (samples, expected) in [
            (vec![], 0),
            (vec![3, -7, 5], 7),
            (vec![0, i16::MIN, 5], 32_768),
            (vec![i16::MAX; 33], 32_767),
        ] {
            let pcm: Vec<u8> =
                samples.iter().flat_map(|sample: &i16| sample.to_le_bytes()).collect();
            assert_eq!(level(&pcm), expected);
        }
    }

    #[test]
    fn speech_is_measured_without_its_pause() {
        for length in [320, 683, 1_024, 2_000, 8_000] {
            let mut gate = SpeechGate::default();
            assert_eq!(edges(&mut gate, 100, 16_000, length), []);
            let mut found = edges(&mut gate, 9_000, 16_000, length);
            found.extend(edges(&mut gate, 100, 48_000, length));
            let [Edge::Started, Edge::Ended { speech }] = found[..] else {
                panic!("chunks of {length}: {found:?}");
            };
            assert!((speech.as_secs_f64() - 1.0).abs() < 0.15, "chunks of {length}: {speech:?}");
        }
    }

    #[test]
    fn stream_may_begin_loud() {
        let mut gate = SpeechGate::default();
        assert_eq!(edges(&mut gate, 9_000, 16_000, 1_000), [Edge::Started]);
        let ended = edges(&mut gate, 0, 32_000, 1_000);
        assert_eq!(ended, [Edge::Ended { speech: Duration::from_secs(1) }]);
        assert_eq!(SpeechGate::default().push(&chunk(2_500, 1_024)), None);
    }

    #[test]
    fn pause_shorter_than_two_seconds_ends_nothing() {
        let mut gate = SpeechGate::default();
        assert_eq!(edges(&mut gate, 9_000, 3_200, 320), [Edge::Started]);
        assert_eq!(edges(&mut gate, 0, 31_680, 320), []);
        assert_eq!(edges(&mut gate, 9_000, 320, 320), []);
        assert_eq!(edges(&mut gate, 0, 31_680, 320), []);
        assert_eq!(
            gate.push(&chunk(0, 320)),
            Some(Edge::Ended { speech: Duration::from_millis(2_200) })
        );
    }

    #[test]
    fn tiny_chunks_share_a_place_in_the_background() {
        let mut gate = SpeechGate::default();
        assert_eq!(edges(&mut gate, 100, 16_000, 10), []);
        assert_eq!(edges(&mut gate, 9_000, 16_000, 10), [Edge::Started]);
        let ended = edges(&mut gate, 100, 48_000, 10);
        assert_eq!(ended, [Edge::Ended { speech: Duration::from_secs(1) }]);
    }

    #[test]
    fn steady_noise_becomes_background() {
        let mut gate = SpeechGate::default();
        let found = edges(&mut gate, 8_000, 160_000, 1_024);
        assert!(matches!(found[..], [Edge::Started, Edge::Ended { .. }]), "{found:?}");
    }

    #[test]
    fn empty_and_rateless_chunks_do_nothing() {
        let mut gate = SpeechGate::default();
        assert_eq!(gate.push(&chunk(0, 0)), None);
        assert_eq!(gate.push(&AudioChunk { rate: 0, ..chunk(9_000, 1_024) }), None);
    }

    fn edges(gate: &mut SpeechGate, level: i16, samples: usize, length: usize) -> Vec<Edge> {
        let lengths = std::iter::repeat_n(length, samples.div_ceil(length));
        lengths.filter_map(|length| gate.push(&chunk(level, length))).collect()
    }

    fn chunk(level: i16, samples: usize) -> AudioChunk {
        let pcm = std::iter::repeat_n(level.to_le_bytes(), samples).flatten().collect();
        AudioChunk { rate: 16_000, pcm }
    }
}
