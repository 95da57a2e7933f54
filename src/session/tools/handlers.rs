//! How a tool call goes its way: it is checked and judged, perhaps asked about, carried out, told and answered.

use super::call::{CallId, OpenCall, ReplyTo};
use super::job::{self, CallOwner, Judged, JudgingRules};
use super::offered;
use super::safety::Alert;
use crate::assistant::{self, Way};
use crate::message::{
    AgentSet, AgentSlot, AgentState, Caller, CancelScope, Channel, Confirmed, DecidedBy, Event,
    Notice, RunId, SourceNote,
};
use crate::provider::agent::{Tool as ShownTool, ToolStatus};
use crate::provider::live::LiveInput;
use crate::python::Variables;
use crate::session::actor::Session;
use crate::session::approval::gate::{AnswerTo, Judgement, Question, audit};
use crate::session::chat::turn::TurnCall;
use crate::session::journal::{Effect, Step};
use crate::session::run::activity;
use crate::session::run::current::{Ending, Requester};
use crate::session::run::lanes::LaneId;
use crate::session::run::progress::Rest;
use crate::store::Change;
use crate::tool::{Call, Outcome, Risk};
use tokio_util::sync::CancellationToken;

/// The tool whose files are named as sources of an answer.
const READ: &str = "file:read";
/// Longest result for a live model, in bytes: it has a small context, and has to read all of it before it speaks.
const LONGEST_FOR_LIVE: usize = 16 * 1024;
/// What a model is told about a call that was not allowed.
const REFUSED: &str = "this was not allowed, by the user or by the rules of the gateway";
const LOCKED: &str =
    "too many tool calls failed; no more are carried out until the user sends /reset";
const CROWDED: &str = "too many calls are under way; wait for their results";

impl Session {
    /// The assistant of a lane calls a tool.
    pub(in crate::session) fn on_turn_call(
        &mut self,
        step: &mut Step,
        lane: LaneId,
        call: TurnCall,
    ) {
        let Some(run) = self.runs.current(lane) else { return };
        let reply = ReplyTo::Turn(call.reply);
        self.start_call(step, lane.caller(), run, &call.name, call.arguments, reply);
    }

    pub(in crate::session) fn start_call(
        &mut self,
        step: &mut Step,
        caller: Caller,
        run: RunId,
        name: &str,
        arguments: String,
        reply: ReplyTo,
    ) {
        let settings = &self.shared.settings;
        let lane = LaneId::of_caller(caller).unwrap_or(LaneId::Chat);
        let of_chat = || assistant::for_chat(&settings.chat_assistant);
        let assistant = match caller {
            // It has what the session chooses, whoever answers in the chat.
            Caller::Live => &assistant::GENERAL,
            Caller::Chat | Caller::Agent(_) | Caller::Client => {
                self.runs.assistant(lane).unwrap_or_else(of_chat)
            }
        };
        let tool = match offered(&settings.tools, assistant, name) {
            _ if lane == LaneId::Chat && self.tools.is_locked() => Err(LOCKED.to_owned()),
            _ if !self.tools.has_room() => Err(CROWDED.to_owned()),
            found => found,
        };
        let id = self.tools.next_id();
        let tool = match tool {
            Ok(tool) => tool,
            Err(why) => {
                let key = format!("{name}\0{arguments}");
                return self.answer_call(step, lane, key, reply, Err(why));
            }
        };
        let (rules, remembered) = self.approvals.judging_rules(caller);
        let rules = JudgingRules { rules, remembered, locale: self.shared.env.language.get() };
        let call_name = call_name(caller, id);
        let judging = job::judge(
            self.call_owner(lane),
            id,
            call_name,
            caller,
            tool,
            arguments.clone(),
            rules,
        );
        self.tools.open.push(OpenCall {
            id,
            caller,
            lane,
            run,
            tool,
            arguments,
            reply,
            stop: CancellationToken::new(),
            shown: None,
            prepared: None,
            source: None,
            path: None,
            waits_for: None,
            is_stored: false,
            early: None,
        });
        self.shared.jobs.spawn(judging);
    }

