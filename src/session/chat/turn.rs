//! One turn of the chat: its assistant works with a chat model and with tools until the user's text is answered. Runs
//! beside the actor, which sees the parts of the answer and carries out the tool calls.

use super::cost::{BYTES_PER_TOKEN, Tally};
use super::past;
use crate::assistant::{self, Assistant, Brief, Conversation, End, Halt, Host, Way};
use crate::message::{Channel, Event, Principal, RunId, Seq, SessionId, Speaker, Work};
use crate::provider::chat::{
    self, CHAT_OUTPUT_CAPACITY, ChatConfig, ChatError, ChatMessage, ChatOutput, ChatRequest,
    ChatTurn, ToolCall, ToolSpec, Usage,
};
use crate::session::Env;
use crate::store::{SessionKey, StoreError};
use crate::task;
use crate::tool::Outcome;
use bytes::Bytes;
use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use tokio::sync::{mpsc, oneshot};
use tracing::warn;

/// Tokens that a model is assumed to read if the configuration does not say.
const USUAL_CONTEXT: u32 = 8192;
/// Tokens left for the answer if the configuration does not say.
const USUAL_ANSWER: u32 = 2048;

/// Which session, and how much of its history the model may know.
#[derive(Debug, Clone)]
pub(in crate::session) struct Place {
    pub(in crate::session) key: SessionKey,
    pub(in crate::session) principal: Principal,
    pub(in crate::session) session: SessionId,
    /// Where the assistant answers.
    pub(in crate::session) channel: Channel,
    /// The newest event of that channel that the model may know of.
    pub(in crate::session) upto: Seq,
    /// The newest event of the chat, which has the tables of the session.
    pub(in crate::session) upto_in_chat: Seq,
}

/// What the user asks, and what the model may use.
#[derive(Debug)]
pub(in crate::session) struct Question {
    pub(in crate::session) run: RunId,
    pub(in crate::session) text: String,
    /// Files the user sent shortly before, where they are stored.
    pub(in crate::session) attachments: Vec<PathBuf>,
    pub(in crate::session) tools: Vec<ToolSpec>,
}

/// What a turn tells the session.
#[derive(Debug)]
pub(in crate::session) enum TurnOutput {
    /// The next piece of the answer.
    Piece(String),
    /// A picture that the model made.
    Picture(Bytes),
    /// The model calls a tool. The turn waits for the outcome; without one it ends.
    Call(TurnCall),
    /// A step on the way to the answer.
    Work(Box<Work>),
    /// Something that people should know meanwhile.
    Line(String),
    /// The answer is complete, or as long as the model may write.
    Done {
        cut_off: bool,
    },
    Failed(String),
}

/// A tool call of the model.
#[derive(Debug)]
pub(in crate::session) struct TurnCall {
    pub(in crate::session) name: String,
    pub(in crate::session) arguments: String,
    pub(in crate::session) reply: oneshot::Sender<Outcome>,
}

/// A turn under way. Dropping it ends the turn.
#[derive(Debug)]
pub(in crate::session) struct TurnLink {
    pub(in crate::session) output: mpsc::Receiver<TurnOutput>,
}

/// Begins a turn.
pub(in crate::session) fn begin(
    env: &Env,
    place: Place,
    assistant: &'static Assistant,
    config: &ChatConfig,
    question: Question,
) -> TurnLink {
    let (output, incoming) = mpsc::channel(CHAT_OUTPUT_CAPACITY);
    let turn = Turn {
        purse: Purse { env: env.clone(), principal: place.principal.clone() },
        place,
        run: question.run,
        assistant,
        config: config.clone(),
        attachments: Vec::new(),
        tokens: 0,
        programs: 0,
        output,
    };
    task::spawn("chat", turn.run(question));
    TurnLink { output: incoming }
}

