//! Keys: names that a client of the session API chooses for its sessions.

use crate::api::ApiClient;
use crate::http::{delete, get};
use crate::login::{log_in, with_users};
use crate::support::{Gateway, Home};
use serde_json::{Value, json};
use std::net::SocketAddr;
use std::sync::Arc;

async fn open(addr: SocketAddr, key: &str) -> String {
    ApiClient::open(addr, json!({"key": key})).await.session().to_owned()
}

async fn open_as(addr: SocketAddr, token: &str, key: &str) -> String {
    let mut client = ApiClient::dial_as(addr, None).await;
    client.send(&json!({"type": "hello", "token": token, "key": key})).await;
    let hello = client.next().await;
    hello["session"].as_str().unwrap_or_else(|| panic!("{hello}")).to_owned()
}

#[tokio::test]
async fn the_same_key_leads_back_to_the_same_session() {
    let home = Arc::new(Home::new());
    let gateway = Gateway::start_at(Arc::clone(&home), |_| ()).await;
    let addr = gateway.addr;
    let mut client = ApiClient::open(addr, json!({"key": "my-dashboard"})).await;
    client.send(&json!({"type": "send", "to": "chat", "text": "remember this"})).await;
    client.until("reply").await;
    let session = client.session().to_owned();
    // Many at once find one session, whoever is first.
    let opened = futures_util::future::join_all((0..4).map(|_| open(addr, "another"))).await;
    assert!(opened.iter().all(|id| *id == opened[0] && *id != session), "{opened:?}");
    // The id of a session is a key of it.
    assert_eq!(open(addr, &session).await, session);
    let exported = get(&format!("/api/sessions/{session}/export")).local().send(addr).await;
    assert!(exported.body.contains("my-dashboard"), "{}", exported.body);
    gateway.stop().await;

    let gateway = Gateway::start_at(home, |_| ()).await;
    let mut client = ApiClient::open(gateway.addr, json!({"key": "my-dashboard"})).await;
    assert_eq!(client.session(), session);
    let is_text = |frame: &Value| frame["data"]["text"] == "remember this";
    client.collect_until(is_text).await;
    // A key is forgotten with its session.
    let gone = delete(&format!("/api/sessions/{session}")).local().send(gateway.addr).await;
    assert_eq!(gone.status, 204, "{}", gone.body);
    assert_ne!(open(gateway.addr, "my-dashboard").await, session);
    gateway.stop().await;
}

#[tokio::test]
async fn a_key_lets_nobody_into_the_session_of_another_user() {
    let gateway = Gateway::start_with(with_users).await;
    let addr = gateway.addr;
    let (ann, bob) = (log_in(addr, "ann").await, log_in(addr, "bob").await);
    let anns = open_as(addr, &ann, "board").await;
    let bobs = open_as(addr, &bob, "board").await;
    assert_ne!(anns, bobs);
    assert_eq!(open_as(addr, &ann, "board").await, anns);
    // Neither the key nor the id of the session helps.
    let guessed = open_as(addr, &bob, &anns).await;
    assert!(guessed != anns && guessed != bobs, "{guessed}");
    gateway.stop().await;
}
