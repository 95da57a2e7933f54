//! Detects where a human voice begins and ends in 16 kHz PCM16, with a small neural network. It counts audio time, so
//! the speed and the size of chunks do not matter.

use earshot::Detector;
use std::fmt;
use std::time::Duration;

/// The sample rate that [`VoiceGate::push`] expects.
pub const VOICE_RATE: u32 = 16_000;
/// Samples per detection.
const FRAME: usize = 256;
const FRAME_TIME: Duration = Duration::from_millis(16);
/// Voiced frames in a row that count as the start of speech; a click is shorter.
const ONSET: u32 = 3;

/// Returns the probability, from 0 to 1, that a frame is voice.
type Judge = Box<dyn FnMut(&[i16]) -> f32 + Send>;

/// Detects the voice in one stream.
pub struct VoiceGate {
    judge: Judge,
    threshold: f32,
    /// Silence of this length ends an utterance.
    silence: Duration,
    rest: Vec<i16>,
    run: u32,
    voice: Option<Voice>,
}

/// An utterance that is going on, or a pause that has not ended it yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Voice {
    /// Total voiced time so far, without pauses.
    pub voiced: Duration,
    /// Time since the last voiced frame.
    pub quiet: Duration,
}

impl VoiceGate {
    pub fn new(threshold_percent: u32, silence: Duration) -> Self {
        let mut detector = Detector::default_boxed();
        Self::judged_by(
            Box::new(move |frame| detector.predict_i16(frame)),
            threshold_percent,
            silence,
        )
    }

    /// Uses another detector, for example in tests.
    pub fn judged_by(judge: Judge, threshold_percent: u32, silence: Duration) -> Self {
        let threshold = threshold_percent as f32 / 100.0;
        Self { judge, threshold, silence, rest: Vec::new(), run: 0, voice: None }
    }

    /// The state after this chunk; `None` while nobody speaks.
    pub fn push(&mut self, pcm: &[u8]) -> Option<Voice> {
        let (samples, _) = pcm.as_chunks::<2>();
        self.rest.extend(samples.iter().map(|pair| i16::from_le_bytes(*pair)));
        let rest = std::mem::take(&mut self.rest);
        let (frames, left) = rest.as_chunks::<FRAME>();
        for frame in frames {
            let is_voice = (self.judge)(frame) >= self.threshold;
            self.take(is_voice);
        }
        self.rest = left.to_vec();
        self.voice
    }

    /// Reports a gap of this length in the stream, which counts as silence.
    pub fn pause(&mut self, time: Duration) -> Option<Voice> {
        self.run = 0;
        if let Some(voice) = &mut self.voice {
            voice.quiet += time;
        }
        self.end_if_quiet();
        self.voice
    }

    fn take(&mut self, is_voice: bool) {
        self.run = if is_voice { self.run + 1 } else { 0 };
        match &mut self.voice {
            Some(voice) if is_voice => {
                voice.voiced += FRAME_TIME;
                voice.quiet = Duration::ZERO;
            }
            Some(voice) => voice.quiet += FRAME_TIME,
            None if self.run >= ONSET => {
                let voice = Voice { voiced: FRAME_TIME * ONSET, quiet: Duration::ZERO };
                self.voice = Some(voice);
            }
            None => (),
        }
        self.end_if_quiet();
    }

    fn end_if_quiet(&mut self) {
        if self.voice.is_some_and(|voice| voice.quiet >= self.silence) {
            self.voice = None;
        }
    }
}

impl fmt::Debug for VoiceGate {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("VoiceGate").field("voice", &self.voice).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gate() -> VoiceGate {
        let loud =
            |frame: &[i16]| if frame.iter().any(|sample| *sample > 1_000) { 0.9 } else { 0.1 };
        VoiceGate::judged_by(Box::new(loud), 50, Duration::from_millis(320))
    }

    fn sound(level: i16, frames: usize) -> Vec<u8> {
        level.to_le_bytes().repeat(FRAME * frames)
    }

    #[test]
    fn a_voice_begins_lasts_and_ends() {
        let mut gate = gate();
        assert_eq!(gate.push(&sound(5_000, 2)), None, "a click is no voice");
        assert_eq!(gate.push(&sound(0, 1)), None);
        let voice =
            |voiced, quiet| Some(Voice { voiced: FRAME_TIME * voiced, quiet: FRAME_TIME * quiet });
        assert_eq!(gate.push(&sound(5_000, 10)), voice(10, 0));
        assert_eq!(gate.push(&sound(0, 5)), voice(10, 5));
        assert_eq!(gate.push(&sound(5_000, 1)), voice(11, 0));
        assert_eq!(gate.push(&sound(0, 19)), voice(11, 19));
        assert_eq!(gate.push(&sound(0, 1)), None);
    }

    #[test]
    fn the_size_of_chunks_does_not_matter() {
        let (mut whole, mut pieces) = (gate(), gate());
        let pcm = [sound(0, 3), sound(5_000, 7), sound(0, 4)].concat();
        let expected = whole.push(&pcm);
        let found = pcm.chunks(2 * 77).map(|chunk| pieces.push(chunk)).last();
        assert_eq!(found, Some(expected));
    }

    #[test]
    fn a_microphone_that_is_switched_off_ends_what_was_said() {
        let mut gate = gate();
        gate.push(&sound(5_000, 10));
        assert!(gate.pause(Duration::from_millis(100)).is_some());
        assert_eq!(gate.pause(Duration::from_millis(300)), None);
    }

    #[test]
    fn the_network_does_not_take_silence_and_tones_for_a_voice() {
        let mut gate = VoiceGate::new(50, Duration::from_millis(500));
        assert_eq!(gate.push(&sound(0, 60)), None);
        assert_eq!(gate.push(&sound(8_000, 60)), None);
    }
}
