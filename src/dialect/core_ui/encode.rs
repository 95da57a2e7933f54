//! Encodes deliveries as the document's frames, and as the additions that the client asked for.

use super::args::arguments;
use super::seq::FrameSeq;
use super::turn::{State, Turn};
use super::{CoreUiDialect, CoreUiError, wire};
use crate::dialect::aicore::phrase;
use crate::dialect::{Frame, FrameError, FrameId, Refusal, work};
use crate::message::{
    AnswerNote, Confirmation, Confirmed, Entry, Event, EventTime, Greeting, Notice, RequestNo,
    Signal, SourceNote, Speaker, ToolNote, ToolState,
};
use serde_json::{Value, json};

/// Encodes what one connection is sent.
#[derive(Debug)]
pub struct CoreUiEncoder {
    dialect: CoreUiDialect,
    turn: Turn,
    /// `seq` of the last frame that has a number of its own.
    last: FrameSeq,
}

impl CoreUiEncoder {
    pub(super) fn new(dialect: CoreUiDialect) -> Self {
        let last = dialect.after;
        Self { dialect, turn: Turn::default(), last }
    }

    /// A number that this history does not have is of another one, so it says nothing about what the client has.
    pub(super) fn connected(&mut self, greeting: &Greeting, frames: &mut Vec<Frame>) {
        if !greeting.resumed {
            self.dialect.after = FrameSeq::default();
            self.last = FrameSeq::default();
        }
        let payload = json!({"resumed": greeting.resumed, "project": &*greeting.project});
        self.pass(wire::CONNECTED, payload, frames);
    }

    /// Appends the frames of an event, without those that the client already has.
    pub(super) fn entry(&mut self, entry: &Entry, frames: &mut Vec<Frame>) {
        let told = self.told(entry);
        let states =
            self.turn.states(entry).into_iter().map(|state| {
                self.has(state).then(|| (wire::STATE, json!({"state": state.name()})))
            });
        // Places do not depend on what the client asked for, so it may ask for something else when it resumes.
        let all: Vec<_> = std::iter::once(told).chain(states).collect();
        for (place, frame) in all.into_iter().enumerate() {
            let seq = FrameSeq::new(entry, place);
            if let Some((kind, payload)) = frame.filter(|_| seq > self.dialect.after) {
                self.last = seq;
                let text = self.frame(kind, seq, entry.at, payload);
                frames.push(Frame::Event(FrameId::Number(seq.0), text));
            }
        }
    }

    /// Whether the client knows the state.
    fn has(&self, state: State) -> bool {
        state != State::WaitingForConfirmation || self.dialect.additions.states
    }

    fn told(&self, entry: &Entry) -> Option<(&'static str, Value)> {
        let CoreUiDialect { locale, additions, .. } = self.dialect;
        match &entry.event {
            Event::Text { text, note, .. } => Some((wire::MESSAGE, message(text, note))),
            Event::RequestAnswered { text, .. }
            | Event::Transcript { speaker: Speaker::Model, text, .. } => {
                Some((wire::MESSAGE, message(text, &AnswerNote::default())))
            }
            Event::ConfirmAsked(asked) => {
                let warning = json!({"level": asked.level.name(), "message": self.warning(asked)});
                let payload = json!({
                    "confirmationId": asked.id.as_str(),
                    "toolName": tool_name(asked),
                    "args": arguments(&asked.input),
                    "security_warning": warning,
                });
                Some((wire::TOOL_REQUEST, payload))
            }
            Event::Notice(Notice::RunFailed { reason, .. }) => {
                let payload = json!({"code": "RUN_FAILED", "message": locale.word(reason)});
                Some((wire::ERROR, payload))
            }
            Event::UserText { text, .. }
            | Event::UserRequest { text, .. }
            | Event::Transcript { speaker: Speaker::User, text, .. } => {
                additions.inputs.then(|| (wire::USER_INPUT, json!({"text": text})))
            }
            Event::Tool(note) => additions.tools.then(|| (wire::TOOL, tool(note))),
            Event::ConfirmSettled { id, confirmed, by, .. } => additions.tools.then(|| {
                let approved = *confirmed == Confirmed::Approved;
                let payload =
                    json!({"confirmationId": id.as_str(), "approved": approved, "by": by.name()});
                (wire::RESOLVED, payload)
            }),
            Event::Notice(notice) => additions
                .notices
                .then(|| (wire::NOTICE, json!({"text": phrase::notice(locale, notice)}))),
            Event::RunLine(text) => {
                additions.notices.then(|| (wire::NOTICE, json!({"text": text})))
            }
            Event::Work(step) => additions.work.then(|| {
                let (name, fields) = work::frame(step);
                (wire::WORK, json!({"step": name, "data": fields}))
            }),
            Event::UserFile(_)
            | Event::RunStarted(_)
            | Event::Plan(_)
            | Event::RunEnded(_)
            | Event::RunSummed(_)
            | Event::Chosen(_)
            | Event::FileMade(_)
            | Event::FilesChanged { .. }
            | Event::CancelTaken
            | Event::AgentReport(_)
            | Event::Files { .. } => None,
        }
    }

