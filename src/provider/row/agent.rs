//! A code agent that is a program, as the operator wrote it down.

/// One code agent of the configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentRow {
    /// What settings call it.
    pub name: String,
    /// What people read.
    pub label: String,
    pub kind: AgentKind,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// Other names of the program, for where the first is not installed.
    pub also: Vec<String>,
    /// Variables that it sees besides the usual: `NAME` as the gateway has it, or `NAME=VALUE`.
    pub env: Vec<String>,
    /// The mode in which it asks before it acts; `None`: it does so by itself.
    pub mode: Option<String>,
    /// The option that sets the mode, for agents that have several; `None`: the one of that category.
    pub mode_option: Option<String>,
    /// The same for the model.
    pub model_option: Option<String>,
    /// Models that are offered besides its own choice; empty: any name may be tried.
    pub models: Vec<String>,
    /// Whether it may reach the network from within its box.
    pub network: bool,
    /// What it may change besides its place of work and its own home: absolute, or `~/` and a path below our home,
    /// which it then finds in its own.
    pub writable: Vec<String>,
    /// How to get it.
    pub install: String,
}

impl AgentRow {
    /// An agent of which nothing else is known.
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

    /// All names of its program, the usual one first.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.command.first().into_iter().chain(&self.also).map(String::as_str)
    }
}

/// How the gateway talks to a code agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AgentKind {
    /// The Agent Client Protocol.
    Acp,
    /// One process per prompt, which takes no questions and asks none.
    Command(CommandFormat),
}

/// What a command prints. What its lines mean is told by JSON pointers such as `/message/text`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommandFormat {
    Text,
    JsonLines(JsonMapping),
}

/// What the lines mean.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct JsonMapping {
    /// The next piece of the answer.
    pub text: String,
    /// The whole answer at the end, for programs that stream none.
    pub done: Option<String>,
    /// Why it failed; there if and only if it did.
    pub error: Option<String>,
    /// The name of a tool that was used.
    pub tool: Option<String>,
    /// Tokens of the run so far; all that are there are added up.
    pub tokens: Vec<String>,
    /// What the run has cost so far, in US dollars.
    pub cost: Option<String>,
}
