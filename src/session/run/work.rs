//! Runs: how requests are queued, start, produce output, end and are cancelled.

use super::current::{Ending, Waiting};
use super::lane::{LaneOutput, Stop};
use super::lanes::LaneId;
use super::progress;
use super::progress::Rest;
use crate::message::{
    AgentReport, AgentSet, AgentSlot, AgentState, CancelScope, Channel, Event, FileNote, Notice,
    PlaceKind, Problem, ReportStage, Run, RunId, RunOrigin,
};
use crate::provider::agent::AgentOutput;
use crate::provider::chat::{ChatOutput, DoneReason};
use crate::provider::live::LiveInput;
use crate::session::actor::Session;
use crate::session::chat::turn;
use crate::session::job::{self, Asker};
use crate::session::journal::{Effect, Step};
use crate::store::{Change, RunState};
use bytes::Bytes;
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
        let Some(asker) = self.room_or_refuse(asker, channel) else { return };
        let mut step = Step::default();
        let attachments = self.recent.take(channel);
        let shown = Event::UserText { text: text.clone(), attachments: attachments.clone() };
        self.append(&mut step, channel, shown);
        self.enqueue(&mut step, asker.order, channel, RunOrigin::Pane, text, attachments);
        if let Channel::Agent(slot) = channel {
            self.remind(&mut step, channel, slot);
        }
        self.record_for(asker, step);
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
        let attachments = self.recent.take(Channel::Chat);
        self.request_each(&mut step, asker.order, agents, &text, &attachments);
        self.append(&mut step, Channel::Chat, Event::UserText { text, attachments });
        agents.iter().for_each(|slot| self.remind(&mut step, Channel::Chat, slot));
        self.record_for(asker, step);
    }

    pub(in crate::session) fn request_runs(&mut self, asker: Asker, agents: AgentSet, text: &str) {
        let Some(asker) = self.room_for_all(asker, agents) else { return };
        let mut step = Step::default();
        self.request_each(&mut step, asker.order, agents, text, &[]);
        self.record_for(asker, step);
    }

    /// Sends one request to each agent, with the files sent for all of them and the files sent to its own pane.
    pub(in crate::session) fn request_each(
        &mut self,
        step: &mut Step,
        order: u64,
        agents: AgentSet,
        text: &str,
        shared: &[String],
    ) {
        for channel in agents.iter().map(Channel::Agent) {
            let mut attachments = shared.to_vec();
            attachments.extend(self.recent.take(channel));
            let shown = attachments.clone();
            let request = Event::UserRequest { text: text.to_owned(), attachments: shown };
            self.append(step, channel, request);
            self.enqueue(step, order, channel, RunOrigin::Request, text.to_owned(), attachments);
        }
    }

    /// All agents or none: the results of a request that reached only some could not be compared.
    fn room_for_all(&mut self, asker: Asker, agents: AgentSet) -> Option<Asker> {
        agents
            .iter()
            .try_fold(asker, |asker, slot| self.room_or_refuse(asker, Channel::Agent(slot)))
    }

    /// Refuses before anything is shown, so that a refused request leaves no trace.
    fn room_or_refuse(&mut self, asker: Asker, channel: Channel) -> Option<Asker> {
        let waiting = LaneId::of(channel).map_or(0, |lane_id| self.lanes[lane_id].queue.len());
        if waiting < self.env.config.limits.queue_per_channel {
            return Some(asker);
        }
        self.refuse(asker, Problem::QueueFull { waiting });
        None
    }

    fn enqueue(
        &mut self,
        step: &mut Step,
        order: u64,
        channel: Channel,
        origin: RunOrigin,
        text: String,
        attachments: Vec<String>,
    ) {
        let Some(lane_id) = LaneId::of(channel) else { return };
        self.last_run += 1;
        let run = Run { id: RunId(self.last_run), channel, origin, text, attachments };
        if self.desk.is_cancelled(channel, order) {
            return self.append(
                step,
                channel,
                Event::Notice(Notice::QueuedCancelled { run: run.id }),
            );
        }
        if self.lanes[lane_id].is_idle() {
            return self.start(step, lane_id, Waiting { run, order });
        }
        let notice = Notice::Queued { run: run.id, place: self.lanes[lane_id].queue.len() + 1 };
        step.changes.push(Change::Run(run.clone(), RunState::Waiting));
        self.lanes[lane_id].queue.push_back(Waiting { run, order });
        self.append(step, channel, Event::Notice(notice));
    }

    pub(in crate::session) fn start_next(&mut self, step: &mut Step, lane_id: LaneId) {
        if self.lanes[lane_id].is_free()
            && let Some(waiting) = self.lanes[lane_id].queue.pop_front()
        {
            self.start(step, lane_id, waiting);
        }
    }

    fn start(&mut self, step: &mut Step, lane_id: LaneId, waiting: Waiting) {
        let run = &waiting.run;
        step.changes.push(Change::Run(run.clone(), RunState::Running));
        if let Channel::Agent(agent) = run.channel {
            if run.origin == RunOrigin::Request {
                self.report(step, agent, ReportStage::Started { request: run.text.clone() });
            }
            self.append(step, run.channel, Event::RunStarted(run.id));
        }
        self.reset_breaker(lane_id);
        step.effects.push(Effect::Begin { channel: run.channel, run: run.id });
        self.env.metrics.run_started();
        self.lanes[lane_id].take(waiting);
    }

    /// The run is stored: now its worker may begin. An agent's workplace is prepared and backed up first.
    pub(in crate::session) fn begin(&mut self, channel: Channel, run: RunId) {
        match channel {
            Channel::Agent(slot) if self.lanes[slot].works_on_project() => self.prepare(slot, run),
            Channel::Agent(_) | Channel::Chat | Channel::Audio | Channel::Input | Channel::File => {
                self.launch(channel, run)
            }
        }
    }

    pub(in crate::session) fn launch(&mut self, channel: Channel, run: RunId) {
        let Some(lane_id) = LaneId::of(channel) else { return };
        if let Channel::Agent(slot) = channel {
            self.on_state(slot, AgentState::Thinking);
        }
        let shown = self.lanes[lane_id]
            .current
            .as_ref()
            .map_or(&[][..], |current| &current.run.attachments);
        let stored =
            shown.iter().filter_map(|path| self.env.files.stored(&self.principal, path)).collect();
        let upto = self.audience.published(Channel::Chat);
        let place = turn::Place { key: self.key, principal: self.principal.clone(), upto };
        let env = &self.env;
        let ask = |assistant: &'static _, config: &_, request| {
            turn::ask(env, place, assistant, config, request)
        };
        let resume = self.conversations.of(&self.lanes[lane_id]);
        if !self.lanes[lane_id].begin(run, stored, resume, ask) {
            let mut step = Step::default();
            self.end_run(
                &mut step,
                lane_id,
                Ending::Failed("the worker does not start".to_owned()),
            );
            self.journal.record(step);
        }
    }

    pub(in crate::session) fn on_output(&mut self, lane_id: LaneId, output: LaneOutput) {
        let mut step = Step::default();
        self.absorb(&mut step, lane_id, output);
        for _ in 1..OUTPUT_BATCH {
            let Some(output) = self.lanes[lane_id].more_output() else { break };
            self.absorb(&mut step, lane_id, output);
        }
        self.pass_on(&mut step, lane_id, Rest::Kept);
        self.record(step);
    }

    fn absorb(&mut self, step: &mut Step, lane_id: LaneId, output: LaneOutput) {
        match output {
            LaneOutput::Chat(ChatOutput::Delta(text)) => self.lengthen_answer(step, lane_id, &text),
            LaneOutput::Chat(ChatOutput::Image { bytes, .. }) => self.keep_picture(lane_id, bytes),
            // No tools are offered, and tokens are counted where the turn runs.
            LaneOutput::Chat(ChatOutput::ToolCall(_) | ChatOutput::Usage(_)) => {}
            LaneOutput::Chat(ChatOutput::Done { reason }) => {
                if let Some(current) = &mut self.lanes[lane_id].current {
                    current.cut_off = reason == DoneReason::Length;
                }
                self.end_run(step, lane_id, Ending::Finished);
            }
            LaneOutput::Chat(ChatOutput::Failed(error)) => {
                self.end_run(step, lane_id, Ending::Failed(error.to_string()));
            }
            LaneOutput::Agent(output) => self.absorb_agent(step, lane_id, output),
            LaneOutput::Lost => self.on_lost_worker(step, lane_id),
        }
    }

    fn absorb_agent(&mut self, step: &mut Step, lane_id: LaneId, output: AgentOutput) {
        let Channel::Agent(slot) = self.lanes[lane_id].channel else { return };
        match output {
            AgentOutput::Answer(text) => {
                self.end_thought(step, lane_id);
                self.lengthen_answer(step, lane_id, &text);
            }
            AgentOutput::WholeAnswer(text) => self.take_answer(step, lane_id, &text),
            AgentOutput::Line(line) => self.tell_line(step, lane_id, line),
            AgentOutput::Note(text) => {
                self.tell_line(step, lane_id, self.env.language.get().word(&text));
            }
            AgentOutput::Thought(text) => {
                if let Some(current) = &mut self.lanes[lane_id].current {
                    current.thought.push_str(&text);
                    for line in progress::whole_lines(&mut current.thought) {
                        self.tell_line(step, lane_id, line);
                    }
                }
            }
            AgentOutput::Tool(tool) => {
                self.end_thought(step, lane_id);
                self.pass_on(step, lane_id, Rest::Told);
                self.tell_tool(step, lane_id, &tool);
                self.on_tool(step, lane_id, &tool);
            }
            AgentOutput::Plan(steps) => self.tell(step, lane_id, Event::Plan(steps)),
            AgentOutput::Ask(ask) => self.on_ask(step, lane_id, ask),
            AgentOutput::Usage(usage) => {
                let own = self.lanes[lane_id].meter.read(&usage);
                self.on_tokens(step, lane_id, own.used);
                self.on_usage(lane_id, slot, usage, own);
            }
            AgentOutput::Opened { session, .. } => {
                let news = self.conversations.note(&self.lanes[lane_id], session);
                step.changes.extend(news.map(Change::Conversation));
            }
            AgentOutput::State(state) => self.on_state(slot, state),
            AgentOutput::Mode(_) => {}
            AgentOutput::Picture(bytes) => self.keep_picture(lane_id, bytes),
            AgentOutput::FileMade(path) => self.describe(lane_id, path),
            AgentOutput::FilesChanged(paths) => {
                if let Some(current) = &mut self.lanes[lane_id].current {
                    current.changed.extend(paths);
                }
            }
            AgentOutput::Done(end) => {
                if !self.lanes[lane_id].is_stray(&end) {
                    self.end_run(step, lane_id, end.into());
                }
            }
        }
    }

    fn on_lost_worker(&mut self, step: &mut Step, lane_id: LaneId) {
        let stopping = self.lanes[lane_id].deadline().is_some();
        self.lanes[lane_id].cut();
        let ending = if stopping {
            Ending::Cancelled
        } else {
            Ending::Failed("the worker ended unexpectedly".to_owned())
        };
        self.end_run(step, lane_id, ending);
    }

    /// Stores a picture that a model made or an agent shows.
    fn keep_picture(&mut self, lane_id: LaneId, bytes: Bytes) {
        let channel = self.lanes[lane_id].channel;
        let Some(current) = &mut self.lanes[lane_id].current else { return };
        current.looking += 1;
        let (env, principal, run) = (self.env.clone(), self.principal.clone(), current.run.id);
        self.jobs.spawn(job::keep_picture(env, principal, channel, run, bytes));
    }

    /// Looks at a file that a run made.
    fn describe(&mut self, lane_id: LaneId, path: String) {
        let channel = self.lanes[lane_id].channel;
        let Some(current) = &mut self.lanes[lane_id].current else { return };
        // What is made in a place of its own is found there when the run is over.
        if current.before.as_ref().is_some_and(|before| before.site.is_own()) {
            return;
        }
        current.looking += 1;
        let run = current.run.id;
        self.jobs.spawn(job::describe(self.env.clone(), channel, run, path));
    }

    pub(in crate::session) fn on_described(
        &mut self,
        channel: Channel,
        run: RunId,
        note: FileNote,
    ) {
        let mut step = Step::default();
        let Some(lane_id) = LaneId::of(channel) else { return };
        let current = self.lanes[lane_id].current.as_mut();
        match current.filter(|current| current.run.id == run) {
            Some(current) => {
                current.looking -= 1;
                current.add_made(note);
                if let Some(ending) = current.ending.take() {
                    self.end_run(&mut step, lane_id, ending);
                }
            }
            // The run ended meanwhile; its file exists all the same.
            None => self.tell_file(&mut step, channel, note),
        }
        if !step.changes.is_empty() {
            self.journal.record(step);
        }
    }

    fn tell_file(&mut self, step: &mut Step, channel: Channel, note: FileNote) {
        let without_picture = FileNote { thumbnail: None, ..note.clone() };
        self.append(step, channel, Event::FileMade(note));
        self.append(step, Channel::Input, Event::FileMade(without_picture));
    }

    /// A run is over when the files it made and changed have been looked at.
    pub(in crate::session) fn end_run(&mut self, step: &mut Step, lane_id: LaneId, ending: Ending) {
        self.pass_on(step, lane_id, Rest::Kept);
        let ending = self.why_ended(lane_id, ending);
        self.void_confirmations(step, lane_id);
        self.close_tools(step, lane_id);
        self.conclude(lane_id);
        if let Some(current) = &mut self.lanes[lane_id].current
            && current.looking > 0
        {
            current.ending = Some(ending);
            return;
        }
        self.end_thought(step, lane_id);
        let Some(mut done) = self.lanes[lane_id].release() else { return };
        if let LaneId::Agent(slot) = lane_id {
            self.choose_agent(slot);
        }
        let run = done.run.clone();
        step.changes.push(Change::RunOver(run.id));
        self.env.metrics.run_ended(ending.outcome());
        let place = done.place.unwrap_or(PlaceKind::Shared);
        let files = done.files.files.len();
        if let Channel::Agent(slot) = run.channel {
            self.on_state(slot, AgentState::WaitingForInput);
            self.sum_up(step, slot, &mut done, ending.outcome());
            self.append(step, run.channel, Event::RunEnded(ending.outcome()));
        }
        // A stopped chat has said something too: the partial answer is shown before the notice.
        let silent =
            done.answer.is_empty() && (done.in_parts || !matches!(ending, Ending::Finished));
        if !silent {
            let text = done.answer.clone();
            self.append(step, run.channel, Event::Text { text, run: Some(run.id) });
        }
        match &ending {
            Ending::Finished if done.cut_off => {
                self.append(step, run.channel, Event::Notice(Notice::AnswerCut { run: run.id }));
            }
            Ending::Finished => {}
            Ending::Cancelled => {
                self.append(step, run.channel, Event::Notice(Notice::RunCancelled { run: run.id }))
            }
            Ending::Failed(reason) => {
                self.append(
                    step,
                    run.channel,
                    Event::Notice(Notice::RunFailed { run: run.id, reason: reason.clone() }),
                );
            }
        }
        if run.origin == RunOrigin::Request {
            self.answer_request(step, &run, done.answer, ending);
        }
        if place == PlaceKind::Worktree {
            self.tell_copy(step, &run, files);
        }
        self.tell_changes(step, run.channel, done.changed, place);
        for note in done.made {
            self.tell_file(step, run.channel, note);
        }
        self.start_next(step, lane_id);
    }

    /// Tells where the work is and how to accept it, for frontends that show only text.
    fn tell_copy(&mut self, step: &mut Step, run: &Run, files: usize) {
        let Channel::Agent(agent) = run.channel else { return };
        let in_chat = (run.origin == RunOrigin::Request).then_some(Channel::Chat);
        if files > 0 {
            for channel in [run.channel].into_iter().chain(in_chat) {
                self.append(step, channel, Event::Notice(Notice::ChangedInCopy { agent, files }));
            }
        }
    }

    /// Tells the chat and the input channel how a request ended; of a cancelled one only the input channel.
    fn answer_request(&mut self, step: &mut Step, run: &Run, answer: String, ending: Ending) {
        let Channel::Agent(agent) = run.channel else { return };
        let answer = match ending {
            Ending::Finished => answer,
            Ending::Failed(reason) => format!("! {reason}"),
            Ending::Cancelled => return self.report(step, agent, ReportStage::Stopped),
        };
        let answered = Event::RequestAnswered { text: answer.clone(), by: Some(agent) };
        self.append(step, Channel::Chat, answered);
        self.report(step, agent, ReportStage::Finished { request: run.text.clone(), answer });
    }

    /// Tells the input channel, and the live model if it is open.
    pub(super) fn report(&mut self, step: &mut Step, agent: AgentSlot, stage: ReportStage) {
        let report = AgentReport { agent, stage };
        // A live model without room misses the remark; the report itself is stored.
        if self.voice.is_open() && self.voice.has_room() {
            let told = self.env.language.get().report_to_model(&report);
            step.effects.push(Effect::Show(LiveInput::Report(told)));
        }
        self.append(step, Channel::Input, Event::AgentReport(report));
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
        self.append(&mut step, channel, Event::CancelTaken);
        let waiting = self.drop_waiting(&mut step, lane_id, scope, asker.order);
        let current = self.lanes[lane_id].current.as_ref();
        let running =
            current.filter(|current| current.order < asker.order).map(|current| current.run.id);
        let wanted = match scope {
            CancelScope::Current | CancelScope::All => running.is_some(),
            CancelScope::One(run) => running == Some(run),
        };
        if wanted {
            self.stop_lane(&mut step, lane_id);
        } else if !wanted && waiting == 0 {
            self.append(&mut step, channel, Event::Notice(Notice::NothingToCancel));
        }
        self.record_for(asker, step);
    }

    /// From now on nobody can say yes to what the run still waited for, however long it takes to stop.
    pub(in crate::session) fn stop_lane(&mut self, step: &mut Step, lane_id: LaneId) {
        self.void_confirmations(step, lane_id);
        if self.lanes[lane_id].stop() == Stop::Done {
            self.end_run(step, lane_id, Ending::Cancelled);
        } else if let Channel::Agent(slot) = self.lanes[lane_id].channel {
            self.on_state(slot, AgentState::Stopping);
        }
    }

    /// Takes cancelled requests out of the queue and returns how many.
    fn drop_waiting(
        &mut self,
        step: &mut Step,
        lane_id: LaneId,
        scope: CancelScope,
        order: u64,
    ) -> usize {
        let unwanted = |waiting: &Waiting| match scope {
            CancelScope::Current => false,
            CancelScope::One(id) => waiting.run.id == id,
            CancelScope::All => waiting.order < order,
        };
        let queue = std::mem::take(&mut self.lanes[lane_id].queue);
        let (dropped, kept): (Vec<Waiting>, Vec<Waiting>) = queue.into_iter().partition(unwanted);
        self.lanes[lane_id].queue = kept.into();
        for Waiting { run, .. } in &dropped {
            step.changes.push(Change::RunOver(run.id));
            self.append(step, run.channel, Event::Notice(Notice::QueuedCancelled { run: run.id }));
        }
        dropped.len()
    }

    /// Cuts the links of workers that missed the stop deadline, which ends everything they started.
    pub(in crate::session) fn on_stop_deadline(&mut self) {
        let now = Instant::now();
        let mut step = Step::default();
        for lane_id in LaneId::ALL {
            if self.lanes[lane_id].deadline().is_some_and(|deadline| deadline <= now) {
                self.lanes[lane_id].cut();
                self.end_run(&mut step, lane_id, Ending::Cancelled);
            }
        }
        if !step.changes.is_empty() {
            self.journal.record(step);
        }
    }
}
