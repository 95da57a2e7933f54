//! All the work between a card's rings and the conversation: rates, echo, pieces, and the exact position of the speaker.

use super::echo::{self, Echo, FRAME};
use super::ring::{Ends, Gauge};
use crate::audio::resample::{ResampleError, Resampler};
use crate::talk::device::{Captured, PIECE};
use crate::talk::playout::{MILLISECOND, RATE};
use crate::talk::speaker::Speaker;
use crate::talk::{Card, TalkError};
use bytes::{Bytes, BytesMut};
use rtrb::{Consumer, Producer};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TrySendError;

/// What waits for the speaker's callback: late threads are not heard, and a cancel is, soon.
const AHEAD_MS: u32 = 30;
/// Some cards take a lot at once, and some machines are busy: whenever it was too little it becomes more.
const MORE_MS: u32 = 20;
const MOST_AHEAD_MS: u32 = 250;
/// How long one piece sounds.
const PIECE_TIME: Duration = Duration::from_millis(20);
const STEP: usize = 10 * MILLISECOND;

pub(super) struct Rack {
    speaker: Arc<Speaker>,
    captured: mpsc::Sender<Captured>,
    sound: Producer<i16>,
    gauge: Arc<Gauge>,
    output_rate: u32,
    ahead_ms: u32,
    /// What the card had missed when that was decided.
    starved: u64,
    to_card: Resampler,
    /// Samples at 24 kHz of which the playout knows that they were heard.
    told: u64,
    /// Made of what was played and of what was heard.
    tap: Inlet,
    heard: Inlet,
    echo: Option<Echo>,
    to_wire: Resampler,
    piece: BytesMut,
    input_rate: u32,
    /// Samples of the microphone that the card had lost when that was looked at.
    lost: u64,
    /// What was lost and is not told yet.
    untold: Duration,
}

/// A ring's samples as frames of 10 ms at the rate of the echo canceller.
struct Inlet {
    ring: Consumer<i16>,
    resampler: Resampler,
    frame: Vec<i16>,
}

impl Rack {
    pub(super) fn new(
        ends: Ends,
        card: &Card,
        speaker: Arc<Speaker>,
        captured: mpsc::Sender<Captured>,
    ) -> Result<Self, TalkError> {
        let unusable = |err: ResampleError| TalkError::NoDevice(err.to_string());
        let resampler = |from, to| Resampler::new(from, to).map_err(unusable);
        Ok(Self {
            speaker,
            captured,
            to_card: resampler(RATE, ends.output_rate)?,
            tap: Inlet::new(ends.tap, resampler(ends.output_rate, echo::RATE)?),
            heard: Inlet::new(ends.heard, resampler(ends.input_rate, echo::RATE)?),
            sound: ends.sound,
            gauge: ends.gauge,
            output_rate: ends.output_rate,
            ahead_ms: AHEAD_MS,
            starved: 0,
            told: 0,
            echo: card.cancel_echo.then(Echo::new),
            to_wire: resampler(echo::RATE, RATE)?,
            piece: BytesMut::new(),
            input_rate: ends.input_rate,
            lost: 0,
            untold: Duration::ZERO,
        })
    }

    /// Does what is to be done now. What was played has to be known before what was heard.
    pub(super) fn turn(&mut self, listening: bool) {
        self.advance();
        self.feed();
        self.learn();
        self.listen(listening);
    }

    /// The stream to the card has no holes, so a position in it is a position in the playout.
    fn advance(&mut self) {
        let late =
            self.gauge.latency().as_micros() as u64 * u64::from(self.output_rate) / 1_000_000;
        let heard = self.gauge.taken().saturating_sub(late);
        let position = heard * u64::from(RATE) / u64::from(self.output_rate);
        let more = position.saturating_sub(self.told);
        self.told += more;
        self.speaker.advance(usize::try_from(more).unwrap_or(0));
    }

    fn feed(&mut self) {
        let starved = self.gauge.starved();
        if starved > self.starved {
            self.starved = starved;
            self.ahead_ms = (self.ahead_ms + MORE_MS).min(MOST_AHEAD_MS);
        }
        let ahead = (self.output_rate * self.ahead_ms / 1_000) as usize;
        while self.waiting() < ahead {
            let mut block = [0; STEP];
            self.speaker.with(|playout| playout.render(&mut block));
            for sample in samples(&self.to_card.push(&bytes(&block))) {
                // There is room: the ring holds a second.
                let _ = self.sound.push(sample);
            }
        }
    }

    fn waiting(&self) -> usize {
        self.sound.buffer().capacity() - self.sound.slots()
    }

    fn learn(&mut self) {
        self.tap.fill();
        while let Some(frame) = self.tap.next() {
            if let Some(echo) = &mut self.echo {
                echo.played(&frame);
            }
        }
    }

    fn listen(&mut self, listening: bool) {
        let delay = self.gauge.latency() + self.gauge.capture_latency();
        self.heard.fill();
        while let Some(mut frame) = self.heard.next() {
            if let Some(echo) = &mut self.echo {
                echo.clean(&mut frame, delay);
            }
            let sound = self.to_wire.push(&bytes(&frame));
            self.piece.extend_from_slice(&sound);
            while self.piece.len() >= 2 * PIECE {
                let piece = self.piece.split_to(2 * PIECE).freeze();
                if listening {
                    self.hand_over(piece);
                }
            }
        }
        self.tell_lost(listening);
    }

    fn hand_over(&mut self, piece: Bytes) {
        match self.captured.try_send(Captured::Sound(piece)) {
            // See CAPTURE_CAPACITY.
            Err(TrySendError::Full(_)) => self.untold += PIECE_TIME,
            // Closed: the end is near.
            Ok(()) | Err(TrySendError::Closed(_)) => (),
        }
    }

    /// As soon as there is room for that.
    fn tell_lost(&mut self, listening: bool) {
        let lost = self.gauge.lost();
        let more = lost - std::mem::replace(&mut self.lost, lost);
        if listening {
            let micros = more * 1_000_000 / u64::from(self.input_rate);
            self.untold += Duration::from_micros(micros);
        }
        if !self.untold.is_zero() && self.captured.try_send(Captured::Lost(self.untold)).is_ok() {
            self.untold = Duration::ZERO;
        }
    }
}

impl Inlet {
    fn new(ring: Consumer<i16>, resampler: Resampler) -> Self {
        Self { ring, resampler, frame: Vec::new() }
    }

    /// What is there now; a device without a clock would never come to an end.
    fn fill(&mut self) {
        let waiting = self.ring.slots();
        let new: Vec<i16> = (0..waiting).map_while(|_| self.ring.pop().ok()).collect();
        self.frame.extend(samples(&self.resampler.push(&bytes(&new))));
    }

    fn next(&mut self) -> Option<Vec<i16>> {
        (self.frame.len() >= FRAME).then(|| self.frame.drain(..FRAME).collect())
    }
}

fn bytes(samples: &[i16]) -> Bytes {
    samples.iter().flat_map(|sample| sample.to_le_bytes()).collect()
}

fn samples(pcm: &Bytes) -> impl Iterator<Item = i16> {
    pcm.as_chunks::<2>().0.iter().map(|pair| i16::from_le_bytes(*pair))
}

#[cfg(test)]
mod tests;
