//! One lane: the current run of a channel, a bounded queue behind it, and the link to the model or agent that works.

use super::current::{Current, Phase, Waiting};
use super::meter::Meter;
use crate::assistant::Assistant;
use crate::message::{AgentSlot, AgentState, Channel, RunId};
use crate::process::Place;
use crate::provider::agent::{
    self, AgentConfig, AgentEnd, AgentInput, AgentLink, AgentOutput, AgentPrompt, AskId, Decision,
};
use crate::provider::chat::{ChatConfig, ToolSpec};
use crate::provider::row::AgentRow;
use crate::session::chat::turn::{Question, TurnLink, TurnOutput};
use crate::session::workplace::site::Changed;
use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::time::Instant;

/// How long an agent may take to stop before its link is cut, which kills it. Three seconds to stop by itself, two for
/// its processes to exit, and some for the kernel.
const STOP_DEADLINE: Duration = Duration::from_secs(7);

#[derive(Debug)]
pub(in crate::session) struct Lane {
    pub(super) channel: Channel,
    pub(super) current: Option<Current>,
    pub(super) queue: VecDeque<Waiting>,
    worker: Worker,
    /// Where its agent works; assistants know no place.
    place: Place,
    /// Since when the worker has been idle.
    free_since: Instant,
    /// Something else uses the agent's workplace; no run starts.
    held: bool,
    /// Late answers that are still due to cancels whose run ended by itself; they must not end the next run.
    stray_cancels: u32,
    pub(super) meter: Meter,
}

#[derive(Debug)]
enum Worker {
    Assistant {
        assistant: &'static Assistant,
        config: ChatConfig,
        turn: Option<TurnLink>,
    },
    /// The link is kept between runs.
    Agent {
        config: AgentConfig,
        link: Option<AgentLink>,
    },
}

/// Who works on a lane, as the settings choose it.
#[derive(Debug)]
pub(in crate::session) enum Chosen {
    Assistant(&'static Assistant, ChatConfig),
    Agent(AgentConfig),
}

impl From<Chosen> for Worker {
    fn from(chosen: Chosen) -> Self {
        match chosen {
            Chosen::Assistant(assistant, config) => {
                Self::Assistant { assistant, config, turn: None }
            }
            Chosen::Agent(config) => Self::Agent { config, link: None },
        }
    }
}

/// Output of a worker.
#[derive(Debug)]
pub(in crate::session) enum LaneOutput {
    Turn(TurnOutput),
    Agent(AgentOutput),
    /// The link closed without a report of the end.
    Lost,
}

/// What a stop has achieved at once.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Stop {
    /// The worker is down; the run is over.
    Done,
    /// The worker was told to stop and will report its end.
    Pending,
}

impl Lane {
    pub(in crate::session) fn chat(assistant: &'static Assistant, config: ChatConfig) -> Self {
        let place = Place::open(Path::new(""));
        Self::new(Channel::Chat, Chosen::Assistant(assistant, config), place)
    }

    pub(in crate::session) fn agent(slot: AgentSlot, chosen: Chosen, place: Place) -> Self {
        Self::new(Channel::Agent(slot), chosen, place)
    }

    fn new(channel: Channel, chosen: Chosen, place: Place) -> Self {
        let free_since = Instant::now();
        Self {
            channel,
            current: None,
            queue: VecDeque::new(),
            worker: chosen.into(),
            place,
            free_since,
            held: false,
            stray_cancels: 0,
            meter: Meter::default(),
        }
    }

    pub(super) fn is_idle(&self) -> bool {
        self.current.is_none() && self.queue.is_empty() && !self.held
    }

    /// Whether the next run may start.
    pub(super) fn is_free(&self) -> bool {
        self.current.is_none() && !self.held
    }

    /// No run starts until [`Lane::let_go`].
    pub(super) fn hold(&mut self) {
        self.held = true;
    }

    pub(super) fn is_held(&self) -> bool {
        self.held
    }

    pub(super) fn let_go(&mut self) {
        self.held = false;
    }

