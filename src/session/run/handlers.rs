//! Runs from their request to their end, and what the other rooms have to do with it: a run is approved, gets a
//! workplace, is backed up, and is reported to the chat and the live model.

use super::activity;
use super::current::{Ending, FinishedRun, Requester, Waiting};
use super::ending::tell_end;
use super::inspection::Inspected;
use super::lane::{LaneOutput, Stop};
use super::lanes::LaneId;
use super::progress::Rest;
use super::report::report;
use super::restart::{give_up_project, interrupt};
use crate::assistant;
use crate::message::{
    AgentSet, AgentState, AnswerNote, CancelScope, Channel, Event, FileNote, Notice, PlaceKind,
    Problem, ReportStage, Run, RunId, RunOrigin,
};
use crate::provider::agent::AgentOutput;
use crate::session::actor::Session;
use crate::session::chat::slash::{self, Slash};
use crate::session::chat::turn::{self, TurnOutput};
use crate::session::job::Asker;
use crate::session::journal::{Effect, Step};
use crate::session::tools;
use crate::session::workplace::run_backup;
use crate::store::{Change, RunState};
use tokio::time::Instant;

/// Pieces of output that share one write.
const OUTPUT_BATCH: usize = 64;

impl Session {
    /// A text typed in the pane where its answer appears.
    pub(in crate::session) fn run_from_pane(
        &mut self,
        asker: Asker,
        channel: Channel,
        text: String,
    ) {
        if let Some(slash) = Slash::parse(channel, &text) {
            return self.on_slash(asker, slash, text);
        }
        if channel == Channel::Chat && self.tools.is_locked() {
            return self.refuse(asker, Problem::Locked);
        }
        let Some(asker) = self.room_or_refuse(asker, channel) else { return };
        let mut step = Step::default();
        let attachments = self.commands.take_recent_files(channel);
        let shown = Event::UserText { text: text.clone(), attachments: attachments.clone() };
        self.shared.append(&mut step, channel, shown);
        let requester = self.requester(&asker);
        self.enqueue(&mut step, requester, channel, RunOrigin::Pane, text, attachments);
        if let Channel::Agent(slot) = channel {
            self.approvals.remind(&mut self.shared, &mut step, channel, slot);
        }
        self.shared.record_for(asker, step);
    }

    /// A command of the user in the chat: it is answered without a model.
    fn on_slash(&mut self, asker: Asker, slash: Slash, text: String) {
        let locale = self.shared.env.language.get();
        let mut step = Step::default();
        let said = Event::UserText { text, attachments: Vec::new() };
        self.shared.append(&mut step, Channel::Chat, said);
        let settings = &self.shared.settings;
        let answer = match slash {
            Slash::Help => slash::help(locale),
            Slash::Tools => slash::tools(locale, settings),
            Slash::Status => {
                let state = match (self.tools.is_locked(), self.runs.current(LaneId::Chat)) {
                    (true, _) => "locked",
                    (false, Some(_)) => "busy",
                    (false, None) => "idle",
                };
                slash::status(locale, settings, self.runs.waiting(LaneId::Chat), state)
            }
            Slash::Cancel => {
                self.shared.record_changes(step);
                return self.cancel_run(asker, Channel::Chat, CancelScope::Current);
            }
            Slash::Reset => {
                self.tools.unlock();
                step.changes.push(Change::Locked(false));
                self.shared.append(&mut step, Channel::Chat, Event::Notice(Notice::Reset));
                return self.shared.record_for(asker, step);
            }
        };
        let answer = Event::Text { text: answer, run: None, note: AnswerNote::default() };
        self.shared.append(&mut step, Channel::Chat, answer);
        self.shared.record_for(asker, step);
    }

    /// A text typed in the chat and meant for agents.
    pub(in crate::session) fn run_from_chat(
        &mut self,
        asker: Asker,
        agents: AgentSet,
        text: String,
    ) {
        let Some(asker) = self.room_for_all(asker, agents) else { return };
        let mut step = Step::default();
        let attachments = self.commands.take_recent_files(Channel::Chat);
        let requester = self.requester(&asker);
        self.request_each(&mut step, requester, agents, &text, &attachments);
        self.shared.append(&mut step, Channel::Chat, Event::UserText { text, attachments });
        agents.iter().for_each(|slot| {
            self.approvals.remind(&mut self.shared, &mut step, Channel::Chat, slot)
        });
        self.shared.record_for(asker, step);
    }