    fn call_owner(&self, lane: LaneId) -> CallOwner {
        let variables = match self.runs.assistant(lane).map(|assistant| assistant.way) {
            Some(Way::Computing) => Variables::Kept,
            Some(Way::Conversation | Way::Analysis) | None => Variables::Fresh,
        };
        CallOwner {
            variables,
            env: self.shared.env.clone(),
            principal: self.shared.principal.clone(),
            session: self.shared.id.clone(),
        }
    }

    /// The rules have decided, or the user has to.
    pub(in crate::session) fn on_call_judged(
        &mut self,
        id: CallId,
        judged: Result<Box<Judged>, String>,
    ) {
        let mut step = Step::default();
        match judged {
            Ok(judged) => self.decide_call(&mut step, id, *judged),
            Err(why) => self.finish_call(&mut step, id, Err(why)),
        }
        self.record(step);
    }

    fn decide_call(&mut self, step: &mut Step, id: CallId, judged: Judged) {
        let Judged { prepared, shown, policy, verdict, diff } = judged;
        let impossible = prepared.call.impossible().map(str::to_owned);
        let Some(open) = self.tools.get(id) else { return };
        let (caller, lane, run) = (open.caller, open.lane, open.run);
        open.source = source(&prepared.call);
        open.path.clone_from(&prepared.call.path);
        open.shown = Some(shown);
        open.prepared = Some(prepared);
        if let Some(why) = impossible {
            return self.finish_call(step, id, Err(why));
        }
        let Judgement { confirmed, level, reason } = self.approvals.judged(verdict);
        let Some(confirmed) = confirmed else {
            let answer_to = AnswerTo::Call(id);
            let question = Question { caller, lane, answer_to, call: policy, diff, level, reason };
            self.approvals.ask_user(&mut self.shared, &self.runs, step, question);
            return self.tell_state(caller, AgentState::WaitingForConfirmation);
        };
        let (shared, by) = (&self.shared, DecidedBy::Rule);
        audit(shared, step, caller, run, &policy, Some(level), confirmed, by, &reason);
        self.answer_open_call(step, id, confirmed, &reason);
    }

    /// The call is allowed or refused, by the rules or by the user.
    pub(in crate::session) fn answer_open_call(
        &mut self,
        step: &mut Step,
        id: CallId,
        confirmed: Confirmed,
        why: &str,
    ) {
        match confirmed {
            Confirmed::Approved => {
                self.tell_call(step, id, ToolStatus::Started, None);
                step.effects.push(Effect::UseTool(id));
                if self.tools.get(id).is_some_and(|open| open.only_looks()) {
                    self.run_call(id);
                }
                let caller = self.tools.get(id).map(|open| open.caller);
                caller.into_iter().for_each(|caller| {
                    self.tell_state(caller, AgentState::ExecutingTool);
                });
            }
            Confirmed::Refused => {
                let why =
                    if why.is_empty() { REFUSED.to_owned() } else { format!("{REFUSED}: {why}") };
                self.finish_call(step, id, Err(why));
            }
        }
    }

    /// Nobody waits for the outcome any more. The call has not failed, so it is not counted: a user who cancels would
    /// lock the chat.
    pub(in crate::session) fn end_open_call(&mut self, step: &mut Step, id: CallId, why: &str) {
        self.tell_call(step, id, ToolStatus::Failed, Some(&Err(why.to_owned())));
        if let Some(open) = self.tools.take(id) {
            open.stop.cancel();
        }
    }

    /// The decision is stored: the call is carried out, or its outcome is told if it was carried out meanwhile.
    pub(in crate::session) fn use_tool(&mut self, id: CallId) {
        let Some(open) = self.tools.get(id) else { return };
        open.is_stored = true;
        match open.early.take() {
            Some(outcome) => self.on_call_done(id, outcome),
            None => self.run_call(id),
        }
    }

    /// Does nothing for a call that is being carried out already.
    fn run_call(&mut self, id: CallId) {
        let Some(lane) = self.tools.get(id).map(|open| open.lane) else { return };
        let owner = self.call_owner(lane);
        let Some(open) = self.tools.get(id) else { return };
        let Some(prepared) = open.prepared.take() else { return };
        if open.tool.risk == Risk::Request {
            let Some((agent, request)) = prepared.call.request().map(|(a, r)| (a, r.to_owned()))
            else {
                return;
            };
            return self.give_work_to_agent(id, agent, &request);
        }
        let (arguments, stop) = (open.arguments.clone(), open.stop.clone());
        self.shared.jobs.spawn(job::carry_out(owner, id, prepared, arguments, stop));
    }

