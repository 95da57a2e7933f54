//! Messages to clients that are not stored: sound, heartbeats, acknowledgements, errors. And `Delivery`: what a reader
//! passes to its socket.

use super::{
    AgentSlot, AudioChunk, BackupList, Channel, ComparisonRow, DiffNote, Entry, Generation,
    KnownList, ListKind, Problem, RefusedSetting, RequestNo, RunId, SettingsNote, StateNote,
    SystemNotice, TurnTimes, Usage,
};
use std::sync::Arc;

/// A message to clients that is neither numbered, stored nor replayed.
#[derive(Debug, Clone, PartialEq)]
pub enum Signal {
    Audio {
        generation: Generation,
        chunk: AudioChunk,
    },
    /// Stop playback: the user started to speak, another socket took over, or the model is gone.
    StopPlayback {
        /// Stop this reply and all before it. `None`: stop everything that is buffered now; later audio of the same
        /// reply may still be for this socket.
        generation: Option<Generation>,
        reason: StopReason,
    },
    /// Latencies of the last spoken exchange.
    TurnTimes(TurnTimes),
    Heartbeat {
        count: u64,
        uptime_seconds: f64,
    },
    Ack {
        request: RequestNo,
        repeated: bool,
    },
    Failed {
        problem: Problem,
        request: Option<RequestNo>,
    },
    /// The answer to a list request: the client already has the current list.
    FilesUnchanged {
        kind: ListKind,
        channel: Channel,
        list: KnownList,
    },
    System(SystemNotice),
    /// The next piece of a streamed answer; an event with the whole answer follows at the end.
    AnswerPart {
        channel: Channel,
        run: RunId,
        text: String,
    },
    /// The next lines of an agent's answer, for clients that do not support `AnswerPart`.
    AnswerLines {
        channel: Channel,
        text: String,
    },
    /// A comparison of agents. It is sent to the chat, because users decide there.
    Compared {
        rows: Arc<[ComparisonRow]>,
    },
    Diff(Arc<DiffNote>),
    Backups(Arc<BackupList>),
    /// The settings of the session: the answer to a request, or a change.
    Settings(Arc<SettingsNote>),
    /// A change of settings was refused as a whole.
    SettingsRefused {
        refused: Arc<[RefusedSetting]>,
        request: Option<RequestNo>,
    },
    /// What an agent is doing now.
    State {
        /// The channel of the agent or of the chat.
        channel: Channel,
        note: StateNote,
    },
    /// Tokens and cost that an agent reports during a run.
    Usage {
        agent: AgentSlot,
        run: RunId,
        usage: Usage,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopReason {
    UserSpeaks,
    AnotherSocket,
    /// Another model was chosen, or no model is left.
    ModelLeaves,
}

/// What a reader passes to its socket, in order.
#[derive(Debug, Clone, PartialEq)]
pub enum Delivery {
    Logged(Arc<Entry>),
    Passing(Signal),
}