    pub(in crate::session) fn request_runs(&mut self, asker: Asker, agents: AgentSet, text: &str) {
        let Some(asker) = self.room_for_all(asker, agents) else { return };
        let mut step = Step::default();
        let requester = self.requester(&asker);
        self.request_each(&mut step, requester, agents, text, &[]);
        self.shared.record_for(asker, step);
    }

    /// Sends one request to each agent, with the files sent for all of them and the files sent to its own pane.
    pub(in crate::session) fn request_each(
        &mut self,
        step: &mut Step,
        requester: Requester,
        agents: AgentSet,
        text: &str,
        shared: &[String],
    ) {
        for channel in agents.iter().map(Channel::Agent) {
            let mut attachments = shared.to_vec();
            attachments.extend(self.commands.take_recent_files(channel));
            let shown = attachments.clone();
            let request = Event::UserRequest { text: text.to_owned(), attachments: shown };
            self.shared.append(step, channel, request);
            self.enqueue(
                step,
                requester,
                channel,
                RunOrigin::Request,
                text.to_owned(),
                attachments,
            );
        }
    }

    fn requester(&self, asker: &Asker) -> Requester {
        Requester { order: asker.order, address: self.sockets.address(asker.connection) }
    }

    /// All agents or none: the results of a request that reached only some could not be compared.
    fn room_for_all(&mut self, asker: Asker, agents: AgentSet) -> Option<Asker> {
        agents
            .iter()
            .try_fold(asker, |asker, slot| self.room_or_refuse(asker, Channel::Agent(slot)))
    }

    /// Refuses before anything is shown, so that a refused request leaves no trace.
    fn room_or_refuse(&mut self, asker: Asker, channel: Channel) -> Option<Asker> {
        let waiting = LaneId::of(channel).map_or(0, |lane_id| self.runs.lanes[lane_id].queue.len());
        if waiting < self.shared.env.config.limits.queue_per_channel {
            return Some(asker);
        }
        self.refuse(asker, Problem::QueueFull { waiting });
        None
    }

    fn enqueue(
        &mut self,
        step: &mut Step,
        requester: Requester,
        channel: Channel,
        origin: RunOrigin,
        text: String,
        attachments: Vec<String>,
    ) {
        let Some(lane_id) = LaneId::of(channel) else { return };
        self.runs.last_run += 1;
        let run = Run { id: RunId(self.runs.last_run), channel, origin, text, attachments };
        let Requester { order, address } = requester;
        if self.commands.is_cancelled(channel, order) {
            return self.shared.append(
                step,
                channel,
                Event::Notice(Notice::QueuedCancelled { run: run.id }),
            );
        }
        if self.runs.lanes[lane_id].is_idle() {
            let waiting = Waiting { run, order, asked: Instant::now(), address };
            return self.start(step, lane_id, waiting);
        }
        let notice =
            Notice::Queued { run: run.id, place: self.runs.lanes[lane_id].queue.len() + 1 };
        step.changes.push(Change::Run(run.clone(), RunState::Waiting));
        let waiting = Waiting { run, order, asked: Instant::now(), address };
        self.runs.lanes[lane_id].queue.push_back(waiting);
        self.shared.append(step, channel, Event::Notice(notice));
    }

    pub(in crate::session) fn start_next(&mut self, step: &mut Step, lane_id: LaneId) {
        if self.runs.lanes[lane_id].is_free()
            && let Some(waiting) = self.runs.lanes[lane_id].queue.pop_front()
        {
            self.start(step, lane_id, waiting);
        }
    }

    fn start(&mut self, step: &mut Step, lane_id: LaneId, waiting: Waiting) {
        self.shared.requesters[lane_id] = waiting.address;
        let run = &waiting.run;
        step.changes.push(Change::Run(run.clone(), RunState::Running));
        if let Channel::Agent(agent) = run.channel
            && run.origin == RunOrigin::Request
        {
            let stage = ReportStage::Started { request: run.text.clone() };
            report(&mut self.shared, &self.voice, step, agent, stage);
        }
        self.shared.append(step, run.channel, Event::RunStarted(run.id));
        self.approvals.reset_breaker(lane_id);
        step.effects.push(Effect::Begin { channel: run.channel, run: run.id });
        self.shared.env.metrics.run_started();
        self.runs.lanes[lane_id].take(waiting);
    }

