//! The page of the `agent_event` form finds back to its session: it names the session in a frame, after the connection
//! has one already.

use crate::http::{delete, get};
use crate::login::{log_in, with_users};
use crate::process::Process;
use crate::support::{Gateway, Home, PATIENCE, TOKEN, eventually};
use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use std::net::SocketAddr;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async};

/// One connection of the page, which knows an address and a token, and stores the last session that it was told.
struct Page {
    ws: WebSocketStream<MaybeTlsStream<TcpStream>>,
    session: String,
}

impl Page {
    /// As a page that has nothing stored.
    async fn open(addr: SocketAddr, token: &str) -> Self {
        let mut page = Self::dial(addr, token).await;
        page.connected().await;
        page
    }

    async fn dial(addr: SocketAddr, token: &str) -> Self {
        let url = format!("ws://{addr}/core-ui/ws?form=agent_event&token={token}");
        let (ws, _) = connect_async(url).await.unwrap();
        Self { ws, session: String::new() }
    }

    /// After a reload or a reconnect: its first frame goes out before anything of the gateway has come.
    async fn come_back(addr: SocketAddr, token: &str, session: &str) -> (Self, String) {
        let mut page = Self::dial(addr, token).await;
        page.resume(session).await;
        page.connected().await;
        let fresh = page.session.clone();
        assert_ne!(fresh, session);
        (page, fresh)
    }

    async fn connected(&mut self) {
        let frame = self.next().await;
        assert_eq!(frame["type"], "connected", "{frame}");
        self.session = frame["sessionId"].as_str().unwrap().to_owned();
    }

    async fn send(&mut self, frame: Value) {
        self.ws.send(Message::text(frame.to_string())).await.unwrap();
    }

    async fn resume(&mut self, session: &str) {
        self.send(json!({"type": "session_resume", "sessionId": session})).await;
    }

    async fn say(&mut self, text: &str) {
        let session = self.session.clone();
        self.say_in(&session, text).await;
    }

