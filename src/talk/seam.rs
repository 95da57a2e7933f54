//! Where the sound of a new connection continues that of the old one. A gateway sends again what it does not know to be
//! heard, and we may have played it meanwhile: what is the same is not played twice, and counted as it is.

use super::playout::{Generation, MILLISECOND};
use bytes::Bytes;
use std::collections::VecDeque;

/// More than any gateway sends ahead of what is played.
const REMEMBERED: usize = 2_000 * MILLISECOND;

#[derive(Debug, Default)]
pub(super) struct Seam {
    /// The answer whose sound came last.
    generation: Option<Generation>,
    /// The last of it.
    recent: VecDeque<i16>,
    /// Samples of it so far.
    total: u64,
    /// Where in it this connection began.
    base: u64,
    /// Samples that are still to be passed over, because we have them.
    known: usize,
    /// Nothing came on this connection yet.
    fresh: bool,
}

impl Seam {
    /// What comes next comes from another socket.
    pub(super) fn reconnected(&mut self) {
        (self.fresh, self.known) = (true, 0);
    }

    /// What is new in this piece.
    pub(super) fn pass(&mut self, generation: Generation, mut pcm: Bytes) -> Bytes {
        let fresh = std::mem::take(&mut self.fresh);
        if self.generation != Some(generation) {
            *self = Self { generation: Some(generation), ..Self::default() };
        } else if fresh {
            self.known = self.overlap(&pcm);
            self.base = self.total - self.known as u64;
        }
        let known = self.known.min(pcm.len() / 2);
        self.known -= known;
        let new = pcm.split_off(2 * known);
        self.remember(&new);
        new
    }

    /// How much was heard of what this connection has brought.
    pub(super) fn heard_here(&self, generation: Generation, played: u64) -> u64 {
        match self.generation == Some(generation) {
            true => played.saturating_sub(self.base),
            false => played,
        }
    }

    /// The shortest that fits: of two possible places the later one claims less.
    fn overlap(&self, pcm: &Bytes) -> usize {
        let (recent, new): (Vec<i16>, Vec<i16>) =
            (self.recent.iter().copied().collect(), samples(pcm).collect());
        let fits = |known: &usize| {
            let old = &recent[recent.len() - known..];
            old.iter().zip(&new).all(|(old, new)| old == new)
        };
        // A single equal sample is nothing but chance.
        (MILLISECOND..=recent.len()).find(fits).unwrap_or(0)
    }

    fn remember(&mut self, pcm: &Bytes) {
        self.total += (pcm.len() / 2) as u64;
        self.recent.extend(samples(pcm));
        let surplus = self.recent.len().saturating_sub(REMEMBERED);
        self.recent.drain(..surplus);
    }
}

fn samples(pcm: &Bytes) -> impl Iterator<Item = i16> {
    pcm.as_chunks::<2>().0.iter().map(|pair| i16::from_le_bytes(*pair))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn generation(number: u64) -> Generation {
        Generation { life: 0, number }
    }

    /// Sound that never repeats itself.
    fn sound(from: u32, to: u32) -> Bytes {
        let sample = |n: u32| (n.wrapping_mul(2_654_435_761) >> 16) as i16;
        (from..to).flat_map(|n| sample(n).to_le_bytes()).collect()
    }

    #[test]
    fn what_is_sent_again_is_passed_over_and_counted() {
        let mut seam = Seam::default();
        assert_eq!(seam.pass(generation(1), sound(0, 9_600)), sound(0, 9_600));
        assert_eq!(seam.heard_here(generation(1), 5_000), 5_000);
        seam.reconnected();
        // It knows that 3,000 were heard, and sends from there on.
        assert_eq!(seam.pass(generation(1), sound(3_000, 5_400)), Bytes::new());
        assert_eq!(seam.pass(generation(1), sound(5_400, 7_800)), Bytes::new());
        assert_eq!(seam.pass(generation(1), sound(7_800, 10_200)), sound(9_600, 10_200));
        assert_eq!(seam.pass(generation(1), sound(10_200, 12_600)), sound(10_200, 12_600));
        assert_eq!(seam.heard_here(generation(1), 10_000), 7_000);
    }

    #[test]
    fn what_goes_on_without_a_repetition_is_all_new() {
        let mut seam = Seam::default();
        seam.pass(generation(1), sound(0, 9_600));
        seam.reconnected();
        assert_eq!(seam.pass(generation(1), sound(20_000, 22_400)), sound(20_000, 22_400));
        assert_eq!(seam.heard_here(generation(1), 9_600), 0, "that was another socket");
        assert_eq!(seam.heard_here(generation(1), 10_000), 400);
    }

    #[test]
    fn another_answer_is_another_matter() {
        let mut seam = Seam::default();
        seam.pass(generation(1), sound(0, 9_600));
        seam.reconnected();
        assert_eq!(seam.pass(generation(2), sound(0, 2_400)), sound(0, 2_400));
        assert_eq!(seam.heard_here(generation(2), 100), 100);
        // The next piece belongs to the same connection.
        assert_eq!(seam.pass(generation(2), sound(0, 2_400)), sound(0, 2_400));
    }

    #[test]
    fn silence_claims_the_least() {
        let mut seam = Seam::default();
        let silence = Bytes::from(vec![0; 9_600]);
        seam.pass(generation(1), silence.clone());
        seam.reconnected();
        assert_eq!(seam.pass(generation(1), silence).len(), 9_600 - 2 * MILLISECOND);
        assert!(seam.heard_here(generation(1), 4_800) <= MILLISECOND as u64);
    }
}
