//! Breakers of one run: an agent that turns in circles is stopped before it costs more than it is worth.

use serde::Deserialize;
use std::collections::VecDeque;

/// Calls that are looked back at.
const WINDOW: usize = 10;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    pub steps: u32,
    pub tokens: u64,
    pub repeats: u32,
    pub failures: usize,
}

/// Which limit was reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tripped {
    /// More tool calls than these.
    Steps(u32),
    /// More tokens than these.
    Tokens(u64),
    /// The same call failed so often in a row.
    Repeats(u32),
    /// So many of the last calls failed.
    Failures(usize),
}

#[derive(Debug)]
pub struct Breaker {
    limits: Limits,
    steps: u32,
    /// True: it failed.
    last: VecDeque<bool>,
    failing: Option<(String, u32)>,
}

impl Breaker {
    pub fn new(limits: Limits) -> Self {
        Self { limits, steps: 0, last: VecDeque::with_capacity(WINDOW), failing: None }
    }

    pub fn called(&mut self) -> Result<(), Tripped> {
        self.steps += 1;
        if self.steps > self.limits.steps { Err(Tripped::Steps(self.limits.steps)) } else { Ok(()) }
    }

    pub fn used(&self, tokens: u64) -> Result<(), Tripped> {
        if tokens > self.limits.tokens { Err(Tripped::Tokens(self.limits.tokens)) } else { Ok(()) }
    }

    pub fn succeeded(&mut self) {
        self.failing = None;
        self.note(false);
    }

    /// `call` is the tool with its input: another input is another call.
    pub fn failed(&mut self, call: &str) -> Result<(), Tripped> {
        let times = match &mut self.failing {
            Some((last, times)) if last == call => {
                *times += 1;
                *times
            }
            Some(_) | None => {
                self.failing = Some((call.to_owned(), 1));
                1
            }
        };
        self.note(true);
        if times >= self.limits.repeats {
            return Err(Tripped::Repeats(times));
        }
        let failures = self.last.iter().filter(|failed| **failed).count();
        if failures >= self.limits.failures { Err(Tripped::Failures(failures)) } else { Ok(()) }
    }

    fn note(&mut self, failed: bool) {
        if self.last.len() == WINDOW {
            self.last.pop_front();
        }
        self.last.push_back(failed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn breaker() -> Breaker {
        Breaker::new(Limits { steps: 3, tokens: 100, repeats: 3, failures: 8 })
    }

    #[test]
    fn steps_and_tokens_are_counted() {
        let mut breaker = breaker();
        for _ in 0..3 {
            assert_eq!(breaker.called(), Ok(()));
        }
        assert_eq!(breaker.called(), Err(Tripped::Steps(3)));
        assert_eq!(breaker.used(100), Ok(()));
        assert_eq!(breaker.used(101), Err(Tripped::Tokens(100)));
    }

    #[test]
    fn the_third_same_failure_trips_and_a_success_forgets() {
        let mut breaker = breaker();
        assert_eq!(breaker.failed("a"), Ok(()));
        assert_eq!(breaker.failed("a"), Ok(()));
        breaker.succeeded();
        assert_eq!(breaker.failed("a"), Ok(()));
        assert_eq!(breaker.failed("b"), Ok(()));
        assert_eq!(breaker.failed("a"), Ok(()));
        assert_eq!(breaker.failed("a"), Ok(()));
        assert_eq!(breaker.failed("a"), Err(Tripped::Repeats(3)));
    }

    #[test]
    fn eight_failures_of_ten_trip() {
        let mut breaker = breaker();
        for n in 0..7 {
            assert_eq!(breaker.failed(&n.to_string()), Ok(()));
            if n % 4 == 0 {
                breaker.succeeded();
            }
        }
        assert_eq!(breaker.failed("last"), Err(Tripped::Failures(8)));
    }
}
