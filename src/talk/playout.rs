//! The speaker's side of a conversation, sample by sample at 24 kHz: gathers a little before it starts, goes on as long as
//! there is sound, never stops with a click, and knows how much of each answer has really left the speaker. Pure: time
//! is the number of samples that were asked for.

use super::ledger::Ledger;
use bytes::Bytes;
use std::collections::VecDeque;

/// What every gateway sends.
pub(super) const RATE: u32 = 24_000;
/// Samples in a millisecond.
pub(super) const MILLISECOND: usize = RATE as usize / 1_000;
/// Sound is gathered for this long before it starts, so that the next piece may be late.
const START: usize = 100 * MILLISECOND;
/// More is gathered after every gap, and a little less after every answer without one.
const GROWTH: usize = 40 * MILLISECOND;
const RELIEF: usize = 20 * MILLISECOND;
const LONGEST_START: usize = 500 * MILLISECOND;
/// From full volume to silence: too short to be heard as a fade, too long to be heard as a click.
const FADE: usize = 8 * MILLISECOND;
/// A pause that is longer than this is one of the speaker, not of the network.
const LONGEST_GAP: usize = 1_000 * MILLISECOND;
/// So much sound waits at most: a gateway without pacing sends a whole answer at once. Full: what comes is not taken.
const CAPACITY: usize = 600_000 * MILLISECOND;
/// A sample beyond this can be heard; below it are the noise of converters and the digital silence.
const AUDIBLE: u16 = 100;
/// The room goes on sounding for a while after the speaker.
const REVERBERATION: usize = 300 * MILLISECOND;

/// Which answer a piece of sound belongs to. Gateways count from one; one that was started again counts anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Generation {
    /// Which life of the gateway has counted.
    pub(super) life: u32,
    pub(super) number: u64,
}

/// How far an answer was played.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Progress {
    pub(super) generation: Generation,
    /// Samples that have left the speaker.
    pub(super) played: u64,
    /// What is still to be heard, of this answer and of later ones.
    pub(super) left_ms: u64,
    /// How often it fell silent because nothing was there in time.
    pub(super) gaps: u64,
}

/// Whether a piece of sound was taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Taken {
    Waiting,
    /// Everything up to its generation was cancelled.
    Stale,
    Full,
}

#[derive(Debug)]
pub(super) struct Playout {
    queue: VecDeque<Piece>,
    /// Samples in the queue.
    waiting: usize,
    /// The last samples of what was cancelled, fading.
    tail: VecDeque<i16>,
    tail_of: Option<Generation>,
    tail_gain: f32,
    phase: Phase,
    gain: f32,
    start: usize,
    /// Sound up to this generation is not wanted any more.
    stale: Option<Generation>,
    ledger: Ledger,
    /// Samples until the room is silent.
    reverberation: usize,
    peak: u16,
}

#[derive(Debug)]
struct Piece {
    generation: Generation,
    pcm: Bytes,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Nothing to play, for so many samples since this generation ran dry.
    Quiet {
        since: Option<(Generation, usize)>,
    },
    Gathering {
        waited: usize,
    },
    Playing,
}

impl Default for Playout {
    fn default() -> Self {
        Self {
            queue: VecDeque::new(),
            waiting: 0,
            tail: VecDeque::new(),
            tail_of: None,
            tail_gain: 0.0,
            phase: Phase::Quiet { since: None },
            gain: 1.0,
            start: START,
            stale: None,
            ledger: Ledger::default(),
            reverberation: 0,
            peak: 0,
        }
    }
}

impl Playout {
    /// Takes the next piece of an answer.
    pub(super) fn push(&mut self, generation: Generation, pcm: Bytes) -> Taken {
        if self.stale.is_some_and(|stale| generation <= stale) {
            return Taken::Stale;
        }
        let samples = pcm.len() / 2;
        if self.waiting + samples > CAPACITY {
            return Taken::Full;
        }
        if samples == 0 {
            return Taken::Waiting;
        }
        if let Phase::Quiet { since } = self.phase {
            self.resume(generation, since);
        }
        self.queue.push_back(Piece { generation, pcm });
        self.waiting += samples;
        Taken::Waiting
    }

    /// What ran dry and goes on was a gap; anything else begins at full volume, as it was made.
    fn resume(&mut self, generation: Generation, dry: Option<(Generation, usize)>) {
        self.phase = Phase::Gathering { waited: 0 };
        self.gain = 1.0;
        match dry {
            Some((same, silent)) if same == generation && silent < LONGEST_GAP => {
                self.ledger.count_gap(generation);
                self.start = (self.start + GROWTH).min(LONGEST_START);
                self.gain = 0.0;
            }
            Some((before, _)) if before != generation && self.ledger.count(before).1 == 0 => {
                self.start = self.start.saturating_sub(RELIEF).max(START);
            }
            Some(_) | None => (),
        }
    }

    /// Stops everything up to this generation. What follows it is kept.
    pub(super) fn cancel(&mut self, generation: Generation) {
        self.stale = self.stale.max(Some(generation));
        self.drop_while(|piece| piece.generation <= generation);
    }

    /// Stops what is there. Whatever comes next is wanted.
    pub(super) fn silence(&mut self) {
        self.drop_while(|_| true);
    }

