//! What one run of an agent has used. Agents report how much their conversation holds and has cost so far. A run's own
//! cost is how much that has grown since it began. Its tokens are estimated: every request to the model sends the whole
//! conversation again, so each request has taken what the conversation held after it. What a tool has come to is the
//! next request; some report one only while its tools run already. Who reports only at the end of a run has taken more than that tells.

use crate::message::{Cost, Usage};

/// Of one channel, over all its runs.
#[derive(Debug, Default)]
pub(in crate::session) struct Meter {
    /// What the conversation has cost by the last report.
    cost: f64,
    /// What it had cost when the run began.
    cost_before: f64,
    /// Tokens of the requests to the model that are over.
    tokens: u64,
    /// What the conversation holds with the request that goes on.
    request: u64,
    /// The next report is about another request.
    is_over: bool,
}

impl Meter {
    /// A run begins.
    pub(super) fn begin(&mut self) {
        *self = Self { cost: self.cost, cost_before: self.cost, ..Self::default() };
    }

    /// A tool is done: the model will be asked again.
    pub(in crate::session) fn called(&mut self) {
        self.is_over = true;
    }

    /// What the run has used so far, by the newest report.
    pub(super) fn read(&mut self, usage: &Usage) -> Usage {
        if std::mem::take(&mut self.is_over) {
            self.tokens = self.tokens.saturating_add(std::mem::take(&mut self.request));
        }
        // Within a request the conversation only grows, however often that is told.
        self.request = self.request.max(usage.used);
        let used = self.tokens.saturating_add(self.request);
        Usage { used, size: usage.size, cost: usage.cost.as_ref().map(|cost| self.own(cost)) }
    }

    fn own(&mut self, cost: &Cost) -> Cost {
        // Nothing gets cheaper: this is another conversation.
        if cost.amount < self.cost {
            self.cost_before = 0.0;
        }
        self.cost = cost.amount;
        Cost { amount: cost.amount - self.cost_before, currency: cost.currency.clone() }
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
    fn each_request_takes_the_whole_conversation_again() {
        let mut meter = Meter::default();
        meter.begin();
        // Told while the answer comes.
        assert_eq!(meter.read(&report(1_000, 0.5)), report(1_000, 0.5));
        assert_eq!(meter.read(&report(1_200, 0.5)), report(1_200, 0.5));
        assert_eq!(meter.read(&report(1_200, 0.5)), report(1_200, 0.5));
        meter.called();
        meter.called();
        assert_eq!(meter.read(&report(2_000, 0.75)), report(3_200, 0.75));
        meter.called();
        assert_eq!(meter.read(&report(2_500, 1.0)), report(5_700, 1.0));
        meter.begin();
        assert_eq!(meter.read(&report(2_600, 1.25)), report(2_600, 0.25));
    }

    #[test]
    fn a_shortened_or_new_conversation_does_not_count_backwards() {
        let mut meter = Meter::default();
        meter.read(&report(100_000, 2.0));
        meter.begin();
        meter.read(&report(110_000, 2.5));
        meter.called();
        assert_eq!(meter.read(&report(20_000, 2.75)), report(130_000, 0.75));
        meter.begin();
        assert_eq!(meter.read(&report(500, 0.125)), report(500, 0.125), "it began anew");
    }
}