/// Asks the model once, for an assistant that brings its own conversation along.
pub(in crate::session) fn ask_once(
    env: &Env,
    principal: &Principal,
    config: &ChatConfig,
    request: ChatRequest,
) -> ChatTurn {
    let (output, incoming) = mpsc::channel(CHAT_OUTPUT_CAPACITY);
    let purse = Purse { env: env.clone(), principal: principal.clone() };
    let config = config.clone();
    task::spawn("chat", async move { purse.converse(&config, request, &output).await });
    ChatTurn { output: incoming }
}

/// The principal who pays for a turn: its daily limit is checked, and its tokens are counted.
pub(super) struct Purse {
    pub(super) env: Env,
    principal: Principal,
}

impl Purse {
    async fn converse(
        &self,
        config: &ChatConfig,
        request: ChatRequest,
        output: &mpsc::Sender<ChatOutput>,
    ) {
        if let Err(error) = self.check().await {
            // Fails only if nobody waits for the answer any more.
            let _ = output.send(ChatOutput::Failed(error)).await;
            return;
        }
        let mut tally = Tally::of(&request);
        let mut turn = chat::ask(config, request);
        loop {
            let piece = tokio::select! {
                piece = turn.output.recv() => piece,
                () = output.closed() => None,
            };
            let Some(piece) = piece else { break };
            tally.note(&piece);
            if is_last(&piece) {
                // Counted before the end is passed on, so that the next turn is checked against it.
                self.count(&tally).await;
                let _ = output.send(piece).await;
                return;
            }
            if output.send(piece).await.is_err() {
                break;
            }
        }
        // The connection to the model is closed before we wait for the disk.
        drop(turn);
        self.count(&tally).await;
    }

    async fn check(&self) -> Result<(), ChatError> {
        let limit = self.env.config.limits.chat_tokens;
        if limit > 0 {
            let used = self.env.store.tokens_today(&self.principal).await.map_err(unavailable)?;
            if used >= limit {
                return Err(ChatError::Budget { limit });
            }
        }
        Ok(())
    }

    async fn count(&self, tally: &Tally) {
        let tokens = tally.tokens();
        if tokens > 0
            && let Err(err) = self.env.store.add_tokens(&self.principal, tokens).await
        {
            warn!(%err, "what a chat has cost is not written down");
        }
    }
}

fn is_last(output: &ChatOutput) -> bool {
    match output {
        ChatOutput::Done { .. } | ChatOutput::Failed(_) => true,
        ChatOutput::Delta(_)
        | ChatOutput::ToolCall(_)
        | ChatOutput::Image { .. }
        | ChatOutput::Usage(_) => false,
    }
}

fn unavailable(err: StoreError) -> ChatError {
    ChatError::Unavailable(err.to_string())
}

pub(super) struct Turn {
    pub(super) purse: Purse,
    pub(super) place: Place,
    pub(super) run: RunId,
    pub(super) assistant: &'static Assistant,
    pub(super) config: ChatConfig,
    /// For a model that is not told about files in words.
    attachments: Vec<PathBuf>,
    /// Tokens of this turn so far.
    tokens: u64,
    /// Programs that were run so far.
    pub(super) programs: u32,
    output: mpsc::Sender<TurnOutput>,
}

impl Turn {
    async fn run(mut self, question: Question) {
        let end = match self.work(question).await {
            Ok(End::Complete) => TurnOutput::Done { cut_off: false },
            Ok(End::Length) => TurnOutput::Done { cut_off: true },
            Ok(End::Steps) => {
                TurnOutput::Failed("the model was asked too often for one text".to_owned())
            }
            Err(Halt::Failed(reason)) => TurnOutput::Failed(reason),
            // Nobody waits for the answer any more.
            Err(Halt::Cancelled | Halt::Disconnected) => return,
        };
        // Fails only if nobody waits for the answer any more.
        let _ = self.output.send(end).await;
    }

    async fn work(&mut self, question: Question) -> Result<End, Halt> {
        match self.assistant.way {
            Way::Conversation => self.converse(question).await,
            Way::Computing => self.compute(question).await,
            Way::Analysis => self.analyse(question.text).await.map(|_| End::Complete),
        }
    }

