//! One tool call under way.

use super::job::Prepared;
use crate::message::{Caller, RunId, SourceNote};
use crate::provider::agent::Tool as ShownTool;
use crate::session::run::lanes::LaneId;
use crate::tool::{Outcome, Risk, Tool};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::session) struct CallId(pub(super) u64);

/// Who waits for the outcome.
#[derive(Debug)]
pub(in crate::session) enum ReplyTo {
    /// A turn of an assistant.
    Turn(oneshot::Sender<Outcome>),
    /// The live model, by its own id for the call.
    Live(String),
}

impl OpenCall {
    /// A call that changes nothing may begin before its decision is stored. Nobody is told its outcome before.
    pub(super) fn only_looks(&self) -> bool {
        match self.tool.risk {
            Risk::Read | Risk::Search => true,
            Risk::Edit | Risk::Execute | Risk::Request | Risk::Compute => false,
        }
    }

    /// Whether the live model knows the call by one of these ids.
    pub(super) fn is_of_live(&self, ids: &[String]) -> bool {
        matches!(&self.reply, ReplyTo::Live(id) if ids.contains(id))
    }
}

#[derive(Debug)]
pub(in crate::session) struct OpenCall {
    pub(super) id: CallId,
    pub(in crate::session) caller: Caller,
    /// The lane on whose channel people see the call.
    pub(super) lane: LaneId,
    pub(super) run: RunId,
    pub(super) tool: &'static Tool,
    /// As the model wrote them.
    pub(super) arguments: String,
    pub(super) reply: ReplyTo,
    /// Ends the call.
    pub(super) stop: CancellationToken,
    /// The call as people are shown it; `None` until it has been checked.
    pub(super) shown: Option<ShownTool>,
    /// What it does once it is allowed, until then.
    pub(super) prepared: Option<Prepared>,
    /// The file that it reads.
    pub(super) source: Option<SourceNote>,
    /// The file or directory that it works on.
    pub(super) path: Option<String>,
    /// The run of the agent that was given work.
    pub(super) waits_for: Option<RunId>,
    /// The decision is stored.
    pub(super) is_stored: bool,
    /// The outcome of a call that was done before its decision was stored.
    pub(super) early: Option<Outcome>,
}
