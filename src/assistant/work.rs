//! The loop of every assistant: ask the model, run the tools that it calls, send it the results, until it calls no more
//! tools.

use super::conversation::Conversation;
use crate::provider::chat::{
    ChatConfig, ChatMessage, ChatOutput, ChatRequest, ChatTurn, DoneReason, ToolCall, ToolResult,
    ToolSpec, Usage,
};
use crate::tool::Outcome;
use bytes::Bytes;

/// Most requests to the model for one prompt.
const MOST_STEPS: usize = 50;
/// Most tool calls of one answer that are carried out; the model is told that the others were not.
const MOST_CALLS: usize = 32;
/// Longest text of one answer, in bytes. A model that writes more is cut off, because it may never stop.
const LONGEST_ANSWER: usize = 1024 * 1024;
/// Context size of a model whose row does not say it, in tokens.
const DEFAULT_CONTEXT: u32 = 32_768;
/// A cautious estimate.
const BYTES_PER_TOKEN: usize = 3;
/// One tool result takes at most the room for the conversation divided by this.
const ROOM_PER_RESULT: usize = 4;

/// What the model is given besides the conversation.
#[derive(Debug, Clone)]
pub struct Brief {
    pub system: String,
    pub tools: Vec<ToolSpec>,
    /// Context size of the model, in tokens.
    pub context: u32,
}

/// The host of the loop: it sends requests to the model, receives its answers, and carries out its tool calls.
pub trait Host: Send {
    fn ask(&self, request: ChatRequest) -> ChatTurn;
    /// Returns when the work is cancelled.
    fn cancelled(&self) -> impl Future<Output = ()> + Send;
    /// Receives the next piece of the answer.
    fn say(&mut self, piece: &str) -> impl Future<Output = Result<(), Halt>> + Send;
    /// Receives a picture that the model made.
    fn show(&mut self, mime: String, bytes: Bytes)
    -> impl Future<Output = Result<(), Halt>> + Send;
    fn count(&mut self, usage: Usage) -> impl Future<Output = Result<(), Halt>> + Send;
    /// Carries out a tool call, if it is approved.
    fn call(&mut self, call: &ToolCall) -> impl Future<Output = Result<Outcome, Halt>> + Send;
    /// Saves the conversation. At this point all its calls have their results.
    fn save(&mut self, conversation: &Conversation) -> impl Future<Output = ()> + Send;
}

/// How work ended by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    Complete,
    /// The last answer was cut off at the model's output limit.
    Length,
    /// The limit of requests to the model was reached.
    Steps,
}

/// Why work ended early.
#[derive(Debug)]
pub enum Halt {
    Cancelled,
    /// The reason, for people, with what they can do.
    Failed(String),
    /// The receiver of the answer is gone.
    Disconnected,
}

impl Brief {
    /// Bytes of conversation that the model can read, besides its prompt and its own answer.
    fn room(&self) -> usize {
        let tokens = usize::try_from(self.context).unwrap_or(usize::MAX);
        tokens.saturating_mul(BYTES_PER_TOKEN) / 4 * 3
    }
}

/// Context size of a model, in tokens.
pub(super) fn context_size(chat: &ChatConfig) -> u32 {
    match chat {
        ChatConfig::Scripted => DEFAULT_CONTEXT,
        ChatConfig::Remote { model, .. } => model.context_tokens.unwrap_or(DEFAULT_CONTEXT),
    }
}

/// One answer of the model.
#[derive(Debug, Default)]
struct Answer {
    text: String,
    calls: Vec<ToolCall>,
    end: Option<DoneReason>,
}

