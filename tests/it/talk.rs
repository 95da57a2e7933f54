//! A real chat model behind channel 0: what it is told, what the user sees, and what happens when it fails.

use crate::http::post;
use crate::model_server::{ModelServer, Reply};
use crate::support::{BODY, CHANNEL, Client, Frontend, Gateway, KIND, SESSION};
use kakehashi::provider::row::{ChatKind, ChatModel};
use serde_json::{Value, json};
use std::time::Duration;

const SETTINGS: &str = "/core/AIコア/モデル情報/設定";
const MODELS: &str = "/core/AIコア/モデル情報/取得";

/// A streamed answer in OpenAI's form, with its cost.
fn answer(pieces: &[&str]) -> Reply {
    let mut events = String::new();
    for piece in pieces {
        let chunk = json!({"choices": [{"index": 0, "delta": {"content": piece}}]});
        events += &format!("data: {chunk}\n\n");
    }
    let end = json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]});
    let cost = json!({"choices": [], "usage": {"prompt_tokens": 700, "completion_tokens": 300}});
    events += &format!("data: {end}\n\ndata: {cost}\n\ndata: [DONE]\n\n");
    Reply::events(&events)
}

fn row(server: &ModelServer, name: &str) -> ChatModel {
    let mut model = server.model(ChatKind::OpenAi, "/v1");
    name.clone_into(&mut model.name);
    model
}

async fn gateway(models: Vec<ChatModel>) -> Gateway {
    Gateway::start_with(|config| config.add_chat(models).unwrap()).await
}

fn is(kind: &'static str) -> impl Fn(&Value) -> bool {
    move |packet| packet[KIND] == kind
}

#[tokio::test]
async fn a_real_model_answers_as_it_thinks_and_remembers() {
    let server = ModelServer::start([answer(&["こん", "にちは"]), answer(&["again"])]).await;
    let gateway = gateway(vec![row(&server, "test")]).await;
    let mut front = Frontend::open(gateway.addr, None).await;
    assert_eq!(front.input.init[BODY]["モデル設定"]["CHAT_AI_NAME"], "test");
    let more = json!({"機能": ["stream"]});
    let mut keen = Client::open_with(gateway.addr, "0", Some(front.session()), more).await;
    keen.until("welcome_text").await;

    front.type_in("0", "やあ").await;
    let seen = keen.collect_until(is("output_text")).await;
    let parts: Vec<_> = seen
        .iter()
        .filter(|packet| packet[KIND] == "output_stream")
        .map(|part| &part[BODY])
        .collect();
    assert_eq!(parts, ["こん", "にちは"]);
    assert_eq!(seen.last().unwrap()[BODY], "こんにちは");
    front.type_in("0", "もう一度").await;
    keen.until_where(|packet| packet[BODY] == "again").await;

    let asked = server.asked();
    let said = |at: usize| asked[at].body["messages"].as_array().unwrap().clone();
    assert_eq!(said(0).len(), 2);
    assert_eq!(said(0)[0]["role"], "system");
    let told: Vec<_> =
        said(1)[1..].iter().map(|row| (row["role"].clone(), row["content"].clone())).collect();
    assert_eq!(
        told,
        [
            (json!("user"), json!("やあ")),
            (json!("assistant"), json!("こんにちは")),
            (json!("user"), json!("もう一度")),
        ]
    );
    gateway.stop().await;
}

#[tokio::test]
async fn models_are_switched_at_once_and_the_conversation_goes_on() {
    let (one, two) = (
        ModelServer::start([answer(&["from one"])]).await,
        ModelServer::start([answer(&["from two"])]).await,
    );
    let gateway = gateway(vec![row(&one, "one"), row(&two, "openrt")]).await;
    let mut front = Frontend::open(gateway.addr, None).await;
    front.type_in("0", "first").await;
    front.chat.until_where(|packet| packet[BODY] == "from one").await;

    let id = front.session().to_owned();
    let offer = post(MODELS, &json!({SESSION: id})).local().send(gateway.addr).await.json();
    let chat = &offer["data"]["available_models"]["chat_models"];
    assert_eq!(chat["one"], json!({"some-model": "Test"}));
    assert_eq!(chat["openrt"], json!({"some-model": "Test"}));
    let body = json!({SESSION: id, "モデル設定": {"CHAT_AI_NAME": "openrt", "CHAT_OPENRT_MODEL": "another/model"}});
    let changed = post(SETTINGS, &body).local().send(gateway.addr).await.json();
    assert_eq!(changed["status"], "OK", "{changed}");
    front.type_in("0", "second").await;
    front.chat.until_where(|packet| packet[BODY] == "from two").await;
    let asked = two.only_request();
    assert_eq!(asked.body["model"], "another/model");
    let told = asked.body["messages"].to_string();
    assert!(told.contains("first") && told.contains("from one"), "{told}");

    let body = json!({SESSION: id, "モデル設定": {"CHAT_AI_NAME": "nobody"}});
    let refused = post(SETTINGS, &body).local().send(gateway.addr).await;
    assert!(refused.json()["message"].as_str().unwrap().contains("one, openrt, scripted"));
    assert_eq!(refused.refused(), "SETTINGS_REFUSED");
    let body = json!({SESSION: id, "モデル設定": {"CHAT_AI_NAME": "scripted"}});
    post(SETTINGS, &body).local().send(gateway.addr).await;
    front.type_in("0", "third").await;
    front.chat.until_where(|packet| packet[BODY] == "echo: third").await;
    gateway.stop().await;
}

