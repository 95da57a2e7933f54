//! A request as every vendor can take it: attachments are read, and what the model cannot take is put into words.

use super::attachment;
use super::error::ChatError;
use super::{ChatMessage, ChatRequest, ToolCall, ToolResult, ToolSpec};
use crate::provider::row::ChatModel;

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Prompt {
    pub(super) system: Option<String>,
    /// Never empty texts, and never two of the same role in a row, except results of tools.
    pub(super) messages: Vec<ChatMessage>,
    pub(super) tools: Vec<ToolSpec>,
    pub(super) max_output_tokens: Option<u32>,
}

/// Reads files, so it belongs on a thread of its own.
pub(super) fn prepare(model: &ChatModel, request: ChatRequest) -> Result<Prompt, ChatError> {
    let mut messages = Vec::new();
    let tools = if model.tools { request.tools } else { Vec::new() };
    for message in request.history {
        let message = if tools.is_empty() { in_words(message) } else { message };
        push(&mut messages, seen(message, model));
    }
    let (text, images) = attachment::read(request.text, &request.attachments, model.images);
    push(&mut messages, ChatMessage::User { text, images });
    if messages.is_empty() {
        return Err(ChatError::Malformed { reason: "there is nothing to ask".to_owned() });
    }
    let limits = [request.max_output_tokens, model.max_output_tokens];
    Ok(Prompt {
        system: request.system.filter(|text| !text.trim().is_empty()),
        messages,
        tools,
        max_output_tokens: limits.into_iter().flatten().min(),
    })
}

/// Vendors refuse empty messages, and many local models two of the same role in a row.
fn push(messages: &mut Vec<ChatMessage>, message: ChatMessage) {
    match (messages.last_mut(), message) {
        (_, ChatMessage::User { text, images }) if text.trim().is_empty() && images.is_empty() => {}
        (_, ChatMessage::Assistant { text, calls })
            if text.trim().is_empty() && calls.is_empty() => {}
        (
            Some(ChatMessage::User { text, images }),
            ChatMessage::User { text: more, images: further },
        ) => {
            join(text, &more);
            images.extend(further);
        }
        (
            Some(ChatMessage::Assistant { text, calls }),
            ChatMessage::Assistant { text: more, calls: further },
        ) if calls.is_empty() => {
            join(text, &more);
            *calls = further;
        }
        (_, message) => messages.push(message),
    }
}

fn join(text: &mut String, more: &str) {
    if !text.is_empty() && !more.is_empty() {
        text.push_str("\n\n");
    }
    text.push_str(more);
}

fn seen(message: ChatMessage, model: &ChatModel) -> ChatMessage {
    match message {
        ChatMessage::User { mut text, images } if !model.images && !images.is_empty() => {
            join(&mut text, "[a picture that this model cannot see]");
            ChatMessage::User { text, images: Vec::new() }
        }
        ChatMessage::User { .. } | ChatMessage::Assistant { .. } | ChatMessage::Tool(_) => message,
    }
}

/// Calls of tools that another model made, for one that has none.
fn in_words(message: ChatMessage) -> ChatMessage {
    match message {
        ChatMessage::Assistant { mut text, calls } => {
            for ToolCall { name, arguments, .. } in calls {
                join(&mut text, &format!("[called {name} with {arguments}]"));
            }
            ChatMessage::Assistant { text, calls: Vec::new() }
        }
        ChatMessage::Tool(ToolResult { name, outcome, .. }) => {
            let text = match outcome {
                Ok(said) => format!("[{name} answered: {said}]"),
                Err(reason) => format!("[{name} failed: {reason}]"),
            };
            ChatMessage::User { text, images: Vec::new() }
        }
        ChatMessage::User { .. } => message,
    }
}
