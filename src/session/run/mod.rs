//! Runs: one piece of work at a time on each channel, a bounded queue behind it, and the agent or model that does it.
//! Owns lanes, run numbers and the names of agents' conversations. Knows neither how a tool call is approved nor where
//! an agent works: it is told both.

pub(super) mod activity;
mod answer;
mod conversations;
pub(super) mod current;
mod ending;
mod handlers;
pub(super) mod inspection;
pub(super) mod lane;
pub(super) mod lanes;
mod meter;
pub(super) mod progress;
mod queue;
mod report;
mod rest;
mod restart;
pub(super) mod spent;

use self::conversations::Conversations;
use self::lane::{Chosen, Lane, LaneOutput};
use self::lanes::{LaneId, Lanes};
use crate::assistant::Assistant;
use crate::message::{AgentSlot, RunId, RunOrigin, SourceNote};
use crate::process::Place;
use crate::provider::agent::{AskId, Decision};
use crate::provider::chat::ChatConfig;
use crate::provider::row::AgentRow;
use crate::store::Conversation;
use futures_util::future::join_all;
use std::path::{Path, PathBuf};
use tokio::time::Instant;

#[derive(Debug)]
pub(super) struct Runs {
    lanes: Lanes,
    /// Number of the newest run.
    last_run: u64,
    conversations: Conversations,
}

impl Runs {
    /// Numbers of runs and conversations of agents go on after the stored ones.
    pub(super) fn new(
        chat: Lane,
        agent: impl FnMut(AgentSlot) -> Lane,
        last_run: u64,
        conversations: Vec<Conversation>,
    ) -> Self {
        let conversations = Conversations::restored(conversations);
        Self { lanes: Lanes::new(chat, agent), last_run, conversations }
    }

    /// Waits for output of any worker.
    pub(super) async fn next_output(&mut self) -> (LaneId, LaneOutput) {
        self.lanes.next_output().await
    }

    /// When the next worker that was told to stop has missed its deadline.
    pub(super) fn stop_deadline(&self) -> Option<Instant> {
        self.lanes.iter().filter_map(Lane::deadline).min()
    }

    /// The current run.
    pub(super) fn current(&self, lane: impl Into<LaneId>) -> Option<RunId> {
        self.lanes[lane].current.as_ref().map(|current| current.run.id)
    }

    pub(super) fn is_current(&self, lane: impl Into<LaneId>, run: RunId) -> bool {
        self.current(lane) == Some(run)
    }

    /// The current run, unless it was told to stop or has stopped.
    pub(super) fn unstopped(&self, lane: impl Into<LaneId>) -> Option<RunId> {
        let current = self.lanes[lane].current.as_ref().filter(|current| !current.is_stopping());
        current.map(|current| current.run.id)
    }

    /// Whether the current run was requested from outside of the agent's own pane.
    pub(super) fn is_request(&self, lane: impl Into<LaneId>) -> bool {
        let current = self.lanes[lane].current.as_ref();
        current.is_some_and(|current| current.run.origin == RunOrigin::Request)
    }

    /// Whether the lane has neither a run nor a queue, and its workplace is not used for something else.
    pub(super) fn is_idle(&self, lane: impl Into<LaneId>) -> bool {
        self.lanes[lane].is_idle()
    }

    pub(super) fn all_are_idle(&self) -> bool {
        self.lanes.iter().all(Lane::is_idle)
    }

    pub(super) fn all_agents_are_idle(&self) -> bool {
        AgentSlot::ALL.into_iter().all(|slot| self.is_idle(slot))
    }

    /// How many lanes have a current run.
    pub(super) fn running(&self) -> usize {
        self.lanes.iter().filter(|lane| lane.current.is_some()).count()
    }

    /// Tells an agent what was decided about its question.
    pub(super) fn answer_agent(&mut self, lane: LaneId, ask: AskId, decision: Decision) {
        self.lanes[lane].answer(ask, decision);
    }

