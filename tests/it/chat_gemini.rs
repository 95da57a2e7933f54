//! `streamGenerateContent` as Google speaks it.

use crate::chat_openai::spec;
use crate::model_server::{KEY, ModelServer, Reply, answer, delta, saying};
use bytes::Bytes;
use kakehashi::provider::chat::{
    ChatError, ChatMessage, ChatOutput, ChatRequest, DoneReason, Picture, ToolCall, ToolResult,
    Usage,
};
use kakehashi::provider::row::{ChatKind, ChatModel};
use serde_json::{Value, json};
use std::time::Duration;

/// As generativelanguage.googleapis.com sends it: with carriage returns.
const HELLO: &str = "data: {\"candidates\": [{\"content\": {\"parts\": [{\"text\": \"thinking\",\"thought\": true}],\"role\": \"model\"},\"index\": 0}],\"usageMetadata\": {\"promptTokenCount\": 8,\"totalTokenCount\": 8,\"promptTokensDetails\": [{\"modality\": \"TEXT\",\"tokenCount\": 8}]},\"modelVersion\": \"gemini-3.8-flash\",\"responseId\": \"r\"}\r\n\r\n\
data: {\"candidates\": [{\"content\": {\"parts\": [{\"text\": \"橋\"}],\"role\": \"model\"},\"index\": 0}],\"usageMetadata\": {\"promptTokenCount\": 8,\"candidatesTokenCount\": 1,\"totalTokenCount\": 9}}\r\n\r\n\
data: {\"candidates\": [{\"content\": {\"parts\": [{\"text\": \" it is\"}],\"role\": \"model\"},\"finishReason\": \"STOP\",\"index\": 0}],\"usageMetadata\": {\"promptTokenCount\": 8,\"candidatesTokenCount\": 4,\"thoughtsTokenCount\": 20,\"totalTokenCount\": 32}}\r\n\r\n";

fn model(server: &ModelServer) -> ChatModel {
    server.model(ChatKind::Gemini, "/v1beta")
}

fn events(chunks: &[Value]) -> Reply {
    let stream: String = chunks.iter().map(|chunk| format!("data: {chunk}\r\n\r\n")).collect();
    Reply::events(&stream)
}

#[tokio::test]
async fn an_answer_comes_in_pieces_with_its_cost() {
    let server = ModelServer::start([Reply::events(HELLO)]).await;
    assert_eq!(
        answer(model(&server), saying("hi")).await,
        [
            delta("橋"),
            delta(" it is"),
            ChatOutput::Usage(Usage { input: 8, output: 24 }),
            ChatOutput::Done { reason: DoneReason::Complete },
        ]
    );
    let asked = server.only_request();
    assert_eq!(asked.line, "POST /v1beta/models/some-model:streamGenerateContent?alt=sse HTTP/1.1");
    assert_eq!(asked.header("authorization"), None);
    asked.assert_key_only_in("x-goog-api-key", KEY);
    assert_eq!(asked.body, json!({"contents": [{"role": "user", "parts": [{"text": "hi"}]}]}));
}

#[tokio::test]
async fn a_model_name_cannot_lead_to_another_address() {
    for (name, part) in [
        ("../../files?key=x#", "..%2F..%2Ffiles%3Fkey%3Dx%23"),
        ("..", ".."),
        ("x:countTokens?", "x%3AcountTokens%3F"),
        ("橋 1%2F", "%E6%A9%8B%201%252F"),
    ] {
        let server = ModelServer::start([Reply::events(HELLO)]).await;
        answer(ChatModel { model: name.to_owned(), ..model(&server) }, saying("hi")).await;
        let expected = format!("POST /v1beta/models/{part}:streamGenerateContent?alt=sse HTTP/1.1");
        assert_eq!(server.only_request().line, expected);
    }
}

