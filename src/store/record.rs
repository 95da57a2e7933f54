//! Events, runs and switches as rows. Every later version must be able to read them, so the names here are
//! part of the file format.

use super::kind::EventKind;
use super::{assistant_record, work_record};
use crate::message::{
    AgentReport, AgentSlot, AnswerNote, Caller, Channel, ConfirmId, Confirmation, Confirmed,
    ControlValue, Controls, DecidedBy, Event, FileNote, Interruption, ListKind, Notice,
    ReportStage, Run, RunId, RunOrigin, SourceNote, Speaker, WarningLevel,
};
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::time::Duration;

/// The columns of one event.
pub(super) struct EventRow<'a> {
    pub(super) kind: EventKind,
    pub(super) body: String,
    pub(super) blob: Option<&'a [u8]>,
}

pub(super) fn event_row(event: &Event) -> EventRow<'_> {
    let plain = |kind, body: Value| EventRow { kind, body: body.to_string(), blob: None };
    match event {
        Event::UserText { text, attachments } => {
            plain(EventKind::UserText, json!({"text": text, "files": attachments}))
        }
        Event::UserRequest { text, attachments } => {
            plain(EventKind::UserRequest, json!({"text": text, "files": attachments}))
        }
        Event::UserFile(note) => file_row(EventKind::UserFile, note),
        Event::Text { text, run, note } => plain(EventKind::Text, answer_body(text, *run, note)),
        Event::RunStarted(run) => plain(EventKind::RunStarted, json!(run.0)),
        Event::RunLine(line) => plain(EventKind::RunLine, json!(line)),
        Event::Tool(note) => plain(EventKind::Tool, work_record::tool_body(note)),
        Event::Plan(steps) => plain(EventKind::Plan, work_record::plan_body(steps)),
        Event::RunSummed(summary) => {
            plain(EventKind::RunSummed, work_record::summary_body(summary))
        }
        Event::Chosen(chosen) => plain(EventKind::Chosen, work_record::chosen_body(chosen)),
        Event::ConfirmAsked(asked) => plain(
            EventKind::ConfirmAsked,
            json!({
                "id": asked.id.as_str(), "caller": asked.caller.name(), "channel": channel_number(asked.channel), "number": asked.number, "call": asked.call, "tool": asked.tool, "name": asked.name,
                "input": asked.input, "diff": asked.diff, "level": asked.level.name(), "reason": asked.reason,
                "seconds": asked.seconds,
            }),
        ),
        Event::ConfirmSettled { id, channel, number, confirmed, by } => plain(
            EventKind::ConfirmSettled,
            json!({
                "id": id.as_str(), "channel": channel_number(*channel), "number": number,
                "approved": *confirmed == Confirmed::Approved, "by": by.name(),
            }),
        ),
        Event::RunEnded(outcome) => plain(EventKind::RunEnded, json!(outcome.name())),
        Event::FileMade(note) => file_row(EventKind::FileMade, note),
        Event::RequestAnswered { text, by } => {
            plain(EventKind::RequestAnswered, work_record::answered_body(text, *by))
        }
        Event::FilesChanged { paths, by, copy_of } => {
            plain(EventKind::FilesChanged, work_record::changed_body(paths, *by, *copy_of))
        }
        Event::Transcript { speaker, text, interrupted: None } => {
            plain(speaker_kind(*speaker), json!(text))
        }
        // Only the model can be interrupted, so the speaker is not stored.
        Event::Transcript { text, interrupted: Some(interruption), .. } => {
            let millis = u64::try_from(interruption.heard.as_millis()).unwrap_or(u64::MAX);
            plain(EventKind::InterruptedTranscript, json!({"text": text, "millis": millis}))
        }
        Event::CancelTaken => plain(EventKind::CancelTaken, Value::Null),
        Event::AgentReport(report) => plain(EventKind::AgentReport, report_body(report)),
        Event::Notice(notice) => plain(EventKind::Notice, notice_body(notice)),
        Event::Work(work) => EventRow {
            kind: EventKind::Work,
            body: assistant_record::body(work).to_string(),
            blob: assistant_record::thumbnail(work),
        },
        Event::Files { kind, .. } => plain(list_row_kind(*kind), Value::Null),
    }
}