    async fn say_in(&mut self, session: &str, text: &str) {
        let payload = json!({"text": text});
        self.send(json!({"type": "user_input", "sessionId": session, "payload": payload})).await;
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

    async fn until(&mut self, wanted: impl Fn(&Value) -> bool) -> Vec<Value> {
        let mut frames = Vec::new();
        loop {
            frames.push(self.next().await);
            if frames.last().is_some_and(&wanted) {
                return frames;
            }
        }
    }

    /// Says it and waits for the echo; all frames up to the end of the answer have to be of this session.
    async fn chat(&mut self, text: &str) {
        self.say(text).await;
        let frames = self.until(|frame| content(frame) == format!("echo: {text}")).await;
        for frame in &frames {
            assert_eq!(frame["event"]["payload"]["sessionId"], self.session, "{frame}");
        }
    }
}

fn content(frame: &Value) -> &str {
    let is_said = frame["event"]["type"] == "message:assistant";
    frame["event"]["payload"]["content"].as_str().filter(|_| is_said).unwrap_or_default()
}

fn is_error(frame: &Value) -> bool {
    frame["type"] == "error"
}

/// What the assistant has said.
fn said(frames: &[Value]) -> Vec<&str> {
    frames.iter().map(content).filter(|text| !text.is_empty()).collect()
}

async fn listed(addr: SocketAddr) -> Vec<String> {
    let list = get("/api/sessions").local().send(addr).await.json();
    let rows = list["sessions"].as_array().unwrap().clone();
    rows.iter().map(|row| row["id"].as_str().unwrap().to_owned()).collect()
}

/// The gateway is killed, and the page comes back to another one with what it has stored.
#[tokio::test]
async fn a_page_finds_back_to_its_session() {
    let home = Home::new();
    let process = Process::start(&home, "");
    let mut page = Page::open(process.addr, TOKEN).await;
    let old = page.session.clone();
    page.chat("first").await;
    page.chat("second").await;
    process.kill();
    let process = Process::start(&home, "");
    for round in 0..2 {
        let (mut page, fresh) = Page::come_back(process.addr, TOKEN, &old).await;
        page.connected().await;
        assert_eq!(page.session, old);
        // What was said last is there, and not everything again.
        let last = if round == 0 { "echo: second" } else { "echo: third" };
        page.say(if round == 0 { "third" } else { "fourth" }).await;
        let next = if round == 0 { "echo: third" } else { "echo: fourth" };
        let frames = page.until(|frame| content(frame) == next).await;
        assert_eq!(said(&frames), [last, next]);
        for frame in &frames {
            assert_eq!(frame["event"]["payload"]["sessionId"], old, "{frame}");
        }
        // The session that the connection had at first is gone.
        assert_eq!(listed(process.addr).await, std::slice::from_ref(&old), "{fresh}");
    }
    process.kill();
}

/// What the page sends on its way back reaches its session, also if it names the one that it had for a moment.
#[tokio::test]
async fn a_text_on_the_way_back_reaches_the_session_of_the_page() {
    let gateway = Gateway::start().await;
    let mut page = Page::open(gateway.addr, TOKEN).await;
    let old = page.session.clone();
    page.chat("before").await;
    // All at once: the session is named by the first frame, or only by the text itself.
    for with_resume in [true, false] {
        let mut page = Page::dial(gateway.addr, TOKEN).await;
        if with_resume {
            page.resume(&old).await;
        }
        page.say_in(&old, "at once").await;
        page.connected().await;
        let fresh = page.session.clone();
        page.connected().await;
        assert_eq!(page.session, old);
        page.until(|frame| content(frame) == "echo: at once").await;
        page.say_in(&fresh, "with the former id").await;
        let echo = page.until(|frame| content(frame) == "echo: with the former id").await;
        assert_eq!(echo.last().unwrap()["event"]["payload"]["sessionId"], old);
        assert!(!echo.iter().any(is_error), "{echo:?}");
    }
    assert_eq!(listed(gateway.addr).await, [old]);
    // Null is what a page sends that knows no session yet.
    let mut page = Page::open(gateway.addr, TOKEN).await;
    let frame = json!({"type": "user_input", "sessionId": null, "payload": {"text": "new"}});
    page.send(frame).await;
    page.until(|frame| content(frame) == "echo: new").await;
    gateway.stop().await;
}

/// A session in which something was said is kept, and can be named again.
#[tokio::test]
async fn a_used_session_is_not_deleted_when_the_page_leaves_it() {
    let gateway = Gateway::start().await;
    let mut page = Page::open(gateway.addr, TOKEN).await;
    let old = page.session.clone();
    page.chat("old").await;
    let mut page = Page::open(gateway.addr, TOKEN).await;
    let used = page.session.clone();
    // The command still waits when the page leaves.
    page.say("sleep 0").await;
    page.resume(&old).await;
    page.until(|frame| frame["sessionId"] == old.as_str()).await;
    page.session = old;
    page.chat("old again").await;
    page.resume(&used).await;
    page.connected().await;
    assert_eq!(page.session, used);
    page.until(|frame| content(frame) == "echo: sleep 0").await;
    page.chat("used again").await;
    assert_eq!(listed(gateway.addr).await.len(), 2);
    gateway.stop().await;
}

/// A question is asked again where the page comes back, and its run goes on meanwhile.
#[tokio::test]
async fn an_open_question_is_asked_again() {
    let gateway = Gateway::start().await;
    let mut page = Page::open(gateway.addr, TOKEN).await;
    let old = page.session.clone();
    page.say(r#"use shell:execute {"command": "touch made"}"#).await;
    let is_asked = |frame: &Value| frame["event"]["type"] == "confirmation:request";
    let asked = page.until(is_asked).await.pop().unwrap();
    drop(page);
    let (mut page, _) = Page::come_back(gateway.addr, TOKEN, &old).await;
    let again = page.until(is_asked).await.pop().unwrap();
    assert_eq!(again["event"], asked["event"]);
    let payload = &asked["event"]["payload"];
    let yes =
        json!({"toolCallId": payload["toolCallId"], "nonce": payload["nonce"], "approved": true});
    let answer = json!({"type": "confirmation_response", "sessionId": old, "payload": yes});
    page.send(answer).await;
    let made = gateway.project().join("made");
    eventually(|| made.exists()).await;
    gateway.stop().await;
}

/// The page stays in its fresh session, and nothing that it sent for the other one is carried out.
#[tokio::test]
async fn nobody_is_led_to_a_session_that_is_not_theirs() {
    let gateway = Gateway::start_with(with_users).await;
    let addr = gateway.addr;
    let (ann, bob) = (log_in(addr, "ann").await, log_in(addr, "bob").await);
    let mut of_ann = Page::open(addr, &ann).await;
    of_ann.chat("secret of ann").await;
    let mut deleted = Page::open(addr, &bob).await;
    let path = format!("/api/sessions/{}", deleted.session);
    deleted.chat("soon deleted").await;
    assert_eq!(delete(&path).bearer(&bob).send(addr).await.status, 204);
    for other in [&*of_ann.session, &*deleted.session, "old", &format!("ws-{}", "0".repeat(32))] {
        let mut page = Page::dial(addr, &bob).await;
        page.resume(other).await;
        page.say_in(other, "not meant for here").await;
        page.connected().await;
        for _ in 0..2 {
            let refused = page.next().await;
            assert_eq!(
                (&refused["type"], &refused["code"]),
                (&json!("error"), &json!("SESSION_REFUSED"))
            );
        }
        page.chat("still here").await;
    }
    of_ann.say("anything new").await;
    let frames = of_ann.until(|frame| content(frame) == "echo: anything new").await;
    assert_eq!(said(&frames), ["echo: anything new"]);
    gateway.stop().await;
}
