//! What a channel remembers. Each event is numbered, stored and replayed.

use super::{
    AgentSlot, AnswerNote, Channel, Chosen, ConfirmId, Confirmation, Confirmed, DecidedBy,
    EventTime, FileList, FileNote, Interruption, ListKind, Notice, Order, PlanStep, RunId,
    RunOutcome, RunSummary, Seq, ToolNote, Work,
};
use std::sync::Arc;

/// One stored event of one channel. Only a session creates entries.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    pub channel: Channel,
    pub seq: Seq,
    pub order: Order,
    pub at: EventTime,
    pub event: Event,
}

/// What a channel remembers. Each event is one numbered packet.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    UserText {
        text: String,
        attachments: Vec<String>,
    },
    UserRequest {
        text: String,
        attachments: Vec<String>,
    },
    UserFile(FileNote),
    /// An answer, or a part of a very long one.
    Text {
        text: String,
        /// The run that gave the answer; `None` for a live model.
        run: Option<RunId>,
        note: AnswerNote,
    },
    RunStarted(RunId),
    RunLine(String),
    /// The current state of a tool call.
    Tool(ToolNote),
    /// All steps of an agent's plan, as they are now.
    Plan(Vec<PlanStep>),
    /// A caller waits for approval.
    ConfirmAsked(Confirmation),
    /// The approval question is answered or has lapsed.
    ConfirmSettled {
        id: ConfirmId,
        /// The channel that asked.
        channel: Channel,
        number: u32,
        confirmed: Confirmed,
        by: DecidedBy,
    },
    RunEnded(RunOutcome),
    RunSummed(RunSummary),
    /// An agent's work was accepted, discarded or restored, or the attempt failed.
    Chosen(Chosen),
    FileMade(FileNote),
    /// An agent's answer, shown in the chat where the request was typed.
    RequestAnswered {
        text: String,
        /// `None`: stored by an earlier version, which did not record the agent.
        by: Option<AgentSlot>,
    },
    /// Files that changed during a run, whoever changed them.
    FilesChanged {
        paths: Vec<String>,
        /// The agent of the run; `None` on the agent's own channel.
        by: Option<AgentSlot>,
        /// The agent in whose own copy of the project the files are; `None`: in the project itself.
        copy_of: Option<AgentSlot>,
    },
    /// Spoken words, in the order in which they were said.
    Transcript {
        speaker: Speaker,
        text: String,
        /// Set if the user interrupted the model; the text is what the user heard of it.
        interrupted: Option<Interruption>,
    },
    /// A cancel was received; what it stopped follows.
    CancelTaken,
    AgentReport(AgentReport),
    Notice(Notice),
    /// A step of an assistant that analyses data.
    Work(Work),
    /// A list is state, not history. The store keeps only that a list was shown (`None`), and a replay shows the
    /// current list.
    Files {
        kind: ListKind,
        list: Option<Arc<FileList>>,
    },
}

impl Event {
    /// Whether the event matters only at the moment it happens. News is numbered and stored like every event, so that a
    /// reader which resumes after a short absence gets it. A replay of the whole history leaves it out.
    pub fn is_news(&self, channel: Channel) -> bool {
        match self {
            // Existing clients open a dialog for `FilesChanged`; `AgentReport` makes a live model speak now.
            Self::FilesChanged { .. } | Self::AgentReport(_) => true,
            // On the input channel a file is only announced for a live model; the event that counts is on the run's
            // channel.
            Self::FileMade(_) => channel == Channel::Input,
            Self::UserText { .. }
            | Self::UserRequest { .. }
            | Self::UserFile(_)
            | Self::Text { .. }
            | Self::RunStarted(_)
            | Self::RunLine(_)
            | Self::Tool(_)
            | Self::Plan(_)
            | Self::ConfirmAsked(_)
            | Self::ConfirmSettled { .. }
            | Self::RunEnded(_)
            | Self::RunSummed(_)
            | Self::Chosen(_)
            | Self::RequestAnswered { .. }
            | Self::Transcript { .. }
            | Self::CancelTaken
            | Self::Notice(_)
            | Self::Work(_)
            | Self::Files { .. } => false,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Speaker {
    User,
    Model,
}

/// Progress of a request, for the input channel and for a connected live model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentReport {
    pub agent: AgentSlot,
    pub stage: ReportStage,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReportStage {
    Started { request: String },
    Finished { request: String, answer: String },
    Stopped,
}
