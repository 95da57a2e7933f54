//! Upsamples by a small ratio, such as 16 to 24 kHz, with a polyphase filter. It is a few times cheaper than FFT: every
//! output sample is a short sum of products of 16-bit integers, which every machine computes eight at a time without
//! conversions or shuffles.

use std::f64::consts::PI;

/// Input samples used for one output sample.
const TAPS: usize = 32;
/// How many of the input samples come after the output sample.
const AHEAD: usize = TAPS / 2;
/// Shape of the Kaiser window: aliases are 70 dB below the signal.
const BETA: f64 = 6.76;
/// Fraction bits of a weight. With more bits the sum of the loudest samples could overflow 32 bits.
const FRACTION: u32 = 14;
/// Limits of the ratio; for larger ones this filter is not worth it.
const MOST_UP: u32 = 6;
const MOST_DOWN: u32 = 2;

/// Converts one stream to a higher rate.
#[derive(Debug)]
pub(super) struct Polyphase {
    /// One round makes `up` output samples from `down` input samples.
    up: usize,
    down: usize,
    /// One phase for each output sample of a round.
    phases: Vec<Phase>,
    /// Input that later outputs still need, or that does not fill a round yet.
    waiting: Vec<i16>,
}

/// How one output sample of a round is computed.
#[derive(Debug)]
struct Phase {
    /// Index of the first input sample it uses, relative to the start of the round.
    first: usize,
    /// `None`: the output falls on that input sample and is copied.
    weights: Option<[i16; TAPS]>,
}

impl Polyphase {
    /// `None`: this filter does not support the ratio.
    pub(super) fn new(from: u32, to: u32, divisor: u32) -> Option<Self> {
        let (up, down) = (to / divisor, from / divisor);
        if up <= down || up > MOST_UP || down > MOST_DOWN {
            return None;
        }
        let (up, down) = (up as usize, down as usize);
        let phases = (0..up).map(|number| Phase::new(number, up, down)).collect();
        let mut resampler = Self { up, down, phases, waiting: Vec::new() };
        resampler.restart();
        Some(resampler)
    }

    /// Converts all complete rounds to PCM16.
    pub(super) fn push(&mut self, samples: impl Iterator<Item = i16>) -> Vec<u8> {
        self.waiting.extend(samples);
        let rounds = (self.waiting.len() + 1).saturating_sub(TAPS + self.down - 1) / self.down;
        let mut made = vec![0; 2 * rounds * self.up];
        // A constant round length in each call lets the compiler unroll the loop over the phases.
        match self.up {
            2 => self.make::<4>(&mut made),
            3 => self.make::<6>(&mut made),
            4 => self.make::<8>(&mut made),
            5 => self.make::<10>(&mut made),
            _ => self.make::<12>(&mut made),
        }
        self.waiting.drain(..rounds * self.down);
        made
    }

    /// Samples of silence that flush all remaining input.
    pub(super) fn tail(&self) -> usize {
        AHEAD + self.down
    }

    pub(super) fn restart(&mut self) {
        self.waiting.clear();
        self.waiting.resize(AHEAD - 1, 0);
    }

    /// `ROUND` is the number of output bytes in one round.
    fn make<const ROUND: usize>(&self, made: &mut [u8]) {
        let (rounds, _) = made.as_chunks_mut::<ROUND>();
        for (round, place) in rounds.iter_mut().enumerate() {
            let (places, _) = place.as_chunks_mut::<2>();
            for (phase, place) in self.phases.iter().zip(places) {
                let inputs = &self.waiting[round * self.down + phase.first..];
                *place = phase.sample(inputs).to_le_bytes();
            }
        }
    }
}

impl Phase {
    /// Windowed sinc interpolation at the position between two input samples.
    fn new(number: usize, up: usize, down: usize) -> Self {
        let (first, rest) = (number * down / up, number * down % up);
        if rest == 0 {
            return Self { first: first + AHEAD - 1, weights: None };
        }
        let between = rest as f64 / up as f64;
        let weight = |tap: usize| {
            let distance = tap as f64 - (AHEAD - 1) as f64 - between;
            let sinc = (PI * distance).sin() / (PI * distance);
            let edge = distance / AHEAD as f64;
            sinc * bessel(BETA * (1.0 - edge * edge).max(0.0).sqrt()) / bessel(BETA)
        };
        let whole: f64 = (0..TAPS).map(weight).sum();
        let one = f64::from(1 << FRACTION);
        let weights = std::array::from_fn(|tap| (weight(tap) / whole * one).round() as i16);
        Self { first, weights: Some(weights) }
    }

    #[inline]
    fn sample(&self, inputs: &[i16]) -> i16 {
        let Some(weights) = &self.weights else { return inputs.first().copied().unwrap_or(0) };
        let Some(inputs) = inputs.first_chunk::<TAPS>() else { return 0 };
        let products = inputs
            .iter()
            .zip(weights)
            .map(|(input, weight)| i32::from(*input) * i32::from(*weight));
        let rounded = (products.sum::<i32>() + (1 << (FRACTION - 1))) >> FRACTION;
        rounded.clamp(i16::MIN.into(), i16::MAX.into()) as i16
    }
}

/// The modified Bessel function of order zero.
fn bessel(x: f64) -> f64 {
    let mut term = 1.0;
    let mut total = 1.0;
    for n in 1..30 {
        term *= (x / (2.0 * f64::from(n))).powi(2);
        total += term;
    }
    total
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loudest_sums_fit() {
        for (up, down) in [(2, 1), (3, 1), (3, 2), (4, 1), (5, 1), (5, 2), (6, 1)] {
            for number in 0..up {
                let Some(weights) = Phase::new(number, up, down).weights else { continue };
                let loudest: i64 =
                    weights.iter().map(|weight| i64::from(*weight).abs() << 15).sum();
                assert!(loudest < i64::from(i32::MAX) - (1 << FRACTION), "{up}/{down}: {loudest}");
                let whole: i32 = weights.iter().map(|weight| i32::from(*weight)).sum();
                assert!((whole - (1 << FRACTION)).abs() <= 8, "{up}/{down}: {whole}");
            }
        }
    }
}
