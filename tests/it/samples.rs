//! One example of each thing that dialects write, for their golden frames.

use crate::golden_api::one_each;
use bytes::Bytes;
use kakehashi::message::floor::{FloorOrder, ShowMap};
use kakehashi::message::{
    AgentSlot, AnswerNote, Artifact, ArtifactKind, BackupList, BackupNote, BackupReason,
    ChangeStatus, Channel, Check, CodeNote, Column, ComparisonRow, ConfirmId, Confirmation, Cost,
    Dataset, Decision, Delivery, DiffNote, Entry, Event, EventTime, Execution, FileChange,
    FileNote, FloorNote, NextAction, Order, Output, OutputKind, Overlap, PlaceKind, Report, RunId,
    RunOutcome, RunSummary, Section, SectionKind, Seq, SourceNote, ToolNote, ToolState, Usage,
    WarningLevel, Work, WorkVersion,
};
use std::sync::Arc;
use std::time::Duration;

pub(crate) fn logged(channel: Channel, event: Event) -> Delivery {
    let (seq, order, at) = (Seq(7), Order(70), EventTime(1_772_134_493_000));
    Delivery::Logged(Arc::new(Entry { channel, seq, order, at, event }))
}

pub(crate) fn file_note() -> FileNote {
    FileNote {
        name: "図.png".into(),
        path: Some("temp/input/20261116.120000.図.png".into()),
        thumbnail: Some(Bytes::from_static(b"\x89PNG")),
    }
}

pub(crate) fn confirmation(agent: AgentSlot) -> Confirmation {
    Confirmation {
        id: ConfirmId::new("c0ffee"),
        caller: agent.into(),
        channel: Channel::Agent(agent),
        number: 3,
        call: "call-1".into(),
        tool: "Write src/main.rs".into(),
        name: Some("file:write".into()),
        input: r#"{"path":"src/main.rs"}"#.into(),
        diff: Some("-old\n+new\n".into()),
        level: WarningLevel::Warn,
        reason: "risk: state_modifying".into(),
        seconds: 300,
    }
}

