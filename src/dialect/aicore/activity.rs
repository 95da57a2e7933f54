//! Agents' activity and results: as packets for clients with the `agents` feature, as lines of text for all others.

use super::value::channel_name;
use super::wire::{
    BackupRow, BackupsBody, ChangeRow, CheckRow, ChosenBody, ComparedBody, ComparedRow,
    ConflictRow, CostBody, DiffBody, OverlapRow, PlanBody, PlanRow, StateBody, SummaryBody,
    ToolBody, UsageBody,
};
use crate::locale::Locale;
use crate::message::{
    AgentState, BackupList, BackupNote, BackupReason, Channel, Check, Chosen, ChosenOutcome,
    ComparisonRow, Cost, DiffNote, FileChange, Overlap, PlaceKind, PlanStep, PlanStepState,
    RunSummary, ToolNote, ToolState, Usage, WorkVersion,
};
use std::borrow::Cow;

pub(super) fn tool(note: &ToolNote) -> ToolBody<'_> {
    ToolBody {
        id: &note.id,
        name: &note.name,
        kind: &note.kind,
        state: note.state.name(),
        input: note.input.as_deref(),
        output: note.output.as_deref(),
        error: note.error.as_deref(),
        paths: &note.paths,
        ungated: note.ungated,
    }
}

pub(super) fn tool_line(locale: Locale, note: &ToolNote) -> String {
    let name = match note.state {
        ToolState::Started => "started",
        ToolState::Completed => "completed",
        ToolState::Failed => "failed",
    };
    let state = locale.say("tool_line", name, &[]);
    let text = if note.ungated { "ungated" } else { "line" };
    locale.say("tool_line", text, &[("tool", &note.name), ("state", &state)])
}

pub(super) fn plan<'a>(steps: &'a [PlanStep]) -> PlanBody<'a> {
    let row = |step: &'a PlanStep| PlanRow { text: &step.text, state: step.state.name() };
    PlanBody { steps: steps.iter().map(row).collect() }
}

pub(super) fn plan_lines(steps: &[PlanStep]) -> String {
    let line = |step: &PlanStep| {
        let mark = match step.state {
            PlanStepState::Pending => " ",
            PlanStepState::Started => ">",
            PlanStepState::Completed => "x",
        };
        format!("[plan] [{mark}] {}", step.text)
    };
    steps.iter().map(line).collect::<Vec<_>>().join("\n")
}

pub(super) fn usage(usage: &Usage) -> UsageBody<'_> {
    UsageBody { used: usage.used, size: usage.size, cost: usage.cost.as_ref().map(cost) }
}

pub(super) fn state(state: AgentState) -> StateBody<'static> {
    StateBody { state: state.name() }
}

pub(super) fn summary(summary: &RunSummary) -> SummaryBody<'_> {
    SummaryBody {
        place: summary.place.map(PlaceKind::name),
        outcome: summary.outcome.name(),
        seconds: rounded(summary.seconds),
        tokens: summary.usage.as_ref().map(|usage| usage.used),
        cost: summary.usage.as_ref().and_then(|usage| usage.cost.as_ref()).map(cost),
        files: summary.files.iter().map(change).collect(),
        more: summary.more,
        overlaps: summary.overlaps.iter().map(overlap).collect(),
        left_out: &summary.left_out,
        version: summary.version.as_ref().map(WorkVersion::as_str),
    }
}

/// `[files] 2 changed, +10 -3`, or the used tokens if nothing changed. Adds a line for every file that another agent
/// changed too, and for every path that the result does not contain.
pub(super) fn summary_lines(locale: Locale, summary: &RunSummary) -> String {
    let left_out = |path: &String| locale.say("summary", "left_out", &[("path", path)]);
    let mut lines = changed_lines(locale, summary);
    lines.extend(summary.left_out.iter().map(left_out));
    lines.join("\n")
}

fn changed_lines(locale: Locale, summary: &RunSummary) -> Vec<String> {
    let count = |lines: fn(&FileChange) -> Option<u32>| {
        summary.files.iter().filter_map(lines).map(u64::from).sum::<u64>()
    };
    if summary.files.is_empty() {
        let tokens = summary.usage.as_ref().map_or(0, |usage| usage.used);
        return vec![locale.say("summary", "usage", &[("tokens", &tokens.to_string())])];
    }
    let more = if summary.more { "+" } else { "" };
    let files = format!("{}{more}", summary.files.len());
    let mut changed = locale.say("summary", "changed", &[("files", &files)]);
    if summary.files.iter().any(|file| file.added.is_some()) {
        let (added, removed) = (count(|file| file.added), count(|file| file.removed));
        changed += &format!(", +{added} -{removed}");
    }
    let mut lines = vec![changed];
    for Overlap { path, agents } in &summary.overlaps {
        let agents: Vec<String> = agents.iter().map(|slot| slot.number().to_string()).collect();
        let values = [("path", path.as_str()), ("agents", &agents.join(", "))];
        lines.push(locale.say("summary", "overlap", &values));
    }
    lines
}

