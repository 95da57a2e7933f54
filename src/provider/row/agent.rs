//! An agent that is a program, as the operator configured it.

/// One agent in the configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentRow {
    /// Name in the settings.
    pub name: String,
    /// Label for people.
    pub label: String,
    pub kind: AgentKind,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// Alternative names of the program, tried if the first is not installed.
    pub also: Vec<String>,
    /// Extra environment variables: `NAME` is copied from the gateway, `NAME=VALUE` is set.
    pub env: Vec<String>,
    /// The agent's mode in which it asks for approval; `None`: it asks without a mode being set.
    pub mode: Option<String>,
    /// The config option that sets the mode, for agents with several; `None`: the option of the category `mode`.
    pub mode_option: Option<String>,
    /// The config option that sets the model; `None`: the option of the category `model`.
    pub model_option: Option<String>,
    /// Models offered besides the agent's default; if empty, any name is accepted.
    pub models: Vec<String>,
    /// Whether its sandbox has network access.
    pub network: bool,
    /// Paths it may write to besides its workplace and its agent home: absolute, or `~/` and a path below our home,
    /// which then appears in the agent home.
    pub writable: Vec<String>,
    /// How to install it.
    pub install: String,
}

impl AgentRow {
    /// An agent with defaults for everything else.
    pub fn new(name: &str, kind: AgentKind) -> Self {
        Self {
            name: name.to_owned(),
            label: name.to_owned(),
            kind,
            command: Vec::new(),
            also: Vec::new(),
            env: Vec::new(),
            mode: None,
            mode_option: None,
            model_option: None,
            models: Vec::new(),
            network: false,
            writable: Vec::new(),
            install: String::new(),
        }
    }

    /// All names of its program, the preferred one first.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.command.first().into_iter().chain(&self.also).map(String::as_str)
    }
}

/// How the gateway talks to an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AgentKind {
    /// The Agent Client Protocol.
    Acp,
    /// One process per prompt, without approval questions.
    Command(CommandFormat),
}

/// What a command prints. JSON lines are read with JSON pointers such as `/message/text`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommandFormat {
    Text,
    JsonLines(JsonMapping),
}

/// JSON pointers into the lines that a command prints.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct JsonMapping {
    /// A piece of the answer.
    pub text: String,
    /// The whole answer at the end, for programs that do not stream.
    pub done: Option<String>,
    /// The error message; present if and only if the run failed.
    pub error: Option<String>,
    /// The name of a tool that was called.
    pub tool: Option<String>,
    /// Tokens of the run so far; all pointers that match are added up.
    pub tokens: Vec<String>,
    /// Cost of the run so far, in US dollars.
    pub cost: Option<String>,
}
