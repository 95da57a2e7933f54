//! A client of the core/UI interface leaves while a question is open: with a WebSocket, and with a stream of events and
//! posted commands.

use crate::client::{Client, CoreUi};
use crate::http;
use crate::support::{Gateway, PATIENCE, TOKEN};
use serde_json::{Value, json};
use std::net::SocketAddr;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::net::TcpStream;

type Ui = Client<CoreUi>;

fn state(frame: &Value) -> &str {
    frame["payload"]["state"].as_str().unwrap_or_default()
}

/// How a client reads and writes: with a WebSocket, or with a stream of events and posted commands.
enum Line {
    Socket(Box<Ui>),
    Stream(Box<Lines<BufReader<TcpStream>>>),
}

impl Line {
    async fn open(addr: SocketAddr, is_socket: bool, session: &str) -> Self {
        if is_socket {
            return Self::Socket(Box::new(Ui::open(addr, &format!("session={session}")).await));
        }
        let mut stream = TcpStream::connect(addr).await.unwrap();
        let head = format!(
            "GET /core-ui/events?session={session} HTTP/1.1\r\nHost: {addr}\r\nAuthorization: Bearer {TOKEN}\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).await.unwrap();
        Self::Stream(Box::new(BufReader::new(stream).lines()))
    }

    async fn until(&mut self, wanted: impl Fn(&Value) -> bool) -> Vec<Value> {
        let lines = match self {
            Self::Socket(ui) => return ui.collect_until(wanted).await,
            Self::Stream(lines) => lines,
        };
        let mut frames = Vec::new();
        loop {
            let line = tokio::time::timeout(PATIENCE, lines.next_line());
            let line = line.await.expect("an event").unwrap().unwrap();
            let Some(data) = line.strip_prefix("data: ") else { continue };
            frames.push(serde_json::from_str(data).unwrap());
            if frames.last().is_some_and(&wanted) {
                return frames;
            }
        }
    }

    async fn send(&mut self, addr: SocketAddr, session: &str, frame: Value) {
        match self {
            Self::Socket(ui) => ui.send(&frame).await,
            Self::Stream(_) => {
                let path = format!("/core-ui/commands?session={session}");
                let taken = http::post(&path, &frame).local().send(addr).await;
                assert_eq!(taken.status, 202, "{taken:?}");
            }
        }
    }
}

const TOUCH: &str = r#"use shell:execute {"command": "touch made"}"#;

fn text(text: &str) -> Value {
    json!({"type": "submitUserInput", "payload": {"text": text}})
}

fn is_question(frame: &Value) -> bool {
    frame["type"] == "onToolCallRequest"
}

/// Asks, and leaves while the question is open. Returns the session and the question.
async fn ask_and_leave(addr: SocketAddr, is_socket: bool) -> (String, Value) {
    let ui = Ui::open(addr, "").await;
    let session = ui.session().to_owned();
    ui.close().await;
    let mut line = Line::open(addr, is_socket, &session).await;
    line.send(addr, &session, text(TOUCH)).await;
    let asked = line.until(is_question).await.pop().unwrap();
    if let Line::Socket(ui) = line {
        ui.leave().await;
    }
    (session, asked)
}

fn is_idle(frame: &Value) -> bool {
    state(frame) == "waiting_for_input"
}

#[tokio::test]
async fn a_question_stays_open_when_its_client_leaves() {
    let gateway = Gateway::start().await;
    let (addr, made) = (gateway.addr, gateway.project().join("made"));
    for is_socket in [true, false] {
        let (session, asked) = ask_and_leave(addr, is_socket).await;
        assert!(!made.exists());
        // Whoever comes later is asked, and may answer.
        let mut line = Line::open(addr, is_socket, &session).await;
        assert_eq!(line.until(is_question).await.pop().unwrap(), asked);
        let payload =
            json!({"confirmationId": asked["payload"]["confirmationId"], "approved": true});
        let answer = json!({"type": "provideConfirmation", "payload": payload});
        line.send(addr, &session, answer).await;
        line.until(is_idle).await;
        assert!(made.exists());
        std::fs::remove_file(&made).unwrap();
    }
    gateway.stop().await;
}

#[tokio::test]
async fn a_question_whose_client_has_left_ends_with_its_run() {
    let gateway = Gateway::start().await;
    let (addr, made) = (gateway.addr, gateway.project().join("made"));
    for is_socket in [true, false] {
        let (session, asked) = ask_and_leave(addr, is_socket).await;
        let mut line = Line::open(addr, is_socket, &session).await;
        line.until(is_question).await;
        line.send(addr, &session, json!({"type": "cancel"})).await;
        let frames = line.until(is_idle).await;
        assert_eq!(frames.iter().map(state).collect::<Vec<_>>(), ["stopped", "waiting_for_input"]);
        let yes = json!({"confirmationId": asked["payload"]["confirmationId"], "approved": true});
        let frame = json!({"type": "provideConfirmation", "payload": yes});
        let path = format!("/core-ui/commands?session={session}");
        assert_eq!(http::post(&path, &frame).local().send(addr).await.status, 404);
        line.send(addr, &session, text("hello")).await;
        line.until(is_idle).await;
        assert!(!made.exists());
    }
    gateway.stop().await;
}

#[tokio::test]
async fn a_question_whose_client_has_left_is_answered_with_no_in_time() {
    let wait = Duration::from_millis(500);
    let gateway = Gateway::start_with(|config| config.limits.confirm = wait).await;
    let (addr, made) = (gateway.addr, gateway.project().join("made"));
    for is_socket in [true, false] {
        let (session, _) = ask_and_leave(addr, is_socket).await;
        // Nobody is there when the time is over: another session outlasts it.
        let (other, _) = ask_and_leave(addr, is_socket).await;
        Line::open(addr, is_socket, &other).await.until(is_idle).await;
        let mut line = Line::open(addr, is_socket, &session).await;
        let frames = line.until(is_idle).await;
        let said = frames.iter().find(|frame| frame["type"] == "onNewMessage").unwrap();
        assert!(said["payload"]["content"].as_str().unwrap().contains("not allowed"), "{said}");
        assert!(!frames.iter().any(|frame| state(frame) == "executing_tool"), "{frames:?}");
        assert!(!made.exists());
    }
    gateway.stop().await;
}