    pub(super) async fn converse(&mut self, question: Question) -> Result<End, Halt> {
        let Question { text, attachments, tools, .. } = question;
        let system = self.assistant.prompt(self.purse.env.language.get()).to_owned();
        let mut conversation = Conversation::new(Path::new(""));
        // Without a model there is nobody who would read the past.
        if let ChatConfig::Remote { .. } = &self.config {
            let said = self.said().await.map_err(failed)?;
            let room = self.room(system.len() + text.len());
            let past = fitting(without(said, &text), room);
            past.into_iter().for_each(|message| conversation.push(message));
        }
        conversation.push(self.asked(text, attachments).await?);
        let brief = Brief { system, tools, context: self.context() };
        assistant::work(self, &brief, &mut conversation).await
    }

    /// The user's text, with its files.
    async fn asked(
        &mut self,
        text: String,
        attachments: Vec<PathBuf>,
    ) -> Result<ChatMessage, Halt> {
        if let ChatConfig::Scripted = self.config {
            self.attachments = attachments;
            return Ok(ChatMessage::User { text, images: Vec::new() });
        }
        let sees = chat::capabilities(&self.config).images_in;
        let read = move || chat::with_files(text, &attachments, sees);
        let read = tokio::task::spawn_blocking(read).await;
        let (text, images) =
            read.map_err(|_| Halt::Failed("the gateway is shutting down".to_owned()))?;
        Ok(ChatMessage::User { text, images })
    }

    /// Tokens that the model reads.
    fn context(&self) -> u32 {
        match &self.config {
            ChatConfig::Scripted => USUAL_CONTEXT,
            ChatConfig::Remote { model, .. } => model.context_tokens.unwrap_or(USUAL_CONTEXT),
        }
    }

    /// Bytes of history that the model can read besides this many bytes.
    fn room(&self, others: usize) -> usize {
        let context = self.context();
        let most = match &self.config {
            ChatConfig::Scripted => None,
            ChatConfig::Remote { model, .. } => model.max_output_tokens,
        };
        let answer = most.unwrap_or(USUAL_ANSWER).min(context / 2);
        let tokens = usize::try_from(context - answer).unwrap_or(usize::MAX);
        tokens.saturating_mul(BYTES_PER_TOKEN).saturating_sub(others)
    }

    /// What the user and the models have said, oldest first.
    async fn said(&self) -> Result<Vec<ChatMessage>, StoreError> {
        let Place { key, channel, upto, .. } = self.place;
        past::recent(&self.purse.env.store, key, channel, upto, message).await
    }
}

fn failed(err: StoreError) -> Halt {
    Halt::Failed(unavailable(err).to_string())
}

impl Host for Turn {
    fn ask(&self, mut request: ChatRequest) -> ChatTurn {
        request.attachments.clone_from(&self.attachments);
        request.echo = self.assistant.echo;
        let Purse { env, principal } = &self.purse;
        match &self.config {
            ChatConfig::Scripted => chat::ask(&self.config, request),
            ChatConfig::Remote { .. } => ask_once(env, principal, &self.config, request),
        }
    }

    async fn cancelled(&self) {
        self.output.closed().await;
    }

    async fn say(&mut self, piece: &str) -> Result<(), Halt> {
        self.tell(TurnOutput::Piece(piece.to_owned())).await
    }

    async fn show(&mut self, _: String, bytes: Bytes) -> Result<(), Halt> {
        self.tell(TurnOutput::Picture(bytes)).await
    }

    async fn count(&mut self, usage: Usage) -> Result<(), Halt> {
        self.tokens = self.tokens.saturating_add(usage.input).saturating_add(usage.output);
        let limit = self.purse.env.rules.breakers.tokens;
        if self.tokens > limit {
            return Err(Halt::Failed(format!("the answer has cost more than {limit} tokens")));
        }
        Ok(())
    }

