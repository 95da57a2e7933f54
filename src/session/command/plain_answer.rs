//! Plain-word answers to agents' questions, for frontends without a dialog. A word alone answers the only open
//! question. With several open questions the answer must give a number, because nobody can know which one its user has
//! read. Dangerous calls must be approved twice. Only what a user typed ([`Typed`]) is read.

use super::plain_words::PlainWord;
use crate::message::{AgentSet, AgentSlot, Channel, Confirmed, DecidedBy, Event, Notice, Typed};
use crate::session::actor::Session;
use crate::session::approval::gate::Again;
use crate::session::job::Asker;
use crate::session::journal::Step;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PlainAnswer {
    confirmed: Confirmed,
    /// The number of the question, if the answer gave one.
    number: Option<u32>,
}

impl PlainAnswer {
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
    fn meant(self, open: &[u32]) -> Option<u32> {
        match (self.number, open) {
            (Some(number), _) => open.contains(&number).then_some(number),
            (None, [only]) => Some(*only),
            (None, _) => None,
        }
    }
}

impl Session {
    /// Reads a text for an agent as an answer to its open question. Such a text is not a request.
    pub(super) fn plain_answer(&self, slot: AgentSlot, text: &Typed) -> Option<PlainAnswer> {
        if self.gate.asks_user(slot) { PlainAnswer::read(text) } else { None }
    }

    /// Reads a text typed in the chat as an answer, if exactly one of the agents it is for waits for one.
    pub(super) fn plain_answer_to_one_of(
        &self,
        agents: AgentSet,
        text: &Typed,
    ) -> Option<(AgentSlot, PlainAnswer)> {
        let mut waiting = agents.iter().filter(|slot| self.gate.asks_user(*slot));
        let (slot, None) = (waiting.next()?, waiting.next()) else { return None };
        Some((slot, self.plain_answer(slot, text)?))
    }

    /// Shows the answer in the pane where it was typed. It is not a request.
    pub(super) fn confirm_in_pane(
        &mut self,
        asker: Asker,
        pane: Channel,
        slot: AgentSlot,
        text: Typed,
        answer: PlainAnswer,
    ) {
        let mut step = Step::default();
        let shown = Event::UserText { text: text.into_text(), attachments: Vec::new() };
        self.shared.append(&mut step, pane, shown);
        self.confirm_by_text(&mut step, pane, slot, answer);
        self.shared.record_for(asker, step);
    }

    /// An answer that matches no open question decides nothing; the user is told which questions are open.
    fn confirm_by_text(
        &mut self,
        step: &mut Step,
        pane: Channel,
        slot: AgentSlot,
        answer: PlainAnswer,
    ) {
        let open = self.gate.open_numbers(slot);
        let Some(number) = answer.meant(&open) else {
            return self.shared.append(step, pane, Event::Notice(Notice::WhichQuestion { open }));
        };
        if answer.confirmed == Confirmed::Approved
            && self.gate.once_more(slot, number, answer.number.is_some()) == Again::Needed
        {
            let told = Event::Notice(Notice::ConfirmAgain { number });
            return self.shared.append(step, pane, told);
        }
        if let Some(mut question) = self.gate.take_number(slot, number) {
            question.in_chat |= pane == Channel::Chat;
            self.settle(step, question, answer.confirmed, DecidedBy::User, "");
        }
    }

    /// A text that was not understood as an answer became a request. The user may have meant an answer, so open
    /// questions are mentioned.
    pub(in crate::session) fn remind(&mut self, step: &mut Step, pane: Channel, agent: AgentSlot) {
        let open = self.gate.open_numbers(agent);
        if !open.is_empty() {
            self.shared.append(step, pane, Event::Notice(Notice::StillOpen { agent, open }));
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
