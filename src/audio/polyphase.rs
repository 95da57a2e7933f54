//! From a lower rate to a higher one of a small ratio, such as 16 to 24 kHz, sample by sample: a few times cheaper than
//! by FFT, because every output sample is a short sum, and sums of neighbours are made together.

use std::f64::consts::PI;

/// Input samples that make up one output sample.
const TAPS: usize = 32;
/// Half of them come after it.
const AHEAD: usize = TAPS / 2;
/// Of the Kaiser window: what does not belong there is 70 dB below what does.
const BETA: f64 = 6.76;
/// Sums that are made together: what the compiler turns into a few instructions on every machine.
const LANES: usize = 32;
/// More samples than this in one round of the ratio are not worth it.
const MOST_UP: u32 = 6;
const MOST_DOWN: u32 = 2;

/// Turns one stream of one rate into a higher one.
#[derive(Debug)]
pub(super) struct Polyphase {
    /// So many output samples for so many of the input.
    up: usize,
    down: usize,
    /// Of each output sample in a round.
    sums: Vec<Vec<Term>>,
    /// Input that is still needed, or does not fill a round yet.
    waiting: Vec<f32>,
    /// The same by its place in a round, so that neighbouring rounds are neighbours.
    columns: Vec<f32>,
    made: Vec<f32>,
}

/// One input sample's part in an output sample.
#[derive(Debug)]
struct Term {
    column: usize,
    row: usize,
    weight: f32,
}

impl Polyphase {
    /// `None`: not for such rates.
    pub(super) fn new(from: u32, to: u32, divisor: u32) -> Option<Self> {
        let (up, down) = (to / divisor, from / divisor);
        if up <= down || up > MOST_UP || down > MOST_DOWN {
            return None;
        }
        let (up, down) = (up as usize, down as usize);
        let sums = (0..up).map(|phase| sum(phase, up, down)).collect();
        let mut resampler =
            Self { up, down, sums, waiting: Vec::new(), columns: Vec::new(), made: Vec::new() };
        resampler.restart();
        Some(resampler)
    }

    /// What can be made of the stream so far.
    pub(super) fn push(&mut self, samples: impl Iterator<Item = f32>) -> &[f32] {
        self.waiting.extend(samples);
        let rounds = (self.waiting.len() + 1).saturating_sub(TAPS + self.down - 1) / self.down;
        let height = self.arrange(rounds);
        self.made.resize(rounds * self.up, 0.0);
        let mut block = [[0.0; LANES]; MOST_UP as usize];
        for first in (0..rounds).step_by(LANES) {
            for (lanes, sum) in block.iter_mut().zip(&self.sums) {
                *lanes = add_up(sum, &self.columns, height, first);
            }
            let place = &mut self.made[first * self.up..];
            match self.up {
                2 => weave::<2>(&block, place),
                3 => weave::<3>(&block, place),
                4 => weave::<4>(&block, place),
                5 => weave::<5>(&block, place),
                _ => weave::<6>(&block, place),
            }
        }
        self.waiting.drain(..rounds * self.down);
        &self.made
    }

    /// So many samples of silence make everything come out that was put in.
    pub(super) fn tail(&self) -> usize {
        AHEAD + self.down
    }

    pub(super) fn restart(&mut self) {
        self.waiting.clear();
        self.waiting.resize(AHEAD - 1, 0.0);
    }

    /// How long a column is.
    fn arrange(&mut self, rounds: usize) -> usize {
        let height = rounds.next_multiple_of(LANES) + TAPS;
        self.columns.clear();
        self.columns.resize(self.down * height, 0.0);
        let (even, odd) = self.columns.split_at_mut(height);
        if self.down == 1 {
            let count = height.min(self.waiting.len());
            even[..count].copy_from_slice(&self.waiting[..count]);
            return height;
        }
        let (pairs, last) = self.waiting.as_chunks::<2>();
        for ((even, odd), pair) in even.iter_mut().zip(odd).zip(pairs) {
            (*even, *odd) = (pair[0], pair[1]);
        }
        if let (Some(place), [last]) = (even.get_mut(pairs.len()), last) {
            *place = *last;
        }
        height
    }
}

/// How one output sample of a round is made: as if the input were continuous, and looked at between its samples.
fn sum(phase: usize, up: usize, down: usize) -> Vec<Term> {
    let (first, rest) = (phase * down / up, phase * down % up);
    if rest == 0 {
        let at = first + AHEAD - 1;
        return vec![Term { column: at % down, row: at / down, weight: 1.0 }];
    }
    let between = rest as f64 / up as f64;
    let weight = |tap: usize| {
        let distance = tap as f64 - (AHEAD - 1) as f64 - between;
        let sinc = (PI * distance).sin() / (PI * distance);
        let edge = distance / AHEAD as f64;
        sinc * bessel(BETA * (1.0 - edge * edge).max(0.0).sqrt()) / bessel(BETA)
    };
    let whole: f64 = (0..TAPS).map(weight).sum();
    let term = |tap: usize| {
        let at = first + tap;
        Term { column: at % down, row: at / down, weight: (weight(tap) / whole) as f32 }
    };
    (0..TAPS).map(term).collect()
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

/// Output samples of neighbouring rounds in the order of the stream, as far as there is room for them.
fn weave<const UP: usize>(block: &[[f32; LANES]; MOST_UP as usize], place: &mut [f32]) {
    let (rounds, _) = place.as_chunks_mut::<UP>();
    for (lane, round) in rounds.iter_mut().take(LANES).enumerate() {
        for (sample, lanes) in round.iter_mut().zip(block) {
            *sample = lanes[lane];
        }
    }
}

/// The same output sample of neighbouring rounds.
fn add_up(sum: &[Term], columns: &[f32], height: usize, first: usize) -> [f32; LANES] {
    let mut lanes = [0.0; LANES];
    for term in sum {
        let start = term.column * height + first + term.row;
        let Some(inputs) = columns[start..].first_chunk::<LANES>() else { return lanes };
        for (lane, input) in lanes.iter_mut().zip(inputs) {
            *lane += input * term.weight;
        }
    }
    lanes
}
