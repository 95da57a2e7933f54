//! One reply of a model: what of it waits, what was sent, and how far the user has heard it. Pure: the caller says what
//! time it is.

use super::SPEAKER_RATE;
use super::intake::Intake;
use crate::message::Generation;
use bytes::Bytes;
use std::collections::VecDeque;
use std::time::Duration;
use tokio::time::Instant;

/// A longer piece is sent in packets of this length, so that silence never waits behind a long one.
pub(super) const PACKET: Duration = Duration::from_millis(100);
/// Clients that do not tell what they have played are taken to be so much behind: they buffer before they begin.
const ALLOWANCE: Duration = Duration::from_millis(150);
/// A client that has told what it plays and then says nothing for so long has heard no more than it told.
const SILENT_CLIENT: Duration = Duration::from_secs(3);

/// How fast a model speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pace {
    /// In bursts: its sound is held and sent as it is played.
    Bursts,
    /// As people do: its sound is sent as it comes.
    Speech,
}

/// How far the user has heard a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Played {
    pub samples: u64,
    /// Samples that the model has made of it so far.
    pub made: u64,
    /// There is nothing left to be heard.
    pub over: bool,
    /// A client has told it, so it is no estimate.
    pub told: bool,
    /// When the first piece of it came from the model, left for the client, and was heard.
    pub first_made: Option<Instant>,
    pub first_sent: Option<Instant>,
    pub first_heard: Option<Instant>,
    pub underruns: u64,
}

#[derive(Debug)]
pub(super) struct Reply {
    pub(super) generation: Generation,
    pub(super) pace: Pace,
    pub(super) intake: Intake,
    pub(super) waiting: VecDeque<Bytes>,
    pub(super) held: u64,
    /// Sent, but perhaps not heard: another socket would have to play it again.
    pub(super) unheard: VecDeque<Bytes>,
    pub(super) made: u64,
    pub(super) sent: u64,
    pub(super) finished: bool,
    /// Where this socket began to play it.
    pub(super) base: u64,
    /// What the client has told, and when.
    pub(super) told: Option<(u64, Instant)>,
    /// How far it was heard when it was silenced, as far as nobody tells it better.
    pub(super) silenced: Option<u64>,
    /// When everything sent is played, if it is played from its arrival on.
    pub(super) ends: Option<Instant>,
    /// Who plays it will tell how far.
    pub(super) reported: bool,
    pub(super) underruns: u64,
    pub(super) first_made: Option<Instant>,
    pub(super) first_sent: Option<Instant>,
    pub(super) first_heard: Option<Instant>,
}

impl Reply {
    pub(super) fn new(generation: Generation, pace: Pace, intake: Intake) -> Self {
        Self {
            generation,
            pace,
            intake,
            waiting: VecDeque::new(),
            held: 0,
            unheard: VecDeque::new(),
            made: 0,
            sent: 0,
            finished: false,
            base: 0,
            told: None,
            silenced: None,
            ends: None,
            reported: false,
            underruns: 0,
            first_made: None,
            first_sent: None,
            first_heard: None,
        }
    }

    pub(super) fn take(&mut self, pcm: Bytes, now: Instant) {
        let pcm = self.intake.take(pcm);
        self.push(pcm, now);
        if self.finished {
            self.finish(now);
        }
    }

    pub(super) fn finish(&mut self, now: Instant) {
        self.finished = true;
        let rest = self.intake.finish();
        self.push(rest, now);
    }

    fn push(&mut self, mut pcm: Bytes, now: Instant) {
        if pcm.is_empty() {
            return;
        }
        self.first_made.get_or_insert(now);
        self.made += samples_in(&pcm);
        self.held += samples_in(&pcm);
        let packet = 2 * samples(PACKET) as usize;
        while self.pace == Pace::Bursts && pcm.len() > packet {
            self.waiting.push_back(pcm.split_to(packet));
        }
        self.waiting.push_back(pcm);
    }

