//! What becomes of agents' work: it is summed up, compared, shown, accepted, discarded or restored. A choice is refused
//! while the agent works, and the agent's next run waits until the choice is carried out.

use super::inspect;
use super::inspect::{Carried, Known, ProjectUse};
use super::results::{is_told, project_name};
use super::site::SiteWish;
use crate::message::{
    AgentSet, AgentSlot, BackupList, Channel, CheckWish, Choice, ChoiceKind, Chosen, ChosenOutcome,
    ComparisonRow, DiffNote, Event, Notice, PlaceKind, Problem, RequestNo, RunOutcome, RunSummary,
    Signal,
};
use crate::session::actor::Session;
use crate::session::job::{Asker, JobDone};
use crate::session::journal::Step;
use crate::session::run::current::Current;
use crate::session::run::lane::Lane;
use crate::session::run::lanes::LaneId;
use crate::session::run::spent::Spent;
use crate::session::{SessionClosed, SessionHandle, Urgent};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::time::{Instant, timeout_at};

pub(super) const TOO_MANY: &str = "others are being looked at already; try again in a moment";
/// Timeout for choices that are being carried out when the gateway stops.
const LAST_CHOICES: Duration = Duration::from_secs(3);
/// Longest diff that is sent on a socket, in bytes. HTTP serves more.
const SHOWN_DIFF: usize = 256 * 1024;

/// Who asked.
#[derive(Debug)]
pub(in crate::session) enum Inquirer<T> {
    /// Answered on the channel, to every socket there that knows these packets.
    Socket(Asker),
    /// A user who typed the request. The answer is given in words, where it was typed.
    Typed {
        asker: Asker,
        pane: Channel,
    },
    Caller(oneshot::Sender<Result<T, Problem>>),
}

impl<T> Inquirer<T> {
    /// Number by which a repeated request is recognized.
    fn request(&self) -> Option<&RequestNo> {
        match self {
            Self::Socket(asker) | Self::Typed { asker, .. } => asker.request.as_ref(),
            Self::Caller(_) => None,
        }
    }
}

/// Requests about agents' work that come from outside of any socket.
#[derive(Debug)]
pub(in crate::session) enum Inquiry {
    Compare { agents: AgentSet, check: CheckWish, reply: Reply<Arc<[ComparisonRow]>> },
    Diff { agent: AgentSlot, path: Option<String>, reply: Reply<Arc<DiffNote>> },
    Backups { agent: Option<AgentSlot>, reply: Reply<Arc<BackupList>> },
    Choose { agent: AgentSlot, choice: Choice, reply: Reply<Chosen> },
}

