//! The `data` objects of events and signals with several fields.

use super::name;
use crate::locale::Locale;
use crate::message::{
    AgentReport, AgentSet, AgentSlot, AnswerNote, BackupList, BackupNote, BackupReason, Check,
    Chosen, ChosenOutcome, ComparisonRow, Confirmation, Cost, DiffNote, FileChange, FileList,
    FileNote, ListKind, ListRoots, Overlap, PlanStep, ReportStage, RunId, RunSummary, SourceNote,
    ToolNote, TurnTimes, Usage, WorkVersion,
};
use base64_simd::STANDARD;
use serde_json::{Value, json};
use std::time::Duration;

pub(super) fn file(note: &FileNote) -> Value {
    let thumbnail = note.thumbnail.as_ref().map(|png| STANDARD.encode_to_string(png));
    json!({"name": note.name, "path": note.path, "thumbnail": thumbnail})
}

pub(super) fn reply(text: &str, run: Option<RunId>, note: &AnswerNote) -> Value {
    let mut data = json!({"text": text, "run": run.map(|run| run.0)});
    if !note.sources.is_empty() {
        let source = |source: &SourceNote| json!({"path": source.path, "lines": source.lines});
        data["sources"] = note.sources.iter().map(source).collect();
    }
    if let Some(latency) = note.latency {
        data["latency_ms"] = json!(millis(latency));
    }
    data
}

pub(super) fn tool(note: &ToolNote) -> Value {
    json!({
        "id": note.id, "name": note.name, "tool": note.tool, "kind": note.kind, "state": note.state.name(), "input": note.input,
        "output": note.output, "error": note.error, "paths": note.paths, "ungated": note.ungated,
    })
}

pub(super) fn plan(steps: &[PlanStep]) -> Value {
    let step = |step: &PlanStep| json!({"text": step.text, "state": step.state.name()});
    json!({"steps": steps.iter().map(step).collect::<Vec<_>>()})
}

pub(super) fn question(locale: Locale, asked: &Confirmation) -> Value {
    json!({
        "id": asked.id.as_str(), "caller": asked.caller.name(), "agent": name::agent_of(asked.channel), "number": asked.number, "tool": asked.tool, "name": asked.name,
        "input": asked.input, "diff": asked.diff, "level": asked.level.name(),
        "reason": locale.word(&asked.reason), "seconds": asked.seconds,
    })
}

pub(super) fn result(summary: &RunSummary) -> Value {
    json!({
        "run": summary.run.0,
        "place": summary.place.map(|place| place.name()),
        "outcome": summary.outcome.name(),
        "seconds": summary.seconds,
        "usage": summary.usage.as_ref().map(usage),
        "files": changes(&summary.files),
        "more": summary.more,
        "overlaps": overlaps(&summary.overlaps),
        "left_out": summary.left_out,
        "version": summary.version.as_ref().map(WorkVersion::as_str),
    })
}

pub(super) fn decision(locale: Locale, chosen: &Chosen) -> Value {
    let mut data = json!({"agent": name::agent(chosen.agent), "kind": chosen.kind.name()});
    let outcome = match &chosen.outcome {
        ChosenOutcome::Done { files, branch, backup, left_out } => json!({
            "outcome": "done", "files": files, "branch": branch, "snapshot": backup, "left_out": left_out,
        }),
        ChosenOutcome::Conflicts(conflicts) => {
            let conflict =
                |one: &crate::message::Conflict| json!({"path": one.path, "kind": one.kind});
            let conflicts: Vec<_> = conflicts.iter().map(conflict).collect();
            json!({"outcome": "conflict", "conflicts": conflicts})
        }
        ChosenOutcome::Failed { reason } => {
            json!({"outcome": "failed", "reason": locale.word(reason)})
        }
    };
    merge(&mut data, outcome);
    data
}

/// Without request and answer: `user_request` and `agent_reply` carry those texts.
pub(super) fn report(report: &AgentReport) -> Value {
    let stage = match &report.stage {
        ReportStage::Started { .. } => "started",
        ReportStage::Finished { .. } => "finished",
        ReportStage::Stopped => "stopped",
    };
    json!({"agent": name::agent(report.agent), "stage": stage})
}

