//! What one run of an agent has used. Agents report what their whole conversation holds and has cost so far, so a run's
//! own share is how much that has grown since it began.

use crate::message::{Cost, Usage};

/// Of one channel, over all its runs.
#[derive(Debug, Default)]
pub(super) struct Meter {
    /// What the last report said.
    last: Option<Usage>,
    /// What the conversation had cost when the run began.
    cost_before: f64,
    /// Tokens that came into the conversation since then.
    tokens: u64,
}

impl Meter {
    /// A run begins; whoever begins a new conversation reports less than before.
    pub(super) fn begin(&mut self) {
        self.tokens = 0;
        self.cost_before = self.cost();
    }

    /// What the run has used so far, by the newest report.
    pub(super) fn read(&mut self, usage: Usage) -> Usage {
        // Nothing gets cheaper: this is another conversation.
        if usage.cost.as_ref().is_some_and(|cost| cost.amount < self.cost()) {
            (self.last, self.cost_before) = (None, 0.0);
        }
        let before = self.last.as_ref().map_or(0, |last| last.used);
        // A conversation that was shortened holds less; what comes after that is new again.
        self.tokens = self.tokens.saturating_add(usage.used.saturating_sub(before));
        let own = Usage {
            used: self.tokens,
            size: usage.size,
            cost: usage.cost.as_ref().map(|cost| Cost {
                amount: cost.amount - self.cost_before,
                currency: cost.currency.clone(),
            }),
        };
        self.last = Some(usage);
        own
    }

    fn cost(&self) -> f64 {
        self.last.as_ref().and_then(|last| last.cost.as_ref()).map_or(0.0, |cost| cost.amount)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(used: u64, amount: f64) -> Usage {
        let cost = Some(Cost { amount, currency: "USD".to_owned() });
        Usage { used, size: 200_000, cost }
    }

    #[test]
    fn a_run_is_charged_with_what_came_in_it() {
        let mut meter = Meter::default();
        meter.begin();
        assert_eq!(meter.read(report(1_000, 0.5)), report(1_000, 0.5));
        assert_eq!(meter.read(report(3_000, 0.75)), report(3_000, 0.75));
        meter.begin();
        assert_eq!(meter.read(report(3_500, 1.0)), report(500, 0.25));
    }

    #[test]
    fn a_shortened_or_new_conversation_does_not_count_backwards() {
        let mut meter = Meter::default();
        meter.read(report(100_000, 2.0));
        meter.begin();
        meter.read(report(20_000, 2.5));
        assert_eq!(meter.read(report(21_000, 2.75)), report(1_000, 0.75));
        meter.begin();
        assert_eq!(meter.read(report(500, 0.125)), report(500, 0.125), "it began anew");
    }
}
