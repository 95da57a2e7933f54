//! The microphone on its way to a vendor: brought to the vendor's rate, listened to by our own gate, and its last
//! seconds kept, or all that nobody has answered yet, in case a new connection has to hear it again.

use crate::audio::resample::{ResampleError, Resampler};
use crate::audio::voice::{VOICE_RATE, Voice, VoiceGate};
use crate::message::AudioChunk;
use bytes::{Bytes, BytesMut};
use std::collections::VecDeque;
use std::time::Duration;

/// What is kept for a new connection. More would be old news.
pub(super) const KEPT: Duration = Duration::from_secs(3);
/// The same of what nobody has answered yet: an utterance from its beginning. More: its beginning is forgotten.
pub(super) const LONGEST_KEPT: Duration = Duration::from_secs(30);
/// It is heard again in pieces of about this length, so that they fit into what a connection takes at once.
const PIECE: Duration = Duration::from_millis(500);

#[derive(Debug)]
pub(super) struct Ear {
    vendor: Tuned,
    gated: Tuned,
    gate: VoiceGate,
    kept: VecDeque<AudioChunk>,
    kept_time: Duration,
    /// So much is kept.
    pub(super) most: Duration,
    /// Chunks that were lost before us or are in no form that can be heard.
    pub(super) dropped: u64,
}

#[derive(Debug)]
pub(super) struct Heard {
    /// At the vendor's rate.
    pub(super) pcm: Bytes,
    pub(super) voice: Option<Voice>,
}

impl Ear {
    pub(super) fn new(gate: VoiceGate, rate: u32) -> Self {
        let (vendor, gated) = (Tuned::to(rate), Tuned::to(VOICE_RATE));
        Self {
            vendor,
            gated,
            gate,
            kept: VecDeque::new(),
            kept_time: Duration::ZERO,
            most: KEPT,
            dropped: 0,
        }
    }

    /// Another vendor hears from now on.
    pub(super) fn tune(&mut self, rate: u32) {
        if self.vendor.rate != rate {
            self.vendor = Tuned::to(rate);
        }
    }

    /// So many chunks were lost before it. `None`: it cannot be heard.
    pub(super) fn hear(&mut self, chunk: AudioChunk, lost: u64) -> Option<Heard> {
        self.dropped += lost;
        let gap = lost > 0;
        let pcm = self.vendor.push(&chunk, gap);
        let gated = self.gated.push(&chunk, gap);
        let (Ok(pcm), Ok(gated)) = (pcm, gated) else {
            self.dropped += 1;
            return None;
        };
        let voice = self.gate.push(&gated);
        self.keep(chunk);
        Some(Heard { pcm, voice })
    }

    /// Nothing has come for so long.
    pub(super) fn pause(&mut self, time: Duration) -> Option<Voice> {
        self.gate.pause(time)
    }

    /// What was said is answered, so nobody has to hear it again.
    pub(super) fn forget(&mut self) {
        self.kept.clear();
        self.kept_time = Duration::ZERO;
    }

    /// What a new connection has to hear, at its rate: the last of it, up to this length.
    pub(super) fn replay(&mut self, most: Duration) -> Vec<Bytes> {
        self.shorten(most);
        let mut fresh = Tuned::to(self.vendor.rate);
        let (mut pieces, mut piece) = (Vec::new(), BytesMut::new());
        let full = 2 * (PIECE.as_millis() as usize) * self.vendor.rate as usize / 1_000;
        for pcm in self.kept.iter().filter_map(|chunk| fresh.push(chunk, false).ok()) {
            piece.extend_from_slice(&pcm);
            if piece.len() >= full {
                pieces.push(piece.split().freeze());
            }
        }
        pieces.push(piece.freeze());
        pieces.retain(|pcm| !pcm.is_empty());
        pieces
    }

    #[cfg(test)]
    pub(super) fn size(&self) -> usize {
        self.kept.len()
    }

    fn keep(&mut self, chunk: AudioChunk) {
        self.kept_time += length(&chunk);
        self.kept.push_back(chunk);
        self.shorten(self.most);
    }

    fn shorten(&mut self, most: Duration) {
        while self.kept_time > most
            && let Some(oldest) = self.kept.pop_front()
        {
            self.kept_time = self.kept_time.saturating_sub(length(&oldest));
        }
    }
}

