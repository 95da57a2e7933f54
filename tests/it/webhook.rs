//! The operator's webhook: called when something waits for approval, and never waited for.

use crate::model_server::{ModelServer, Reply};
use crate::panes::Panes;
use crate::support::{Gateway, PATIENCE, eventually};
use kakehashi::config::Config;
use kakehashi::provider::chat::Client;
use kakehashi::provider::row::{ChatKey, Secret, Webhook};
use kakehashi::provider::webhook::Caller;
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::time::{Duration, Instant};
use tokio::time::timeout;

fn calling(server: &ModelServer, secret: Option<Option<&str>>) -> impl FnOnce(&mut Config) + use<> {
    let url = format!("http://{}/hook?to=me", server.addr);
    let key = secret
        .map(|secret| ChatKey { variable: "HOOK".to_owned(), secret: secret.map(Secret::new) });
    move |config| config.webhook = Some(Webhook { url, key })
}

/// HMAC-SHA256 with a key of at most one block, by its definition.
fn hmac(key: &str, message: &str) -> String {
    let mut block = [0_u8; 64];
    block[..key.len()].copy_from_slice(key.as_bytes());
    let inner = Sha256::new().chain_update(block.map(|byte| byte ^ 0x36)).chain_update(message);
    let outer = Sha256::new().chain_update(block.map(|byte| byte ^ 0x5c));
    let digest = outer.chain_update(inner.finalize()).finalize();
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

async fn next_question(front: &mut Panes, slot: usize) -> Value {
    front.type_in(slot, "ask something").await;
    front.question(slot).await
}

/// The questions about which the server was called, in this order.
fn called(server: &ModelServer) -> Vec<Value> {
    server.asked().iter().map(|call| call.body["id"].clone()).collect()
}

#[tokio::test]
async fn a_question_calls_the_webhook_once_and_says_little() {
    let server = ModelServer::start([Reply::plain(204, "", "")]).await;
    let gateway = Gateway::start_with(calling(&server, Some(Some("a secret")))).await;
    let mut front = Panes::open(gateway.addr, None).await;
    front.type_in(2, "say before\nask write the secret plan").await;
    let question = front.question(2).await;
    eventually(|| !server.asked().is_empty()).await;
    let call = server.only_request();
    assert_eq!(call.line, "POST /hook?to=me HTTP/1.1");
    let mut keys: Vec<_> = call.body.as_object().unwrap().keys().map(String::as_str).collect();
    keys.sort_unstable();
    assert_eq!(keys, ["channel", "event", "expires", "id", "level", "session", "tool"]);
    assert_eq!(call.body["event"], "waiting_for_approval");
    assert_eq!((&call.body["id"], &call.body["channel"]), (&question["id"], &"2".into()));
    assert_eq!(call.body["session"], *front.session());
    assert_eq!(call.body["tool"], question["ツール名"]);
    assert_eq!(call.body["level"], question["警告"]["level"]);
    let signature = format!("sha256={}", hmac("a secret", &call.body.to_string()));
    assert_eq!(call.header("x-kakehashi-signature"), Some(&*signature));
    front.decide(&question, true).await;
    front.told(2).await;
    // Neither the answer nor a request without a question calls anybody. Calls are made one after the other, so the
    // next question shows it.
    front.ask(2, "say nothing to ask").await;
    let ids = [question["id"].clone(), next_question(&mut front, 2).await["id"].clone()];
    eventually(|| server.asked().len() >= 2).await;
    assert_eq!(called(&server), ids);
    gateway.stop().await;
}

#[tokio::test]
async fn a_server_that_never_answers_holds_up_nobody() {
    let server = ModelServer::start([Reply::default().hang()]).await;
    let gateway = Gateway::start_with(calling(&server, None)).await;
    let mut front = Panes::open(gateway.addr, None).await;
    // More questions than one server could be asked about in time.
    let began = Instant::now();
    for _ in 0..5 {
        front.type_in(1, "ask something").await;
        let question = front.question(1).await;
        front.decide(&question, false).await;
        front.told(1).await;
    }
    // Whoever waited for the server would have waited for it five times.
    assert!(began.elapsed() < Duration::from_secs(50), "{:?}", began.elapsed());
    assert_eq!(server.asked()[0].header("x-kakehashi-signature"), None);
    // It is given up in time.
    timeout(PATIENCE, server.left()).await.unwrap();
    gateway.stop().await;
}

#[tokio::test]
async fn temporary_errors_are_tried_again_and_other_answers_are_not() {
    let busy = Reply::plain(503, "", "");
    let server = ModelServer::start([busy, Reply::plain(200, "", "fine")]).await;
    let gateway = Gateway::start_with(calling(&server, None)).await;
    let mut front = Panes::open(gateway.addr, None).await;
    front.type_in(1, "ask something").await;
    front.question(1).await;
    eventually(|| server.asked().len() == 2).await;
    gateway.stop().await;

    let elsewhere = ModelServer::start([Reply::plain(200, "", "")]).await;
    let location = format!("Location: http://{}/hook\r\n", elsewhere.addr);
    for reply in [Reply::plain(307, &location, ""), Reply::plain(404, "", "")] {
        let server = ModelServer::start([reply]).await;
        let gateway = Gateway::start_with(calling(&server, None)).await;
        let mut front = Panes::open(gateway.addr, None).await;
        // Calls are made one after the other: another attempt at the first would come before the second.
        let mut ids = Vec::new();
        for _ in 0..2 {
            let question = next_question(&mut front, 1).await;
            front.decide(&question, false).await;
            front.told(1).await;
            ids.push(question["id"].clone());
        }
        eventually(|| server.asked().len() >= 2).await;
        assert_eq!((called(&server), elsewhere.connections()), (ids, 0));
        gateway.stop().await;
    }
}

#[tokio::test]
async fn without_its_secret_nothing_is_sent_unsigned() {
    let caller = |secret: Option<Secret>| {
        let key = Some(ChatKey { variable: "HOOK".to_owned(), secret });
        let url = "http://127.0.0.1:9/hook".to_owned();
        Caller::start(Webhook { url, key }, Client::new())
    };
    assert!(caller(Some(Secret::new("a secret"))).is_some());
    assert!(caller(None).is_none());
    // And a gateway that is set up like that works without it.
    let server = ModelServer::start([Reply::plain(200, "", "")]).await;
    let gateway = Gateway::start_with(calling(&server, Some(None))).await;
    let mut front = Panes::open(gateway.addr, None).await;
    let question = next_question(&mut front, 1).await;
    front.decide(&question, true).await;
    front.told(1).await;
    gateway.stop().await;
    assert_eq!(server.connections(), 0);
}