pub(super) fn compared(locale: Locale, rows: &[ComparisonRow]) -> ComparedBody<'_> {
    ComparedBody { rows: rows.iter().map(|row| compared_row(locale, row)).collect() }
}

/// Without an exit code the output may be our own text, which is translated. Output of the command stays as it is.
fn checked(locale: Locale, check: &Check) -> CheckRow<'_> {
    let output = match check.code {
        Some(_) => Cow::Borrowed(check.output.as_str()),
        None => Cow::Owned(locale.word(&check.output)),
    };
    CheckRow { code: check.code, output }
}

fn compared_row(locale: Locale, row: &ComparisonRow) -> ComparedRow<'_> {
    ComparedRow {
        channel: channel_name(Channel::Agent(row.agent)),
        name: &row.name,
        place: row.place.name(),
        run: row.run.map(|run| run.0),
        outcome: row.outcome.map(|outcome| outcome.name()),
        files: row.files,
        added: row.added,
        removed: row.removed,
        seconds: row.seconds.map(rounded),
        tokens: row.usage.as_ref().map(|usage| usage.used),
        cost: row.usage.as_ref().and_then(|usage| usage.cost.as_ref()).map(cost),
        check: row.check.as_ref().map(|check| checked(locale, check)),
        overlaps: row.overlaps.iter().map(overlap).collect(),
        left_out: &row.left_out,
        version: row.version.as_ref().map(WorkVersion::as_str),
        problem: row.problem.as_deref().map(|problem| locale.word(problem)),
    }
}

pub(super) fn diff(note: &DiffNote) -> DiffBody<'_> {
    DiffBody {
        path: note.path.as_deref(),
        files: note.files.iter().map(change).collect(),
        text: &note.text,
        truncated: note.truncated,
        version: note.version.as_str(),
    }
}

pub(super) fn backups(list: &BackupList) -> BackupsBody<'_> {
    BackupsBody { rows: list.backups.iter().map(backup).collect() }
}

fn backup(note: &BackupNote) -> BackupRow<'_> {
    BackupRow {
        name: &note.name,
        reason: note.reason.map(BackupReason::name),
        run: note.reason.and_then(BackupReason::run).map(|run| run.0),
        made: &note.made,
        channel: note.agent.map(|slot| channel_name(Channel::Agent(slot))),
    }
}

pub(super) fn chosen(chosen: &Chosen) -> ChosenBody<'_> {
    let body = ChosenBody {
        outcome: "",
        files: &[],
        branch: None,
        backup: None,
        left_out: &[],
        conflicts: Vec::new(),
        reason: None,
    };
    match &chosen.outcome {
        ChosenOutcome::Done { files, branch, backup, left_out } => {
            let (branch, backup) = (branch.as_deref(), backup.as_deref());
            ChosenBody { outcome: "done", files, branch, backup, left_out, ..body }
        }
        ChosenOutcome::Conflicts(conflicts) => {
            let conflicts = conflicts.iter();
            let conflicts = conflicts.map(|one| ConflictRow { path: &one.path, kind: &one.kind });
            ChosenBody { outcome: "conflict", conflicts: conflicts.collect(), ..body }
        }
        ChosenOutcome::Failed { reason } => {
            ChosenBody { outcome: "failed", reason: Some(reason), ..body }
        }
    }
}

fn change(file: &FileChange) -> ChangeRow<'_> {
    ChangeRow {
        path: &file.path,
        old_path: file.old_path.as_deref(),
        status: file.status.name(),
        added: file.added,
        removed: file.removed,
    }
}

fn overlap(overlap: &Overlap) -> OverlapRow<'_> {
    let channels = overlap.agents.iter().map(|slot| channel_name(Channel::Agent(slot)));
    OverlapRow { path: &overlap.path, channels: channels.collect() }
}

fn cost(cost: &Cost) -> CostBody<'_> {
    CostBody { amount: cost.amount, currency: &cost.currency }
}

/// Rounds to tenths of a second.
fn rounded(seconds: f64) -> f64 {
    (seconds * 10.0).round() / 10.0
}
