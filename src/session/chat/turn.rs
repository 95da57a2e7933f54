//! One turn with a chat model. It is told as much of the past as fits, and its tokens are counted. Runs beside the
//! actor, which sees only the parts of the answer.

use super::cost::{BYTES_PER_TOKEN, Tally};
use super::past;
use crate::assistant::Assistant;
use crate::message::{Event, Principal, Seq, Speaker};
use crate::provider::chat::{
    self, CHAT_OUTPUT_CAPACITY, ChatConfig, ChatError, ChatMessage, ChatOutput, ChatRequest,
    ChatTurn,
};
use crate::provider::row::ChatModel;
use crate::session::Env;
use crate::store::{SessionKey, StoreError};
use crate::task;
use std::collections::VecDeque;
use tokio::sync::mpsc;
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
    /// The newest event that the model may know of.
    pub(in crate::session) upto: Seq,
}

/// Asks the model. Dropping the turn ends it.
pub(in crate::session) fn ask(
    env: &Env,
    place: Place,
    assistant: &'static Assistant,
    config: &ChatConfig,
    request: ChatRequest,
) -> ChatTurn {
    let ChatConfig::Remote { model, .. } = config else { return chat::ask(config, request) };
    let (output, incoming) = mpsc::channel(CHAT_OUTPUT_CAPACITY);
    let purse = Purse { env: env.clone(), principal: place.principal.clone() };
    let turn = Turn { purse, place, assistant, model: model.clone(), output };
    let config = config.clone();
    task::spawn("chat", async move { turn.run(&config, request).await });
    ChatTurn { output: incoming }
}

/// Asks the model for an agent, which brings its own conversation along.
pub(in crate::session) fn ask_for_agent(
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
struct Purse {
    env: Env,
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

struct Turn {
    purse: Purse,
    place: Place,
    assistant: &'static Assistant,
    model: std::sync::Arc<ChatModel>,
    output: mpsc::Sender<ChatOutput>,
}

impl Turn {
    async fn run(self, config: &ChatConfig, mut request: ChatRequest) {
        match self.prepare(&mut request).await {
            Ok(()) => self.purse.converse(config, request, &self.output).await,
            Err(error) => {
                // Fails only if nobody waits for the answer any more.
                let _ = self.output.send(ChatOutput::Failed(error)).await;
            }
        }
    }

    async fn prepare(&self, request: &mut ChatRequest) -> Result<(), ChatError> {
        request.system = Some(self.assistant.prompt(self.purse.env.language.get()).to_owned());
        let said = self.said().await.map_err(unavailable)?;
        request.history = fitting(without(said, &request.text), self.room(request));
        Ok(())
    }

    /// Bytes of history that the model can read besides the request.
    fn room(&self, request: &ChatRequest) -> usize {
        let context = self.model.context_tokens.unwrap_or(USUAL_CONTEXT);
        let answer = self.model.max_output_tokens.unwrap_or(USUAL_ANSWER).min(context / 2);
        let tokens = usize::try_from(context - answer).unwrap_or(usize::MAX);
        let prompt = request.system.as_ref().map_or(0, String::len);
        tokens.saturating_mul(BYTES_PER_TOKEN).saturating_sub(request.text.len() + prompt)
    }

    /// What the user and the models have said, oldest first.
    async fn said(&self) -> Result<Vec<ChatMessage>, StoreError> {
        let Place { key, upto, .. } = self.place;
        past::recent(&self.purse.env.store, key, upto, message).await
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