    /// The call waits until the agent has ended its work.
    fn give_work_to_agent(&mut self, id: CallId, agent: u8, request: &str) {
        let mut step = Step::default();
        let Some(slot) = AgentSlot::new(agent) else { return };
        let waiting = self.runs.waiting(slot);
        if waiting >= self.shared.env.config.limits.queue_per_channel {
            let why = format!("{waiting} requests wait for agent {agent} already");
            self.finish_call(&mut step, id, Err(why));
        } else {
            let address = self.shared.requesters[LaneId::Chat];
            let requester = Requester { order: self.commands.last_order(), address };
            self.request_each(&mut step, requester, AgentSet::from(slot), request, &[]);
            let run = self.runs.newest();
            if let Some(open) = self.tools.get(id) {
                open.waits_for = Some(run);
            }
        }
        self.record(step);
    }

    /// A run of an agent is over; a call may wait for it.
    pub(in crate::session) fn on_agent_answer(
        &mut self,
        step: &mut Step,
        run: RunId,
        outcome: Outcome,
    ) {
        let waiting = self.tools.open.iter().find(|call| call.waits_for == Some(run));
        if let Some(id) = waiting.map(|call| call.id) {
            self.finish_call(step, id, outcome);
        }
    }

    pub(in crate::session) fn on_call_done(&mut self, id: CallId, outcome: Outcome) {
        if let Some(open) = self.tools.get(id).filter(|open| !open.is_stored) {
            open.early = Some(outcome);
            return;
        }
        let mut step = Step::default();
        self.finish_call(&mut step, id, outcome);
        self.record(step);
    }

    /// Tells how the call ended, and gives its outcome to the model.
    fn finish_call(&mut self, step: &mut Step, id: CallId, outcome: Outcome) {
        let status = if outcome.is_ok() { ToolStatus::Completed } else { ToolStatus::Failed };
        self.tell_call(step, id, status, Some(&outcome));
        let Some(open) = self.tools.take(id) else { return };
        if outcome.is_ok() && open.caller != Caller::Live {
            self.note_source(&open);
        }
        if outcome.is_ok() && open.tool.risk == Risk::Edit {
            let paths = open.path.clone().into_iter().collect();
            let changed = Event::FilesChanged { paths, by: None, copy_of: None };
            self.shared.append(step, open.lane.channel(), changed);
        }
        self.tell_state(open.caller, AgentState::Thinking);
        let key = format!("{}\0{}", open.tool.name, open.arguments);
        self.answer_call(step, open.lane, key, open.reply, outcome);
    }

    /// Counts the outcome and passes it on. `key` is the tool with its arguments. Failures on the lane of an agent do not
    /// lock the chat.
    fn answer_call(
        &mut self,
        step: &mut Step,
        lane: LaneId,
        key: String,
        reply: ReplyTo,
        mut outcome: Outcome,
    ) {
        let alert = match &mut outcome {
            _ if lane != LaneId::Chat => Alert::None,
            Ok(_) => {
                self.tools.safety.succeeded();
                Alert::None
            }
            Err(_) if self.tools.is_locked() => Alert::None,
            Err(_) => self.tools.safety.failed(key),
        };
        if let (Alert::Repeated(times), Err(why)) = (alert, &mut outcome) {
            why.push_str(&format!(
                "\n[this call has failed {times} times in a row; do something else, or ask the user]"
            ));
        }
        match reply {
            // A turn that has ended needs no outcome.
            ReplyTo::Turn(reply) => drop(reply.send(outcome)),
            ReplyTo::Live(id) => {
                let short = |text| assistant::shortened(text, LONGEST_FOR_LIVE);
                let outcome = outcome.map(short).map_err(short);
                step.effects.push(Effect::Show(LiveInput::ToolResult { id, outcome }))
            }
        }
        if let Alert::Locked(failures) = alert {
            self.lock_chat(step, failures);
        }
    }

