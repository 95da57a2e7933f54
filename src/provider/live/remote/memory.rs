//! What was said so far, as far as a new connection has to be told. Bounded: the oldest is forgotten first.

use super::protocol::Said;
use std::collections::VecDeque;

const MOST_ENTRIES: usize = 60;
/// About what a person remembers of a conversation, and little enough to be sent at once.
const MOST_BYTES: usize = 16_000;

#[derive(Debug, Default)]
pub(super) struct Memory {
    said: VecDeque<Said>,
    bytes: usize,
}

impl Memory {
    pub(super) fn of(past: &[Said]) -> Self {
        let mut memory = Self::default();
        past.iter().for_each(|said| memory.keep(said.by_user, &said.text));
        memory
    }

    pub(super) fn keep(&mut self, by_user: bool, text: &str) {
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
    pub(super) fn size(&self) -> usize {
        self.said.len()
    }

    pub(super) fn said(&mut self) -> &[Said] {
        self.said.make_contiguous()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_is_forgotten_first_and_the_newest_never() {
        let mut memory = Memory::default();
        for number in 0..100 {
            memory.keep(number % 2 == 0, &format!(" {number} "));
        }
        assert_eq!(memory.said().len(), MOST_ENTRIES);
        assert_eq!(memory.said()[0], Said { by_user: true, text: "40".to_owned() });
        memory.keep(false, &"x".repeat(2 * MOST_BYTES));
        memory.keep(true, "  ");
        assert_eq!(memory.said().len(), 1);
    }
}
