//! Work that a live model gives to an agent, if the rules or the user allow it.

use crate::message::AgentSlot;
use crate::policy::Call;
use crate::provider::live::{Errand, LiveInput};
use crate::session::journal::{Effect, Step};

/// The kind that rules know these calls by.
const ERRAND: &str = "errand";

/// A tool call of a live model that waits for its answer.
#[derive(Debug)]
pub(in crate::session) struct LiveRequest {
    pub(super) id: String,
    /// The agent that is to do the work.
    pub(super) agent: AgentSlot,
    pub(super) request: String,
}

impl LiveRequest {
    /// Reads a tool call of the model, which has this `id`. `Err`: what the model is told.
    pub(super) fn read(id: String, name: &str, arguments: &str) -> Result<(Self, Call), String> {
        let Errand { agent, request } = Errand::read(name, arguments)?;
        let call = Call {
            tool: name.to_owned(),
            english: None,
            name: None,
            kind: ERRAND.to_owned(),
            // Empty: an id would mean a tool call of the agent.
            id: String::new(),
            input: arguments.to_owned(),
            unseen: 0,
            paths: Vec::new(),
        };
        Ok((Self { id, agent, request }, call))
    }
}

/// Gives the model the result of its call.
pub(super) fn answer(step: &mut Step, id: String, outcome: Result<String, String>) {
    step.effects.push(Effect::Show(LiveInput::ToolResult { id, outcome }));
}
