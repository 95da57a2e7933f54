//! The page of the core/UI interface: its example runs, its frames are real, and its tables are complete.

use crate::asyncapi_core_ui::codes;
use crate::client::{Ask, Client, Codec, CoreUi, What};
use crate::docs::{quoted, read};
use crate::golden_core_ui::{dialect, fixtures, page as second_form};
use crate::http;
use crate::protocol::{CORE_UI, Way, core_ui_protocol};
use crate::support::{Gateway, TOKEN};
use kakehashi::dialect::core_ui::{Additions, client_types};
use kakehashi::dialect::{Dialect, Received};
use kakehashi::message::Channel;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::process::Stdio;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process::Command;
use tokio::time::timeout;

const PATIENCE: Duration = Duration::from_secs(60);

fn page() -> String {
    read("docs/core-ui.md")
}

/// The blocks of the page with this mark.
fn blocks(mark: &str) -> Vec<String> {
    let (page, fence) = (page(), format!("```{mark}\n"));
    let blocks = page.split(&fence).skip(1);
    blocks.map(|block| block.split("```").next().unwrap().to_owned()).collect()
}

/// Lines of JSON in such blocks.
fn frames(mark: &str) -> Vec<Value> {
    let blocks = blocks(mark);
    let lines = blocks.iter().flat_map(|block| block.lines());
    lines.map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("{line}"))).collect()
}

/// The names in the first column of the table with this first heading.
fn column(heading: &str) -> BTreeSet<String> {
    let page = page();
    let (_, table) = page.split_once(&format!("\n| {heading} |")).expect(heading);
    let lines = table.lines().skip(2).take_while(|line| line.starts_with('|'));
    lines.flat_map(|line| quoted(line.trim_matches('|').split('|').next().unwrap())).collect()
}

/// What the example prints, with these arguments behind the token, if the user gives this answer to questions.
async fn printed(gateway: &Gateway, arguments: &[&str], answer: &str) -> Vec<String> {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("example.mjs");
    std::fs::write(&file, &blocks("js")[0]).unwrap();
    let mut child = Command::new("node")
        .args(["--experimental-websocket", "--no-warnings"])
        .arg(&file)
        .args([&format!("http://{}", gateway.addr), TOKEN])
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .expect("node is there");
    let mut stdin = child.stdin.take().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut printed = Vec::new();
    while let Some(line) = timeout(PATIENCE, lines.next_line()).await.expect("a line").unwrap() {
        if line.contains("(y/n)") {
            stdin.write_all(answer.as_bytes()).await.unwrap();
        }
        printed.push(line);
    }
    assert!(timeout(PATIENCE, child.wait()).await.expect("it ends").unwrap().success());
    printed
}

#[tokio::test]
async fn the_example_prints_states_and_the_answer() {
    let gateway = Gateway::start().await;
    let lines = printed(&gateway, &["hello"], "").await;
    assert_eq!(lines, ["[thinking]", "echo: hello", "[waiting_for_input]"]);
    gateway.stop().await;
}

#[tokio::test]
async fn the_example_asks_its_user_before_a_tool_runs() {
    let gateway = Gateway::start().await;
    let lines = printed(&gateway, &["ask delete it", "1"], "y\n").await;
    assert_eq!(lines.first().map(String::as_str), Some("[thinking]"), "{lines:?}");
    let asked = lines.iter().filter(|line| line.contains("delete it") && line.contains("(y/n)"));
    // It is CRITICAL, so it is asked twice.
    assert_eq!(asked.count(), 2, "{lines:?}");
    assert_eq!(lines.last().map(String::as_str), Some("[waiting_for_input]"), "{lines:?}");
    gateway.stop().await;
}

/// The types of the frames until the session waits for the next input; questions are answered with yes.
async fn sequence(client: &mut Client<CoreUi>, text: &str) -> Vec<String> {
    client.ask(Ask::Text { to: Channel::Chat, text }).await;
    let mut types = Vec::new();
    loop {
        let frame = client.next().await;
        let state = frame["payload"]["state"].as_str();
        let kind = frame["type"].as_str().unwrap();
        types.push(state.map_or_else(|| kind.to_owned(), |state| format!("{kind} {state}")));
        if let Some(What::Question { id }) = CoreUi::read(&frame).map(|told| told.what) {
            client.ask(Ask::Answer { id: &id, approved: true }).await;
        }
        if state == Some("waiting_for_input") {
            return types;
        }
    }
}

