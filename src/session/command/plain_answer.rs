//! Plain-word answers to agents' questions, for frontends without a dialog. A word alone answers the only open
//! question. With several open questions the answer must give a number, because nobody can know which one its user has
//! read. Dangerous calls must be approved twice. Only what a user typed ([`Typed`]) is read.

use super::plain_words::PlainWord;
use crate::message::{AgentSet, AgentSlot, Confirmed, Typed};
use crate::session::approval::Approvals;
use crate::session::run::lanes::LaneId;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::session) struct PlainAnswer {
    pub(in crate::session) confirmed: Confirmed,
    /// The number of the question, if the answer gave one.
    pub(in crate::session) number: Option<u32>,
}

impl PlainAnswer {
    /// Reads a text for an agent or the chat as an answer to its open question. Such a text is not a request.
    pub(super) fn to_lane(
        lane: impl Into<LaneId>,
        text: &Typed,
        approvals: &Approvals,
    ) -> Option<Self> {
        if approvals.asks_user(lane) { Self::read(text) } else { None }
    }

    /// Reads a text typed in the chat as an answer, if exactly one of the agents it is for waits for one.
    pub(super) fn to_one_of(
        agents: AgentSet,
        text: &Typed,
        approvals: &Approvals,
    ) -> Option<(AgentSlot, Self)> {
        let mut waiting = agents.iter().filter(|slot| approvals.asks_user(*slot));
        let (slot, None) = (waiting.next()?, waiting.next()) else { return None };
        Some((slot, Self::read(text)?))
    }

    /// `None`: an ordinary text.
    fn read(text: &Typed) -> Option<Self> {
        let word = PlainWord::read(text.as_str())?;
        let confirmed = match (word.is_yes(), word.is_no()) {
            (true, false) => Confirmed::Approved,
            (false, true) => Confirmed::Refused,
            (true, true) | (false, false) => return None,
        };
        Some(Self { confirmed, number: word.number })
    }

    /// The number of the open question that is meant.
    pub(in crate::session) fn meant(self, open: &[u32]) -> Option<u32> {
        match (self.number, open) {
            (Some(number), _) => open.contains(&number).then_some(number),
            (None, [only]) => Some(*only),
            (None, _) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