/// `None`: this version does not know the kind or the format of the row.
pub(super) fn read_event(kind: &str, body: &str, blob: Option<Vec<u8>>) -> Option<Event> {
    let text = || serde_json::from_str::<String>(body).ok();
    let note = |blob| serde_json::from_str::<FileBody>(body).ok().map(|body| body.into_note(blob));
    Some(match EventKind::parse(kind)? {
        EventKind::UserText => {
            let said: UserTextBody = serde_json::from_str(body).ok()?;
            Event::UserText { text: said.text, attachments: said.files }
        }
        EventKind::UserRequest => {
            let said: UserTextBody = serde_json::from_str(body).ok()?;
            Event::UserRequest { text: said.text, attachments: said.files }
        }
        EventKind::UserFile => Event::UserFile(note(blob)?),
        EventKind::Text => {
            let answer: AnswerBody = serde_json::from_str(body).ok()?;
            answer.into_event()
        }
        EventKind::RunStarted => Event::RunStarted(RunId(serde_json::from_str(body).ok()?)),
        EventKind::RunLine => Event::RunLine(text()?),
        EventKind::Tool => Event::Tool(work_record::read_tool(body)?),
        EventKind::Plan => Event::Plan(work_record::read_plan(body)?),
        EventKind::RunSummed => Event::RunSummed(work_record::read_summary(body)?),
        EventKind::Chosen => Event::Chosen(work_record::read_chosen(body)?),
        EventKind::ConfirmAsked => Event::ConfirmAsked(read_asked(body)?),
        EventKind::ConfirmSettled => read_settled(body)?,
        EventKind::RunEnded => Event::RunEnded(work_record::read_outcome(&text()?)?),
        EventKind::FileMade => Event::FileMade(note(blob)?),
        EventKind::RequestAnswered => work_record::read_answered(body)?,
        EventKind::FilesChanged => work_record::read_changed(body)?,
        EventKind::UserTranscript => transcript(Speaker::User, text()?),
        EventKind::ModelTranscript => transcript(Speaker::Model, text()?),
        EventKind::InterruptedTranscript => read_interrupted(body)?,
        EventKind::CancelTaken => Event::CancelTaken,
        EventKind::AgentReport => Event::AgentReport(read_report(body)?),
        EventKind::Notice => Event::Notice(read_notice(body)?),
        EventKind::Work => Event::Work(assistant_record::read(body, blob)?),
        EventKind::ListBackup => Event::Files { kind: ListKind::Backup, list: None },
        EventKind::ListTemp => Event::Files { kind: ListKind::Temp, list: None },
    })
}

/// A file list replaces the one stored before it.
pub(super) fn replaces_older(event: &Event) -> bool {
    matches!(event, Event::Files { .. })
}

#[derive(Deserialize)]
struct UserTextBody {
    text: String,
    #[serde(default)]
    files: Vec<String>,
}

#[derive(Deserialize)]
struct AnswerBody {
    text: String,
    run: Option<u64>,
    #[serde(default)]
    sources: Vec<SourceBody>,
    latency: Option<u64>,
}

#[derive(Deserialize)]
struct SourceBody {
    path: String,
    lines: Option<(u32, u32)>,
}

impl AnswerBody {
    fn into_event(self) -> Event {
        let source = |row: SourceBody| SourceNote { path: row.path, lines: row.lines };
        let sources = self.sources.into_iter().map(source).collect();
        let note = AnswerNote { sources, latency: self.latency.map(Duration::from_millis) };
        Event::Text { text: self.text, run: self.run.map(RunId), note }
    }
}

fn answer_body(text: &str, run: Option<RunId>, note: &AnswerNote) -> Value {
    let mut body = json!({"text": text, "run": run.map(|run| run.0)});
    if !note.sources.is_empty() {
        let source = |source: &SourceNote| json!({"path": source.path, "lines": source.lines});
        body["sources"] = note.sources.iter().map(source).collect();
    }
    if let Some(latency) = note.latency {
        body["latency"] = json!(u64::try_from(latency.as_millis()).unwrap_or(u64::MAX));
    }
    body
}

