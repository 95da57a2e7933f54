//! A run gets its workplace and is inspected at its end; a choice about an agent's work is carried out. A choice is
//! refused while the agent works, and the agent's next run waits until the choice is carried out.

use super::agent_home::{AgentPlaces, PlaceUser};
use super::choice::{Inquirer, Inquiry};
use super::comparison::refuse_inquiry;
use super::inspect::{self, Carried, ProjectUse};
use super::planted;
use super::results::project_name;
use super::run_backup::{tell_backup, tell_changes, tell_unguarded};
use super::safeguard::{self, Conclusion, Copies};
use super::site::{Before, WorkplaceRequest};
use crate::message::{
    AgentSet, AgentSlot, BackupList, Channel, CheckWish, Choice, ChoiceKind, Chosen, ChosenOutcome,
    ComparisonRow, DiffNote, Event, PlaceKind, Problem, RunId,
};
use crate::session::actor::Session;
use crate::session::job::{Asker, JobDone};
use crate::session::journal::Step;
use crate::session::run::current::Ending;
use crate::session::run::inspection::Inspected;
use crate::session::run::lanes::LaneId;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, timeout_at};

/// Timeout for choices that are being carried out when the gateway stops.
const LAST_CHOICES: Duration = Duration::from_secs(3);
/// An agent that never asks for approval runs only in its own copy.
const NOT_ITS_OWN: &str = "this agent asks nobody before it acts, so it works only in a copy of its own; do not choose `shared`";
/// Told to the user at each run of such an agent.
const UNASKED: &str =
    "this agent does not ask before it acts; the project changes only when you accept its work";

impl Session {
    pub(in crate::session) fn on_inquiry(&mut self, inquiry: Inquiry) {
        match inquiry {
            Inquiry::Compare { agents, check, reply } => {
                self.compare(Inquirer::Caller(reply), agents, check);
            }
            Inquiry::Diff { agent, path, reply } => {
                self.show_diff(Inquirer::Caller(reply), agent, path);
            }
            Inquiry::Backups { agent, reply } => {
                self.list_backups(Inquirer::Caller(reply), agent);
            }
            Inquiry::Choose { agent, choice, reply } => {
                self.choose(Inquirer::Caller(reply), agent, choice);
            }
        }
    }

    /// Starts to carry out a choice. Refused while the agent works, because the agent would change the files.
    pub(in crate::session) fn choose(
        &mut self,
        inquirer: Inquirer<Chosen>,
        agent: AgentSlot,
        choice: Choice,
    ) {
        if !self.runs.hold(agent) {
            let reason = "the agent is at work; stop it or wait, then try again".to_owned();
            return refuse_inquiry(&mut self.shared, &mut self.sockets, inquirer, reason);
        }
        if let Some(request) = inquirer.request() {
            self.commands.begin_choice(request.clone());
        }
        let request = WorkplaceRequest::of(&self.shared, agent);
        let others = if self.runs.uses_project() { ProjectUse::Busy } else { ProjectUse::Quiet };
        self.shared.jobs.spawn(async move {
            let kind = choice.kind();
            let carried = inspect::choose(request, choice, others).await;
            JobDone::Chosen { inquirer, agent, kind, carried }
        });
    }

    /// The gateway stops: choices under way are finished and stored, within the timeout.
    pub(in crate::session) async fn finish_choices(&mut self) {
        let until = Instant::now() + LAST_CHOICES;
        while self.runs.any_is_held() {
            match timeout_at(until, self.shared.jobs.join_next()).await {
                Ok(Some(Ok(done @ JobDone::Chosen { .. }))) => self.on_job(done),
                Ok(Some(_)) => {}
                Ok(None) | Err(_) => break,
            }
        }
    }

    pub(in crate::session) fn on_chosen(
        &mut self,
        inquirer: Inquirer<Chosen>,
        agent: AgentSlot,
        kind: ChoiceKind,
        carried: Result<Carried, String>,
    ) {
        let lane_id = LaneId::from(agent);
        self.runs.release_hold(agent);
        if kind != ChoiceKind::Accept {
            // What the agent has open may be gone; it comes back with its conversation.
            self.runs.cut(lane_id);
        }
        let again = self.sent_again(&inquirer);
        let mut step = Step::default();
        match carried {
            Ok(Carried { outcome, touched }) => {
                let chosen = Chosen {
                    agent,
                    project: Some(project_name(&self.shared.env.files)),
                    kind,
                    outcome,
                };
                self.note_choice(&mut step, &chosen, touched);
                self.shared.append(&mut step, Channel::Agent(agent), Event::Chosen(chosen.clone()));
                self.start_next(&mut step, lane_id);
                match inquirer {
                    Inquirer::Socket(asker) => self.shared.record_for(asker, step),
                    Inquirer::Typed { asker, pane } => {
                        if pane == Channel::Chat {
                            self.shared.append(&mut step, pane, Event::Chosen(chosen));
                        }
                        self.shared.record_for(asker, step);
                    }
                    Inquirer::Caller(reply) => {
                        self.shared.journal.record(step);
                        let _ = reply.send(Ok(chosen));
                    }
                }
                again.into_iter().for_each(|asker| self.shared.acknowledge_again(asker));
            }
            Err(reason) => {
                self.start_next(&mut step, lane_id);
                self.shared.journal.record(step);
                for asker in again {
                    self.refuse(asker, Problem::NoChoice { reason: reason.clone() });
                }
                refuse_inquiry(&mut self.shared, &mut self.sockets, inquirer, reason);
            }
        }
    }

    /// Ends the request, and returns who has sent it again meanwhile.
    fn sent_again(&mut self, inquirer: &Inquirer<Chosen>) -> Vec<Asker> {
        match inquirer.request() {
            Some(request) => self.commands.end_choice(request),
            None => Vec::new(),
        }
    }

