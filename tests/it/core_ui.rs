//! The core/UI interface as its document describes it: the two sequences, isolation, confirmations, and every way in.

use crate::client::{Aicore, Api, Ask, Client, Told, What};
use crate::http::{get, post};
use crate::process::Process;
use crate::support::{Gateway, Home, PATIENCE, TOKEN, eventually};
use futures_util::{SinkExt, StreamExt};
use kakehashi::config::Config;
use kakehashi::message::Channel;
use serde_json::{Value, json};
use std::net::SocketAddr;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async};

/// A UI as somebody would write it who has only read the document.
struct Ui {
    ws: WebSocketStream<MaybeTlsStream<TcpStream>>,
    session: String,
}

type Head = (&'static str, String);

fn bearer() -> Vec<Head> {
    vec![("authorization", format!("Bearer {TOKEN}"))]
}

async fn dial(
    addr: SocketAddr,
    query: &str,
    heads: &[Head],
) -> WebSocketStream<MaybeTlsStream<TcpStream>> {
    let mut request = format!("ws://{addr}/core-ui/ws?{query}").into_client_request().unwrap();
    for (name, value) in heads {
        request.headers_mut().insert(*name, value.parse().unwrap());
    }
    connect_async(request).await.unwrap().0
}

impl Ui {
    async fn open(addr: SocketAddr, query: &str) -> Self {
        let ws = dial(addr, query, &bearer()).await;
        let mut ui = Self { ws, session: String::new() };
        let first = ui.next().await;
        assert_eq!(first["type"], "connected", "{first}");
        ui.session = first["sessionId"].as_str().unwrap().to_owned();
        assert_eq!(first["payload"]["sessionId"], ui.session);
        ui
    }

    async fn send(&mut self, kind: &str, payload: Value) {
        self.raw(&json!({"type": kind, "payload": payload}).to_string()).await;
    }

    async fn raw(&mut self, text: &str) {
        self.ws.send(Message::text(text)).await.unwrap();
    }

    async fn say(&mut self, text: &str) {
        self.send("submitUserInput", json!({"text": text})).await;
    }

    async fn answer(&mut self, id: &Value, approved: bool) {
        let payload = json!({"confirmationId": id, "approved": approved});
        self.send("provideConfirmation", payload).await;
    }

    async fn next(&mut self) -> Value {
        loop {
            match timeout(PATIENCE, self.ws.next()).await.expect("a frame").unwrap().unwrap() {
                Message::Text(text) => return serde_json::from_str(&text).unwrap(),
                Message::Ping(_) | Message::Pong(_) => {}
                other @ (Message::Binary(_) | Message::Close(_) | Message::Frame(_)) => {
                    panic!("{other:?}")
                }
            }
        }
    }

    /// All frames up to the first that fits.
    async fn until(&mut self, fits: impl Fn(&Value) -> bool) -> Vec<Value> {
        let mut seen = Vec::new();
        loop {
            let frame = self.next().await;
            let is_last = fits(&frame);
            seen.push(frame);
            if is_last {
                return seen;
            }
        }
    }

    async fn until_idle(&mut self) -> Vec<Value> {
        self.until(|frame| frame["payload"]["state"] == "waiting_for_input").await
    }

    async fn until_type(&mut self, kind: &str) -> Value {
        self.until(|frame| frame["type"] == kind).await.pop().unwrap()
    }

    async fn closed(&mut self) -> CloseFrame {
        loop {
            let next = timeout(PATIENCE, self.ws.next()).await.unwrap().unwrap().unwrap();
            if let Message::Close(frame) = next {
                return frame.unwrap();
            }
        }
    }
}

/// Each frame by its type and, for a state, its name.
fn brief(frames: &[Value]) -> Vec<String> {
    let one = |frame: &Value| match frame["type"].as_str().unwrap() {
        "onAgentStateChange" => format!("state {}", frame["payload"]["state"].as_str().unwrap()),
        other => other.to_owned(),
    };
    frames.iter().map(one).collect()
}

fn message(frames: &[Value]) -> &Value {
    let found = frames.iter().find(|frame| frame["type"] == "onNewMessage");
    &found.unwrap_or_else(|| panic!("{frames:?}"))["payload"]
}

/// The shipped rules, and even reading is asked about.
pub(crate) fn ask_before_reading(config: &mut Config) {
    let all = include_str!("../../config/policy.toml");
    let file = config.data.join("policy.toml");
    let rules = all.replace("tools = [\"*git push*\"", "tools = [\"file:read\", \"*git push*\"");
    assert_ne!(rules, all);
    std::fs::write(&file, rules).unwrap();
    config.policy = Some(file);
}

async fn with_report(change: impl FnOnce(&mut Config)) -> Gateway {
    let gateway = Gateway::start_with(change).await;
    std::fs::write(gateway.project().join("report.txt"), "all is well\n").unwrap();
    gateway
}

const READ: &str = r#"use file:read {"path": "report.txt"}"#;

#[tokio::test]
async fn a_question_is_answered_in_the_order_of_the_document() {
    let gateway = Gateway::start().await;
    let mut ui = Ui::open(gateway.addr, "").await;
    ui.say("hello").await;
    let frames = ui.until_idle().await;
    assert_eq!(brief(&frames), ["state thinking", "onNewMessage", "state waiting_for_input"]);
    let payload = message(&frames);
    assert_eq!(payload["content"], "echo: hello");
    assert_eq!(payload["format"], "markdown");
    assert_eq!(payload["metadata"]["source_documents"], json!([]));
    assert!(payload["metadata"]["latency_ms"].is_u64(), "{payload}");
    let seqs: Vec<_> = frames.iter().map(|frame| frame["seq"].as_u64().unwrap()).collect();
    assert!(seqs.is_sorted() && seqs[0] < seqs[1] && seqs[1] < seqs[2], "{seqs:?}");
    for frame in &frames {
        assert_eq!(
            (&frame["sessionId"], &frame["payload"]["sessionId"]),
            (&json!(ui.session), &json!(ui.session))
        );
        assert!(frame["timestamp"].as_i64().unwrap() > 1_700_000_000_000);
    }
    gateway.stop().await;
}

#[tokio::test]
async fn a_tool_call_is_asked_about_and_carried_out_in_the_order_of_the_document() {
    let gateway = with_report(ask_before_reading).await;
    let mut ui = Ui::open(gateway.addr, "").await;
    ui.say(READ).await;
    let asked = ui.until(|frame| frame["type"] == "onToolCallRequest").await;
    assert_eq!(brief(&asked), ["state thinking", "onToolCallRequest"]);
    let payload = &asked[1]["payload"];
    assert_eq!(payload["toolName"], "file:read");
    assert_eq!(payload["args"], json!({"path": "report.txt"}));
    assert_eq!(payload["security_warning"]["level"], "INFO");
    assert!(payload["security_warning"]["message"].as_str().unwrap().contains("report.txt"));
    ui.answer(&payload["confirmationId"], true).await;
    let done = ui.until_idle().await;
    assert_eq!(brief(&done), ["state executing_tool", "onNewMessage", "state waiting_for_input"]);
    let said = message(&done);
    assert!(said["content"].as_str().unwrap().contains("all is well"), "{said}");
    assert_eq!(said["metadata"]["source_documents"], json!([{"path": "report.txt"}]));
    // The same answer again, a wrong id, and an answer of another session are refused; the first decision stands.
    let id = payload["confirmationId"].clone();
    ui.answer(&id, false).await;
    assert_eq!(ui.next().await["payload"]["code"], "UNKNOWN_CONFIRMATION");
    ui.answer(&json!("nonsense"), true).await;
    assert_eq!(ui.next().await["payload"]["code"], "UNKNOWN_CONFIRMATION");
    gateway.stop().await;
}

#[tokio::test]
async fn an_answer_of_another_session_decides_nothing_and_nobody_waits_for_it() {
    let gateway = with_report(ask_before_reading).await;
    let (mut one, mut two) = (Ui::open(gateway.addr, "").await, Ui::open(gateway.addr, "").await);
    assert_ne!(one.session, two.session);
    one.say(READ).await;
    let id = one.until_type("onToolCallRequest").await["payload"]["confirmationId"].clone();
    two.answer(&id, true).await;
    let refused = two.next().await;
    assert_eq!(refused["payload"]["code"], "UNKNOWN_CONFIRMATION");
    // The open question of one session holds nobody else up.
    two.say("hello").await;
    let frames = two.until_idle().await;
    assert_eq!(brief(&frames), ["state thinking", "onNewMessage", "state waiting_for_input"]);
    assert!(frames.iter().all(|frame| frame["sessionId"] == two.session), "{frames:?}");
    one.answer(&id, true).await;
    let frames = one.until_idle().await;
    assert!(frames.iter().all(|frame| frame["sessionId"] == one.session), "{frames:?}");
    assert!(message(&frames)["content"].as_str().unwrap().contains("all is well"));
    gateway.stop().await;
}

#[tokio::test]
async fn a_refused_call_is_not_carried_out_and_the_model_is_told() {
    let gateway = with_report(|_| ()).await;
    let mut ui = Ui::open(gateway.addr, "").await;
    ui.say(r#"use file:write {"path": "new.txt", "content": "x"}"#).await;
    let asked = ui.until_type("onToolCallRequest").await;
    assert_eq!(asked["payload"]["toolName"], "file:write");
    ui.answer(&asked["payload"]["confirmationId"], false).await;
    let frames = ui.until_idle().await;
    assert_eq!(brief(&frames), ["onNewMessage", "state waiting_for_input"]);
    assert!(message(&frames)["content"].as_str().unwrap().contains("not allowed"));
    assert!(!gateway.project().join("new.txt").exists());
    gateway.stop().await;
}

#[tokio::test]
async fn no_answer_in_time_means_no() {
    let gateway =
        Gateway::start_with(|config| config.limits.confirm = Duration::from_millis(300)).await;
    let mut ui = Ui::open(gateway.addr, "").await;
    ui.say(r#"use shell:execute {"command": "touch made"}"#).await;
    let id = ui.until_type("onToolCallRequest").await["payload"]["confirmationId"].clone();
    let frames = ui.until_idle().await;
    assert!(message(&frames)["content"].as_str().unwrap().contains("not allowed"), "{frames:?}");
    ui.answer(&id, true).await;
    assert_eq!(ui.next().await["payload"]["code"], "UNKNOWN_CONFIRMATION");
    assert!(!gateway.project().join("made").exists());
    gateway.stop().await;
}

#[tokio::test]
async fn reading_and_looking_run_unasked_and_everything_else_asks() {
    let gateway = with_report(|_| ()).await;
    let mut ui = Ui::open(gateway.addr, "").await;
    for (call, contains) in [
        (READ, "all is well"),
        (r#"use file:list {"path": ""}"#, "report.txt"),
        (r#"use file:search {"pattern": "all is"}"#, "report.txt:1"),
        (r#"use shell:execute {"command": "ls"}"#, "report.txt"),
        (r#"use shell:execute {"command": "cat report.txt"}"#, "all is well"),
        (r#"use shell:execute {"command": "echo hi there"}"#, "hi there"),
    ] {
        ui.say(call).await;
        let frames = ui.until_idle().await;
        let expected =
            ["state thinking", "state executing_tool", "onNewMessage", "state waiting_for_input"];
        assert_eq!(brief(&frames), expected, "{call}");
        let said = message(&frames)["content"].as_str().unwrap();
        assert!(said.contains(contains), "{call}: {said}");
    }
    for call in [
        r#"use shell:execute {"command": "ls; touch made"}"#,
        r#"use shell:execute {"command": "echo hi > made"}"#,
        r#"use shell:execute {"command": "cat $HOME/x"}"#,
        r#"use shell:execute {"command": "touch made"}"#,
        r#"use file:write {"path": "made", "content": "x"}"#,
        r#"use file:replace {"path": "report.txt", "old": "well", "new": "bad"}"#,
        r#"use agent:request {"agent": 1, "request": "say hi"}"#,
    ] {
        ui.say(call).await;
        let asked = ui.until_type("onToolCallRequest").await;
        ui.answer(&asked["payload"]["confirmationId"], false).await;
        ui.until_idle().await;
    }
    assert!(!gateway.project().join("made").exists());
    gateway.stop().await;
}

#[tokio::test]
async fn an_approved_call_writes_and_runs_in_the_project() {
    let gateway = with_report(|_| ()).await;
    let mut ui = Ui::open(gateway.addr, "").await;
    for call in [
        r#"use file:write {"path": "a/new.txt", "content": "one\n"}"#,
        r#"use file:replace {"path": "a/new.txt", "old": "one", "new": "two"}"#,
        r#"use shell:execute {"command": "cp a/new.txt copy.txt"}"#,
    ] {
        ui.say(call).await;
        let asked = ui.until_type("onToolCallRequest").await;
        ui.answer(&asked["payload"]["confirmationId"], true).await;
        let frames = ui.until_idle().await;
        assert_eq!(frames[0]["payload"]["state"], "executing_tool", "{frames:?}");
    }
    let copied = std::fs::read_to_string(gateway.project().join("copy.txt")).unwrap();
    assert_eq!(copied, "two\n");
    gateway.stop().await;
}

#[tokio::test]
async fn files_outside_the_project_and_of_the_gateway_are_not_read() {
    let gateway = with_report(|_| ()).await;
    std::os::unix::fs::symlink("/etc/hostname", gateway.project().join("link")).unwrap();
    let mut ui = Ui::open(gateway.addr, "").await;
    for path in ["../x", "/etc/passwd", "link", "a/../../b"] {
        ui.say(&format!("use file:read {}", json!({"path": path}))).await;
        let frames = ui.until_idle().await;
        let said = message(&frames)["content"].as_str().unwrap();
        assert!(
            !said.contains("root:") && !brief(&frames).contains(&"onToolCallRequest".to_owned()),
            "{path}: {said}"
        );
    }
    gateway.stop().await;
}

#[tokio::test]
async fn a_dangerous_call_takes_two_approvals() {
    let gateway = Gateway::start().await;
    std::fs::create_dir(gateway.project().join("old")).unwrap();
    let mut ui = Ui::open(gateway.addr, "").await;
    ui.say(r#"use shell:execute {"command": "rm -r old"}"#).await;
    let asked = ui.until_type("onToolCallRequest").await;
    assert_eq!(asked["payload"]["security_warning"]["level"], "CRITICAL");
    let id = &asked["payload"]["confirmationId"];
    ui.answer(id, true).await;
    assert_eq!(ui.next().await["payload"]["code"], "CONFIRM_AGAIN");
    assert!(gateway.project().join("old").exists());
    ui.answer(id, true).await;
    ui.until_idle().await;
    assert!(!gateway.project().join("old").exists());
    gateway.stop().await;
}

#[tokio::test]
async fn both_tabs_see_the_turn_and_a_system_notice_names_no_session() {
    let gateway = Gateway::start().await;
    let mut one = Ui::open(gateway.addr, "").await;
    let mut tab = Ui::open(gateway.addr, &format!("session={}", one.session)).await;
    let mut other = Ui::open(gateway.addr, "").await;
    assert_eq!(tab.session, one.session);
    one.say("hello").await;
    let (here, there) = (one.until_idle().await, tab.until_idle().await);
    assert_eq!(here, there);
    let stopped = tokio::spawn(gateway.stop());
    for ui in [&mut one, &mut tab, &mut other] {
        let notice = ui.until_type("system").await;
        assert_eq!(notice.get("sessionId"), None, "{notice}");
        assert_eq!(notice["payload"].get("sessionId"), None, "{notice}");
    }
    stopped.await.unwrap();
}

#[tokio::test]
async fn a_session_that_is_not_ones_own_is_refused() {
    let gateway = Gateway::start().await;
    for query in
        ["session=nonsense", &format!("session=ws-{}", "0".repeat(32)), "agent=5", "features=wings"]
    {
        let mut ui = Ui { ws: dial(gateway.addr, query, &bearer()).await, session: String::new() };
        let error = ui.next().await;
        assert_eq!(error["type"], "error", "{query}: {error}");
        assert_eq!(u16::from(ui.closed().await.code), 3504, "{query}");
    }
    let mut ui = Ui { ws: dial(gateway.addr, "", &[]).await, session: String::new() };
    assert_eq!(ui.next().await["payload"]["code"], "UNAUTHORIZED");
    gateway.stop().await;
}

/// Whatever frame was the last one before a break, the next connection gets exactly the others.
#[tokio::test]
async fn a_client_goes_on_after_any_frame() {
    let gateway = with_report(|_| ()).await;
    let mut ui = Ui::open(gateway.addr, "").await;
    let mut all = Vec::new();
    for text in ["hello", READ, "fail badly"] {
        ui.say(text).await;
        all.extend(ui.until_idle().await);
    }
    for (at, frame) in all.iter().enumerate() {
        let query = format!("session={}&after={}", ui.session, frame["seq"]);
        let mut again = Ui::open(gateway.addr, &query).await;
        for expected in &all[at + 1..] {
            assert_eq!(again.next().await, *expected);
        }
        again.raw("{").await;
        assert_eq!(again.next().await["payload"]["code"], "INVALID_JSON");
    }
    let mut whole = Ui::open(gateway.addr, &format!("session={}", ui.session)).await;
    for expected in &all {
        assert_eq!(whole.next().await, *expected);
    }
    gateway.stop().await;
}

#[tokio::test]
async fn bad_frames_get_an_error_and_the_socket_lives() {
    let gateway = Gateway::start().await;
    let mut ui = Ui::open(gateway.addr, "").await;
    for (frame, code) in [
        ("{", "INVALID_JSON"),
        ("[]", "INVALID_MESSAGE"),
        (r#"{"type":"shout"}"#, "UNKNOWN_TYPE"),
        (r#"{"type":"submitUserInput","payload":{}}"#, "BAD_FIELD"),
        (
            r#"{"type":"submitUserInput","sessionId":"other","payload":{"text":"x"}}"#,
            "WRONG_SESSION",
        ),
    ] {
        ui.raw(frame).await;
        assert_eq!(ui.next().await["payload"]["code"], code, "{frame}");
    }
    ui.ws.send(Message::binary(vec![1, 2, 3])).await.unwrap();
    assert_eq!(ui.next().await["payload"]["code"], "INVALID_MESSAGE");
    ui.say("still here").await;
    assert_eq!(message(&ui.until_idle().await)["content"], "echo: still here");
    gateway.stop().await;
}

#[tokio::test]
async fn pictures_go_to_the_model_with_the_text() {
    let gateway = Gateway::start().await;
    let mut ui = Ui::open(gateway.addr, "").await;
    let png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
    let attachments = json!([{"type": "image", "data": png}]);
    ui.send("submitUserInput", json!({"text": "what is it", "attachments": attachments})).await;
    let frames = ui.until_idle().await;
    let said = message(&frames)["content"].as_str().unwrap();
    assert!(said.starts_with("echo: what is it [file ") && said.ends_with(".png]"), "{said}");
    gateway.stop().await;
}

#[tokio::test]
async fn additions_are_sent_to_those_who_ask_for_them() {
    let gateway = with_report(ask_before_reading).await;
    let mut ui = Ui::open(gateway.addr, "features=all").await;
    ui.say(READ).await;
    let mut frames =
        ui.until(|frame| frame["payload"]["state"] == "waiting_for_confirmation").await;
    let asked = frames.iter().find(|frame| frame["type"] == "onToolCallRequest").unwrap();
    ui.answer(&asked["payload"]["confirmationId"].clone(), true).await;
    frames.extend(ui.until_idle().await);
    let expected = [
        "onUserInput",
        "state thinking",
        "onToolCallRequest",
        "state waiting_for_confirmation",
        "onToolCallResolved",
        "onToolCall",
        "state executing_tool",
        "onToolCall",
        "onMessageDelta",
        "onNewMessage",
        "state waiting_for_input",
    ];
    let mut told = brief(&frames);
    told.dedup();
    assert_eq!(told, expected);
    gateway.stop().await;
}

#[tokio::test]
async fn a_cancel_ends_the_turn_and_its_command() {
    let gateway = Gateway::start().await;
    let mut ui = Ui::open(gateway.addr, "").await;
    ui.say(r#"use shell:execute {"command": "touch begun; sleep 600; touch over"}"#).await;
    let asked = ui.until_type("onToolCallRequest").await;
    ui.answer(&asked["payload"]["confirmationId"], true).await;
    let begun = gateway.project().join("begun");
    eventually(|| begun.exists()).await;
    ui.send("cancel", json!({})).await;
    let frames = ui.until_idle().await;
    let expected = ["state executing_tool", "state stopped", "state waiting_for_input"];
    assert_eq!(brief(&frames), expected);
    // A question is void after a cancel.
    ui.say(r#"use shell:execute {"command": "touch over"}"#).await;
    let id = ui.until_type("onToolCallRequest").await["payload"]["confirmationId"].clone();
    ui.send("cancel", json!({})).await;
    ui.until_idle().await;
    ui.answer(&id, true).await;
    assert_eq!(ui.next().await["payload"]["code"], "UNKNOWN_CONFIRMATION");
    assert!(!gateway.project().join("over").exists());
    gateway.stop().await;
}

#[tokio::test]
async fn eight_failures_of_ten_lock_only_their_own_session_until_a_reset() {
    let gateway = Gateway::start().await;
    let (mut ui, mut other) = (Ui::open(gateway.addr, "").await, Ui::open(gateway.addr, "").await);
    for turn in 0..7 {
        ui.say(&format!(r#"use file:read {{"path": "missing{turn}"}}"#)).await;
        ui.until_idle().await;
    }
    ui.say(r#"use file:read {"path": "missing"}"#).await;
    let frames = ui.until(|frame| frame["payload"]["state"] == "locked").await;
    assert!(frames.iter().any(|frame| frame["payload"]["code"] == "RUN_FAILED"), "{frames:?}");
    ui.say("hello").await;
    assert_eq!(ui.next().await["payload"]["code"], "LOCKED");
    other.say("hello").await;
    assert_eq!(message(&other.until_idle().await)["content"], "echo: hello");
    ui.say("/reset").await;
    assert_eq!(brief(&ui.until_idle().await), ["state waiting_for_input"]);
    ui.say("hello").await;
    assert_eq!(message(&ui.until_idle().await)["content"], "echo: hello");
    gateway.stop().await;
}

#[tokio::test]
async fn the_same_failing_call_is_called_out() {
    let gateway = Gateway::start().await;
    let mut ui = Ui::open(gateway.addr, "").await;
    let call = "use file:read {\"path\": \"missing\"}\n".repeat(3);
    ui.say(&call).await;
    let frames = ui.until_idle().await;
    let said = message(&frames)["content"].as_str().unwrap();
    assert_eq!(said.matches("failed 3 times in a row").count(), 1, "{said}");
    gateway.stop().await;
}

#[tokio::test]
async fn slash_commands_are_answered_without_thinking() {
    let gateway = Gateway::start().await;
    let mut ui = Ui::open(gateway.addr, "").await;
    for (command, contains) in
        [("/help", "/reset"), ("/tools", "shell:execute"), ("/status", "scripted")]
    {
        ui.say(command).await;
        let frame = ui.next().await;
        assert_eq!(frame["type"], "onNewMessage", "{command}");
        let said = frame["payload"]["content"].as_str().unwrap();
        assert!(said.contains(contains), "{command}: {said}");
    }
    gateway.stop().await;
}

#[tokio::test]
async fn an_agent_speaks_the_same_frames() {
    let gateway = Gateway::start().await;
    let mut ui = Ui::open(gateway.addr, "agent=1").await;
    ui.say("say hi").await;
    let frames = ui.until_idle().await;
    assert_eq!(brief(&frames), ["state thinking", "onNewMessage", "state waiting_for_input"]);
    assert_eq!(message(&frames)["content"], "hi");
    gateway.stop().await;
}

#[tokio::test]
async fn work_for_an_agent_is_waited_for() {
    let gateway = Gateway::start().await;
    let mut ui = Ui::open(gateway.addr, "").await;
    ui.say(r#"use agent:request {"agent": 2, "request": "say done by two"}"#).await;
    let asked = ui.until_type("onToolCallRequest").await;
    assert_eq!(asked["payload"]["args"], json!({"agent": 2, "request": "say done by two"}));
    ui.answer(&asked["payload"]["confirmationId"], true).await;
    let frames = ui.until_idle().await;
    let said: Vec<_> = frames.iter().filter(|frame| frame["type"] == "onNewMessage").collect();
    assert_eq!(said.last().unwrap()["payload"]["content"], "done by two");
    gateway.stop().await;
}

/// Frames of a poll.
async fn poll(addr: SocketAddr, query: &str) -> Vec<Value> {
    let reply = get(&format!("/core-ui/poll?{query}")).local().send(addr).await;
    assert_eq!(reply.status, 200, "{reply:?}");
    let body: Value = serde_json::from_str(&reply.body).unwrap();
    body["frames"].as_array().unwrap().clone()
}

#[tokio::test]
async fn polls_and_posted_commands_do_the_same() {
    let gateway = with_report(ask_before_reading).await;
    let first = poll(gateway.addr, "").await;
    assert_eq!(brief(&first), ["connected"]);
    let session = first[0]["sessionId"].as_str().unwrap().to_owned();
    let command = async |kind: &str, payload: Value| {
        let path = format!("/core-ui/commands?session={session}");
        post(&path, &json!({"type": kind, "payload": payload})).local().send(gateway.addr).await
    };
    let taken = command("submitUserInput", json!({"text": READ})).await;
    assert_eq!(taken.status, 202, "{taken:?}");
    let body: Value = serde_json::from_str(&taken.body).unwrap();
    assert!(body["id"].is_string() && body["sessionId"] == session, "{body}");
    let (mut seen, mut after) = (Vec::new(), 0);
    loop {
        let frames = poll(gateway.addr, &format!("session={session}&after={after}")).await;
        after = frames.last().unwrap()["seq"].as_u64().unwrap();
        for frame in &frames {
            if frame["type"] == "onToolCallRequest" {
                let id = &frame["payload"]["confirmationId"];
                let answer = json!({"confirmationId": id, "approved": true});
                assert_eq!(command("provideConfirmation", answer.clone()).await.status, 202);
                let again = command("provideConfirmation", answer).await;
                assert_eq!(again.status, 404, "{again:?}");
                assert!(again.body.contains("UNKNOWN_CONFIRMATION"));
            }
        }
        let is_over = frames.iter().any(|frame| frame["payload"]["state"] == "waiting_for_input");
        seen.extend(frames);
        if is_over {
            break;
        }
    }
    let expected = [
        "state thinking",
        "onToolCallRequest",
        "state executing_tool",
        "onNewMessage",
        "state waiting_for_input",
    ];
    assert_eq!(brief(&seen), expected);
    let bad = command("shout", json!({})).await;
    assert_eq!(bad.status, 400);
    assert!(bad.body.contains("UNKNOWN_TYPE"), "{bad:?}");
    let foreign = get("/core-ui/poll?session=ws-00000000000000000000000000000000").local();
    assert_eq!(foreign.send(gateway.addr).await.status, 404);
    assert_eq!(get("/core-ui/poll").send(gateway.addr).await.status, 401);
    gateway.stop().await;
}

/// A killed gateway says what was cut off, ends the question, and loses nothing of what was told.
#[tokio::test]
async fn a_turn_that_is_cut_off_by_kill_9_is_told_as_stopped() {
    let home = Home::new();
    let process = Process::start(&home, "");
    let mut ui = Ui::open(process.addr, "features=tools").await;
    let call = r#"use shell:execute {"command": "touch begun; sleep 600"}"#;
    ui.say(call).await;
    let mut seen = ui.until(|frame| frame["type"] == "onToolCallRequest").await;
    let id = seen.last().unwrap()["payload"]["confirmationId"].clone();
    ui.answer(&id, true).await;
    seen.extend(ui.until(|frame| frame["payload"]["state"] == "executing_tool").await);
    let begun = home.project.path().join("begun");
    eventually(|| begun.exists()).await;
    process.kill();

    let process = Process::start(&home, "");
    let query = |after: &Value| format!("features=tools&session={}&after={after}", ui.session);
    let mut again = Ui::open(process.addr, &query(&seen.last().unwrap()["seq"])).await;
    let rest = again.until_idle().await;
    let told = brief(&rest);
    assert_eq!(
        told.last_chunk(),
        Some(&["state stopped".to_owned(), "state waiting_for_input".to_owned()])
    );
    let ended: Vec<_> = rest.iter().filter(|frame| frame["type"] == "onToolCall").collect();
    assert_eq!(ended.last().unwrap()["payload"]["state"], "failed", "{rest:?}");
    let mut whole = Ui::open(process.addr, &format!("features=tools&session={}", ui.session)).await;
    for expected in seen.iter().chain(&rest) {
        assert_eq!(whole.next().await, *expected);
    }
    again.say("hello").await;
    assert_eq!(message(&again.until_idle().await)["content"], "echo: hello");
}

/// What the gate was asked and what it answered is in the audit log, in the words of access control.
#[tokio::test]
async fn every_decision_is_in_the_audit_log_as_request_and_response() {
    let gateway = with_report(|_| ()).await;
    let mut ui = Ui::open(gateway.addr, "").await;
    ui.say(READ).await;
    ui.until_idle().await;
    ui.say(r#"use shell:execute {"command": "touch made"}"#).await;
    let asked = ui.until_type("onToolCallRequest").await;
    ui.answer(&asked["payload"]["confirmationId"], true).await;
    ui.until_idle().await;
    ui.say(r#"use shell:execute {"command": "sudo ls"}"#).await;
    ui.until_idle().await;
    let data = gateway.home.data.path().to_owned();
    let log = tokio::process::Command::new(env!("CARGO_BIN_EXE_kakehashi"))
        .args(["audit", "--json", "--data"])
        .arg(&data)
        .output()
        .await
        .unwrap();
    let rows: Vec<Value> = String::from_utf8(log.stdout)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let decisions: Vec<_> = rows
        .iter()
        .rev()
        .map(|row| {
            let policy = &row["policy"];
            let (request, response) = (&policy["request"], &policy["response"]);
            assert_eq!(request["action"], "tool:execute");
            assert_eq!(request["principal"], json!({"id": "local", "groups": ["chat"]}));
            let context = json!({"ip_address": "127.0.0.1", "session_id": ui.session});
            assert_eq!(request["context"], context);
            (request["resource"].clone(), response["decision"].clone(), row["decision"].clone())
        })
        .collect();
    let resource = |name: &str, args: Value| json!({"type": "tool", "name": name, "attributes": {"args": args}});
    let shell = |command: &str| resource("shell:execute", json!({"command": command}));
    let expected = [
        (resource("file:read", json!({"path": "report.txt"})), json!("ALLOW"), json!("allowed")),
        (shell("touch made"), json!("REQUIRE_USER_CONFIRMATION"), json!("allowed")),
        (shell("sudo ls"), json!("DENY"), json!("refused")),
    ];
    assert_eq!(decisions, expected);
    gateway.stop().await;
}

#[tokio::test]
async fn a_user_interface_in_the_same_process_gets_typed_events() {
    // Examples are built with the tests, beside them.
    let tests = std::env::current_exe().unwrap();
    let example = tests.parent().unwrap().parent().unwrap().join("examples/in_process");
    assert!(example.exists(), "build it first: cargo build --features mic --examples");
    let place = tempfile::tempdir().unwrap();
    for (text, answer, expected) in [
        ("hello", "", "thinking\necho: hello\n"),
        (r#"use file:write {"path": "a.txt", "content": "hi"}"#, "y\n", "executing"),
    ] {
        let mut running = tokio::process::Command::new(&example)
            .arg(text)
            .current_dir(place.path())
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = running.stdin.take().unwrap();
        tokio::io::AsyncWriteExt::write_all(&mut stdin, answer.as_bytes()).await.unwrap();
        drop(stdin);
        let ended = timeout(PATIENCE, running.wait_with_output()).await.unwrap().unwrap();
        let said = String::from_utf8(ended.stdout).unwrap();
        assert!(ended.status.success() && said.contains(expected), "{said}");
    }
    assert_eq!(std::fs::read_to_string(place.path().join("a.txt")).unwrap(), "hi");
}

/// One session in three dialects: each tells the same run in its own words, and an answer on one is known on all.
#[tokio::test]
async fn three_dialects_tell_one_run_and_an_answer_on_one_is_known_on_all() {
    let gateway = with_report(ask_before_reading).await;
    let mut ui = Ui::open(gateway.addr, "features=all").await;
    let mut api = Client::<Api>::open(gateway.addr, json!({"session": ui.session})).await;
    api.until("ready").await;
    let more = || json!({"機能": ["stream", "confirm", "agents"], "言語": "en"});
    let session = Some(ui.session.as_str());
    let mut input = Client::<Aicore>::open_with(gateway.addr, "input", session, more()).await;
    let mut chat = Client::<Aicore>::open_with(gateway.addr, "0", session, more()).await;
    chat.until("welcome_text").await;
    ui.say(READ).await;
    let asked = ui.until_type("onToolCallRequest").await;
    let id = asked["payload"]["confirmationId"].as_str().unwrap().to_owned();
    let question = What::Question { id: id.clone() };
    assert_eq!(api.expect(|what| *what == question).await.channel, Channel::Chat);
    input.expect(|what| *what == question).await;
    // Answered in the words of one dialect, it is over in all.
    api.ask(Ask::Answer { id: &id, approved: true }).await;
    let settled = What::Settled { id: id.clone(), approved: true };
    api.expect(|what| *what == settled).await;
    input.expect(|what| *what == settled).await;
    let rest = ui.until_idle().await;
    let resolved = rest.iter().find(|frame| frame["type"] == "onToolCallResolved").unwrap();
    assert_eq!(resolved["payload"]["approved"], true);
    ui.answer(&json!(id), true).await;
    assert_eq!(ui.next().await["payload"]["code"], "UNKNOWN_CONFIRMATION");
    let is_answer = |what: &What| matches!(what, What::Said(text) if text.contains("all is well"));
    let (in_api, in_chat) = (api.told_until(is_answer).await, chat.told_until(is_answer).await);
    let tools = |told: &[Told]| -> Vec<String> {
        let state = |told: &Told| {
            if let What::Tool { state, .. } = &told.what { Some(state.clone()) } else { None }
        };
        told.iter().filter_map(state).collect()
    };
    assert_eq!(tools(&in_api), ["started", "completed"]);
    assert_eq!(tools(&in_chat), ["started", "completed"]);
    assert!(message(&rest)["content"].as_str().unwrap().contains("all is well"));
    gateway.stop().await;
}

// The second form.

async fn open_events(addr: SocketAddr, query: &str) -> Ui {
    let ws = dial(addr, &format!("form=agent_event&{query}"), &[]).await;
    Ui { ws, session: String::new() }
}

/// The next event of this type.
async fn event(ui: &mut Ui, kind: &str) -> Value {
    ui.until(|frame| frame["event"]["type"] == kind).await.pop().unwrap()["event"]["payload"]
        .clone()
}

#[tokio::test]
async fn the_page_of_the_second_form_is_served() {
    let gateway = with_report(ask_before_reading).await;
    let mut ui = open_events(gateway.addr, &format!("token={TOKEN}")).await;
    let first = ui.next().await;
    assert_eq!(first["type"], "connected");
    assert!(first["clientId"].as_str().unwrap().starts_with("ws-"));
    let session = first["sessionId"].clone();
    ui.raw(r#"{"type":"ping"}"#).await;
    let pong = ui.next().await;
    assert!(pong["type"] == "pong" && pong["timestamp"].is_i64(), "{pong}");
    for frame in
        ["null", "[]", "\"\"", r#"{"type":""}"#, r#"{"type":1}"#, r#"{"type":"x","sessionId":5}"#]
    {
        ui.raw(frame).await;
        assert_eq!(ui.next().await["error"], "Invalid message", "{frame}");
    }
    ui.raw("{").await;
    assert_eq!(ui.next().await["error"], "Invalid JSON");
    ui.raw(r#"{"type":"session_resume","sessionId":"old"}"#).await;
    ui.send("user_input", json!({"text": "hello"})).await;
    let said = event(&mut ui, "message:assistant").await;
    assert_eq!((&said["content"], &said["sessionId"]), (&json!("echo: hello"), &session));
    ui.send("user_input", json!({"text": READ})).await;
    let asked = event(&mut ui, "confirmation:request").await;
    assert_eq!(asked["toolName"], "file:read");
    assert_eq!(asked["toolArguments"], json!({"path": "report.txt"}));
    let (call, nonce) = (&asked["toolCallId"], &asked["nonce"]);
    assert_eq!(nonce.as_str().unwrap().len(), 32);
    let answer = |call: &Value| json!({"toolCallId": call, "nonce": nonce, "approved": true});
    ui.send("confirmation_response", answer(&json!("other"))).await;
    assert_eq!(ui.until_type("error").await["code"], "UNKNOWN_CONFIRMATION");
    ui.send("confirmation_response", answer(call)).await;
    let executing = event(&mut ui, "tool:executing").await;
    assert_eq!((&executing["toolCallId"], &executing["name"]), (call, &json!("file:read")));
    assert!(
        event(&mut ui, "tool:result").await["result"].as_str().unwrap().contains("all is well")
    );
    assert!(
        event(&mut ui, "message:assistant").await["content"]
            .as_str()
            .unwrap()
            .contains("all is well")
    );
    gateway.stop().await;
}

#[tokio::test]
async fn the_second_form_closes_strangers_with_its_own_codes() {
    let gateway = Gateway::start().await;
    for (query, heads, code) in [
        ("form=agent_event&token=wrong", Vec::new(), 4401),
        ("form=agent_event", Vec::new(), 4401),
        ("form=agent_event", vec![("origin", "http://evil.example".to_owned())], 4403),
        (
            "",
            vec![
                ("sec-websocket-protocol", "agent_event".to_owned()),
                ("origin", "http://evil.example".to_owned()),
            ],
            4403,
        ),
    ] {
        let mut ui = Ui { ws: dial(gateway.addr, query, &heads).await, session: String::new() };
        assert_eq!(u16::from(ui.closed().await.code), code, "{query}");
    }
    // The first form refuses a page of another site before the upgrade, and takes no secret from an address.
    let mut request = format!("ws://{}/core-ui/ws", gateway.addr).into_client_request().unwrap();
    request.headers_mut().insert("origin", "http://evil.example".parse().unwrap());
    assert!(connect_async(request).await.is_err());
    let mut ui =
        Ui { ws: dial(gateway.addr, &format!("token={TOKEN}"), &[]).await, session: String::new() };
    assert_eq!(ui.next().await["payload"]["code"], "UNAUTHORIZED");
    gateway.stop().await;
}
