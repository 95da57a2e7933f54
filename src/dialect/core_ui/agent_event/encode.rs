//! Encodes deliveries as `agent_event` frames. Every event names its session in its payload.

use super::super::args::arguments;
use super::super::encode::tool_name;
use super::super::wire;
use super::{AgentEventDialect, CoreUiError};
use crate::dialect::aicore::phrase;
use crate::dialect::{BodyError, Frame, FrameError};
use crate::message::{
    Confirmation, Confirmed, DecidedBy, Entry, Event, EventTime, Notice, RunOutcome, Signal,
    Speaker, ToolNote, ToolState,
};
use serde_json::{Value, json};

/// Encodes what one connection of the `agent_event` form is sent.
#[derive(Debug)]
pub struct AgentEventEncoder {
    dialect: AgentEventDialect,
    /// Questions without an answer, because answers do not name the call. A session has at most 64.
    open: Vec<Confirmation>,
}

impl AgentEventEncoder {
    pub(super) fn new(dialect: AgentEventDialect) -> Self {
        Self { dialect, open: Vec::new() }
    }

    pub(super) fn connected(&self, frames: &mut Vec<Frame>) {
        let message = self.dialect.locale.say("core_ui", "connected", &[]);
        push(
            frames,
            &json!({
                "type": "connected", "clientId": self.dialect.client,
                "sessionId": self.dialect.session.as_str(), "message": message,
            }),
        );
    }

    pub(super) fn pong_frame(&self, frames: &mut Vec<Frame>) {
        push(frames, &json!({"type": "pong", "timestamp": EventTime::now().0}));
    }

    /// The client stays where it is.
    pub fn turn_away(&self, code: &str, text: &str, frames: &mut Vec<Frame>) {
        push(frames, &error_frame(code, text));
    }

    /// The first two texts are compared by existing pages, so they are not translated.
    pub(super) fn refused(&self, error: &CoreUiError, frames: &mut Vec<Frame>) {
        let text = match error {
            CoreUiError::Body(body) if !body.is_json() => "Invalid JSON".to_owned(),
            CoreUiError::Body(BodyError::NotAnObject) | CoreUiError::NotAMessage => {
                "Invalid message".to_owned()
            }
            CoreUiError::Body(_)
            | CoreUiError::UnknownType(_)
            | CoreUiError::BadField { .. }
            | CoreUiError::WrongSession
            | CoreUiError::TooLarge { .. }
            | CoreUiError::Binary
            | CoreUiError::Unreadable => error.say(self.dialect.locale),
        };
        push(frames, &error_frame(error.code(), &text));
    }

    pub(super) fn entry(&mut self, entry: &Entry, frames: &mut Vec<Frame>) {
        for (kind, payload) in self.events(&entry.event) {
            self.event(kind, entry.at, payload, frames);
        }
        if let Event::ConfirmAsked(asked) = &entry.event {
            self.open.push(asked.clone());
        } else if let Event::ConfirmSettled { id, .. } = &entry.event {
            self.open.retain(|asked| asked.id != *id);
        }
    }

    fn events(&self, event: &Event) -> Vec<(&'static str, Value)> {
        let locale = self.dialect.locale;
        match event {
            Event::UserText { text, .. }
            | Event::UserRequest { text, .. }
            | Event::Transcript { speaker: Speaker::User, text, .. } => {
                vec![("input:received", json!({"text": text})), ("message:user", said(text))]
            }
            Event::RunStarted(run) => {
                let run = json!({"runId": run.0});
                vec![("loop:started", run.clone()), ("loop:awaiting_llm", run)]
            }
            Event::RunEnded(RunOutcome::Failed) => Vec::new(),
            Event::RunEnded(outcome) => {
                vec![("loop:finished", json!({"reason": outcome.name()}))]
            }
            Event::Text { text, .. }
            | Event::RequestAnswered { text, .. }
            | Event::Transcript { speaker: Speaker::Model, text, .. } => {
                vec![("message:assistant", said(text))]
            }
            Event::Tool(note) => vec![tool(note)],
            Event::ConfirmAsked(asked) => vec![("confirmation:request", self.question(asked))],
            Event::ConfirmSettled { id, confirmed, by, .. } => {
                let approved = *confirmed == Confirmed::Approved;
                let asked = self.open.iter().find(|asked| asked.id == *id);
                let call = asked.map_or("", |asked| asked.call.as_str());
                let answer = json!({
                    "toolCallId": call, "nonce": id.as_str(), "approved": approved, "by": by.name(),
                });
                let refused = (!approved).then(|| {
                    let name = asked.map_or("", tool_name);
                    let reason = blocked(*by);
                    ("tool:blocked", json!({"toolCallId": call, "name": name, "reason": reason}))
                });
                [("confirmation:response", answer)].into_iter().chain(refused).collect()
            }
            Event::Notice(Notice::RunFailed { reason, .. }) => {
                vec![("loop:error", json!({"error": locale.word(reason)}))]
            }
            Event::Notice(notice @ Notice::Locked { .. }) => {
                vec![("safety:lockout", json!({"reason": phrase::notice(locale, notice)}))]
            }
            Event::Notice(notice @ Notice::Reset) => {
                vec![("state:reset", json!({"message": phrase::notice(locale, notice)}))]
            }
            Event::Notice(notice) => {
                vec![("message:system", said(&phrase::notice(locale, notice)))]
            }
            Event::RunLine(text) => vec![("message:system", said(text))],
            Event::UserFile(_)
            | Event::Plan(_)
            | Event::RunSummed(_)
            | Event::Chosen(_)
            | Event::FileMade(_)
            | Event::FilesChanged { .. }
            | Event::CancelTaken
            | Event::AgentReport(_)
            | Event::Work(_)
            | Event::Files { .. } => Vec::new(),
        }
    }

