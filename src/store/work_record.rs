//! Agents' activity and results as rows. As in `record`, the names here are part of the file format.

use crate::message::{
    AgentSet, AgentSlot, ChangeStatus, ChoiceKind, Chosen, ChosenOutcome, Conflict, Cost, Event,
    FileChange, Overlap, PlaceKind, PlanStep, PlanStepState, RunId, RunOutcome, RunSummary,
    ToolNote, ToolState, Usage, WorkVersion,
};
use serde::Deserialize;
use serde_json::{Value, json};

pub(super) fn read_outcome(name: &str) -> Option<RunOutcome> {
    RunOutcome::ALL.into_iter().find(|outcome| outcome.name() == name)
}

pub(super) fn tool_body(note: &ToolNote) -> Value {
    json!({
        "id": note.id, "name": note.name, "tool": note.tool, "kind": note.kind, "state": note.state.name(),
        "input": note.input, "output": note.output, "error": note.error, "paths": note.paths,
        "ungated": note.ungated,
    })
}

#[derive(Deserialize)]
struct ToolBody {
    id: String,
    name: String,
    tool: Option<String>,
    kind: String,
    state: String,
    input: Option<String>,
    output: Option<String>,
    error: Option<String>,
    #[serde(default)]
    paths: Vec<String>,
    #[serde(default)]
    ungated: bool,
}

pub(super) fn read_tool(body: &str) -> Option<ToolNote> {
    let body: ToolBody = serde_json::from_str(body).ok()?;
    Some(ToolNote {
        id: body.id,
        name: body.name,
        tool: body.tool,
        kind: body.kind,
        state: ToolState::ALL.into_iter().find(|state| state.name() == body.state)?,
        input: body.input,
        output: body.output,
        error: body.error,
        paths: body.paths,
        ungated: body.ungated,
    })
}

pub(super) fn plan_body(steps: &[PlanStep]) -> Value {
    let row = |step: &PlanStep| json!({"text": step.text, "state": step.state.name()});
    steps.iter().map(row).collect()
}

#[derive(Deserialize)]
struct PlanStepBody {
    text: String,
    state: String,
}

pub(super) fn read_plan(body: &str) -> Option<Vec<PlanStep>> {
    let rows: Vec<PlanStepBody> = serde_json::from_str(body).ok()?;
    let step = |row: PlanStepBody| {
        let state = PlanStepState::ALL.into_iter().find(|state| state.name() == row.state)?;
        Some(PlanStep { text: row.text, state })
    };
    rows.into_iter().map(step).collect()
}

pub(super) fn changed_body(
    paths: &[String],
    by: Option<AgentSlot>,
    copy_of: Option<AgentSlot>,
) -> Value {
    match (by, copy_of) {
        (None, None) => json!(paths),
        (Some(agent), None) => json!({"paths": paths, "agent": agent.number()}),
        (by, Some(copy)) => {
            json!({"paths": paths, "agent": by.map(AgentSlot::number), "copy": copy.number()})
        }
    }
}

#[derive(Deserialize)]
#[serde(untagged)]
enum ChangedBody {
    /// The channel names the agent, and the files are in the project itself. Early versions wrote only this form.
    PathsOnly(Vec<String>),
    WithAgents {
        paths: Vec<String>,
        agent: Option<u8>,
        /// The agent in whose copy the files are; absent in rows of earlier versions.
        #[serde(default)]
        copy: Option<u8>,
    },
}

pub(super) fn read_changed(body: &str) -> Option<Event> {
    let (paths, by, copy_of) = match serde_json::from_str(body).ok()? {
        ChangedBody::PathsOnly(paths) => (paths, None, None),
        ChangedBody::WithAgents { paths, agent, copy } => {
            (paths, agent.and_then(AgentSlot::new), copy.and_then(AgentSlot::new))
        }
    };
    Some(Event::FilesChanged { paths, by, copy_of })
}

pub(super) fn answered_body(text: &str, by: Option<AgentSlot>) -> Value {
    match by {
        None => json!(text),
        Some(agent) => json!({"text": text, "agent": agent.number()}),
    }
}

#[derive(Deserialize)]
#[serde(untagged)]
enum AnsweredBody {
    /// Rows of earlier versions.
    TextOnly(String),
    WithAgent {
        text: String,
        agent: u8,
    },
}

pub(super) fn read_answered(body: &str) -> Option<Event> {
    let (text, by) = match serde_json::from_str(body).ok()? {
        AnsweredBody::TextOnly(text) => (text, None),
        AnsweredBody::WithAgent { text, agent } => (text, AgentSlot::new(agent)),
    };
    Some(Event::RequestAnswered { text, by })
}

pub(super) fn summary_body(summary: &RunSummary) -> Value {
    let usage = summary.usage.as_ref().map(|usage| {
        let cost = usage.cost.as_ref();
        let cost = cost.map(|cost| json!({"amount": cost.amount, "currency": cost.currency}));
        json!({"used": usage.used, "size": usage.size, "cost": cost})
    });
    let overlap = |overlap: &Overlap| json!({"path": overlap.path, "agents": numbers(overlap)});
    json!({
        "run": summary.run.0, "place": summary.place.map(PlaceKind::name),
        "outcome": summary.outcome.name(), "seconds": summary.seconds,
        "usage": usage, "files": summary.files.iter().map(file_body).collect::<Value>(),
        "more": summary.more, "overlaps": summary.overlaps.iter().map(overlap).collect::<Value>(),
        "left_out": summary.left_out, "project": summary.project,
        "version": summary.version.as_ref().map(WorkVersion::as_str),
    })
}

fn numbers(overlap: &Overlap) -> Vec<u8> {
    overlap.agents.iter().map(AgentSlot::number).collect()
}

