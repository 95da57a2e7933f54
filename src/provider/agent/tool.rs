//! What an agent does and asks for, in our own words. Inputs and outputs are text for people; JSON stays JSON.

use std::sync::Arc;

/// One use of a tool by the agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tool {
    /// The agent's name for this call, unique within its session.
    pub id: String,
    /// For people, such as "Write a.txt".
    pub title: String,
    /// The title in English, where `title` is in the user's language: rules may name it. Nobody is shown it.
    pub english: Option<String>,
    /// The tool's own name, if the agent tells it.
    pub name: Option<String>,
    pub kind: ToolKind,
    pub status: ToolStatus,
    /// What the tool was called with, as JSON. All of it, because a decision is about all of it; see `unseen`.
    pub input: Option<Arc<str>>,
    /// Bytes that are missing at the end of title and input: there are more than anybody can judge.
    pub unseen: usize,
    /// What came out so far; long output loses its beginning.
    pub output: Option<String>,
    /// Why it failed; only with [`ToolStatus::Failed`].
    pub error: Option<String>,
    pub locations: Vec<Location>,
    pub diffs: Vec<FileDiff>,
    /// The agent asked before it went on.
    pub asked: bool,
    /// Something shows that it was begun: its status, output before its end, or an exit code.
    pub ran: bool,
}

impl Tool {
    /// Nothing more is known of it.
    pub fn new(id: String, title: String, status: ToolStatus) -> Self {
        Self {
            id,
            title,
            english: None,
            name: None,
            kind: ToolKind::Other,
            status,
            input: None,
            unseen: 0,
            output: None,
            error: None,
            locations: Vec::new(),
            diffs: Vec::new(),
            asked: false,
            ran: false,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolKind {
    Read,
    Edit,
    Delete,
    Move,
    Search,
    Execute,
    Think,
    Fetch,
    SwitchMode,
    Other,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolStatus {
    Started,
    Completed,
    Failed,
}

/// A file that a tool touches, by the path that the agent uses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Location {
    pub path: String,
    pub line: Option<u32>,
}

/// A change to one file; `old` is missing for a new one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileDiff {
    pub path: String,
    pub old: Option<Arc<str>>,
    pub new: Arc<str>,
    /// Bytes before and after, if that is too much to compare; the texts are empty then.
    pub too_large: Option<(usize, usize)>,
}

/// One question of one link; never given twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AskId(pub u64);

/// May this tool run?
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ask {
    pub id: AskId,
    pub tool: Tool,
    /// What the agent would take for an answer; a decision is translated to the nearest of them.
    pub options: Vec<AskOption>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AskOption {
    pub name: String,
    pub kind: AskOptionKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AskOptionKind {
    AllowOnce,
    AllowAlways,
    RejectOnce,
    RejectAlways,
}