    pub(super) fn send(&mut self, now: Instant) -> Option<Bytes> {
        let pcm = self.waiting.pop_front()?;
        let count = samples_in(&pcm);
        self.held -= count;
        self.sent += count;
        self.first_sent.get_or_insert(now);
        self.ends = Some(self.ends.map_or(now, |ends| ends.max(now)) + length(count));
        if self.pace == Pace::Bursts {
            self.unheard.push_back(pcm.clone());
            self.forget_heard(now);
        }
        Some(pcm)
    }

    /// Keeps only what another socket would have to play again.
    pub(super) fn forget_heard(&mut self, now: Instant) {
        let heard = self.heard(now);
        let mut start = self.sent - self.unheard.iter().map(samples_in).sum::<u64>();
        while let Some(first) = self.unheard.front()
            && start + samples_in(first) <= heard
        {
            start += samples_in(first);
            self.unheard.pop_front();
        }
    }

    fn heard(&self, now: Instant) -> u64 {
        match (self.told, self.silenced) {
            (Some((told, _)), _) => told,
            (None, Some(heard)) => heard,
            (None, None) if self.is_report_due(now) => self.base,
            (None, None) => {
                let ends = self.ends.map_or(now, |ends| ends + ALLOWANCE);
                self.sent
                    .saturating_sub(samples(ends.saturating_duration_since(now)))
                    .max(self.base)
            }
        }
    }

    /// A client that has promised to tell what it plays has heard nothing until it does: its network may be slower
    /// than any allowance. One that breaks its promise is judged like those that never made one.
    fn is_report_due(&self, now: Instant) -> bool {
        let waited = |sent: Instant| now.saturating_duration_since(sent);
        self.reported && self.first_sent.is_none_or(|sent| waited(sent) < SILENT_CLIENT)
    }

    pub(super) fn is_over(&self, now: Instant) -> bool {
        let all_sent = self.finished && self.waiting.is_empty();
        let silent = |told: Instant| {
            let since = self.ends.map_or(told, |ends| ends.max(told));
            now.saturating_duration_since(since) >= SILENT_CLIENT
        };
        let all_heard =
            self.heard(now) >= self.sent || self.told.is_some_and(|(_, when)| silent(when));
        self.silenced.is_some() || (all_sent && all_heard)
    }

    pub(super) fn played(&self, now: Instant) -> Played {
        Played {
            samples: self.heard(now),
            made: self.made,
            over: self.is_over(now),
            told: self.told.is_some(),
            first_made: self.first_made,
            first_sent: self.first_sent,
            first_heard: self.first_heard,
            underruns: self.underruns,
        }
    }

    /// Nothing of it is wanted any more.
    pub(super) fn silence(&mut self, now: Instant) {
        let heard = self.heard(now);
        self.silenced.get_or_insert(heard);
        self.waiting.clear();
        self.unheard.clear();
        self.intake = Intake::default();
        // The next reply does not have to wait for the end of this one.
        (self.held, self.finished, self.ends) = (0, true, None);
    }

    /// What was sent but not heard is to be sent again.
    pub(super) fn take_back(&mut self, now: Instant) {
        let heard = self.heard(now);
        let mut start = self.sent - self.unheard.iter().map(samples_in).sum::<u64>();
        let mut again = VecDeque::new();
        for mut pcm in self.unheard.drain(..) {
            let end = start + samples_in(&pcm);
            if end > heard {
                let skipped = usize::try_from(heard.saturating_sub(start)).unwrap_or(0);
                again.push_back(pcm.split_off(2 * skipped));
            }
            start = end;
        }
        let count: u64 = again.iter().map(samples_in).sum();
        self.held += count;
        self.sent -= count;
        again.append(&mut self.waiting);
        self.waiting = again;
        (self.base, self.told, self.ends) = (self.sent, None, None);
    }
}

/// How many samples play in this time.
pub(super) fn samples(time: Duration) -> u64 {
    u64::try_from(time.as_micros() * u128::from(SPEAKER_RATE) / 1_000_000).unwrap_or(u64::MAX)
}

pub(super) fn length(samples: u64) -> Duration {
    Duration::from_nanos(samples.saturating_mul(1_000_000_000) / u64::from(SPEAKER_RATE))
}

fn samples_in(pcm: &Bytes) -> u64 {
    (pcm.len() / 2) as u64
}
