//! The gate of one session. It judges what agents want to do, asks the user where the rules say so, answers each
//! question once and writes the decision to the audit log. A timeout, a dead agent and an unknown id all mean no.

use super::Approvals;
use super::breakers::Watch;
use crate::message::{
    AgentSlot, AuditEntry, Caller, Channel, ConfirmId, Confirmation, Confirmed, DecidedBy, Event,
    Notice, Problem, RunId, SecondYes, WarningLevel,
};
use crate::policy::{
    Call, Decision as Judged, Level, Limits, Remembered, Rules, Scope, Seal, Verdict, as_path,
};
use crate::provider::agent::{AskId, Decision, Tool, ToolKind};
use crate::provider::row::WebhookCall;
use crate::session::journal::{Effect, Step};
use crate::session::run::Runs;
use crate::session::run::lanes::LaneId;
use crate::session::shared::Shared;
use crate::session::tools::CallId;
use crate::session::voice::errand::LiveRequest;
use crate::store::Change;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use tokio::time::Instant;

/// Most open questions in one session. Further calls are refused at once, because nobody could keep up.
const MOST_OPEN: usize = 64;
/// Longest tool input in a question and in the audit log, in bytes.
const LONGEST_INPUT: usize = 16 * 1024;

/// What the gate decides about a call.
#[derive(Debug)]
pub(in crate::session) struct Judgement {
    /// `None`: the user decides.
    pub(in crate::session) confirmed: Option<Confirmed>,
    pub(in crate::session) level: Level,
    pub(in crate::session) reason: String,
}

/// Calls that the user always allows. Those of an agent hold for this agent in this workplace.
#[derive(Debug, Default)]
pub(super) struct Memory {
    whose: Option<(String, PathBuf)>,
    always: Remembered,
}

/// Who waits for the answer.
#[derive(Debug)]
pub(in crate::session) enum AnswerTo {
    /// The worker of the lane, in the middle of a run.
    Worker(Asked),
    /// A tool call of a model inside the gateway.
    Call(CallId),
    /// A live model that wants to give the lane's agent work.
    Live(LiveRequest),
}

/// A worker's question about one of its calls.
#[derive(Debug)]
pub(in crate::session) struct Asked {
    pub(super) id: AskId,
    /// The agent's id for the call.
    pub(super) tool: String,
    pub(super) seal: Seal,
}

/// A call that the user has to decide about.
#[derive(Debug)]
pub(in crate::session) struct Question {
    pub(in crate::session) caller: Caller,
    /// The lane whose channel asks.
    pub(in crate::session) lane: LaneId,
    pub(in crate::session) answer_to: AnswerTo,
    pub(in crate::session) call: Call,
    pub(in crate::session) diff: Option<String>,
    pub(in crate::session) level: Level,
    pub(in crate::session) reason: String,
}

/// A question that waits for the user.
#[derive(Debug)]
pub(in crate::session) struct Open {
    pub(super) id: ConfirmId,
    pub(super) caller: Caller,
    /// The lane whose channel asks.
    pub(super) lane: LaneId,
    pub(super) number: u32,
    pub(super) answer_to: AnswerTo,
    pub(super) call: Call,
    pub(super) deadline: Instant,
    pub(super) level: Level,
    /// The user said yes in words once. A dangerous call needs a second yes.
    allowed_once: bool,
    /// The question is also shown in the chat, because the run was not started in the agent's own pane.
    pub(super) in_chat: bool,
}

/// Whether a yes in words has to be repeated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::session) enum Again {
    Needed,
    NotNeeded,
}

impl Approvals {
    /// The deadline of the question that times out first.
    pub(in crate::session) fn deadline(&self) -> Option<Instant> {
        self.open.iter().map(|open| open.deadline).min()
    }

    /// Whether a question of this lane waits for an answer of the user.
    pub(in crate::session) fn asks_user(&self, lane: impl Into<LaneId>) -> bool {
        let lane = lane.into();
        self.open.iter().any(|open| open.lane == lane)
    }

    /// Numbers of the lane's open questions.
    pub(in crate::session) fn open_numbers(&self, lane: impl Into<LaneId>) -> Vec<u32> {
        let lane = lane.into();
        self.open.iter().filter(|open| open.lane == lane).map(|open| open.number).collect()
    }

