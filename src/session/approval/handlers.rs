//! Answers to questions, and what the other rooms have to do with a decision: the agent or the live model learns it, and
//! sockets are shown it.

use super::gate::{Again, AnswerTo, Open, audit, shown_on};
use super::judging::Case;
use crate::message::{
    AgentState, Channel, ConfirmId, Confirmed, DecidedBy, Event, Notice, Problem, RunId, SecondYes,
    Typed,
};
use crate::session::actor::Session;
use crate::session::command::plain_answer::PlainAnswer;
use crate::session::job::Asker;
use crate::session::journal::Step;
use crate::session::run::lanes::LaneId;
use crate::session::tools::Tools;
use tokio::time::Instant;

impl Session {
    /// The user's answer by the id of the question.
    pub(in crate::session) fn confirm(
        &mut self,
        asker: Asker,
        id: &ConfirmId,
        confirmed: Confirmed,
        always: bool,
        call: Option<&str>,
        second: SecondYes,
    ) {
        let mut step = Step::default();
        match self.on_confirm(&mut step, id, confirmed, always, call, second) {
            Ok(()) => self.shared.record_for(asker, step),
            Err(problem) => self.refuse(asker, problem),
        }
    }

    /// A call that took long to judge has its verdict.
    pub(in crate::session) fn on_judged(&mut self, case: Case) {
        let waits = self.approvals.on_judged(&mut self.shared, &mut self.runs, case);
        if let Some(slot) = waits {
            self.on_state(slot, AgentState::WaitingForConfirmation);
        }
    }

    /// The user's answer to a question. `Err` if the question is not open, or if a dangerous call needs a second yes.
    fn on_confirm(
        &mut self,
        step: &mut Step,
        id: &ConfirmId,
        confirmed: Confirmed,
        always: bool,
        call: Option<&str>,
        second: SecondYes,
    ) -> Result<(), Problem> {
        let open = self.approvals.take_answered(id, confirmed, call, second)?;
        if always && confirmed == Confirmed::Approved {
            if open.is_dangerous() {
                self.tell_not_remembered(step, &open);
            } else {
                self.approvals.remember(&open);
            }
        }
        self.settle(step, open, confirmed, DecidedBy::User, "");
        Ok(())
    }

    /// Tells the user that "always" is not kept for a dangerous call: it is asked about every time.
    fn tell_not_remembered(&mut self, step: &mut Step, open: &Open) {
        let locale = self.shared.env.language.get();
        let reason = locale.say("confirm", "not_remembered", &[]);
        let values = [("tool", open.call.tool.as_str()), ("reason", &reason)];
        let line = locale.say("tool_line", "denied", &values);
        self.runs.tell_line(&mut self.shared, step, open.lane, line);
    }

    pub(in crate::session) fn on_confirm_deadline(&mut self) {
        let now = Instant::now();
        let mut step = Step::default();
        while let Some(open) = self.approvals.take(|open| open.deadline <= now) {
            self.settle(
                &mut step,
                open,
                Confirmed::Refused,
                DecidedBy::Time,
                "nobody answered in time",
            );
        }
        self.shared.record_changes(step);
    }

    /// A run is over or to be: whatever its agent still waited for is void.
    pub(in crate::session) fn void_confirmations(&mut self, step: &mut Step, lane_id: LaneId) {
        let is_its = |open: &Open, tools: &Tools| {
            open.lane == lane_id
                && match &open.answer_to {
                    AnswerTo::Worker(_) => true,
                    AnswerTo::Call(id) => tools.is_of_run(*id),
                    AnswerTo::Live(_) => false,
                }
        };
        while let Some(open) = self.approvals.take(|open| is_its(open, &self.tools)) {
            self.settle(step, open, Confirmed::Refused, DecidedBy::End, "the run has ended");
        }
    }

    /// The gateway stops: open questions are refused and open tool calls are closed.
    pub(in crate::session) fn settle_all(&mut self) {
        let mut step = Step::default();
        while let Some(open) = self.approvals.take(|_| true) {
            let why = "the gateway has ended";
            self.settle(&mut step, open, Confirmed::Refused, DecidedBy::End, why);
        }
        for lane_id in LaneId::ALL {
            self.approvals.close_tools(&mut self.shared, &mut self.runs, &mut step, lane_id);
            self.drop_calls_of_run(&mut step, lane_id);
        }
        self.shared.record_changes(step);
    }

    pub(in crate::session) fn settle(
        &mut self,
        step: &mut Step,
        open: Open,
        confirmed: Confirmed,
        by: DecidedBy,
        why: &str,
    ) {
        let Open { id, caller, lane, number, answer_to, call, level, in_chat, .. } = open;
        let run = self.runs.current(lane).unwrap_or(RunId(0));
        audit(&self.shared, step, caller, run, &call, Some(level), confirmed, by, why);
        // Told before what follows from it.
        let channel = lane.channel();
        for shown in shown_on(channel, in_chat) {
            let id = id.clone();
            let settled = Event::ConfirmSettled { id, channel, number, confirmed, by };
            self.shared.append(step, shown, settled);
        }
        match answer_to {
            AnswerTo::Worker(asked) => {
                self.approvals.answer_worker(step, lane, asked, confirmed, by)
            }
            AnswerTo::Call(id) if by == DecidedBy::End => self.end_open_call(step, id, why),
            AnswerTo::Call(id) => self.answer_open_call(step, id, confirmed, why),
            AnswerTo::Live(request) => self.answer_live_request(step, request, confirmed, why),
        }
    }

    /// Shows the answer in the pane where it was typed. It is not a request.
    pub(in crate::session) fn confirm_in_pane(
        &mut self,
        asker: Asker,
        pane: Channel,
        lane: LaneId,
        text: Typed,
        answer: PlainAnswer,
    ) {
        let mut step = Step::default();
        let shown = Event::UserText { text: text.into_text(), attachments: Vec::new() };
        self.shared.append(&mut step, pane, shown);
        self.confirm_by_text(&mut step, pane, lane, answer);
        self.shared.record_for(asker, step);
    }

    /// An answer that matches no open question decides nothing; the user is told which questions are open.
    fn confirm_by_text(
        &mut self,
        step: &mut Step,
        pane: Channel,
        lane: LaneId,
        answer: PlainAnswer,
    ) {
        let open = self.approvals.open_numbers(lane);
        let Some(number) = answer.meant(&open) else {
            return self.shared.append(step, pane, Event::Notice(Notice::WhichQuestion { open }));
        };
        if answer.confirmed == Confirmed::Approved
            && self.approvals.once_more(lane, number, answer.number.is_some()) == Again::Needed
        {
            let told = Event::Notice(Notice::ConfirmAgain { number });
            return self.shared.append(step, pane, told);
        }
        if let Some(mut question) = self.approvals.take_number(lane, number) {
            question.in_chat |= pane == Channel::Chat && lane != LaneId::Chat;
            self.settle(step, question, answer.confirmed, DecidedBy::User, "");
        }
    }
}
