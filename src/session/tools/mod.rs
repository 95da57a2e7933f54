//! Tool calls of models inside the gateway: the chat's and the live model's. Owns the calls under way and the record of
//! failures that locks the chat. Knows neither the rules nor the user: every call is judged in `approval` first.

mod call;
pub(in crate::session) mod handlers;
pub(in crate::session) mod job;
mod safety;

pub(in crate::session) use call::{CallId, ReplyTo};

use crate::assistant::{Assistant, Way};
use crate::message::{EventTime, ToolChoice};
use crate::tool::{self, Risk, Tool};
use call::OpenCall;
use safety::Safety;

/// Calls of one session at the same time. A model that wants more is told to wait.
const MOST_OPEN: usize = 32;

#[derive(Debug)]
pub(in crate::session) struct Tools {
    open: Vec<OpenCall>,
    /// Number of the newest call.
    last: u64,
    safety: Safety,
}

impl Tools {
    /// Numbers begin with the time, so that no call has the name of one before a restart.
    pub(in crate::session) fn new(is_locked: bool) -> Self {
        let now = u64::try_from(EventTime::now().0).unwrap_or(0);
        Self { open: Vec::new(), last: now, safety: Safety::new(is_locked) }
    }

    /// A number for the next call.
    fn next_id(&mut self) -> CallId {
        self.last += 1;
        CallId(self.last)
    }

    fn has_room(&self) -> bool {
        self.open.len() < MOST_OPEN
    }

    fn get(&mut self, id: CallId) -> Option<&mut OpenCall> {
        self.open.iter_mut().find(|call| call.id == id)
    }

    fn take(&mut self, id: CallId) -> Option<OpenCall> {
        let at = self.open.iter().position(|call| call.id == id)?;
        Some(self.open.remove(at))
    }

    /// Ends every call, and what it has started.
    pub(in crate::session) fn stop_all(&mut self) {
        self.open.drain(..).for_each(|call| call.stop.cancel());
    }

    /// Whether the call is one of the current run of its lane.
    pub(in crate::session) fn is_of_run(&self, id: CallId) -> bool {
        self.open.iter().any(|call| call.id == id && call.caller == call.lane.caller())
    }

    /// Whether this call is open and one of those that are meant.
    fn is_open(&self, id: CallId, meant: impl Fn(&OpenCall) -> bool) -> bool {
        self.open.iter().any(|call| call.id == id && meant(call))
    }

    pub(in crate::session) fn is_locked(&self) -> bool {
        self.safety.is_locked()
    }

    pub(in crate::session) fn unlock(&mut self) {
        self.safety = Safety::default();
    }
}

/// Names of the tools that the session offers.
pub(in crate::session) fn names(choice: &ToolChoice) -> Vec<&'static str> {
    // Whoever computes brings data along, so only its assistant offers that.
    let general = tool::all().iter().filter(|tool| tool.risk != Risk::Compute);
    general.map(|tool| tool.name).filter(|name| choice.offers(name)).collect()
}

/// The tool of this name, if the assistant has it. An assistant that works on the data of the session has its own tools
/// and no others, whatever the session chooses: what it reads must not lead it to the project. The error is for the model.
fn offered(
    choice: &ToolChoice,
    assistant: &Assistant,
    name: &str,
) -> Result<&'static Tool, String> {
    let names = match assistant.way {
        Way::Conversation => names(choice),
        Way::Computing | Way::Analysis => assistant.tool_names().to_vec(),
    };
    let is_offered = |tool: &&Tool| names.contains(&tool.name);
    tool::find(name).filter(is_offered).ok_or_else(|| {
        let known = names.into_iter().filter_map(tool::find);
        let known: Vec<_> = known.map(Tool::model_name).collect();
        format!("there is no tool `{name}` here; there are {}", known.join(", "))
    })
}
