//! Sessions that nobody uses any more: how many stay in memory.

use crate::http::get;
use crate::support::{BODY, CHANNEL, Client, Gateway, KIND, PATIENCE, RESUMED, cursor, seq};
use serde_json::json;
use std::time::Duration;
use tokio::time::{sleep, timeout};

/// Sessions in memory.
async fn sessions(gateway: &Gateway) -> usize {
    let page = get("/metrics").local().send(gateway.addr).await.body;
    let line = page.lines().find_map(|line| line.strip_prefix("kakehashi_sessions "));
    line.unwrap_or_else(|| panic!("{page}")).parse().unwrap()
}

async fn until_sessions(gateway: &Gateway, wanted: std::ops::RangeInclusive<usize>) {
    let waiting = async {
        while !wanted.contains(&sessions(gateway).await) {
            sleep(Duration::from_millis(20)).await;
        }
    };
    let waited = timeout(PATIENCE, waiting).await;
    assert!(waited.is_ok(), "{} sessions", sessions(gateway).await);
}

#[tokio::test]
async fn closed_pages_leave_the_memory_oldest_first_and_come_back() {
    let gateway = Gateway::start_with(|config| config.limits.idle_sessions = 3).await;
    let mut first = Client::open(gateway.addr, "0", None).await;
    let (session, init) = (first.session().to_owned(), first.init.clone());
    let mut input = Client::open(gateway.addr, "input", Some(&session)).await;
    input.until("welcome_text").await;
    input.send(&json!({CHANNEL: "0", KIND: "input_text", BODY: "remember me"})).await;
    let answer = first.until("output_text").await;
    // Pages that are open do not count.
    let mut open = Vec::new();
    for _ in 0..5 {
        open.push(Client::open(gateway.addr, "input", None).await);
    }
    assert_eq!(sessions(&gateway).await, 6);
    first.close().await;
    input.close().await;
    for _ in 0..10 {
        let page = Client::open(gateway.addr, "input", None).await;
        page.close().await;
    }
    until_sessions(&gateway, 8..=8).await;
    // The first was the oldest. It goes on as if nothing had happened.
    let again = Client::open_with(gateway.addr, "0", Some(&session), cursor(&init, seq(&answer)));
    assert_eq!(again.await.init[RESUMED], true);
    for mut page in open {
        page.send(&json!({CHANNEL: "0", KIND: "cancel_run", BODY: ""})).await;
        page.close().await;
    }
    until_sessions(&gateway, 3..=3).await;
    gateway.stop().await;
}

#[tokio::test]
async fn closed_pages_keep_to_their_share_of_the_memory() {
    let gateway = Gateway::start_with(|config| config.limits.idle_bytes = 1024 * 1024).await;
    for _ in 0..12 {
        Client::open(gateway.addr, "input", None).await.close().await;
    }
    until_sessions(&gateway, 1..=6).await;
    gateway.stop().await;
}