    /// Makes a run the current one; its worker starts with [`Lane::begin`].
    pub(super) fn take(&mut self, waiting: Waiting) {
        let Waiting { run, order, asked, .. } = waiting;
        // An agent that is a new process for each prompt reports its cost from zero each time.
        if matches!(&self.worker, Worker::Agent { config, .. } if !config.goes_on()) {
            self.meter = Meter::default();
        }
        self.meter.begin();
        self.current = Some(Current {
            run,
            order,
            phase: Phase::Starting,
            answer: String::new(),
            cut_off: false,
            fresh: String::new(),
            line: String::new(),
            thought: String::new(),
            changed: Vec::new(),
            tools: VecDeque::new(),
            state: AgentState::Starting,
            usage: None,
            started: Instant::now(),
            asked,
            sources: Vec::new(),
            made: Vec::new(),
            place: None,
            before: None,
            preparing: None,
            is_unguarded: false,
            files: Changed::default(),
            looking: 0,
            ending: None,
        });
    }

    /// Sets the workplace of the next run. A process left by the last run ends.
    pub(super) fn move_to(&mut self, new: Place) {
        if let Worker::Agent { link, .. } = &mut self.worker {
            *link = None;
        }
        self.place = new;
    }

    /// Sets the workplace of the current run. An agent that is warm elsewhere ends.
    pub(super) fn work_at(&mut self, new: Place) {
        if self.place != new {
            self.move_to(new);
        }
    }

    /// The configuration of the lane's agent; `None` for the chat and for the scripted agent.
    pub(super) fn row(&self) -> Option<&AgentRow> {
        match &self.worker {
            Worker::Agent { config: AgentConfig::Program(program), .. } => Some(&program.row),
            Worker::Agent { config: AgentConfig::Inside(agent), .. } => {
                Some(&agent.0.program().row)
            }
            Worker::Agent { config: AgentConfig::Scripted(_), .. } | Worker::Assistant { .. } => {
                None
            }
        }
    }

    /// Whether the worker needs a workplace, and backups around its runs.
    pub(super) fn works_on_project(&self) -> bool {
        match &self.worker {
            Worker::Assistant { assistant, .. } => assistant.works_on_project,
            Worker::Agent { config, .. } => config.works_on_project(),
        }
    }

    /// Whether the agent asks for approval before it acts.
    pub(super) fn has_approvals(&self) -> bool {
        match &self.worker {
            Worker::Assistant { .. } => true,
            Worker::Agent { config, .. } => config.has_approvals(),
        }
    }

    /// Where the agent works.
    pub(super) fn directory(&self) -> Option<&Path> {
        match &self.worker {
            Worker::Assistant { .. } => None,
            Worker::Agent { .. } => Some(&self.place.directory),
        }
    }

    /// Name and directory of the agent. What the user always allows is remembered for this pair only.
    pub(super) fn whose(&self) -> Option<(String, PathBuf)> {
        let name = self.row().map_or_else(String::new, |row| row.name.clone());
        self.directory().map(|directory| (name, directory.to_owned()))
    }

    /// The next run is done by this worker; the process of another agent that waited for work ends. An answer that an
    /// assistant is giving is not touched.
    pub(super) fn give_to(&mut self, chosen: Chosen) {
        match (&mut self.worker, chosen) {
            (Worker::Assistant { assistant, config, .. }, Chosen::Assistant(other, chat)) => {
                *assistant = other;
                *config = chat;
            }
            (Worker::Agent { config, .. }, Chosen::Agent(same)) if *config == same => {}
            (worker, chosen) => {
                *worker = chosen.into();
                self.stray_cancels = 0;
            }
        }
    }

