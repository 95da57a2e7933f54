//! What an earlier actor, usually of an earlier process, left unfinished: runs, open questions, tool calls, queued
//! requests.

use super::current::Waiting;
use super::lanes::LaneId;
use crate::message::{
    AuditEntry, Channel, Confirmation, Confirmed, DecidedBy, Event, Notice, ReportStage, Run,
    RunId, RunOrigin, RunOutcome, ToolState,
};
use crate::session::actor::Session;
use crate::session::approval::calls;
use crate::session::approval::gate::shown_on;
use crate::session::journal::Step;
use crate::store::{Change, OpenCall};

/// How much of an interrupted request its notice repeats.
const REMINDER_CHARS: usize = 500;

/// Reasons for the audit log, beside who had allowed the call.
const LEFT: &str = "interrupted: the gateway ended before the call did, and its outcome is unknown";
const UNGATED_LEFT: &str =
    "ungated; interrupted: the gateway ended before the call did, and its outcome is unknown";

impl Session {
    /// Announces interrupted runs and starts the queued ones. Requests to agents were meant for the session's project.
    /// If that project is `lost`, they are interrupted too, because nobody wants them carried out in another one.
    pub(in crate::session) fn take_up(
        &mut self,
        cut_off: Vec<Run>,
        waiting: Vec<Run>,
        lost: Option<String>,
    ) {
        let mut step = Step::default();
        cut_off.into_iter().for_each(|run| self.cut_off(&mut step, run));
        let is_astray = |run: &Run| lost.is_some() && matches!(run.channel, Channel::Agent(_));
        let (astray, waiting): (Vec<Run>, Vec<Run>) = waiting.into_iter().partition(is_astray);
        if let Some(project) = lost {
            self.give_up_project(&mut step, &project, &astray);
        }
        astray.into_iter().for_each(|run| self.cut_off(&mut step, run));
        for run in waiting {
            if let Some(lane_id) = LaneId::of(run.channel) {
                self.lanes[lane_id].queue.push_back(Waiting { run, order: 0 });
            }
        }
        for lane_id in LaneId::ALL {
            self.start_next(&mut step, lane_id);
        }
        if !step.changes.is_empty() {
            self.journal.record(step);
        }
    }

    /// Refuses the questions that were left open. The agent that asked is gone, so an approval would have no effect,
    /// and the questions must not be shown as open for ever.
    pub(in crate::session) fn settle_left(
        &mut self,
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
                input: asked.input,
                confirmed,
                by,
                reason: "the gateway has ended".to_owned(),
            }));
            let (id, number) = (asked.id, asked.number);
            let in_chat = run.is_some_and(|run| run.origin == RunOrigin::Request);
            for shown in shown_on(channel, in_chat) {
                let id = id.clone();
                let settled = Event::ConfirmSettled { id, channel, number, confirmed, by };
                self.append(&mut step, shown, settled);
            }
        }
        if !step.changes.is_empty() {
            self.journal.record(step);
        }
    }

    /// Ends the tool calls that were left open. They are shown as failed, but their outcome is unknown: they may have
    /// done all of it. The audit log gets only those that were allowed or bypassed the gate.
    pub(in crate::session) fn end_left(&mut self, calls: Vec<OpenCall>) {
        let mut step = Step::default();
        for OpenCall { agent, run, mut note, decided } in calls {
            note.state = ToolState::Failed;
            note.error = Some(self.env.language.get().say("ungated", "interrupted", &[]));
            note.ungated |= decided.is_none() && !calls::is_harmless(&note.kind);
            let allowed = decided.filter(|(confirmed, _)| *confirmed == Confirmed::Approved);
            if note.ungated || allowed.is_some() {
                let nobody = (Confirmed::Approved, DecidedBy::Nobody);
                let (confirmed, by) = allowed.filter(|_| !note.ungated).unwrap_or(nobody);
                step.changes.push(Change::Audit(AuditEntry {
                    caller: agent.into(),
                    run,
                    call: note.id.clone(),
                    tool: note.name.clone(),
                    input: note.input.clone().unwrap_or_default(),
                    confirmed,
                    by,
                    reason: if note.ungated { UNGATED_LEFT } else { LEFT }.to_owned(),
                }));
            }
            self.append(&mut step, Channel::Agent(agent), Event::Tool(note));
        }
        if !step.changes.is_empty() {
            self.journal.record(step);
        }
    }

    fn cut_off(&mut self, step: &mut Step, run: Run) {
        step.changes.push(Change::RunOver(run.id));
        if let Channel::Agent(agent) = run.channel {
            self.append(step, run.channel, Event::RunEnded(RunOutcome::Interrupted));
            if run.origin == RunOrigin::Request {
                self.report(step, agent, ReportStage::Stopped);
            }
        }
        let request = run.text.chars().take(REMINDER_CHARS).collect();
        let notice = Notice::RunInterrupted { run: run.id, request };
        self.append(step, run.channel, Event::Notice(notice));
        self.env.metrics.run_ended(RunOutcome::Interrupted);
    }

    /// The project is given up for good, even if it is allowed again later: requests from now on are meant for the
    /// gateway's own project.
    fn give_up_project(&mut self, step: &mut Step, project: &str, astray: &[Run]) {
        let stored = self.settings.differences(&self.env.config.settings);
        step.changes.push(Change::Settings(stored));
        let mut told = Vec::new();
        for run in astray {
            if !told.contains(&run.channel) {
                told.push(run.channel);
                let notice = Notice::ProjectGone { project: project.to_owned() };
                self.append(step, run.channel, Event::Notice(notice));
            }
        }
    }
}