#[tokio::test]
async fn both_sequences_of_the_page_are_what_happens() {
    let gateway = Gateway::start().await;
    let mut client = Client::<CoreUi>::open(gateway.addr, "").await;
    let types = |frames: Vec<Value>| -> Vec<String> {
        let ours = frames.into_iter().filter(|frame| frame["seq"].is_u64());
        let kind = |frame: Value| {
            let (kind, state) =
                (frame["type"].as_str().unwrap(), frame["payload"]["state"].as_str());
            state.map_or_else(|| kind.to_owned(), |state| format!("{kind} {state}"))
        };
        ours.map(kind).collect()
    };
    let written = |number: usize| {
        let lines = blocks("json sequence")[number].clone();
        types(lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect())
    };
    let tool = r#"use file:write {"path":"report.txt","content":"hi"}"#;
    assert_eq!(sequence(&mut client, "hello").await, written(0));
    assert_eq!(sequence(&mut client, tool).await, written(1));
    assert_eq!(std::fs::read_to_string(gateway.project().join("report.txt")).unwrap(), "hi");
    client.close().await;
    gateway.stop().await;
}

/// Whatever the way, a client gets the same frames: with a WebSocket, and later by polling.
#[tokio::test]
async fn polling_gets_the_frames_of_the_socket() {
    let gateway = Gateway::start().await;
    let mut client = Client::<CoreUi>::open(gateway.addr, "features=all").await;
    let session = client.session().to_owned();
    client.ask(Ask::Text { to: Channel::Chat, text: "hello" }).await;
    let is_last = |frame: &Value| frame["payload"]["state"] == "waiting_for_input";
    let mut heard = client.collect_until(is_last).await;
    heard.retain(|frame| frame["type"] != "onMessageDelta");
    let path = format!("/core-ui/poll?session={session}&features=all");
    let polled = http::get(&path).local().send(gateway.addr).await.json();
    let polled = polled["frames"].as_array().unwrap();
    assert_eq!(polled[0]["type"], "connected");
    assert_eq!(polled[1..], heard);
    let seq = heard[1]["seq"].as_u64().unwrap();
    let rest = http::get(&format!("{path}&after={seq}")).local().send(gateway.addr).await.json();
    assert_eq!(rest["frames"].as_array().unwrap(), &heard[2..]);
    // This history has no such frame, so it is told from the beginning.
    let other = http::get(&format!("{path}&after=80000")).local().send(gateway.addr).await.json();
    assert_eq!(other["frames"].as_array().unwrap()[1..], heard);
    assert_eq!(other["frames"][0]["payload"]["resumed"], false);
    let mut other =
        Client::<CoreUi>::open(gateway.addr, &format!("session={session}&after=80000")).await;
    assert_eq!(other.init["payload"]["resumed"], false);
    assert_eq!(other.next().await["payload"]["state"], "thinking");
    other.close().await;
    client.close().await;
    gateway.stop().await;
}

/// Failed calls lock the chat; calls that end because the user cancels have not failed.
#[tokio::test]
async fn the_chat_is_locked_and_unlocked_as_it_is_written() {
    let gateway = Gateway::start().await;
    let mut client = Client::<CoreUi>::open(gateway.addr, "").await;
    let write = r#"use file:write {"path":"a.txt","content":"a"}"#;
    for _ in 0..8 {
        client.ask(Ask::Text { to: Channel::Chat, text: write }).await;
        client.until("onToolCallRequest").await;
        client.ask(Ask::Cancel { to: Channel::Chat }).await;
        client.until_where(|frame| frame["payload"]["state"] == "waiting_for_input").await;
    }
    let read = (0..8).map(|number| format!("use file:read {{\"path\":\"none{number}\"}}\n"));
    let text: String = read.collect();
    client.ask(Ask::Text { to: Channel::Chat, text: &text }).await;
    let failed = client.until("error").await;
    assert_eq!(failed["payload"]["code"], "RUN_FAILED");
    client.until_where(|frame| frame["payload"]["state"] == "locked").await;
    client.ask(Ask::Text { to: Channel::Chat, text: "hello" }).await;
    assert_eq!(client.until("error").await["payload"]["code"], "LOCKED");
    client.ask(Ask::Text { to: Channel::Chat, text: "/reset" }).await;
    client.until_where(|frame| frame["payload"]["state"] == "waiting_for_input").await;
    client.ask(Ask::Text { to: Channel::Chat, text: "hello" }).await;
    assert_eq!(client.until("onNewMessage").await["payload"]["content"], "echo: hello");
    client.close().await;
    gateway.stop().await;
}

