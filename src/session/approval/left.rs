//! Questions and tool calls that an earlier actor, usually of an earlier process, left open.

use super::calls::is_harmless;
use super::gate::shown_on;
use crate::message::{
    AuditEntry, Confirmation, Confirmed, DecidedBy, Event, Run, RunId, RunOrigin, ToolState,
};
use crate::session::journal::Step;
use crate::session::shared::Shared;
use crate::store::{Change, OpenCall};

/// Reasons for the audit log, beside who had allowed the call.
const LEFT: &str = "interrupted: the gateway ended before the call did, and its outcome is unknown";
const UNGATED_LEFT: &str =
    "ungated; interrupted: the gateway ended before the call did, and its outcome is unknown";

/// Refuses the questions that were left open. The agent that asked is gone, so an approval would have no effect,
/// and the questions must not be shown as open for ever.
pub(in crate::session) fn refuse_left_questions(
    shared: &mut Shared,
    questions: Vec<Confirmation>,
    cut_off: &[Run],
) {
    let mut step = Step::default();
    for asked in questions {
        let channel = asked.channel;
        let run = cut_off.iter().find(|run| run.channel == channel);
        let (confirmed, by) = (Confirmed::Refused, DecidedBy::End);
        step.changes.push(Change::Audit(AuditEntry {
            caller: asked.caller,
            run: run.map_or(RunId(0), |run| run.id),
            call: asked.call,
            tool: asked.tool,
            name: asked.name,
            input: asked.input,
            level: Some(asked.level),
            address: None,
            confirmed,
            by,
            reason: "the gateway has ended".to_owned(),
        }));
        let (id, number) = (asked.id, asked.number);
        let in_chat = run.is_some_and(|run| run.origin == RunOrigin::Request);
        for shown in shown_on(channel, in_chat) {
            let id = id.clone();
            let settled = Event::ConfirmSettled { id, channel, number, confirmed, by };
            shared.append(&mut step, shown, settled);
        }
    }
    shared.record_changes(step);
}

/// Ends the tool calls that were left open. They are shown as failed, but their outcome is unknown: they may have
/// done all of it. The audit log gets only those that were allowed or bypassed the gate.
pub(in crate::session) fn end_left_calls(shared: &mut Shared, calls: Vec<OpenCall>) {
    let mut step = Step::default();
    for OpenCall { caller, channel, run, mut note, decided } in calls {
        note.state = ToolState::Failed;
        note.error = Some(shared.env.language.get().say("ungated", "interrupted", &[]));
        note.ungated |= decided.is_none() && !is_harmless(&note.kind);
        let allowed = decided.filter(|(confirmed, _)| *confirmed == Confirmed::Approved);
        if note.ungated || allowed.is_some() {
            let nobody = (Confirmed::Approved, DecidedBy::Nobody);
            let (confirmed, by) = allowed.filter(|_| !note.ungated).unwrap_or(nobody);
            step.changes.push(Change::Audit(AuditEntry {
                caller,
                run,
                call: note.id.clone(),
                tool: note.name.clone(),
                name: note.tool.clone(),
                input: note.input.clone().unwrap_or_default(),
                level: None,
                address: None,
                confirmed,
                by,
                reason: if note.ungated { UNGATED_LEFT } else { LEFT }.to_owned(),
            }));
        }
        shared.append(&mut step, channel, Event::Tool(note));
    }
    shared.record_changes(step);
}
