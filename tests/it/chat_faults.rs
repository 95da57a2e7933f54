//! What servers of models do when they do not do what they should. The wire is that of chat completions; what is tested
//! here is the same for all.

use crate::model_server::{
    KEY, ModelServer, Reply, VARIABLE, answer, ask, delta, rest, saying, text,
};
use crate::support::{PATIENCE, eventually};
use kakehashi::provider::chat::{ChatError, ChatOutput, DoneReason};
use kakehashi::provider::row::{ChatKey, ChatKind, ChatModel, Secret};
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::time::{Instant, timeout};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;

const SO: &str =
    "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"So\"},\"finish_reason\":null}]}\n\n";
const END: &str = "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
const DONE: ChatOutput = ChatOutput::Done { reason: DoneReason::Complete };

fn good() -> Reply {
    Reply::events(&format!("{SO}{END}"))
}

fn model(server: &ModelServer) -> ChatModel {
    server.model(ChatKind::OpenAi, "/v1")
}

async fn failure(replies: Vec<Reply>) -> (ChatError, usize) {
    let server = ModelServer::start(replies).await;
    let mut outputs = answer(model(&server), saying("hi")).await;
    let Some(ChatOutput::Failed(error)) = outputs.pop() else { panic!("{outputs:?}") };
    assert!(!error.to_string().contains(KEY), "{error}");
    assert_eq!(error.to_string().lines().count(), 1, "{error}");
    (error, server.asked().len())
}

async fn check(status: u16, body: serde_json::Value, expected: &str, tries: usize) {
    let (error, tried) = failure(vec![Reply::json(status, &body)]).await;
    assert!(error.to_string().starts_with(expected), "{error}");
    assert_eq!(tried, tries, "{error}");
}

/// As OpenAI words it.
fn said(message: &str, kind: &str, code: &str) -> serde_json::Value {
    json!({"error": {"message": message, "type": kind, "param": null, "code": code}})
}

/// As OpenRouter words it.
fn numbered(message: &str, code: u16) -> serde_json::Value {
    json!({"error": {"message": message, "code": code}})
}

#[tokio::test]
async fn a_key_that_is_refused_is_not_shown() {
    let echo = format!("Incorrect API key provided: {KEY}. You can find your API key at ...");
    let bad = "the model's server does not accept the key in TEST_MODEL_KEY: check it";
    check(401, said(&echo, "invalid_request_error", "invalid_api_key"), bad, 1).await;
    check(403, numbered(&echo, 403), bad, 1).await;
    let bad = "the model's server refused with status 400: bad (the key) thing";
    check(400, numbered(&format!("bad {KEY}\n\nthing"), 400), bad, 1).await;
}

#[tokio::test]
async fn an_unknown_model_is_named() {
    let expected = "there is no model `some-model` at its server: check `model`";
    check(404, said("does not exist", "invalid_request_error", "model_not_found"), expected, 1)
        .await;
    check(404, json!({"error": "model 'some-model' not found"}), expected, 1).await;
    let bare = json!({"object": "error", "message": "no", "type": "NotFoundError", "code": 404});
    check(404, bare, expected, 1).await;
    check(400, numbered("some-model is not a valid model ID", 400), expected, 1).await;
}

#[tokio::test]
async fn a_too_long_request_and_a_flagged_one_are_told_apart() {
    let long = "this conversation is too long for the model";
    check(400, said("no", "invalid_request_error", "context_length_exceeded"), long, 1).await;
    let llama =
        json!({"error": {"code": 400, "message": "no", "type": "exceed_context_size_error"}});
    check(400, llama, long, 1).await;
    let flagged = "the model does not answer this (flagged by moderation)";
    check(403, numbered("flagged by moderation", 403), flagged, 1).await;
}

#[tokio::test(start_paused = true)]
async fn a_rate_limit_is_retried_and_a_quota_is_not() {
    let used_up = "the quota of this model is used up: No";
    check(402, numbered("No credits", 402), used_up, 1).await;
    check(429, said("No", "insufficient_quota", "insufficient_quota"), used_up, 1).await;
    check(429, said("No", "requests", "rate_limit_exceeded"), used_up, 3).await;
    let loading = "the model's server refused with status 503: Loading model";
    check(503, numbered("Loading model", 503), loading, 3).await;
    let broken = "the model's server refused with status 500: The server had an error";
    check(500, said("The server had an error", "server_error", ""), broken, 3).await;
}