#[derive(Serialize, Deserialize)]
struct FileBody {
    name: String,
    path: Option<String>,
}

impl FileBody {
    fn into_note(self, blob: Option<Vec<u8>>) -> FileNote {
        FileNote { name: self.name, path: self.path, thumbnail: blob.map(Bytes::from) }
    }
}

fn file_row<'a>(kind: EventKind, note: &'a FileNote) -> EventRow<'a> {
    let body = json!({"name": note.name, "path": note.path}).to_string();
    EventRow { kind, body, blob: note.thumbnail.as_deref() }
}

/// Who asked, and on which channel. Earlier versions knew only agents, by their numbers.
#[derive(Deserialize)]
struct AskerBody {
    agent: Option<u8>,
    caller: Option<String>,
    channel: Option<i64>,
}

impl AskerBody {
    fn agent(&self) -> Option<AgentSlot> {
        AgentSlot::new(self.agent?)
    }

    fn caller(&self) -> Option<Caller> {
        match &self.caller {
            Some(name) => Caller::parse(name),
            None => self.agent().map(Caller::Agent),
        }
    }

    fn channel(&self) -> Option<Channel> {
        match self.channel {
            Some(number) => read_channel(number),
            None => self.agent().map(Channel::Agent),
        }
    }
}

#[derive(Deserialize)]
struct AskedBody {
    id: String,
    #[serde(flatten)]
    asker: AskerBody,
    #[serde(default)]
    number: u32,
    #[serde(default)]
    call: String,
    tool: String,
    name: Option<String>,
    input: String,
    diff: Option<String>,
    level: String,
    reason: String,
    seconds: u64,
}

fn read_asked(body: &str) -> Option<Confirmation> {
    let body: AskedBody = serde_json::from_str(body).ok()?;
    Some(Confirmation {
        id: ConfirmId::new(&body.id),
        caller: body.asker.caller()?,
        channel: body.asker.channel()?,
        number: body.number,
        call: body.call,
        tool: body.tool,
        name: body.name,
        input: body.input,
        diff: body.diff,
        level: WarningLevel::ALL.into_iter().find(|level| level.name() == body.level)?,
        reason: body.reason,
        seconds: body.seconds,
    })
}

#[derive(Deserialize)]
struct SettledBody {
    id: String,
    #[serde(flatten)]
    asker: AskerBody,
    #[serde(default)]
    number: u32,
    approved: bool,
    by: String,
}

fn read_settled(body: &str) -> Option<Event> {
    let body: SettledBody = serde_json::from_str(body).ok()?;
    Some(Event::ConfirmSettled {
        id: ConfirmId::new(&body.id),
        channel: body.asker.channel()?,
        number: body.number,
        confirmed: if body.approved { Confirmed::Approved } else { Confirmed::Refused },
        by: DecidedBy::ALL.into_iter().find(|by| by.name() == body.by)?,
    })
}

fn speaker_kind(speaker: Speaker) -> EventKind {
    match speaker {
        Speaker::User => EventKind::UserTranscript,
        Speaker::Model => EventKind::ModelTranscript,
    }
}

fn transcript(speaker: Speaker, text: String) -> Event {
    Event::Transcript { speaker, text, interrupted: None }
}

#[derive(Deserialize)]
struct InterruptedBody {
    text: String,
    millis: u64,
}

fn read_interrupted(body: &str) -> Option<Event> {
    let InterruptedBody { text, millis } = serde_json::from_str(body).ok()?;
    let interrupted = Some(Interruption { heard: Duration::from_millis(millis) });
    Some(Event::Transcript { speaker: Speaker::Model, text, interrupted })
}

fn list_row_kind(kind: ListKind) -> EventKind {
    match kind {
        ListKind::Backup => EventKind::ListBackup,
        ListKind::Temp => EventKind::ListTemp,
    }
}

