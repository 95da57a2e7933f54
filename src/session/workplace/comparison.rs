//! Looks at agents' work that change nothing: comparisons, diffs and lists of backups; and the summary of each run.

use super::agent_home::{AgentPlaces, checker};
use super::choice::Inquirer;
use super::inspect::{self, Known};
use super::restore::backups;
use super::results::{is_told, project_name};
use super::site::WorkplaceRequest;
use super::{Workplaces, kept};
use crate::message::{
    AgentSet, AgentSlot, BackupList, Channel, CheckWish, ComparisonRow, DiffNote, Event, Notice,
    PlaceKind, Problem, RunOutcome, RunSummary, Signal,
};
use crate::session::job::JobDone;
use crate::session::journal::Step;
use crate::session::run::Runs;
use crate::session::run::current::{FinishedRun, RunSoFar};
use crate::session::run::spent::Spent;
use crate::session::shared::Shared;
use crate::session::sockets::Sockets;
use std::sync::Arc;

const TOO_MANY: &str = "others are being looked at already; try again in a moment";
/// Longest diff that is sent on a socket, in bytes. HTTP serves more.
const SHOWN_DIFF: usize = 256 * 1024;

impl Workplaces {
    /// Sums up a run right before its end. The summary becomes an event if there is something to tell, and is kept for
    /// comparisons in any case.
    pub(in crate::session) fn sum_up(
        &mut self,
        shared: &mut Shared,
        step: &mut Step,
        slot: AgentSlot,
        done: FinishedRun,
        outcome: RunOutcome,
    ) {
        let FinishedRun { run, place, seconds, usage, changed } = done;
        let overlaps = self.results.overlaps(slot, changed.files.iter().map(|file| &file.path));
        let summary = RunSummary {
            run,
            project: Some(project_name(&shared.env.files)),
            place,
            outcome,
            seconds,
            usage,
            files: changed.files,
            more: changed.more,
            overlaps,
            left_out: changed.left_out,
            version: changed.version,
        };
        if is_told(&summary) {
            shared.append(step, Channel::Agent(slot), Event::RunSummed(summary.clone()));
        }
        self.results.note(slot, summary);
        if place == Some(PlaceKind::Worktree) {
            kept::mention(shared, slot);
        }
    }

    pub(in crate::session) fn compare(
        &mut self,
        shared: &mut Shared,
        runs: &Runs,
        sockets: &mut Sockets,
        inquirer: Inquirer<Arc<[ComparisonRow]>>,
        agents: AgentSet,
        check: CheckWish,
    ) {
        if !self.results.may_look() {
            return refuse_inquiry(shared, sockets, inquirer, TOO_MANY.to_owned());
        }
        let known: Vec<_> = agents.iter().map(|slot| self.known(shared, runs, slot)).collect();
        let check = match check {
            CheckWish::Run => {
                checker(&shared.env.config).map(|checker| (checker, AgentPlaces::of(shared)))
            }
            CheckWish::Skip => None,
        };
        shared.jobs.spawn(async move {
            JobDone::Compared { inquirer, rows: inspect::compare(known, check).await.into() }
        });
    }

    pub(in crate::session) fn on_compared(
        &mut self,
        shared: &mut Shared,
        sockets: &mut Sockets,
        inquirer: Inquirer<Arc<[ComparisonRow]>>,
        rows: Arc<[ComparisonRow]>,
    ) {
        self.results.looked();
        let signal = |rows| (Channel::Chat, Signal::Compared { rows });
        answer(shared, sockets, inquirer, Ok(rows), signal);
    }

    pub(in crate::session) fn show_diff(
        &mut self,
        shared: &mut Shared,
        sockets: &mut Sockets,
        inquirer: Inquirer<Arc<DiffNote>>,
        agent: AgentSlot,
        path: Option<String>,
    ) {
        if !self.results.may_look() {
            return refuse_inquiry(shared, sockets, inquirer, TOO_MANY.to_owned());
        }
        let request = WorkplaceRequest::of(shared, agent);
        shared.jobs.spawn(async move {
            JobDone::Diffed { inquirer, diff: inspect::diff(request, path).await }
        });
    }

    pub(in crate::session) fn on_diffed(
        &mut self,
        shared: &mut Shared,
        sockets: &mut Sockets,
        inquirer: Inquirer<Arc<DiffNote>>,
        diff: Result<DiffNote, String>,
    ) {
        self.results.looked();
        let signal = |diff: Arc<DiffNote>| {
            let channel = Channel::Agent(diff.agent);
            let shown = inspect::shortened(Arc::unwrap_or_clone(diff), SHOWN_DIFF);
            (channel, Signal::Diff(Arc::new(shown)))
        };
        answer(shared, sockets, inquirer, diff.map(Arc::new), signal);
    }

