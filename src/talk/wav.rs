//! A sound card made of two files, in real time: what the microphone hears is read from one, and what the speaker plays is
//! written to the other, silence included.

use super::TalkError;
use super::device::{CAPTURE_CAPACITY, Captured, Device, PIECE};
use super::playout::{MILLISECOND, RATE};
use super::speaker::Speaker;
use crate::audio::resample::Resampler;
use crate::task;
use bytes::{Bytes, BytesMut};
use hound::{SampleFormat, WavReader, WavSpec, WavWriter};
use std::fs::File;
use std::io::{BufReader, BufWriter};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

const STEP: Duration = Duration::from_millis(10);
const STEP_SAMPLES: usize = 10 * MILLISECOND;
const OUTPUT: WavSpec = WavSpec {
    channels: 1,
    sample_rate: RATE,
    bits_per_sample: 16,
    sample_format: SampleFormat::Int,
};

/// Two files as a sound card.
#[derive(Debug, Clone)]
pub struct Files {
    pub input: PathBuf,
    pub output: PathBuf,
    /// After the input is over, the conversation ends with so much silence.
    pub tail: Duration,
}

/// Opens both; nothing moves before it is told to begin.
pub(super) fn open(files: &Files, speaker: Arc<Speaker>) -> Result<Device, TalkError> {
    let mistake = |path: &Path, reason: String| TalkError::File { path: path.to_owned(), reason };
    let source = Source::open(&files.input).map_err(|reason| mistake(&files.input, reason))?;
    let sink = WavWriter::create(&files.output, OUTPUT)
        .map_err(|err| mistake(&files.output, err.to_string()))?;
    let (sender, captured) = mpsc::channel(CAPTURE_CAPACITY);
    let (begin, begun) = oneshot::channel();
    let (ending, ended) = oneshot::channel();
    let stop = CancellationToken::new();
    let card = Card { source, sink, speaker, sender, tail: files.tail, waiting: BytesMut::new() };
    let (files, stopped) = (files.clone(), stop.clone());
    task::spawn("talk-wav", async move {
        let played = card.run(begun, stopped).await;
        let result = played.map_err(|wrong| match wrong {
            Wrong::Input(reason) => mistake(&files.input, reason),
            Wrong::Output(reason) => mistake(&files.output, reason),
        });
        // A conversation that is over does not want to know.
        let _ = ending.send(result);
    });
    Ok(Device { captured, begin: Some(begin), stop, ended })
}

#[derive(Debug)]
enum Wrong {
    Input(String),
    Output(String),
}

struct Card {
    source: Source,
    sink: WavWriter<BufWriter<File>>,
    speaker: Arc<Speaker>,
    sender: mpsc::Sender<Captured>,
    tail: Duration,
    /// Sound that does not fill a piece yet.
    waiting: BytesMut,
}

impl Card {
    async fn run(
        mut self,
        begun: oneshot::Receiver<()>,
        stop: CancellationToken,
    ) -> Result<(), Wrong> {
        tokio::select! {
            begun = begun => if begun.is_err() { return self.finish() },
            () = stop.cancelled() => return self.finish(),
        }
        self.give(Captured::Begun);
        let mut clock = interval(STEP);
        // A late step is made up for: what counts is the number of samples.
        clock.set_missed_tick_behavior(MissedTickBehavior::Burst);
        let (mut over, mut quiet) = (false, Duration::ZERO);
        while quiet < self.tail {
            tokio::select! {
                _ = clock.tick() => (),
                () = stop.cancelled() => break,
            }
            self.play()?;
            over |= self.capture(over)?;
            let silent = over && !self.speaker.with(|playout| playout.is_audible());
            quiet = if silent { quiet + STEP } else { Duration::ZERO };
        }
        self.finish()
    }

    fn play(&mut self) -> Result<(), Wrong> {
        let mut block = [0; STEP_SAMPLES];
        self.speaker.with(|playout| playout.render(&mut block));
        self.speaker.advance(block.len());
        let mut written = block.into_iter().map(|sample| self.sink.write_sample(sample));
        written.try_for_each(|done| done).map_err(|err| Wrong::Output(err.to_string()))
    }

    /// True: the file is over. A microphone never is, so silence follows.
    fn capture(&mut self, over: bool) -> Result<bool, Wrong> {
        let sound = if over { None } else { self.source.next().map_err(Wrong::Input)? };
        let ended = !over && sound.is_none();
        self.waiting.extend_from_slice(&sound.unwrap_or_else(|| vec![0; 2 * STEP_SAMPLES].into()));
        while self.waiting.len() >= 2 * PIECE {
            let piece = self.waiting.split_to(2 * PIECE).freeze();
            self.give(Captured::Sound(piece));
        }
        if ended {
            self.give(Captured::Over);
        }
        Ok(ended)
    }

    fn give(&self, captured: Captured) {
        // Full: see CAPTURE_CAPACITY. Closed: the conversation is over, and will say so.
        let _ = self.sender.try_send(captured);
    }

    fn finish(self) -> Result<(), Wrong> {
        self.sink.finalize().map_err(|err| Wrong::Output(err.to_string()))
    }
}

/// A WAV file of any usual form as mono at 24 kHz, a few milliseconds at a time.
struct Source {
    reader: WavReader<BufReader<File>>,
    resampler: Option<Resampler>,
}

impl Source {
    fn open(path: &Path) -> Result<Self, String> {
        let reader = WavReader::open(path).map_err(|err| err.to_string())?;
        let resampler = Resampler::new(reader.spec().sample_rate, RATE);
        Ok(Self { reader, resampler: Some(resampler.map_err(|err| err.to_string())?) })
    }

    /// `None`: that was all.
    fn next(&mut self) -> Result<Option<Bytes>, String> {
        let Some(resampler) = &mut self.resampler else { return Ok(None) };
        let spec = self.reader.spec();
        let frames = spec.sample_rate.div_ceil(100) as usize;
        let samples = read(&mut self.reader, frames * usize::from(spec.channels.max(1)))?;
        if samples.is_empty() {
            let rest = resampler.finish();
            self.resampler = None;
            return Ok((!rest.is_empty()).then_some(rest));
        }
        let mono = samples.chunks(usize::from(spec.channels.max(1)));
        let mean = |frame: &[f32]| frame.iter().sum::<f32>() / frame.len() as f32;
        let pcm: Bytes = mono.flat_map(|frame| (mean(frame) as i16).to_le_bytes()).collect();
        Ok(Some(resampler.push(&pcm)))
    }
}

/// As numbers of the size that 16 bits have.
fn read(reader: &mut WavReader<BufReader<File>>, count: usize) -> Result<Vec<f32>, String> {
    let spec = reader.spec();
    let read: hound::Result<Vec<f32>> = match spec.sample_format {
        SampleFormat::Float => {
            reader.samples::<f32>().take(count).map(|sample| Ok(sample? * 32_767.0)).collect()
        }
        SampleFormat::Int => {
            let scale = f32::from(spec.bits_per_sample) - 16.0;
            let scale = (-scale).exp2();
            reader.samples::<i32>().take(count).map(|sample| Ok(sample? as f32 * scale)).collect()
        }
    };
    read.map_err(|err| err.to_string())
}

#[cfg(test)]
mod tests;
