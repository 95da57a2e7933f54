//! What an agent does while it works, for clients that can show it.

use super::RunId;

/// One tool call. A later note with the same id replaces this one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolNote {
    /// The agent's own id for this call.
    pub id: String,
    /// A title for people, such as "Write a.txt".
    pub name: String,
    /// The tool's own name, such as `file:read`; `None` if the agent does not tell it.
    pub tool: Option<String>,
    /// Kind of tool: `read`, `edit`, `execute` and so on.
    pub kind: String,
    pub state: ToolState,
    /// As the agent sent it, mostly JSON; long inputs are cut off at the end.
    pub input: Option<String>,
    pub output: Option<String>,
    pub error: Option<String>,
    /// Files that the call touches, with the agent's own paths.
    pub paths: Vec<String>,
    /// The agent did not ask for approval.
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

/// One step of an agent's plan.
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

/// How full the model's context is and the cost so far, as the agent reports them.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Usage {
    pub used: u64,
    pub size: u64,
    pub cost: Option<Cost>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Cost {
    pub amount: f64,
    /// ISO 4217 code, such as `USD`.
    pub currency: String,
}

/// What an agent is doing now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AgentState {
    Starting,
    Thinking,
    ExecutingTool,
    WaitingForConfirmation,
    /// A cancel was sent to the agent.
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

/// The state of an agent, and its run if there is one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StateNote {
    pub state: AgentState,
    pub run: Option<RunId>,
}
