//! Messages as Anthropic speaks them.

use crate::chat_openai::spec;
use crate::model_server::{KEY, ModelServer, Reply, answer, delta, saying};
use bytes::Bytes;
use kakehashi::provider::chat::{
    ChatError, ChatMessage, ChatOutput, ChatRequest, DoneReason, Picture, ToolCall, ToolResult,
    Usage,
};
use kakehashi::provider::row::{ChatKind, ChatModel};
use serde_json::json;

/// As api.anthropic.com sends it: text, then a call.
const STREAM: &str = r#"event: message_start
data: {"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"claude-sonnet-5-5","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":472,"cache_creation_input_tokens":0,"cache_read_input_tokens":28,"output_tokens":2,"service_tier":"standard"}}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}

event: ping
data: {"type": "ping"}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"橋を"}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":" read"}}

event: content_block_stop
data: {"type":"content_block_stop","index":0}

event: content_block_start
data: {"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"toolu_1","name":"read","input":{}}}

event: content_block_delta
data: {"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"p\":"}}

event: content_block_delta
data: {"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":" \"a.rs\"}"}}

event: content_block_stop
data: {"type":"content_block_stop","index":1}

event: content_block_start
data: {"type":"content_block_start","index":2,"content_block":{"type":"invented_later","x":1}}

event: content_block_stop
data: {"type":"content_block_stop","index":2}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"output_tokens":89}}

event: message_stop
data: {"type":"message_stop"}

"#;

const START: &str = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"usage\":{\"input_tokens\":5,\"output_tokens\":1}}}\n\n";

fn model(server: &ModelServer) -> ChatModel {
    server.model(ChatKind::Anthropic, "")
}

#[tokio::test]
async fn text_and_a_call_come_with_their_cost() {
    let server = ModelServer::start([Reply::events(STREAM)]).await;
    let call = ToolCall {
        id: "toolu_1".to_owned(),
        name: "read".to_owned(),
        arguments: "{\"p\": \"a.rs\"}".to_owned(),
        signature: None,
    };
    assert_eq!(
        answer(model(&server), saying("hi")).await,
        [
            delta("橋を"),
            delta(" read"),
            ChatOutput::ToolCall(call),
            ChatOutput::Usage(Usage { input: 500, output: 89 }),
            ChatOutput::Done { reason: DoneReason::Tools },
        ]
    );
    let asked = server.only_request();
    assert_eq!(asked.line, "POST /v1/messages HTTP/1.1");
    assert_eq!(asked.header("anthropic-version"), Some("2023-06-01"));
    assert_eq!(asked.header("authorization"), None);
    asked.assert_key_only_in("x-api-key", KEY);
    let expected = json!({
        "model": "some-model",
        "max_tokens": 32000,
        "messages": [{"role": "user", "content": [{"type": "text", "text": "hi"}]}],
        "stream": true,
    });
    assert_eq!(asked.body, expected);
}

#[tokio::test]
async fn a_whole_conversation_is_sent_in_the_vendors_form() {
    let server = ModelServer::start([Reply::events(STREAM)]).await;
    let image = Picture { mime: "image/png", bytes: Bytes::from_static(b"png!") };
    let call = |id: &str, arguments: &str| ToolCall {
        id: id.to_owned(),
        name: "read".to_owned(),
        arguments: arguments.to_owned(),
        signature: None,
    };
    let result = |id: &str, outcome| {
        ChatMessage::Tool(ToolResult { id: id.to_owned(), name: "read".to_owned(), outcome })
    };
    let request = ChatRequest {
        history: vec![
            ChatMessage::User { text: "Look".to_owned(), images: vec![image] },
            ChatMessage::Assistant {
                text: String::new(),
                calls: vec![call("a", "{\"p\":1}"), call("b", "no json")],
            },
            result("a", Ok("fn main".to_owned())),
            result("b", Err("no such file".to_owned())),
        ],
        system: Some("Be brief".to_owned()),
        tools: vec![spec()],
        max_output_tokens: Some(100),
        ..saying("And now?")
    };
    let limited = ChatModel { max_output_tokens: Some(64), ..model(&server) };
    answer(limited, request).await;
    let expected = json!({
        "model": "some-model",
        "max_tokens": 64,
        "system": "Be brief",
        "messages": [
            {"role": "user", "content": [
                {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "cG5nIQ=="}},
                {"type": "text", "text": "Look"},
            ]},
            {"role": "assistant", "content": [
                {"type": "tool_use", "id": "a", "name": "read", "input": {"p": 1}},
                {"type": "tool_use", "id": "b", "name": "read", "input": {"arguments": "no json"}},
            ]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "a", "content": "fn main"},
                {"type": "tool_result", "tool_use_id": "b", "content": "no such file", "is_error": true},
                {"type": "text", "text": "And now?"},
            ]},
        ],
        "tools": [{
            "name": "read", "description": "Reads a file",
            "input_schema": {"type": "object", "properties": {"p": {"type": "string"}}},
        }],
        "stream": true,
    });
    assert_eq!(server.only_request().body, expected);
}

