//! One example of each thing that dialects write, for their golden frames.

use bytes::Bytes;
use kakehashi::message::{
    AgentSlot, AnswerNote, BackupList, BackupNote, BackupReason, ChangeStatus, Channel, Check,
    ComparisonRow, ConfirmId, Confirmation, Cost, Delivery, DiffNote, Entry, Event, EventTime,
    FileChange, FileNote, Order, Overlap, PlaceKind, RunId, RunOutcome, RunSummary, Seq,
    SourceNote, ToolNote, ToolState, Usage, WarningLevel, WorkVersion,
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
