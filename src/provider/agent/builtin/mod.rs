//! The code agent that is always there. It lives in this process and speaks the same protocol as all others, so that
//! the gateway has one way to open, ask, show and stop. A chat model that can call tools drives it, or, with none at
//! all, exact commands.

mod command;
mod connection;
mod conversation;
mod edit;
mod look;
mod model;
mod prompt;
mod shell;
mod speaker;
mod tool;
mod turn;
mod workplace;

use super::Place;
use super::program::Program;
use crate::provider::chat::{self, ChatConfig, ChatRequest, ChatTurn};
use crate::provider::row::{AgentKind, AgentRow};
use crate::task;
use connection::Connection;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use tokio::io::DuplexStream;
use tokio_util::sync::CancellationToken;

/// What it is called in settings.
const NAME: &str = "builtin";
const LABEL: &str = "Built-in agent";
/// The only mode: it asks before it does anything.
const ASKS: &str = "ask";
/// What may be on its way in each direction. Full: the writer waits.
const STREAM_CAPACITY: usize = 256 * 1024;

/// All that is needed to start it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BuiltIn {
    /// How the commands that it runs are started; only its label and its environment matter besides.
    pub(super) program: Arc<Program>,
    chat: Option<ChatConfig>,
    asking: Asking,
    /// The file in which it keeps the conversation.
    memory: PathBuf,
    /// Files and directories that are none of its business, even below its place of work.
    private: Vec<PathBuf>,
    texts: Texts,
}

type Ask = dyn Fn(&ChatConfig, ChatRequest) -> ChatTurn + Send + Sync;

/// How a model is asked: whoever pays for it may look first, and count.
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

/// The same in the user's language. Models are told everything in English.
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

/// Other words do not make another agent.
impl PartialEq for Texts {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Texts {}

impl BuiltIn {
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

    /// What its commands may do, in the words of a program's row.
    pub fn row(&self) -> &AgentRow {
        &self.program.row
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

    /// The name of the conversation that an earlier process has left.
    pub(super) async fn remembered(&self) -> Option<String> {
        let there = tokio::fs::try_exists(&self.memory).await.unwrap_or(false);
        there.then(|| NAME.to_owned())
    }
}

/// The agent as its host sees it.
#[derive(Debug, Clone, Default)]
pub(super) struct Guest {
    leave: CancellationToken,
    hurry: CancellationToken,
    gone: CancellationToken,
}

impl Guest {
    /// What it has started gets two seconds.
    pub(super) fn end(&self) {
        self.leave.cancel();
    }

    pub(super) fn kill(&self) {
        self.leave.cancel();
        self.hurry.cancel();
    }

    /// Returns when it and everything it started is gone.
    pub(super) async fn gone(&self) {
        self.gone.cancelled().await;
    }
}

/// Dropping the stream ends it, too.
pub(super) fn start(agent: &Arc<BuiltIn>, place: &Place) -> (Guest, DuplexStream) {
    let (ours, theirs) = tokio::io::duplex(STREAM_CAPACITY);
    let guest = Guest::default();
    let connection = Connection::new(Arc::clone(agent), place.clone(), theirs, guest.clone());
    // Also after a panic.
    let gone = guest.gone.clone().drop_guard();
    task::spawn("agent-builtin", async move {
        connection.serve().await;
        drop(gone);
    });
    (guest, ours)
}
