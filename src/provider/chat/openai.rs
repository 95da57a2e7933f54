//! Chat completions: OpenAI, OpenRouter, Ollama, llama.cpp, vLLM and others. Its forms are in `wire`.

mod wire;

use super::answer::{self, Answer, LONGEST_ARGUMENTS, data_url};
use super::error::ChatError;
use super::failure::{Complaint, Failure, Trouble};
use super::prompt::Prompt;
use super::remote::Call;
use super::sse::SseEvent;
use super::{ChatMessage, ChatOutput, DoneReason, ToolCall, ToolResult, ToolSpec, Usage};
use crate::provider::row::ChatModel;

/// The only server that does not take `max_tokens` from its newer models, and from the newest no tools with reasoning.
const VENDOR: &str = "https://api.openai.com/";

pub(super) fn call(model: &ChatModel, prompt: &Prompt) -> Result<Call, ChatError> {
    let system = prompt.system.iter().map(|content| wire::Message::System { content });
    let messages = system.chain(prompt.messages.iter().map(message)).collect();
    let vendor = model.base_url.starts_with(VENDOR);
    let request = wire::Request {
        model: &model.model,
        messages,
        stream: true,
        stream_options: wire::StreamOptions { include_usage: true },
        tools: prompt.tools.iter().map(tool).collect::<Result<_, _>>()?,
        reasoning_effort: (vendor && !prompt.tools.is_empty() && reasons_or_calls(&model.model))
            .then_some("none"),
        max_tokens: prompt.max_output_tokens.filter(|_| !vendor),
        max_completion_tokens: prompt.max_output_tokens.filter(|_| vendor),
        modalities: model.image_output.then_some(["image", "text"]),
    };
    Call::new(format!("{}/chat/completions", model.base_url), &request)
}

/// From gpt-5.6 on the vendor refuses tools on this path (400) unless the model is told not to reason first.
fn reasons_or_calls(model: &str) -> bool {
    let Some(version) = model.strip_prefix("gpt-").and_then(|rest| rest.split('-').next()) else {
        return false;
    };
    let mut numbers = version.split('.').map(str::parse::<u32>);
    match (numbers.next(), numbers.next()) {
        (Some(Ok(5)), Some(Ok(minor))) => minor >= 6,
        (Some(Ok(major)), _) => major >= 6,
        _ => false,
    }
}

pub(super) const KEY_HEADER: (&str, &str) = ("authorization", "Bearer ");

fn message(message: &ChatMessage) -> wire::Message<'_> {
    match message {
        ChatMessage::User { text, images } if images.is_empty() => {
            wire::Message::User { content: wire::Content::Text(text) }
        }
        ChatMessage::User { text, images } => {
            let words = (!text.is_empty()).then_some(wire::Part::Text { text });
            let images = images.iter().map(|picture| wire::Part::ImageUrl {
                image_url: wire::Url { url: data_url(picture) },
            });
            wire::Message::User {
                content: wire::Content::Parts(words.into_iter().chain(images).collect()),
            }
        }
        ChatMessage::Assistant { text, calls } => wire::Message::Assistant {
            content: (!text.is_empty()).then_some(text),
            tool_calls: calls.iter().map(asked).collect(),
        },
        ChatMessage::Tool(ToolResult { id, outcome, .. }) => wire::Message::Tool {
            tool_call_id: id,
            content: match outcome {
                Ok(said) => said.clone(),
                Err(reason) => format!("error: {reason}"),
            },
        },
    }
}

fn asked(call: &ToolCall) -> wire::Call<'_> {
    let function = wire::Function { name: &call.name, arguments: &call.arguments };
    wire::Call { id: &call.id, kind: "function", function }
}

fn tool(tool: &ToolSpec) -> Result<wire::Tool<'_>, ChatError> {
    let ToolSpec { name, description, .. } = tool;
    let parameters = answer::schema(tool)?;
    Ok(wire::Tool {
        kind: "function",
        function: wire::Declaration { name, description, parameters },
    })
}

/// Takes a stream's events, or a whole answer as one.
#[derive(Debug, Default)]
pub(super) struct Decoder {
    calls: Vec<Piecemeal>,
}

