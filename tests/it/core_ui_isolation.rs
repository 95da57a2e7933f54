//! Three sessions on three transports of the core/UI interface, in random order: nothing of one is ever seen by another.

use crate::http::{get, post};
use crate::support::{Gateway, PATIENCE, TOKEN};
use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use std::net::SocketAddr;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async};

/// How a client reads its frames.
enum Reading {
    Socket(Box<WebSocketStream<MaybeTlsStream<TcpStream>>>),
    Stream(Lines<BufReader<TcpStream>>),
    Poll { after: u64, waiting: Vec<Value> },
}

struct Client {
    addr: SocketAddr,
    name: &'static str,
    session: String,
    reading: Reading,
    seen: Vec<Value>,
    open_question: Option<Value>,
}

impl Client {
    async fn socket(addr: SocketAddr) -> Self {
        let mut request = format!("ws://{addr}/core-ui/ws").into_client_request().unwrap();
        let bearer = format!("Bearer {TOKEN}").parse().unwrap();
        request.headers_mut().insert("authorization", bearer);
        let ws = connect_async(request).await.unwrap().0;
        Self::new(addr, "socket", Reading::Socket(Box::new(ws))).await
    }

    async fn stream(addr: SocketAddr) -> Self {
        let mut stream = TcpStream::connect(addr).await.unwrap();
        let head = format!(
            "GET /core-ui/events HTTP/1.1\r\nHost: {addr}\r\nAuthorization: Bearer {TOKEN}\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).await.unwrap();
        Self::new(addr, "stream", Reading::Stream(BufReader::new(stream).lines())).await
    }

    async fn poll(addr: SocketAddr) -> Self {
        Self::new(addr, "poll", Reading::Poll { after: 0, waiting: Vec::new() }).await
    }

    async fn new(addr: SocketAddr, name: &'static str, reading: Reading) -> Self {
        let (session, seen) = (String::new(), Vec::new());
        let mut client = Self { addr, name, session, reading, seen, open_question: None };
        let first = client.next().await;
        assert_eq!(first["type"], "connected", "{first}");
        client.session = first["sessionId"].as_str().unwrap().to_owned();
        client
    }

    async fn next(&mut self) -> Value {
        let frame = timeout(PATIENCE, self.frame()).await.expect("a frame");
        if frame["type"] == "onToolCallRequest" {
            self.open_question = Some(frame["payload"]["confirmationId"].clone());
        }
        self.seen.push(frame.clone());
        frame
    }

    async fn frame(&mut self) -> Value {
        loop {
            match &mut self.reading {
                Reading::Socket(ws) => {
                    if let Message::Text(text) = ws.next().await.unwrap().unwrap() {
                        return serde_json::from_str(&text).unwrap();
                    }
                }
                Reading::Stream(lines) => {
                    let line = lines.next_line().await.unwrap().unwrap();
                    if let Some(data) = line.strip_prefix("data: ") {
                        return serde_json::from_str(data).unwrap();
                    }
                }
                Reading::Poll { waiting, .. } if !waiting.is_empty() => return waiting.remove(0),
                Reading::Poll { after, waiting } => {
                    let query = match self.session.as_str() {
                        "" => String::new(),
                        session => format!("session={session}&after={after}"),
                    };
                    let reply =
                        get(&format!("/core-ui/poll?{query}")).local().send(self.addr).await;
                    let body: Value = serde_json::from_str(&reply.body).unwrap();
                    waiting.extend(body["frames"].as_array().unwrap().iter().cloned());
                    if let Some(last) = waiting.last() {
                        *after = last["seq"].as_u64().unwrap();
                    }
                }
            }
        }
    }

    async fn send(&mut self, kind: &str, payload: Value) {
        let frame = json!({"type": kind, "payload": payload});
        match &mut self.reading {
            Reading::Socket(ws) => ws.send(Message::text(frame.to_string())).await.unwrap(),
            Reading::Stream(_) | Reading::Poll { .. } => {
                let path = format!("/core-ui/commands?session={}", self.session);
                let reply = post(&path, &frame).local().send(self.addr).await;
                assert_eq!(reply.status, 202, "{}: {reply:?}", self.name);
            }
        }
    }

    async fn until_idle(&mut self) {
        while self.next().await["payload"]["state"] != "waiting_for_input" {}
    }

    /// One step of this client; whatever it leaves open is settled by a later step.
    async fn act(&mut self, dice: u64, number: usize) {
        if let Some(id) = self.open_question.take() {
            let approved = dice.is_multiple_of(2);
            self.send("provideConfirmation", json!({"confirmationId": id, "approved": approved}))
                .await;
            return self.until_idle().await;
        }
        let text = match dice % 3 {
            0 => format!("echo {}-{number}", self.name),
            1 => format!(r#"use file:read {{"path": "{}.txt"}}"#, self.name),
            _ => format!(
                r#"use file:write {{"path": "{}-{number}.txt", "content": "x"}}"#,
                self.name
            ),
        };
        self.send("submitUserInput", json!({"text": text})).await;
        if dice % 3 == 2 {
            while self.open_question.is_none() {
                self.next().await;
            }
        } else {
            self.until_idle().await;
        }
    }
}

/// Small and repeatable.
fn next_random(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

#[tokio::test]
async fn three_sessions_on_three_transports_never_see_each_other() {
    for seed in [3, 1001, 77_777] {
        let gateway = Gateway::start().await;
        let addr = gateway.addr;
        let mut clients =
            [Client::socket(addr).await, Client::stream(addr).await, Client::poll(addr).await];
        for client in &clients {
            let secret = format!("secret of {}\n", client.name);
            std::fs::write(gateway.project().join(format!("{}.txt", client.name)), secret).unwrap();
        }
        let mut state = seed;
        for number in 0..24 {
            let who = usize::try_from(next_random(&mut state) % 3).unwrap();
            let dice = next_random(&mut state);
            clients[who].act(dice, number).await;
        }
        for client in &mut clients {
            if client.open_question.is_some() {
                client.act(0, 99).await;
            }
        }
        for client in &clients {
            let others = clients.iter().filter(|other| other.name != client.name);
            let others: Vec<_> = others.collect();
            for frame in &client.seen {
                assert_eq!(frame["sessionId"], client.session, "seed {seed}: {frame}");
                assert_eq!(frame["payload"]["sessionId"], client.session, "seed {seed}: {frame}");
                let text = frame.to_string();
                for other in &others {
                    assert!(!text.contains(&other.session), "seed {seed}: {text}");
                    assert!(
                        !text.contains(&format!("secret of {}", other.name)),
                        "seed {seed}: {text}"
                    );
                    assert!(!text.contains(&format!("{}-", other.name)), "seed {seed}: {text}");
                }
            }
            let seqs: Vec<_> =
                client.seen[1..].iter().map(|frame| frame["seq"].as_u64().unwrap()).collect();
            assert!(seqs.windows(2).all(|pair| pair[0] < pair[1]), "seed {seed}: {seqs:?}");
        }
        drop(clients);
        gateway.stop().await;
    }
}
