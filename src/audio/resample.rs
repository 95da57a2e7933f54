//! Streaming sample-rate conversion of PCM16 mono. Chunks may have any size: the filter keeps its state between them,
//! so their borders are inaudible. Equal rates cost nothing.

use super::polyphase::Polyphase;
use audioadapter_buffers::direct::InterleavedSlice;
use bytes::Bytes;
use rubato::{
    Async, Fft, FixedAsync, FixedSync, Indexing, SincInterpolationParameters, WindowFunction,
};
use std::ops::RangeInclusive;

/// Rates that microphones, speakers and speech models use.
const RATES: RangeInclusive<u32> = 8_000..=48_000;
/// Input samples per step: adds at most 16 ms of latency, and the browser's chunks of 1024 samples leave no remainder.
const BLOCK: usize = 128;
/// For rates with a longer common block the FFT would add too much latency.
const LONGEST_BLOCK: u32 = 512;
/// Short enough for speech, long enough to keep most of the band below the Nyquist frequency.
const WINDOW: WindowFunction = WindowFunction::Blackman2;

/// Converts one stream from one rate to another.
#[derive(Debug)]
pub struct Resampler {
    work: Option<Work>,
}

/// The method of conversion.
#[derive(Debug)]
enum Work {
    Samples(Samples),
    Blocks(Blocks),
}

#[derive(Debug, thiserror::Error)]
pub enum ResampleError {
    #[error("{rate} Hz is not supported; send audio between 8000 and 48000 Hz")]
    Rate { rate: u32 },
    #[error("no resampler from {from} to {to} Hz: {reason}")]
    Setup { from: u32, to: u32, reason: String },
}

impl Resampler {
    pub fn new(from: u32, to: u32) -> Result<Self, ResampleError> {
        if let Some(rate) = [from, to].into_iter().find(|rate| !RATES.contains(rate)) {
            return Err(ResampleError::Rate { rate });
        }
        let work = if from == to { None } else { Some(Work::new(from, to)?) };
        Ok(Self { work })
    }

    /// Converts the next chunk; a few milliseconds stay in the filter until the next chunk or [`Self::finish`].
    pub fn push(&mut self, pcm: &Bytes) -> Bytes {
        match &mut self.work {
            Some(work) => work.push(pcm),
            None => pcm.clone(),
        }
    }

    /// Returns what is left in the filter and resets it for a new stream.
    pub fn finish(&mut self) -> Bytes {
        match &mut self.work {
            Some(work) => work.finish(),
            None => Bytes::new(),
        }
    }
}

impl Work {
    fn new(from: u32, to: u32) -> Result<Self, ResampleError> {
        match Polyphase::new(from, to, greatest_common_divisor(from, to)) {
            Some(engine) => Ok(Self::Samples(Samples::new(engine, from, to))),
            None => Blocks::new(from, to).map(Self::Blocks),
        }
    }

    fn push(&mut self, pcm: &Bytes) -> Bytes {
        match self {
            Self::Samples(samples) => samples.push(pcm),
            Self::Blocks(blocks) => blocks.push(pcm),
        }
    }

    fn finish(&mut self) -> Bytes {
        match self {
            Self::Samples(samples) => samples.finish(),
            Self::Blocks(blocks) => blocks.finish(),
        }
    }
}

/// Sample by sample, for upsampling by a small ratio.
#[derive(Debug)]
struct Samples {
    engine: Polyphase,
    from: u64,
    to: u64,
    taken: u64,
    given: u64,
}

impl Samples {
    fn new(engine: Polyphase, from: u32, to: u32) -> Self {
        Self { engine, from: u64::from(from), to: u64::from(to), taken: 0, given: 0 }
    }

    fn push(&mut self, pcm: &Bytes) -> Bytes {
        let (samples, _) = pcm.as_chunks::<2>();
        self.taken += samples.len() as u64;
        self.convert(samples.iter().map(|sample| i16::from_le_bytes(*sample))).into()
    }

    fn finish(&mut self) -> Bytes {
        let total = (self.taken * self.to).div_ceil(self.from);
        let left = usize::try_from(total - self.given).unwrap_or(0);
        let mut out = self.convert(std::iter::repeat_n(0, self.engine.tail()));
        out.truncate(2 * left);
        self.engine.restart();
        (self.taken, self.given) = (0, 0);
        out.into()
    }

    fn convert(&mut self, samples: impl Iterator<Item = i16>) -> Vec<u8> {
        let made = self.engine.push(samples);
        self.given += (made.len() / 2) as u64;
        made
    }
}

