//! Locks the chat when most of the last tool calls have failed, over all turns of the session. Only the user unlocks it.

use std::collections::VecDeque;

/// Calls that are looked back at.
const WINDOW: usize = 10;
/// Failures among them that lock the chat.
const MOST_FAILURES: usize = 8;
/// The same call failing this often in a row: the model is told to do something else.
const REPEATS: usize = 3;

#[derive(Debug, Default)]
pub(super) struct Safety {
    /// True: the call failed or was refused.
    last: VecDeque<bool>,
    /// The call that failed last, and how often in a row.
    failing: Option<(String, usize)>,
    is_locked: bool,
}

/// What follows from a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Alert {
    None,
    /// The same call has failed this often.
    Repeated(usize),
    /// This many of the last calls have failed.
    Locked(usize),
}

impl Safety {
    /// A lock outlives the process, the calls that led to it do not.
    pub(super) fn new(is_locked: bool) -> Self {
        Self { is_locked, ..Self::default() }
    }

    pub(super) fn is_locked(&self) -> bool {
        self.is_locked
    }

    pub(super) fn succeeded(&mut self) {
        self.failing = None;
        self.note(false);
    }

    /// `call` is the tool with its arguments: other arguments make another call.
    pub(super) fn failed(&mut self, call: String) -> Alert {
        let times = match &self.failing {
            Some((last, times)) if *last == call => times + 1,
            Some(_) | None => 1,
        };
        self.failing = Some((call, times));
        self.note(true);
        let failures = self.last.iter().filter(|failed| **failed).count();
        if failures >= MOST_FAILURES {
            self.is_locked = true;
            return Alert::Locked(failures);
        }
        if times >= REPEATS { Alert::Repeated(times) } else { Alert::None }
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

    #[test]
    fn the_third_same_failure_is_told_and_a_success_forgets() {
        let mut safety = Safety::default();
        assert_eq!(safety.failed("a".into()), Alert::None);
        assert_eq!(safety.failed("a".into()), Alert::None);
        assert_eq!(safety.failed("a".into()), Alert::Repeated(3));
        assert_eq!(safety.failed("b".into()), Alert::None);
        safety.succeeded();
        assert_eq!(safety.failed("b".into()), Alert::None);
    }

    #[test]
    fn eight_failures_of_ten_lock() {
        let mut safety = Safety::default();
        for number in 0..7 {
            assert_ne!(safety.failed(number.to_string()), Alert::Locked(8));
        }
        safety.succeeded();
        safety.succeeded();
        assert!(!safety.is_locked());
        assert_eq!(safety.failed("x".into()), Alert::Locked(8));
        assert!(safety.is_locked());
    }

    #[test]
    fn old_failures_do_not_count() {
        let mut safety = Safety::default();
        for number in 0..100 {
            safety.succeeded();
            assert_ne!(safety.failed(number.to_string()), Alert::Locked(8));
            assert!(!safety.is_locked());
        }
    }
}
