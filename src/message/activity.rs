//! What an agent does while it works, as clients that know about it are told.

use super::RunId;

/// One use of a tool; takes the place of what was told under the same id before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolNote {
    /// The agent's own name for this call.
    pub id: String,
    /// For people, such as "Write a.txt".
    pub name: String,
    /// What sort of tool it is: `read`, `edit`, `execute` and so on.
    pub kind: String,
    pub state: ToolState,
    /// As the agent wrote it, mostly JSON; long ones lose their end.
    pub input: Option<String>,
    pub output: Option<String>,
    pub error: Option<String>,
    /// The files that it touches, by the agent's own names for them.
    pub paths: Vec<String>,
    /// The agent went ahead without asking anybody.
    pub ungated: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolState {
    Started,
    Completed,
    Failed,
}

impl ToolState {
    pub const ALL: [Self; 3] = [Self::Started, Self::Completed, Self::Failed];

    pub fn name(self) -> &'static str {
        match self {
            Self::Started => "started",
            Self::Completed => "completed",
            Self::Failed => "failed",
        }
    }
}

/// One step of what an agent intends to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanStep {
    pub text: String,
    pub state: PlanStepState,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlanStepState {
    Pending,
    Started,
    Completed,
}

impl PlanStepState {
    pub const ALL: [Self; 3] = [Self::Pending, Self::Started, Self::Completed];

    pub fn name(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Started => "started",
            Self::Completed => "completed",
        }
    }
}

/// How full the model's context is, and what it has cost so far, as far as the agent tells.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Usage {
    pub used: u64,
    pub size: u64,
    pub cost: Option<Cost>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Cost {
    pub amount: f64,
    /// By its three letters.
    pub currency: String,
}

/// What an agent does at the moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AgentState {
    Starting,
    Thinking,
    ExecutingTool,
    WaitingForConfirmation,
    /// It was told to stop.
    Stopping,
    WaitingForInput,
}

impl AgentState {
    pub fn name(self) -> &'static str {
        match self {
            Self::Starting => "starting",
            Self::Thinking => "thinking",
            Self::ExecutingTool => "executing_tool",
            Self::WaitingForConfirmation => "waiting_for_confirmation",
            Self::Stopping => "stopping",
            Self::WaitingForInput => "waiting_for_input",
        }
    }
}

/// The state of an agent, and which run it is about, if there is one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StateNote {
    pub state: AgentState,
    pub run: Option<RunId>,
}