/// With a filter that works on blocks.
#[derive(Debug)]
struct Blocks {
    engine: Engine,
    from: u64,
    to: u64,
    /// Input that does not fill a step yet.
    waiting: Vec<f32>,
    step: Vec<f32>,
    /// Output still to be skipped at the start, because it is only the filter's delay.
    delay_left: usize,
    taken: u64,
    given: u64,
}

impl Blocks {
    fn new(from: u32, to: u32) -> Result<Self, ResampleError> {
        let engine = Engine::new(from, to)?;
        let step = vec![0.0; engine.inner().output_frames_max()];
        let delay_left = engine.inner().output_delay();
        let (from, to) = (u64::from(from), u64::from(to));
        Ok(Self { engine, from, to, waiting: Vec::new(), step, delay_left, taken: 0, given: 0 })
    }

    fn push(&mut self, pcm: &Bytes) -> Bytes {
        let (samples, _) = pcm.as_chunks::<2>();
        self.waiting.extend(samples.iter().map(|sample| f32::from(i16::from_le_bytes(*sample))));
        self.taken += samples.len() as u64;
        let mut out = Vec::with_capacity(self.room_for(self.waiting.len()));
        let mut start = 0;
        while self.waiting.len() - start >= self.engine.inner().input_frames_next() {
            start += self.step(start, None, &mut out);
        }
        self.waiting.drain(..start);
        out.into()
    }

    fn finish(&mut self) -> Bytes {
        let total = (self.taken * self.to).div_ceil(self.from);
        let mut out = Vec::with_capacity(self.room_for(self.waiting.len() + 2 * BLOCK));
        while self.given < total {
            self.step(0, Some(self.waiting.len()), &mut out);
            self.waiting.clear();
        }
        let surplus = usize::try_from(self.given - total).unwrap_or(0);
        out.truncate(out.len().saturating_sub(2 * surplus));
        self.restart();
        out.into()
    }

    /// Converts one step that begins at `start` and returns how much input it used. With `present`, only that many
    /// samples are real, and silence follows them.
    fn step(&mut self, start: usize, present: Option<usize>, out: &mut Vec<u8>) -> usize {
        let used = self.engine.inner().input_frames_next();
        // The buffers have the sizes that rubato asked for. If it fails all the same, silence keeps the timing.
        let made = self.process(start, present).unwrap_or_else(|| {
            self.step.fill(0.0);
            self.step.len()
        });
        let skipped = made.min(self.delay_left);
        self.delay_left -= skipped;
        self.given += (made - skipped) as u64;
        write_pcm(&self.step[skipped..made], out);
        used
    }

    fn process(&mut self, start: usize, present: Option<usize>) -> Option<usize> {
        let indexing = Indexing { partial_len: present, ..Indexing::default() };
        let (input, room) = (&self.waiting[start..], self.step.len());
        let input = InterleavedSlice::new(input, 1, input.len()).ok()?;
        let mut output = InterleavedSlice::new_mut(&mut self.step, 1, room).ok()?;
        let engine = self.engine.inner_mut();
        engine.process_into_buffer(&input, &mut output, Some(&indexing)).ok().map(|(_, made)| made)
    }

    fn restart(&mut self) {
        self.engine.inner_mut().reset();
        self.waiting.clear();
        self.delay_left = self.engine.inner().output_delay();
        (self.taken, self.given) = (0, 0);
    }

    fn room_for(&self, samples: usize) -> usize {
        let made = (samples as u64 * self.to).div_ceil(self.from);
        2 * (usize::try_from(made).unwrap_or(0) + self.step.len())
    }
}

/// The FFT is several times cheaper, but needs rates with a short common block.
#[derive(Debug)]
enum Engine {
    Fft(Box<Fft<f32>>),
    Sinc(Box<Async<f32>>),
}

impl Engine {
    fn new(from: u32, to: u32) -> Result<Self, ResampleError> {
        let (rate_in, rate_out) = (from as usize, to as usize);
        let divisor = greatest_common_divisor(from, to);
        let engine = if from.max(to) / divisor <= LONGEST_BLOCK {
            let unit = (from / divisor) as usize;
            // An even number of units: the filter's delay is half a block and has to be whole samples.
            let block = BLOCK.div_ceil(unit).next_multiple_of(2) * unit;
            Fft::new_custom(rate_in, rate_out, block, 1, 1, WINDOW, FixedSync::Both)
                .map(|fft| Self::Fft(Box::new(fft)))
        } else {
            let parameters = SincInterpolationParameters::new(BLOCK, WINDOW);
            let ratio = f64::from(to) / f64::from(from);
            Async::new_sinc(ratio, 1.0, &parameters, BLOCK, 1, FixedAsync::Input)
                .map(|sinc| Self::Sinc(Box::new(sinc)))
        };
        engine.map_err(|err| ResampleError::Setup { from, to, reason: err.to_string() })
    }

