//! Encodes what happens in the chat of a session as the agent UI's frames. A turn is told when it has ended, so that its
//! outputs come in the document's order; until then there is only progress.

use super::SmolDialect;
use super::output::{self, Pictures, Said};
use super::parser;
use super::turn::Turn;
use crate::dialect::aicore::phrase;
use crate::dialect::{Frame, FrameId};
use crate::locale::Locale;
use crate::message::floor::{Bitmap, Floor};
use crate::message::{
    Confirmation, Confirmed, Entry, Event, EventTime, Notice, RunOutcome, Signal, Speaker, Work,
};
use serde_json::{Value, json};

/// Encodes what one connection is sent.
#[derive(Debug)]
pub struct SmolEncoder {
    dialect: SmolDialect,
    /// The history was told; from now on progress is of use.
    is_live: bool,
    turn: Option<Turn>,
    /// Of earlier turns.
    pictures: Pictures,
}

/// Pictures that an answer can show again by their names.
const MOST_PICTURES: usize = 200;

impl SmolEncoder {
    pub(super) fn new(dialect: SmolDialect) -> Self {
        Self { dialect, is_live: false, turn: None, pictures: Vec::new() }
    }

    pub(super) fn locale(&self) -> Locale {
        self.dialect.locale
    }

    pub(super) fn connected(&self, frames: &mut Vec<Frame>) {
        let SmolDialect { session, resumed, locale, .. } = &self.dialect;
        let content = json!({"conversation": session.as_str(), "resumed": resumed});
        let floor = |floor: Floor| locale.say("smol", "floor", &[("floor", floor.id())]);
        let bitmap = |bitmap: Bitmap| locale.say("smol", bitmap.id(), &[]);
        let definition = parser::definition(floor, bitmap);
        frames.push(text(&json!({"type": "map_definition", "content": definition})));
        frames.push(text(&json!({"type": "connected", "content": content})));
    }

    pub(super) fn caught_up(&mut self, frames: &mut Vec<Frame>) {
        frames.push(text(&json!({"type": "history_end", "content": {}})));
        self.is_live = true;
        if self.turn.is_some() {
            let now = EventTime::now();
            frames.extend(self.progress("thinking", now, None).iter().map(text));
        }
    }

    /// Appends the frames of an event. The last of them says that the client has the event.
    pub(super) fn entry(&mut self, entry: &Entry, frames: &mut Vec<Frame>) {
        let told = self.told(entry);
        if entry.seq <= self.dialect.after {
            return;
        }
        let last = told.len().saturating_sub(1);
        for (at, frame) in told.iter().enumerate() {
            frames.push(if at == last {
                Frame::Event(FrameId::Number(entry.seq.0), frame.to_string())
            } else {
                text(frame)
            });
        }
    }

    fn told(&mut self, entry: &Entry) -> Vec<Value> {
        let locale = self.dialect.locale;
        match &entry.event {
            Event::UserText { text, .. }
            | Event::UserRequest { text, .. }
            | Event::Transcript { speaker: Speaker::User, text, .. } => {
                vec![json!({"type": "user_message", "content": text})]
            }
            Event::RunStarted(run) => {
                self.turn = Some(Turn::new(*run, entry.at));
                self.progress("thinking", entry.at, None)
            }
            Event::RunLine(line) => self.progress("executing", entry.at, Some(line)),
            Event::Work(work) => self.step(work, entry.at),
            Event::RunEnded(outcome) => {
                if let Some(turn) = &mut self.turn {
                    turn.ended = Some(*outcome);
                }
                Vec::new()
            }
            Event::Text { text, run, .. } => match &mut self.turn {
                Some(turn) if *run == Some(turn.run) => {
                    turn.answer.push_str(text);
                    let is_whole = turn.ended == Some(RunOutcome::Finished);
                    if is_whole { self.end(None, entry.at) } else { Vec::new() }
                }
                Some(_) | None => said(text),
            },
            Event::RequestAnswered { text, .. }
            | Event::Transcript { speaker: Speaker::Model, text, .. } => said(text),
            Event::Notice(notice) => self.notice(notice, entry.at),
            Event::ConfirmAsked(asked) => {
                let mut told = vec![self.question(asked)];
                told.extend(self.progress("waiting", entry.at, None));
                told
            }
            Event::ConfirmSettled { id, confirmed, .. } => {
                let allowed = *confirmed == Confirmed::Approved;
                let content = json!({"id": id.as_str(), "allowed": allowed});
                let mut told = vec![json!({"type": "confirmed", "content": content})];
                told.extend(self.progress("thinking", entry.at, None));
                told
            }
            Event::FileMade(file) => said(&phrase::file_made(locale, file)),
            Event::UserFile(_)
            | Event::Tool(_)
            | Event::Plan(_)
            | Event::RunSummed(_)
            | Event::Chosen(_)
            | Event::FilesChanged { .. }
            | Event::CancelTaken
            | Event::AgentReport(_)
            | Event::Files { .. } => Vec::new(),
        }
    }

