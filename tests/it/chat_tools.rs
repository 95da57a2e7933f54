//! Tools of the chat and of the live voice, as clients of the session API and of AIコア see them.

use crate::client::{Aicore, Api, Ask, Client, What};
use crate::support::Gateway;
use kakehashi::message::Channel;
use serde_json::{Value, json};

const READ: &str = r#"use file:read {"path": "report.txt"}"#;

async fn with_report() -> Gateway {
    let gateway = Gateway::start().await;
    std::fs::write(gateway.project().join("report.txt"), "all is well\n").unwrap();
    gateway
}

async fn open(gateway: &Gateway) -> Client<Api> {
    let mut api = Client::<Api>::open(gateway.addr, json!({"language": "en"})).await;
    api.until("ready").await;
    api
}

async fn reply(api: &mut Client<Api>) -> String {
    api.until("reply").await["data"]["text"].as_str().unwrap().to_owned()
}

/// Approves the next question, and tells who asked.
async fn approve(api: &mut Client<Api>) -> String {
    let asked: Value = api.until("question").await;
    let id = asked["data"]["id"].as_str().unwrap();
    api.ask(Ask::Answer { id, approved: true }).await;
    asked["data"]["caller"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn the_live_model_uses_tools_and_asks_before_it_changes_anything() {
    let gateway = with_report().await;
    let mut api = open(&gateway).await;
    api.send(&json!({"type": "send", "to": "live", "text": READ})).await;
    assert!(reply(&mut api).await.contains("all is well"));
    let write = r#"use file:write {"path": "made.txt", "content": "x"}"#;
    api.send(&json!({"type": "send", "to": "live", "text": write})).await;
    assert_eq!(approve(&mut api).await, "live");
    reply(&mut api).await;
    assert_eq!(std::fs::read_to_string(gateway.project().join("made.txt")).unwrap(), "x");
    gateway.stop().await;
}

#[tokio::test]
async fn a_session_offers_the_tools_of_its_settings() {
    let gateway = with_report().await;
    let mut api = open(&gateway).await;
    api.send(&json!({"type": "set", "tools": ["file:list"], "request": 1})).await;
    api.until("ack").await;
    api.ask(Ask::Text { to: Channel::Chat, text: READ }).await;
    let said = reply(&mut api).await;
    assert!(said.contains("there is no tool `file:read` here; there are file_list"), "{said}");
    api.send(&json!({"type": "set", "tools": ["file:burn"], "request": 2})).await;
    let refused = api.until("error").await;
    assert_eq!(refused["code"], "settings_refused", "{refused}");
    api.send(&json!({"type": "set", "tools": null, "request": 3})).await;
    api.until("ack").await;
    api.ask(Ask::Text { to: Channel::Chat, text: READ }).await;
    assert!(reply(&mut api).await.contains("all is well"));
    gateway.stop().await;
}

#[tokio::test]
async fn commands_of_the_chat_have_limits() {
    let gateway = with_report().await;
    let mut api = open(&gateway).await;
    for (command, expected) in [
        // In KiB; a process cannot raise it again.
        ("ulimit -v; ulimit -v unlimited", "524288"),
        // No network but its own.
        ("cat /proc/net/dev | grep -v lo: | wc -l", "2"),
    ] {
        let text = format!("use shell:execute {}", json!({"command": command}));
        api.ask(Ask::Text { to: Channel::Chat, text: &text }).await;
        assert_eq!(approve(&mut api).await, "chat");
        let said = reply(&mut api).await;
        assert!(said.contains(expected), "{command}: {said}");
    }
    gateway.stop().await;
}

#[tokio::test]
async fn what_a_call_changed_can_be_undone() {
    let gateway = with_report().await;
    let mut api = open(&gateway).await;
    let text = r#"use file:write {"path": "report.txt", "content": "all is lost\n"}"#;
    api.ask(Ask::Text { to: Channel::Chat, text }).await;
    approve(&mut api).await;
    let told = api.told_until(|what| matches!(what, What::Said(_))).await;
    let is_changed = |what: &What| *what == What::Changed(vec!["report.txt".to_owned()]);
    assert!(told.iter().any(|told| is_changed(&told.what)), "{told:?}");
    // The file backup before the call has the former content.
    let backups = gateway.home.data.path().join("backup");
    let mut todo = vec![backups];
    let mut found = false;
    while let Some(dir) = todo.pop() {
        for entry in std::fs::read_dir(dir).unwrap().flatten() {
            let path = entry.path();
            if path.is_dir() {
                todo.push(path);
            } else {
                found |= std::fs::read(&path).unwrap() == b"all is well\n";
            }
        }
    }
    assert!(found);
    gateway.stop().await;
}

/// A frontend without dialogs answers a question of the chat in words.
#[tokio::test]
async fn a_question_of_the_chat_is_answered_in_words() {
    let gateway = with_report().await;
    let more = || json!({"言語": "en"});
    let mut input = Client::<Aicore>::open_with(gateway.addr, "input", None, more()).await;
    let session = input.session().to_owned();
    let mut chat = Client::<Aicore>::open_with(gateway.addr, "0", Some(&session), more()).await;
    chat.until("welcome_text").await;
    let write = r#"use file:write {"path": "made.txt", "content": "x"}"#;
    input.ask(Ask::Text { to: Channel::Chat, text: write }).await;
    let asks = |what: &What| matches!(what, What::Said(text) if text.contains("made.txt"));
    chat.told_until(asks).await;
    input.ask(Ask::Text { to: Channel::Chat, text: "yes" }).await;
    let done = |what: &What| matches!(what, What::Said(text) if text.starts_with("wrote") || text.contains("written"));
    chat.told_until(done).await;
    assert!(gateway.project().join("made.txt").exists());
    gateway.stop().await;
}
