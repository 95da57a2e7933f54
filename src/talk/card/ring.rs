//! The two ends of the rings between a card's callbacks and our thread. A callback never waits, allocates or locks.

use cpal::{FromSample, Sample};
use rtrb::{Consumer, Producer, RingBuffer};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// What the callbacks know and our thread wants to.
#[derive(Debug, Default)]
pub(super) struct Gauge {
    /// Samples that the speaker has taken from its ring.
    taken: AtomicU64,
    /// Samples of silence that it got because nothing was there, after the first sound of all.
    starved: AtomicU64,
    /// Samples of the microphone for which there was no room.
    lost: AtomicU64,
    /// From a callback to the ear, in microseconds.
    latency: AtomicU64,
    /// From the mouth to a callback.
    capture_latency: AtomicU64,
}

impl Gauge {
    pub(super) fn taken(&self) -> u64 {
        self.taken.load(Ordering::Acquire)
    }

    pub(super) fn starved(&self) -> u64 {
        self.starved.load(Ordering::Relaxed)
    }

    pub(super) fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }

    pub(super) fn latency(&self) -> Duration {
        Duration::from_micros(self.latency.load(Ordering::Relaxed))
    }

    pub(super) fn capture_latency(&self) -> Duration {
        Duration::from_micros(self.capture_latency.load(Ordering::Relaxed))
    }
}

/// The speaker's callback.
#[derive(Debug)]
pub(super) struct Loudspeaker {
    pub(super) channels: usize,
    sound: Consumer<i16>,
    tap: Producer<i16>,
    gauge: Arc<Gauge>,
}

/// The microphone's callback.
#[derive(Debug)]
pub(super) struct Pickup {
    pub(super) channels: usize,
    heard: Producer<i16>,
    gauge: Arc<Gauge>,
}

/// Our thread's ends.
#[derive(Debug)]
pub(super) struct Ends {
    pub(super) sound: Producer<i16>,
    /// Exactly what the speaker got, silence included.
    pub(super) tap: Consumer<i16>,
    pub(super) heard: Consumer<i16>,
    pub(super) gauge: Arc<Gauge>,
    pub(super) input_rate: u32,
    pub(super) output_rate: u32,
}

/// What is heard is kept for two and a half seconds, because some sound servers deliver much at once. Full: the newest is
/// dropped, and counted. The other rings hold a second. Full: nobody has read for a second, and the newest is dropped.
pub(super) fn rings(
    (input_rate, input_channels): (u32, usize),
    (output_rate, output_channels): (u32, usize),
) -> (Pickup, Loudspeaker, Ends) {
    let gauge = Arc::new(Gauge::default());
    let (sound, to_speaker) = RingBuffer::new(output_rate as usize);
    let (from_speaker, tap) = RingBuffer::new(output_rate as usize);
    let (from_microphone, heard) = RingBuffer::new(input_rate as usize * 5 / 2);
    let pickup =
        Pickup { channels: input_channels, heard: from_microphone, gauge: Arc::clone(&gauge) };
    let loudspeaker = Loudspeaker {
        channels: output_channels,
        sound: to_speaker,
        tap: from_speaker,
        gauge: Arc::clone(&gauge),
    };
    (pickup, loudspeaker, Ends { sound, tap, heard, gauge, input_rate, output_rate })
}

impl Loudspeaker {
    /// All channels get the same; what is missing is silence.
    pub(super) fn fill<T: Copy + FromSample<i16>>(&mut self, out: &mut [T], latency: Duration) {
        let mut taken = 0;
        for frame in out.chunks_mut(self.channels) {
            let sample = match self.sound.pop() {
                Ok(sample) => {
                    taken += 1;
                    sample
                }
                Err(_) => 0,
            };
            frame.fill(T::from_sample_(sample));
            // Full: our thread is a second late, and an echo more is its smallest problem.
            let _ = self.tap.push(sample);
        }
        self.gauge.latency.store(micros(latency), Ordering::Relaxed);
        let missing = (out.len() / self.channels) as u64 - taken;
        let before = self.gauge.taken.fetch_add(taken, Ordering::Release);
        if before > 0 {
            self.gauge.starved.fetch_add(missing, Ordering::Relaxed);
        }
    }
}

impl Pickup {
    /// The mean of all channels.
    pub(super) fn take<T: Copy>(&mut self, input: &[T], latency: Duration)
    where
        i16: FromSample<T>,
    {
        let mut lost = 0;
        for frame in input.chunks(self.channels) {
            let sum: i32 = frame.iter().map(|sample| i32::from(i16::from_sample(*sample))).sum();
            let mean = sum / i32::try_from(frame.len()).unwrap_or(1).max(1);
            // Full: see `rings`.
            lost += u64::from(self.heard.push(i16::try_from(mean).unwrap_or(0)).is_err());
        }
        if lost > 0 {
            self.gauge.lost.fetch_add(lost, Ordering::Relaxed);
        }
        self.gauge.capture_latency.store(micros(latency), Ordering::Relaxed);
    }
}

fn micros(latency: Duration) -> u64 {
    u64::try_from(latency.as_micros()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(ring: &mut Consumer<i16>) -> Vec<i16> {
        std::iter::from_fn(|| ring.pop().ok()).collect()
    }

    #[test]
    fn every_channel_gets_the_sound_and_the_tap_gets_exactly_that() {
        let (_, mut loudspeaker, mut ends) = rings((48_000, 1), (48_000, 2));
        ends.sound.push_entire_slice(&[100, -200, 300]).unwrap();
        let mut out = [7_i16; 8];
        loudspeaker.fill(&mut out, Duration::from_millis(12));
        assert_eq!(out, [100, 100, -200, -200, 300, 300, 0, 0]);
        assert_eq!(all(&mut ends.tap), [100, -200, 300, 0]);
        assert_eq!(ends.gauge.taken(), 3, "silence was not taken from the ring");
        assert_eq!(ends.gauge.starved(), 0, "a card may be faster than us at the start");
        loudspeaker.fill(&mut out, Duration::from_millis(12));
        assert_eq!(ends.gauge.starved(), 4);
        assert_eq!(ends.gauge.latency(), Duration::from_millis(12));
    }

    #[test]
    fn two_and_a_half_seconds_at_once_are_kept_and_what_is_more_is_counted() {
        let (mut pickup, _, mut ends) = rings((8_000, 1), (8_000, 1));
        let sound: Vec<i16> = (0..20_000).collect();
        pickup.take(&sound, Duration::ZERO);
        assert_eq!(ends.gauge.lost(), 0);
        pickup.take(&[-1_i16; 100], Duration::ZERO);
        assert_eq!(all(&mut ends.heard), sound);
        assert_eq!(ends.gauge.lost(), 100);
    }

    #[test]
    fn channels_of_a_microphone_become_one() {
        let (mut pickup, _, mut ends) = rings((48_000, 2), (48_000, 1));
        pickup.take(&[0.5_f32, -0.5, 1.0, 1.0, -1.0, -1.0], Duration::ZERO);
        assert_eq!(all(&mut ends.heard), [0, i16::MAX, i16::MIN]);
    }
}