    fn inner(&self) -> &dyn rubato::Resampler<f32> {
        match self {
            Self::Fft(fft) => fft.as_ref(),
            Self::Sinc(sinc) => sinc.as_ref(),
        }
    }

    fn inner_mut(&mut self) -> &mut dyn rubato::Resampler<f32> {
        match self {
            Self::Fft(fft) => fft.as_mut(),
            Self::Sinc(sinc) => sinc.as_mut(),
        }
    }
}

/// Floats of this size have no fraction bits, so adding it rounds, and the low bits of the sum are the integer.
const ROUNDING: f32 = 12_582_912.0;

/// Rounds and clips in a way that compiles to SIMD on every machine.
fn write_pcm(samples: &[f32], out: &mut Vec<u8>) {
    let start = out.len();
    out.resize(start + 2 * samples.len(), 0);
    let (pairs, _) = out[start..].as_chunks_mut::<2>();
    for (pair, sample) in pairs.iter_mut().zip(samples) {
        let high = if *sample > -32_768.0 { *sample } else { -32_768.0 };
        let fitting = if high < 32_767.0 { high } else { 32_767.0 };
        *pair = ((fitting + ROUNDING).to_bits() as u16).to_le_bytes();
    }
}

fn greatest_common_divisor(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::f64::consts::TAU;

    const AMPLITUDE: f64 = 10_000.0;

    #[test]
    fn equal_rates_return_the_same_bytes() {
        let pcm = sine(16_000, 440.0, 1_024);
        let same = Resampler::new(16_000, 16_000).unwrap().push(&pcm);
        assert_eq!(same.as_ptr(), pcm.as_ptr());
    }

    #[test]
    fn sound_of_existing_clients_needs_no_fft() {
        for (from, to) in [(16_000, 24_000), (8_000, 24_000), (8_000, 16_000)] {
            let work = Resampler::new(from, to).unwrap().work;
            assert!(matches!(work, Some(Work::Samples(_))), "{from} to {to}: {work:?}");
        }
    }

    #[test]
    fn sine_stays_a_sine_at_every_pair_of_rates() {
        for (from, to) in [(16_000, 24_000), (24_000, 16_000), (8_000, 48_000), (48_000, 8_000)] {
            check(from, to, 1_024);
        }
        for (from, to) in [(44_100, 24_000), (24_000, 44_100), (16_001, 24_000), (47_999, 8_000)] {
            check(from, to, 960);
        }
    }

    #[test]
    fn pitch_beyond_the_new_rate_is_silenced_not_mirrored() {
        for (from, to, hertz) in
            [(24_000, 16_000, 9_000.0), (48_000, 8_000, 5_000.0), (47_999, 8_000, 6_500.0)]
        {
            let out = samples(&convert(from, to, &sine(from, hertz, from as usize), 2_048));
            let worst = out[500..out.len() - 500]
                .iter()
                .fold(0.0_f64, |worst, sample| worst.max(sample.abs()));
            assert!(worst < 20.0, "{hertz} Hz at {from} -> {to}: {worst} is left");
        }
    }

    #[test]
    fn chunk_size_does_not_change_the_result() {
        let pcm = sine(16_000, 440.0, 16_000);
        let whole = convert(16_000, 24_000, &pcm, pcm.len());
        for chunk in [1, 7, 128, 1_023] {
            assert_eq!(convert(16_000, 24_000, &pcm, 2 * chunk), whole);
        }
    }

    #[test]
    fn samples_are_rounded_and_clipped() {
        let samples = [0.4, -0.6, 32_766.6, 40_000.0, -32_768.4, -1e9, f32::INFINITY, 7.0, -1.0];
        let mut out = Vec::new();
        write_pcm(&samples, &mut out);
        let written: Vec<i16> =
            out.as_chunks::<2>().0.iter().map(|pair| i16::from_le_bytes(*pair)).collect();
        let (most, least) = (i16::MAX, i16::MIN);
        assert_eq!(written, [0, -1, most, most, least, least, most, 7, -1]);
    }

    #[test]
    fn voices_keep_their_band() {
        for (from, to) in [(16_000, 24_000), (8_000, 24_000), (16_000, 48_000), (24_000, 48_000)] {
            // 80 % of the Nyquist frequency of the lower rate.
            let hertz = f64::from(from) * 0.4;
            let out = samples(&convert(from, to, &sine(from, hertz, from as usize), 640));
            let wave = |n: usize| AMPLITUDE * (TAU * hertz * n as f64 / f64::from(to)).sin();
            let inner = to as usize / 20..to as usize * 19 / 20;
            let worst = inner.map(|n| (out[n] - wave(n)).abs()).fold(0.0, f64::max);
            assert!(worst < 30.0, "{from} -> {to}: off by {worst} of {AMPLITUDE}");
        }
    }

    #[test]
    fn microphone_chunks_come_out_at_once() {
        let mut resampler = Resampler::new(16_000, 24_000).unwrap();
        let pcm = sine(16_000, 440.0, 1_024);
        resampler.push(&pcm);
        assert_eq!(resampler.push(&pcm).len(), 2 * 1_536);
    }

    #[test]
    fn finish_makes_it_ready_for_a_new_stream() {
        let pcm = sine(16_000, 440.0, 3_000);
        let mut resampler = Resampler::new(16_000, 24_000).unwrap();
        let first = [resampler.push(&pcm), resampler.finish()].concat();
        let second = [resampler.push(&pcm), resampler.finish()].concat();
        assert_eq!(first, second);
        assert_eq!(resampler.finish().len(), 0);
    }

    #[test]
    fn overshoot_is_clipped_not_wrapped() {
        let high = |n: usize| (n / 20).is_multiple_of(2);
        let square: Bytes = (0..4_000)
            .flat_map(|n| if high(n) { i16::MAX } else { i16::MIN }.to_le_bytes())
            .collect();
        let out = samples(&convert(16_000, 24_000, &square, 640));
        // A half wave has thirty samples; its flanks are not checked.
        let plateaus = (30..5_900).filter(|n| (5..25).contains(&(n % 30)));
        for n in plateaus {
            assert_eq!(out[n] > 0.0, high(n * 2 / 3), "sample {n} is {}", out[n]);
        }
    }

    #[test]
    fn foreign_rates_are_refused() {
        let text = Resampler::new(7_999, 24_000).unwrap_err().to_string();
        assert_eq!(text, "7999 Hz is not supported; send audio between 8000 and 48000 Hz");
        assert!(matches!(Resampler::new(16_000, 0), Err(ResampleError::Rate { rate: 0 })));
    }

    /// Converts a second of 440 Hz and measures everything that is not that sine: clicks, gaps, wrong pitch.
    #[track_caller]
    fn check(from: u32, to: u32, chunk: usize) {
        let out = samples(&convert(from, to, &sine(from, 440.0, from as usize), 2 * chunk));
        assert_eq!(out.len(), to as usize, "{from} -> {to}: one second must stay one second");
        // At the very beginning and end the filter is settling; everything between must be the sine.
        let inner = to as usize / 20..to as usize * 19 / 20;
        let turn = |n: usize| TAU * 440.0 * n as f64 / f64::from(to);
        let mean = |wave: fn(f64) -> f64| {
            let sum: f64 = inner.clone().map(|n| out[n] * wave(turn(n))).sum();
            2.0 * sum / inner.len() as f64
        };
        let (sine, cosine) = (mean(f64::sin), mean(f64::cos));
        assert!((sine.hypot(cosine) - AMPLITUDE).abs() < 20.0, "{from} -> {to}: volume changed");
        let late = cosine.atan2(sine).abs() / turn(1);
        assert!(late < 0.5, "{from} -> {to}: {late} samples late");
        let rest = |n: usize| out[n] - sine * turn(n).sin() - cosine * turn(n).cos();
        let worst = inner.clone().map(|n| rest(n).abs()).fold(0.0, f64::max);
        assert!(worst < 5.0, "{from} -> {to}: off by {worst} of {AMPLITUDE}");
    }

    fn convert(from: u32, to: u32, pcm: &Bytes, chunk: usize) -> Vec<u8> {
        let mut resampler = Resampler::new(from, to).unwrap();
        let mut out = Vec::new();
        for piece in pcm.chunks(chunk) {
            out.extend_from_slice(&resampler.push(&Bytes::copy_from_slice(piece)));
        }
        out.extend_from_slice(&resampler.finish());
        out
    }

    fn sine(rate: u32, hertz: f64, count: usize) -> Bytes {
        let sample =
            |n| (AMPLITUDE * (TAU * hertz * n as f64 / f64::from(rate)).sin()).round() as i16;
        (0..count).flat_map(|n| sample(n).to_le_bytes()).collect()
    }

    fn samples(pcm: &[u8]) -> Vec<f64> {
        pcm.chunks_exact(2).map(|pair| f64::from(i16::from_le_bytes([pair[0], pair[1]]))).collect()
    }
}
