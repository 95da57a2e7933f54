//! The built-in code agent. It speaks the same protocol as all other agents, so that the gateway has one way to open,
//! ask, show and stop. A chat model that can call tools drives it, or, with none at all, exact commands.

mod command;
mod connection;
mod prompt;
mod speaker;
mod title;
mod turn;

use super::CODER;
use crate::process::Place;
use crate::provider::agent::{Guest, InsideAgent, Program, Serving};
use crate::provider::chat::{self, ChatConfig, ChatRequest, ChatTurn};
use crate::provider::row::{AgentKind, AgentRow};
use connection::Connection;
use std::any::Any;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::io::DuplexStream;

/// What it is called in settings.
const NAME: &str = "builtin";
const LABEL: &str = "Built-in agent";
/// The only mode: it asks before it does anything.
const ASKS: &str = "ask";

/// All that is needed to start it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Coder {
    /// How the commands that it runs are started; only its label and its environment matter besides.
    program: Arc<Program>,
    chat: Option<ChatConfig>,
    asking: Asking,
    /// The file in which it keeps the conversation.
    memory: PathBuf,
    /// Files and directories that are none of its business, even below its workplace.
    private: Vec<PathBuf>,
    texts: Texts,
}

type Ask = dyn Fn(&ChatConfig, ChatRequest) -> ChatTurn + Send + Sync;

/// How a model is asked. The session checks the budget first, and counts.
#[derive(Clone)]
pub struct Asking(Arc<Ask>);

impl Asking {
    pub fn new(ask: impl Fn(&ChatConfig, ChatRequest) -> ChatTurn + Send + Sync + 'static) -> Self {
        Self(Arc::new(ask))
    }

    fn ask(&self, chat: &ChatConfig, request: ChatRequest) -> ChatTurn {
        (self.0)(chat, request)
    }
}

impl Default for Asking {
    fn default() -> Self {
        Self::new(chat::ask)
    }
}

impl fmt::Debug for Asking {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Asking")
    }
}

/// Another way to ask the same model does not make another agent.
impl PartialEq for Asking {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Asking {}

/// What the agent says by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Said<'a> {
    Help,
    /// The answer to a request that needs a model.
    NoModel,
    /// A phrase of our own code, in English.
    Phrase(&'a str),
    /// The title of a tool of this name, with what it is used on. Nothing in it is taken for a phrase.
    Title {
        tool: &'a str,
        values: &'a [(&'a str, &'a str)],
    },
    /// The title in English, whatever the session speaks.
    EnglishTitle {
        tool: &'a str,
        values: &'a [(&'a str, &'a str)],
    },
}

type Say = dyn Fn(Said<'_>) -> String + Send + Sync;

/// The agent's texts in the user's language. Models are told everything in English.
#[derive(Clone)]
pub struct Texts(Arc<Say>);

impl Texts {
    pub fn new(say: impl Fn(Said<'_>) -> String + Send + Sync + 'static) -> Self {
        Self(Arc::new(say))
    }

    fn say(&self, said: Said<'_>) -> String {
        (self.0)(said)
    }

    fn word(&self, english: &str) -> String {
        self.say(Said::Phrase(english))
    }
}

impl fmt::Debug for Texts {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Texts")
    }
}

/// Another language does not make another agent.
impl PartialEq for Texts {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Texts {}

impl Coder {
    /// `supervisor` is our own binary, `owner` marks every process.
    pub fn new(supervisor: PathBuf, owner: Arc<str>, memory: PathBuf, texts: Texts) -> Self {
        let row = AgentRow {
            label: LABEL.to_owned(),
            mode: Some(ASKS.to_owned()),
            network: true,
            ..AgentRow::new(NAME, AgentKind::Acp)
        };
        let program = Program { row, supervisor, owner, model: None, resume: None };
        let program = Arc::new(program);
        let asking = Asking::default();
        Self { program, chat: None, asking, memory, private: Vec::new(), texts }
    }

    /// A model that cannot call tools is of no use here.
    pub fn with_chat(mut self, chat: ChatConfig) -> Self {
        self.chat = Some(chat).filter(|chat| chat::capabilities(chat).tools);
        self
    }

    pub fn with_asking(mut self, asking: Asking) -> Self {
        self.asking = asking;
        self
    }

    pub fn with_private(mut self, private: Vec<PathBuf>) -> Self {
        self.private = private;
        self
    }

    /// Whether its commands may reach the network.
    #[must_use]
    pub fn with_network(mut self, network: bool) -> Self {
        Arc::make_mut(&mut self.program).row.network = network;
        self
    }
}

impl InsideAgent for Coder {
    fn program(&self) -> &Arc<Program> {
        &self.program
    }

    fn memory(&self) -> &Path {
        &self.memory
    }

    fn works_on_project(&self) -> bool {
        CODER.works_on_project
    }

    fn serve(self: Arc<Self>, place: Place, stream: DuplexStream, guest: Guest) -> Serving {
        Box::pin(Connection::new(self, place, stream, guest).serve())
    }

    fn is_same(&self, other: &dyn InsideAgent) -> bool {
        (other as &dyn Any).downcast_ref::<Self>() == Some(self)
    }
}