    pub(in crate::session) fn list_backups(
        &mut self,
        shared: &mut Shared,
        sockets: &mut Sockets,
        inquirer: Inquirer<Arc<BackupList>>,
        agent: Option<AgentSlot>,
    ) {
        if !self.results.may_look() {
            return refuse_inquiry(shared, sockets, inquirer, TOO_MANY.to_owned());
        }
        let request = WorkplaceRequest::of(shared, agent.unwrap_or(AgentSlot::ALL[0]));
        shared.jobs.spawn(async move {
            JobDone::BackupsListed { inquirer, list: backups(request, agent).await }
        });
    }

    pub(in crate::session) fn on_backups_listed(
        &mut self,
        shared: &mut Shared,
        sockets: &mut Sockets,
        inquirer: Inquirer<Arc<BackupList>>,
        list: Result<BackupList, String>,
    ) {
        self.results.looked();
        let signal = |list: Arc<BackupList>| {
            (list.agent.map_or(Channel::Chat, Channel::Agent), Signal::Backups(list))
        };
        answer(shared, sockets, inquirer, list.map(Arc::new), signal);
    }

    /// What a comparison says about an agent before its files are looked at.
    fn known(&self, shared: &Shared, runs: &Runs, slot: AgentSlot) -> Known {
        let current = runs.so_far(slot);
        let last = self.results.last(slot);
        let mut own = self.results.spent(slot);
        let mut in_project = Spent::default();
        // Files of a run in the shared project are known only at its end.
        let told = last.filter(|last| current.is_none() && last.place != Some(PlaceKind::Worktree));
        match (&current, told) {
            (Some(current), _) => {
                let RunSoFar { seconds, usage, .. } = current;
                if current.place != Some(PlaceKind::Shared) {
                    own.add(*seconds, usage.as_ref());
                }
                if current.place != Some(PlaceKind::Worktree) {
                    in_project.add(*seconds, usage.as_ref());
                }
            }
            (None, Some(last)) => in_project.add(last.seconds, last.usage.as_ref()),
            (None, None) => {}
        }
        let files = told.map_or(&[][..], |summary| &summary.files);
        let touched = self.results.touched(slot);
        let row = ComparisonRow {
            agent: slot,
            name: shared.settings.agents[slot].name.clone(),
            place: PlaceKind::Shared,
            run: current.as_ref().map(|current| current.run).or(last.map(|summary| summary.run)),
            outcome: last.filter(|_| current.is_none()).map(|summary| summary.outcome),
            seconds: in_project.seconds,
            usage: in_project.usage,
            files: files.len(),
            added: inspect::lines(files, |file| file.added),
            removed: inspect::lines(files, |file| file.removed),
            check: None,
            overlaps: self.results.overlaps(slot, touched),
            left_out: Vec::new(),
            version: None,
            problem: None,
        };
        Known { request: WorkplaceRequest::of(shared, slot), row, own }
    }
}

/// Answers on the channel of the signal, to every socket there that knows these packets, or to the caller.
fn answer<T>(
    shared: &mut Shared,
    sockets: &mut Sockets,
    inquirer: Inquirer<T>,
    found: Result<T, String>,
    signal: impl FnOnce(T) -> (Channel, Signal),
) {
    let found = found.map_err(|reason| Problem::NoChoice { reason });
    match (inquirer, found) {
        (Inquirer::Caller(reply), found) => drop(reply.send(found)),
        (Inquirer::Socket(asker) | Inquirer::Typed { asker, .. }, Ok(found)) => {
            let (channel, signal) = signal(found);
            sockets.tell_knowing(channel, &signal);
            shared.record_for(asker, Step::default());
        }
        (Inquirer::Socket(asker) | Inquirer::Typed { asker, .. }, Err(problem)) => {
            sockets.refuse(shared, asker, problem);
        }
    }
}

pub(super) fn refuse_inquiry<T>(
    shared: &mut Shared,
    sockets: &mut Sockets,
    inquirer: Inquirer<T>,
    reason: String,
) {
    match inquirer {
        Inquirer::Caller(reply) => drop(reply.send(Err(Problem::NoChoice { reason }))),
        Inquirer::Socket(asker) => sockets.refuse(shared, asker, Problem::NoChoice { reason }),
        Inquirer::Typed { asker, pane } => {
            let told = Notice::NotChosen { reason: reason.clone() };
            shared.record_event(pane, Event::Notice(told));
            sockets.refuse(shared, asker, Problem::NoChoice { reason });
        }
    }
}
