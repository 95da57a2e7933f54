//! One checked tool call: what is shown to people, and what runs once it is approved.

use super::edit::Change;
use super::registry::Tool;
use super::shell::{self, Command};
use super::workplace::Workplace;
use crate::process::{Launcher, Place};
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::fmt;
use tokio_util::sync::CancellationToken;

/// The result of a tool, or why it failed.
pub type Outcome = Result<String, String>;

#[derive(Debug)]
pub struct Call {
    pub tool: &'static Tool,
    /// The arguments as people are shown them, a JSON object.
    pub input: Value,
    pub title_values: Vec<TitleValue>,
    /// The file or directory that the call works on.
    pub path: Option<String>,
    /// The first line that the call reads.
    pub line: Option<u32>,
    pub(super) work: Work,
}

/// A value in the title of a call: the name of its placeholder in the title's text, and the value.
pub type TitleValue = (&'static str, String);

pub(super) enum Work {
    /// A read-only tool; blocking.
    Look(Box<dyn FnOnce(&CancellationToken) -> Outcome + Send + Sync>),
    /// A change of a file; blocking.
    Edit(Change),
    Execute(Command),
    /// The call is known to fail, so it needs no approval.
    Impossible(String),
}

impl fmt::Debug for Work {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Look(_) => out.write_str("Look"),
            Self::Edit(change) => change.fmt(out),
            Self::Execute(command) => command.fmt(out),
            Self::Impossible(reason) => reason.fmt(out),
        }
    }
}

/// What a call needs to run.
#[derive(Debug, Clone)]
pub struct Context {
    pub workplace: Workplace,
    /// Starts the call's programs.
    pub launcher: Launcher,
    /// Where the call's programs run.
    pub place: Place,
    /// Cancels the call.
    pub stop: CancellationToken,
    /// Kills the call's processes without a grace period.
    pub kill_now: CancellationToken,
}

/// Receives the output of a command while it runs.
pub trait Output: Sync {
    fn print(&self, piece: &str) -> impl Future<Output = Result<(), OutputClosed>> + Send;
}

/// The receiver of the output is gone.
#[derive(Debug)]
pub struct OutputClosed;

/// Why a call has no outcome.
#[derive(Debug)]
pub enum Interrupted {
    Cancelled,
    OutputClosed,
    /// The gateway is shutting down.
    Shutdown,
}

impl Call {
    /// The change that the call would make to a file.
    pub fn change(&self) -> Option<&Change> {
        match &self.work {
            Work::Edit(change) => Some(change),
            Work::Look(_) | Work::Execute(_) | Work::Impossible(_) => None,
        }
    }

    /// Why the call is known to fail.
    pub fn impossible(&self) -> Option<&str> {
        match &self.work {
            Work::Impossible(reason) => Some(reason),
            Work::Look(_) | Work::Edit(_) | Work::Execute(_) => None,
        }
    }

    /// Runs the approved call. Returns when all processes that it started are gone.
    pub async fn run(
        self,
        context: &Context,
        output: &impl Output,
    ) -> Result<Outcome, Interrupted> {
        match self.work {
            Work::Look(look) => {
                let stop = context.stop.clone();
                blocking(move || look(&stop)).await
            }
            Work::Edit(change) => {
                let place = context.workplace.clone();
                blocking(move || change.apply(&place)).await
            }
            Work::Execute(command) => shell::run(&command, context, output).await,
            Work::Impossible(reason) => Ok(Err(reason)),
        }
    }
}

/// Reads the arguments. The error is for the model.
pub(super) fn arguments<T: DeserializeOwned>(tool: &Tool, text: &str) -> Result<T, String> {
    serde_json::from_str(text).map_err(|err| {
        format!("the arguments of {} do not match its schema: {err}", tool.model_name())
    })
}

/// A path as titles show it.
pub(super) fn shown_path(path: &str) -> String {
    if path.is_empty() { ".".to_owned() } else { path.to_owned() }
}

async fn blocking(work: impl FnOnce() -> Outcome + Send + 'static) -> Result<Outcome, Interrupted> {
    // A failed join means that the runtime is ending.
    tokio::task::spawn_blocking(work).await.map_err(|_| Interrupted::Shutdown)
}