#[tokio::test]
async fn a_whole_conversation_is_sent_in_the_vendors_form() {
    let server = ModelServer::start([Reply::events(HELLO)]).await;
    let image = Picture { mime: "image/jpeg", bytes: Bytes::from_static(b"jpg!") };
    let call = |id: &str, signature: Option<&str>| ToolCall {
        id: id.to_owned(),
        name: "read".to_owned(),
        arguments: "{\"p\":1}".to_owned(),
        signature: signature.map(str::to_owned),
    };
    let result = |id: &str, outcome| {
        ChatMessage::Tool(ToolResult { id: id.to_owned(), name: "read".to_owned(), outcome })
    };
    let request = ChatRequest {
        history: vec![
            ChatMessage::User { text: "Look".to_owned(), images: vec![image] },
            ChatMessage::Assistant {
                text: "Reading".to_owned(),
                calls: vec![call("kakehashi-1", Some("c2ln")), call("b", None)],
            },
            result("kakehashi-1", Ok("fn main".to_owned())),
            result("b", Err("no such file".to_owned())),
        ],
        system: Some("Be brief".to_owned()),
        tools: vec![spec()],
        max_output_tokens: Some(100),
        ..saying("And now?")
    };
    answer(ChatModel { image_output: true, ..model(&server) }, request).await;
    let expected = json!({
        "systemInstruction": {"parts": [{"text": "Be brief"}]},
        "contents": [
            {"role": "user", "parts": [
                {"text": "Look"},
                {"inlineData": {"mimeType": "image/jpeg", "data": "anBnIQ=="}},
            ]},
            {"role": "model", "parts": [
                {"text": "Reading"},
                {"functionCall": {"name": "read", "args": {"p": 1}}, "thoughtSignature": "c2ln"},
                {"functionCall": {"id": "b", "name": "read", "args": {"p": 1}}},
            ]},
            {"role": "user", "parts": [
                {"functionResponse": {"name": "read", "response": {"output": "fn main"}}},
                {"functionResponse": {"id": "b", "name": "read", "response": {"error": "no such file"}}},
                {"text": "And now?"},
            ]},
        ],
        "tools": [{"functionDeclarations": [{
            "name": "read", "description": "Reads a file",
            "parametersJsonSchema": {"type": "object", "properties": {"p": {"type": "string"}}},
        }]}],
        "generationConfig": {"maxOutputTokens": 100, "responseModalities": ["TEXT", "IMAGE"]},
    });
    assert_eq!(server.only_request().body, expected);
}

#[tokio::test]
async fn unsigned_tool_calls_are_marked_for_models_that_sign_them() {
    let marks = async |name: &str| {
        let server = ModelServer::start([Reply::events(HELLO)]).await;
        let call = ToolCall {
            id: "a".to_owned(),
            name: "read".to_owned(),
            arguments: "{}".to_owned(),
            signature: None,
        };
        let request = ChatRequest {
            history: vec![ChatMessage::Assistant { text: String::new(), calls: vec![call] }],
            tools: vec![spec()],
            ..saying("hi")
        };
        answer(ChatModel { model: name.to_owned(), ..model(&server) }, request).await;
        let body = server.only_request().body;
        body["contents"][0]["parts"][0]["thoughtSignature"] == "skip_thought_signature_validator"
    };
    for name in ["gemini-3.8-flash", "models/gemini-3-pro", "gemini-4-argon", "gemini-flash-latest"]
    {
        assert!(marks(name).await, "{name}");
    }
    for name in ["gemini-2.5-pro", "gemma-3", "some-model"] {
        assert!(!marks(name).await, "{name}");
    }
}

#[tokio::test]
async fn tool_calls_and_pictures_of_an_answer_are_read() {
    let server = ModelServer::start([events(&[
        json!({"candidates": [{"content": {"parts": [
            {"functionCall": {"name": "read", "args": {"p": "a.rs"}}, "thoughtSignature": "c2ln"},
            {"functionCall": {"id": "x", "name": "list"}},
        ], "role": "model"}, "index": 0}]}),
        json!({"candidates": [{"content": {"parts": [
            {"inlineData": {"mimeType": "image/png", "data": "cG5nIQ=="}},
        ], "role": "model"}, "index": 0}]}),
        json!({"candidates": [{"content": {"parts": [{"text": ""}], "role": "model"}, "finishReason": "STOP", "index": 0}]}),
    ])])
    .await;
    let call = |id: &str, name: &str, arguments: &str, signature: Option<&str>| {
        ChatOutput::ToolCall(ToolCall {
            id: id.to_owned(),
            name: name.to_owned(),
            arguments: arguments.to_owned(),
            signature: signature.map(str::to_owned),
        })
    };
    assert_eq!(
        answer(model(&server), saying("hi")).await,
        [
            call("kakehashi-1", "read", "{\"p\":\"a.rs\"}", Some("c2ln")),
            call("x", "list", "{}", None),
            ChatOutput::Image { mime: "image/png".to_owned(), bytes: Bytes::from_static(b"png!") },
            ChatOutput::Done { reason: DoneReason::Tools },
        ]
    );
}