    fn drop_while(&mut self, unwanted: impl Fn(&Piece) -> bool) {
        if self.queue.front().is_none_or(|piece| !unwanted(piece)) {
            return;
        }
        if self.phase == Phase::Playing && self.tail.is_empty() {
            self.tail_of = self.queue.front().map(|piece| piece.generation);
            let fading = self.queue.iter().take_while(|piece| unwanted(piece));
            self.tail = fading.flat_map(Piece::iter).take(FADE).collect();
            self.tail_gain = self.gain;
        }
        self.queue.retain(|piece| !unwanted(piece));
        self.waiting = self.queue.iter().map(Piece::samples).sum();
        self.phase = match self.queue.is_empty() {
            true => Phase::Quiet { since: None },
            false => Phase::Gathering { waited: 0 },
        };
        // What comes next is another sound.
        self.gain = 1.0;
    }

    /// The next samples for the speaker: sound if there is any, silence otherwise.
    pub(super) fn render(&mut self, out: &mut [i16]) {
        for sample in out {
            *sample = self.next();
            let level = sample.unsigned_abs();
            self.peak = self.peak.max(level);
            self.reverberation = self.reverberation.saturating_sub(1);
            if level > AUDIBLE {
                self.reverberation = REVERBERATION;
            }
        }
    }

    fn next(&mut self) -> i16 {
        if let Some(sample) = self.tail.pop_front() {
            self.tail_gain = (self.tail_gain - 1.0 / FADE as f32).max(0.0);
            self.ledger.wrote(self.tail_of);
            if self.tail_gain == 0.0 {
                self.tail.clear();
            }
            return scaled(sample, self.tail_gain);
        }
        match self.phase {
            Phase::Quiet { since } => {
                self.phase = Phase::Quiet { since: since.map(|(of, long)| (of, long + 1)) };
            }
            Phase::Gathering { waited } if waited + 1 < self.start && self.waiting < self.start => {
                self.phase = Phase::Gathering { waited: waited + 1 };
            }
            Phase::Gathering { .. } | Phase::Playing => return self.play(),
        }
        self.ledger.wrote(None);
        0
    }

    /// Volume follows how much is left, so that running dry is a fade, and so is going on after it.
    fn play(&mut self) -> i16 {
        let Some((generation, sample)) = self.pop() else {
            self.phase = Phase::Quiet { since: None };
            self.ledger.wrote(None);
            return 0;
        };
        let target = (self.waiting as f32 / FADE as f32).min(1.0);
        self.gain = target.min(self.gain + 1.0 / FADE as f32);
        self.ledger.wrote(Some(generation));
        self.phase = match self.waiting {
            0 => Phase::Quiet { since: Some((generation, 0)) },
            _ => Phase::Playing,
        };
        scaled(sample, self.gain)
    }

    fn pop(&mut self) -> Option<(Generation, i16)> {
        let piece = self.queue.front_mut()?;
        let pair = piece.pcm.split_to(2);
        let found = (piece.generation, i16::from_le_bytes([pair[0], pair[1]]));
        self.waiting -= 1;
        if piece.samples() == 0 {
            self.queue.pop_front();
        }
        Some(found)
    }

    /// So many of the rendered samples have left the speaker. True: that was the last sound for now.
    pub(super) fn advance(&mut self, samples: usize) -> bool {
        let before = self.left();
        self.ledger.advance(samples);
        before > 0 && self.left() == 0
    }

    /// The device is gone with what it was given.
    #[cfg(feature = "mic")]
    pub(super) fn forget_on_the_way(&mut self) {
        self.ledger.forget_on_the_way();
    }

    /// Samples of sound that are still to be heard.
    fn left(&self) -> usize {
        self.waiting + self.tail.len() + self.ledger.on_the_way()
    }

    /// The answer that was heard last.
    pub(super) fn progress(&self) -> Option<Progress> {
        self.ledger.newest().map(|tally| self.progress_of(tally.generation))
    }

    /// Of one that nobody has heard, nothing was played.
    pub(super) fn progress_of(&self, generation: Generation) -> Progress {
        let (played, gaps) = self.ledger.count(generation);
        Progress { generation, played, left_ms: self.left().div_ceil(MILLISECOND) as u64, gaps }
    }

    /// Whether there is sound on its way to the ear.
    pub(super) fn is_busy(&self) -> bool {
        self.left() > 0
    }

    /// Whether a microphone in the same room would hear the speaker.
    pub(super) fn is_audible(&self) -> bool {
        self.reverberation > 0
    }

    /// The loudest sample since this was asked last.
    pub(super) fn take_peak(&mut self) -> u16 {
        std::mem::take(&mut self.peak)
    }
}

impl Piece {
    fn samples(&self) -> usize {
        self.pcm.len() / 2
    }

    fn iter(&self) -> impl Iterator<Item = i16> {
        self.pcm.as_chunks::<2>().0.iter().map(|pair| i16::from_le_bytes(*pair))
    }
}

fn scaled(sample: i16, gain: f32) -> i16 {
    (f32::from(sample) * gain) as i16
}

#[cfg(test)]
mod tests;