/// A call that is still being spelled out.
#[derive(Debug, Default)]
struct Piecemeal {
    index: Option<usize>,
    id: String,
    name: String,
    arguments: String,
}

impl Decoder {
    pub(super) fn take(
        &mut self,
        model: &ChatModel,
        event: &SseEvent,
        answer: &mut Answer,
    ) -> Result<(), Failure> {
        if event.data.trim() == "[DONE]" {
            return self.finish(answer);
        }
        let chunk: wire::Chunk = answer::parse(&event.data)?;
        if let Some(usage) = chunk.usage {
            let (input, output) = (usage.prompt_tokens, usage.completion_tokens);
            answer.usage = Some(Usage { input, output });
        }
        if let Some(error) = chunk.error {
            return Err(complaint(500, error).failure(model));
        }
        for choice in chunk.choices {
            self.delta(choice.delta.unwrap_or_default(), answer)?;
            if let Some(reason) = choice.finish_reason {
                answer.end = Some(end(&reason)?);
            }
        }
        Ok(())
    }

    /// The stream is over.
    pub(super) fn finish(&mut self, answer: &mut Answer) -> Result<(), Failure> {
        answer.over = true;
        let end = answer.end.get_or_insert(DoneReason::Complete);
        // Where an answer was cut off, so were its calls.
        if *end == DoneReason::Length {
            return Ok(());
        }
        for (at, call) in std::mem::take(&mut self.calls).into_iter().enumerate() {
            *end = DoneReason::Tools;
            let id = if call.id.is_empty() { format!("call_{at}") } else { call.id };
            let arguments = answer::arguments(call.arguments);
            let call = ToolCall { id, name: call.name, arguments, signature: None };
            answer.outputs.push(ChatOutput::ToolCall(call));
        }
        Ok(())
    }

    fn delta(&mut self, delta: wire::Delta, answer: &mut Answer) -> Result<(), ChatError> {
        for text in [delta.content, delta.refusal].into_iter().flatten() {
            answer.text(text);
        }
        for made in delta.images.into_iter().flatten() {
            answer.image_url(&made.image_url.url)?;
        }
        for piece in delta.tool_calls.into_iter().flatten() {
            self.lengthen(piece)?;
        }
        Ok(())
    }

    /// Servers differ: some count calls, some name each, some send all of them as number 0.
    fn lengthen(&mut self, piece: wire::CallPiece) -> Result<(), ChatError> {
        let id = piece.id.unwrap_or_default();
        let function = piece.function;
        let (name, arguments) = function.map_or((None, None), |made| (made.name, made.arguments));
        let belongs = |call: &Piecemeal| {
            (piece.index.is_none() || call.index == piece.index)
                && (id.is_empty() || call.id == id)
                && (!id.is_empty() || piece.index.is_some() || name.is_none())
        };
        let at = match self.calls.iter().rposition(belongs) {
            Some(at) => at,
            None if name.is_none() => return Ok(()),
            None => {
                self.calls.push(Piecemeal { index: piece.index, id, ..Piecemeal::default() });
                self.calls.len() - 1
            }
        };
        let call = &mut self.calls[at];
        call.arguments.push_str(&arguments.unwrap_or_default());
        if call.name.is_empty() {
            call.name = name.unwrap_or_default();
        }
        if call.arguments.len() > LONGEST_ARGUMENTS {
            return Err(ChatError::Malformed { reason: "a tool call without end".to_owned() });
        }
        Ok(())
    }
}

fn end(reason: &str) -> Result<DoneReason, ChatError> {
    match reason {
        "length" => Ok(DoneReason::Length),
        "tool_calls" | "function_call" => Ok(DoneReason::Tools),
        "content_filter" => Err(ChatError::Refused { reason: "its content filter".to_owned() }),
        "error" => Err(ChatError::Server { status: 502, reason: "it broke off".to_owned() }),
        _ => Ok(DoneReason::Complete),
    }
}

/// What a refusal with this status means.
pub(super) fn refusal(status: u16, body: &[u8]) -> Complaint {
    match serde_json::from_slice(body) {
        Ok(wire::Refusal::Wrapped { error }) => complaint(status, error),
        Ok(wire::Refusal::Bare(details)) => complaint(status, wire::Error::Details(details)),
        Err(_) => {
            let message = String::from_utf8_lossy(body).into_owned();
            Complaint { trouble: Trouble::of(status), status, message, retry_after: None }
        }
    }
}