    async fn call(&mut self, call: &ToolCall) -> Result<Outcome, Halt> {
        match self.assistant.way {
            Way::Computing => self.told_call(call).await,
            Way::Conversation | Way::Analysis => self.carry_out(call).await,
        }
    }

    /// The session's history is in the store.
    async fn save(&mut self, _: &Conversation) {}
}

impl Turn {
    /// The session carries the call out.
    pub(super) async fn carry_out(&self, call: &ToolCall) -> Result<Outcome, Halt> {
        let (reply, outcome) = oneshot::channel();
        let (name, arguments) = (call.name.clone(), call.arguments.clone());
        self.tell(TurnOutput::Call(TurnCall { name, arguments, reply })).await?;
        tokio::select! {
            outcome = outcome => outcome.map_err(|_| Halt::Disconnected),
            () = self.output.closed() => Err(Halt::Cancelled),
        }
    }

    pub(super) async fn tell(&self, output: TurnOutput) -> Result<(), Halt> {
        self.output.send(output).await.map_err(|_| Halt::Disconnected)
    }
}

fn message(event: &Event) -> Option<ChatMessage> {
    let (speaker, text) = past::spoken(event)?;
    let text = text.to_owned();
    Some(match speaker {
        Speaker::User => ChatMessage::User { text, images: Vec::new() },
        Speaker::Model => ChatMessage::Assistant { text, calls: Vec::new() },
    })
}

/// The log already has the request itself and the texts queued behind it. They are not answered yet, so they are no
/// history.
fn without(mut said: Vec<ChatMessage>, request: &str) -> Vec<ChatMessage> {
    let is_request = |message: &ChatMessage| matches!(message, ChatMessage::User { text, .. } if text == request);
    let Some(at) = said.iter().rposition(is_request) else { return said };
    let later = said.split_off(at);
    said.extend(
        later.into_iter().filter(|message| matches!(message, ChatMessage::Assistant { .. })),
    );
    said
}

/// Keeps the newest messages that fit. The first one must be of the user.
fn fitting(said: Vec<ChatMessage>, room: usize) -> Vec<ChatMessage> {
    let mut left = room;
    let mut kept = VecDeque::new();
    for message in said.into_iter().rev() {
        let Some(rest) = left.checked_sub(weight(&message)) else { break };
        left = rest;
        kept.push_front(message);
    }
    while kept.front().is_some_and(|first| !matches!(first, ChatMessage::User { .. })) {
        kept.pop_front();
    }
    kept.into()
}

fn weight(message: &ChatMessage) -> usize {
    match message {
        ChatMessage::User { text, .. } | ChatMessage::Assistant { text, .. } => text.len(),
        ChatMessage::Tool(result) => match &result.outcome {
            Ok(text) | Err(text) => text.len(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn user(text: &str) -> ChatMessage {
        ChatMessage::User { text: text.to_owned(), images: Vec::new() }
    }

    fn model(text: &str) -> ChatMessage {
        ChatMessage::Assistant { text: text.to_owned(), calls: Vec::new() }
    }

    #[test]
    fn queued_texts_are_not_history() {
        let said = vec![user("a"), model("A"), user("b"), user("c"), model("B")];
        // `c` is asked now; `b` was answered while `c` waited.
        assert_eq!(without(said, "c"), [user("a"), model("A"), user("b"), model("B")]);
        let said = vec![user("same"), model("A"), user("same")];
        assert_eq!(without(said, "same"), [user("same"), model("A")]);
        assert_eq!(without(vec![user("a")], "other"), [user("a")]);
    }

    #[test]
    fn the_newest_history_is_sent_and_begins_with_the_user() {
        let said = || vec![user("12345"), model("12345"), user("12345"), model("12345")];
        assert_eq!(fitting(said(), 100).len(), 4);
        assert_eq!(fitting(said(), 19), [user("12345"), model("12345")]);
        assert_eq!(fitting(said(), 10), [user("12345"), model("12345")]);
        assert_eq!(fitting(said(), 9), []);
        assert_eq!(fitting(said(), 0), []);
    }
}
