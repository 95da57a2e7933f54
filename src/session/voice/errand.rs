//! Work that a live model gives to an agent, if the rules or the user allow it.

use crate::message::{AgentSet, AgentSlot, Caller, Confirmed, DecidedBy, RunId};
use crate::policy::{Call, Scope};
use crate::provider::live::{Errand, LiveInput};
use crate::session::actor::Session;
use crate::session::approval::gate::{AnswerTo, Judgement};
use crate::session::journal::{Effect, Step};

/// The kind that rules know these calls by.
const ERRAND: &str = "errand";

/// A tool call of a live model that waits for its answer.
#[derive(Debug)]
pub(in crate::session) struct LiveWish {
    id: String,
    /// The agent that is to do the work.
    agent: AgentSlot,
    request: String,
}

impl Session {
    /// A tool call of the live model. The model goes on talking meanwhile; it gets the result of the call, and later a
    /// report of how the work ended.
    pub(super) fn on_errand(&mut self, id: String, name: &str, arguments: &str) {
        let mut step = Step::default();
        match Errand::read(name, arguments) {
            Ok(Errand { agent, request }) => {
                let call = Call {
                    tool: name.to_owned(),
                    english: None,
                    name: None,
                    kind: ERRAND.to_owned(),
                    // Empty: an id would mean a tool call of the agent.
                    id: String::new(),
                    input: arguments.to_owned(),
                    unseen: 0,
                    paths: Vec::new(),
                };
                self.judge_wish(&mut step, LiveWish { id, agent, request }, call);
            }
            Err(why) => answer(&mut step, id, Err(why)),
        }
        self.shared.journal.record(step);
    }

    fn judge_wish(&mut self, step: &mut Step, wish: LiveWish, call: Call) {
        let slot = wish.agent;
        self.gate.recall(slot, &self.lanes[slot]);
        let scope = Scope::new(self.shared.env.files.project(), &[]);
        let Judgement { confirmed, level, reason } = self.gate.judge(Caller::Live, &call, &scope);
        let Some(confirmed) = confirmed else {
            let (lane, answer_to) = (slot.into(), AnswerTo::Live(wish));
            return self.ask_user(step, Caller::Live, lane, answer_to, call, None, level, reason);
        };
        self.audit(step, Caller::Live, RunId(0), &call, confirmed, DecidedBy::Rule, &reason);
        self.answer_wish(step, wish, confirmed, &reason);
    }

    /// The model has cancelled these calls, so their open questions are refused. Work that has begun goes on; the user
    /// can cancel it on the agent's channel.
    pub(super) fn drop_wishes(&mut self, ids: &[String]) {
        let mut step = Step::default();
        while let Some(open) = self.gate.take_wish(|wish| ids.contains(&wish.id)) {
            let why = "the model does not want it any more";
            self.settle(&mut step, open, Confirmed::Refused, DecidedBy::End, why);
        }
        self.shared.record_changes(step);
    }

    /// Carries out the decision about a live model's call.
    pub(in crate::session) fn answer_wish(
        &mut self,
        step: &mut Step,
        wish: LiveWish,
        confirmed: Confirmed,
        why: &str,
    ) {
        match confirmed {
            Confirmed::Approved => self.give_work(step, wish),
            Confirmed::Refused => {
                let why = if why.is_empty() { "the user does not want it" } else { why };
                answer(step, wish.id, Err(why.to_owned()));
            }
        }
    }

    /// Queues the request for the agent. The tool result goes first, so that the model hears of it before any report of
    /// the agent.
    fn give_work(&mut self, step: &mut Step, wish: LiveWish) {
        let LiveWish { id, agent: slot, request } = wish;
        let agent = slot.number();
        let waiting = self.lanes[slot].queue.len();
        if waiting >= self.shared.env.config.limits.queue_per_channel {
            let why = format!("{waiting} requests wait for agent {agent} already");
            return answer(step, id, Err(why));
        }
        let done = format!("agent {agent} has it; you will be told when it is done");
        answer(step, id, Ok(done));
        self.request_each(step, self.commands.last_order(), AgentSet::from(slot), &request, &[]);
    }
}

fn answer(step: &mut Step, id: String, outcome: Result<String, String>) {
    step.effects.push(Effect::Show(LiveInput::ToolResult { id, outcome }));
}