    /// No text is answered until the user sends `/reset`, whoever has called the tools: the answer under way ends, and
    /// texts that wait are dropped.
    fn lock_chat(&mut self, step: &mut Step, failures: usize) {
        step.changes.push(Change::Locked(true));
        self.runs.drop_waiting(&mut self.shared, step, LaneId::Chat, CancelScope::All, u64::MAX);
        if self.runs.current(LaneId::Chat).is_some() {
            self.runs.cut(LaneId::Chat);
            return self.end_run(step, LaneId::Chat, Ending::Locked { failures });
        }
        self.shared.append(step, Channel::Chat, Event::Notice(Notice::Locked { failures }));
    }

    /// Ends the calls of the lane's run. Questions about them have been answered with no before.
    pub(in crate::session) fn drop_calls_of_run(&mut self, step: &mut Step, lane: LaneId) {
        let calls = self.tools.open.iter().filter(|call| call.caller == lane.caller());
        let ids: Vec<_> = calls.map(|call| call.id).collect();
        ids.into_iter().for_each(|id| self.end_open_call(step, id, "the run has ended"));
    }

    /// The live model does not want the results of these calls any more.
    pub(in crate::session) fn drop_live_calls(&mut self, step: &mut Step, ids: &[String]) {
        self.drop_calls(step, "the model does not want it any more", |call| call.is_of_live(ids));
    }

    /// The live model is gone for good. The next one knows nothing of its calls.
    pub(in crate::session) fn drop_all_live_calls(&mut self) {
        let mut step = Step::default();
        self.drop_calls(&mut step, "the live model is gone", |call| call.caller == Caller::Live);
        if !step.changes.is_empty() {
            self.record(step);
        }
    }

    /// Refuses the open questions about these calls, and ends the calls that are under way.
    fn drop_calls(&mut self, step: &mut Step, why: &str, meant: impl Fn(&OpenCall) -> bool) {
        while let Some(open) = self.approvals.take_call(|id| self.tools.is_open(id, &meant)) {
            self.settle(step, open, Confirmed::Refused, DecidedBy::End, why);
        }
        let calls = self.tools.open.iter().filter(|call| meant(call));
        let calls: Vec<_> = calls.map(|call| call.id).collect();
        calls.into_iter().for_each(|id| self.end_open_call(step, id, why));
    }

    /// Stores the state of a call as an event, for a call that was checked.
    fn tell_call(
        &mut self,
        step: &mut Step,
        id: CallId,
        status: ToolStatus,
        outcome: Option<&Outcome>,
    ) {
        let locale = self.shared.env.language.get();
        let Some(open) = self.tools.get(id) else { return };
        let lane = open.lane;
        let shown = open.shown.get_or_insert_with(|| {
            let name = call_name(open.caller, id);
            ShownTool {
                name: Some(open.tool.name.to_owned()),
                kind: job::kind(open.tool.risk),
                input: Some(open.arguments.as_str().into()),
                ..ShownTool::new(name, open.tool.name.to_owned(), status)
            }
        });
        let (output, error) = match outcome {
            Some(Ok(text)) => (Some(text.clone()), None),
            Some(Err(why)) => (None, Some(locale.word(why))),
            None => (None, None),
        };
        let told = ShownTool { status, output, error, ..shown.clone() };
        self.runs.pass_on(step, lane, Rest::Kept);
        let note = activity::note(&self.shared, &told, false);
        self.shared.append(step, lane.channel(), Event::Tool(note));
    }

    /// Calls of the live model do not change what the chat is doing.
    fn tell_state(&mut self, caller: Caller, state: AgentState) {
        if let Some(lane) = LaneId::of_caller(caller)
            && self.runs.unstopped(lane).is_some()
        {
            self.on_state(lane, state);
        }
    }

    /// Files that were read are named with the answer.
    fn note_source(&mut self, open: &OpenCall) {
        if let Some(source) = &open.source {
            self.runs.add_source(open.lane, source);
        }
    }
}

/// As clients and rules know the call.
fn call_name(caller: Caller, id: CallId) -> String {
    format!("{}-{}", caller.name(), id.0)
}

/// The file that a call reads.
fn source(call: &Call) -> Option<SourceNote> {
    let path = call.path.clone().filter(|_| call.tool.name == READ)?;
    Some(SourceNote { path, lines: call.lines })
}
