//! The data analyst: answers questions about a table by running Python on it. This module owns the graph of its steps,
//! what they say to each other, and the rules that plan an analysis without a model. It knows nothing of sessions, and
//! runs no program itself.

mod graph;
mod html;
mod mind;
mod model;
pub mod planner;
mod report;
pub mod schema;
mod script;

pub use graph::{Answered, MOST_ACTIONS, Request, analyse};
pub use html::{Figure, page};
pub use mind::{Mind, Program};
pub use model::Abilities;
pub use report::markdown;

use super::Halt;
use crate::locale::Locale;
use crate::message::{Report, Work};
use crate::provider::chat::{ChatRequest, ChatTurn, Usage};
use schema::ExecutionResult;

/// The host of the analyst: it asks the model, runs approved code, and shows the steps to people.
pub trait Host: Send {
    fn ask(&self, request: ChatRequest) -> ChatTurn;
    /// Returns when the request is cancelled.
    fn cancelled(&self) -> impl Future<Output = ()> + Send;
    fn count(&mut self, usage: Usage) -> impl Future<Output = Result<(), Halt>> + Send;
    /// Shows a step.
    fn tell(&mut self, work: Work) -> impl Future<Output = Result<(), Halt>> + Send;
    /// The answer in words.
    fn say(&mut self, text: &str) -> impl Future<Output = Result<(), Halt>> + Send;
    /// Runs code if that is approved, keeps the files that it saved, and shows both. A refusal is a failed result.
    fn execute(
        &mut self,
        step: u32,
        program: &Program,
    ) -> impl Future<Output = Result<ExecutionResult, Halt>> + Send;
    /// Shows a report and keeps it as files.
    fn report(
        &mut self,
        report: Report,
        markdown: &str,
        locale: Locale,
    ) -> impl Future<Output = Result<(), Halt>> + Send;
}

#[cfg(test)]
mod tests;