    pub(in crate::session) fn take_number(
        &mut self,
        lane: impl Into<LaneId>,
        number: u32,
    ) -> Option<Open> {
        let lane = lane.into();
        self.take(|open| open.lane == lane && open.number == number)
    }

    /// A yes in words allows a dangerous call only when it is repeated together with the number of the question.
    pub(in crate::session) fn once_more(
        &mut self,
        lane: impl Into<LaneId>,
        number: u32,
        is_numbered: bool,
    ) -> Again {
        let lane = lane.into();
        let is_meant = |open: &&mut Open| open.lane == lane && open.number == number;
        let Some(open) = self.open.iter_mut().find(is_meant) else { return Again::NotNeeded };
        let is_second = std::mem::replace(&mut open.allowed_once, true) && is_numbered;
        match open.level {
            Level::Critical if !is_second => Again::Needed,
            Level::Info | Level::Warn | Level::Critical => Again::NotNeeded,
        }
    }

    /// Forgets what the user always allows if the slot has another agent or workplace now. A live model may have been
    /// allowed to give work to the former agent, so that is forgotten, too.
    pub(in crate::session) fn recall(&mut self, slot: AgentSlot, runs: &Runs) {
        let whose = runs.agent_and_directory(slot);
        let memory = &mut self.remembered[slot];
        if memory.whose != whose {
            *memory = Memory { whose, always: Remembered::default() };
            self.remembered[Caller::Live] = Memory::default();
        }
    }

    /// Takes the question about a call that is `wanted`.
    pub(in crate::session) fn take_call(
        &mut self,
        wanted: impl Fn(CallId) -> bool,
    ) -> Option<Open> {
        self.take(|open| matches!(open.answer_to, AnswerTo::Call(id) if wanted(id)))
    }

    pub(in crate::session) fn take_live_request(
        &mut self,
        wanted: impl Fn(&LiveRequest) -> bool,
    ) -> Option<Open> {
        self.take(|open| matches!(&open.answer_to, AnswerTo::Live(request) if wanted(request)))
    }

    /// Judges a call by the rules and by what the user always allows.
    pub(in crate::session) fn judge(
        &self,
        caller: Caller,
        call: &Call,
        scope: &Scope,
    ) -> Judgement {
        self.judged(self.rules.judge(call, scope, &self.remembered[caller].always))
    }

    /// What [`Approvals::judge`] judges by, for a call that is judged on another thread.
    pub(in crate::session) fn judging_rules(&self, caller: Caller) -> (Arc<Rules>, Remembered) {
        (Arc::clone(&self.rules), self.remembered[caller].always.clone())
    }

    /// Turns a verdict into a decision. Too many open questions turn an `Ask` into a refusal.
    pub(in crate::session) fn judged(&self, verdict: Verdict) -> Judgement {
        let (confirmed, reason) = match verdict.decision {
            Judged::Allow => (Some(Confirmed::Approved), verdict.reason),
            Judged::Deny => (Some(Confirmed::Refused), verdict.reason),
            Judged::Ask if self.open.len() >= MOST_OPEN => {
                let reason = format!("{MOST_OPEN} questions are open already");
                (Some(Confirmed::Refused), reason)
            }
            Judged::Ask => (None, verdict.reason),
        };
        Judgement { confirmed, level: verdict.level, reason }
    }

    /// Whether this question of the lane's worker waits for the user.
    pub(super) fn is_asked(&self, lane: LaneId, ask: AskId) -> bool {
        let mut open = self.open.iter().filter(|open| open.lane == lane);
        open.any(|open| matches!(&open.answer_to, AnswerTo::Worker(asked) if asked.id == ask))
    }

    pub(super) fn limits(&self) -> Limits {
        self.rules.breakers
    }

    pub(super) fn watch(&mut self, caller: impl Into<Caller>) -> &mut Watch {
        &mut self.breakers[caller]
    }

    pub(super) fn take(&mut self, wanted: impl Fn(&Open) -> bool) -> Option<Open> {
        let at = self.open.iter().position(wanted)?;
        Some(self.open.remove(at))
    }

