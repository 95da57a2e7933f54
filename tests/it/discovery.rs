//! Models of this machine that nobody configured, while they come and go.

use crate::http;
use crate::lives::set;
use crate::model_server::{Asked, ModelServer, Reply};
use crate::process::Process;
use crate::support::{BODY, CHANNEL, Client, Home, KIND, PATIENCE};
use serde_json::{Value, json};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::time::{sleep, timeout};

/// What an Ollama with one small model says, as long as it is there.
fn ollama(asked: &Asked, is_there: bool) -> Reply {
    let path = asked.line.split(' ').nth(1).unwrap();
    match path {
        _ if !is_there => Reply::json(404, &json!({"error": {"message": "nobody is here"}})),
        "/api/tags" => Reply::json(200, &json!({"models": [{"name": "tiny"}]})),
        "/api/show" => Reply::json(200, &json!({"capabilities": ["completion"]})),
        _ => {
            let told = json!({"choices": [{"index": 0, "delta": {"content": "here I am"}}]});
            let end = json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]});
            Reply::events(&format!("data: {told}\n\ndata: {end}\n\ndata: [DONE]\n\n"))
        }
    }
}

/// Without a session, whose own choice would be told too.
async fn offers(addr: SocketAddr) -> bool {
    let asked = http::post("/core/AIコア/モデル情報/取得", &json!({})).local();
    asked.send(addr).await.body.contains("ollama:tiny")
}

async fn until_offered(addr: SocketAddr, wanted: bool) {
    let waiting = async {
        while offers(addr).await != wanted {
            sleep(Duration::from_millis(100)).await;
        }
    };
    timeout(PATIENCE, waiting).await.expect("the offer stays as it is");
}

async fn ask(input: &mut Client, chat: &mut Client) -> Value {
    input
        .send(&json!({CHANNEL: "0", "送信モード": "Chat", KIND: "input_text", BODY: "hello"}))
        .await;
    chat.until("output_text").await[BODY].clone()
}

#[tokio::test]
async fn an_ollama_that_is_started_later_is_offered_until_it_is_gone() {
    let is_there = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&is_there);
    let server =
        ModelServer::answering(move |asked| ollama(asked, seen.load(Ordering::Relaxed))).await;
    let home = Home::new();
    let script = format!("export OLLAMA_HOST={}; exec \"$0\" \"$@\"", server.addr);
    let process = Process::start_under(&home, &script, "models = \"auto\"\nlanguage = \"en\"\n");
    let mut input = Client::open(process.addr, "input", None).await;
    let id = input.session().to_owned();
    let mut chat = Client::open(process.addr, "0", Some(&id)).await;
    chat.until("welcome_text").await;
    assert!(!offers(process.addr).await);
    let refused = set(process.addr, &id, "CHAT_AI_NAME", "ollama:tiny").await;
    assert!(
        refused["message"].as_str().unwrap().contains("there is no `ollama:tiny`"),
        "{refused}"
    );

    is_there.store(true, Ordering::Relaxed);
    until_offered(process.addr, true).await;
    assert_eq!(set(process.addr, &id, "CHAT_AI_NAME", "ollama:tiny").await["status"], "OK");
    assert_eq!(ask(&mut input, &mut chat).await, "here I am");

    is_there.store(false, Ordering::Relaxed);
    until_offered(process.addr, false).await;
    // The session has chosen it, and is not given another one unasked.
    let told = ask(&mut input, &mut chat).await;
    assert!(told.as_str().unwrap().contains("nobody is here"), "{told}");
}