    /// The run is stored: now its worker may begin. An agent's workplace is prepared and backed up first.
    pub(in crate::session) fn begin(&mut self, channel: Channel, run: RunId) {
        match channel {
            Channel::Agent(slot) if self.runs.lanes[slot].works_on_project() => {
                self.workplaces.prepare(&mut self.shared, &mut self.runs, slot, run)
            }
            Channel::Agent(_) | Channel::Chat | Channel::Audio | Channel::Input | Channel::File => {
                self.launch(channel, run)
            }
        }
    }

    pub(in crate::session) fn launch(&mut self, channel: Channel, run: RunId) {
        let Some(lane_id) = LaneId::of(channel) else { return };
        self.on_state(lane_id, AgentState::Thinking);
        let shown = self.runs.lanes[lane_id]
            .current
            .as_ref()
            .map_or(&[][..], |current| &current.run.attachments);
        let stored = shown
            .iter()
            .filter_map(|path| self.shared.env.files.stored(&self.shared.principal, path))
            .collect();
        let upto = self.sockets.published(channel);
        let upto_in_chat = self.sockets.published(Channel::Chat);
        let (key, principal) = (self.shared.key, self.shared.principal.clone());
        let session = self.shared.id.clone();
        let place = turn::Place { key, principal, session, channel, upto, upto_in_chat };
        let env = &self.shared.env;
        let ask = |assistant: &'static _, config: &_, question| {
            turn::begin(env, place, assistant, config, question)
        };
        let resume = self.runs.conversations.of(&self.runs.lanes[lane_id]);
        let tools = assistant::tools(&tools::names(&self.shared.settings.tools));
        if !self.runs.lanes[lane_id].begin(run, stored, resume, tools, ask) {
            let mut step = Step::default();
            self.end_run(
                &mut step,
                lane_id,
                Ending::Failed("the worker does not start".to_owned()),
            );
            self.shared.journal.record(step);
        }
    }

    pub(in crate::session) fn on_output(&mut self, lane_id: LaneId, output: LaneOutput) {
        let mut step = Step::default();
        self.absorb(&mut step, lane_id, output);
        for _ in 1..OUTPUT_BATCH {
            let Some(output) = self.runs.lanes[lane_id].more_output() else { break };
            self.absorb(&mut step, lane_id, output);
        }
        self.runs.pass_on(&mut step, lane_id, Rest::Kept);
        self.record(step);
    }

    fn absorb(&mut self, step: &mut Step, lane_id: LaneId, output: LaneOutput) {
        match output {
            LaneOutput::Turn(TurnOutput::Piece(text)) => {
                self.runs.lengthen_answer(&mut self.shared, step, lane_id, &text)
            }
            LaneOutput::Turn(TurnOutput::Picture(bytes)) => {
                self.runs.keep_picture(&mut self.shared, lane_id, bytes)
            }
            LaneOutput::Turn(TurnOutput::Call(call)) => self.on_turn_call(step, lane_id, call),
            LaneOutput::Turn(TurnOutput::Work(work)) => {
                self.runs.tell(&mut self.shared, step, lane_id, Event::Work(*work));
            }
            LaneOutput::Turn(TurnOutput::Line(line)) => {
                self.runs.tell_line(&mut self.shared, step, lane_id, line);
            }
            LaneOutput::Turn(TurnOutput::Done { cut_off }) => {
                if let Some(current) = &mut self.runs.lanes[lane_id].current {
                    current.cut_off = cut_off;
                }
                self.end_run(step, lane_id, Ending::Finished);
            }
            LaneOutput::Turn(TurnOutput::Failed(reason)) => {
                self.end_run(step, lane_id, Ending::Failed(reason));
            }
            LaneOutput::Agent(output) => self.absorb_agent(step, lane_id, output),
            LaneOutput::Lost => self.on_lost_worker(step, lane_id),
        }
    }

    fn absorb_agent(&mut self, step: &mut Step, lane_id: LaneId, output: AgentOutput) {
        let Channel::Agent(slot) = self.runs.lanes[lane_id].channel else { return };
        match output {
            AgentOutput::Answer(text) => {
                self.runs.end_thought(&mut self.shared, step, lane_id);
                self.runs.lengthen_answer(&mut self.shared, step, lane_id, &text);
            }
            AgentOutput::WholeAnswer(text) => {
                self.runs.take_answer(&mut self.shared, step, lane_id, &text)
            }
            AgentOutput::Line(line) => self.runs.tell_line(&mut self.shared, step, lane_id, line),
            AgentOutput::Note(text) => {
                let line = self.shared.env.language.get().word(&text);
                self.runs.tell_line(&mut self.shared, step, lane_id, line);
            }
            AgentOutput::Thought(text) => {
                self.runs.lengthen_thought(&mut self.shared, step, lane_id, &text);
            }
            AgentOutput::Tool(tool) => {
                self.runs.end_thought(&mut self.shared, step, lane_id);
                self.runs.pass_on(step, lane_id, Rest::Told);
                let note =
                    activity::note(&self.shared, &tool, self.approvals.is_ungated(lane_id, &tool));
                self.runs.tell_tool(&mut self.shared, step, lane_id, note);
                if self.approvals.on_tool(&mut self.shared, &mut self.runs, step, lane_id, &tool) {
                    self.stop_lane(step, lane_id);
                }
            }
            AgentOutput::Plan(steps) => {
                self.runs.tell(&mut self.shared, step, lane_id, Event::Plan(steps))
            }
            AgentOutput::Ask(ask) => {
                self.approvals.on_ask(&mut self.shared, &mut self.runs, step, lane_id, ask)
            }
            AgentOutput::Usage(usage) => {
                let own = self.runs.lanes[lane_id].meter.read(&usage);
                if self.approvals.on_tokens(lane_id, own.used) {
                    self.stop_lane(step, lane_id);
                }
                self.runs.on_usage(&mut self.sockets, slot, usage, own);
            }
            AgentOutput::Opened { session, .. } => {
                let news = self.runs.conversations.note(&self.runs.lanes[lane_id], session);
                step.changes.extend(news.map(Change::Conversation));
            }
            AgentOutput::State(state) => self.on_state(slot, state),
            AgentOutput::Mode(_) => {}
            AgentOutput::Picture(bytes) => self.runs.keep_picture(&mut self.shared, lane_id, bytes),
            AgentOutput::FileMade(path) => self.runs.describe(&mut self.shared, lane_id, path),
            AgentOutput::FilesChanged(paths) => {
                if let Some(current) = &mut self.runs.lanes[lane_id].current {
                    current.changed.extend(paths);
                }
            }
            AgentOutput::Done(end) => {
                if !self.runs.lanes[lane_id].is_stray(&end) {
                    self.end_run(step, lane_id, end.into());
                }
            }
        }
    }

    fn on_lost_worker(&mut self, step: &mut Step, lane_id: LaneId) {
        let stopping = self.runs.lanes[lane_id].deadline().is_some();
        self.runs.lanes[lane_id].cut();
        let ending = if stopping {
            Ending::Cancelled
        } else {
            Ending::Failed("the worker ended unexpectedly".to_owned())
        };
        self.end_run(step, lane_id, ending);
    }

    pub(in crate::session) fn on_described(
        &mut self,
        channel: Channel,
        run: RunId,
        note: FileNote,
    ) {
        let Some(lane_id) = LaneId::of(channel) else { return };
        let mut step = Step::default();
        let described = self.runs.end_description(&mut self.shared, &mut step, lane_id, run, note);
        if let Inspected::Ends(ending) = described {
            self.end_run(&mut step, lane_id, ending);
        }
        self.shared.record_changes(step);
    }

    /// A run is over when the files it made and changed have been looked at.
    pub(in crate::session) fn end_run(&mut self, step: &mut Step, lane_id: LaneId, ending: Ending) {
        self.runs.pass_on(step, lane_id, Rest::Kept);
        let ending = self.approvals.why_ended(&self.shared, lane_id, ending);
        self.void_confirmations(step, lane_id);
        self.approvals.close_tools(&mut self.shared, &mut self.runs, step, lane_id);
        self.drop_calls_of_run(step, lane_id);
        run_backup::conclude(&mut self.shared, &mut self.runs, lane_id);
        if let Some(current) = &mut self.runs.lanes[lane_id].current
            && current.looking > 0
        {
            current.ending = Some(ending);
            return;
        }
        self.runs.end_thought(&mut self.shared, step, lane_id);
        let Some(mut done) = self.runs.lanes[lane_id].release() else { return };
        if let LaneId::Agent(slot) = lane_id {
            self.choose_agent(slot);
        }
        let run = done.run.clone();
        step.changes.push(Change::RunOver(run.id));
        self.shared.env.metrics.run_ended(ending.outcome());
        let place = done.place.unwrap_or(PlaceKind::Shared);
        let files = done.files.files.len();
        self.on_state(lane_id, AgentState::WaitingForInput);
        if let Channel::Agent(slot) = run.channel {
            let finished = FinishedRun::of(&mut done);
            self.workplaces.sum_up(&mut self.shared, step, slot, finished, ending.outcome());
        }
        self.shared.append(step, run.channel, Event::RunEnded(ending.outcome()));
        if run.origin == RunOrigin::Request {
            self.on_agent_answer(step, run.id, ending.answer(&done.answer));
        }
        tell_end(&mut self.shared, &self.voice, step, done, place, files, ending);
        self.start_next(step, lane_id);
    }

    /// Takes a cancel in any phase of a run. Runs that were requested after the cancel go on.
    pub(in crate::session) fn cancel_run(
        &mut self,
        asker: Asker,
        channel: Channel,
        scope: CancelScope,
    ) {
        let Some(lane_id) = LaneId::of(channel) else { return };
        let mut step = Step::default();
        self.shared.append(&mut step, channel, Event::CancelTaken);
        let waiting =
            self.runs.drop_waiting(&mut self.shared, &mut step, lane_id, scope, asker.order);
        let current = self.runs.lanes[lane_id].current.as_ref();
        let running =
            current.filter(|current| current.order < asker.order).map(|current| current.run.id);
        let wanted = match scope {
            CancelScope::Current | CancelScope::All => running.is_some(),
            CancelScope::One(run) => running == Some(run),
        };
        if wanted {
            self.stop_lane(&mut step, lane_id);
        } else if !wanted && waiting == 0 {
            self.shared.append(&mut step, channel, Event::Notice(Notice::NothingToCancel));
        }
        self.shared.record_for(asker, step);
    }

    /// From now on nobody can say yes to what the run still waited for, however long it takes to stop.
    pub(in crate::session) fn stop_lane(&mut self, step: &mut Step, lane_id: LaneId) {
        self.void_confirmations(step, lane_id);
        if self.runs.lanes[lane_id].stop() == Stop::Done {
            self.end_run(step, lane_id, Ending::Cancelled);
        } else {
            self.on_state(lane_id, AgentState::Stopping);
        }
    }

    /// Cuts the links of workers that missed the stop deadline, which ends everything they started.
    pub(in crate::session) fn on_stop_deadline(&mut self) {
        let now = Instant::now();
        let mut step = Step::default();
        for lane_id in LaneId::ALL {
            if self.runs.lanes[lane_id].deadline().is_some_and(|deadline| deadline <= now) {
                self.runs.lanes[lane_id].cut();
                self.end_run(&mut step, lane_id, Ending::Cancelled);
            }
        }
        self.shared.record_changes(step);
    }

    pub(in crate::session) fn on_state(&mut self, lane: impl Into<LaneId>, state: AgentState) {
        let lane = lane.into();
        // An agent also waits while the gate decides by the rules alone; that is over before anybody could see it.
        if state != AgentState::WaitingForConfirmation || self.approvals.asks_user(lane) {
            self.runs.on_state(&mut self.sockets, lane, state);
        }
    }

    /// Announces interrupted runs and starts the queued ones. Requests to agents were meant for the session's project.
    /// If that project is `lost`, they are interrupted too, because nobody wants them carried out in another one.
    pub(in crate::session) fn take_up(
        &mut self,
        cut_off: Vec<Run>,
        waiting: Vec<Run>,
        lost: Option<String>,
    ) {
        let mut step = Step::default();
        cut_off
            .into_iter()
            .for_each(|run| interrupt(&mut self.shared, &self.voice, &mut step, run));
        let is_astray = |run: &Run| lost.is_some() && matches!(run.channel, Channel::Agent(_));
        let (astray, waiting): (Vec<Run>, Vec<Run>) = waiting.into_iter().partition(is_astray);
        if let Some(project) = lost {
            give_up_project(&mut self.shared, &mut step, &project, &astray);
        }
        astray.into_iter().for_each(|run| interrupt(&mut self.shared, &self.voice, &mut step, run));
        for run in waiting {
            self.runs.queue_again(run);
        }
        for lane_id in LaneId::ALL {
            self.start_next(&mut step, lane_id);
        }
        self.shared.record_changes(step);
    }
}