/// Works until the last message of the conversation is answered.
pub async fn work<H: Host>(
    host: &mut H,
    brief: &Brief,
    conversation: &mut Conversation,
) -> Result<End, Halt> {
    let mut has_text = false;
    for _ in 0..MOST_STEPS {
        conversation.fit(brief.room());
        let answer = next_answer(host, brief, conversation, has_text).await?;
        has_text |= !answer.text.is_empty();
        let Answer { text, calls, end } = answer;
        conversation.push(ChatMessage::Assistant { text, calls: calls.clone() });
        if calls.is_empty() {
            return Ok(match end {
                Some(DoneReason::Length) => End::Length,
                Some(DoneReason::Complete | DoneReason::Tools) | None => End::Complete,
            });
        }
        use_tools(host, calls, brief.room() / ROOM_PER_RESULT, conversation).await?;
        host.save(conversation).await;
    }
    Ok(End::Steps)
}

/// Asks the model for one answer and passes it on as it arrives. If the answer fails, the conversation keeps the part
/// that has arrived. `has_text`: earlier answers to this prompt have text.
async fn next_answer<H: Host>(
    host: &mut H,
    brief: &Brief,
    conversation: &mut Conversation,
    has_text: bool,
) -> Result<Answer, Halt> {
    let request = ChatRequest {
        history: conversation.messages().to_vec(),
        system: Some(brief.system.clone()),
        tools: brief.tools.clone(),
        ..ChatRequest::default()
    };
    let mut answer = Answer::default();
    let received = receive(host, request, &mut answer, has_text).await;
    if received.is_err() && !answer.text.is_empty() {
        let text = std::mem::take(&mut answer.text);
        conversation.push(ChatMessage::Assistant { text, calls: Vec::new() });
    }
    received.map(|()| answer)
}

async fn receive<H: Host>(
    host: &mut H,
    request: ChatRequest,
    answer: &mut Answer,
    has_text: bool,
) -> Result<(), Halt> {
    // Dropping the turn closes its connection.
    let mut turn = host.ask(request);
    loop {
        let output = tokio::select! {
            biased;
            () = host.cancelled() => return Err(Halt::Cancelled),
            output = turn.output.recv() => output,
        };
        match output {
            Some(ChatOutput::Delta(piece)) => {
                if has_text && answer.text.is_empty() {
                    host.say("\n\n").await?;
                }
                answer.text.push_str(&piece);
                host.say(&piece).await?;
                if answer.text.len() > LONGEST_ANSWER {
                    let reason = "the model's answer does not end; ask for less at once";
                    return Err(Halt::Failed(reason.to_owned()));
                }
            }
            Some(ChatOutput::ToolCall(call)) => answer.calls.push(call),
            Some(ChatOutput::Image { mime, bytes }) => host.show(mime, bytes).await?,
            Some(ChatOutput::Usage(usage)) => host.count(usage).await?,
            Some(ChatOutput::Done { reason }) => {
                answer.end = Some(reason);
                return Ok(());
            }
            Some(ChatOutput::Failed(error)) => return Err(Halt::Failed(error.to_string())),
            None => {
                return Err(Halt::Failed(
                    "the connection to the model was lost; try again".to_owned(),
                ));
            }
        }
    }
}

async fn use_tools<H: Host>(
    host: &mut H,
    calls: Vec<ToolCall>,
    longest: usize,
    conversation: &mut Conversation,
) -> Result<(), Halt> {
    for (at, call) in calls.into_iter().enumerate() {
        let outcome = if at < MOST_CALLS {
            host.call(&call).await?
        } else {
            Err(format!("only {MOST_CALLS} calls at once are carried out; call again"))
        };
        let outcome = outcome
            .map(|text| shortened(text, longest))
            .map_err(|reason| shortened(reason, longest));
        let ToolCall { id, name, .. } = call;
        conversation.push(ChatMessage::Tool(ToolResult { id, name, outcome }));
    }
    Ok(())
}