    /// Ends all workers. The future completes when every process that they started is gone.
    pub(super) fn end_workers(&mut self) -> impl Future<Output = ()> + Send + use<> {
        let ends = self.lanes.iter_mut().map(Lane::end_worker).collect::<Vec<_>>();
        async move { drop(join_all(ends).await) }
    }

    /// Drops the worker of a lane; every process that it started ends with it.
    pub(super) fn cut(&mut self, lane: impl Into<LaneId>) {
        self.lanes[lane].cut();
    }

    /// The configuration of the lane's agent; `None` for the chat and for the scripted agent.
    pub(super) fn row(&self, lane: impl Into<LaneId>) -> Option<&AgentRow> {
        self.lanes[lane].row()
    }

    /// Whether the agent asks for approval before it acts.
    pub(super) fn has_approvals(&self, lane: impl Into<LaneId>) -> bool {
        self.lanes[lane].has_approvals()
    }

    /// Where the agent works.
    pub(super) fn directory(&self, lane: impl Into<LaneId>) -> Option<&Path> {
        self.lanes[lane].directory()
    }

    /// Name and directory of the agent. What the user always allows is remembered for this pair only.
    pub(super) fn agent_and_directory(&self, slot: AgentSlot) -> Option<(String, PathBuf)> {
        self.lanes[slot].whose()
    }

    /// The next question of the chat goes to this assistant and its model; one that is being answered is not touched.
    pub(super) fn choose_chat(&mut self, assistant: &'static Assistant, config: ChatConfig) {
        self.lanes[LaneId::Chat].give_to(Chosen::Assistant(assistant, config));
    }

    /// The assistant that works on a lane; `None`: an agent.
    pub(super) fn assistant(&self, lane: LaneId) -> Option<&'static Assistant> {
        self.lanes[lane].assistant()
    }

    /// Applies the chosen agent. A running agent finishes first; its successor is chosen when the lane is free.
    pub(super) fn choose_agent(&mut self, slot: AgentSlot, chosen: impl FnOnce() -> Chosen) {
        let lane = &mut self.lanes[slot];
        if lane.current.is_none() {
            lane.give_to(chosen());
        }
    }

    /// The session works on another project now. Processes left by the last runs end.
    pub(super) fn move_to_project(&mut self, project: &Path) {
        for lane in self.lanes.iter_mut() {
            lane.move_to(Place::open(project));
        }
    }

    /// Keeps the lane from starting a run, because its workplace is used for something else. False: the lane is not
    /// idle.
    pub(super) fn hold(&mut self, slot: AgentSlot) -> bool {
        let lane = &mut self.lanes[slot];
        let is_idle = lane.is_idle();
        if is_idle {
            lane.hold();
        }
        is_idle
    }

    pub(super) fn release_hold(&mut self, slot: AgentSlot) {
        self.lanes[slot].let_go();
    }

    pub(super) fn any_is_held(&self) -> bool {
        self.lanes.iter().any(Lane::is_held)
    }

    /// The answer of the current run names the file as a source.
    pub(super) fn add_source(&mut self, lane: LaneId, source: &SourceNote) {
        let Some(current) = self.lanes[lane].current.as_mut() else { return };
        if !current.sources.contains(source) {
            current.sources.push(source.clone());
        }
    }

    /// Number of the newest run.
    pub(super) fn newest(&self) -> RunId {
        RunId(self.last_run)
    }

    /// A tool call of the current run is done: the model will be asked again.
    pub(super) fn note_call_ended(&mut self, lane: LaneId) {
        self.lanes[lane].meter.called();
    }

    /// Whether the agent could be started ahead of a request.
    pub(super) fn could_be_warm(&self, slot: AgentSlot) -> bool {
        self.lanes[slot].could_be_warm()
    }

    /// Starts the agent ahead of a request, with the conversation that it had at this place.
    pub(super) fn start_ahead(&mut self, slot: AgentSlot, place: Place) {
        let lane = &mut self.lanes[slot];
        lane.work_at(place);
        let resume = self.conversations.of(lane);
        lane.warm(resume);
    }
}
