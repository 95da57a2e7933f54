//! Which answer every sample belongs to that was handed to the speaker, and how many of each have left it. Speakers take
//! samples in advance, so the two differ.

use super::playout::Generation;
use std::collections::VecDeque;

/// So many answers are remembered; a gateway asks about the newest.
const REMEMBERED: usize = 8;

#[derive(Debug, Default)]
pub(super) struct Ledger {
    /// Handed over and not yet heard, in order; `None` is silence.
    runs: VecDeque<(Option<Generation>, usize)>,
    /// Samples of sound in there.
    on_the_way: usize,
    /// In the order of their generations.
    tallies: VecDeque<Tally>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Tally {
    pub(super) generation: Generation,
    pub(super) played: u64,
    pub(super) gaps: u64,
}

impl Ledger {
    /// One sample was handed over.
    pub(super) fn wrote(&mut self, generation: Option<Generation>) {
        self.on_the_way += usize::from(generation.is_some());
        match self.runs.back_mut() {
            Some((same, samples)) if *same == generation => *samples += 1,
            Some(_) | None => self.runs.push_back((generation, 1)),
        }
    }

    /// So many have been heard.
    pub(super) fn advance(&mut self, mut samples: usize) {
        while samples > 0 {
            let Some((generation, left)) = self.runs.front_mut() else { return };
            let heard = samples.min(*left);
            let generation = *generation;
            *left -= heard;
            samples -= heard;
            if *left == 0 {
                self.runs.pop_front();
            }
            if let Some(generation) = generation {
                self.on_the_way -= heard;
                if let Some(tally) = self.tally(generation) {
                    tally.played += heard as u64;
                }
            }
        }
    }

    /// What was handed over and not heard never will be.
    #[cfg(feature = "mic")]
    pub(super) fn forget_on_the_way(&mut self) {
        self.runs.clear();
        self.on_the_way = 0;
    }

    pub(super) fn on_the_way(&self) -> usize {
        self.on_the_way
    }

    pub(super) fn count_gap(&mut self, generation: Generation) {
        if let Some(tally) = self.tally(generation) {
            tally.gaps += 1;
        }
    }

    /// Samples that were heard, and gaps between them.
    pub(super) fn count(&self, generation: Generation) -> (u64, u64) {
        let known = self.tallies.iter().find(|tally| tally.generation == generation);
        known.map_or((0, 0), |tally| (tally.played, tally.gaps))
    }

    pub(super) fn newest(&self) -> Option<&Tally> {
        self.tallies.back()
    }

    /// `None`: it is older than everything that is remembered.
    fn tally(&mut self, generation: Generation) -> Option<&mut Tally> {
        let at = self.tallies.partition_point(|tally| tally.generation < generation);
        if self.tallies.get(at).is_none_or(|tally| tally.generation != generation) {
            self.tallies.insert(at, Tally { generation, played: 0, gaps: 0 });
        }
        if self.tallies.len() > REMEMBERED {
            self.tallies.pop_front();
            return self.tallies.get_mut(at.checked_sub(1)?);
        }
        self.tallies.get_mut(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn generation(number: u64) -> Generation {
        Generation { life: 0, number }
    }

    #[test]
    fn only_what_was_heard_counts_and_silence_counts_for_nobody() {
        let mut ledger = Ledger::default();
        for part in [Some(1), None, Some(1), Some(2)] {
            (0..10).for_each(|_| ledger.wrote(part.map(generation)));
        }
        ledger.advance(25);
        let heard = *ledger.newest().unwrap();
        assert_eq!((heard.generation, heard.played), (generation(1), 15));
        assert_eq!(ledger.on_the_way(), 15);
        ledger.advance(100);
        assert_eq!(ledger.newest().unwrap().generation, generation(2));
        assert_eq!(ledger.newest().unwrap().played, 10);
        assert_eq!(ledger.on_the_way(), 0);
    }

    #[test]
    #[cfg(feature = "mic")]
    fn what_a_lost_device_had_was_not_heard() {
        let mut ledger = Ledger::default();
        (0..10).for_each(|_| ledger.wrote(Some(generation(1))));
        ledger.advance(4);
        ledger.forget_on_the_way();
        (0..3).for_each(|_| ledger.wrote(Some(generation(1))));
        ledger.advance(100);
        assert_eq!(ledger.count(generation(1)), (7, 0));
    }

    #[test]
    fn only_a_few_answers_are_remembered() {
        let mut ledger = Ledger::default();
        for number in 1..=100 {
            ledger.wrote(Some(generation(number)));
            ledger.advance(1);
        }
        assert_eq!(ledger.tallies.len(), REMEMBERED);
        assert_eq!(ledger.newest().unwrap().generation, generation(100));
        // One that was forgotten does not push out a newer one.
        ledger.count_gap(generation(1));
        assert_eq!(ledger.count(generation(1)), (0, 0));
        assert_eq!(ledger.count(generation(93)), (1, 0));
        assert!(ledger.tallies.iter().all(|tally| tally.generation >= generation(93)));
    }
}
