//! Usage of one run. Agents report the size and the cost of their whole conversation. A run's cost is the growth since
//! it began. Its tokens are estimated: every model request sends the conversation again, so each request counts its
//! size. The end of a tool call separates two requests, not its start: some agents report a request only while its
//! tools already run. The estimate is too low for agents that report only at the end of a run.

use crate::message::{Cost, Usage};

/// Belongs to one channel and counts over all its runs.
#[derive(Debug, Default)]
pub(super) struct Meter {
    /// Cost of the conversation by the last report.
    cost: f64,
    /// Cost of the conversation when the run began.
    cost_before: f64,
    /// Tokens of this run's model requests that are over.
    tokens: u64,
    /// Largest size of the conversation reported during the current request.
    request: u64,
    /// The next report is about a new request.
    is_over: bool,
}

impl Meter {
    /// A run begins: it has used nothing, while the cost of the conversation goes on.
    pub(super) fn begin(&mut self) {
        *self = Self { cost: self.cost, cost_before: self.cost, ..Self::default() };
    }

    /// A tool call is done: the model will be asked again.
    pub(super) fn called(&mut self) {
        self.is_over = true;
    }

    /// What the run has used by the newest report.
    pub(super) fn read(&mut self, usage: &Usage) -> Usage {
        if std::mem::take(&mut self.is_over) {
            self.tokens = self.tokens.saturating_add(std::mem::take(&mut self.request));
        }
        // Within one request the conversation only grows, however often its size is reported.
        self.request = self.request.max(usage.used);
        let used = self.tokens.saturating_add(self.request);
        Usage { used, size: usage.size, cost: usage.cost.as_ref().map(|cost| self.own(cost)) }
    }

    fn own(&mut self, cost: &Cost) -> Cost {
        // Costs never fall, so this is a new conversation.
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
        // Reported several times while the answer comes.
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