#[tokio::test]
async fn what_goes_wrong_is_told_and_the_next_question_works() {
    let wrong = Reply::json(401, &json!({"error": {"message": "bad key"}}));
    let server = ModelServer::start([wrong, answer(&["fine"])]).await;
    let gateway = gateway(vec![row(&server, "test")]).await;
    let mut front = Frontend::open(gateway.addr, None).await;
    front.type_in("0", "hello").await;
    let told = front.chat.until("output_text").await;
    let text = told[BODY].as_str().unwrap();
    assert!(text.contains("TEST_MODEL_KEY") && !text.contains("sk-test"), "{text}");
    front.type_in("0", "again").await;
    front.chat.until_where(|packet| packet[BODY] == "fine").await;
    gateway.stop().await;
}

#[tokio::test]
async fn a_cancel_closes_the_connection_to_the_model() {
    let slow = Reply::begin("text/event-stream")
        .piece(b"data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"slow\"}}]}\n\n")
        .hang();
    let server = ModelServer::start([slow]).await;
    let gateway = gateway(vec![row(&server, "test")]).await;
    let mut front = Frontend::open(gateway.addr, None).await;
    let more = json!({"機能": ["stream"]});
    let mut keen = Client::open_with(gateway.addr, "0", Some(front.session()), more).await;
    front.type_in("0", "hello").await;
    keen.until("output_stream").await;
    front.cancel("0").await;
    keen.until("cancel_run").await;
    tokio::time::timeout(Duration::from_secs(5), server.left()).await.expect("still connected");
    gateway.stop().await;
}

#[tokio::test]
async fn an_exhausted_daily_budget_is_answered_in_words() {
    let server = ModelServer::start([answer(&["one"])]).await;
    let models = vec![row(&server, "test")];
    let gateway = Gateway::start_with(|config| {
        config.limits.chat_tokens = 1000;
        config.add_chat(models).unwrap();
    })
    .await;
    let mut front = Frontend::open(gateway.addr, None).await;
    front.type_in("0", "first").await;
    front.chat.until_where(|packet| packet[BODY] == "one").await;
    front.type_in("0", "second").await;
    let told = front.chat.until_where(|packet| packet[KIND] == "output_text").await;
    assert!(told[BODY].as_str().unwrap().contains("1000 トークン"), "{told}");
    assert_eq!(server.asked().len(), 1);
    gateway.stop().await;
}

/// A piece of an answer in OpenAI's form, and nothing else.
fn beginning() -> Reply {
    let chunk = json!({"choices": [{"index": 0, "delta": {"content": "so far"}}]});
    Reply::begin("text/event-stream").pieces(&format!("data: {chunk}\n\n"))
}

/// The end of an answer, without its cost.
fn ending(reason: &str) -> String {
    let end = json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]});
    format!("data: {end}\n\ndata: [DONE]\n\n")
}

async fn with_budget(server: &ModelServer) -> Gateway {
    let models = vec![row(server, "test")];
    Gateway::start_with(|config| {
        config.limits.chat_tokens = 1;
        config.add_chat(models).unwrap();
    })
    .await
}

#[tokio::test]
async fn an_answer_that_was_cut_off_or_says_no_cost_counts_too() {
    for reply in [beginning().cut(), beginning().pieces(&ending("stop")).end()] {
        let server = ModelServer::start([reply]).await;
        let gateway = with_budget(&server).await;
        let mut front = Frontend::open(gateway.addr, None).await;
        front.type_in("0", "first").await;
        front.chat.until_where(|packet| packet[BODY] == "so far").await;
        front.type_in("0", "second").await;
        let refused = |packet: &Value| {
            packet[BODY].as_str().is_some_and(|text| text.contains("今日の 1 トークン"))
        };
        front.chat.until_where(refused).await;
        assert_eq!(server.asked().len(), 1);
        gateway.stop().await;
    }
}

