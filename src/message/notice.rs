//! Messages of the gateway itself, in the history of a channel or to every session.

use super::{AgentSlot, RunId};
use std::sync::Arc;

/// A message of the gateway itself, phrased in the reader's language.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Notice {
    /// `place` is the position in the queue; 1 is next.
    Queued {
        run: RunId,
        place: usize,
    },
    QueuedCancelled {
        run: RunId,
    },
    NothingToCancel,
    RunCancelled {
        run: RunId,
    },
    RunFailed {
        run: RunId,
        reason: String,
    },
    RunInterrupted {
        run: RunId,
        request: String,
    },
    /// The session's project is no longer configured. Queued runs are dropped, because they must not run in another
    /// project.
    ProjectGone {
        project: String,
    },
    LiveDown {
        reason: String,
    },
    /// Another live model took over.
    LiveReplaced {
        model: String,
        reason: String,
    },
    /// The user said yes or no in words, but several questions are open and the text names none of them.
    WhichQuestion {
        open: Vec<u32>,
    },
    /// A run changed this many files in the agent's own copy of the project.
    ChangedInCopy {
        agent: AgentSlot,
        files: usize,
    },
    /// The user asked in words to accept, discard or restore an agent's work, but that is not possible.
    NotChosen {
        reason: String,
    },
    /// The call is dangerous, so it needs a second yes.
    ConfirmAgain {
        number: u32,
    },
    /// A text was taken as a request although this agent still waits for answers to these questions.
    StillOpen {
        agent: AgentSlot,
        open: Vec<u32>,
    },
    /// The agent now works in the shared project; the changed files in its earlier workplace are kept.
    WorkKept {
        agent: AgentSlot,
        files: usize,
    },
    /// The agent's own copy of the project was made without these paths.
    CopyLacks {
        agent: AgentSlot,
        paths: Vec<String>,
    },
    /// Too many tool calls of the chat failed. No text is answered until the user sends `/reset`.
    Locked {
        failures: usize,
    },
    /// The user sent `/reset`: the chat is unlocked, and the model is not told what was said before.
    Reset,
    /// The answer was cut off at the model's output limit.
    AnswerCut {
        run: RunId,
    },
}

/// A message that is sent to every session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SystemNotice {
    Say(Arc<str>),
    ShuttingDown,
}
