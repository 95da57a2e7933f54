//! What a client asks for.

use super::{
    AgentSet, AgentSlot, Channel, Choice, ConfirmId, Confirmed, Dataset, KnownList, ListKind,
    ListScope, PlaybackAck, Recorded, RunId, SettingChange, TalkKey, Typed, WatchTarget, WatchWish,
};
use bytes::Bytes;
use std::collections::BTreeMap;

/// What a client asks for.
#[derive(Debug, Clone, PartialEq)]
pub enum Command {
    /// Store the state of the user's switches.
    SaveControls(Controls),
    SendText {
        route: Route,
        text: Typed,
    },
    /// Send a request to agents; the chat gets their answers.
    RequestRun {
        agents: AgentSet,
        text: String,
    },
    /// A table was received and described; it belongs to the session now.
    AddDataset(Box<Dataset>),
    /// Analyse this table of the session from now on.
    ChooseDataset {
        name: String,
    },
    SendFile {
        channel: Channel,
        name: String,
        bytes: Bytes,
    },
    /// Show an image to the live model.
    ShowImage {
        bytes: Bytes,
    },
    SendAudio(Recorded),
    /// Stop playback now.
    StopPlayback,
    /// Report the playback position.
    AckPlayback(PlaybackAck),
    /// The user presses or releases the push-to-talk key.
    PressTalkKey(TalkKey),
    CancelRun {
        channel: Channel,
        scope: CancelScope,
    },
    ListFiles {
        kind: ListKind,
        scope: ListScope,
        answer_on: Channel,
        /// The list that the client already has.
        known: Option<KnownList>,
    },
    /// Answer an approval question.
    Confirm {
        id: ConfirmId,
        confirmed: Confirmed,
        /// Approve such calls of this agent without asking from now on; ignored for dangerous calls.
        always: bool,
        /// The caller's own id for the call, if the client names it; it must be the one that was asked about.
        call: Option<String>,
        second: SecondYes,
    },
    /// Compare the results of these agents.
    Compare {
        agents: AgentSet,
        check: CheckWish,
    },
    /// Show what an agent has changed.
    ShowDiff {
        agent: AgentSlot,
        path: Option<String>,
    },
    /// List the backups that can be restored on this agent's channel, or all.
    ListBackups {
        agent: Option<AgentSlot>,
    },
    /// Accept, discard or restore an agent's work.
    Choose {
        agent: AgentSlot,
        choice: Choice,
    },
    /// Show the settings of the session, and what can be chosen.
    ShowSettings,
    /// Change all of these settings or none.
    ChangeSettings(Vec<SettingChange>),
    /// Start or stop sending file lists whenever they change.
    WatchFiles {
        target: WatchTarget,
        wish: WatchWish,
    },
}

/// How a client gives the second confirmation that a dangerous call requires.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SecondYes {
    /// The user has not been asked twice; a dangerous call is not approved.
    Missing,
    /// The user was asked twice before this answer.
    Given,
    /// The client has no word for it. The first yes to a dangerous call is refused, and the next one counts.
    ByRepeating,
}

/// Who answers a text, and where the text is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Route {
    Chat,
    Live {
        echo: Option<Channel>,
    },
    /// Typed in the agent's own pane.
    Agent(AgentSlot),
    /// Typed in the chat pane, for agents: each gets a request, and its answer is shown in the chat.
    AgentsFromChat(AgentSet),
}

/// Whether a comparison waits for the operator's check command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CheckWish {
    Run,
    Skip,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CancelScope {
    /// The run that is active now.
    Current,
    One(RunId),
    /// The active run and the whole queue behind it.
    All,
}

/// The state of switches in the frontend, stored for the next reload. The session does not interpret it.
pub type Controls = BTreeMap<String, ControlValue>;

#[derive(Debug, Clone, PartialEq)]
pub enum ControlValue {
    Flag(bool),
    Number(f64),
    Text(String),
}