#[tokio::test]
async fn every_stop_reason_is_understood() {
    for (reason, expected) in [
        ("end_turn", Ok(DoneReason::Complete)),
        ("max_tokens", Ok(DoneReason::Length)),
        ("refusal", Err(ChatError::Refused { reason: "its safety rules".to_owned() })),
    ] {
        let stream = STREAM
            .replace("\"stop_reason\":\"tool_use\"", &format!("\"stop_reason\":\"{reason}\""));
        let server = ModelServer::start([Reply::events(&stream)]).await;
        let last = answer(model(&server), saying("hi")).await.pop();
        let expected = match expected {
            Ok(reason) => ChatOutput::Done { reason },
            Err(error) => ChatOutput::Failed(error),
        };
        assert_eq!(last, Some(expected));
    }
}

#[tokio::test(start_paused = true)]
async fn an_overloaded_server_is_asked_again_until_it_has_begun() {
    let overloaded = "event: error\ndata: {\"type\": \"error\", \"error\": {\"type\": \"overloaded_error\", \"message\": \"Overloaded\"}}\n\n";
    let early = Reply::events(&format!("{START}{overloaded}"));
    let server = ModelServer::start([early, Reply::events(STREAM)]).await;
    let outputs = answer(model(&server), saying("hi")).await;
    assert_eq!(outputs.last(), Some(&ChatOutput::Done { reason: DoneReason::Tools }));
    assert_eq!(server.asked().len(), 2);

    let said = "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"So\"}}\n\n";
    let late = Reply::events(&format!("{START}{said}{overloaded}"));
    let server = ModelServer::start([late]).await;
    let failed = ChatError::Server { status: 529, reason: "Overloaded".to_owned() };
    assert_eq!(
        answer(model(&server), saying("hi")).await,
        [delta("So"), ChatOutput::Usage(Usage { input: 5, output: 1 }), ChatOutput::Failed(failed)]
    );
    assert_eq!(server.asked().len(), 1);
}

#[tokio::test]
async fn an_answer_without_streaming_is_accepted() {
    let body = json!({
        "id": "msg_1", "type": "message", "role": "assistant", "model": "m",
        "content": [
            {"type": "text", "text": "Hello"},
            {"type": "tool_use", "id": "t", "name": "read", "input": {"p": "a"}},
        ],
        "stop_reason": "tool_use", "stop_sequence": null,
        "usage": {"input_tokens": 3, "output_tokens": 4},
    });
    let server = ModelServer::start([Reply::json(200, &body)]).await;
    let outputs = answer(model(&server), saying("hi")).await;
    assert_eq!(outputs[0], delta("Hello"));
    let ChatOutput::ToolCall(call) = &outputs[1] else { panic!("{outputs:?}") };
    assert_eq!(call.arguments, "{\"p\":\"a\"}");
    assert_eq!(outputs[3], ChatOutput::Done { reason: DoneReason::Tools });
}

#[tokio::test(start_paused = true)]
async fn refusals_are_understood() {
    let refused = |kind: &str, message: &str| json!({"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_1"});
    for (status, kind, message, expected) in [
        (
            401,
            "authentication_error",
            "invalid x-api-key",
            "the model's server does not accept the key in TEST_MODEL_KEY",
        ),
        (404, "not_found_error", "model: some-model", "there is no model `some-model`"),
        (
            400,
            "invalid_request_error",
            "prompt is too long: 210000 tokens > 200000 maximum",
            "this conversation is too long",
        ),
        (
            413,
            "request_too_large",
            "Request exceeds the maximum size",
            "this conversation is too long",
        ),
        (
            400,
            "invalid_request_error",
            "Your credit balance is too low to access the Anthropic API",
            "the quota of this model is used up",
        ),
        (
            429,
            "rate_limit_error",
            "This request would exceed your rate limit",
            "the quota of this model is used up",
        ),
        (
            400,
            "invalid_request_error",
            "messages: at least one",
            "the model's server refused with status 400: messages: at least one",
        ),
        (
            529,
            "overloaded_error",
            "Overloaded",
            "the model's server refused with status 529: Overloaded",
        ),
    ] {
        let server = ModelServer::start([Reply::json(status, &refused(kind, message))]).await;
        let outputs = answer(model(&server), saying("hi")).await;
        let [ChatOutput::Failed(error)] = &outputs[..] else { panic!("{outputs:?}") };
        assert!(error.to_string().starts_with(expected), "{error}");
    }
}
