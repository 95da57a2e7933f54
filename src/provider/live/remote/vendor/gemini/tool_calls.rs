//! Tool calls of the model: each is made once, and answered only if it was not cancelled.

use super::frame::frame;
use super::wire::{FunctionCall, FunctionResponse, Outcome, ToVendor, ToolResponse};
use crate::provider::live::LiveOutput;
use crate::provider::live::remote::protocol::Effect;
use std::collections::VecDeque;

/// Calls without a result. Full: the oldest is not answered.
const MOST_OPEN: usize = 64;
/// Calls that are remembered after their end, because the vendor may repeat them.
const MOST_PAST: usize = 64;

/// Stands for the name of an unknown tool.
const A_TOOL: &str = "A tool";

#[derive(Debug, Default)]
pub(super) struct ToolCalls {
    open: VecDeque<Call>,
    /// Calls of an earlier connection, which the vendor does not know any more.
    orphans: VecDeque<Call>,
    /// The vendor's ids of finished calls.
    past: VecDeque<String>,
    counted: u64,
}

#[derive(Debug)]
struct Call {
    /// Id for the session.
    told: String,
    /// The vendor's ids: several if it has repeated the call meanwhile.
    ids: Vec<Option<String>>,
    name: String,
    arguments: String,
}

impl ToolCalls {
    /// The connection is gone; its calls go on.
    pub(super) fn orphan(&mut self) {
        self.orphans.append(&mut self.open);
        while self.orphans.len() > MOST_OPEN {
            self.orphans.pop_front();
        }
    }

    pub(super) fn called(&mut self, call: FunctionCall) -> Effect {
        let FunctionCall { id, name, args } = call;
        let id = id.filter(|id| !id.is_empty());
        if id.as_ref().is_some_and(|id| self.knows(id)) {
            return Effect::Remark(format!("the model called {name} twice by one id"));
        }
        let arguments = args.map(|args| args.get().trim().to_owned());
        let arguments =
            arguments.filter(|args| args.starts_with('{')).unwrap_or_else(|| "{}".to_owned());
        let same = |open: &&mut Call| open.name == name && open.arguments == arguments;
        if let Some(open) = self.open.iter_mut().find(same) {
            open.ids.push(id);
            return Effect::Remark(format!("the model called {name} again while it works"));
        }
        self.counted += 1;
        let told = id.clone().unwrap_or_else(|| format!("kakehashi-{}", self.counted));
        if self.open.len() >= MOST_OPEN {
            self.open.pop_front();
        }
        let call = Call { told: told.clone(), ids: vec![id], name, arguments };
        let (name, arguments) = (call.name.clone(), call.arguments.clone());
        self.open.push_back(call);
        Effect::Tell(LiveOutput::ToolCall { id: told, name, arguments })
    }

    /// The model has cancelled these calls.
    pub(super) fn cancelled(&mut self, ids: &[String]) -> Option<Effect> {
        let gone = |id: &Option<String>| id.as_ref().is_some_and(|id| ids.contains(id));
        let mut told = Vec::new();
        for call in &mut self.open {
            call.ids.retain(|id| !gone(id));
            if call.ids.is_empty() {
                told.push(call.told.clone());
            }
        }
        self.open.retain(|call| !call.ids.is_empty());
        self.remember(ids.iter().cloned());
        (!told.is_empty()).then_some(Effect::Tell(LiveOutput::ToolsCancelled { ids: told }))
    }

    /// The result of a call: a tool response, or a text if the vendor does not know the call.
    pub(super) fn answered(
        &mut self,
        told: &str,
        outcome: &Result<String, String>,
        works_aside: bool,
    ) -> Answer {
        if let Some(at) = self.orphans.iter().position(|call| call.told == told)
            && let Some(call) = self.orphans.remove(at)
        {
            let words = report(&call.name, outcome);
            self.remember(call.ids.into_iter().flatten());
            return Answer::Words(words);
        }
        let at = self.open.iter().position(|call| call.told == told);
        let Some(call) = at.and_then(|at| self.open.remove(at)) else {
            let known = self.past.iter().any(|id| id == told);
            // It was called by another vendor's model, which this one has replaced.
            return if known { Answer::Unwanted } else { Answer::Words(report(A_TOOL, outcome)) };
        };
        let answer = Answer::Frame(response(&call, outcome, works_aside));
        self.remember(call.ids.into_iter().flatten());
        answer
    }

    #[cfg(test)]
    pub(super) fn size(&self) -> usize {
        self.open.len() + self.orphans.len() + self.past.len()
    }

    fn knows(&self, id: &String) -> bool {
        let open = self.open.iter().flat_map(|call| call.ids.iter().flatten());
        open.chain(&self.past).any(|known| known == id)
    }

    fn remember(&mut self, ids: impl Iterator<Item = String>) {
        for id in ids {
            if self.past.len() >= MOST_PAST {
                self.past.pop_front();
            }
            self.past.push_back(id);
        }
    }
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Answer {
    Frame(String),
    Words(String),
    Unwanted,
}

fn response(call: &Call, outcome: &Result<String, String>, works_aside: bool) -> String {
    let response = match outcome {
        Ok(said) => Outcome::Output(said),
        Err(reason) => Outcome::Error(reason),
    };
    let responses = call.ids.iter().enumerate().map(|(at, id)| FunctionResponse {
        id: id.as_deref(),
        name: &call.name,
        response,
        // The model speaks about it once, and interrupts nobody.
        scheduling: works_aside.then_some(if at == 0 { "WHEN_IDLE" } else { "SILENT" }),
    });
    frame(&ToVendor::ToolResponse(ToolResponse { function_responses: responses.collect() }))
}

fn report(name: &str, outcome: &Result<String, String>) -> String {
    match outcome {
        Ok(said) => format!("{name}, which you asked for before, has come to this: {said}"),
        Err(reason) => format!("{name}, which you asked for before, has failed: {reason}"),
    }
}
