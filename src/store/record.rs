//! Events, runs, switches and settings as rows. Every later version must be able to read them, so the names here are
//! part of the file format.

use super::work_record;
use crate::message::{
    AgentReport, AgentSlot, Channel, ConfirmId, Confirmation, Confirmed, ControlValue, Controls,
    DecidedBy, Event, FileNote, Interruption, ListKind, Notice, ReportStage, Run, RunId, RunOrigin,
    SettingValue, Settings, Speaker, WarningLevel,
};
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::time::Duration;

/// The columns of one event.
pub(super) struct EventRow<'a> {
    pub(super) kind: &'static str,
    pub(super) body: String,
    pub(super) blob: Option<&'a [u8]>,
}

pub(super) fn event_row(event: &Event) -> EventRow<'_> {
    let plain = |kind, body: Value| EventRow { kind, body: body.to_string(), blob: None };
    match event {
        Event::UserText { text, attachments } => {
            plain("user_text", json!({"text": text, "files": attachments}))
        }
        Event::UserRequest { text, attachments } => {
            plain("user_request", json!({"text": text, "files": attachments}))
        }
        Event::UserFile(note) => file_row("user_file", note),
        Event::Text { text, run } => {
            plain("text", json!({"text": text, "run": run.map(|run| run.0)}))
        }
        Event::RunStarted(run) => plain("run_started", json!(run.0)),
        Event::RunLine(line) => plain("run_line", json!(line)),
        Event::Tool(note) => plain("tool", work_record::tool_body(note)),
        Event::Plan(steps) => plain("plan", work_record::plan_body(steps)),
        Event::RunSummed(summary) => plain("run_summed", work_record::summary_body(summary)),
        Event::Chosen(chosen) => plain("chosen", work_record::chosen_body(chosen)),
        Event::ConfirmAsked(asked) => plain(
            "confirm_asked",
            json!({
                "id": asked.id.as_str(), "agent": asked.agent.number(), "number": asked.number, "call": asked.call, "tool": asked.tool,
                "input": asked.input, "diff": asked.diff, "level": asked.level.name(), "reason": asked.reason,
                "seconds": asked.seconds,
            }),
        ),
        Event::ConfirmSettled { id, agent, number, confirmed, by } => plain(
            "confirm_settled",
            json!({
                "id": id.as_str(), "agent": agent.number(), "number": number,
                "approved": *confirmed == Confirmed::Approved, "by": by.name(),
            }),
        ),
        Event::RunEnded(outcome) => plain("run_ended", json!(outcome.name())),
        Event::FileMade(note) => file_row("file_made", note),
        Event::RequestAnswered { text, by } => {
            plain("request_answered", work_record::answered_body(text, *by))
        }
        Event::FilesChanged { paths, by, copy_of } => {
            plain("files_changed", work_record::changed_body(paths, *by, *copy_of))
        }
        Event::Transcript { speaker, text, interrupted: None } => {
            plain(speaker_kind(*speaker), json!(text))
        }
        // Only the model can be interrupted, so the speaker is not stored.
        Event::Transcript { text, interrupted: Some(cut), .. } => {
            let millis = u64::try_from(cut.heard.as_millis()).unwrap_or(u64::MAX);
            plain("heard_cut", json!({"text": text, "millis": millis}))
        }
        Event::CancelTaken => plain("cancel_taken", Value::Null),
        Event::AgentReport(report) => plain("agent_report", report_body(report)),
        Event::Notice(notice) => plain("notice", notice_body(notice)),
        Event::Files { kind, .. } => plain(list_row_kind(*kind), Value::Null),
    }
}

/// `None`: this version does not know the kind or the format of the row.
pub(super) fn read_event(kind: &str, body: &str, blob: Option<Vec<u8>>) -> Option<Event> {
    let text = || serde_json::from_str::<String>(body).ok();
    let note = |blob| serde_json::from_str::<FileBody>(body).ok().map(|body| body.into_note(blob));
    Some(match kind {
        "user_text" => {
            let said: SaidBody = serde_json::from_str(body).ok()?;
            Event::UserText { text: said.text, attachments: said.files }
        }
        "user_request" => {
            let said: SaidBody = serde_json::from_str(body).ok()?;
            Event::UserRequest { text: said.text, attachments: said.files }
        }
        "user_file" => Event::UserFile(note(blob)?),
        "text" => {
            let answer: AnswerBody = serde_json::from_str(body).ok()?;
            Event::Text { text: answer.text, run: answer.run.map(RunId) }
        }
        "run_started" => Event::RunStarted(RunId(serde_json::from_str(body).ok()?)),
        "run_line" => Event::RunLine(text()?),
        "tool" => Event::Tool(work_record::read_tool(body)?),
        "plan" => Event::Plan(work_record::read_plan(body)?),
        "run_summed" => Event::RunSummed(work_record::read_summary(body)?),
        "chosen" => Event::Chosen(work_record::read_chosen(body)?),
        "confirm_asked" => Event::ConfirmAsked(read_asked(body)?),
        "confirm_settled" => read_settled(body)?,
        "run_ended" => Event::RunEnded(work_record::read_outcome(&text()?)?),
        "file_made" => Event::FileMade(note(blob)?),
        "request_answered" => work_record::read_answered(body)?,
        "files_changed" => work_record::read_changed(body)?,
        "heard_user" => heard(Speaker::User, text()?),
        "heard_model" => heard(Speaker::Model, text()?),
        "heard_cut" => read_cut(body)?,
        "cancel_taken" => Event::CancelTaken,
        "agent_report" => Event::AgentReport(read_report(body)?),
        "notice" => Event::Notice(read_notice(body)?),
        "list_backup" => Event::Files { kind: ListKind::Backup, list: None },
        "list_temp" => Event::Files { kind: ListKind::Temp, list: None },
        _ => return None,
    })
}