    /// Asks the user. The question is shown on the lane's channel and on `input`.
    pub(in crate::session) fn ask_user(
        &mut self,
        shared: &mut Shared,
        runs: &Runs,
        step: &mut Step,
        question: Question,
    ) {
        let Question { caller, lane, answer_to, call, diff, level, reason } = question;
        let patience = shared.env.config.limits.confirm;
        let id = ConfirmId::random();
        let last = &mut self.last_number[lane];
        *last += 1;
        let number = *last;
        let confirmation = Confirmation {
            id: id.clone(),
            caller,
            channel: lane.channel(),
            number,
            call: call.id.clone(),
            tool: call.tool.clone(),
            name: call.name.clone(),
            input: shown(shared, &call.input, LONGEST_INPUT, call.unseen),
            diff,
            level: warning(level),
            reason,
            seconds: patience.as_secs(),
        };
        if shared.env.webhook.is_some() {
            let call = webhook_call(shared, &confirmation, patience);
            step.effects.push(Effect::Call(Box::new(call)));
        }
        // The chat gets the questions of runs that were requested from outside of the agent's own pane, too.
        let in_chat = runs.is_request(lane) && matches!(answer_to, AnswerTo::Worker(_));
        let deadline = Instant::now() + patience;
        self.open.push(Open {
            id,
            caller,
            lane,
            number,
            answer_to,
            call,
            deadline,
            level,
            allowed_once: false,
            in_chat,
        });
        for channel in shown_on(lane.channel(), in_chat) {
            shared.append(step, channel, Event::ConfirmAsked(confirmation.clone()));
        }
    }

    /// Takes the question that the user answers by its id. `Err` if it is not open, or if a dangerous call needs a
    /// second yes.
    pub(super) fn take_answered(
        &mut self,
        id: &ConfirmId,
        confirmed: Confirmed,
        call: Option<&str>,
        second: SecondYes,
    ) -> Result<Open, Problem> {
        let is_meant =
            |open: &&mut Open| open.id == *id && call.is_none_or(|call| call == open.call.id);
        let asked = self.open.iter_mut().find(is_meant).ok_or(Problem::NothingToConfirm)?;
        let is_dangerous = asked.is_dangerous() && confirmed == Confirmed::Approved;
        let is_second = match second {
            SecondYes::Missing => false,
            SecondYes::Given => true,
            SecondYes::ByRepeating => {
                is_dangerous && std::mem::replace(&mut asked.allowed_once, true)
            }
        };
        if is_dangerous && !is_second {
            return Err(Problem::ConfirmTwice);
        }
        self.take(|open| open.id == *id).ok_or(Problem::NothingToConfirm)
    }

    /// The user does not want to be asked about calls like this one again.
    pub(super) fn remember(&mut self, open: &Open) {
        self.remembered[open.caller].always.always(&open.call);
    }

    /// Records the decision before the worker learns it, so that every later report is checked against it.
    pub(super) fn answer_worker(
        &mut self,
        step: &mut Step,
        lane: LaneId,
        asked: Asked,
        confirmed: Confirmed,
        by: DecidedBy,
    ) {
        let Asked { id, tool, seal } = asked;
        self.watch(lane.caller()).calls.decide(&tool, confirmed, by, seal);
        let decision = decision(confirmed, by);
        step.effects.push(Effect::Decide { lane, ask: id, decision });
    }

    /// A text that was not understood as an answer became a request. The user may have meant an answer, so open
    /// questions are mentioned.
    pub(in crate::session) fn remind(
        &self,
        shared: &mut Shared,
        step: &mut Step,
        pane: Channel,
        agent: AgentSlot,
    ) {
        let open = self.open_numbers(agent);
        if !open.is_empty() {
            shared.append(step, pane, Event::Notice(Notice::StillOpen { agent, open }));
        }
    }
}

impl Open {
    pub(super) fn is_dangerous(&self) -> bool {
        self.level == Level::Critical
    }
}

/// The beginning of a text, and how many bytes are missing. `unseen` bytes were cut off before.
pub(in crate::session) fn shown(shared: &Shared, text: &str, most: usize, unseen: usize) -> String {
    let shown = shortened(text, most);
    let missing = text.len() - shown.len() + unseen;
    if missing == 0 {
        return shown.to_owned();
    }
    let missing = missing.to_string();
    let mark = shared.env.language.get().say("confirm", "shortened", &[("bytes", &missing)]);
    format!("{shown}\n{mark}")
}

