//! Takes what the speaker plays out of what the microphone hears, and the room's noise with it.

use sonora::config::{EchoCanceller, NoiseSuppression, TransparentModeType};
use sonora::{AudioProcessing, Config, StreamConfig};
use std::time::Duration;

/// The rate that it works at.
pub(super) const RATE: u32 = 48_000;
/// It takes 10 ms at a time.
pub(super) const FRAME: usize = RATE as usize / 100;
/// More than this is not believed by it, and no device has it.
const LONGEST_DELAY: Duration = Duration::from_millis(500);

pub(super) struct Echo {
    processing: AudioProcessing,
    unused: [i16; FRAME],
}

impl Echo {
    pub(super) fn new() -> Self {
        // The other mode never learns that there is no echo, and takes the voice of whoever wears headphones for one.
        let canceller = EchoCanceller {
            transparent_mode: TransparentModeType::Hmm,
            ..EchoCanceller::default()
        };
        let config = Config {
            echo_canceller: Some(canceller),
            noise_suppression: Some(NoiseSuppression::default()),
            ..Config::default()
        };
        let form = StreamConfig::new(RATE, 1);
        let builder = AudioProcessing::builder().config(config);
        let processing = builder.capture_config(form).render_config(form).build();
        Self { processing, unused: [0; FRAME] }
    }

    /// This was played.
    pub(super) fn played(&mut self, frame: &[i16]) {
        // The frame has the right size, and nothing else can be wrong with it.
        let _ = self.processing.process_render_i16(frame, &mut self.unused);
    }

    /// This was heard; `delay` is from the playing of a sample to its hearing, without the room.
    pub(super) fn clean(&mut self, frame: &mut [i16], delay: Duration) {
        let delay = i32::try_from(delay.min(LONGEST_DELAY).as_millis()).unwrap_or(0);
        // It only fails where the delay is out of range.
        let _ = self.processing.set_stream_delay_ms(delay);
        let heard = frame.to_vec();
        if self.processing.process_capture_i16(&heard, frame).is_err() {
            frame.copy_from_slice(&heard);
        }
    }
}

impl std::fmt::Debug for Echo {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Echo")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Syllables of noise: an echo canceller does not learn from tones.
    fn speech(seed: u32) -> impl FnMut() -> f32 {
        let (mut state, mut at, mut smooth) = (seed, 0_u32, 0.0_f32);
        move || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let noise = (state >> 16) as f32 / 32_768.0 - 1.0;
            smooth += 0.2 * (noise - smooth);
            at += 1;
            let syllable = (at as f32 / 9_000.0 * std::f32::consts::TAU).sin().max(0.0);
            12_000.0 * smooth * syllable
        }
    }

    fn energy(samples: &[f32]) -> f32 {
        10.0 * (samples.iter().map(|sample| sample * sample).sum::<f32>() + 1.0).log10()
    }

    #[test]
    fn an_echo_goes_and_a_voice_stays() {
        let (mut echo, mut far, mut near) = (Echo::new(), speech(1), speech(77));
        let delay = 48 * 40;
        let mut room = vec![0.0; delay];
        let (mut heard, mut cleaned, mut voice) = (Vec::new(), Vec::new(), Vec::new());
        for turn in 0..1_000 {
            let played: Vec<f32> = (0..FRAME).map(|_| far()).collect();
            let frame: Vec<i16> = played.iter().map(|sample| *sample as i16).collect();
            echo.played(&frame);
            room.extend(&played);
            // The voice speaks in the last two seconds.
            let spoken: Vec<f32> =
                (0..FRAME).map(|_| if turn < 800 { 0.0 } else { near() }).collect();
            let microphone: Vec<f32> =
                room.drain(..FRAME).zip(&spoken).map(|(far, near)| 0.3 * far + near).collect();
            let mut frame: Vec<i16> = microphone.iter().map(|sample| *sample as i16).collect();
            echo.clean(&mut frame, Duration::from_millis(10));
            heard.extend(microphone);
            cleaned.extend(frame.iter().map(|sample| f32::from(*sample)));
            voice.extend(spoken);
        }
        let (alone, both) = (400 * FRAME..800 * FRAME, 800 * FRAME..1_000 * FRAME);
        let removed = energy(&heard[alone.clone()]) - energy(&cleaned[alone]);
        assert!(removed > 20.0, "only {removed} dB of the echo are gone");
        let kept = energy(&cleaned[both.clone()]) - energy(&voice[both]);
        assert!(kept > -12.0, "the voice lost {kept} dB");
    }

    #[test]
    fn with_headphones_a_voice_is_soon_left_alone() {
        let (mut echo, mut far, mut near) = (Echo::new(), speech(1), speech(77));
        let (mut cleaned, mut voice) = (Vec::new(), Vec::new());
        for _ in 0..1_000 {
            let played: Vec<i16> = (0..FRAME).map(|_| far() as i16).collect();
            echo.played(&played);
            let spoken: Vec<f32> = (0..FRAME).map(|_| near()).collect();
            let mut frame: Vec<i16> = spoken.iter().map(|sample| *sample as i16).collect();
            echo.clean(&mut frame, Duration::from_millis(10));
            cleaned.extend(frame.iter().map(|sample| f32::from(*sample)));
            voice.extend(spoken);
        }
        let later = 600 * FRAME..1_000 * FRAME;
        let kept = energy(&cleaned[later.clone()]) - energy(&voice[later]);
        assert!(kept > -6.0, "the voice lost {kept} dB");
    }
}
