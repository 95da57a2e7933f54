//! Code agents. [`start`] returns an [`AgentLink`]: two bounded queues to one agent that works through one
//! prompt at a time. Dropping the link ends the agent and every process it started.

mod process;
mod scripted;

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::sync::mpsc;

/// Prompts and cancels waiting for the agent; the session sends one prompt at a time, so this never fills.
pub const AGENT_INPUT_CAPACITY: usize = 8;
/// Output waiting for the session. Full: the agent waits.
pub const AGENT_OUTPUT_CAPACITY: usize = 256;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AgentConfig {
    Scripted {
        /// Marks every process, so that the next gateway finds what this one could not end.
        owner: Arc<str>,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentPrompt {
    pub text: String,
    /// Files the user sent shortly before, where they are stored.
    pub attachments: Vec<PathBuf>,
}

#[derive(Debug)]
pub enum AgentInput {
    Prompt(AgentPrompt),
    /// Stop the current prompt and all it started; answered by `Done(Cancelled)`, also when nothing runs.
    Cancel,
}

#[derive(Debug, PartialEq, Eq)]
pub enum AgentOutput {
    /// One line of progress, without its newline.
    Line(String),
    /// The next piece of the final answer, to be appended.
    Answer(String),
    /// A picture or other result, as a path below the workplace with forward slashes.
    FileMade(String),
    /// Paths below the workplace that this prompt changed; at most once, before `Done`.
    FilesChanged(Vec<String>),
    Done(AgentEnd),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AgentEnd {
    Finished,
    Cancelled,
    Failed { reason: String },
}

#[derive(Debug)]
pub struct AgentLink {
    pub input: mpsc::Sender<AgentInput>,
    pub output: mpsc::Receiver<AgentOutput>,
}

/// The mark of all agents of one data directory.
pub fn owner(data: &Path) -> Arc<str> {
    let mut hasher = DefaultHasher::new();
    data.hash(&mut hasher);
    format!("{:016x}", hasher.finish()).into()
}

/// Kills what agents of this owner have left running, and returns how many processes that were. Blocking.
pub fn end_all(owner: &str) -> usize {
    process::end_all(owner)
}

/// Starts an agent that works below `workplace`. Returns at once; trouble arrives as a failed prompt.
pub fn start(config: &AgentConfig, workplace: &Path) -> AgentLink {
    match config {
        AgentConfig::Scripted { owner } => scripted::start(workplace.to_owned(), owner),
    }
}