#[tokio::test]
async fn a_blocked_answer_is_a_refusal() {
    let refused =
        |reason: &str| ChatOutput::Failed(ChatError::Refused { reason: reason.to_owned() });
    for (chunk, expected) in [
        (
            json!({"promptFeedback": {"blockReason": "PROHIBITED_CONTENT", "safetyRatings": []}, "usageMetadata": {"promptTokenCount": 3}}),
            refused("PROHIBITED_CONTENT"),
        ),
        (
            json!({"candidates": [{"finishReason": "SAFETY", "index": 0, "safetyRatings": []}]}),
            refused("SAFETY"),
        ),
        (
            json!({"candidates": [{"finishReason": "MAX_TOKENS", "index": 0}]}),
            ChatOutput::Done { reason: DoneReason::Length },
        ),
    ] {
        let server = ModelServer::start([events(&[chunk])]).await;
        assert_eq!(answer(model(&server), saying("hi")).await.pop(), Some(expected));
    }
}

#[tokio::test(start_paused = true)]
async fn refusals_are_understood() {
    let refused = |code: u16, status: &str, message: &str, details: Value| json!({"error": {"code": code, "message": message, "status": status, "details": details}});
    let info = |reason: &str| json!([{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": reason, "domain": "googleapis.com"}]);
    for (code, body, expected) in [
        (
            400,
            refused(
                400,
                "INVALID_ARGUMENT",
                "API key not valid. Please pass a valid API key.",
                info("API_KEY_INVALID"),
            ),
            "the model's server does not accept the key in TEST_MODEL_KEY",
        ),
        (
            403,
            refused(403, "PERMISSION_DENIED", "denied", json!([])),
            "the model's server does not accept the key",
        ),
        (
            404,
            refused(404, "NOT_FOUND", "models/x is not found", json!([])),
            "there is no model `some-model`",
        ),
        (
            400,
            refused(
                400,
                "INVALID_ARGUMENT",
                "The input token count (2) exceeds the maximum number of tokens allowed (1).",
                json!([]),
            ),
            "this conversation is too long",
        ),
        (
            429,
            json!([refused(
                429,
                "RESOURCE_EXHAUSTED",
                "Quota exceeded",
                json!([{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "47.5s"}])
            )]),
            "the quota of this model is used up, try again in 47 seconds: Quota exceeded",
        ),
        (
            503,
            refused(503, "UNAVAILABLE", "The model is overloaded.", json!([])),
            "the model's server refused with status 503: The model is overloaded.",
        ),
    ] {
        let server = ModelServer::start([Reply::json(code, &body)]).await;
        let outputs = answer(model(&server), saying("hi")).await;
        let [ChatOutput::Failed(error)] = &outputs[..] else { panic!("{outputs:?}") };
        assert!(error.to_string().starts_with(expected), "{error}");
        let tries = if code == 503 { 3 } else { 1 };
        assert_eq!(server.asked().len(), tries, "{error}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_short_retry_delay_of_the_vendor_is_waited_for() {
    let limited = json!({"error": {"code": 429, "message": "slow down", "status": "RESOURCE_EXHAUSTED",
        "details": [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "7s"}]}});
    let server = ModelServer::start([Reply::json(429, &limited), Reply::events(HELLO)]).await;
    let began = tokio::time::Instant::now();
    let last = answer(model(&server), saying("hi")).await.pop();
    assert_eq!(last, Some(ChatOutput::Done { reason: DoneReason::Complete }));
    assert!(began.elapsed() >= Duration::from_secs(7), "{:?}", began.elapsed());
}