#[tokio::test(start_paused = true)]
async fn refusals_in_other_forms_are_recognised() {
    let page = Reply::plain(502, "Content-Type: text/html\r\n", "<html>Bad\n Gateway</html>");
    let (error, tried) = failure(vec![page]).await;
    assert_eq!(
        error,
        ChatError::Server { status: 502, reason: "<html>Bad Gateway</html>".to_owned() }
    );
    assert_eq!(tried, 3);
    let (error, _) = failure(vec![Reply::plain(418, "", "")]).await;
    assert_eq!(error, ChatError::Server { status: 418, reason: "it gives no reason".to_owned() });
}

#[tokio::test(start_paused = true)]
async fn temporary_errors_are_retried() {
    let down = |status| Reply::plain(status, "", "down");
    for status in [408, 409, 429, 500, 502, 503, 504, 529] {
        let server = ModelServer::start([down(status), down(status), good()]).await;
        assert_eq!(answer(model(&server), saying("hi")).await, [delta("So"), DONE], "{status}");
        assert_eq!(server.asked().len(), 3);
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_says_how_long_to_wait() {
    let limited =
        |after: &str| Reply::plain(429, &format!("Retry-After: {after}\r\n"), "slow down");
    let server = ModelServer::start([limited("9"), good()]).await;
    let began = Instant::now();
    assert_eq!(answer(model(&server), saying("hi")).await.pop(), Some(DONE));
    assert!(began.elapsed() >= Duration::from_secs(9), "{:?}", began.elapsed());

    let (error, tried) = failure(vec![limited("3600")]).await;
    let retry_after = Some(Duration::from_secs(3600));
    assert_eq!(error, ChatError::Quota { retry_after, reason: "slow down".to_owned() });
    assert_eq!(tried, 1);

    let (_, tried) = failure(vec![limited("Tue, 31 Dec 2199 23:59:59 GMT")]).await;
    assert_eq!(tried, 1);
}

#[tokio::test]
async fn a_missing_key_is_named_and_nobody_is_asked() {
    let server = ModelServer::start([good()]).await;
    let key = |secret: Option<&str>| {
        Some(ChatKey { variable: VARIABLE.to_owned(), secret: secret.map(Secret::new) })
    };
    let without = ChatModel { key: key(None), ..model(&server) };
    let outputs = answer(without, saying("hi")).await;
    let expected = ChatError::NoKey { variable: VARIABLE.to_owned() };
    assert_eq!(outputs, [ChatOutput::Failed(expected)]);
    let broken = ChatModel { key: key(Some("a\nb")), ..model(&server) };
    let outputs = answer(broken, saying("hi")).await;
    let expected = ChatError::BadKey { variable: Some(VARIABLE.to_owned()) };
    assert_eq!(outputs, [ChatOutput::Failed(expected)]);
    assert_eq!(server.asked().len(), 0);
}

#[tokio::test]
async fn a_server_that_is_not_there_is_tried_three_times() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let addr = listener.local_addr().unwrap();
    drop(listener);
    let server = ModelServer::start([good()]).await;
    let gone = ChatModel { base_url: format!("http://{addr}/v1"), ..model(&server) };
    let began = std::time::Instant::now();
    let outputs = answer(gone, saying("hi")).await;
    let [ChatOutput::Failed(ChatError::Network { reason })] = &outputs[..] else {
        panic!("{outputs:?}")
    };
    assert!(reason.contains(&addr.to_string()), "{reason}");
    // Two pauses, of at least half of 0.5 and 1 seconds.
    assert!(began.elapsed() >= Duration::from_millis(750));
}

#[tokio::test]
async fn a_cut_stream_is_not_an_answer() {
    for reply in [
        Reply::begin("text/event-stream").pieces(SO).cut(),
        Reply::begin("text/event-stream").pieces(SO).end(),
        Reply::begin("text/event-stream").pieces(&SO[..SO.len() - 20]).cut(),
        Reply::begin("text/event-stream").end(),
        Reply::default().cut(),
    ] {
        let (error, tried) = failure(vec![reply]).await;
        assert!(
            matches!(error, ChatError::Network { .. } | ChatError::Malformed { .. }),
            "{error}"
        );
        assert_eq!(tried, 1);
    }
}

#[tokio::test]
async fn an_answer_that_ended_before_its_connection_was_cut_is_complete() {
    let (end, _) = END.split_once("data: [DONE]").unwrap();
    for reply in [
        Reply::begin("text/event-stream").pieces(&format!("{SO}{end}")).cut(),
        Reply::begin("text/event-stream").pieces(&format!("{SO}{end}data: [DONE]")).end(),
        Reply::begin("text/event-stream").pieces(&format!("{SO}{}", END.trim_end())).end(),
    ] {
        let server = ModelServer::start([reply]).await;
        assert_eq!(answer(model(&server), saying("hi")).await, [delta("So"), DONE]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_slow_stream_is_waited_for_and_a_silent_one_is_not() {
    let pause = Duration::from_secs(59);
    let slow = Reply::begin("text/event-stream")
        .wait(pause)
        .piece(b": keep-alive\n\n")
        .wait(pause)
        .pieces(SO)
        .wait(pause)
        .pieces(END)
        .end();
    let server = ModelServer::start([slow]).await;
    assert_eq!(answer(model(&server), saying("hi")).await, [delta("So"), DONE]);

    let began = Instant::now();
    let (error, tried) = failure(vec![Reply::begin("text/event-stream").pieces(SO).hang()]).await;
    assert_eq!(error, ChatError::Timeout { waited: Duration::from_secs(60) });
    assert_eq!((tried, began.elapsed().as_secs()), (1, 60));
}

/// It may think, or have to be loaded first.
#[tokio::test(start_paused = true)]
async fn a_model_has_more_time_until_its_answer_begins() {
    let pause = Duration::from_secs(299);
    let thinking = "data: {\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\"}}]}\n\n";
    let slow = Reply::default().wait(pause).raw(
        b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n",
    );
    let slow = slow.wait(pause).pieces(thinking).wait(pause).pieces(&format!("{SO}{END}")).end();
    let server = ModelServer::start([slow]).await;
    assert_eq!(answer(model(&server), saying("hi")).await, [delta("So"), DONE]);
    for silent in [Reply::default().hang(), Reply::begin("text/event-stream").hang()] {
        let began = Instant::now();
        let (error, _) = failure(vec![silent]).await;
        assert_eq!(error, ChatError::Timeout { waited: Duration::from_secs(300) });
        assert_eq!(began.elapsed().as_secs(), 300);
    }
}

#[tokio::test(start_paused = true)]
async fn the_timeout_for_a_silent_model_can_be_set() {
    let patience = Some(Duration::from_secs(900));
    let pause = Duration::from_secs(899);
    let slow = Reply::begin("text/event-stream").wait(pause).pieces(SO).wait(pause).pieces(END);
    let silent = Reply::begin("text/event-stream").pieces(SO).hang();
    let server = ModelServer::start([slow.end(), silent]).await;
    let ask = || answer(ChatModel { patience, ..model(&server) }, saying("hi"));
    assert_eq!(ask().await, [delta("So"), DONE]);
    let waited = Duration::from_secs(900);
    assert_eq!(ask().await, [delta("So"), ChatOutput::Failed(ChatError::Timeout { waited })]);
}

#[tokio::test(start_paused = true)]
async fn an_answer_is_not_held_up_by_a_stream_that_stays_open() {
    let (end, _) = END.split_once("data: [DONE]").unwrap();
    let server = ModelServer::start([Reply::begin("text/event-stream")
        .pieces(&format!("{SO}{end}"))
        .hang()])
    .await;
    let began = Instant::now();
    assert_eq!(answer(model(&server), saying("hi")).await, [delta("So"), DONE]);
    assert!(began.elapsed() <= Duration::from_secs(3));
}

#[tokio::test]
async fn an_answer_that_cannot_be_read_is_reported() {
    let html = Reply::plain(200, "Content-Type: text/html; charset=utf-8\r\n", "<html></html>");
    for (reply, expected) in [
        (Reply::events("data: {\"choices\": [\n\n"), "an event: EOF while parsing"),
        (Reply::events("data: [1, 2]\n\n"), "an event: invalid type"),
        (
            Reply::events(
                "data: {\"choices\": [{\"delta\": {\"images\": [{\"image_url\": {\"url\": \"http://x/y.png\"}}]}}]}\n\n",
            ),
            "a picture by address",
        ),
        (Reply::begin("text/event-stream").piece(b"data: \xff\n\n").end(), "an event is not UTF-8"),
        (html, "`text/html` instead of a stream of events"),
        (Reply::json(200, &json!("hello")), "an event: "),
    ] {
        let (error, tried) = failure(vec![reply]).await;
        let ChatError::Malformed { reason } = &error else { panic!("{error:?}") };
        assert!(reason.starts_with(expected), "{reason}");
        assert_eq!(tried, 1);
    }
}

#[tokio::test]
async fn an_event_without_end_is_cut_off() {
    let mut reply = Reply::begin("text/event-stream").piece(b"data: ");
    let piece = vec![b'x'; 1024 * 1024];
    for _ in 0..33 {
        reply = reply.piece(&piece);
    }
    let (error, _) = failure(vec![reply.hang()]).await;
    let reason = "an event is larger than 32 MiB".to_owned();
    assert_eq!(error, ChatError::Malformed { reason });
}

#[tokio::test]
async fn an_answer_without_streaming_is_accepted() {
    let body = json!({
        "id": "x", "object": "chat.completion",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": "Hello", "tool_calls": [
            {"id": "a", "type": "function", "function": {"name": "read", "arguments": "{}"}},
        ]}, "finish_reason": "tool_calls"}],
        "usage": {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3},
    });
    let server = ModelServer::start([Reply::json(200, &body)]).await;
    let outputs = answer(model(&server), saying("hi")).await;
    assert_eq!(text(&outputs), "Hello");
    assert!(matches!(&outputs[1], ChatOutput::ToolCall(call) if call.id == "a"), "{outputs:?}");
    assert_eq!(outputs[3], ChatOutput::Done { reason: DoneReason::Tools });
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let other = ModelServer::start([good()]).await;
    for status in [301, 302, 307, 308] {
        let place = format!("http://{}/v1/chat/completions", other.addr);
        let away = Reply::plain(status, &format!("Location: {place}\r\n"), "");
        let (error, tried) = failure(vec![away]).await;
        assert!(error.to_string().contains(&place), "{error}");
        assert_eq!(tried, 1);
    }
    assert_eq!(other.connections(), 0);
}

