//! Runs that an earlier actor, usually of an earlier process, left unfinished.

use super::report::report;
use crate::message::{Channel, Event, Notice, ReportStage, Run, RunOrigin, RunOutcome};
use crate::session::journal::Step;
use crate::session::shared::Shared;
use crate::session::voice::Voice;
use crate::store::Change;

/// How much of an interrupted request its notice repeats.
const REMINDER_CHARS: usize = 500;

/// Announces a run as interrupted.
pub(super) fn interrupt(shared: &mut Shared, voice: &Voice, step: &mut Step, run: Run) {
    step.changes.push(Change::RunOver(run.id));
    shared.append(step, run.channel, Event::RunEnded(RunOutcome::Interrupted));
    if let Channel::Agent(agent) = run.channel
        && run.origin == RunOrigin::Request
    {
        report(shared, voice, step, agent, ReportStage::Stopped);
    }
    let request = run.text.chars().take(REMINDER_CHARS).collect();
    let notice = Notice::RunInterrupted { run: run.id, request };
    shared.append(step, run.channel, Event::Notice(notice));
    shared.env.metrics.run_ended(RunOutcome::Interrupted);
}

/// The project is given up for good, even if it is allowed again later: requests from now on are meant for the gateway's
/// own project. Channels of the `lost` runs are told.
pub(super) fn give_up_project(shared: &mut Shared, step: &mut Step, project: &str, lost: &[Run]) {
    let stored = shared.settings.differences(&shared.env.config.settings);
    step.changes.push(Change::Settings(stored));
    let mut told = Vec::new();
    for run in lost {
        if !told.contains(&run.channel) {
            told.push(run.channel);
            let notice = Notice::ProjectGone { project: project.to_owned() };
            shared.append(step, run.channel, Event::Notice(notice));
        }
    }
}