    /// The assistant that works here; `None`: an agent.
    pub(super) fn assistant(&self) -> Option<&'static Assistant> {
        match &self.worker {
            Worker::Assistant { assistant, .. } => Some(assistant),
            Worker::Agent { .. } => None,
        }
    }

    /// Name and directory of the agent program, by which its conversation is remembered. `None` for the chat, and for
    /// agents whose conversations we do not have to name.
    pub(super) fn program(&self) -> Option<(&str, &Path)> {
        match &self.worker {
            Worker::Agent { config: AgentConfig::Program(program), .. } => {
                Some((&program.row.name, &self.place.directory))
            }
            Worker::Agent { config: AgentConfig::Scripted(_) | AgentConfig::Inside(_), .. }
            | Worker::Assistant { .. } => None,
        }
    }

    /// Whether the agent could be started ahead of a request.
    pub(super) fn could_be_warm(&self) -> bool {
        match &self.worker {
            Worker::Assistant { .. } => false,
            Worker::Agent { config, link, .. } => {
                link.is_none() && self.is_idle() && config.can_be_warm()
            }
        }
    }

    /// Starts the agent ahead of a request. If none comes, it ends by the idle timeout, like any other agent.
    pub(super) fn warm(&mut self, resume: Option<String>) {
        if let Worker::Agent { config, link: link @ None } = &mut self.worker {
            let fresh = agent::start(&config.resuming(resume), &self.place);
            // If the link does not take this, the first prompt starts the agent.
            let _ = fresh.input.try_send(AgentInput::Warm);
            *link = Some(fresh);
            self.stray_cancels = 0;
            self.free_since = Instant::now();
        }
    }

    /// Starts the worker on a run that is still wanted. An agent without a process continues the conversation `resume`.
    /// False: the worker does not take the run.
    pub(super) fn begin(
        &mut self,
        run: RunId,
        attachments: Vec<PathBuf>,
        resume: Option<String>,
        tools: Vec<ToolSpec>,
        ask: impl FnOnce(&'static Assistant, &ChatConfig, Question) -> TurnLink,
    ) -> bool {
        let Some(current) = self.current.as_mut().filter(|current| current.run.id == run) else {
            return true;
        };
        if current.phase != Phase::Starting {
            return true;
        }
        current.phase = Phase::Running;
        let text = current.run.text.clone();
        match &mut self.worker {
            Worker::Assistant { assistant, config, turn } => {
                let question = Question { run, text, attachments, tools };
                *turn = Some(ask(assistant, config, question));
                true
            }
            Worker::Agent { config, link } => {
                let prompt = AgentInput::Prompt(AgentPrompt { text, attachments });
                let start = || agent::start(&config.resuming(resume.clone()), &self.place);
                let open = link.get_or_insert_with(start);
                if let Err(refused) = open.input.try_send(prompt) {
                    // The agent died while it was idle: a new one takes the prompt.
                    let fresh = start();
                    let taken = fresh.input.try_send(refused.into_inner()).is_ok();
                    *link = Some(fresh);
                    self.stray_cancels = 0;
                    return taken;
                }
                true
            }
        }
    }

    /// Stops the current run, whatever it is doing.
    pub(super) fn stop(&mut self) -> Stop {
        let Some(current) = &mut self.current else { return Stop::Done };
        if current.ending.is_some() {
            return Stop::Pending;
        }
        match (&mut self.worker, current.phase) {
            (_, Phase::Starting) => Stop::Done,
            (Worker::Assistant { turn, .. }, Phase::Running | Phase::Stopping { .. }) => {
                *turn = None;
                Stop::Done
            }
            (Worker::Agent { link, .. }, Phase::Stopping { .. }) => {
                if let Some(link) = link {
                    // Full: the deadline ends the agent.
                    let _ = link.input.try_send(AgentInput::CancelNow);
                }
                Stop::Pending
            }
            (Worker::Agent { link, .. }, Phase::Running) => {
                if link.as_ref().is_some_and(|link| link.input.try_send(AgentInput::Cancel).is_ok())
                {
                    current.phase = Phase::Stopping { deadline: Instant::now() + STOP_DEADLINE };
                    return Stop::Pending;
                }
                *link = None;
                Stop::Done
            }
        }
    }

    /// Tells the agent what was decided. An agent that is gone needs no answer.
    pub(super) fn answer(&mut self, id: AskId, decision: Decision) {
        if let Worker::Agent { link: Some(link), .. } = &mut self.worker {
            let _ = link.input.try_send(AgentInput::Answer { id, decision });
        }
    }

    /// The deadline of a worker that was told to stop.
    pub(super) fn deadline(&self) -> Option<Instant> {
        let current = self.current.as_ref().filter(|current| current.ending.is_none())?;
        match current.phase {
            Phase::Stopping { deadline } => Some(deadline),
            Phase::Starting | Phase::Running => None,
        }
    }

    /// Since when the process of an agent is kept without work; `None` if it works or there is no process.
    pub(super) fn unused_since(&self) -> Option<Instant> {
        match &self.worker {
            Worker::Agent { link: Some(_), .. } if self.is_idle() => Some(self.free_since),
            Worker::Agent { .. } | Worker::Assistant { .. } => None,
        }
    }

    /// Takes the current run off the lane.
    pub(super) fn release(&mut self) -> Option<Current> {
        if let Worker::Assistant { turn, .. } = &mut self.worker {
            *turn = None;
        }
        self.free_since = Instant::now();
        self.stop_preparing();
        self.current.take()
    }

    /// Aborts the preparation of the run. If it still waits for its turn, it never begins; otherwise it stops after the
    /// step that is under way.
    pub(super) fn stop_preparing(&mut self) {
        let preparing = self.current.as_mut().and_then(|current| current.preparing.take());
        if let Some(preparing) = preparing {
            preparing.abort();
        }
    }

    /// True: this end of a prompt is the late answer to a cancel, and no run ends by it. An agent answers every cancel
    /// with exactly one `Done(Cancelled)`, so a prompt that ended by itself while it was being stopped leaves one such
    /// answer behind.
    pub(super) fn is_stray(&mut self, end: &AgentEnd) -> bool {
        let stopping = self.deadline().is_some();
        match end {
            AgentEnd::Cancelled if self.stray_cancels > 0 => {
                self.stray_cancels -= 1;
                true
            }
            AgentEnd::Cancelled => self.current.is_none(),
            AgentEnd::Finished | AgentEnd::Failed { .. } => {
                self.stray_cancels += u32::from(stopping);
                false
            }
        }
    }

    /// Ends the worker. The future completes when every process that it started is gone.
    pub(super) fn end_worker(&mut self) -> impl Future<Output = ()> + Send + use<> {
        let link = match &mut self.worker {
            Worker::Assistant { turn, .. } => {
                *turn = None;
                None
            }
            Worker::Agent { link, .. } => link.take(),
        };
        async move {
            let Some(AgentLink { input, mut output }) = link else { return };
            drop(input);
            while output.recv().await.is_some() {}
        }
    }

    /// Drops the worker; every process that it started ends with it.
    pub(super) fn cut(&mut self) {
        self.stray_cancels = 0;
        match &mut self.worker {
            Worker::Assistant { turn, .. } => *turn = None,
            Worker::Agent { link, .. } => *link = None,
        }
    }

    /// Takes output that is ready, if any.
    pub(super) fn poll_output(&mut self, context: &mut Context<'_>) -> Poll<LaneOutput> {
        match &mut self.worker {
            Worker::Assistant { turn: Some(turn), .. } => turn
                .output
                .poll_recv(context)
                .map(|output| output.map_or(LaneOutput::Lost, LaneOutput::Turn)),
            Worker::Agent { link: Some(link), .. } => link
                .output
                .poll_recv(context)
                .map(|output| output.map_or(LaneOutput::Lost, LaneOutput::Agent)),
            Worker::Assistant { turn: None, .. } | Worker::Agent { link: None, .. } => {
                Poll::Pending
            }
        }
    }

    /// Takes further output that is ready right now, so that it shares one write.
    pub(super) fn more_output(&mut self) -> Option<LaneOutput> {
        match &mut self.worker {
            Worker::Assistant { turn, .. } => {
                turn.as_mut()?.output.try_recv().ok().map(LaneOutput::Turn)
            }
            Worker::Agent { link, .. } => {
                link.as_mut()?.output.try_recv().ok().map(LaneOutput::Agent)
            }
        }
    }
}