fn report_body(report: &AgentReport) -> Value {
    let agent = report.agent.number();
    match &report.stage {
        ReportStage::Started { request } => {
            json!({"agent": agent, "stage": "started", "request": request})
        }
        ReportStage::Finished { request, answer } => {
            json!({"agent": agent, "stage": "finished", "request": request, "answer": answer})
        }
        ReportStage::Stopped => json!({"agent": agent, "stage": "stopped"}),
    }
}

#[derive(Deserialize)]
struct ReportBody {
    agent: u8,
    stage: String,
    #[serde(default)]
    request: String,
    #[serde(default)]
    answer: String,
}

fn read_report(body: &str) -> Option<AgentReport> {
    let body: ReportBody = serde_json::from_str(body).ok()?;
    let stage = match body.stage.as_str() {
        "started" => ReportStage::Started { request: body.request },
        "finished" => ReportStage::Finished { request: body.request, answer: body.answer },
        "stopped" => ReportStage::Stopped,
        _ => return None,
    };
    Some(AgentReport { agent: AgentSlot::new(body.agent)?, stage })
}

fn notice_body(notice: &Notice) -> Value {
    match notice {
        Notice::Queued { run, place } => json!({"name": "queued", "run": run.0, "place": place}),
        Notice::QueuedCancelled { run } => json!({"name": "queued_cancelled", "run": run.0}),
        Notice::NothingToCancel => json!({"name": "nothing_to_cancel"}),
        Notice::RunCancelled { run } => json!({"name": "run_cancelled", "run": run.0}),
        Notice::RunFailed { run, reason } => {
            json!({"name": "run_failed", "run": run.0, "text": reason})
        }
        Notice::RunInterrupted { run, request } => {
            json!({"name": "run_interrupted", "run": run.0, "text": request})
        }
        Notice::ProjectGone { project } => json!({"name": "project_gone", "text": project}),
        Notice::LiveDown { reason } => json!({"name": "live_down", "text": reason}),
        Notice::LiveReplaced { model, reason } => {
            json!({"name": "live_replaced", "text": reason, "model": model})
        }
        Notice::WhichQuestion { open } => json!({"name": "which_question", "numbers": open}),
        Notice::ChangedInCopy { agent, files } => {
            json!({"name": "in_copy", "agent": agent.number(), "files": files})
        }
        Notice::NotChosen { reason } => json!({"name": "not_chosen", "text": reason}),
        Notice::ConfirmAgain { number } => json!({"name": "confirm_again", "numbers": [number]}),
        Notice::StillOpen { agent, open } => {
            json!({"name": "still_open", "agent": agent.number(), "numbers": open})
        }
        Notice::WorkKept { agent, files } => {
            json!({"name": "work_kept", "agent": agent.number(), "files": files})
        }
        Notice::CopyLacks { agent, paths } => {
            json!({"name": "copy_lacks", "agent": agent.number(), "paths": paths})
        }
        Notice::Locked { failures } => json!({"name": "locked", "place": failures}),
        Notice::Reset => json!({"name": "reset"}),
        Notice::AnswerCut { run } => json!({"name": "answer_cut", "run": run.0}),
    }
}

#[derive(Deserialize)]
struct NoticeBody {
    name: String,
    #[serde(default)]
    run: u64,
    #[serde(default)]
    place: usize,
    #[serde(default)]
    text: String,
    #[serde(default)]
    model: String,
    #[serde(default)]
    numbers: Vec<u32>,
    #[serde(default)]
    agent: u8,
    #[serde(default)]
    files: usize,
    #[serde(default)]
    paths: Vec<String>,
}