/// The beginning of a result, and how much of it is missing. The model can ask for the rest.
pub fn shortened(mut text: String, longest: usize) -> String {
    if text.len() > longest {
        let end = (0..=longest).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        let left_out = text.len() - end;
        text.truncate(end);
        text.push_str(&format!("\n[{left_out} more bytes are not shown; ask for less at once]"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::pending;
    use std::path::Path;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use tokio::sync::mpsc;

    /// A host whose model answers with calls until it was asked often enough.
    struct Fake {
        calls: usize,
        answers_with_calls: usize,
        asked: AtomicUsize,
        carried_out: usize,
        saved: usize,
        said: String,
    }

    impl Fake {
        fn new(calls: usize, answers_with_calls: usize) -> Self {
            let (asked, carried_out, saved) = (AtomicUsize::new(0), 0, 0);
            Self { calls, answers_with_calls, asked, carried_out, saved, said: String::new() }
        }
    }

    impl Host for Fake {
        fn ask(&self, _: ChatRequest) -> ChatTurn {
            let number = self.asked.fetch_add(1, Ordering::Relaxed);
            let (output, turn) = mpsc::channel(self.calls + 2);
            output.try_send(ChatOutput::Delta(format!("{number}"))).unwrap();
            let calls = if number < self.answers_with_calls { self.calls } else { 0 };
            for call in 0..calls {
                output
                    .try_send(ChatOutput::ToolCall(ToolCall {
                        id: format!("{number}-{call}"),
                        name: "file_read".into(),
                        arguments: "{}".into(),
                        signature: None,
                    }))
                    .unwrap();
            }
            output.try_send(ChatOutput::Done { reason: DoneReason::Complete }).unwrap();
            ChatTurn { output: turn }
        }

        async fn cancelled(&self) {
            pending().await
        }

        async fn say(&mut self, piece: &str) -> Result<(), Halt> {
            self.said.push_str(piece);
            Ok(())
        }

        async fn show(&mut self, _: String, _: Bytes) -> Result<(), Halt> {
            Ok(())
        }

        async fn count(&mut self, _: Usage) -> Result<(), Halt> {
            Ok(())
        }

        async fn call(&mut self, _: &ToolCall) -> Result<Outcome, Halt> {
            self.carried_out += 1;
            Ok(Ok("x".repeat(100_000)))
        }

        async fn save(&mut self, _: &Conversation) {
            self.saved += 1;
        }
    }

    async fn worked(host: &mut Fake) -> (End, Conversation) {
        let mut conversation = Conversation::new(Path::new(""));
        conversation.push(ChatMessage::User { text: "go".into(), images: Vec::new() });
        let brief = Brief { system: String::new(), tools: Vec::new(), context: DEFAULT_CONTEXT };
        (work(host, &brief, &mut conversation).await.unwrap(), conversation)
    }

    #[tokio::test]
    async fn results_go_back_to_the_model_until_it_calls_no_tool() {
        let mut host = Fake::new(2, 1);
        let (end, conversation) = worked(&mut host).await;
        assert_eq!((end, host.carried_out, host.saved), (End::Complete, 2, 1));
        assert_eq!(host.said, "0\n\n1");
        let results = conversation.messages().iter().filter_map(|message| match message {
            ChatMessage::Tool(result) => {
                Some((result.id.as_str(), result.outcome.clone().unwrap()))
            }
            ChatMessage::User { .. } | ChatMessage::Assistant { .. } => None,
        });
        for ((id, result), expected) in results.zip(["0-0", "0-1"]) {
            assert_eq!(id, expected);
            assert!(result.len() < 30_000 && result.ends_with("ask for less at once]"));
        }
    }

    #[tokio::test]
    async fn a_model_that_never_stops_calling_is_stopped() {
        let mut host = Fake::new(MOST_CALLS + 5, usize::MAX);
        let (end, _) = worked(&mut host).await;
        assert_eq!(end, End::Steps);
        assert_eq!(host.asked.into_inner(), MOST_STEPS);
        assert_eq!(host.carried_out, MOST_STEPS * MOST_CALLS);
    }
}
