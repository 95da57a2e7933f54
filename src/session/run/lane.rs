//! Work on one channel: one run at a time, a bounded queue behind it, and the link to whoever does the work.

use super::current::{Current, Phase, Waiting};
use super::meter::Meter;
use crate::message::{AgentSlot, AgentState, Channel, RunId};
use crate::provider::agent::{
    self, AgentConfig, AgentEnd, AgentInput, AgentLink, AgentOutput, AgentPrompt, AskId, Decision,
    Place,
};
use crate::provider::chat::{ChatConfig, ChatOutput, ChatRequest, ChatTurn};
use crate::provider::row::AgentRow;
use crate::session::workplace::site::Changed;
use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::time::Instant;

/// How long an agent may take to stop before its link is cut, which ends it the hard way. Three seconds to stop by
/// itself, two for its processes to leave, and some for the kernel.
const STOP_DEADLINE: Duration = Duration::from_secs(7);

#[derive(Debug)]
pub(in crate::session) struct Lane {
    pub(in crate::session) channel: Channel,
    pub(in crate::session) current: Option<Current>,
    pub(in crate::session) queue: VecDeque<Waiting>,
    worker: Worker,
    /// Since when the worker has had nothing to do.
    free_since: Instant,
    /// Somebody else is busy in its place; runs wait.
    held: bool,
    /// Answers to cancels that came too late for their run; they must not end the next one.
    stray_cancels: u32,
    pub(in crate::session) meter: Meter,
}

#[derive(Debug)]
enum Worker {
    Chat {
        config: ChatConfig,
        turn: Option<ChatTurn>,
    },
    /// The link is kept from run to run.
    Agent {
        config: AgentConfig,
        place: Place,
        link: Option<AgentLink>,
    },
}

/// What a worker says.
#[derive(Debug)]
pub(in crate::session) enum LaneOutput {
    Chat(ChatOutput),
    Agent(AgentOutput),
    /// The worker is gone without a word.
    Lost,
}

/// How far a stop got at once.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Stop {
    /// The worker is down; the run is over.
    Done,
    /// The worker was told and will answer.
    Pending,
}

impl Lane {
    pub(in crate::session) fn chat(config: ChatConfig) -> Self {
        Self::new(Channel::Chat, Worker::Chat { config, turn: None })
    }

    pub(in crate::session) fn agent(slot: AgentSlot, config: AgentConfig, place: Place) -> Self {
        Self::new(Channel::Agent(slot), Worker::Agent { config, place, link: None })
    }

    fn new(channel: Channel, worker: Worker) -> Self {
        let free_since = Instant::now();
        Self {
            channel,
            current: None,
            queue: VecDeque::new(),
            worker,
            free_since,
            held: false,
            stray_cancels: 0,
            meter: Meter::default(),
        }
    }

    pub(in crate::session) fn is_idle(&self) -> bool {
        self.current.is_none() && self.queue.is_empty() && !self.held
    }

    /// Whether the next run may start.
    pub(super) fn is_free(&self) -> bool {
        self.current.is_none() && !self.held
    }

    /// No run starts until [`Lane::let_go`].
    pub(in crate::session) fn hold(&mut self) {
        self.held = true;
    }

    pub(in crate::session) fn is_held(&self) -> bool {
        self.held
    }

    pub(in crate::session) fn let_go(&mut self) {
        self.held = false;
    }

