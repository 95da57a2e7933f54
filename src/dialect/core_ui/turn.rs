//! What the events of a lane mean for the state that the document knows. Everything is read from stored events, so a
//! client that resumes or polls gets the same states as one that stayed.

use crate::message::{Entry, Event, Notice, RunOutcome, ToolState};

/// A state of the document, or one of the additions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    Thinking,
    ExecutingTool,
    WaitingForInput,
    WaitingForConfirmation,
    Locked,
    Stopped,
}

impl State {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Thinking => "thinking",
            Self::ExecutingTool => "executing_tool",
            Self::WaitingForInput => "waiting_for_input",
            Self::WaitingForConfirmation => "waiting_for_confirmation",
            Self::Locked => "locked",
            Self::Stopped => "stopped",
        }
    }
}

/// The end of a run is stored before its answer, and the state is told after it.
#[derive(Debug, Default)]
pub(super) struct Turn {
    /// The run has ended this way, and what follows it has not come yet.
    ended: Option<RunOutcome>,
    /// That run has locked the chat.
    locks: bool,
}

impl Turn {
    /// The states to be told after the frame of this event.
    pub(super) fn states(&mut self, entry: &Entry) -> Vec<State> {
        match &entry.event {
            Event::RunStarted(_) => vec![State::Thinking],
            Event::Tool(note) if note.state == ToolState::Started => vec![State::ExecutingTool],
            Event::ConfirmAsked(_) => vec![State::WaitingForConfirmation],
            Event::RunEnded(outcome) => {
                self.ended = Some(*outcome);
                Vec::new()
            }
            Event::Text { .. } if self.ended == Some(RunOutcome::Finished) => self.over(None),
            Event::Notice(Notice::RunCancelled { .. } | Notice::RunInterrupted { .. }) => {
                self.over(Some(State::Stopped))
            }
            // A run that locks the chat has one more notice, and the state is told after that.
            Event::Notice(Notice::Locked { .. }) if self.ended.is_some() => {
                self.locks = true;
                Vec::new()
            }
            Event::Notice(Notice::Locked { .. }) => vec![State::Locked],
            Event::Notice(Notice::RunFailed { .. }) if self.locks => {
                *self = Self::default();
                vec![State::Locked]
            }
            Event::Notice(Notice::RunFailed { .. }) => self.over(None),
            Event::Notice(Notice::Reset) => vec![State::WaitingForInput],
            Event::Text { .. }
            | Event::Tool(_)
            | Event::UserText { .. }
            | Event::UserRequest { .. }
            | Event::UserFile(_)
            | Event::RunLine(_)
            | Event::Plan(_)
            | Event::ConfirmSettled { .. }
            | Event::RunSummed(_)
            | Event::Chosen(_)
            | Event::FileMade(_)
            | Event::RequestAnswered { .. }
            | Event::FilesChanged { .. }
            | Event::Transcript { .. }
            | Event::CancelTaken
            | Event::AgentReport(_)
            | Event::Notice(_)
            | Event::Work(_)
            | Event::Files { .. } => Vec::new(),
        }
    }

    fn over(&mut self, first: Option<State>) -> Vec<State> {
        self.ended = None;
        first.into_iter().chain([State::WaitingForInput]).collect()
    }
}
