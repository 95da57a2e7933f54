//! What was said so far, to be told to a new connection. Bounded: the oldest is forgotten first.

use crate::provider::live::Said;
use std::collections::VecDeque;

const MOST_ENTRIES: usize = 60;
/// Small enough to be sent at once.
const MOST_BYTES: usize = 16_000;

#[derive(Debug, Default)]
pub(in crate::provider::live::remote) struct History {
    said: VecDeque<Said>,
    bytes: usize,
}

impl History {
    pub(in crate::provider::live::remote) fn of(past: &[Said]) -> Self {
        let mut history = Self::default();
        past.iter().for_each(|said| history.keep(said.by_user, &said.text));
        history
    }

    pub(in crate::provider::live::remote) fn keep(&mut self, by_user: bool, text: &str) {
        let text = text.trim();
        if text.is_empty() {
            return;
        }
        self.bytes += text.len();
        self.said.push_back(Said { by_user, text: text.to_owned() });
        while self.said.len() > MOST_ENTRIES || (self.bytes > MOST_BYTES && self.said.len() > 1) {
            self.bytes -= self.said.pop_front().map_or(0, |oldest| oldest.text.len());
        }
    }

    #[cfg(test)]
    pub(in crate::provider::live::remote) fn size(&self) -> usize {
        self.said.len()
    }

    pub(in crate::provider::live::remote) fn said(&mut self) -> &[Said] {
        self.said.make_contiguous()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_is_forgotten_first_and_the_newest_never() {
        let mut history = History::default();
        for number in 0..100 {
            history.keep(number % 2 == 0, &format!(" {number} "));
        }
        assert_eq!(history.said().len(), MOST_ENTRIES);
        assert_eq!(history.said()[0], Said { by_user: true, text: "40".to_owned() });
        history.keep(false, &"x".repeat(2 * MOST_BYTES));
        history.keep(true, "  ");
        assert_eq!(history.said().len(), 1);
    }
}