fn length(chunk: &AudioChunk) -> Duration {
    let samples = (chunk.pcm.len() / 2) as u64;
    Duration::from_nanos(samples * 1_000_000_000 / u64::from(chunk.rate.max(1)))
}

/// One stream of any rate, brought to another.
#[derive(Debug)]
struct Tuned {
    rate: u32,
    from: Option<(u32, Resampler)>,
}

impl Tuned {
    fn to(rate: u32) -> Self {
        Self { rate, from: None }
    }

    /// What was before a gap or in another rate is another stream: its end comes first.
    fn push(&mut self, chunk: &AudioChunk, gap: bool) -> Result<Bytes, ResampleError> {
        let mut tail = Bytes::new();
        let mut kept = self.from.take();
        if let Some((rate, resampler)) = &mut kept
            && (gap || *rate != chunk.rate)
        {
            tail = resampler.finish();
        }
        let (rate, mut resampler) = match kept.filter(|(rate, _)| *rate == chunk.rate) {
            Some(kept) => kept,
            None => (chunk.rate, Resampler::new(chunk.rate, self.rate)?),
        };
        let pcm = resampler.push(&chunk.pcm);
        self.from = Some((rate, resampler));
        if tail.is_empty() {
            return Ok(pcm);
        }
        let mut joined = BytesMut::from(&tail[..]);
        joined.extend_from_slice(&pcm);
        Ok(joined.freeze())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ear(rate: u32) -> Ear {
        let gate = VoiceGate::judged_by(Box::new(|_| 0.0), 50, Duration::from_millis(500));
        Ear::new(gate, rate)
    }

    fn chunk(rate: u32, samples: usize) -> AudioChunk {
        AudioChunk { rate, pcm: 3_000_i16.to_le_bytes().repeat(samples).into() }
    }

    #[test]
    fn the_vendors_own_rate_is_not_touched() {
        let mut ear = ear(24_000);
        let chunk = chunk(24_000, 960);
        let sent = chunk.pcm.as_ptr();
        assert_eq!(ear.hear(chunk, 0).unwrap().pcm.as_ptr(), sent);
    }

    #[test]
    fn no_sound_is_lost_at_gaps_and_changes_of_rate() {
        let mut ear = ear(24_000);
        let mut bytes = 0;
        for (rate, gap) in [(16_000, false), (16_000, true), (48_000, false), (24_000, false)] {
            for n in 0..10 {
                let samples = rate as usize / 25;
                let lost = if gap && n == 0 { 3 } else { 0 };
                bytes += ear.hear(chunk(rate, samples), lost).unwrap().pcm.len();
            }
        }
        // All but what is left within the last resampler, which is none at equal rates.
        assert_eq!(bytes / 2, 4 * 10 * 24_000 / 25);
        assert_eq!(ear.dropped, 3);
    }

    #[test]
    fn strange_rates_are_counted_and_harm_nobody() {
        let mut ear = ear(24_000);
        assert!(ear.hear(chunk(5, 1), 0).is_none());
        assert!(ear.hear(chunk(0, 1), 0).is_none());
        assert!(ear.hear(chunk(16_000, 0), 0).is_some());
        assert_eq!(ear.dropped, 2);
    }

    #[test]
    fn the_last_seconds_can_be_heard_again_at_another_rate() {
        let mut ear = ear(24_000);
        for _ in 0..100 {
            ear.hear(chunk(24_000, 2_400), 0);
        }
        let pieces = ear.replay(LONGEST_KEPT);
        assert_eq!(pieces.iter().map(Bytes::len).sum::<usize>(), 2 * 3 * 24_000);
        assert!(pieces.len() <= 6, "{}", pieces.len());
        ear.tune(16_000);
        let again: usize = ear.replay(KEPT).iter().map(Bytes::len).sum();
        assert!((2 * 47_000..=2 * 48_000).contains(&again), "{again}");
        ear.forget();
        assert!(ear.replay(KEPT).is_empty());
    }

    #[test]
    fn what_nobody_has_answered_is_kept_for_longer() {
        let mut ear = ear(24_000);
        ear.most = LONGEST_KEPT;
        for _ in 0..400 {
            ear.hear(chunk(24_000, 2_400), 0);
        }
        assert_eq!(ear.replay(LONGEST_KEPT).iter().map(Bytes::len).sum::<usize>(), 2 * 30 * 24_000);
        assert_eq!(ear.replay(KEPT).iter().map(Bytes::len).sum::<usize>(), 2 * 3 * 24_000);
    }
}
