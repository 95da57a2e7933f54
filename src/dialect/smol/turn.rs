//! A turn under way, collected from its events. It is told as a whole when it has ended.

use super::parser::{AgentResponse, CodeStep, Log};
use crate::message::floor::FloorOrder;
use crate::message::{
    Artifact, ArtifactKind, CodeNote, EventTime, Execution, FileNote, RunId, RunOutcome, Work,
};
use serde_json::json;

/// What the document calls the tool that runs code.
const INTERPRETER: &str = "python_interpreter";

#[derive(Debug)]
pub(super) struct Turn {
    pub(super) run: RunId,
    began: EventTime,
    pub(super) until: Option<EventTime>,
    /// It has ended this way, and its answer or the reason may still come.
    pub(super) ended: Option<RunOutcome>,
    pub(super) answer: String,
    pub(super) code: Vec<CodeNote>,
    /// What the code has printed, and its errors.
    pub(super) raw: String,
    pub(super) pictures: Vec<Picture>,
    pub(super) orders: Vec<(FloorOrder, EventTime)>,
    /// Names of the tools of each step.
    used: Vec<&'static str>,
}

/// A figure that the turn has made.
#[derive(Debug, Clone)]
pub(super) struct Picture {
    pub(super) file: FileNote,
    /// The name that the code gave it.
    pub(super) saved_as: String,
    /// In bytes.
    pub(super) size: u64,
}

impl Turn {
    pub(super) fn new(run: RunId, began: EventTime) -> Self {
        Self {
            run,
            began,
            until: None,
            ended: None,
            answer: String::new(),
            code: Vec::new(),
            raw: String::new(),
            pictures: Vec::new(),
            orders: Vec::new(),
            used: Vec::new(),
        }
    }

    /// When it ended, or began.
    pub(super) fn at(&self) -> EventTime {
        self.until.unwrap_or(self.began)
    }

    /// In milliseconds.
    pub(super) fn elapsed(&self, at: EventTime) -> i64 {
        (at.0 - self.began.0).max(0)
    }

    pub(super) fn take(&mut self, work: &Work, at: EventTime) {
        match work {
            Work::Code(note) => {
                self.code.push(note.clone());
                self.used.push(INTERPRETER);
            }
            Work::Execution(done) => self.executed(done),
            Work::Artifact(made) => self.made(made),
            Work::Floor(note) => {
                self.orders.push((note.order.clone(), at));
                self.used.push(note.order.name());
            }
            Work::Dataset(_) | Work::Decision(_) | Work::Report(_) => {}
        }
    }

    fn executed(&mut self, done: &Execution) {
        self.raw.push_str(&done.stdout);
        if let Some(why) = &done.error {
            self.raw.push_str(&format!("\n[stderr]: {why}\n"));
        }
    }

    fn made(&mut self, made: &Artifact) {
        if made.kind == ArtifactKind::Figure {
            let Artifact { file, description, size, .. } = made.clone();
            let saved_as = if description.is_empty() { file.name.clone() } else { description };
            self.pictures.push(Picture { file, saved_as, size });
        }
    }

    /// The label of a step.
    pub(super) fn label(number: u32) -> String {
        format!("Step {number}")
    }

    /// What the agent has said and done, in the words of the document. `text` is what it says in the end.
    pub(super) fn response(&self, text: &str, error: bool) -> AgentResponse {
        let step = |note: &CodeNote| CodeStep {
            code: note.code.clone(),
            step: Some(Self::label(note.step)),
        };
        let log = |(at, tool): (usize, &&str)| {
            Log::Note(json!({"step_number": at + 1, "tool_calls": [tool]}))
        };
        AgentResponse {
            text: text.to_owned(),
            raw_output: self.raw.clone(),
            result: (!self.answer.is_empty()).then(|| json!(self.answer)),
            code_steps: self.code.iter().map(step).collect(),
            logs: self.used.iter().enumerate().map(log).collect(),
            error,
            ..AgentResponse::default()
        }
    }
}
