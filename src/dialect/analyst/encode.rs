//! Encodes what happens in the chat of a session as the analyst's frames.

use super::{AnalystDialect, FrameSeq, file_url};
use crate::dialect::aicore::phrase;
use crate::dialect::{Frame, FrameId, work};
use crate::locale::Locale;
use crate::message::{
    Confirmation, Entry, Event, EventTime, Greeting, NextAction, Notice, RequestNo, RunId,
    RunOutcome, Signal, Speaker, Work,
};
use jiff::Timestamp;
use serde_json::{Value, json};

/// Most actions of one request, as people are shown.
const LOOPS: u32 = 5;

/// Encodes what one connection is sent.
#[derive(Debug)]
pub struct AnalystEncoder {
    dialect: AnalystDialect,
    /// The current run, as far as it was seen from its beginning.
    run: Option<SeenRun>,
    /// `seq` of the last frame that has a number of its own.
    last: FrameSeq,
}

#[derive(Debug)]
struct SeenRun {
    id: RunId,
    began: EventTime,
    /// Actions that were run.
    loops: u32,
    /// It is an analysis, whose answer is told as a report or a question.
    is_analysis: bool,
}

impl SeenRun {
    /// In milliseconds.
    fn elapsed(&self, at: EventTime) -> i64 {
        (at.0 - self.began.0).max(0)
    }
}

