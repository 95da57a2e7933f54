//! A chat model at work: it is asked, its tools are used, and it is told what came of them, until it has no more to
//! say.

use super::prompt::Prompt;
use super::tool::{self, Call};
use super::turn::{Halt, REFUSED, Turn, blocking};
use crate::provider::chat::{
    self, ChatConfig, ChatMessage, ChatOutput, ChatRequest, DoneReason, ToolCall, ToolResult,
};
use agent_client_protocol_schema::v1::StopReason;

const SYSTEM: &str = include_str!("../../../../config/prompts/agent.txt");
/// How often a model is asked for one prompt.
const MOST_STEPS: usize = 50;
/// Calls of one answer; the rest is told to the model as not done.
const MOST_CALLS: usize = 32;
/// More is a model that has lost itself.
const LONGEST_ANSWER: usize = 1024 * 1024;
/// What a model is taken to read when nobody said, and how many bytes a token has.
const USUAL_CONTEXT: u32 = 32_768;
const BYTES_PER_TOKEN: usize = 3;
/// A result is at most this part of what the model reads.
const RESULT_PART: usize = 4;

/// One answer of the model.
#[derive(Debug, Default)]
struct Answer {
    text: String,
    calls: Vec<ToolCall>,
    end: Option<DoneReason>,
}

impl Turn {
    pub(super) async fn converse(
        &mut self,
        chat: &ChatConfig,
        prompt: Prompt,
    ) -> Result<StopReason, Halt> {
        let images = chat::capabilities(chat).images_in;
        let asked = blocking(move || prompt.message(images)).await?;
        self.conversation.push(asked);
        let mut said = false;
        for _ in 0..MOST_STEPS {
            self.conversation.fit(room(chat));
            let answer = self.listen(chat, said).await?;
            said |= !answer.text.is_empty();
            let Answer { text, calls, end } = answer;
            self.conversation.push(ChatMessage::Assistant { text, calls: calls.clone() });
            if calls.is_empty() {
                return Ok(match end {
                    Some(DoneReason::Length) => StopReason::MaxTokens,
                    Some(DoneReason::Complete | DoneReason::Tools) | None => StopReason::EndTurn,
                });
            }
            self.use_tools(calls, room(chat) / RESULT_PART).await?;
            self.save().await;
        }
        Ok(StopReason::MaxTurnRequests)
    }

    /// One answer, told as it comes. What there is of a broken one is kept.
    async fn listen(&mut self, chat: &ChatConfig, said: bool) -> Result<Answer, Halt> {
        let directory = self.workplace.root().display().to_string();
        let request = ChatRequest {
            history: self.conversation.messages().to_vec(),
            system: Some(SYSTEM.replace("{directory}", &directory)),
            tools: tool::specs(),
            ..ChatRequest::default()
        };
        let mut answer = Answer::default();
        let heard = self.hear(chat, request, &mut answer, said).await;
        if heard.is_err() && !answer.text.is_empty() {
            let text = std::mem::take(&mut answer.text);
            self.conversation.push(ChatMessage::Assistant { text, calls: Vec::new() });
        }
        heard.map(|()| answer)
    }

    async fn hear(
        &mut self,
        chat: &ChatConfig,
        request: ChatRequest,
        answer: &mut Answer,
        said: bool,
    ) -> Result<(), Halt> {
        // Dropping it closes the connection.
        let mut turn = self.agent.asking.ask(chat, request);
        loop {
            let output = tokio::select! {
                biased;
                () = self.stop.cancelled() => return Err(Halt::Cancelled),
                output = turn.output.recv() => output,
            };
            match output {
                Some(ChatOutput::Delta(piece)) => {
                    if said && answer.text.is_empty() {
                        self.speaker.say("\n\n").await?;
                    }
                    answer.text.push_str(&piece);
                    self.speaker.say(&piece).await?;
                    if answer.text.len() > LONGEST_ANSWER {
                        let reason = "the model does not come to an end; ask for less at once";
                        return Err(Halt::Failed(reason.to_owned()));
                    }
                }
                Some(ChatOutput::ToolCall(call)) => answer.calls.push(call),
                Some(ChatOutput::Image { .. }) => {}
                Some(ChatOutput::Usage(usage)) => {
                    let used = usage.input.saturating_add(usage.output);
                    self.speaker.tell_usage(used, context(chat).into()).await?;
                }
                Some(ChatOutput::Done { reason }) => {
                    answer.end = Some(reason);
                    return Ok(());
                }
                Some(ChatOutput::Failed(error)) => return Err(Halt::Failed(error.to_string())),
                None => return Err(Halt::Failed("the model is gone; try again".to_owned())),
            }
        }
    }

    async fn use_tools(&mut self, calls: Vec<ToolCall>, longest: usize) -> Result<(), Halt> {
        for (at, ToolCall { id, name, arguments, .. }) in calls.into_iter().enumerate() {
            let outcome = match Call::parse(&name, &arguments) {
                Ok(_) if at >= MOST_CALLS => {
                    Err(format!("only {MOST_CALLS} calls at once are carried out; call again"))
                }
                Ok(call) => self.perform(&call).await?,
                Err(wrong) => Err(wrong),
            };
            let outcome = outcome
                .map(|text| shortened(text, longest))
                .map_err(|reason| shortened(for_model(reason), longest));
            self.conversation.push(ChatMessage::Tool(ToolResult { id, name, outcome }));
        }
        Ok(())
    }
}

/// People know what to do after a refusal; a model has to be told.
fn for_model(reason: String) -> String {
    if reason == REFUSED { format!("{reason}; do not try it again") } else { reason }
}

fn context(chat: &ChatConfig) -> u32 {
    match chat {
        ChatConfig::Scripted => USUAL_CONTEXT,
        ChatConfig::Remote { model, .. } => model.context_tokens.unwrap_or(USUAL_CONTEXT),
    }
}

/// Bytes of conversation that the model can read, besides what it is told every time and its own answer.
fn room(chat: &ChatConfig) -> usize {
    let tokens = usize::try_from(context(chat)).unwrap_or(usize::MAX);
    tokens.saturating_mul(BYTES_PER_TOKEN) / 4 * 3
}

fn shortened(mut text: String, longest: usize) -> String {
    if text.len() > longest {
        let border = (0..=longest).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        let left_out = text.len() - border;
        text.truncate(border);
        text.push_str(&format!("\n[{left_out} more bytes are not shown; ask for less at once]"));
    }
    text
}
