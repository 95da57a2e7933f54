//! Tools of the chat and of the live voice, as clients of the session API and of AIコア see them.

use crate::builtin;
use crate::client::{Aicore, Api, Ask, Client, What};
use crate::lives::set;
use crate::model_server::ModelServer;
use crate::support::Gateway;
use kakehashi::message::Channel;
use kakehashi::provider::row::ChatKind;
use serde_json::{Value, json};
use std::time::Duration;

const READ: &str = r#"use file:read {"path": "report.txt"}"#;

async fn with_report() -> Gateway {
    let gateway = Gateway::start().await;
    std::fs::write(gateway.project().join("report.txt"), "all is well\n").unwrap();
    gateway
}

pub(crate) async fn open(gateway: &Gateway) -> Client<Api> {
    let mut api = Client::<Api>::open(gateway.addr, json!({"language": "en"})).await;
    api.until("ready").await;
    api
}

pub(crate) async fn reply(api: &mut Client<Api>) -> String {
    api.until("reply").await["data"]["text"].as_str().unwrap().to_owned()
}

/// Approves the next question, and tells who asked.
pub(crate) async fn approve(api: &mut Client<Api>) -> String {
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
async fn a_command_of_the_chat_has_no_more_memory_than_its_limit() {
    let gateway = Gateway::start().await;
    let mut api = open(&gateway).await;
    for (mebibytes, has_room) in [(100, true), (600, false)] {
        let script = format!("print(len(bytearray({mebibytes} << 20)))");
        let command = json!({"command": format!("python3 -c '{script}' 2>&1")});
        api.ask(Ask::Text { to: Channel::Chat, text: &format!("use shell:execute {command}") })
            .await;
        approve(&mut api).await;
        let said = reply(&mut api).await;
        assert_eq!(said.contains(&(mebibytes << 20).to_string()), has_room, "{said}");
        assert_eq!(said.contains("MemoryError"), !has_room, "{said}");
    }
    gateway.stop().await;
}

#[tokio::test]
async fn a_command_of_the_chat_is_stopped_after_its_time() {
    let gateway = Gateway::start_with(|config| {
        assert_eq!(config.limits.command, Duration::from_secs(30));
        config.limits.command = Duration::from_secs(1);
    })
    .await;
    let mut api = open(&gateway).await;
    // What the model asks for does not lengthen it, and what it has started is stopped, too.
    let command = "(sleep 600; touch late) & echo begun; sleep 600";
    let call = json!({"command": command, "seconds": 1800});
    api.ask(Ask::Text { to: Channel::Chat, text: &format!("use shell:execute {call}") }).await;
    approve(&mut api).await;
    let said = reply(&mut api).await;
    assert!(said.starts_with("begun\n[timeout: stopped after 1 seconds"), "{said}");
    gateway.stop().await;
}

/// All that one answer has cost counts, and a call that it wants is not made any more.
#[tokio::test]
async fn an_answer_that_costs_too_many_tokens_ends() {
    for (limit, is_over) in [(99, true), (10_000, false)] {
        let read = [("file_read", json!({"path": "report.txt"}))];
        let server = ModelServer::start([builtin::reply("", &read), builtin::reply("fine", &[])]);
        let server = server.await;
        let row = server.model(ChatKind::OpenAi, "/v1");
        let gateway = Gateway::start_with(|config| {
            config.add_chat(vec![row]).unwrap();
            let rules = include_str!("../../config/policy.toml");
            let file = config.data.join("policy.toml");
            let frugal = rules.replace("\ntokens = 20000000\n", &format!("\ntokens = {limit}\n"));
            assert_ne!(frugal, rules);
            std::fs::write(&file, frugal).unwrap();
            config.policy = Some(file);
        })
        .await;
        std::fs::write(gateway.project().join("report.txt"), "all is well\n").unwrap();
        let mut api = open(&gateway).await;
        api.ask(Ask::Text { to: Channel::Chat, text: "read the report" }).await;
        let told = |frame: &Value| frame.to_string().contains("more than 99 tokens");
        let seen = api.collect_until(|frame| told(frame) || frame["type"] == "reply").await;
        assert_eq!(seen.iter().any(told), is_over, "{seen:?}");
        let seen = json!(seen).to_string();
        assert_eq!(seen.contains("file:read"), !is_over, "{seen}");
        assert_eq!(server.asked().len(), if is_over { 1 } else { 2 });
        gateway.stop().await;
    }
}

#[tokio::test]
async fn a_huge_result_is_cut_for_the_model_of_the_chat_and_says_so() {
    let gateway = Gateway::start().await;
    let text = "all is well\n".repeat(10_000);
    std::fs::write(gateway.project().join("report.txt"), text).unwrap();
    let mut api = open(&gateway).await;
    api.ask(Ask::Text { to: Channel::Chat, text: READ }).await;
    let seen = api.collect_until(|frame| frame["type"] == "reply").await;
    let said = seen.last().unwrap()["data"]["text"].as_str().unwrap();
    assert!(said.len() < 20_000, "{}", said.len());
    assert!(said.ends_with(" more bytes are not shown; ask for less at once]"), "{said}");
    // People are told the same of what they are shown.
    let shown = seen.iter().filter_map(|frame| frame["data"]["output"].as_str()).next_back();
    let shown = shown.unwrap();
    assert!(
        shown.len() < 17_000 && shown.contains("more bytes that are not shown here"),
        "{shown}"
    );
    gateway.stop().await;
}

/// An existing frontend chooses the tools by its own key.
#[tokio::test]
async fn a_frontend_chooses_the_tools_of_a_session() {
    let gateway = with_report().await;
    let input = Client::<Aicore>::open(gateway.addr, "input", None).await;
    let session = input.session().to_owned();
    assert_eq!(input.init["メッセージ内容"]["モデル設定"]["CHAT_TOOLS"], "auto");
    let mut api = Client::<Api>::open(gateway.addr, json!({"session": session})).await;
    api.until("ready").await;
    let choose = async |tools: &str| set(gateway.addr, &session, "CHAT_TOOLS", tools).await;
    for (tools, expected) in [
        (
            "file:list, file:search",
            "there is no tool `file:read` here; there are file_list, file_search",
        ),
        ("none", "there is no tool `file:read` here"),
        ("file:read", "all is well"),
        ("auto", "all is well"),
    ] {
        assert_eq!(choose(tools).await["status"], "OK", "{tools}");
        api.ask(Ask::Text { to: Channel::Chat, text: READ }).await;
        let said = reply(&mut api).await;
        assert!(said.contains(expected), "{tools}: {said}");
        let again = Client::<Aicore>::open(gateway.addr, "input", Some(&session)).await;
        assert_eq!(again.init["メッセージ内容"]["モデル設定"]["CHAT_TOOLS"], tools);
    }
    for wrong in ["file:burn", "file:read,auto", "", " ", ","] {
        let refused = choose(wrong).await;
        assert_eq!(refused["status"], "NG", "{refused}");
        let why = refused["message"].as_str().unwrap();
        assert!(why.contains("CHAT_TOOLS") && why.contains("file:read, file:list"), "{why}");
        assert!(why.contains("auto, none"), "{why}");
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
