//! One checked tool call: what is shown to people, and what runs once it is approved.

use super::edit::Change;
use super::registry::Tool;
use super::shell::{self, Command};
use super::workplace::Workplace;
use crate::process::{Launcher, Place};
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::fmt;
use std::time::Duration;
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
    /// First and last line that it reads, if not all.
    pub lines: Option<(u32, u32)>,
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
    /// Not done here: the session gives the request to this agent.
    Request {
        agent: u8,
        request: String,
    },
    /// Not done here: the session runs this code in its sandbox for Python.
    Compute {
        code: String,
    },
    /// The call is known to fail, so it needs no approval.
    Impossible(String),
}

impl fmt::Debug for Work {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Look(_) => out.write_str("Look"),
            Self::Edit(change) => change.fmt(out),
            Self::Execute(command) => command.fmt(out),
            Self::Request { agent, .. } => write!(out, "Request({agent})"),
            Self::Compute { .. } => out.write_str("Compute"),
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
    /// Longest time that a command may take, whatever its arguments say.
    pub longest: Option<Duration>,
    /// Most memory of each process of a command, in bytes.
    pub memory: Option<u64>,
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

/// A longer value is cut in a title; the whole of it is in the call's input.
const LONGEST_VALUE: usize = 120;

impl Call {
    /// A title on one line. `say` puts the values into the text that belongs to the tool's name.
    pub fn title(&self, say: impl FnOnce(&str, &[(&str, &str)]) -> String) -> String {
        let values: Vec<_> =
            self.title_values.iter().map(|(name, value)| (*name, short(value))).collect();
        let values: Vec<_> = values.iter().map(|(name, value)| (*name, value.as_str())).collect();
        say(self.tool.name, &values)
    }

    /// The change that the call would make to a file.
    pub fn change(&self) -> Option<&Change> {
        match &self.work {
            Work::Edit(change) => Some(change),
            Work::Look(_)
            | Work::Execute(_)
            | Work::Request { .. }
            | Work::Compute { .. }
            | Work::Impossible(_) => None,
        }
    }

    /// The command line that it would run.
    pub fn command(&self) -> Option<&str> {
        match &self.work {
            Work::Execute(command) => Some(command.script()),
            Work::Look(_)
            | Work::Edit(_)
            | Work::Request { .. }
            | Work::Compute { .. }
            | Work::Impossible(_) => None,
        }
    }

    /// The number of the agent that it would give work to, and the request.
    pub fn request(&self) -> Option<(u8, &str)> {
        match &self.work {
            Work::Request { agent, request } => Some((*agent, request)),
            Work::Look(_)
            | Work::Edit(_)
            | Work::Execute(_)
            | Work::Compute { .. }
            | Work::Impossible(_) => None,
        }
    }

    /// The Python that it would run.
    pub fn code(&self) -> Option<&str> {
        match &self.work {
            Work::Compute { code } => Some(code),
            Work::Look(_)
            | Work::Edit(_)
            | Work::Execute(_)
            | Work::Request { .. }
            | Work::Impossible(_) => None,
        }
    }

    /// Why the call is known to fail.
    pub fn impossible(&self) -> Option<&str> {
        match &self.work {
            Work::Impossible(reason) => Some(reason),
            Work::Look(_)
            | Work::Edit(_)
            | Work::Execute(_)
            | Work::Request { .. }
            | Work::Compute { .. } => None,
        }
    }

    /// Runs an approved call that starts no program; blocking. Any other call is handed back.
    #[expect(clippy::result_large_err, reason = "the call goes on as it is, by the other way")]
    pub fn run_blocking(self, context: &Context) -> Result<Outcome, Self> {
        match self.work {
            Work::Look(look) => Ok(look(&context.stop)),
            Work::Edit(change) => Ok(change.apply(&context.workplace)),
            Work::Execute(_)
            | Work::Request { .. }
            | Work::Compute { .. }
            | Work::Impossible(_) => Err(self),
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
            Work::Request { .. } => Ok(Err("agents cannot be given work here".to_owned())),
            Work::Compute { .. } => Ok(Err("there is no sandbox for Python here".to_owned())),
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

/// The first line, or its beginning.
fn short(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    let short: String = line.chars().take(LONGEST_VALUE).collect();
    if short.len() < text.trim_end().len() { format!("{short}...") } else { short }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_shows_one_short_line_of_each_value() {
        assert_eq!(short("ls"), "ls");
        assert_eq!(short("ls\nrm x"), "ls...");
        assert_eq!(
            short(&"x".repeat(LONGEST_VALUE + 1)),
            format!("{}...", "x".repeat(LONGEST_VALUE))
        );
        assert_eq!(short(""), "");
    }
}