fn complaint(status: u16, error: wire::Error) -> Complaint {
    let (message, kind, code) = match error {
        wire::Error::Text(message) => (message, None, None),
        wire::Error::Details(wire::Details { message, kind, code }) => (message, kind, code),
    };
    let (status, word) = match code {
        Some(wire::Code::Number(number)) if (400..600).contains(&number) => (number, String::new()),
        Some(wire::Code::Word(word)) => (status, word),
        Some(wire::Code::Number(_)) | None => (status, String::new()),
    };
    let kind = kind.unwrap_or_default();
    let said = |text: &str| message.to_ascii_lowercase().contains(text);
    let trouble = match (word.as_str(), kind.as_str()) {
        ("invalid_api_key", _) => Trouble::Key,
        ("insufficient_quota", _) | (_, "insufficient_quota") => Trouble::Quota,
        ("rate_limit_exceeded", _) => Trouble::Rate,
        ("model_not_found", _) => Trouble::UnknownModel,
        ("context_length_exceeded", _) | (_, "exceed_context_size_error") => Trouble::TooLong,
        ("content_filter" | "content_policy_violation" | "moderation_blocked", _) => {
            Trouble::Refused
        }
        // OpenRouter says so when a text was flagged.
        _ if status == 403 && said("moderation") => Trouble::Refused,
        _ if status == 400 && said("context length") => Trouble::TooLong,
        _ if status == 400 && said("not a valid model") => Trouble::UnknownModel,
        _ => Trouble::of(status),
    };
    Complaint { trouble, status, message, retry_after: None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::provider::row::ChatKind;

    fn model(base_url: &str, name: &str) -> ChatModel {
        ChatModel {
            name: "a".to_owned(),
            label: "A".to_owned(),
            kind: ChatKind::OpenAi,
            base_url: base_url.to_owned(),
            model: name.to_owned(),
            key: None,
            context_tokens: None,
            max_output_tokens: None,
            images: true,
            image_output: false,
            tools: true,
            patience: None,
        }
    }

    fn prompt(tools: Vec<ToolSpec>) -> Prompt {
        let message = ChatMessage::User { text: "hi".to_owned(), images: Vec::new() };
        Prompt { system: None, messages: vec![message], tools, max_output_tokens: Some(9) }
    }

    #[track_caller]
    fn check(base_url: &str, expected: &str) {
        let call = format!("{:?}", call(&model(base_url, "m"), &prompt(Vec::new())).unwrap());
        let limits = call.matches("tokens").count();
        assert!(call.contains(expected) && limits == 1, "{call}");
    }

    #[test]
    fn each_server_gets_the_limit_that_it_knows() {
        check("https://api.openai.com/v1", "max_completion_tokens");
        check("https://openrouter.ai/api/v1", "max_tokens");
        check("http://127.0.0.1:11434/v1", "max_tokens");
    }

    #[test]
    fn current_models_of_the_vendor_call_tools_without_reasoning() {
        let tool = ToolSpec {
            name: "read".to_owned(),
            description: "reads".to_owned(),
            schema: "{}".to_owned(),
        };
        let asked = |base_url: &str, name: &str, tools: Vec<ToolSpec>| {
            let call = call(&model(base_url, name), &prompt(tools)).unwrap();
            format!("{call:?}").contains("reasoning_effort")
        };
        for name in ["gpt-5.6-luna", "gpt-6-luna", "gpt-6.1-terra", "gpt-7"] {
            assert!(asked("https://api.openai.com/v1", name, vec![tool.clone()]), "{name}");
            assert!(!asked("https://api.openai.com/v1", name, Vec::new()), "{name} without tools");
            assert!(!asked("https://openrouter.ai/api/v1", name, vec![tool.clone()]), "{name}");
        }
        for name in ["gpt-4.1", "gpt-5", "gpt-5.5", "gpt-4o", "o3", "m"] {
            assert!(!asked("https://api.openai.com/v1", name, vec![tool.clone()]), "{name}");
        }
    }
}