/// Neither key nor conversation goes to a server that cannot prove who it is.
#[tokio::test]
async fn an_untrusted_certificate_is_refused() {
    let certified = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    let key = PrivateKeyDer::try_from(certified.signing_key.serialize_der()).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certified.cert.der().clone()], key)
        .unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let addr = listener.local_addr().unwrap();
    let accepting = tokio::spawn(async move {
        let (socket, _) = listener.accept().await.unwrap();
        TlsAcceptor::from(Arc::new(config)).accept(socket).await.is_ok()
    });
    let server = ModelServer::start([good()]).await;
    let base_url = format!("https://localhost:{}/v1", addr.port());
    let outputs = answer(ChatModel { base_url, ..model(&server) }, saying("hi")).await;
    let [ChatOutput::Failed(ChatError::Network { reason })] = &outputs[..] else {
        panic!("{outputs:?}")
    };
    assert!(reason.contains("certificate") || reason.contains("refused"), "{reason}");
    assert!(!accepting.await.unwrap());
}

#[tokio::test]
async fn dropping_a_turn_closes_its_connection() {
    for (reply, outputs) in
        [(Reply::default().hang(), 0), (Reply::begin("text/event-stream").pieces(SO).hang(), 1)]
    {
        let server = ModelServer::start([reply]).await;
        let mut turn = ask(model(&server), saying("hi"));
        for _ in 0..outputs {
            assert_eq!(turn.output.recv().await, Some(delta("So")));
        }
        while server.asked().is_empty() {
            tokio::task::yield_now().await;
        }
        drop(turn);
        // A model that is waited for may be silent for a minute, and for five before it begins.
        timeout(PATIENCE, server.left()).await.unwrap();
    }
}

/// Nobody reads the answer for a while: the server has to wait, and nothing is lost.
#[tokio::test]
async fn a_slow_reader_slows_the_model_down_and_loses_nothing() {
    let stream = SO.repeat(2_000) + END;
    let server = ModelServer::start([Reply::events(&stream)]).await;
    let turn = ask(model(&server), saying("hi"));
    eventually(|| turn.output.len() == kakehashi::provider::chat::CHAT_OUTPUT_CAPACITY).await;
    assert_eq!(text(&rest(turn).await).len(), 4_000);
}