#[tokio::test]
async fn a_cancelled_answer_counts_too() {
    let server = ModelServer::start(vec![beginning().hang(); 20]).await;
    let gateway = with_budget(&server).await;
    let mut front = Frontend::open(gateway.addr, None).await;
    let more = json!({"機能": ["stream"]});
    let mut keen = Client::open_with(gateway.addr, "0", Some(front.session()), more).await;
    let of_budget = |packet: &Value| {
        packet[BODY].as_str().is_some_and(|text| text.contains("今日の 1 トークン"))
    };
    let mut refused = false;
    // It is written down a moment after the user was told of the cancel.
    for _ in 0..20 {
        front.type_in("0", "hello").await;
        let told = |packet: &Value| packet[KIND] == "output_stream" || of_budget(packet);
        refused = of_budget(&keen.until_where(told).await);
        if refused {
            break;
        }
        front.cancel("0").await;
        keen.until_where(|packet| packet[BODY] == "処理を中断しました。").await;
    }
    assert!(refused, "twenty cancelled answers have cost nothing");
    gateway.stop().await;
}

#[tokio::test]
async fn an_answer_cut_off_by_its_token_limit_says_so() {
    let server = ModelServer::start([beginning().pieces(&ending("length")).end()]).await;
    let gateway = gateway(vec![row(&server, "test")]).await;
    let mut front = Frontend::open(gateway.addr, None).await;
    front.type_in("0", "hello").await;
    let answer = front.chat.until("output_text").await;
    assert_eq!(answer[BODY], "so far");
    let told = front.chat.until("output_text").await;
    assert!(told[BODY].as_str().unwrap().contains("max_output_tokens"), "{told}");
    assert_eq!(told["実行番号"], answer["実行番号"]);
    gateway.stop().await;
}

#[tokio::test]
async fn the_chat_knows_what_was_said_to_the_live_model_and_by_it() {
    let server = ModelServer::start([answer(&["I know"])]).await;
    let gateway = gateway(vec![row(&server, "test")]).await;
    let mut front = Frontend::open(gateway.addr, None).await;
    let live = json!({CHANNEL: "0", "送信モード": "Live", KIND: "input_text", BODY: "to the live"});
    front.input.send(&live).await;
    let spoken = front.chat.until_where(|packet| {
        packet[KIND] == "recognition_output" || packet[KIND] == "output_text"
    });
    let spoken = spoken.await;
    front.type_in("0", "what was said?").await;
    front.chat.until_where(|packet| packet[BODY] == "I know").await;
    let rows = server.only_request().body["messages"].as_array().unwrap().clone();
    let told: Vec<_> =
        rows.iter().map(|row| (row["role"].clone(), row["content"].clone())).collect();
    let expected = [
        (json!("user"), json!("to the live")),
        (json!("assistant"), spoken[BODY].clone()),
        (json!("user"), json!("what was said?")),
    ];
    assert_eq!(told[1..], expected);
    gateway.stop().await;
}

#[tokio::test]
async fn a_picture_that_a_model_made_is_a_file() {
    let picture = base64_simd::STANDARD.encode_to_string(crate::routing::picture(400, 200));
    let delta = json!({"choices": [{"index": 0, "delta": {"content": "here", "images": [
        {"type": "image_url", "image_url": {"url": format!("data:image/png;base64,{picture}")}},
    ]}, "finish_reason": "stop"}]});
    let server =
        ModelServer::start([Reply::events(&format!("data: {delta}\n\ndata: [DONE]\n\n"))]).await;
    let mut model = row(&server, "test");
    model.image_output = true;
    let gateway = gateway(vec![model]).await;
    let mut front = Frontend::open(gateway.addr, None).await;
    front.type_in("0", "draw").await;
    let file = front.chat.until("output_file").await;
    let path = file["ファイル名"].as_str().unwrap();
    assert!(path.starts_with("temp/output/") && path.ends_with(".png"), "{path}");
    assert!(file["サムネイル画像"].is_string(), "{file}");
    let body = json!({"ファイル名": path});
    let content = post("/core/files/内容取得", &body).local().send(gateway.addr).await.json();
    assert_eq!(content["data"]["base64_data"], json!(picture));
    gateway.stop().await;
}