pub(crate) fn tool_note(state: ToolState) -> ToolNote {
    ToolNote {
        id: "call-1".into(),
        name: "Write src/main.rs".into(),
        tool: Some("file:write".into()),
        kind: "edit".into(),
        state,
        input: Some(r#"{"path":"src/main.rs"}"#.into()),
        output: Some("12 bytes".into()),
        error: None,
        paths: vec!["src/main.rs".into()],
        ungated: false,
    }
}

pub(crate) fn change(path: &str) -> FileChange {
    let (old_path, status) = (None, ChangeStatus::Modified);
    FileChange { path: path.into(), old_path, status, added: Some(10), removed: Some(3) }
}

pub(crate) fn overlaps() -> Vec<Overlap> {
    vec![Overlap { path: "src/main.rs".into(), agents: AgentSlot::ALL[2].into() }]
}

pub(crate) fn usage() -> Usage {
    let cost = Some(Cost { amount: 0.25, currency: "USD".into() });
    Usage { used: 12_000, size: 200_000, cost }
}

pub(crate) fn version() -> WorkVersion {
    WorkVersion::new("3c59dc048e885024")
}

pub(crate) fn run_summary() -> RunSummary {
    RunSummary {
        run: RunId(3),
        project: Some("/project".into()),
        place: Some(PlaceKind::Worktree),
        outcome: RunOutcome::Finished,
        seconds: 12.34,
        usage: Some(usage()),
        files: vec![change("src/main.rs")],
        more: false,
        overlaps: overlaps(),
        left_out: vec!["vendor/lib/".into()],
        version: Some(version()),
    }
}

pub(crate) const BACKUP: &str = "ws-00000000000000000000000000000000-discard-1772134493000000";

pub(crate) fn backups(agent: AgentSlot) -> BackupList {
    let note = |name: &str, reason, agent| BackupNote {
        name: format!("ws-{}-{name}", "0".repeat(32)),
        reason: Some(reason),
        made: "2026/02/26 20:44:53".to_owned(),
        agent,
    };
    BackupList {
        agent: Some(agent),
        backups: vec![
            note("discard-1772134493000000", BackupReason::Discard, Some(agent)),
            note("accept-1772134492000000", BackupReason::Accept, None),
            note("3", BackupReason::Run(RunId(3)), Some(agent)),
        ],
    }
}

pub(crate) fn diff_note(agent: AgentSlot) -> DiffNote {
    DiffNote {
        agent,
        path: Some("src/main.rs".into()),
        files: vec![change("src/main.rs")].into(),
        text: "--- a/src/main.rs\n+++ b/src/main.rs\n".into(),
        truncated: false,
        version: version(),
    }
}

pub(crate) fn comparison_row(agent: AgentSlot) -> ComparisonRow {
    ComparisonRow {
        agent,
        name: "goose".into(),
        place: PlaceKind::Worktree,
        run: Some(RunId(3)),
        outcome: Some(RunOutcome::Finished),
        seconds: Some(12.34),
        usage: Some(usage()),
        files: 1,
        added: 10,
        removed: 3,
        check: Some(Check { code: Some(0), output: "ok".into() }),
        overlaps: overlaps(),
        left_out: vec!["vendor/lib/".into()],
        version: Some(version()),
        problem: None,
    }
}

pub(crate) fn answer_note() -> AnswerNote {
    let sources = vec![SourceNote { path: "src/main.rs".into(), lines: Some((1, 20)) }];
    AnswerNote { sources, latency: Some(Duration::from_millis(1200)) }
}

/// Each kind of an assistant's steps, by the name that it has in plain JSON.
#[rustfmt::skip]
pub(crate) fn steps() -> Vec<(&'static str, Work)> {
    one_each!(Work {
        Work::Dataset(_) => "dataset_info", Work::Dataset(dataset());
        Work::Decision(_) => "reason", Work::Decision(decision(NextAction::Act, Some(ASSUMED)));
        Work::Code(_) => "code", Work::Code(CodeNote { run: RunId(3), step: 1, code: CODE.into() });
        Work::Execution(_) => "exec", Work::Execution(execution("East 120\nWest 80\n", None));
        Work::Artifact(_) => "artifact", Work::Artifact(figure());
        Work::Floor(_) => "floor", Work::Floor(floor_note());
        Work::Report(_) => "report", Work::Report(report());
    })
}

/// A map with everything that one can have.
pub(crate) fn floor_note() -> FloorNote {
    let asked = ShowMap {
        highlight_rooms: "Kitchen,Toilet".into(),
        room_colors: "#FF0000".into(),
        bitmap_overlays: "arrow_up:Room1".into(),
        text_overlays: "21:120,40".into(),
        ..ShowMap::default()
    };
    FloorNote { run: RunId(3), order: FloorOrder::ShowMap(asked.read().unwrap()) }
}

const CODE: &str = "totals = df.groupby(\"region\")[\"売上\"].sum()\nprint(totals)\n";
pub(crate) const ASSUMED: &str = "売上 is in yen";

pub(crate) fn dataset() -> Dataset {
    let column = |name: &str, dtype: &str| Column {
        name: name.into(),
        dtype: dtype.into(),
        values: vec!["A".into()],
        date_format: Some("%Y".into()),
    };
    Dataset {
        name: "sales.csv".into(),
        workspace: "20261118200000".into(),
        rows: 7,
        columns: vec![column("region", "str"), column("売上", "int64")],
        head: r#"[{"region":"East","売上":120}]"#.into(),
        encoding: "cp932".into(),
        warnings: vec!["line 5 was left out: it has 3 fields".into()],
        sampled: None,
    }
}

pub(crate) fn decision(next: NextAction, assumption: Option<&str>) -> Decision {
    let (instruction, question) = match next {
        NextAction::Ask => (None, Some("Which months do you mean?".to_owned())),
        NextAction::Act => (Some("Add up 売上 by region.".to_owned()), None),
        NextAction::Finalize => (None, None),
    };
    Decision {
        run: RunId(3),
        step: 1,
        next,
        instruction,
        question,
        assumption: assumption.map(str::to_owned),
        rationale: "the question is about regions".into(),
    }
}

pub(crate) fn execution(stdout: &str, error: Option<&str>) -> Execution {
    let output = |file_name: &str, kind| {
        let description = "totals by region".into();
        Output { file_name: file_name.into(), description, kind }
    };
    let outputs =
        [output("totals.png", OutputKind::Figure), output("totals.csv", OutputKind::Table)];
    let success = error.is_none();
    Execution {
        run: RunId(3),
        step: 1,
        success,
        stdout: stdout.into(),
        error: error.map(str::to_owned),
        outputs: if success { outputs.into() } else { Vec::new() },
        took: Duration::from_millis(640),
    }
}

pub(crate) fn figure() -> Artifact {
    Artifact {
        run: RunId(3),
        kind: ArtifactKind::Figure,
        file: FileNote {
            name: "totals.png".into(),
            path: Some("workspace/20261118200000/totals.png".into()),
            thumbnail: Some(Bytes::from_static(b"\x89PNG")),
        },
        description: "totals by region".into(),
        media_type: "image/png".into(),
        size: 20_480,
    }
}

fn report() -> Report {
    let contents =
        ["## Conclusion\nEast leads.", "totals.png", r#"[{"region":"East","売上":120}]"#];
    let section = |(kind, content): (SectionKind, &str)| Section {
        kind,
        content: content.into(),
        description: (kind != SectionKind::Text).then(|| "totals by region".into()),
    };
    Report {
        run: RunId(3),
        title: "Totals by region".into(),
        sections: SectionKind::ALL.into_iter().zip(contents).map(section).collect(),
        suggestions: vec!["Compare the months.".into()],
        assumptions: vec![ASSUMED.into()],
        intermediate: false,
        rule_based: true,
    }
}
