//! Requests about agents' work, from sockets and from outside of any socket: comparisons, diffs, backups and choices.

use crate::message::{
    AgentSet, AgentSlot, BackupList, Channel, CheckWish, Choice, Chosen, ComparisonRow, DiffNote,
    Problem, RequestNo,
};
use crate::session::job::Asker;
use crate::session::{SessionClosed, SessionHandle, Urgent};
use std::sync::Arc;
use tokio::sync::oneshot;

/// Who asked.
#[derive(Debug)]
pub(in crate::session) enum Inquirer<T> {
    /// Answered on the channel, to every socket there that knows these packets.
    Socket(Asker),
    /// A user who typed the request. The answer is given in words, where it was typed.
    Typed {
        asker: Asker,
        pane: Channel,
    },
    Caller(oneshot::Sender<Result<T, Problem>>),
}

impl<T> Inquirer<T> {
    /// Number by which a repeated request is recognized.
    pub(super) fn request(&self) -> Option<&RequestNo> {
        match self {
            Self::Socket(asker) | Self::Typed { asker, .. } => asker.request.as_ref(),
            Self::Caller(_) => None,
        }
    }
}

/// Requests about agents' work that come from outside of any socket.
#[derive(Debug)]
pub(in crate::session) enum Inquiry {
    Compare { agents: AgentSet, check: CheckWish, reply: Reply<Arc<[ComparisonRow]>> },
    Diff { agent: AgentSlot, path: Option<String>, reply: Reply<Arc<DiffNote>> },
    Backups { agent: Option<AgentSlot>, reply: Reply<Arc<BackupList>> },
    Choose { agent: AgentSlot, choice: Choice, reply: Reply<Chosen> },
}

pub(super) type Reply<T> = oneshot::Sender<Result<T, Problem>>;

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum ChoiceError {
    #[error(transparent)]
    Refused(Problem),
    #[error(transparent)]
    Closed(#[from] SessionClosed),
}

impl SessionHandle {
    pub async fn compare(
        &self,
        agents: AgentSet,
        check: CheckWish,
    ) -> Result<Arc<[ComparisonRow]>, ChoiceError> {
        self.inquire(|reply| Inquiry::Compare { agents, check, reply }).await
    }

    /// The whole diff, up to the limit for output of git.
    pub async fn diff(
        &self,
        agent: AgentSlot,
        path: Option<String>,
    ) -> Result<Arc<DiffNote>, ChoiceError> {
        self.inquire(|reply| Inquiry::Diff { agent, path, reply }).await
    }

    /// Carried out to its end, even if the caller stops waiting.
    pub async fn choose(&self, agent: AgentSlot, choice: Choice) -> Result<Chosen, ChoiceError> {
        self.inquire(|reply| Inquiry::Choose { agent, choice, reply }).await
    }

    pub(super) async fn inquire<T>(
        &self,
        inquiry: impl FnOnce(Reply<T>) -> Inquiry,
    ) -> Result<T, ChoiceError> {
        self.note_use();
        let (reply, answer) = oneshot::channel();
        let asked = Urgent::Inquiry(Box::new(inquiry(reply)));
        self.inner.urgent.send(asked).await.map_err(|_| SessionClosed)?;
        answer.await.map_err(|_| SessionClosed)?.map_err(ChoiceError::Refused)
    }
}
