//! What the agent sends while it works on a prompt: its answer, tool calls, and questions for approval, as ACP
//! messages.

use super::Texts;
use super::title::{english_title, title};
use crate::provider::agent::acp::{ENGLISH_TITLE, wire};
use crate::tool::{Call, Change, Output, OutputClosed, Risk, Workplace};
use agent_client_protocol_schema::v1::{
    ContentBlock, ContentChunk, Diff, PermissionOption, PermissionOptionKind,
    RequestPermissionOutcome, RequestPermissionRequest, RequestPermissionResponse,
    SessionNotification, SessionUpdate, TextContent, ToolCall, ToolCallContent, ToolCallLocation,
    ToolCallStatus, ToolCallUpdate, ToolCallUpdateFields, ToolKind, UsageUpdate,
};
use serde::Serialize;
use serde_json::{Map, Value, json};
use std::path::Path;
use tokio::sync::mpsc;

/// Messages that are not written yet. Full: the work waits.
pub(super) const OUTBOX_CAPACITY: usize = 64;
/// Answers of the host to the work, which has one open question at a time. Full: the answer belongs to no question, and
/// is dropped.
pub(super) const ANSWER_CAPACITY: usize = 4;

const ALLOW: &str = "allow";
const REJECT: &str = "reject";

/// The host's answer to the agent's request with this id. `None`: the host answered with an error.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) id: u64,
    pub(super) result: Option<Value>,
}

/// The host has closed the connection.
#[derive(Debug)]
pub(super) struct Disconnected;

/// The answer to a question for approval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Permission {
    Granted,
    Refused,
    /// The prompt was cancelled.
    Cancelled,
}

#[derive(Debug)]
pub(super) struct Speaker {
    pub(super) session: String,
    pub(super) outbox: mpsc::Sender<String>,
    pub(super) answers: mpsc::Receiver<Answer>,
    pub(super) last_question: u64,
    pub(super) last_tool: u64,
    pub(super) texts: Texts,
}

impl Speaker {
    /// Sends the next piece of the answer.
    pub(super) async fn say(&self, text: &str) -> Result<(), Disconnected> {
        let text = ContentBlock::Text(TextContent::new(text));
        self.update(SessionUpdate::AgentMessageChunk(ContentChunk::new(text))).await
    }

    pub(super) async fn report_usage(&self, used: u64, size: u64) -> Result<(), Disconnected> {
        self.update(SessionUpdate::UsageUpdate(UsageUpdate::new(used, size))).await
    }

    pub(super) fn new_call_id(&mut self) -> String {
        self.last_tool += 1;
        format!("tool-{}", self.last_tool)
    }

    /// Reports a call that failed before it began. It counts as not carried out.
    pub(super) async fn report_failed_early(
        &self,
        id: &str,
        call: &Call,
        place: &Workplace,
        reason: &str,
    ) -> Result<(), Disconnected> {
        let why = ContentBlock::Text(TextContent::new(reason));
        let tool = ToolCall::new(id.to_owned(), title(call, &self.texts))
            .name(call.tool.name.to_owned())
            .kind(kind(call.tool.risk))
            .locations(locations(call, place.root()))
            .raw_input(call.input.clone())
            .meta(self.english_title_meta(call))
            .status(ToolCallStatus::Failed)
            .content(vec![why.into()]);
        self.update(SessionUpdate::ToolCall(tool)).await
    }

    /// Sends the next piece of a command's output.
    pub(super) async fn send_output(&self, id: &str, piece: &str) -> Result<(), Disconnected> {
        let mut meta = Map::new();
        meta.insert("terminal_output_delta".to_owned(), json!({ "data": piece }));
        let update = ToolCallUpdate::new(id.to_owned(), ToolCallUpdateFields::new()).meta(meta);
        self.update(SessionUpdate::ToolCallUpdate(update)).await
    }

    pub(super) async fn report_outcome(
        &self,
        id: &str,
        outcome: &Result<String, String>,
    ) -> Result<(), Disconnected> {
        let (status, text) = match outcome {
            Ok(text) => (ToolCallStatus::Completed, text),
            Err(reason) => (ToolCallStatus::Failed, reason),
        };
        let content = ContentBlock::Text(TextContent::new(text.as_str()));
        let fields = ToolCallUpdateFields::new().status(status).content(vec![content.into()]);
        self.update(SessionUpdate::ToolCallUpdate(ToolCallUpdate::new(id.to_owned(), fields))).await
    }