    /// Gives the channel to a run; its worker starts with [`Lane::begin`].
    pub(super) fn take(&mut self, waiting: Waiting) {
        let Waiting { run, order } = waiting;
        // One that is a new process for each prompt counts from nothing each time.
        if matches!(&self.worker, Worker::Agent { config, .. } if !config.goes_on()) {
            self.meter = Meter::default();
        }
        self.meter.begin();
        self.current = Some(Current {
            run,
            order,
            phase: Phase::Starting,
            answer: String::new(),
            in_parts: false,
            cut_off: false,
            fresh: String::new(),
            line: String::new(),
            thought: String::new(),
            changed: Vec::new(),
            tools: VecDeque::new(),
            state: AgentState::Starting,
            usage: None,
            started: Instant::now(),
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

    /// The next run works here; what the last one left behind ends.
    pub(in crate::session) fn move_to(&mut self, new: Place) {
        if let Worker::Agent { place, link, .. } = &mut self.worker {
            *link = None;
            *place = new;
        }
    }

    /// The run that has the channel works here. An agent that is warm elsewhere ends.
    pub(in crate::session) fn work_at(&mut self, new: Place) {
        if let Worker::Agent { place, .. } = &self.worker
            && *place != new
        {
            self.move_to(new);
        }
    }

    /// Of the agent that has the channel; the scripted one has none.
    pub(in crate::session) fn row(&self) -> Option<&AgentRow> {
        match &self.worker {
            Worker::Agent { config: AgentConfig::Program(program), .. } => Some(&program.row),
            Worker::Agent { config: AgentConfig::BuiltIn(agent), .. } => Some(agent.row()),
            Worker::Agent { config: AgentConfig::Scripted { .. }, .. } | Worker::Chat { .. } => {
                None
            }
        }
    }

    /// Whether the agent asks before it acts.
    pub(in crate::session) fn has_approvals(&self) -> bool {
        match &self.worker {
            Worker::Chat { .. } => true,
            Worker::Agent { config, .. } => config.has_approvals(),
        }
    }

    /// Where the agent works.
    pub(in crate::session) fn directory(&self) -> Option<&Path> {
        match &self.worker {
            Worker::Chat { .. } => None,
            Worker::Agent { place, .. } => Some(&place.directory),
        }
    }

    /// Whom the user speaks to here, and about what: which agent, and where it works.
    pub(in crate::session) fn whose(&self) -> Option<(String, PathBuf)> {
        let name = self.row().map_or_else(String::new, |row| row.name.clone());
        self.directory().map(|directory| (name, directory.to_owned()))
    }

    /// The next question goes to this model.
    pub(in crate::session) fn choose_chat(&mut self, chosen: &ChatConfig) {
        if let Worker::Chat { config, .. } = &mut self.worker {
            *config = chosen.clone();
        }
    }

    /// The next run is this agent's; another one that waited for work ends.
    pub(in crate::session) fn give_to(&mut self, chosen: AgentConfig) {
        if let Worker::Agent { config, link, .. } = &mut self.worker
            && *config != chosen
        {
            *link = None;
            *config = chosen;
            self.stray_cancels = 0;
        }
    }

    /// Which program has the channel, and where it works; `None` if it is none, or none that has to be
    /// reminded.
    pub(super) fn program(&self) -> Option<(&str, &Path)> {
        match &self.worker {
            Worker::Agent { config: AgentConfig::Program(program), place, .. } => {
                Some((&program.row.name, &place.directory))
            }
            Worker::Agent {
                config: AgentConfig::Scripted { .. } | AgentConfig::BuiltIn(_),
                ..
            }
            | Worker::Chat { .. } => None,
        }
    }

    /// Whether the agent could be started before anybody asks it something.
    pub(super) fn could_be_warm(&self) -> bool {
        match &self.worker {
            Worker::Chat { .. } => false,
            Worker::Agent { config, link, .. } => {
                link.is_none() && self.is_idle() && config.can_be_warm()
            }
        }
    }

    /// Starts the agent before anybody asks it something. One that is not asked ends like one that was.
    pub(super) fn warm(&mut self, resume: Option<String>) {
        if let Worker::Agent { config, place, link: link @ None } = &mut self.worker {
            let fresh = agent::start(&config.resuming(resume), place);
            // An agent that does not take it is started by its prompt.
            let _ = fresh.input.try_send(AgentInput::Warm);
            *link = Some(fresh);
            self.stray_cancels = 0;
            self.free_since = Instant::now();
        }
    }

    /// Starts the worker on a run that is still wanted; one that has no process goes on with the conversation
    /// `resume`. False: the worker does not take it.
    pub(super) fn begin(
        &mut self,
        run: RunId,
        attachments: Vec<PathBuf>,
        resume: Option<String>,
        ask: impl FnOnce(&ChatConfig, ChatRequest) -> ChatTurn,
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
            Worker::Chat { config, turn } => {
                let request = ChatRequest { text, attachments, ..ChatRequest::default() };
                *turn = Some(ask(config, request));
                true
            }
            Worker::Agent { config, place, link } => {
                let prompt = AgentInput::Prompt(AgentPrompt { text, attachments });
                let start = || agent::start(&config.resuming(resume.clone()), place);
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
            (Worker::Chat { turn, .. }, Phase::Running | Phase::Stopping { .. }) => {
                *turn = None;
                Stop::Done
            }
            (Worker::Agent { link, .. }, Phase::Stopping { .. }) => {
                if let Some(link) = link {
                    // Full: it will end by the deadline.
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
    pub(in crate::session) fn answer(&mut self, id: AskId, decision: Decision) {
        if let Worker::Agent { link: Some(link), .. } = &mut self.worker {
            let _ = link.input.try_send(AgentInput::Answer { id, decision });
        }
    }

    /// When a worker that was told to stop must have done so.
    pub(in crate::session) fn deadline(&self) -> Option<Instant> {
        let current = self.current.as_ref().filter(|current| current.ending.is_none())?;
        match current.phase {
            Phase::Stopping { deadline } => Some(deadline),
            Phase::Starting | Phase::Running => None,
        }
    }

    /// Since when an agent is kept that has nothing to do; `None` if it works or there is none.
    pub(super) fn unused_since(&self) -> Option<Instant> {
        match &self.worker {
            Worker::Agent { link: Some(_), .. } if self.is_idle() => Some(self.free_since),
            Worker::Agent { .. } | Worker::Chat { .. } => None,
        }
    }

    /// Takes the run off the channel.
    pub(super) fn release(&mut self) -> Option<Current> {
        if let Worker::Chat { turn, .. } = &mut self.worker {
            *turn = None;
        }
        self.free_since = Instant::now();
        self.stop_preparing();
        self.current.take()
    }

    /// The preparation of the run ends: one that waits for its turn is never begun, one that has begun is not
    /// finished.
    pub(in crate::session) fn stop_preparing(&mut self) {
        let preparing = self.current.as_mut().and_then(|current| current.preparing.take());
        if let Some(preparing) = preparing {
            preparing.abort();
        }
    }

    /// True: this end of a prompt is the late answer to a cancel, and nothing ends by it. An agent answers every
    /// cancel with exactly one `Done(Cancelled)`, so a prompt that ended by itself while it was being stopped
    /// leaves one such answer behind.
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

    /// Ends the worker and returns when everything it started is gone too.
    pub(in crate::session) fn end_worker(&mut self) -> impl Future<Output = ()> + Send + use<> {
        let link = match &mut self.worker {
            Worker::Chat { turn, .. } => {
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

    /// Drops the worker; whatever it started ends with it.
    pub(in crate::session) fn cut(&mut self) {
        self.stray_cancels = 0;
        match &mut self.worker {
            Worker::Chat { turn, .. } => *turn = None,
            Worker::Agent { link, .. } => *link = None,
        }
    }

    /// Takes output that is ready, if any.
    pub(super) fn poll_output(&mut self, context: &mut Context<'_>) -> Poll<LaneOutput> {
        match &mut self.worker {
            Worker::Chat { turn: Some(turn), .. } => turn
                .output
                .poll_recv(context)
                .map(|output| output.map_or(LaneOutput::Lost, LaneOutput::Chat)),
            Worker::Agent { link: Some(link), .. } => link
                .output
                .poll_recv(context)
                .map(|output| output.map_or(LaneOutput::Lost, LaneOutput::Agent)),
            Worker::Chat { turn: None, .. } | Worker::Agent { link: None, .. } => Poll::Pending,
        }
    }

    /// Takes further output that is ready right now, for one common write.
    pub(super) fn more_output(&mut self) -> Option<LaneOutput> {
        match &mut self.worker {
            Worker::Chat { turn, .. } => {
                turn.as_mut()?.output.try_recv().ok().map(LaneOutput::Chat)
            }
            Worker::Agent { link, .. } => {
                link.as_mut()?.output.try_recv().ok().map(LaneOutput::Agent)
            }
        }
    }
}