pub(super) type Reply<T> = oneshot::Sender<Result<T, Problem>>;

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum ChoiceError {
    #[error(transparent)]
    Refused(Problem),
    #[error(transparent)]
    Closed(#[from] SessionClosed),
}

impl SessionHandle {
    pub async fn compare(
        &self,
        agents: AgentSet,
        check: CheckWish,
    ) -> Result<Arc<[ComparisonRow]>, ChoiceError> {
        self.inquire(|reply| Inquiry::Compare { agents, check, reply }).await
    }

    /// The whole diff, up to the limit for output of git.
    pub async fn diff(
        &self,
        agent: AgentSlot,
        path: Option<String>,
    ) -> Result<Arc<DiffNote>, ChoiceError> {
        self.inquire(|reply| Inquiry::Diff { agent, path, reply }).await
    }

    /// Carried out to its end, even if the caller stops waiting.
    pub async fn choose(&self, agent: AgentSlot, choice: Choice) -> Result<Chosen, ChoiceError> {
        self.inquire(|reply| Inquiry::Choose { agent, choice, reply }).await
    }

    pub(super) async fn inquire<T>(
        &self,
        inquiry: impl FnOnce(Reply<T>) -> Inquiry,
    ) -> Result<T, ChoiceError> {
        self.note_use();
        let (reply, answer) = oneshot::channel();
        let asked = Urgent::Inquiry(Box::new(inquiry(reply)));
        self.inner.urgent.send(asked).await.map_err(|_| SessionClosed)?;
        answer.await.map_err(|_| SessionClosed)?.map_err(ChoiceError::Refused)
    }
}

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

    /// Sums up a run right before its end. The summary becomes an event if there is something to tell, and is kept for
    /// comparisons in any case.
    pub(in crate::session) fn sum_up(
        &mut self,
        step: &mut Step,
        slot: AgentSlot,
        done: &mut Current,
        outcome: RunOutcome,
    ) {
        let changed = std::mem::take(&mut done.files);
        let overlaps = self.results.overlaps(slot, changed.files.iter().map(|file| &file.path));
        let summary = RunSummary {
            run: done.run.id,
            project: Some(self.project()),
            place: done.place,
            outcome,
            seconds: done.started.elapsed().as_secs_f64(),
            usage: done.usage.take(),
            files: changed.files,
            more: changed.more,
            overlaps,
            left_out: changed.left_out,
            version: changed.version,
        };
        if is_told(&summary) {
            self.shared.append(step, Channel::Agent(slot), Event::RunSummed(summary.clone()));
        }
        let was_apart = summary.place == Some(PlaceKind::Worktree);
        self.results.note(slot, summary);
        if was_apart {
            self.mention_kept(slot);
        }
    }

    pub(in crate::session) fn compare(
        &mut self,
        inquirer: Inquirer<Arc<[ComparisonRow]>>,
        agents: AgentSet,
        check: CheckWish,
    ) {
        if !self.results.may_look() {
            return self.refuse_inquiry(inquirer, TOO_MANY.to_owned());
        }
        let known: Vec<_> = agents.iter().map(|slot| self.known(slot)).collect();
        let check = match check {
            CheckWish::Run => self.checker().map(|checker| (checker, self.quarters())),
            CheckWish::Skip => None,
        };
        self.shared.jobs.spawn(async move {
            JobDone::Compared { inquirer, rows: inspect::compare(known, check).await.into() }
        });
    }

    pub(in crate::session) fn on_compared(
        &mut self,
        inquirer: Inquirer<Arc<[ComparisonRow]>>,
        rows: Arc<[ComparisonRow]>,
    ) {
        self.results.looked();
        match inquirer {
            Inquirer::Caller(reply) => drop(reply.send(Ok(rows))),
            Inquirer::Socket(asker) | Inquirer::Typed { asker, .. } => {
                self.sockets.tell_knowing(Channel::Chat, &Signal::Compared { rows });
                self.shared.record_for(asker, Step::default());
            }
        }
    }

    pub(in crate::session) fn show_diff(
        &mut self,
        inquirer: Inquirer<Arc<DiffNote>>,
        agent: AgentSlot,
        path: Option<String>,
    ) {
        if !self.results.may_look() {
            return self.refuse_inquiry(inquirer, TOO_MANY.to_owned());
        }
        let wish = self.wish(agent);
        self.shared.jobs.spawn(async move {
            JobDone::Diffed { inquirer, diff: inspect::diff(wish, path).await }
        });
    }

    pub(in crate::session) fn on_diffed(
        &mut self,
        inquirer: Inquirer<Arc<DiffNote>>,
        diff: Result<DiffNote, String>,
    ) {
        self.results.looked();
        let diff = diff.map_err(|reason| Problem::NoChoice { reason });
        match (inquirer, diff) {
            (Inquirer::Caller(reply), diff) => drop(reply.send(diff.map(Arc::new))),
            (Inquirer::Socket(asker) | Inquirer::Typed { asker, .. }, Ok(diff)) => {
                let channel = Channel::Agent(diff.agent);
                let signal = Signal::Diff(Arc::new(inspect::shortened(diff, SHOWN_DIFF)));
                self.sockets.tell_knowing(channel, &signal);
                self.shared.record_for(asker, Step::default());
            }
            (Inquirer::Socket(asker) | Inquirer::Typed { asker, .. }, Err(problem)) => {
                self.refuse(asker, problem);
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
        let lane = &mut self.lanes[agent];
        if !lane.is_idle() {
            let reason = "the agent is at work; stop it or wait, then try again".to_owned();
            return self.refuse_inquiry(inquirer, reason);
        }
        lane.hold();
        if let Some(request) = inquirer.request() {
            self.commands.begin_choice(request.clone());
        }
        let (wish, others) = (self.wish(agent), self.project_use());
        self.shared.jobs.spawn(async move {
            let kind = choice.kind();
            let carried = inspect::choose(wish, choice, others).await;
            JobDone::Chosen { inquirer, agent, kind, carried }
        });
    }

    /// Whether agents work in the shared project. A run without a known workplace may do so, too.
    fn project_use(&self) -> ProjectUse {
        let in_project = |lane: &Lane| {
            let place = lane.current.as_ref().map(|current| current.place);
            matches!(lane.channel, Channel::Agent(_))
                && place.is_some_and(|place| place != Some(PlaceKind::Worktree))
        };
        if self.lanes.iter().any(in_project) { ProjectUse::Busy } else { ProjectUse::Quiet }
    }

    /// The gateway stops: choices under way are finished and stored, within the timeout.
    pub(in crate::session) async fn finish_choices(&mut self) {
        let until = Instant::now() + LAST_CHOICES;
        while self.lanes.iter().any(Lane::is_held) {
            match timeout_at(until, self.shared.jobs.join_next()).await {
                Ok(Some(Ok(done @ JobDone::Chosen { .. }))) => self.on_job(done),
                Ok(Some(_)) => {}
                Ok(None) | Err(_) => break,
            }
        }
    }

    pub(super) fn refuse_inquiry<T>(&mut self, inquirer: Inquirer<T>, reason: String) {
        let problem = Problem::NoChoice { reason };
        match inquirer {
            Inquirer::Caller(reply) => drop(reply.send(Err(problem))),
            Inquirer::Socket(asker) => self.refuse(asker, problem),
            Inquirer::Typed { asker, pane } => {
                let mut step = Step::default();
                if let Problem::NoChoice { reason } = &problem {
                    let told = Notice::NotChosen { reason: reason.clone() };
                    self.shared.append(&mut step, pane, Event::Notice(told));
                }
                self.shared.journal.record(step);
                self.refuse(asker, problem);
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
        self.lanes[lane_id].let_go();
        if kind != ChoiceKind::Accept {
            // What the agent has open may be gone; it comes back with its conversation.
            self.lanes[lane_id].cut();
        }
        let again = self.sent_again(&inquirer);
        let mut step = Step::default();
        match carried {
            Ok(Carried { outcome, touched }) => {
                let chosen = Chosen { agent, project: Some(self.project()), kind, outcome };
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
                self.refuse_inquiry(inquirer, reason);
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
            self.results.settle(chosen.agent);
        }
        match touched {
            PlaceKind::Shared => {
                let channel = Channel::Agent(chosen.agent);
                self.tell_changes(step, channel, files.clone(), PlaceKind::Shared);
            }
            PlaceKind::Worktree => {}
        }
    }

    /// The project's name in stored summaries.
    fn project(&self) -> String {
        project_name(&self.shared.env.files)
    }

    pub(super) fn wish(&self, slot: AgentSlot) -> SiteWish {
        SiteWish::new(&self.shared.env, &self.shared.id, slot, &self.shared.settings)
    }

    /// What a comparison says about an agent before its files are looked at.
    fn known(&self, slot: AgentSlot) -> Known {
        let current = self.lanes[slot].current.as_ref();
        let last = self.results.last(slot);
        let mut own = self.results.spent(slot);
        let mut shared = Spent::default();
        // Files of a run in the shared project are known only at its end.
        let told = last.filter(|last| current.is_none() && last.place != Some(PlaceKind::Worktree));
        match (current, told) {
            (Some(current), _) => {
                let (seconds, usage) = (current.started.elapsed().as_secs_f64(), &current.usage);
                if current.place != Some(PlaceKind::Shared) {
                    own.add(seconds, usage.as_ref());
                }
                if current.place != Some(PlaceKind::Worktree) {
                    shared.add(seconds, usage.as_ref());
                }
            }
            (None, Some(last)) => shared.add(last.seconds, last.usage.as_ref()),
            (None, None) => {}
        }
        let files = told.map_or(&[][..], |summary| &summary.files);
        let touched = self.results.touched(slot);
        let row = ComparisonRow {
            agent: slot,
            name: self.shared.settings.agents[slot].name.clone(),
            place: PlaceKind::Shared,
            run: current.map(|current| current.run.id).or(last.map(|summary| summary.run)),
            outcome: last.filter(|_| current.is_none()).map(|summary| summary.outcome),
            seconds: shared.seconds,
            usage: shared.usage,
            files: files.len(),
            added: inspect::lines(files, |file| file.added),
            removed: inspect::lines(files, |file| file.removed),
            check: None,
            overlaps: self.results.overlaps(slot, touched),
            left_out: Vec::new(),
            version: None,
            problem: None,
        };
        Known { wish: self.wish(slot), row, own }
    }
}
