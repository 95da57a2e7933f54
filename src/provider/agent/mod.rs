//! Code agents. [`start`] returns an [`AgentLink`]: two bounded queues to one agent that works through one
//! prompt at a time. Dropping the link ends the agent and every process it started.

pub(crate) mod acp;
mod argument;
mod check;
mod command;
mod inside;
mod program;
mod scripted;
mod tool;

pub use crate::message::{AgentState, Cost, PlanStep, PlanStepState, Usage};
pub use crate::process::{AgentHome, Place};
pub use check::Checker;
pub use inside::{EndSignals, Inside, InsideAgent, Serving};
pub use program::{Program, installed};
pub use tool::{
    Ask, AskId, AskOption, AskOptionKind, FileDiff, Location, Tool, ToolKind, ToolStatus,
};

use crate::process::Launcher;
use crate::provider::row::AgentKind;
use bytes::Bytes;
use std::path::PathBuf;
use std::sync::Arc;
use tokio::sync::mpsc;

/// Prompts, cancels and answers waiting for the agent. The session sends one prompt at a time and one answer to
/// each question, and an agent takes its input whatever else it does, so this never fills.
pub const AGENT_INPUT_CAPACITY: usize = 64;
/// Output waiting for the session. Full: the agent waits.
pub const AGENT_OUTPUT_CAPACITY: usize = 256;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AgentConfig {
    Scripted(Launcher),
    /// One of our own, which needs no program.
    Inside(Inside),
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
            // Inside agents remember by themselves.
            Self::Scripted(_) | Self::Inside(_) | Self::Program(_) => self.clone(),
        }
    }

    /// It is a program that is kept from prompt to prompt, so the first one need not wait for its start.
    pub fn can_be_warm(&self) -> bool {
        match self {
            Self::Scripted(_) | Self::Inside(_) => false,
            Self::Program(program) => program.row.kind == AgentKind::Acp,
        }
    }

    /// Whether what it reports of its costs goes on from prompt to prompt.
    pub fn goes_on(&self) -> bool {
        match self {
            Self::Scripted(_) | Self::Inside(_) => true,
            Self::Program(program) => program.row.kind == AgentKind::Acp,
        }
    }

    /// Whether it works on the project, so that it needs a workplace and backups.
    pub fn works_on_project(&self) -> bool {
        match self {
            Self::Scripted(_) | Self::Program(_) => true,
            Self::Inside(agent) => agent.0.works_on_project(),
        }
    }

    /// It asks before it does what needs approval; otherwise it must be kept where it can do no harm.
    pub fn has_approvals(&self) -> bool {
        match self {
            Self::Scripted(_) | Self::Inside(_) => true,
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

/// Starts an agent that works at this place. Returns at once; trouble arrives as a failed prompt.
pub fn start(config: &AgentConfig, place: &Place) -> AgentLink {
    match config {
        AgentConfig::Scripted(launcher) => scripted::start(place.clone(), launcher.clone()),
        AgentConfig::Inside(agent) => acp::start_inside(agent.clone(), place.clone()),
        AgentConfig::Program(program) => program::start(program, place),
    }
}
