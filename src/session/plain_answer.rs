//! Answers to agents' questions in plain words, for frontends without a dialog. A word alone answers the only question
//! there is; with several it has to say which one, because nobody can know which of them its user has read.

use super::actor::Session;
use super::journal::Step;
use crate::message::{AgentSlot, Channel, Confirmed, DecidedBy, Event, Notice};

/// What counts as an answer, without regard to case.
const YES: [&str; 3] = ["y", "yes", "\u{306f}\u{3044}"];
const NO: [&str; 3] = ["n", "no", "\u{3044}\u{3044}\u{3048}"];
/// Digits as they are typed together with kana.
const WIDE_ZERO: u32 = 0xff10;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PlainAnswer {
    confirmed: Confirmed,
    /// Which question, if that was said.
    number: Option<u32>,
}

impl PlainAnswer {
    /// `None`: this is a text like any other.
    fn read(text: &str) -> Option<Self> {
        let text: String = text.trim().to_lowercase().chars().map(narrow).collect();
        let word = text.trim_end_matches(|one: char| one.is_ascii_digit());
        let digits = &text[word.len()..];
        let number = if digits.is_empty() { None } else { Some(digits.parse().ok()?) };
        let word = word.trim_end();
        let confirmed = if YES.contains(&word) {
            Confirmed::Approved
        } else if NO.contains(&word) {
            Confirmed::Refused
        } else {
            return None;
        };
        Some(Self { confirmed, number })
    }

    /// The question that is meant among those that are open.
    fn meant(self, open: &[u32]) -> Option<u32> {
        match (self.number, open) {
            (Some(number), _) => open.contains(&number).then_some(number),
            (None, [only]) => Some(*only),
            (None, _) => None,
        }
    }
}

fn narrow(one: char) -> char {
    let digit = u32::from(one).checked_sub(WIDE_ZERO).filter(|digit| *digit < 10);
    digit.and_then(|digit| char::from_digit(digit, 10)).unwrap_or(one)
}

impl Session {
    /// Whether a text in an agent's pane answers what the agent waits for; it is not a request then.
    pub(super) fn plain_answer(&self, slot: AgentSlot, text: &str) -> Option<PlainAnswer> {
        if self.gate.asks_user(slot) { PlainAnswer::read(text) } else { None }
    }

    /// Who does not say which question is meant, or names one that is not open, has decided nothing and is told so.
    pub(super) fn confirm_by_text(
        &mut self,
        step: &mut Step,
        slot: AgentSlot,
        answer: PlainAnswer,
    ) {
        let open = self.gate.open_numbers(slot);
        let meant = answer.meant(&open).and_then(|number| self.gate.take_number(slot, number));
        match meant {
            Some(question) => {
                self.settle(step, question, answer.confirmed, DecidedBy::User, "");
            }
            None => {
                let told = Event::Notice(Notice::WhichQuestion { open });
                self.append(step, Channel::Agent(slot), told);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Option<(Confirmed, Option<u32>)>) {
        let read = PlainAnswer::read(text).map(|answer| (answer.confirmed, answer.number));
        assert_eq!(read, expected, "{text}");
    }

    #[test]
    fn words_and_numbers_are_read_as_people_type_them() {
        let (yes, no) = (Confirmed::Approved, Confirmed::Refused);
        check(" Yes ", Some((yes, None)));
        check("n", Some((no, None)));
        check("y 2", Some((yes, Some(2))));
        check("NO12", Some((no, Some(12))));
        check("\u{306f}\u{3044}\u{3000}\u{ff12}", Some((yes, Some(2))));
        check("\u{3044}\u{3044}\u{3048}10", Some((no, Some(10))));
        for text in ["", "2", "yes please", "yes 2 3", "nope", "y 99999999999", "yes -2"] {
            check(text, None);
        }
    }

    #[test]
    fn a_word_alone_means_the_only_question() {
        let answer = |number| PlainAnswer { confirmed: Confirmed::Approved, number };
        assert_eq!(answer(None).meant(&[4]), Some(4));
        assert_eq!(answer(None).meant(&[4, 5]), None);
        assert_eq!(answer(Some(5)).meant(&[4, 5]), Some(5));
        assert_eq!(answer(Some(3)).meant(&[4]), None);
        assert_eq!(answer(None).meant(&[]), None);
    }
}