fn webhook_call(shared: &Shared, asked: &Confirmation, patience: Duration) -> WebhookCall {
    WebhookCall {
        session: shared.id.as_str().to_owned(),
        channel: webhook_channel(asked.channel),
        tool: asked.tool.clone(),
        level: asked.level.name(),
        id: asked.id.as_str().to_owned(),
        expires: SystemTime::now() + patience,
    }
}

/// Adds a decision to the audit log.
#[expect(clippy::too_many_arguments, reason = "one row of the audit")]
pub(in crate::session) fn audit(
    shared: &Shared,
    step: &mut Step,
    caller: Caller,
    run: RunId,
    call: &Call,
    level: Option<Level>,
    confirmed: Confirmed,
    by: DecidedBy,
    reason: &str,
) {
    let lane = LaneId::of_caller(caller);
    step.changes.push(Change::Audit(AuditEntry {
        caller,
        run,
        call: call.id.clone(),
        tool: call.tool.clone(),
        name: call.name.clone(),
        level: level.map(warning),
        address: lane.and_then(|lane| shared.requesters[lane]),
        input: shown(shared, &call.input, LONGEST_INPUT, call.unseen),
        confirmed,
        by,
        reason: reason.to_owned(),
    }));
}

/// Channels that show a question of `channel` and its answer.
pub(in crate::session) fn shown_on(
    channel: Channel,
    in_chat: bool,
) -> impl Iterator<Item = Channel> {
    [channel, Channel::Input].into_iter().chain(in_chat.then_some(Channel::Chat))
}

/// Receivers of the webhook know channels by their numbers.
fn webhook_channel(channel: Channel) -> String {
    match channel {
        Channel::Agent(slot) => slot.number().to_string(),
        Channel::Chat | Channel::Audio | Channel::Input | Channel::File => "0".to_owned(),
    }
}

fn decision(confirmed: Confirmed, by: DecidedBy) -> Decision {
    match (confirmed, by) {
        (Confirmed::Approved, _) => Decision::AllowOnce,
        (Confirmed::Refused, DecidedBy::End) => Decision::Cancelled,
        (
            Confirmed::Refused,
            DecidedBy::User | DecidedBy::Time | DecidedBy::Rule | DecidedBy::Nobody,
        ) => Decision::Deny,
    }
}

pub(in crate::session) fn call(tool: &Tool) -> Call {
    let touched = tool.locations.iter().map(|location| location.path.as_str());
    let changed = tool.diffs.iter().map(|diff| diff.path.as_str());
    Call {
        id: tool.id.clone(),
        tool: title(tool).to_owned(),
        english: tool.english.clone(),
        name: tool.name.clone(),
        kind: kind(tool.kind).to_owned(),
        input: tool.input.as_deref().unwrap_or_default().to_owned(),
        unseen: tool.unseen,
        paths: touched.chain(changed).map(as_path).collect(),
    }
}

/// The name of a call for people: its title, else the tool's name, else the id.
pub(in crate::session) fn title(tool: &Tool) -> &str {
    let title = Some(&tool.title).filter(|title| !title.is_empty());
    title.or(tool.name.as_ref()).unwrap_or(&tool.id)
}

pub(in crate::session) fn kind(kind: ToolKind) -> &'static str {
    match kind {
        ToolKind::Read => "read",
        ToolKind::Edit => "edit",
        ToolKind::Delete => "delete",
        ToolKind::Move => "move",
        ToolKind::Search => "search",
        ToolKind::Execute => "execute",
        ToolKind::Think => "think",
        ToolKind::Fetch => "fetch",
        ToolKind::SwitchMode => "switch_mode",
        ToolKind::Other => "other",
    }
}

fn warning(level: Level) -> WarningLevel {
    match level {
        Level::Info => WarningLevel::Info,
        Level::Warn => WarningLevel::Warn,
        Level::Critical => WarningLevel::Critical,
    }
}

pub(in crate::session) fn shortened(text: &str, most: usize) -> &str {
    let mut end = text.len().min(most);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}
