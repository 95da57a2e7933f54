//! Anthropic's messages. Its forms are in `wire`.

mod wire;

use super::answer::{self, Answer, LONGEST_ARGUMENTS, malformed};
use super::error::ChatError;
use super::failure::{Complaint, Failure, Trouble};
use super::prompt::Prompt;
use super::remote::Call;
use super::sse::SseEvent;
use super::{ChatMessage, ChatOutput, DoneReason, ToolCall, ToolResult, ToolSpec, Usage};
use crate::provider::row::ChatModel;

/// The vendor wants a number. Every current model can write this much; what it thinks counts too.
const OUTPUT_TOKENS: u32 = 32_000;

pub(super) const KEY_HEADER: (&str, &str) = ("x-api-key", "");

pub(super) fn call(model: &ChatModel, prompt: &Prompt) -> Result<Call, ChatError> {
    let mut messages: Vec<wire::Message<'_>> = Vec::new();
    for message in &prompt.messages {
        let (role, content) = blocks(message)?;
        match messages.last_mut() {
            // Results of all tools of an answer belong into one message, with what the user says about them.
            Some(last) if last.role == role => last.content.extend(content),
            Some(_) | None => messages.push(wire::Message { role, content }),
        }
    }
    let request = wire::Request {
        model: &model.model,
        max_tokens: prompt.max_output_tokens.unwrap_or(OUTPUT_TOKENS),
        system: prompt.system.as_deref(),
        messages,
        tools: prompt.tools.iter().map(tool).collect::<Result<_, _>>()?,
        stream: true,
    };
    let call = Call::new(format!("{}/v1/messages", model.base_url), &request)?;
    Ok(call.with_header("anthropic-version", "2023-06-01"))
}

fn tool(tool: &ToolSpec) -> Result<wire::Tool<'_>, ChatError> {
    let ToolSpec { name, description, .. } = tool;
    Ok(wire::Tool { name, description, input_schema: answer::schema(tool)? })
}

fn blocks(message: &ChatMessage) -> Result<(wire::Role, Vec<wire::Block<'_>>), ChatError> {
    let words = |text| Some(wire::Block::Text { text }).filter(|_| !str::trim(text).is_empty());
    Ok(match message {
        ChatMessage::User { text, images } => {
            let images = images.iter().map(|picture| wire::Block::Image {
                source: wire::Source {
                    kind: "base64",
                    media_type: picture.mime,
                    data: answer::base64(picture),
                },
            });
            (wire::Role::User, images.chain(words(text)).collect())
        }
        ChatMessage::Assistant { text, calls } => {
            let mut content: Vec<_> = words(text).into_iter().collect();
            for ToolCall { id, name, arguments, .. } in calls {
                let input = answer::object(arguments)?;
                content.push(wire::Block::ToolUse { id, name, input });
            }
            (wire::Role::Assistant, content)
        }
        ChatMessage::Tool(ToolResult { id, outcome, .. }) => {
            let (Ok(content) | Err(content)) = outcome;
            let is_error = outcome.is_err();
            (wire::Role::User, vec![wire::Block::ToolResult { tool_use_id: id, content, is_error }])
        }
    })
}

/// Takes a stream's events, or a whole answer as one.
#[derive(Debug, Default)]
pub(super) struct Decoder {
    /// The call that is being spelled out, by the number of its block.
    call: Option<(usize, ToolCall)>,
}

impl Decoder {
    pub(super) fn take(
        &mut self,
        model: &ChatModel,
        event: &SseEvent,
        answer: &mut Answer,
    ) -> Result<(), Failure> {
        match answer::parse(&event.data)? {
            wire::Event::Message { content, stop_reason, usage } => {
                for (index, block) in content.into_iter().enumerate() {
                    self.begin(index, block, answer);
                    self.end_block(index, answer);
                }
                cost(answer, usage);
                answer.end = Some(end(stop_reason.as_deref().unwrap_or_default())?);
                answer.over = true;
            }
            wire::Event::MessageStart { message } => cost(answer, message.usage),
            wire::Event::ContentBlockStart { index, content_block } => {
                self.begin(index, content_block, answer);
            }
            wire::Event::ContentBlockDelta { index, delta } => self.delta(index, delta, answer)?,
            wire::Event::ContentBlockStop { index } => self.end_block(index, answer),
            wire::Event::MessageDelta { delta, usage } => {
                cost(answer, usage);
                if let Some(reason) = delta.stop_reason {
                    answer.end = Some(end(&reason)?);
                }
            }
            wire::Event::MessageStop => {
                answer.end.get_or_insert(DoneReason::Complete);
                answer.over = true;
            }
            wire::Event::Error { error } => return Err(complaint(None, error).failure(model)),
            wire::Event::Other => {}
        }
        Ok(())
    }

