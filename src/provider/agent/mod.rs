//! Code agents. [`start`] returns an [`AgentLink`]: two bounded queues to one agent that works through one
//! prompt at a time. Dropping the link ends the agent and every process it started.

mod acp;
mod argument;
mod builtin;
mod check;
mod command;
mod home;
mod line;
mod place;
mod process;
mod program;
mod scripted;
mod supervised;
mod supervisor;
mod tool;

pub use crate::message::{AgentState, Cost, PlanStep, PlanStepState, Usage};
pub use builtin::{Asking, BuiltIn, Said, Texts};
pub use check::Checker;
pub use home::AgentHome;
pub use place::Place;
pub use program::{Program, installed};
pub use supervisor::{AgentStdin, become_agent, become_command, supervise};
pub use tool::{
    Ask, AskId, AskOption, AskOptionKind, FileDiff, Location, Tool, ToolKind, ToolStatus,
};

use crate::provider::row::AgentKind;
use bytes::Bytes;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::sync::mpsc;

/// Prompts, cancels and answers waiting for the agent. The session sends one prompt at a time and one answer to
/// each question, and an agent takes its input whatever else it does, so this never fills.
pub const AGENT_INPUT_CAPACITY: usize = 64;
/// Output waiting for the session. Full: the agent waits.
pub const AGENT_OUTPUT_CAPACITY: usize = 256;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AgentConfig {
    Scripted {
        /// Our own binary, which supervises its commands.
        supervisor: PathBuf,
        /// Marks every process, so that the next gateway finds what this one could not end.
        owner: Arc<str>,
    },
    /// Our own, which needs no program.
    BuiltIn(Arc<BuiltIn>),
    /// A program that a row of the configuration describes.
    Program(Arc<Program>),
}

impl AgentConfig {
    /// The same, going on with a conversation that an earlier process had.
    #[must_use]
    pub fn resuming(&self, conversation: Option<String>) -> Self {
        match self {
            Self::Program(program) if conversation.is_some() => {
                Self::Program(Arc::new(Program { resume: conversation, ..Program::clone(program) }))
            }
            // Our own remembers by itself.
            Self::Scripted { .. } | Self::BuiltIn(_) | Self::Program(_) => self.clone(),
        }
    }

    /// It is a program that is kept from prompt to prompt, so the first one need not wait for its start.
    pub fn can_be_warm(&self) -> bool {
        match self {
            Self::Scripted { .. } | Self::BuiltIn(_) => false,
            Self::Program(program) => program.row.kind == AgentKind::Acp,
        }
    }

    /// Whether what it reports of its costs goes on from prompt to prompt.
    pub fn goes_on(&self) -> bool {
        match self {
            Self::Scripted { .. } | Self::BuiltIn(_) => true,
            Self::Program(program) => program.row.kind == AgentKind::Acp,
        }
    }

    /// It asks before it does what needs approval; otherwise it must be kept where it can do no harm.
    pub fn has_approvals(&self) -> bool {
        match self {
            Self::Scripted { .. } | Self::BuiltIn(_) => true,
            Self::Program(program) => program.has_approvals(),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentPrompt {
    pub text: String,
    /// Files the user sent shortly before, where they are stored.
    pub attachments: Vec<PathBuf>,
}

#[derive(Debug)]
pub enum AgentInput {
    /// Somebody may ask something soon. Who takes long to start does so now; has no answer of its own, and trouble is
    /// told with the prompt.
    Warm,
    Prompt(AgentPrompt),
    /// Stop the current prompt and all it started; answered by `Done(Cancelled)`, also when nothing runs.
    Cancel,
    /// A cancel is under way and takes too long: end the processes now. Has no answer of its own.
    CancelNow,
    /// What was decided about an [`Ask`]; unknown and answered ones are passed over.
    Answer {
        id: AskId,
        decision: Decision,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    AllowOnce,
    /// For the rest of this agent's session, if it knows such a thing; once otherwise.
    AllowAlways,
    Deny,
    /// Nobody decides any more.
    Cancelled,
}

#[derive(Debug, PartialEq)]
pub enum AgentOutput {
    /// One line of progress, without its newline.
    Line(String),
    /// A line of our own about the agent, which may be said in another language.
    Note(String),
    /// The next piece of the answer, to be appended.
    Answer(String),
    /// The answer of one who has told all of it as lines, or has come to it only at the end.
    WholeAnswer(String),
    /// The next piece of what the model thinks, to be appended.
    Thought(String),
    /// A tool call as it is now; takes the place of what was told under the same id.
    Tool(Tool),
    /// All steps of the plan as it is now.
    Plan(Vec<PlanStep>),
    Usage(Usage),
    /// The agent waits for an [`AgentInput::Answer`]. `Done` makes every open question void.
    Ask(Ask),
    State(AgentState),
    /// The agent works in this mode from now on, by its own name for it.
    Mode(String),
    /// The agent's own name for this conversation; with it a later process can go on, see [`Program::resume`].
    Opened {
        session: String,
        resumed: bool,
    },
    /// A picture that it shows, as bytes that begin like one.
    Picture(Bytes),
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

/// Returns when no process of this owner's agents is left.
pub async fn all_gone(owner: &str) {
    process::all_gone(owner).await;
}

/// Starts an agent that works at this place. Returns at once; trouble arrives as a failed prompt.
pub fn start(config: &AgentConfig, place: &Place) -> AgentLink {
    match config {
        AgentConfig::Scripted { supervisor, owner } => {
            scripted::start(place.clone(), supervisor.clone(), Arc::clone(owner))
        }
        AgentConfig::BuiltIn(agent) => acp::start_inside(Arc::clone(agent), place.clone()),
        AgentConfig::Program(program) => program::start(program, place),
    }
}
