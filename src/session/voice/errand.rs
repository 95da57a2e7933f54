//! What a live model wants done: work for a code agent, if the rules or the user allow it.

use crate::message::{AgentSet, AgentSlot, Confirmed, DecidedBy, RunId};
use crate::policy::{Call, Scope};
use crate::provider::live::{Errand, LiveInput};
use crate::session::actor::Session;
use crate::session::approval::gate::{Asker, Judgement};
use crate::session::journal::{Effect, Step};

/// The word of the rules for what a live model asks of an agent.
const ERRAND: &str = "errand";

/// A call of a live model that is not answered yet.
#[derive(Debug)]
pub(in crate::session) struct LiveWish {
    id: String,
    request: String,
}

impl Session {
    /// The model goes on talking; it is told what has become of its wish, and later how the work ended.
    pub(super) fn on_errand(&mut self, id: String, name: &str, arguments: &str) {
        let mut step = Step::default();
        match Errand::read(name, arguments) {
            Ok(Errand { agent, request }) => {
                let call = Call {
                    tool: name.to_owned(),
                    name: None,
                    kind: ERRAND.to_owned(),
                    // Calls of a live model are not calls of an agent.
                    id: String::new(),
                    input: arguments.to_owned(),
                    unseen: 0,
                    paths: Vec::new(),
                };
                self.judge_wish(&mut step, agent, LiveWish { id, request }, call);
            }
            Err(why) => answer(&mut step, id, Err(why)),
        }
        self.journal.record(step);
    }

    fn judge_wish(&mut self, step: &mut Step, slot: AgentSlot, wish: LiveWish, call: Call) {
        self.gate.recall(slot, &self.lanes[slot]);
        let scope = Scope::new(self.env.files.project(), &[]);
        let Judgement { confirmed, level, reason } = self.gate.judge(slot, &call, &scope);
        let Some(confirmed) = confirmed else {
            return self.ask_user(step, slot, Asker::Live(wish), call, None, level, reason);
        };
        self.audit(step, slot, RunId(0), &call, confirmed, DecidedBy::Rule, &reason);
        self.answer_wish(step, slot, wish, confirmed, &reason);
    }

    /// The model does not want it any more. Work that has begun goes on; it is cancelled where everybody sees it.
    pub(super) fn drop_wishes(&mut self, ids: &[String]) {
        let mut step = Step::default();
        while let Some(open) = self.gate.take_wish(|wish| ids.contains(&wish.id)) {
            let why = "the model does not want it any more";
            self.settle(&mut step, open, Confirmed::Refused, DecidedBy::End, why);
        }
        if !step.changes.is_empty() {
            self.journal.record(step);
        }
    }

    /// It is decided.
    pub(in crate::session) fn answer_wish(
        &mut self,
        step: &mut Step,
        slot: AgentSlot,
        wish: LiveWish,
        confirmed: Confirmed,
        why: &str,
    ) {
        match confirmed {
            Confirmed::Approved => self.give_work(step, slot, wish),
            Confirmed::Refused => {
                let why = if why.is_empty() { "the user does not want it" } else { why };
                answer(step, wish.id, Err(why.to_owned()));
            }
        }
    }

    /// The model hears that it is done before it hears that the agent has begun.
    fn give_work(&mut self, step: &mut Step, slot: AgentSlot, LiveWish { id, request }: LiveWish) {
        let agent = slot.number();
        let waiting = self.lanes[slot].queue.len();
        if waiting >= self.env.config.limits.queue_per_channel {
            let why = format!("{waiting} requests wait for agent {agent} already");
            return answer(step, id, Err(why));
        }
        let done = format!("agent {agent} has it; you will be told when it is done");
        answer(step, id, Ok(done));
        self.request_each(step, self.desk.last_order(), AgentSet::from(slot), &request, &[]);
    }
}

fn answer(step: &mut Step, id: String, outcome: Result<String, String>) {
    step.effects.push(Effect::Show(LiveInput::ToolResult { id, outcome }));
}
