//! What agents report while they work. Tool calls and plans are stored as events; states and usage are only signalled.

use super::Runs;
use super::lanes::LaneId;
use crate::message::{
    AgentSlot, AgentState, Channel, ConnectionId, Event, Signal, StateNote, ToolNote, ToolState,
    Usage, View,
};
use crate::provider::agent::{Tool, ToolStatus};
use crate::session::approval::gate;
use crate::session::journal::Step;
use crate::session::shared::Shared;
use crate::session::sockets::Sockets;

/// Bytes kept of each text of a tool call: name, input, output and error.
const LONGEST_TEXT: usize = 16 * 1024;
/// Tool calls of a run whose last state is remembered, to drop repeats. Full: the oldest is forgotten and may be
/// reported twice.
const REMEMBERED: usize = 256;

impl Runs {
    /// A tool is told when it starts, when it ends and when it gets its name; what it says meanwhile is told at its end.
    pub(super) fn tell_tool(
        &mut self,
        shared: &mut Shared,
        step: &mut Step,
        lane_id: LaneId,
        note: ToolNote,
    ) {
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
        self.tell(shared, step, lane_id, Event::Tool(note));
    }

    /// What the conversation holds and has cost is told as it is; the run is charged with its own share.
    pub(super) fn on_usage(
        &mut self,
        sockets: &mut Sockets,
        agent: AgentSlot,
        usage: Usage,
        own: Usage,
    ) {
        let Some(current) = &mut self.lanes[agent].current else { return };
        let run = current.run.id;
        current.usage = Some(own);
        sockets.tell_knowing(Channel::Agent(agent), &Signal::Usage { agent, run, usage });
    }

    /// The worker of the lane is in another state.
    pub(super) fn on_state(&mut self, sockets: &mut Sockets, lane: LaneId, state: AgentState) {
        let run = self.lanes[lane].current.as_mut().map(|current| {
            current.state = state;
            current.run.id
        });
        let (channel, note) = (lane.channel(), StateNote { state, run });
        sockets.tell_knowing(channel, &Signal::State { channel, note });
    }

    /// Tells a new socket what each lane is doing right now.
    pub(in crate::session) fn tell_present_state(
        &self,
        sockets: &mut Sockets,
        view: View,
        connection: ConnectionId,
    ) {
        for lane in LaneId::ALL.into_iter().filter(|lane| view.contains(lane.channel())) {
            let current = self.lanes[lane].current.as_ref();
            let note = StateNote {
                state: current.map_or(AgentState::WaitingForInput, |current| current.state),
                run: current.map(|current| current.run.id),
            };
            sockets.signal(connection, Signal::State { channel: lane.channel(), note });
        }
    }
}

pub(in crate::session) fn note(shared: &Shared, tool: &Tool, ungated: bool) -> ToolNote {
    let short = |text: &str| gate::shortened(text, LONGEST_TEXT).to_owned();
    // A result that was cut says so, because it does not look cut.
    let result = |text: &str| gate::shown(shared, text, LONGEST_TEXT, 0);
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
        output: tool.output.as_deref().map(result),
        error: tool.error.as_deref().map(result),
        paths: tool.locations.iter().map(|location| location.path.clone()).collect(),
        ungated,
    }
}
