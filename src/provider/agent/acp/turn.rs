//! One prompt: what the agent tells and asks until it has answered, and how it is stopped.

use super::content::Shown;
use super::option::Choices;
use super::peer::{Said, Silence};
use super::wire::{self, Incoming, RpcError};
use super::{Agent, Halt, Happening, Listening, content};
use crate::provider::agent::{
    AgentEnd, AgentInput, AgentOutput, AgentPrompt, AgentState, AskId, Cost, Decision, PlanStep,
    PlanStepState, Usage,
};
use agent_client_protocol_schema::v1::{
    CancelNotification, ContentBlock, Plan, PlanEntryStatus, PromptRequest, PromptResponse,
    RequestId, RequestPermissionRequest, SessionUpdate, StopReason, UsageUpdate,
};
use serde_json::Value;
use std::time::Duration;
use tokio::time::Instant;

/// How long an agent may take to stop when it is asked to, before its processes are ended.
const CANCEL_LIMIT: Duration = Duration::from_secs(3);

/// So many pictures of one prompt are shown.
const MOST_PICTURES: usize = 8;

/// Whether a process was there before the prompt that it is asked now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Acquaintance {
    Kept,
    Fresh,
}

impl Agent {
    pub(super) async fn turn(&mut self, prompt: &AgentPrompt) -> Result<AgentEnd, Halt> {
        let early = self.speak_up();
        if self.peer.is_some() {
            match self.return_to_mode().await {
                Ok(()) => {
                    if let Some(end) = self.attempt(prompt, Acquaintance::Kept).await? {
                        return Ok(end);
                    }
                }
                // One that died or does not go back is of no use any more; the next one begins in the right mode.
                Err(Halt::Failed(reason)) => {
                    let label = &self.program.row.label;
                    self.note(format!("{label} is started again: {reason}"));
                }
                Err(halt) => return Err(halt),
            }
            // It may also have died since the last prompt, and nobody had noticed yet.
            self.bury().await?;
            if let Some(early) = early {
                self.session = early.session;
            }
        }
        self.open().await?;
        let end = self.attempt(prompt, Acquaintance::Fresh).await?;
        Ok(end.unwrap_or(AgentEnd::Cancelled))
    }

    /// `None`: a process from before this prompt is gone without having said a word to it, or cannot work any more since
    /// we have ended something of it.
    async fn attempt(
        &mut self,
        prompt: &AgentPrompt,
        acquaintance: Acquaintance,
    ) -> Result<Option<AgentEnd>, Halt> {
        let mut silent = acquaintance == Acquaintance::Kept;
        let wounded = std::mem::take(&mut self.wounded) && silent;
        self.tell_state(AgentState::Thinking);
        let session = self.session.clone().unwrap_or_default();
        let blocks = content::blocks(prompt, &self.takes).await;
        self.look_around().await;
        let wanted = self.request("session/prompt", &PromptRequest::new(session, blocks))?;
        loop {
            match self.next(None).await {
                Happening::Said(Said::Message(message)) => {
                    if self.is_history(&message, &prompt.text) {
                        self.passed_over.late += 1;
                        continue;
                    }
                    if let Some(result) = self.on_message(message, wanted) {
                        let broken = wounded && result.is_err();
                        if broken && silent {
                            return Ok(None);
                        }
                        let end = self.ended(result);
                        if broken {
                            self.bury().await?;
                        }
                        return Ok(Some(end));
                    }
                    silent = false;
                }
                Happening::Said(Said::Ended(Silence::Closed)) if silent => return Ok(None),
                // Remembered for the case that it dies.
                Happening::Said(Said::Complaint(_))
                | Happening::Late
                | Happening::Input(AgentInput::Warm) => (),
                Happening::Said(Said::Ended(why)) => return Err(self.lost(&why).await),
                Happening::Input(AgentInput::Prompt(prompt)) => self.hold(prompt),
                Happening::Input(AgentInput::Answer { id, decision }) => self.decide(id, decision),
                Happening::Input(AgentInput::Cancel | AgentInput::CancelNow) => {
                    return self.cancel(wanted).await.map(Some);
                }
                Happening::LinkDropped => return Err(Halt::LinkDropped),
            }
        }
    }