    /// What a person has to know before they answer.
    fn warning(&self, asked: &Confirmation) -> String {
        let locale = self.dialect.locale;
        let values = [("tool", asked.tool.as_str()), ("reason", &locale.word(&asked.reason))];
        locale.say("core_ui", "warning", &values)
    }

    pub(super) fn signal(&mut self, signal: &Signal, frames: &mut Vec<Frame>) {
        let locale = self.dialect.locale;
        match signal {
            Signal::AnswerPart { channel, text, .. } if *channel == self.dialect.lane => {
                if self.dialect.additions.deltas {
                    self.pass(wire::DELTA, json!({"text": text}), frames);
                }
            }
            Signal::Ack { request, repeated } => {
                let payload = json!({"id": number(request), "repeated": repeated});
                self.pass(wire::ACK, payload, frames);
            }
            Signal::Failed { problem, request } => {
                let text = phrase::problem(locale, problem);
                self.error(&wire::problem_code(problem), &text, request.as_ref(), frames);
            }
            // The only frame that has no session, and that everybody gets.
            Signal::System(notice) => {
                let (payload, timestamp) =
                    (json!({"text": phrase::system(locale, notice)}), EventTime::now().0);
                let frame =
                    json!({"type": wire::SYSTEM, "timestamp": timestamp, "payload": payload});
                frames.push(Frame::Text(frame.to_string()));
            }
            Signal::AnswerPart { .. }
            | Signal::AnswerLines { .. }
            | Signal::Audio { .. }
            | Signal::StopPlayback { .. }
            | Signal::TurnTimes(_)
            | Signal::Heartbeat { .. }
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

    pub(super) fn refused(&mut self, refusal: &Refusal<CoreUiError>, frames: &mut Vec<Frame>) {
        let text = refusal.error.say(self.dialect.locale);
        let code = wire::error_code(refusal.error.code());
        self.error(&code, &text, refusal.request.as_ref(), frames);
    }

    fn error(
        &mut self,
        code: &str,
        text: &str,
        request: Option<&RequestNo>,
        frames: &mut Vec<Frame>,
    ) {
        let mut payload = json!({"code": code, "message": text});
        if let Some(request) = request {
            payload["id"] = number(request);
        }
        self.pass(wire::ERROR, payload, frames);
    }

    /// A frame that is not part of the history has the number of the last one that is.
    fn pass(&mut self, kind: &str, payload: Value, frames: &mut Vec<Frame>) {
        frames.push(Frame::Text(self.frame(kind, self.last, EventTime::now(), payload)));
    }

    fn frame(&self, kind: &str, seq: FrameSeq, at: EventTime, payload: Value) -> String {
        wire::frame(kind, &self.dialect.session, seq.0, at.0, payload).to_string()
    }
}

fn message(text: &str, note: &AnswerNote) -> Value {
    let source = |source: &SourceNote| match source.lines {
        Some((from, to)) => json!({"path": source.path, "lines": [from, to]}),
        None => json!({"path": source.path}),
    };
    let latency = note.latency.map(|time| u64::try_from(time.as_millis()).unwrap_or(u64::MAX));
    json!({
        "content": text,
        "format": "markdown",
        "metadata": {
            "source_documents": note.sources.iter().map(source).collect::<Vec<_>>(),
            "latency_ms": latency,
        },
    })
}

/// An agent may not tell the name of its tool; then its title has to do.
pub(super) fn tool_name(asked: &Confirmation) -> &str {
    asked.name.as_deref().unwrap_or(&asked.tool)
}

fn tool(note: &ToolNote) -> Value {
    let outcome = match note.state {
        ToolState::Started => None,
        ToolState::Completed => note.output.as_deref(),
        ToolState::Failed => note.error.as_deref().or(note.output.as_deref()),
    };
    json!({
        "callId": note.id,
        "toolName": note.tool.as_deref().unwrap_or(&note.name),
        "title": note.name,
        "args": note.input.as_deref().map(arguments),
        "state": note.state.name(),
        "result": outcome,
    })
}

fn number(request: &RequestNo) -> Value {
    match request {
        RequestNo::Number(number) => json!(number),
        RequestNo::Text(text) => json!(&**text),
    }
}