    /// Asks for approval and waits for the answer. The question also announces the call, so that the gateway does not
    /// take the call for one without approval.
    pub(super) async fn ask(
        &mut self,
        id: &str,
        call: &Call,
        place: &Workplace,
    ) -> Result<Permission, Disconnected> {
        let diff = |change: &Change| {
            Diff::new(change.file(place), change.after.clone()).old_text(change.before.clone())
        };
        let diff = call.change().map(diff);
        let content: Option<Vec<ToolCallContent>> = diff.map(|diff| vec![diff.into()]);
        let fields = ToolCallUpdateFields::new()
            .title(title(call, &self.texts))
            .name(call.tool.name.to_owned())
            .kind(kind(call.tool.risk))
            .status(ToolCallStatus::Pending)
            .content(content)
            .locations(locations(call, place.root()))
            .raw_input(call.input.clone());
        let options = vec![
            PermissionOption::new(ALLOW, "Allow", PermissionOptionKind::AllowOnce),
            PermissionOption::new(REJECT, "Reject", PermissionOptionKind::RejectOnce),
        ];
        let tool = ToolCallUpdate::new(id.to_owned(), fields).meta(self.english_title_meta(call));
        let question = RequestPermissionRequest::new(self.session.clone(), tool, options);
        self.last_question += 1;
        let message = wire::call(self.last_question, "session/request_permission", &question);
        self.send(message).await?;
        loop {
            let answer = self.answers.recv().await.ok_or(Disconnected)?;
            if answer.id == self.last_question {
                return Ok(read_permission(answer.result));
            }
        }
    }

    /// The title in English, because rules match English titles, whatever the session's language.
    fn english_title_meta(&self, call: &Call) -> Map<String, Value> {
        let title = Value::String(english_title(call, &self.texts));
        Map::from_iter([(ENGLISH_TITLE.to_owned(), title)])
    }

    async fn update(&self, update: SessionUpdate) -> Result<(), Disconnected> {
        let update = SessionNotification::new(self.session.clone(), update);
        self.notify("session/update", &update).await
    }

    async fn notify(&self, method: &str, params: &impl Serialize) -> Result<(), Disconnected> {
        self.send(wire::notify(method, params)).await
    }

    async fn send(&self, message: serde_json::Result<String>) -> Result<(), Disconnected> {
        self.outbox.send(message.map_err(|_| Disconnected)?).await.map_err(|_| Disconnected)
    }
}

/// An answer that cannot be read counts as refused.
fn read_permission(result: Option<Value>) -> Permission {
    let answer = result.and_then(|value| serde_json::from_value(value).ok());
    match answer.map(|answer: RequestPermissionResponse| answer.outcome) {
        Some(RequestPermissionOutcome::Selected(chosen)) if *chosen.option_id.0 == *ALLOW => {
            Permission::Granted
        }
        Some(RequestPermissionOutcome::Cancelled) => Permission::Cancelled,
        Some(_) | None => Permission::Refused,
    }
}

fn locations(call: &Call, place: &Path) -> Vec<ToolCallLocation> {
    let at = |path: &String| {
        ToolCallLocation::new(place.join(path)).line(call.lines.map(|(first, _)| first))
    };
    call.path.iter().map(at).collect()
}

fn kind(risk: Risk) -> ToolKind {
    match risk {
        Risk::Read => ToolKind::Read,
        Risk::Search => ToolKind::Search,
        Risk::Edit => ToolKind::Edit,
        Risk::Execute => ToolKind::Execute,
        Risk::Request | Risk::Compute => ToolKind::Other,
    }
}

/// Output of one call of a command.
#[derive(Debug)]
pub(super) struct CallOutput<'a> {
    pub(super) speaker: &'a Speaker,
    pub(super) id: &'a str,
}

impl Output for CallOutput<'_> {
    async fn print(&self, piece: &str) -> Result<(), OutputClosed> {
        self.speaker.send_output(self.id, piece).await.map_err(|Disconnected| OutputClosed)
    }
}