type Told = (&'static str, Value);

impl AnalystEncoder {
    pub(super) fn new(dialect: AnalystDialect) -> Self {
        let last = dialect.after;
        Self { dialect, run: None, last }
    }

    pub(super) fn locale(&self) -> Locale {
        self.dialect.locale
    }

    pub(super) fn connected(&mut self, greeting: &Greeting, frames: &mut Vec<Frame>) {
        if !greeting.resumed {
            self.dialect.after = FrameSeq::default();
            self.last = FrameSeq::default();
        }
        let session = self.dialect.session.as_str();
        let told = json!({"session": session, "resumed": greeting.resumed});
        self.pass("connected", told, frames);
    }

    /// Appends the frames of an event, without those that the client already has.
    pub(super) fn entry(&mut self, entry: &Entry, frames: &mut Vec<Frame>) {
        for (place, (kind, fields)) in self.told(entry).into_iter().enumerate() {
            let seq = FrameSeq::new(entry, place);
            if seq > self.dialect.after {
                self.last = seq;
                let text = frame(kind, seq, entry.at, fields).to_string();
                frames.push(Frame::Event(FrameId::Number(seq.0), text));
            }
        }
    }

    fn told(&mut self, entry: &Entry) -> Vec<Told> {
        let locale = self.dialect.locale;
        match &entry.event {
            Event::UserText { text, .. }
            | Event::UserRequest { text, .. }
            | Event::Transcript { speaker: Speaker::User, text, .. } => {
                vec![("user", json!({"text": text}))]
            }
            Event::RunStarted(run) => {
                let (id, began) = (*run, entry.at);
                self.run = Some(SeenRun { id, began, loops: 0, is_analysis: false });
                vec![self.progress("reason", entry.at, None)]
            }
            Event::RunLine(line) => vec![self.progress("setup", entry.at, Some(line))],
            Event::Work(step) => self.step(step, entry.at),
            // The notice of the same interruption follows, and names the run.
            Event::RunEnded(RunOutcome::Interrupted) => Vec::new(),
            Event::RunEnded(
                outcome @ (RunOutcome::Finished | RunOutcome::Cancelled | RunOutcome::Failed),
            ) => vec![Self::done(self.run.as_ref(), *outcome, entry.at)],
            Event::Text { text, run, .. } => {
                // The run ended before this answer; what an analysis answers was told already.
                let is_answer =
                    run.is_some() && self.run.as_ref().is_none_or(|run| run.is_analysis);
                if is_answer { Vec::new() } else { vec![("message", json!({"text": text}))] }
            }
            Event::RequestAnswered { text, .. }
            | Event::Transcript { speaker: Speaker::Model, text, .. } => {
                vec![("message", json!({"text": text}))]
            }
            Event::Notice(Notice::RunFailed { reason, .. }) => {
                vec![("error", json!({"code": "run_failed", "message": locale.word(reason)}))]
            }
            Event::Notice(notice @ Notice::RunInterrupted { run, .. }) => {
                let told = json!({"text": phrase::notice(locale, notice)});
                // A run that only waited has not begun, so the run that was seen last may be another one.
                let seen = self.run.as_ref().filter(|seen| seen.id == *run);
                let (kind, mut done) = Self::done(seen, RunOutcome::Interrupted, entry.at);
                done["run"] = json!(run.0);
                vec![("message", told), (kind, done)]
            }
            Event::Notice(notice) => {
                vec![("message", json!({"text": phrase::notice(locale, notice)}))]
            }
            Event::ConfirmAsked(asked) => vec![("confirm", self.question(asked))],
            Event::ConfirmSettled { id, .. } => {
                vec![("confirmed", json!({"id": id.as_str()}))]
            }
            Event::UserFile(_)
            | Event::Tool(_)
            | Event::Plan(_)
            | Event::RunSummed(_)
            | Event::Chosen(_)
            | Event::FileMade(_)
            | Event::FilesChanged { .. }
            | Event::CancelTaken
            | Event::AgentReport(_)
            | Event::Files { .. } => Vec::new(),
        }
    }

    fn step(&mut self, step: &Work, at: EventTime) -> Vec<Told> {
        let (kind, mut fields) = work::frame(step);
        if let Some(run) = &mut self.run {
            run.is_analysis |= !matches!(step, Work::Dataset(_));
        }
        let session = &self.dialect.session;
        match step {
            Work::Dataset(_) | Work::Code(_) | Work::Floor(_) => vec![(kind, fields)],
            Work::Decision(decision) => {
                let then = match decision.next {
                    NextAction::Ask => {
                        let asked = json!({"run": decision.run.0, "text": decision.question});
                        ("question", asked)
                    }
                    NextAction::Act => self.progress("code_exec", at, None),
                    NextAction::Finalize => self.progress("report", at, None),
                };
                vec![(kind, fields), then]
            }
            Work::Execution(done) => {
                if let Some(run) = &mut self.run {
                    run.loops = done.step;
                }
                vec![(kind, fields), self.progress("reason", at, None)]
            }
            Work::Artifact(made) => {
                fields["url"] = json!(file_url(session, &made.file.name));
                vec![(kind, fields)]
            }
            Work::Report(_) => {
                let address = format!("/analyst/report/{}", session.as_str());
                fields["html_url"] = json!(format!("{address}?format=html"));
                fields["url"] = json!(address);
                vec![(kind, fields)]
            }
        }
    }

    fn progress(&self, node: &str, at: EventTime, text: Option<&str>) -> Told {
        let run = self.run.as_ref();
        let told = json!({
            "run": run.map(|run| run.id.0), "node": node,
            "loop": run.map(|run| (run.loops + 1).min(LOOPS)), "loops": LOOPS,
            "elapsed_ms": run.map(|run| run.elapsed(at)), "text": text,
        });
        ("progress", told)
    }

    /// `None`: the client has resumed in the middle of the run.
    fn done(run: Option<&SeenRun>, outcome: RunOutcome, at: EventTime) -> Told {
        let told = json!({
            "run": run.map(|run| run.id.0), "loops": run.map(|run| run.loops),
            "outcome": outcome.name(), "elapsed_ms": run.map(|run| run.elapsed(at)),
        });
        ("done", told)
    }

    fn question(&self, asked: &Confirmation) -> Value {
        let locale = self.dialect.locale;
        let values = [("tool", asked.tool.as_str()), ("reason", &locale.word(&asked.reason))];
        json!({
            "id": asked.id.as_str(), "tool": asked.tool, "input": asked.input,
            "level": asked.level.name(), "message": locale.say("core_ui", "warning", &values),
        })
    }

    pub(super) fn signal(&mut self, signal: &Signal, frames: &mut Vec<Frame>) {
        let locale = self.dialect.locale;
        match signal {
            Signal::Ack { request, repeated } => {
                let told = json!({"id": number(request), "repeated": repeated});
                self.pass("ack", told, frames);
            }
            Signal::Failed { problem, request } => {
                let text = phrase::problem(locale, problem);
                self.error(problem.code(), &text, request.as_ref(), frames);
            }
            Signal::System(notice) => {
                let text = phrase::system(locale, notice);
                self.pass("message", json!({"text": text}), frames);
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

    pub(super) fn error(
        &mut self,
        code: &str,
        text: &str,
        request: Option<&RequestNo>,
        frames: &mut Vec<Frame>,
    ) {
        let mut told = json!({"code": code, "message": text});
        if let Some(request) = request {
            told["id"] = number(request);
        }
        self.pass("error", told, frames);
    }

    /// A frame that is not part of the history has the number of the last one that is.
    fn pass(&mut self, kind: &str, fields: Value, frames: &mut Vec<Frame>) {
        frames.push(Frame::Text(frame(kind, self.last, EventTime::now(), fields).to_string()));
    }
}

fn frame(kind: &str, seq: FrameSeq, at: EventTime, mut fields: Value) -> Value {
    let time = Timestamp::from_millisecond(at.0).unwrap_or(Timestamp::UNIX_EPOCH);
    fields["type"] = json!(kind);
    fields["seq"] = json!(seq.0);
    fields["at"] = json!(time.strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string());
    fields
}

fn number(request: &RequestNo) -> Value {
    match request {
        RequestNo::Number(number) => json!(number),
        RequestNo::Text(text) => json!(&**text),
    }
}