    fn question(&self, asked: &Confirmation) -> Value {
        let locale = self.dialect.locale;
        let values = [("tool", asked.tool.as_str()), ("reason", &locale.word(&asked.reason))];
        json!({
            "toolCallId": asked.call, "toolName": tool_name(asked), "toolArguments": arguments(&asked.input),
            "prompt": locale.say("core_ui", "warning", &values), "level": asked.level.name(),
            "timeoutMs": asked.seconds.saturating_mul(1000), "nonce": asked.id.as_str(),
        })
    }

    pub(super) fn signal(&self, signal: &Signal, frames: &mut Vec<Frame>) {
        let locale = self.dialect.locale;
        match signal {
            Signal::AnswerPart { channel, text, .. } if *channel == self.dialect.lane => {
                self.event("stream:text_delta", EventTime::now(), json!({"text": text}), frames);
            }
            Signal::Failed { problem, .. } => {
                let text = phrase::problem(locale, problem);
                push(frames, &error_frame(problem.code(), &text));
            }
            // Without a session: everybody gets it.
            Signal::System(notice) => {
                let payload = said(&phrase::system(locale, notice));
                push(frames, &envelope("message:system", EventTime::now(), payload));
            }
            Signal::AnswerPart { .. }
            | Signal::AnswerLines { .. }
            | Signal::Audio { .. }
            | Signal::StopPlayback { .. }
            | Signal::TurnTimes(_)
            | Signal::Heartbeat { .. }
            | Signal::Ack { .. }
            | Signal::FilesUnchanged { .. }
            | Signal::Compared { .. }
            | Signal::Diff(_)
            | Signal::Backups(_)
            | Signal::Settings(_)
            | Signal::SettingsRefused { .. }
            | Signal::State { .. }
            | Signal::Usage { .. } => {}
        }
    }

    fn event(&self, kind: &str, at: EventTime, mut payload: Value, frames: &mut Vec<Frame>) {
        payload["sessionId"] = self.dialect.session.as_str().into();
        push(frames, &envelope(kind, at, payload));
    }
}

fn envelope(kind: &str, at: EventTime, payload: Value) -> Value {
    json!({"type": "agent_event", "event": {"type": kind, "timestamp": at.0, "payload": payload}})
}

fn error_frame(code: &str, text: &str) -> Value {
    json!({"type": "error", "error": text, "code": wire::error_code(code)})
}

fn said(text: &str) -> Value {
    json!({"content": text})
}

fn tool(note: &ToolNote) -> (&'static str, Value) {
    let name = note.tool.as_deref().unwrap_or(&note.name);
    let mut payload = json!({"toolCallId": note.id, "name": name});
    match note.state {
        ToolState::Started => {
            payload["arguments"] = note.input.as_deref().map_or_else(|| json!({}), arguments);
            ("tool:executing", payload)
        }
        ToolState::Completed => {
            payload["result"] = json!(note.output);
            ("tool:result", payload)
        }
        ToolState::Failed => {
            payload["error"] = json!(note.error.as_deref().or(note.output.as_deref()));
            ("tool:error", payload)
        }
    }
}

/// Existing clients compare these texts.
fn blocked(by: DecidedBy) -> &'static str {
    match by {
        DecidedBy::User => "User denied: the tool was not run",
        DecidedBy::Time => "Confirmation timeout (default-deny)",
        DecidedBy::Rule => "Confirmation gate denied: the rules do not allow it",
        DecidedBy::End | DecidedBy::Nobody => "Confirmation gate denied: the run has ended",
    }
}

fn push(frames: &mut Vec<Frame>, frame: &Value) {
    frames.push(Frame::Text(frame.to_string()));
}
