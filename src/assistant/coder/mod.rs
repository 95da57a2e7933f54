//! The built-in code agent. It speaks ACP, like other agents, so that the gateway treats it like them. A chat model
//! that can call tools drives it, or exact commands such as `/read` if there is no such model.

mod command;
mod connection;
mod prompt;
mod speaker;
mod title;
mod turn;

use super::CODER;
use crate::process::Place;
use crate::provider::agent::{EndSignals, InsideAgent, Program, Serving};
use crate::provider::chat::{self, ChatConfig, ChatRequest, ChatTurn};
use crate::provider::row::{AgentKind, AgentRow};
use connection::Connection;
use std::any::Any;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::io::DuplexStream;

/// Its name in the settings.
const NAME: &str = "builtin";
const LABEL: &str = "Built-in agent";
/// The only mode: the agent asks for approval before every tool call.
const ASK_MODE: &str = "ask";

/// The configuration of the built-in agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Coder {
    /// Starts the commands that the agent runs. It also has the agent's label, mode and environment.
    program: Arc<Program>,
    chat: Option<ChatConfig>,
    asking: Asking,
    /// The file in which the agent saves its conversation.
    memory: PathBuf,
    /// Files and directories that the agent must not see, even inside its workplace.
    private: Vec<PathBuf>,
    texts: Texts,
}

type Ask = dyn Fn(&ChatConfig, ChatRequest) -> ChatTurn + Send + Sync;

/// Sends requests to the chat model. A session passes one that checks the token budget first and counts usage.
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

/// Always equal: agents that differ only in how they send requests are the same agent.
impl PartialEq for Asking {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Asking {}

/// A text of the agent itself, as opposed to the model's answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Said<'a> {
    Help,
    /// The answer to a request that needs a model.
    NoModel,
    /// An English phrase from our own code.
    Phrase(&'a str),
    /// The title of a call of this tool. Its values are not translated.
    Title {
        tool: &'a str,
        values: &'a [(&'a str, &'a str)],
    },
    /// The title in English, whatever the session's language.
    EnglishTitle {
        tool: &'a str,
        values: &'a [(&'a str, &'a str)],
    },
}

type Say = dyn Fn(Said<'_>) -> String + Send + Sync;

/// The agent's own texts in the user's language. Texts for models are in English.
#[derive(Clone)]
pub struct Texts(Arc<Say>);

impl Texts {
    pub fn new(say: impl Fn(Said<'_>) -> String + Send + Sync + 'static) -> Self {
        Self(Arc::new(say))
    }

    fn say(&self, said: Said<'_>) -> String {
        (self.0)(said)
    }

    fn phrase(&self, english: &str) -> String {
        self.say(Said::Phrase(english))
    }
}

impl fmt::Debug for Texts {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Texts")
    }
}

/// Always equal: agents that differ only in language are the same agent.
impl PartialEq for Texts {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Texts {}

impl Coder {
    /// `supervisor` is the gateway's own binary; `owner` marks every process that the agent starts.
    pub fn new(supervisor: PathBuf, owner: Arc<str>, memory: PathBuf, texts: Texts) -> Self {
        let row = AgentRow {
            label: LABEL.to_owned(),
            mode: Some(ASK_MODE.to_owned()),
            network: true,
            ..AgentRow::new(NAME, AgentKind::Acp)
        };
        let program = Program { row, supervisor, owner, model: None, resume: None };
        let program = Arc::new(program);
        let asking = Asking::default();
        Self { program, chat: None, asking, memory, private: Vec::new(), texts }
    }

    /// Ignored if the model cannot call tools.
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

    fn serve(self: Arc<Self>, place: Place, stream: DuplexStream, signals: EndSignals) -> Serving {
        Box::pin(Connection::new(self, place, stream, signals).serve())
    }

    fn is_same(&self, other: &dyn InsideAgent) -> bool {
        (other as &dyn Any).downcast_ref::<Self>() == Some(self)
    }
}
