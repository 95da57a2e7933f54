//! Time and usage of several runs together.

use crate::message::{Cost, Usage};

#[derive(Debug, Clone, Default, PartialEq)]
pub(in crate::session) struct Spent {
    /// `None`: there was no run.
    pub(in crate::session) seconds: Option<f64>,
    /// As far as agents report it.
    pub(in crate::session) usage: Option<Usage>,
}

impl Spent {
    pub(in crate::session) fn add(&mut self, seconds: f64, usage: Option<&Usage>) {
        self.seconds = Some(self.seconds.unwrap_or(0.0) + seconds);
        let Some(more) = usage else { return };
        self.usage = Some(match self.usage.take() {
            Some(before) => Usage {
                used: before.used.saturating_add(more.used),
                size: more.size,
                cost: sum(before.cost, more.cost.as_ref()),
            },
            None => more.clone(),
        });
    }
}

/// Two currencies have no sum: the newer cost replaces the older one.
fn sum(before: Option<Cost>, more: Option<&Cost>) -> Option<Cost> {
    match (before, more) {
        (Some(before), Some(more)) if before.currency == more.currency => {
            Some(Cost { amount: before.amount + more.amount, ..before })
        }
        (before, more) => more.cloned().or(before),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usage(used: u64, cost: Option<(f64, &str)>) -> Usage {
        let cost = cost.map(|(amount, currency)| Cost { amount, currency: currency.to_owned() });
        Usage { used, size: 100, cost }
    }

    #[test]
    fn what_is_told_is_summed_and_what_is_not_told_takes_nothing_away() {
        let mut spent = Spent::default();
        spent.add(1.5, None);
        assert_eq!(spent, Spent { seconds: Some(1.5), usage: None });
        spent.add(1.0, Some(&usage(10, Some((0.5, "USD")))));
        spent.add(1.0, Some(&usage(20, None)));
        spent.add(1.0, Some(&usage(30, Some((0.25, "USD")))));
        assert_eq!(spent.seconds, Some(4.5));
        assert_eq!(spent.usage, Some(usage(60, Some((0.75, "USD")))));
        spent.add(0.0, Some(&usage(0, Some((9.0, "JPY")))));
        assert_eq!(spent.usage, Some(usage(60, Some((9.0, "JPY")))));
    }
}