    fn is_history(&mut self, message: &Incoming, prompt: &str) -> bool {
        match message {
            Incoming::Update(update) => self.replay.has(&update.update, prompt),
            Incoming::Response { .. }
            | Incoming::Ask { .. }
            | Incoming::Refused { .. }
            | Incoming::Unknown
            | Incoming::Noise(_) => false,
        }
    }

    /// Returns the answer to the prompt, when it comes.
    fn on_message(&mut self, message: Incoming, wanted: u64) -> Option<Result<Value, RpcError>> {
        match message {
            Incoming::Response { id, result } if id == wanted => return Some(result),
            Incoming::Update(update) => self.on_update(update.update),
            Incoming::Ask { id, request } if self.listening == Listening::WhenTold => {
                self.park(id, *request);
            }
            other @ (Incoming::Response { .. }
            | Incoming::Ask { .. }
            | Incoming::Refused { .. }
            | Incoming::Unknown
            | Incoming::Noise(_)) => self.on_other(other),
        }
        None
    }

    fn on_update(&mut self, update: SessionUpdate) {
        match update {
            SessionUpdate::AgentMessageChunk(chunk) => {
                if let ContentBlock::Text(text) = &chunk.content {
                    let gap = self.messages.gap(chunk.message_id, &text.text);
                    self.tell_text(gap, AgentOutput::Answer);
                }
                self.tell_content(chunk.content, AgentOutput::Answer);
            }
            SessionUpdate::AgentThoughtChunk(chunk) => {
                self.tell_content(chunk.content, AgentOutput::Thought);
            }
            SessionUpdate::ToolCall(call) => {
                self.messages.end();
                let news = self.tools.begin(call);
                self.tell_tool(news);
            }
            SessionUpdate::ToolCallUpdate(update) => {
                for line in self.tools.printed(&update) {
                    self.tell(AgentOutput::Line(line));
                }
                let news = self.tools.update(update);
                self.tell_tool(news);
            }
            SessionUpdate::Plan(plan) => self.tell(AgentOutput::Plan(steps(plan))),
            SessionUpdate::CurrentModeUpdate(mode) => {
                self.tell(AgentOutput::Mode(mode.current_mode_id.to_string()));
                self.change_mode(|choices| choices.change_mode(mode.current_mode_id));
            }
            SessionUpdate::ConfigOptionUpdate(update) => {
                self.change_mode(|choices| choices.change_options(update.config_options));
            }
            SessionUpdate::UsageUpdate(update) => self.tell(AgentOutput::Usage(usage(update))),
            SessionUpdate::Notice(notice) => {
                let text = match notice.description {
                    Some(description) => format!("{}: {description}", notice.title),
                    None => notice.title,
                };
                self.tell(AgentOutput::Line(text));
            }
            SessionUpdate::UserMessageChunk(_)
            | SessionUpdate::AvailableCommandsUpdate(_)
            | SessionUpdate::SessionInfoUpdate(_)
            | SessionUpdate::CompactionUpdate(_)
            | SessionUpdate::CompactionSummaryChunk(_) => (),
            _ => self.passed_over.unknown += 1,
        }
    }

    /// An agent that does not ask any more is told at once, and brought back before the next prompt.
    fn change_mode(&mut self, change: impl FnOnce(&mut Choices)) {
        let before = self.left_mode().map(str::to_owned);
        change(&mut self.choices);
        let row = &self.program.row;
        if let (Some(left), Some(wanted)) = (self.left_mode(), &row.mode)
            && before.as_deref() != Some(left)
        {
            let label = &row.label;
            self.note(format!(
                "{label} has left the mode `{wanted}`, in which it asks, for `{left}`"
            ));
        }
    }

    fn tell_content(&mut self, content: ContentBlock, kind: fn(String) -> AgentOutput) {
        match content::shown(content) {
            Shown::Text(text) => self.tell_text(&text, kind),
            Shown::Picture(bytes) if self.pictures < MOST_PICTURES => {
                self.pictures += 1;
                self.tell(AgentOutput::Picture(bytes));
            }
            Shown::Named(line) => self.tell(AgentOutput::Line(line)),
            Shown::Picture(_) | Shown::Nothing => self.passed_over.unknown += 1,
        }
    }

    fn tell_tool(&mut self, news: Option<crate::provider::agent::Tool>) {
        if let Some(tool) = news {
            self.tell(AgentOutput::Tool(tool));
        }
        self.tell_activity();
    }