fn file_body(file: &FileChange) -> Value {
    json!({
        "path": file.path, "old": file.old_path, "status": file.status.name(),
        "added": file.added, "removed": file.removed,
    })
}

#[derive(Deserialize)]
struct SummaryBody {
    run: u64,
    #[serde(default)]
    project: Option<String>,
    #[serde(default)]
    place: Option<String>,
    outcome: String,
    seconds: f64,
    usage: Option<UsageBody>,
    files: Vec<FileBody>,
    more: bool,
    overlaps: Vec<OverlapBody>,
    #[serde(default)]
    left_out: Vec<String>,
    #[serde(default)]
    version: Option<String>,
}

#[derive(Deserialize)]
struct UsageBody {
    used: u64,
    size: u64,
    cost: Option<CostBody>,
}

#[derive(Deserialize)]
struct CostBody {
    amount: f64,
    currency: String,
}

#[derive(Deserialize)]
struct FileBody {
    path: String,
    old: Option<String>,
    status: String,
    added: Option<u32>,
    removed: Option<u32>,
}

#[derive(Deserialize)]
struct OverlapBody {
    path: String,
    agents: Vec<u8>,
}

pub(super) fn read_summary(body: &str) -> Option<RunSummary> {
    let body: SummaryBody = serde_json::from_str(body).ok()?;
    let usage = body.usage.map(|usage| Usage {
        used: usage.used,
        size: usage.size,
        cost: usage.cost.map(|cost| Cost { amount: cost.amount, currency: cost.currency }),
    });
    let overlap = |row: OverlapBody| {
        let agents: Option<AgentSet> = row.agents.into_iter().map(AgentSlot::new).collect();
        Some(Overlap { path: row.path, agents: agents? })
    };
    Some(RunSummary {
        run: RunId(body.run),
        project: body.project,
        place: body.place.and_then(|name| place(&name)),
        outcome: read_outcome(&body.outcome)?,
        seconds: body.seconds,
        usage,
        files: body.files.into_iter().map(read_file).collect::<Option<_>>()?,
        more: body.more,
        overlaps: body.overlaps.into_iter().map(overlap).collect::<Option<_>>()?,
        left_out: body.left_out,
        version: body.version.map(WorkVersion::new),
    })
}

fn place(name: &str) -> Option<PlaceKind> {
    PlaceKind::ALL.into_iter().find(|place| place.name() == name)
}

fn read_file(row: FileBody) -> Option<FileChange> {
    Some(FileChange {
        path: row.path,
        old_path: row.old,
        status: ChangeStatus::ALL.into_iter().find(|status| status.name() == row.status)?,
        added: row.added,
        removed: row.removed,
    })
}

pub(super) fn chosen_body(chosen: &Chosen) -> Value {
    let (agent, kind) = (chosen.agent.number(), chosen.kind.name());
    let mut body = match &chosen.outcome {
        ChosenOutcome::Done { files, branch, backup, left_out } => json!({
            "agent": agent, "kind": kind, "files": files, "branch": branch, "backup": backup,
            "left_out": left_out,
        }),
        ChosenOutcome::Conflicts(conflicts) => {
            let row = |conflict: &Conflict| json!({"path": conflict.path, "kind": conflict.kind});
            let rows: Value = conflicts.iter().map(row).collect();
            json!({"agent": agent, "kind": kind, "conflicts": rows})
        }
        ChosenOutcome::Failed { reason } => json!({"agent": agent, "kind": kind, "reason": reason}),
    };
    body["project"] = json!(chosen.project);
    body
}

#[derive(Deserialize)]
struct ChosenBody {
    agent: u8,
    #[serde(default)]
    project: Option<String>,
    kind: String,
    #[serde(default)]
    files: Vec<String>,
    branch: Option<String>,
    /// Absent in rows of earlier versions.
    #[serde(default)]
    backup: Option<String>,
    #[serde(default)]
    left_out: Vec<String>,
    conflicts: Option<Vec<ConflictBody>>,
    reason: Option<String>,
}

#[derive(Deserialize)]
struct ConflictBody {
    path: String,
    kind: String,
}

pub(super) fn read_chosen(body: &str) -> Option<Chosen> {
    let body: ChosenBody = serde_json::from_str(body).ok()?;
    let conflict = |row: ConflictBody| Conflict { path: row.path, kind: row.kind };
    let outcome = match (body.conflicts, body.reason) {
        (Some(rows), _) => ChosenOutcome::Conflicts(rows.into_iter().map(conflict).collect()),
        (None, Some(reason)) => ChosenOutcome::Failed { reason },
        (None, None) => ChosenOutcome::Done {
            files: body.files,
            branch: body.branch,
            backup: body.backup,
            left_out: body.left_out,
        },
    };
    Some(Chosen {
        agent: AgentSlot::new(body.agent)?,
        project: body.project,
        kind: ChoiceKind::ALL.into_iter().find(|kind| kind.name() == body.kind)?,
        outcome,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_earlier_versions_are_read() {
        let row = r#"{"agent": 2, "kind": "discard", "files": ["a"], "branch": null}"#;
        let (files, left_out) = (vec!["a".into()], Vec::new());
        let done = ChosenOutcome::Done { files, branch: None, backup: None, left_out };
        assert_eq!(read_chosen(row).map(|chosen| chosen.outcome), Some(done));
        let row = r#"{"run": 3, "outcome": "finished", "seconds": 1.5, "usage": null, "files": [],
            "more": false, "overlaps": []}"#;
        assert_eq!(
            read_summary(row).map(|summary| (summary.run, summary.place)),
            Some((RunId(3), None))
        );
    }
}