/// A file list replaces the one stored before it.
pub(super) fn replaces_older(event: &Event) -> bool {
    matches!(event, Event::Files { .. })
}

#[derive(Deserialize)]
struct SaidBody {
    text: String,
    #[serde(default)]
    files: Vec<String>,
}

#[derive(Deserialize)]
struct AnswerBody {
    text: String,
    run: Option<u64>,
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

fn file_row<'a>(kind: &'static str, note: &'a FileNote) -> EventRow<'a> {
    let body = json!({"name": note.name, "path": note.path}).to_string();
    EventRow { kind, body, blob: note.thumbnail.as_deref() }
}

#[derive(Deserialize)]
struct AskedBody {
    id: String,
    agent: u8,
    #[serde(default)]
    number: u32,
    #[serde(default)]
    call: String,
    tool: String,
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
        agent: AgentSlot::new(body.agent)?,
        number: body.number,
        call: body.call,
        tool: body.tool,
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
    agent: u8,
    #[serde(default)]
    number: u32,
    approved: bool,
    by: String,
}

fn read_settled(body: &str) -> Option<Event> {
    let body: SettledBody = serde_json::from_str(body).ok()?;
    Some(Event::ConfirmSettled {
        id: ConfirmId::new(&body.id),
        agent: AgentSlot::new(body.agent)?,
        number: body.number,
        confirmed: if body.approved { Confirmed::Approved } else { Confirmed::Refused },
        by: DecidedBy::ALL.into_iter().find(|by| by.name() == body.by)?,
    })
}

fn speaker_kind(speaker: Speaker) -> &'static str {
    match speaker {
        Speaker::User => "heard_user",
        Speaker::Model => "heard_model",
    }
}

fn heard(speaker: Speaker, text: String) -> Event {
    Event::Transcript { speaker, text, interrupted: None }
}

#[derive(Deserialize)]
struct CutBody {
    text: String,
    millis: u64,
}

fn read_cut(body: &str) -> Option<Event> {
    let CutBody { text, millis } = serde_json::from_str(body).ok()?;
    let interrupted = Some(Interruption { heard: Duration::from_millis(millis) });
    Some(Event::Transcript { speaker: Speaker::Model, text, interrupted })
}

fn list_row_kind(kind: ListKind) -> &'static str {
    match kind {
        ListKind::Backup => "list_backup",
        ListKind::Temp => "list_temp",
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
        Notice::InCopy { agent, files } => {
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
        "in_copy" => Notice::InCopy { agent: AgentSlot::new(body.agent)?, files: body.files },
        "not_chosen" => Notice::NotChosen { reason: body.text },
        "confirm_again" => Notice::ConfirmAgain { number: *body.numbers.first()? },
        "still_open" => {
            Notice::StillOpen { agent: AgentSlot::new(body.agent)?, open: body.numbers }
        }
        "work_kept" => Notice::WorkKept { agent: AgentSlot::new(body.agent)?, files: body.files },
        "copy_lacks" => Notice::CopyLacks { agent: AgentSlot::new(body.agent)?, paths: body.paths },
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

pub(super) fn settings_body(settings: &Settings) -> String {
    let rows = settings.iter().map(|(name, value)| {
        let value = match value {
            SettingValue::Text(text) => json!(text),
            SettingValue::Number(number) => json!(number),
        };
        ((*name).to_owned(), value)
    });
    Value::Object(rows.collect()).to_string()
}

pub(super) fn read_settings(body: &str) -> Vec<(String, SettingValue)> {
    let rows: serde_json::Map<String, Value> = serde_json::from_str(body).unwrap_or_default();
    let known = rows.into_iter().filter_map(|(name, value)| {
        let value = match value {
            Value::String(text) => SettingValue::Text(text),
            Value::Number(number) => SettingValue::Number(number.as_i64()?),
            Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => return None,
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
        let read = read_event(row.kind, &row.body, row.blob.map(<[u8]>::to_vec));
        assert_eq!(read, Some(event));
    }

    #[test]
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
        check(Event::Text { text: "answer".into(), run: Some(RunId(4)) });
        check(Event::Text { text: "spoken".into(), run: None });
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
        check(heard(Speaker::User, "u".into()));
        check(heard(Speaker::Model, "m".into()));
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
            Notice::InCopy { agent, files: 3 },
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
        let agent = AgentSlot::ALL[2];
        let asked = Confirmation {
            id: ConfirmId::new("c1"),
            agent,
            number: 7,
            call: "t1".into(),
            tool: "Write a".into(),
            input: "{}".into(),
            diff: Some("-a\n+b\n".into()),
            level: WarningLevel::Warn,
            reason: "risk".into(),
            seconds: 300,
        };
        check(Event::ConfirmAsked(asked));
        for by in DecidedBy::ALL {
            let (id, number, confirmed) = (ConfirmId::new("c1"), 7, Confirmed::Refused);
            check(Event::ConfirmSettled { id, agent, number, confirmed, by });
        }
    }

    #[test]
    fn what_agents_do_survives_its_row() {
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
    fn a_row_of_a_later_version_is_passed_over() {
        assert_eq!(read_event("hologram", "{}", None), None);
        assert_eq!(read_event("text", "{}", None), None);
    }
}