/// Every answer is held against `docs/openapi.yaml`.
#[tokio::test]
async fn commands_over_http_are_answered_as_it_is_written() {
    let gateway = Gateway::start().await;
    let ask = |query: &str, frame: &Value| {
        http::post(&format!("/core-ui/commands{query}"), frame).local().send(gateway.addr)
    };
    let text = json!({"type": "submitUserInput", "id": "a-1", "payload": {"text": "hello"}});
    let taken = ask("", &text).await;
    assert_eq!((taken.status, taken.json()["id"].as_str()), (202, Some("a-1")));
    let session = format!("?session={}", taken.json()["sessionId"].as_str().unwrap());
    let yes = json!({"confirmationId": "none", "approved": true});
    for (query, frame, status, code) in [
        (
            &*session,
            json!({"type": "provideConfirmation", "payload": yes}),
            404,
            "UNKNOWN_CONFIRMATION",
        ),
        (&*session, json!({"type": "shout"}), 400, "UNKNOWN_TYPE"),
        (&*session, json!([]), 400, "INVALID_MESSAGE"),
        ("?session=ws-0", text.clone(), 404, "SESSION_REFUSED"),
        ("?agent=9", text.clone(), 400, "BAD_FIELD"),
    ] {
        let refused = ask(query, &frame).await;
        let json = refused.json();
        assert_eq!((refused.status, json["payload"]["code"].as_str()), (status, Some(code)));
        core_ui_protocol().check(CORE_UI, Way::Send, "error", &json);
    }
    let plain = http::announced(&format!("/core-ui/commands{session}"), "text/plain").local();
    assert_eq!(plain.body(&text.to_string()).send(gateway.addr).await.status, 415);
    let nobody = http::post(&format!("/core-ui/commands{session}"), &text);
    assert_eq!(nobody.send(gateway.addr).await.status, 401);
    for path in ["/core-ui/poll?after=x", "/core-ui/events?features=colours"] {
        assert_eq!(http::get(path).local().send(gateway.addr).await.status, 400);
    }
    assert_eq!(http::get("/core-ui/events").send(gateway.addr).await.status, 401);
    assert_eq!(
        http::get("/core-ui/poll?session=ws-1").local().send(gateway.addr).await.status,
        404
    );
    assert_eq!(http::get("/core-ui/ws").local().send(gateway.addr).await.status, 400);
    gateway.stop().await;
}

#[test]
fn the_example_is_short() {
    let lines = blocks("js")[0].lines().filter(|line| !line.trim().is_empty()).count();
    assert!(lines <= 40, "{lines} lines");
}

#[test]
fn frames_that_clients_send_are_understood_and_complete() {
    let mut types = BTreeSet::new();
    for frame in frames("json sent") {
        let read = dialect().decode(Received::Text(&frame.to_string()));
        assert!(read.is_ok(), "{frame}: {read:?}");
        types.insert(frame["type"].as_str().unwrap().to_owned());
    }
    assert_eq!(types, client_types().map(str::to_owned).into());
    for frame in frames("json sent as agent_event") {
        let read = second_form().decode(Received::Text(&frame.to_string()));
        assert!(read.is_ok(), "{frame}: {read:?}");
    }
}

#[test]
fn frames_that_clients_get_are_valid_and_complete() {
    let protocol = core_ui_protocol();
    let mut types = BTreeSet::new();
    for mut frame in frames("json received") {
        fill_in(&mut frame);
        let kind = frame["type"].as_str().unwrap();
        protocol.check(CORE_UI, Way::Send, kind, &frame);
        types.insert(kind.to_owned());
    }
    assert_eq!(types, protocol.kinds(Way::Send).map(str::to_owned).collect());
}

/// The page leaves out what is the same in every frame.
fn fill_in(frame: &mut Value) {
    if frame["type"] != "system" && frame["timestamp"].is_null() {
        let session = json!(format!("ws-{}", "0".repeat(32)));
        frame["timestamp"] = json!(1_795_018_990_000_u64);
        frame["payload"]["sessionId"] = session.clone();
        frame["sessionId"] = session;
    }
}

#[test]
fn every_error_code_of_the_page_exists_and_none_is_missing() {
    assert_eq!(column("code"), codes());
}

#[test]
fn every_addition_of_the_page_exists_and_none_is_missing() {
    let listed = column("feature");
    for name in &listed {
        assert!(Additions::parse(name).is_ok(), "{name}");
    }
    let all: Vec<_> = listed.iter().filter(|name| *name != "all").map(String::as_str).collect();
    assert_eq!(Additions::parse(&all.join(",")), Additions::parse("all"));
}

/// Both tables of the second form: the events that are sent, and those that have no source here.
#[test]
fn every_event_of_the_second_form_is_listed_and_no_other() {
    let golden = fixtures().into_iter().filter(|(name, _)| name.starts_with("agent_event_server"));
    let sent = golden.filter_map(|(_, frame)| Some(frame["event"]["type"].as_str()?.to_owned()));
    assert_eq!(column("agent event"), sent.collect());
}

#[test]
fn the_page_is_not_long() {
    let length = page().len();
    assert!(length <= 16 * 1024, "{length} bytes");
}
