//! How long to wait before the next try to connect: longer each time, and never the same for everybody.

use std::time::Duration;

const FIRST: Duration = Duration::from_millis(250);
const LONGEST: Duration = Duration::from_secs(8);

#[derive(Debug, Default)]
pub(super) struct Backoff {
    failures: u32,
}

impl Backoff {
    /// Half of the time is certain, the other half is chance.
    pub(super) fn next(&mut self) -> Duration {
        let full = FIRST.saturating_mul(1 << self.failures.min(10)).min(LONGEST);
        self.failures = self.failures.saturating_add(1);
        // Without chance everybody waits the longest.
        let chance = getrandom::u32().unwrap_or(u32::MAX);
        full / 2 + (full / 2).mul_f64(f64::from(chance) / f64::from(u32::MAX))
    }

    pub(super) fn succeeded(&mut self) {
        self.failures = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_grow_to_a_limit_and_begin_anew_after_a_success() {
        let mut backoff = Backoff::default();
        for expected in [250, 500, 1_000, 2_000, 4_000, 8_000, 8_000, 8_000] {
            let (full, wait) = (Duration::from_millis(expected), backoff.next());
            assert!((full / 2..=full).contains(&wait), "{wait:?} of {full:?}");
        }
        backoff.succeeded();
        assert!(backoff.next() <= FIRST);
    }
}
