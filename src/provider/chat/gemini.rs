//! Google's Gemini. Its forms are in `wire`.

mod wire;

use super::answer::{self, Answer};
use super::error::ChatError;
use super::failure::{Complaint, Failure, Trouble};
use super::prompt::Prompt;
use super::remote::Call;
use super::sse::SseEvent;
use super::{ChatMessage, ChatOutput, DoneReason, ToolCall, ToolResult, ToolSpec, Usage};
use crate::provider::row::ChatModel;
use std::time::Duration;

/// Calls without an id get one of ours, which the vendor must not see.
const OWN_ID: &str = "kakehashi-";
/// A call that the model did not make itself needs this mark, see [`signs_calls`].
const UNSIGNED: &str = "skip_thought_signature_validator";

pub(super) const KEY_HEADER: (&str, &str) = ("x-goog-api-key", "");

pub(super) fn call(model: &ChatModel, prompt: &Prompt) -> Result<Call, ChatError> {
    let mut contents: Vec<wire::Content<'_>> = Vec::new();
    for message in &prompt.messages {
        let (role, parts) = parts(model, message)?;
        match contents.last_mut() {
            Some(last) if last.role == role => last.parts.extend(parts),
            Some(_) | None => contents.push(wire::Content { role, parts }),
        }
    }
    let declared: Vec<_> = prompt.tools.iter().map(declaration).collect::<Result<_, _>>()?;
    let tools = (!declared.is_empty()).then_some(wire::Tools { function_declarations: declared });
    let generation = wire::Generation {
        max_output_tokens: prompt.max_output_tokens,
        response_modalities: model.image_output.then_some(["TEXT", "IMAGE"]),
    };
    let wanted = generation.max_output_tokens.is_some() || generation.response_modalities.is_some();
    let request = wire::Request {
        system_instruction: prompt
            .system
            .as_deref()
            .map(|text| wire::Instruction { parts: [wire::Part::Text { text }] }),
        contents,
        tools: tools.into_iter().collect(),
        generation_config: wanted.then_some(generation),
    };
    let (base, name) = (&model.base_url, segment(&model.model));
    Call::new(format!("{base}/models/{name}:streamGenerateContent?alt=sse"), &request)
}

/// A user may choose the name; whatever is in it, it names a model and no other address.
fn segment(name: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    let escaped = |byte: u8| match is_plain(byte) {
        true => char::from(byte).to_string(),
        false => format!("%{byte:02X}"),
    };
    name.bytes().map(escaped).collect()
}

/// Gemini 3 and later, and those that are named without a number, such as `gemini-flash-latest`.
fn signs_calls(model: &str) -> bool {
    let name = model.rsplit('/').next().unwrap_or(model);
    let Some(rest) = name.strip_prefix("gemini-") else { return false };
    let generation = rest.split(['.', '-']).next().unwrap_or(rest).parse::<u32>();
    generation.map_or(true, |number| number >= 3)
}

fn declaration(tool: &ToolSpec) -> Result<wire::Declaration<'_>, ChatError> {
    let ToolSpec { name, description, .. } = tool;
    Ok(wire::Declaration { name, description, parameters_json_schema: answer::schema(tool)? })
}

fn parts<'a>(
    model: &ChatModel,
    message: &'a ChatMessage,
) -> Result<(wire::Role, Vec<wire::Part<'a>>), ChatError> {
    let words = |text| Some(wire::Part::Text { text }).filter(|_| !str::is_empty(text));
    let foreign = |id: &'a str| Some(id).filter(|id| !id.starts_with(OWN_ID));
    Ok(match message {
        ChatMessage::User { text, images } => {
            let images = images.iter().map(|picture| wire::Part::Image {
                inline_data: wire::Data { mime_type: picture.mime, data: answer::base64(picture) },
            });
            (wire::Role::User, words(text).into_iter().chain(images).collect())
        }
        ChatMessage::Assistant { text, calls } => {
            let mut parts: Vec<_> = words(text).into_iter().collect();
            let signed = calls.iter().any(|call| call.signature.is_some());
            let unsigned = signs_calls(&model.model) && !signed;
            for (at, call) in calls.iter().enumerate() {
                let (id, name, args) = (foreign(&call.id), &call.name, &call.arguments);
                let function_call = wire::Call { id, name, args: answer::object(args)? };
                let mark = (unsigned && at == 0).then_some(UNSIGNED);
                let thought_signature = call.signature.as_deref().or(mark);
                parts.push(wire::Part::Call { function_call, thought_signature });
            }
            (wire::Role::Model, parts)
        }
        ChatMessage::Tool(ToolResult { id, name, outcome }) => {
            let response = match outcome {
                Ok(said) => wire::Outcome::Output(said),
                Err(reason) => wire::Outcome::Error(reason),
            };
            let function_response = wire::Response { id: foreign(id), name, response };
            (wire::Role::User, vec![wire::Part::Response { function_response }])
        }
    })
}