    fn tell_activity(&mut self) {
        self.tell_state(if self.questions.any_open() {
            AgentState::WaitingForConfirmation
        } else if self.tools.any_runs() {
            AgentState::ExecutingTool
        } else {
            AgentState::Thinking
        });
    }

    /// The question may come before its tool call: it is told first either way.
    fn park(&mut self, id: RequestId, request: RequestPermissionRequest) {
        self.messages.end();
        let tool = self.tools.ask(request.tool_call);
        self.tell(AgentOutput::Tool(tool.clone()));
        let title = tool.title.clone();
        match self.questions.park(id, tool, request.options) {
            Ok(ask) => self.tell(AgentOutput::Ask(ask)),
            Err(answer) => {
                self.answer(&answer);
                let label = &self.program.row.label;
                self.note(format!(
                    "{label} asks too many things at once; nobody decides about {title}"
                ));
            }
        }
        self.tell_activity();
    }

    fn decide(&mut self, id: AskId, decision: Decision) {
        if let Some(answer) = self.questions.decide(id, decision) {
            self.answer(&answer);
            self.tell_activity();
        }
    }

    /// How a prompt ended. Whether something was refused is not to be seen here: agents end differently then.
    fn ended(&mut self, result: Result<Value, RpcError>) -> AgentEnd {
        let label = self.program.row.label.clone();
        let failed = |reason: String| AgentEnd::Failed { reason };
        let value = match result {
            Ok(value) => value,
            Err(error) if error.code == RpcError::AUTH_REQUIRED => {
                return failed(self.login_needed(&error, &[]));
            }
            Err(error) => return failed(format!("{label}: {}", error.text())),
        };
        let Ok(response) = serde_json::from_value::<PromptResponse>(value) else {
            return AgentEnd::Finished;
        };
        let remark = match response.stop_reason {
            StopReason::EndTurn => return AgentEnd::Finished,
            StopReason::Refusal => return failed(format!("{label}: the model refuses to answer")),
            StopReason::MaxTokens => "the model's limit of tokens was reached",
            StopReason::MaxTurnRequests => "the limit of steps was reached",
            StopReason::Cancelled => "the agent stopped by itself",
            _ => "the agent stopped for a reason that we do not know",
        };
        self.tell(AgentOutput::Note(format!("{label}: {remark}")));
        AgentEnd::Finished
    }

    /// Asks the agent to stop; if it does not, or a second cancel comes, its processes are ended.
    async fn cancel(&mut self, wanted: u64) -> Result<AgentEnd, Halt> {
        for answer in self.questions.close() {
            self.answer(&answer);
        }
        self.listening = Listening::Always;
        let session = self.session.clone().unwrap_or_default();
        self.answer(&wire::notify("session/cancel", &CancelNotification::new(session)));
        let limit = Instant::now() + CANCEL_LIMIT;
        loop {
            match self.next(Some(limit)).await {
                Happening::Said(Said::Message(message)) => {
                    if self.on_message(message, wanted).is_some() {
                        return self.sweep().await.map(|()| AgentEnd::Cancelled);
                    }
                }
                Happening::Said(Said::Complaint(_))
                | Happening::Input(AgentInput::Warm | AgentInput::Answer { .. }) => (),
                Happening::Input(AgentInput::Prompt(prompt)) => self.hold(prompt),
                Happening::Said(Said::Ended(_))
                | Happening::Late
                | Happening::Input(AgentInput::Cancel | AgentInput::CancelNow) => {
                    return self.bury().await.map(|_| AgentEnd::Cancelled);
                }
                Happening::LinkDropped => return Err(Halt::LinkDropped),
            }
        }
    }
}

fn steps(plan: Plan) -> Vec<PlanStep> {
    let step = |entry: agent_client_protocol_schema::v1::PlanEntry| PlanStep {
        text: entry.content,
        state: match entry.status {
            PlanEntryStatus::InProgress => PlanStepState::Started,
            PlanEntryStatus::Completed => PlanStepState::Completed,
            PlanEntryStatus::Pending => PlanStepState::Pending,
            _ => PlanStepState::Pending,
        },
    };
    plan.entries.into_iter().map(step).collect()
}

fn usage(update: UsageUpdate) -> Usage {
    let cost = update.cost.map(|cost| Cost { amount: cost.amount, currency: cost.currency });
    Usage { used: update.used, size: update.size, cost }
}