    /// Settles the agent's results if nothing is left to decide, and tells which files of the project have changed.
    fn note_choice(&mut self, step: &mut Step, chosen: &Chosen, touched: PlaceKind) {
        let ChosenOutcome::Done { files, .. } = &chosen.outcome else { return };
        if chosen.settles() {
            self.workplaces.results.settle(chosen.agent);
        }
        match touched {
            PlaceKind::Shared => {
                let channel = Channel::Agent(chosen.agent);
                tell_changes(&mut self.shared, step, channel, files.clone(), PlaceKind::Shared);
            }
            PlaceKind::Worktree => {}
        }
    }

    pub(in crate::session) fn compare(
        &mut self,
        inquirer: Inquirer<Arc<[ComparisonRow]>>,
        agents: AgentSet,
        check: CheckWish,
    ) {
        let (shared, sockets) = (&mut self.shared, &mut self.sockets);
        self.workplaces.compare(shared, &self.runs, sockets, inquirer, agents, check);
    }

    pub(in crate::session) fn show_diff(
        &mut self,
        inquirer: Inquirer<Arc<DiffNote>>,
        agent: AgentSlot,
        path: Option<String>,
    ) {
        let (shared, sockets) = (&mut self.shared, &mut self.sockets);
        self.workplaces.show_diff(shared, sockets, inquirer, agent, path);
    }

    pub(in crate::session) fn list_backups(
        &mut self,
        inquirer: Inquirer<Arc<BackupList>>,
        agent: Option<AgentSlot>,
    ) {
        let (shared, sockets) = (&mut self.shared, &mut self.sockets);
        self.workplaces.list_backups(shared, sockets, inquirer, agent);
    }

    pub(in crate::session) fn warm_up(&mut self, slot: AgentSlot) {
        self.workplaces.warm_up(&mut self.shared, &self.runs, &self.sockets, slot);
    }

    /// A run in the shared project waits until the project is backed up, and says so. A cancel ends the wait.
    pub(in crate::session) fn on_guarded(
        &mut self,
        channel: Channel,
        run: RunId,
        copies: Copies,
        then: Box<JobDone>,
    ) {
        let lane_id = LaneId::of(channel).filter(|lane_id| self.runs.is_current(*lane_id, run));
        let Some(lane_id) = lane_id else { return self.on_job(*then) };
        match copies {
            Copies::Making(copying) => {
                let waiting = safeguard::wait(channel, run, copying, then);
                self.runs.set_preparing(lane_id, self.shared.jobs.spawn(waiting));
                tell_backup(&mut self.shared, channel, "backing_up_first", &[]);
            }
            Copies::Failed(reason) => {
                if self.runs.note_unguarded(lane_id) {
                    tell_unguarded(&mut self.shared, channel, &reason);
                }
                self.on_job(*then);
            }
            Copies::Made => self.on_job(*then),
        }
    }

    /// The workplace is ready, or there is none. The run may have been cancelled meanwhile.
    pub(in crate::session) fn on_prepared(
        &mut self,
        channel: Channel,
        run: RunId,
        before: Result<Box<Before>, String>,
    ) {
        let Channel::Agent(slot) = channel else { return };
        let lane_id = LaneId::from(slot);
        if !self.runs.is_current(lane_id, run) {
            return;
        }
        let asks = self.runs.has_approvals(lane_id);
        let before = match before {
            Ok(before) if !asks && !before.site.is_own() => Err(NOT_ITS_OWN.to_owned()),
            before => before,
        };
        match before {
            Ok(before) => {
                let (places, row) = (AgentPlaces::of(&self.shared), self.runs.row(lane_id));
                let place = places.place(&before.site, row, PlaceUser::Agent(slot));
                let lacks = before.site.lacks();
                planted::watch(&mut self.shared, lane_id, run, &before.site);
                self.runs.set_workplace(lane_id, before, place);
                if !asks {
                    let mut step = Step::default();
                    let line = self.shared.env.language.get().word(UNASKED);
                    self.runs.tell_line(&mut self.shared, &mut step, lane_id, line);
                    self.shared.journal.record(step);
                }
                self.workplaces.tell_lacking(&mut self.shared, slot, lacks);
                self.launch(channel, run);
            }
            Err(reason) => {
                let mut step = Step::default();
                let reason = format!("there is no place to work: {reason}");
                self.end_run(&mut step, lane_id, Ending::Failed(reason));
                self.shared.journal.record(step);
            }
        }
    }

    pub(in crate::session) fn on_concluded(
        &mut self,
        channel: Channel,
        run: RunId,
        conclusion: Conclusion,
    ) {
        let Some(lane_id) = LaneId::of(channel) else { return };
        let Conclusion { mut paths, changed, place, pictures, set_aside, copying } = conclusion;
        planted::tell_set_aside(&mut self.shared, channel, &set_aside);
        if let Some(copying) = copying {
            let paths = std::mem::take(&mut paths);
            self.shared.jobs.spawn(safeguard::copied(channel, copying, paths));
            tell_backup(&mut self.shared, channel, "backing_up_after", &[]);
        }
        let mut step = Step::default();
        match self.runs.end_conclusion(lane_id, run, &mut paths, changed, pictures) {
            Inspected::GoesOn => {}
            Inspected::Ends(ending) => self.end_run(&mut step, lane_id, ending),
            Inspected::Gone => {
                let place = place.unwrap_or(PlaceKind::Shared);
                tell_changes(&mut self.shared, &mut step, channel, paths, place);
            }
        }
        self.shared.record_changes(step);
    }
}
