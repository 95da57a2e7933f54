//! The microphone's sound on its way to a vendor: resampled to the vendor's rate and checked by our own voice detection.
//! The last seconds, or everything that is not answered yet, are kept in case a new connection has to hear them again.

use crate::audio::resample::{ResampleError, Resampler};
use crate::audio::voice::{VOICE_RATE, Voice, VoiceGate};
use crate::message::AudioChunk;
use bytes::{Bytes, BytesMut};
use std::collections::VecDeque;
use std::time::Duration;

/// How much sound is kept for a new connection.
pub(in crate::provider::live::remote) const KEPT: Duration = Duration::from_secs(3);
/// How much is kept of an utterance that is not answered yet. Of longer ones the beginning is dropped.
pub(in crate::provider::live::remote) const LONGEST_KEPT: Duration = Duration::from_secs(30);
/// Length of the pieces that are replayed, so that they fit into the socket's send queue.
const PIECE: Duration = Duration::from_millis(500);

#[derive(Debug)]
pub(in crate::provider::live::remote) struct Microphone {
    vendor: RateConverter,
    gated: RateConverter,
    gate: VoiceGate,
    kept: VecDeque<AudioChunk>,
    kept_time: Duration,
    /// How much sound is kept at the moment: [`KEPT`] or [`LONGEST_KEPT`].
    pub(in crate::provider::live::remote) most: Duration,
    /// Chunks that were lost before they came here, or whose rate is not supported.
    pub(in crate::provider::live::remote) dropped: u64,
}

#[derive(Debug)]
pub(in crate::provider::live::remote) struct MicrophoneSound {
    /// At the vendor's rate.
    pub(in crate::provider::live::remote) pcm: Bytes,
    pub(in crate::provider::live::remote) voice: Option<Voice>,
}

impl Microphone {
    pub(in crate::provider::live::remote) fn new(gate: VoiceGate, rate: u32) -> Self {
        let (vendor, gated) = (RateConverter::to(rate), RateConverter::to(VOICE_RATE));
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

    /// Another vendor listens from now on, at this rate.
    pub(in crate::provider::live::remote) fn tune(&mut self, rate: u32) {
        if self.vendor.rate != rate {
            self.vendor = RateConverter::to(rate);
        }
    }

    /// `lost` chunks are missing before this one. `None`: its rate is not supported.
    pub(in crate::provider::live::remote) fn hear(
        &mut self,
        chunk: AudioChunk,
        lost: u64,
    ) -> Option<MicrophoneSound> {
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
        Some(MicrophoneSound { pcm, voice })
    }

    /// The microphone has sent nothing for this long.
    pub(in crate::provider::live::remote) fn pause(&mut self, time: Duration) -> Option<Voice> {
        self.gate.pause(time)
    }

    /// What was said is answered, so it never has to be replayed.
    pub(in crate::provider::live::remote) fn forget(&mut self) {
        self.kept.clear();
        self.kept_time = Duration::ZERO;
    }

    /// Sound for a new connection, at the vendor's rate: the newest, up to this length.
    pub(in crate::provider::live::remote) fn replay(&mut self, most: Duration) -> Vec<Bytes> {
        self.shorten(most);
        let mut fresh = RateConverter::to(self.vendor.rate);
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
    pub(in crate::provider::live::remote) fn size(&self) -> usize {
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

/// Resamples one stream, whose rate may change, to a fixed rate.
#[derive(Debug)]
struct RateConverter {
    rate: u32,
    from: Option<(u32, Resampler)>,
}

impl RateConverter {
    fn to(rate: u32) -> Self {
        Self { rate, from: None }
    }

    /// A gap or a change of rate ends the stream: the rest of the old resampler comes first.
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

    fn microphone(rate: u32) -> Microphone {
        let gate = VoiceGate::judged_by(Box::new(|_| 0.0), 50, Duration::from_millis(500));
        Microphone::new(gate, rate)
    }

    fn chunk(rate: u32, samples: usize) -> AudioChunk {
        AudioChunk { rate, pcm: 3_000_i16.to_le_bytes().repeat(samples).into() }
    }

    #[test]
    fn the_vendors_own_rate_is_not_touched() {
        let mut microphone = microphone(24_000);
        let chunk = chunk(24_000, 960);
        let sent = chunk.pcm.as_ptr();
        assert_eq!(microphone.hear(chunk, 0).unwrap().pcm.as_ptr(), sent);
    }

    #[test]
    fn no_sound_is_lost_at_gaps_and_changes_of_rate() {
        let mut microphone = microphone(24_000);
        let mut bytes = 0;
        for (rate, gap) in [(16_000, false), (16_000, true), (48_000, false), (24_000, false)] {
            for n in 0..10 {
                let samples = rate as usize / 25;
                let lost = if gap && n == 0 { 3 } else { 0 };
                bytes += microphone.hear(chunk(rate, samples), lost).unwrap().pcm.len();
            }
        }
        // All but what is left within the last resampler, which is none at equal rates.
        assert_eq!(bytes / 2, 4 * 10 * 24_000 / 25);
        assert_eq!(microphone.dropped, 3);
    }

    #[test]
    fn strange_rates_are_counted_and_harm_nobody() {
        let mut microphone = microphone(24_000);
        assert!(microphone.hear(chunk(5, 1), 0).is_none());
        assert!(microphone.hear(chunk(0, 1), 0).is_none());
        assert!(microphone.hear(chunk(16_000, 0), 0).is_some());
        assert_eq!(microphone.dropped, 2);
    }

    #[test]
    fn the_last_seconds_can_be_heard_again_at_another_rate() {
        let mut microphone = microphone(24_000);
        for _ in 0..100 {
            microphone.hear(chunk(24_000, 2_400), 0);
        }
        let pieces = microphone.replay(LONGEST_KEPT);
        assert_eq!(pieces.iter().map(Bytes::len).sum::<usize>(), 2 * 3 * 24_000);
        assert!(pieces.len() <= 6, "{}", pieces.len());
        microphone.tune(16_000);
        let again: usize = microphone.replay(KEPT).iter().map(Bytes::len).sum();
        assert!((2 * 47_000..=2 * 48_000).contains(&again), "{again}");
        microphone.forget();
        assert!(microphone.replay(KEPT).is_empty());
    }

    #[test]
    fn what_nobody_has_answered_is_kept_for_longer() {
        let mut microphone = microphone(24_000);
        microphone.most = LONGEST_KEPT;
        for _ in 0..400 {
            microphone.hear(chunk(24_000, 2_400), 0);
        }
        assert_eq!(
            microphone.replay(LONGEST_KEPT).iter().map(Bytes::len).sum::<usize>(),
            2 * 30 * 24_000
        );
        assert_eq!(microphone.replay(KEPT).iter().map(Bytes::len).sum::<usize>(), 2 * 3 * 24_000);
    }
}
