//! Tool calls of the model: each reaches the session once, even if the vendor repeats it.

use super::Conversation;
use crate::provider::live::LiveOutput;
use crate::provider::live::remote::protocol::Request;
use std::collections::VecDeque;
use tokio::time::Instant;
use tracing::info;

/// How many calls are remembered.
const MOST: usize = 32;

#[derive(Debug, Default)]
pub(super) struct ToolCalls {
    known: VecDeque<Call>,
    /// Results that wait until the user has finished speaking.
    results: Vec<(String, Result<String, String>)>,
}

#[derive(Debug)]
struct Call {
    id: String,
    name: String,
    arguments: String,
    answered: bool,
}

#[cfg(test)]
impl ToolCalls {
    pub(super) fn size(&self) -> usize {
        self.known.len() + self.results.len()
    }
}

impl Conversation {
    pub(super) fn on_tool_call(&mut self, id: String, name: String, arguments: String) {
        self.turn.answered();
        self.connection.speaks();
        if self.calls.known.iter().any(|call| call.id == id) {
            info!(id, "the live model repeats a call; it is made once");
            return;
        }
        let same = |call: &Call| !call.answered && call.name == name && call.arguments == arguments;
        if self.calls.known.iter().any(same) {
            let outcome = Ok("this is already being done".to_owned());
            self.request(Request::ToolResult { id, outcome });
            return;
        }
        if self.calls.known.len() >= MOST {
            self.calls.known.pop_front();
        }
        let call = Call { id, name, arguments, answered: false };
        let (id, name, arguments) = (call.id.clone(), call.name.clone(), call.arguments.clone());
        self.calls.known.push_back(call);
        self.outbox.push_back(LiveOutput::ToolCall { id, name, arguments });
    }

    pub(super) fn on_tools_cancelled(&mut self, ids: Vec<String>) {
        self.calls.known.retain(|call| !ids.contains(&call.id));
        self.calls.results.retain(|(id, _)| !ids.contains(id));
        self.outbox.push_back(LiveOutput::ToolsCancelled { ids });
    }

    /// A call that was cancelled or never made is not answered.
    pub(super) fn on_tool_result(&mut self, id: String, outcome: Result<String, String>) {
        let call = self.calls.known.iter_mut().find(|call| call.id == id && !call.answered);
        let Some(call) = call else { return };
        call.answered = true;
        self.calls.results.push((id, outcome));
    }

    /// Sends results when the user is silent; otherwise the model would talk over the user.
    pub(super) fn pass_on_results(&mut self, now: Instant) {
        if self.calls.results.is_empty() || self.user_speaks() {
            return;
        }
        for (id, outcome) in std::mem::take(&mut self.calls.results) {
            self.request(Request::ToolResult { id, outcome });
        }
        // A model that has already said what it does may add nothing.
        if !(self.vendor.works_aside && self.turn.has_spoken()) {
            self.expect(now);
        }
    }
}