    fn begin(&mut self, index: usize, block: wire::Started, answer: &mut Answer) {
        match block {
            wire::Started::Text { text } => answer.text(text),
            wire::Started::ToolUse { id, name, input } => {
                // In a stream this is an empty object, and the real one follows in pieces.
                let arguments = input.map(|input| input.to_string()).unwrap_or_default();
                let arguments = if arguments == "{}" { String::new() } else { arguments };
                self.call = Some((index, ToolCall { id, name, arguments, signature: None }));
            }
            wire::Started::Other => {}
        }
    }

    fn delta(
        &mut self,
        index: usize,
        delta: wire::Delta,
        answer: &mut Answer,
    ) -> Result<(), ChatError> {
        match (delta, &mut self.call) {
            (wire::Delta::Text { text }, _) => answer.text(text),
            (wire::Delta::InputJson { partial_json }, Some((at, call))) if *at == index => {
                call.arguments.push_str(&partial_json);
                if call.arguments.len() > LONGEST_ARGUMENTS {
                    return Err(malformed("a tool call without end"));
                }
            }
            (wire::Delta::InputJson { .. } | wire::Delta::Other, _) => {}
        }
        Ok(())
    }

    fn end_block(&mut self, index: usize, answer: &mut Answer) {
        if let Some((_, mut call)) = self.call.take_if(|(at, _)| *at == index) {
            call.arguments = answer::arguments(call.arguments);
            answer.outputs.push(ChatOutput::ToolCall(call));
        }
    }
}

/// Numbers are told more than once; the last ones count.
fn cost(answer: &mut Answer, told: Option<wire::Usage>) {
    let Some(told) = told else { return };
    let known = answer.usage.get_or_insert(Usage::default());
    let cached = [told.cache_creation_input_tokens, told.cache_read_input_tokens];
    let cached: u64 = cached.into_iter().flatten().sum();
    if let Some(input) = told.input_tokens {
        known.input = input + cached;
    }
    known.output = told.output_tokens.unwrap_or(known.output);
}

fn end(reason: &str) -> Result<DoneReason, ChatError> {
    match reason {
        "max_tokens" | "model_context_window_exceeded" => Ok(DoneReason::Length),
        "tool_use" => Ok(DoneReason::Tools),
        "refusal" => Err(ChatError::Refused { reason: "its safety rules".to_owned() }),
        _ => Ok(DoneReason::Complete),
    }
}

/// What a refusal with this status means.
pub(super) fn refusal(status: u16, body: &[u8]) -> Complaint {
    match serde_json::from_slice(body) {
        Ok(wire::Refusal { error }) => complaint(Some(status), error),
        Err(_) => {
            let message = String::from_utf8_lossy(body).into_owned();
            Complaint { trouble: Trouble::of(status), status, message, retry_after: None }
        }
    }
}

/// Within a stream there is no status, only the word for it.
fn complaint(status: Option<u16>, error: wire::Details) -> Complaint {
    let status = status.unwrap_or(match error.kind.as_str() {
        "invalid_request_error" => 400,
        "authentication_error" => 401,
        "billing_error" => 402,
        "permission_error" => 403,
        "not_found_error" => 404,
        "request_too_large" => 413,
        "rate_limit_error" => 429,
        "timeout_error" => 504,
        "overloaded_error" => 529,
        _ => 500,
    });
    let message = error.message;
    let said = |text: &str| message.to_ascii_lowercase().contains(text);
    let trouble = match status {
        400 if said("prompt is too long") || said("exceed context limit") => Trouble::TooLong,
        400 if said("credit balance") => Trouble::Quota,
        _ => Trouble::of(status),
    };
    Complaint { trouble, status, message, retry_after: None }
}