    fn step(&mut self, work: &Work, at: EventTime) -> Vec<Value> {
        let Some(turn) = &mut self.turn else { return Vec::new() };
        turn.take(work, at);
        match work {
            Work::Code(_) => self.progress("executing", at, None),
            Work::Execution(_) => self.progress("thinking", at, None),
            Work::Dataset(_)
            | Work::Decision(_)
            | Work::Artifact(_)
            | Work::Floor(_)
            | Work::Report(_) => Vec::new(),
        }
    }

    /// The end of a run that did not finish is told by its notice.
    fn notice(&mut self, notice: &Notice, at: EventTime) -> Vec<Value> {
        let locale = self.dialect.locale;
        let words = phrase::notice(locale, notice);
        let ended = self.turn.as_ref().filter(|turn| turn.ended.is_some()).map(|turn| turn.run);
        match notice {
            Notice::RunFailed { reason, run } => {
                let reason = locale.word(reason);
                let failure = locale.say("smol", "run_failed", &[("reason", &reason)]);
                if ended == Some(*run) {
                    self.end(Some((failure, true)), at)
                } else {
                    error(&failure)
                }
            }
            Notice::RunCancelled { run } | Notice::RunInterrupted { run, .. }
                if ended == Some(*run) =>
            {
                self.end(Some((words, false)), at)
            }
            // The reason why the run has failed follows.
            Notice::Locked { .. }
            | Notice::RunCancelled { .. }
            | Notice::RunInterrupted { .. }
            | Notice::Queued { .. }
            | Notice::QueuedCancelled { .. }
            | Notice::NothingToCancel
            | Notice::ProjectGone { .. }
            | Notice::LiveDown { .. }
            | Notice::LiveReplaced { .. }
            | Notice::WhichQuestion { .. }
            | Notice::ChangedInCopy { .. }
            | Notice::NotChosen { .. }
            | Notice::ConfirmAgain { .. }
            | Notice::StillOpen { .. }
            | Notice::WorkKept { .. }
            | Notice::CopyLacks { .. }
            | Notice::Reset
            | Notice::AnswerCut { .. } => said(&words),
        }
    }

    /// Tells the turn as a whole. `instead` is said after what there is of the answer, perhaps as an error.
    fn end(&mut self, instead: Option<(String, bool)>, at: EventTime) -> Vec<Value> {
        let Some(mut turn) = self.turn.take() else { return Vec::new() };
        turn.until = Some(at);
        let (more, is_error) = instead.map_or((None, false), |(text, flag)| (Some(text), flag));
        // An error begins with its own words.
        let answer = (!is_error && !turn.answer.is_empty()).then(|| turn.answer.clone());
        let parts: Vec<_> = answer.into_iter().chain(more).collect();
        let text = if parts.is_empty() { turn.raw.trim().to_owned() } else { parts.join("\n\n") };
        let mut told = output::frames(&turn, &Said { text, is_error }, &self.pictures);
        let spare = (self.pictures.len() + turn.pictures.len()).saturating_sub(MOST_PICTURES);
        self.pictures.drain(..spare.min(self.pictures.len()));
        self.pictures.extend(turn.pictures.iter().cloned());
        if self.is_live {
            let content = json!({"state": "ended", "elapsed_ms": turn.elapsed(at)});
            told.push(json!({"type": "progress", "content": content}));
        }
        told
    }

    /// None in the history: it is over.
    fn progress(&self, state: &str, at: EventTime, text: Option<&str>) -> Vec<Value> {
        let Some(turn) = self.turn.as_ref().filter(|_| self.is_live) else { return Vec::new() };
        let step = turn.code.last().map(|note| Turn::label(note.step));
        let content = json!({
            "state": state, "step": step, "text": text, "elapsed_ms": turn.elapsed(at),
        });
        vec![json!({"type": "progress", "content": content})]
    }

    fn question(&self, asked: &Confirmation) -> Value {
        let locale = self.dialect.locale;
        let values = [("tool", asked.tool.as_str()), ("reason", &locale.word(&asked.reason))];
        // What is no JSON was cut off.
        let arguments = serde_json::from_str(&asked.input).unwrap_or_else(|_| json!(asked.input));
        let content = json!({
            "id": asked.id.as_str(), "tool": asked.tool, "arguments": arguments,
            "warning": locale.say("core_ui", "warning", &values),
        });
        json!({"type": "confirm", "content": content})
    }

    pub(super) fn signal(&mut self, signal: &Signal, frames: &mut Vec<Frame>) {
        let locale = self.dialect.locale;
        match signal {
            Signal::Failed { problem, .. } => {
                self.failed(&phrase::problem(locale, problem), frames);
            }
            Signal::System(notice) => {
                frames.extend(said(&phrase::system(locale, notice)).iter().map(text));
            }
            Signal::Ack { .. }
            | Signal::AnswerPart { .. }
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

    /// What a client sent was not carried out.
    pub(super) fn failed(&self, why: &str, frames: &mut Vec<Frame>) {
        let words = self.dialect.locale.say("smol", "refused", &[("reason", why)]);
        frames.extend(error(&words).iter().map(text));
    }
}

fn text(frame: &Value) -> Frame {
    Frame::Text(frame.to_string())
}

fn said(words: &str) -> Vec<Value> {
    vec![json!({"type": "text", "content": words})]
}

fn error(words: &str) -> Vec<Value> {
    vec![json!({"type": "error", "content": words})]
}
