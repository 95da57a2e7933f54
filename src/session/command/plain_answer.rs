//! Answers to agents' questions in plain words, for frontends without a dialog. A word alone answers the only question
//! there is; with several it has to say which one, because nobody can know which of them its user has read. What is
//! dangerous has to be allowed twice. Only what a user has typed ([`Typed`]) is read.

use super::plain_words::PlainWord;
use crate::message::{AgentSet, AgentSlot, Channel, Confirmed, DecidedBy, Event, Notice, Typed};
use crate::session::actor::Session;
use crate::session::approval::gate::Again;
use crate::session::job::Asker;
use crate::session::journal::Step;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PlainAnswer {
    confirmed: Confirmed,
    /// Which question, if that was said.
    number: Option<u32>,
}

impl PlainAnswer {
    /// `None`: this is a text like any other.
    fn read(text: &Typed) -> Option<Self> {
        let word = PlainWord::read(text.as_str())?;
        let confirmed = match (word.is_yes(), word.is_no()) {
            (true, false) => Confirmed::Approved,
            (false, true) => Confirmed::Refused,
            (true, true) | (false, false) => return None,
        };
        Some(Self { confirmed, number: word.number })
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

impl Session {
    /// Whether a text for an agent answers what the agent waits for; it is not a request then.
    pub(super) fn plain_answer(&self, slot: AgentSlot, text: &Typed) -> Option<PlainAnswer> {
        if self.gate.asks_user(slot) { PlainAnswer::read(text) } else { None }
    }

    /// The same for a text that was typed in the chat for agents. Of several that wait, none is meant.
    pub(super) fn plain_answer_to_one_of(
        &self,
        agents: AgentSet,
        text: &Typed,
    ) -> Option<(AgentSlot, PlainAnswer)> {
        let mut waiting = agents.iter().filter(|slot| self.gate.asks_user(*slot));
        let (slot, None) = (waiting.next()?, waiting.next()) else { return None };
        Some((slot, self.plain_answer(slot, text)?))
    }

    /// A yes or no is shown where it was typed, and is no request.
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
        self.append(&mut step, pane, shown);
        self.confirm_by_text(&mut step, pane, slot, answer);
        self.record_for(asker, step);
    }

    /// Who does not say which question is meant, or names one that is not open, has decided nothing and is told so.
    fn confirm_by_text(
        &mut self,
        step: &mut Step,
        pane: Channel,
        slot: AgentSlot,
        answer: PlainAnswer,
    ) {
        let open = self.gate.open_numbers(slot);
        let Some(number) = answer.meant(&open) else {
            return self.append(step, pane, Event::Notice(Notice::WhichQuestion { open }));
        };
        if answer.confirmed == Confirmed::Approved
            && self.gate.once_more(slot, number, answer.number.is_some()) == Again::Needed
        {
            let told = Event::Notice(Notice::ConfirmAgain { number });
            return self.append(step, pane, told);
        }
        if let Some(mut question) = self.gate.take_number(slot, number) {
            question.in_chat |= pane == Channel::Chat;
            self.settle(step, question, answer.confirmed, DecidedBy::User, "");
        }
    }

    /// A text that was not understood as an answer is a request; its user may think otherwise.
    pub(in crate::session) fn remind(&mut self, step: &mut Step, pane: Channel, agent: AgentSlot) {
        let open = self.gate.open_numbers(agent);
        if !open.is_empty() {
            self.append(step, pane, Event::Notice(Notice::StillOpen { agent, open }));
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