fn read_notice(body: &str) -> Option<Notice> {
    let body: NoticeBody = serde_json::from_str(body).ok()?;
    Some(match body.name.as_str() {
        "queued" => Notice::Queued { run: RunId(body.run), place: body.place },
        "queued_cancelled" => Notice::QueuedCancelled { run: RunId(body.run) },
        "nothing_to_cancel" => Notice::NothingToCancel,
        "run_cancelled" => Notice::RunCancelled { run: RunId(body.run) },
        "run_failed" => Notice::RunFailed { run: RunId(body.run), reason: body.text },
        "run_interrupted" => Notice::RunInterrupted { run: RunId(body.run), request: body.text },
        "project_gone" => Notice::ProjectGone { project: body.text },
        "live_down" => Notice::LiveDown { reason: body.text },
        "live_replaced" => Notice::LiveReplaced { model: body.model, reason: body.text },
        "which_question" => Notice::WhichQuestion { open: body.numbers },
        "in_copy" => {
            Notice::ChangedInCopy { agent: AgentSlot::new(body.agent)?, files: body.files }
        }
        "not_chosen" => Notice::NotChosen { reason: body.text },
        "confirm_again" => Notice::ConfirmAgain { number: *body.numbers.first()? },
        "still_open" => {
            Notice::StillOpen { agent: AgentSlot::new(body.agent)?, open: body.numbers }
        }
        "work_kept" => Notice::WorkKept { agent: AgentSlot::new(body.agent)?, files: body.files },
        "copy_lacks" => Notice::CopyLacks { agent: AgentSlot::new(body.agent)?, paths: body.paths },
        "locked" => Notice::Locked { failures: body.place },
        "reset" => Notice::Reset,
        "answer_cut" => Notice::AnswerCut { run: RunId(body.run) },
        _ => return None,
    })
}

pub(super) fn channel_number(channel: Channel) -> i64 {
    i64::try_from(channel.index()).unwrap_or(i64::MAX)
}

pub(super) fn read_channel(number: i64) -> Option<Channel> {
    Channel::ALL.get(usize::try_from(number).ok()?).copied()
}

#[derive(Serialize, Deserialize)]
struct RunBody {
    request: bool,
    text: String,
    #[serde(default)]
    files: Vec<String>,
}

pub(super) fn run_body(run: &Run) -> String {
    let body = json!({"request": run.origin == RunOrigin::Request, "text": run.text, "files": run.attachments});
    body.to_string()
}

pub(super) fn read_run(id: i64, channel: i64, body: &str) -> Option<Run> {
    let body: RunBody = serde_json::from_str(body).ok()?;
    Some(Run {
        id: RunId(u64::try_from(id).ok()?),
        channel: read_channel(channel)?,
        origin: if body.request { RunOrigin::Request } else { RunOrigin::Pane },
        text: body.text,
        attachments: body.files,
    })
}

pub(super) fn controls_body(controls: &Controls) -> String {
    let rows = controls.iter().map(|(name, value)| {
        let value = match value {
            ControlValue::Flag(flag) => json!(flag),
            ControlValue::Number(number) => json!(number),
            ControlValue::Text(text) => json!(text),
        };
        (name.clone(), value)
    });
    Value::Object(rows.collect()).to_string()
}

