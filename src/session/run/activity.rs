//! What agents report while they work. Tool calls and plans are stored as events; states and usage are only signalled.

use super::lanes::LaneId;
use crate::message::{
    AgentSlot, AgentState, Channel, ConnectionId, Event, Signal, StateNote, ToolNote, ToolState,
    Usage, View,
};
use crate::provider::agent::{Tool, ToolStatus};
use crate::session::actor::Session;
use crate::session::approval::gate;
use crate::session::journal::Step;

/// Bytes kept of each text of a tool call: name, input, output and error.
const LONGEST_TEXT: usize = 16 * 1024;
/// Tool calls of a run whose last state is remembered, to drop repeats. Full: the oldest is forgotten and may be
/// reported twice.
const REMEMBERED: usize = 256;

impl Session {
    /// A tool is told when it starts, when it ends and when it gets its name; what it says meanwhile is told at its end.
    pub(super) fn tell_tool(&mut self, step: &mut Step, lane_id: LaneId, tool: &Tool) {
        let Channel::Agent(slot) = self.lanes[lane_id].channel else { return };
        let note = note(tool, self.gate.watch(slot).calls.ungated(tool).is_some());
        let Some(current) = &mut self.lanes[lane_id].current else { return };
        let news = (note.id.clone(), note.state, note.name.clone());
        match current.tools.iter_mut().find(|told| told.0 == news.0) {
            Some(told) if *told == news => return,
            Some(told) => *told = news,
            None => {
                if current.tools.len() >= REMEMBERED {
                    current.tools.pop_front();
                }
                current.tools.push_back(news);
            }
        }
        self.tell(step, lane_id, Event::Tool(note));
    }

    /// What the conversation holds and has cost is told as it is; the run is charged with its own share.
    pub(super) fn on_usage(&mut self, lane_id: LaneId, agent: AgentSlot, usage: Usage, own: Usage) {
        let Some(current) = &mut self.lanes[lane_id].current else { return };
        let run = current.run.id;
        current.usage = Some(own);
        self.sockets.tell_knowing(Channel::Agent(agent), &Signal::Usage { agent, run, usage });
    }

    pub(in crate::session) fn on_state(&mut self, agent: AgentSlot, state: AgentState) {
        // An agent also waits while the gate decides by the rules alone; that is over before anybody could see it.
        if state == AgentState::WaitingForConfirmation && !self.gate.asks_user(agent) {
            return;
        }
        let lane_id = LaneId::of(Channel::Agent(agent));
        let current = lane_id.and_then(|lane_id| self.lanes[lane_id].current.as_mut());
        let run = current.map(|current| {
            current.state = state;
            current.run.id
        });
        let note = StateNote { state, run };
        self.sockets.tell_knowing(Channel::Agent(agent), &Signal::State { agent, note });
    }

    /// Tells a new socket what each agent is doing right now.
    pub(in crate::session) fn tell_present_state(&mut self, view: View, connection: ConnectionId) {
        for agent in AgentSlot::ALL {
            let channel = Channel::Agent(agent);
            let Some(lane_id) = LaneId::of(channel).filter(|_| view.contains(channel)) else {
                continue;
            };
            let current = self.lanes[lane_id].current.as_ref();
            let note = StateNote {
                state: current.map_or(AgentState::WaitingForInput, |current| current.state),
                run: current.map(|current| current.run.id),
            };
            self.sockets.signal(connection, Signal::State { agent, note });
        }
    }
}

pub(in crate::session) fn note(tool: &Tool, ungated: bool) -> ToolNote {
    let short = |text: &str| gate::shortened(text, LONGEST_TEXT).to_owned();
    ToolNote {
        id: tool.id.clone(),
        name: short(gate::title(tool)),
        tool: tool.name.clone(),
        kind: gate::kind(tool.kind).to_owned(),
        state: match tool.status {
            ToolStatus::Started => ToolState::Started,
            ToolStatus::Completed => ToolState::Completed,
            ToolStatus::Failed => ToolState::Failed,
        },
        input: tool.input.as_deref().map(short),
        output: tool.output.as_deref().map(short),
        error: tool.error.as_deref().map(short),
        paths: tool.locations.iter().map(|location| location.path.clone()).collect(),
        ungated,
    }
}