/// Takes a stream's events, or a whole answer as one.
#[derive(Debug, Default)]
pub(super) struct Decoder {
    calls: usize,
}

impl Decoder {
    pub(super) fn take(
        &mut self,
        model: &ChatModel,
        event: &SseEvent,
        answer: &mut Answer,
    ) -> Result<(), Failure> {
        let chunk: wire::Chunk = answer::parse(&event.data)?;
        if let Some(told) = chunk.usage_metadata {
            let output = told.candidates_token_count + told.thoughts_token_count;
            answer.usage = Some(Usage { input: told.prompt_token_count, output });
        }
        if let Some(error) = chunk.error {
            return Err(complaint(500, error).failure(model));
        }
        if let Some(reason) = chunk.prompt_feedback.and_then(|feedback| feedback.block_reason) {
            return Err(ChatError::Refused { reason }.into());
        }
        for candidate in chunk.candidates {
            for part in candidate.content.into_iter().flat_map(|said| said.parts) {
                self.part(part, answer)?;
            }
            if let Some(reason) = candidate.finish_reason {
                answer.end = Some(self.end(reason, candidate.finish_message)?);
            }
        }
        Ok(())
    }

    fn part(&mut self, part: wire::SaidPart, answer: &mut Answer) -> Result<(), ChatError> {
        if part.thought {
            return Ok(());
        }
        answer.text(part.text.unwrap_or_default());
        if let Some(wire::SaidData { mime_type, data }) = part.inline_data {
            answer.image(&mime_type, &data)?;
        }
        if let Some(call) = part.function_call {
            self.calls += 1;
            let own = || format!("{OWN_ID}{}", self.calls);
            let id = call.id.filter(|id| !id.is_empty()).unwrap_or_else(own);
            let arguments = call.args.map(|args| args.get().to_owned()).unwrap_or_default();
            let arguments = answer::arguments(arguments);
            let signature = part.thought_signature;
            let call = ToolCall { id, name: call.name, arguments, signature };
            answer.outputs.push(ChatOutput::ToolCall(call));
        }
        Ok(())
    }

    fn end(&self, reason: String, message: Option<String>) -> Result<DoneReason, ChatError> {
        match reason.as_str() {
            "STOP" | "FINISH_REASON_UNSPECIFIED" if self.calls > 0 => Ok(DoneReason::Tools),
            "STOP" | "FINISH_REASON_UNSPECIFIED" => Ok(DoneReason::Complete),
            "MAX_TOKENS" => Ok(DoneReason::Length),
            "MALFORMED_FUNCTION_CALL" | "UNEXPECTED_TOOL_CALL" | "TOO_MANY_TOOL_CALLS" => {
                let reason = message.unwrap_or(reason);
                Err(ChatError::Malformed { reason })
            }
            _ => Err(ChatError::Refused { reason }),
        }
    }
}

/// What a refusal with this status means.
pub(super) fn refusal(status: u16, body: &[u8]) -> Complaint {
    match serde_json::from_slice(body) {
        Ok(wire::Refusal::One(wrapped) | wire::Refusal::List([wrapped])) => {
            complaint(status, wrapped.error)
        }
        Err(_) => {
            let message = String::from_utf8_lossy(body).into_owned();
            Complaint { trouble: Trouble::of(status), status, message, retry_after: None }
        }
    }
}

fn complaint(status: u16, error: wire::Details) -> Complaint {
    let status = error.code.unwrap_or(status);
    let reasons = |word: &str| error.details.iter().any(|row| row.reason.as_deref() == Some(word));
    let said = |text: &str| error.message.to_ascii_lowercase().contains(text);
    let trouble = match status {
        400 if reasons("API_KEY_INVALID") || said("api key not valid") => Trouble::Key,
        400 if said("exceeds the maximum number of tokens") => Trouble::TooLong,
        _ => Trouble::of(status),
    };
    let delays = error.details.iter().filter_map(|row| row.retry_delay.as_deref());
    let retry_after = delays.filter_map(seconds).next();
    Complaint { trouble, status, message: error.message, retry_after }
}

fn seconds(text: &str) -> Option<Duration> {
    Duration::try_from_secs_f64(text.strip_suffix('s')?.parse().ok()?).ok()
}