pub(super) fn read_controls(body: &str) -> Controls {
    let rows: serde_json::Map<String, Value> = serde_json::from_str(body).unwrap_or_default();
    let known = rows.into_iter().filter_map(|(name, value)| {
        let value = match value {
            Value::Bool(flag) => ControlValue::Flag(flag),
            Value::Number(number) => ControlValue::Number(number.as_f64()?),
            Value::String(text) => ControlValue::Text(text),
            Value::Null | Value::Array(_) | Value::Object(_) => return None,
        };
        Some((name, value))
    });
    known.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::{
        AgentSet, ChangeStatus, ChoiceKind, Chosen, ChosenOutcome, Conflict, Cost, FileChange,
        Overlap, PlaceKind, PlanStep, PlanStepState, RunOutcome, RunSummary, ToolNote, ToolState,
        Usage, WorkVersion,
    };

    #[track_caller]
    fn check(event: Event) {
        let row = event_row(&event);
        let read = read_event(row.kind.name(), &row.body, row.blob.map(<[u8]>::to_vec));
        assert_eq!(read, Some(event));
    }

    #[test]
    #[expect(clippy::too_many_lines, reason = "one of each")]
    fn every_event_survives_its_row() {
        let note = FileNote {
            name: "a b.png".into(),
            path: Some("temp/input/x".into()),
            thumbnail: Some(Bytes::from("png")),
        };
        let agent = AgentSlot::ALL[2];
        check(Event::UserText { text: "hi \"there\"\n".into(), attachments: vec!["a".into()] });
        check(Event::UserRequest { text: "do".into(), attachments: vec![] });
        check(Event::UserFile(note.clone()));
        check(Event::Text {
            text: "answer".into(),
            run: Some(RunId(4)),
            note: AnswerNote::default(),
        });
        let sources = vec![
            SourceNote { path: "a.txt".into(), lines: None },
            SourceNote { path: "b.txt".into(), lines: Some((2, 9)) },
        ];
        let about = AnswerNote { sources, latency: Some(Duration::from_millis(1200)) };
        check(Event::Text { text: "read".into(), run: Some(RunId(5)), note: about });
        check(Event::Notice(Notice::Locked { failures: 8 }));
        check(Event::Notice(Notice::Reset));
        check(Event::Text { text: "spoken".into(), run: None, note: AnswerNote::default() });
        check(Event::RunStarted(RunId(7)));
        check(Event::RunLine("\u{1f980} line".into()));
        for outcome in RunOutcome::ALL {
            check(Event::RunEnded(outcome));
        }
        check(Event::FileMade(FileNote { thumbnail: None, path: None, ..note }));
        check(Event::RequestAnswered { text: "done".into(), by: None });
        check(Event::RequestAnswered { text: "done".into(), by: Some(agent) });
        for (by, copy_of) in
            [(None, None), (Some(agent), None), (None, Some(agent)), (Some(agent), Some(agent))]
        {
            check(Event::FilesChanged { paths: vec!["src/a.rs".into()], by, copy_of });
        }
        check(transcript(Speaker::User, "u".into()));
        check(transcript(Speaker::Model, "m".into()));
        let interrupted = Some(Interruption { heard: Duration::from_millis(1200) });
        check(Event::Transcript { speaker: Speaker::Model, text: "m".into(), interrupted });
        check(Event::CancelTaken);
        for stage in [
            ReportStage::Started { request: "r".into() },
            ReportStage::Finished { request: "r".into(), answer: "a".into() },
            ReportStage::Stopped,
        ] {
            check(Event::AgentReport(AgentReport { agent, stage }));
        }
        for notice in [
            Notice::Queued { run: RunId(3), place: 2 },
            Notice::QueuedCancelled { run: RunId(3) },
            Notice::NothingToCancel,
            Notice::RunCancelled { run: RunId(3) },
            Notice::RunFailed { run: RunId(3), reason: "x".into() },
            Notice::RunInterrupted { run: RunId(2), request: "y".into() },
            Notice::ProjectGone { project: "/p".into() },
            Notice::LiveDown { reason: "z".into() },
            Notice::LiveReplaced { model: "m".into(), reason: "r".into() },
            Notice::WhichQuestion { open: vec![2, 3] },
            Notice::ChangedInCopy { agent, files: 3 },
            Notice::NotChosen { reason: "why".into() },
            Notice::ConfirmAgain { number: 2 },
            Notice::StillOpen { agent, open: vec![2, 3] },
            Notice::WorkKept { agent: AgentSlot::ALL[2], files: 4 },
            Notice::CopyLacks { agent: AgentSlot::ALL[2], paths: vec!["nested/".into()] },
            Notice::AnswerCut { run: RunId(4) },
        ] {
            check(Event::Notice(notice));
        }
        check(Event::Files { kind: ListKind::Backup, list: None });
        check(Event::Files { kind: ListKind::Temp, list: None });
    }

    #[test]
    fn every_question_survives_its_row() {
        let channel = Channel::Agent(AgentSlot::ALL[2]);
        let asked = |caller| Confirmation {
            id: ConfirmId::new("c1"),
            caller,
            channel,
            number: 7,
            call: "t1".into(),
            tool: "Write a".into(),
            name: Some("file:write".into()),
            input: "{}".into(),
            diff: Some("-a\n+b\n".into()),
            level: WarningLevel::Warn,
            reason: "risk".into(),
            seconds: 300,
        };
        for caller in Caller::ALL {
            check(Event::ConfirmAsked(asked(caller)));
        }
        for by in DecidedBy::ALL {
            let (id, number, confirmed) = (ConfirmId::new("c1"), 7, Confirmed::Refused);
            check(Event::ConfirmSettled { id, channel, number, confirmed, by });
        }
    }

    #[test]
    fn a_question_of_an_earlier_version_belongs_to_its_agent() {
        let asked = r#"{"id":"c1","agent":3,"tool":"Write","input":"{}","diff":null,"level":"WARN","reason":"","seconds":9}"#;
        let Some(Event::ConfirmAsked(asked)) = read_event("confirm_asked", asked, None) else {
            panic!("not read");
        };
        let agent = AgentSlot::ALL[2];
        assert_eq!((asked.caller, asked.channel), (Caller::Agent(agent), Channel::Agent(agent)));
        let settled = r#"{"id":"c1","agent":3,"number":1,"approved":true,"by":"user"}"#;
        let settled = read_event("confirm_settled", settled, None);
        assert!(
            matches!(&settled, Some(Event::ConfirmSettled { channel, .. }) if *channel == asked.channel),
            "{settled:?}"
        );
    }

    #[test]
    #[expect(clippy::too_many_lines, reason = "one of each")]
    fn activity_and_results_of_agents_survive_their_rows() {
        let agent = AgentSlot::ALL[1];
        for state in ToolState::ALL {
            let (input, output) = (Some("{}".into()), None);
            let error = (state == ToolState::Failed).then(|| "no".into());
            let (id, name, kind) = ("t1".into(), "Write a".into(), "edit".into());
            let paths = vec!["a".into()];
            let ungated = state == ToolState::Started;
            check(Event::Tool(ToolNote {
                id,
                name,
                tool: Some("file:write".into()),
                kind,
                state,
                input,
                output,
                error,
                paths,
                ungated,
            }));
        }
        let step = |state: PlanStepState| PlanStep { text: state.name().into(), state };
        check(Event::Plan(PlanStepState::ALL.map(step).into()));
        let file = |status: ChangeStatus| FileChange {
            path: status.name().into(),
            old_path: (status == ChangeStatus::Renamed).then(|| "old".into()),
            status,
            added: Some(3),
            removed: None,
        };
        let cost = Some(Cost { amount: 0.25, currency: "USD".into() });
        for outcome in RunOutcome::ALL {
            check(Event::RunSummed(RunSummary {
                project: Some("/project".into()),
                place: Some(PlaceKind::Shared),
                run: RunId(9),
                outcome,
                seconds: 1.5,
                usage: Some(Usage { used: 10, size: 100, cost: cost.clone() }),
                files: ChangeStatus::ALL.map(file).into(),
                more: true,
                overlaps: vec![Overlap { path: "a".into(), agents: AgentSet::ALL }],
                left_out: vec!["nested/".into()],
                version: Some(WorkVersion::new("d1f3")),
            }));
        }
        for outcome in [
            ChosenOutcome::Done {
                files: vec!["a".into()],
                branch: Some("b".into()),
                backup: Some("c".into()),
                left_out: vec!["nested/".into()],
            },
            ChosenOutcome::Conflicts(vec![Conflict { path: "a".into(), kind: "contents".into() }]),
            ChosenOutcome::Failed { reason: "no".into() },
        ] {
            let kinds = ChoiceKind::ALL.into_iter();
            kinds.for_each(|kind| {
                let project = Some("/project".to_owned());
                check(Event::Chosen(Chosen { agent, project, kind, outcome: outcome.clone() }))
            });
        }
    }

    #[test]
    fn a_row_of_a_later_version_is_skipped() {
        assert_eq!(read_event("hologram", "{}", None), None);
        assert_eq!(read_event("text", "{}", None), None);
    }
}