pub(super) fn files(kind: ListKind, list: Option<&FileList>) -> Value {
    let row =
        |file: &crate::message::ListedFile| json!({"path": file.path, "modified": &*file.modified});
    let rows: Vec<_> = list.iter().flat_map(|list| list.files.iter().map(row)).collect();
    let newest = list.and_then(|list| list.newest.as_deref());
    let mut data =
        json!({"list": name::list(kind), "newest": newest, "count": rows.len(), "files": rows});
    if let Some(ListRoots::Backup { project, backup }) = list.map(|list| &list.roots) {
        merge(&mut data, json!({"project": project, "backup": backup}));
    }
    data
}

pub(super) fn comparison(locale: Locale, rows: &[ComparisonRow]) -> Value {
    let check = |check: &Check| json!({"code": check.code, "output": check.output});
    let row = |row: &ComparisonRow| {
        let problem = row.problem.as_deref().map(|problem| locale.word(problem));
        json!({
            "agent": name::agent(row.agent), "name": row.name, "place": row.place.name(),
            "run": row.run.map(|run| run.0), "outcome": row.outcome.map(|outcome| outcome.name()),
            "seconds": row.seconds, "usage": row.usage.as_ref().map(usage), "files": row.files,
            "added": row.added, "removed": row.removed, "check": row.check.as_ref().map(check),
            "overlaps": overlaps(&row.overlaps), "left_out": row.left_out, "problem": problem,
            "version": row.version.as_ref().map(WorkVersion::as_str),
        })
    };
    json!({"agents": rows.iter().map(row).collect::<Vec<_>>()})
}

pub(super) fn diff(note: &DiffNote) -> Value {
    json!({
        "agent": name::agent(note.agent), "path": note.path, "files": changes(&note.files), "text": note.text,
        "truncated": note.truncated, "version": note.version.as_str(),
    })
}

pub(super) fn snapshots(list: &BackupList) -> Value {
    let row = |note: &BackupNote| {
        let before = note.reason.map(|reason| reason.name());
        let run = match note.reason {
            Some(BackupReason::Run(run)) => Some(run.0),
            Some(_) | None => None,
        };
        let agent = note.agent.map(name::agent);
        json!({"snapshot": note.name, "before": before, "run": run, "time": note.made, "agent": agent})
    };
    json!({"agent": list.agent.map(name::agent), "snapshots": list.backups.iter().map(row).collect::<Vec<_>>()})
}

pub(super) fn usage(usage: &Usage) -> Value {
    let cost = |cost: &Cost| json!({"amount": cost.amount, "currency": cost.currency});
    json!({"used": usage.used, "size": usage.size, "cost": usage.cost.as_ref().map(cost)})
}

pub(super) fn turn_times(times: &TurnTimes) -> Value {
    json!({
        "end_of_turn_ms": times.end_of_turn.map(millis), "first_sound_ms": times.first_sound.map(millis),
        "first_sent_ms": times.first_sent.map(millis), "first_played_ms": times.first_played.map(millis),
        "stop_ms": times.stop.map(millis), "underruns": times.underruns, "dropped": times.dropped,
    })
}

pub(super) fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

pub(super) fn agent(slot: Option<AgentSlot>) -> Option<&'static str> {
    slot.map(name::agent)
}

fn changes(files: &[FileChange]) -> Vec<Value> {
    let change = |file: &FileChange| {
        json!({
            "path": file.path, "old_path": file.old_path, "status": file.status.name(), "added": file.added,
            "removed": file.removed,
        })
    };
    files.iter().map(change).collect()
}

fn overlaps(overlaps: &[Overlap]) -> Vec<Value> {
    let overlap = |one: &Overlap| json!({"path": one.path, "agents": agents(one.agents)});
    overlaps.iter().map(overlap).collect()
}

fn agents(set: AgentSet) -> Vec<&'static str> {
    AgentSlot::ALL.into_iter().filter(|slot| set.contains(*slot)).map(name::agent).collect()
}

fn merge(data: &mut Value, more: Value) {
    if let (Value::Object(data), Value::Object(more)) = (data, more) {
        data.extend(more);
    }
}
