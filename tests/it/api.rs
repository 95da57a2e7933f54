//! The session API as its clients use it: one connection for everything, over WebSocket or as server-sent events.

use crate::client::{Api, Client, Codec};
use crate::http::get;
use crate::support::{Gateway, Home, PATIENCE, TOKEN};
use crate::texts::english_in;
use serde_json::{Value, json};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::Message;

/// How often a gateway in a hurry looks after its clients.
const PING: Duration = Duration::from_millis(50);

/// One connection of a client.
pub(crate) type ApiClient = Client<Api>;

fn orders(frames: &[Value]) -> Vec<u64> {
    frames.iter().filter_map(|frame| frame["order"].as_u64()).collect()
}

#[tokio::test]
async fn one_connection_sees_every_channel_in_one_order() {
    let gateway = Gateway::start().await;
    let mut client = ApiClient::open(gateway.addr, json!({})).await;
    client.until("ready").await;
    client.send(&json!({"type": "send", "to": "agent2", "text": "say from the agent"})).await;
    let ended = |frame: &Value| frame["type"] == "run_ended";
    let mut seen = client.collect_until(ended).await;
    client.send(&json!({"type": "send", "to": "chat", "text": "hello"})).await;
    let answered = |frame: &Value| frame["type"] == "reply" && frame["channel"] == "chat";
    seen.extend(client.collect_until(answered).await);
    let orders = orders(&seen);
    assert!(orders.windows(2).all(|pair| pair[0] < pair[1]), "{orders:?}");
    for channel in ["agent2", "chat"] {
        let is_here = |frame: &&Value| frame["channel"] == channel && frame["type"] == "user_text";
        assert_eq!(seen.iter().filter(is_here).count(), 1, "{channel}: {seen:?}");
    }
    let logged = seen.iter().filter(|frame| frame["order"].is_u64());
    for event in logged {
        let at = event["at"].as_str().unwrap();
        assert!(at.ends_with('Z') && at.len() == 24, "{event}");
        assert!(event["data"].is_object(), "{event}");
    }
    gateway.stop().await;
}

#[tokio::test]
async fn a_connection_goes_on_where_the_last_one_ended() {
    let gateway = Gateway::start().await;
    let mut first = ApiClient::open(gateway.addr, json!({})).await;
    let session = first.session().to_owned();
    for text in ["say one", "say two"] {
        first.send(&json!({"type": "send", "to": "agent1", "text": text})).await;
        first.until("run_ended").await;
    }
    let whole = json!({"session": session});
    let mut second = ApiClient::open(gateway.addr, whole).await;
    let all = second.collect_until(|frame| frame["type"] == "ready").await;
    let all = orders(&all);
    assert!(all.windows(2).all(|pair| pair[0] < pair[1]), "{all:?}");
    let seen = all[all.len() / 2];
    let epoch = second.init["epoch"].clone();
    let resumed = json!({"session": session, "after": seen, "epoch": epoch});
    let mut third = ApiClient::open(gateway.addr, resumed).await;
    assert_eq!(third.init["resumed"], true);
    let rest = third.collect_until(|frame| frame["type"] == "ready").await;
    let expected: Vec<_> = all.iter().copied().filter(|order| *order > seen).collect();
    assert_eq!(orders(&rest), expected);
    // An epoch that is not the session's: its history from the beginning.
    let strange = json!({"session": session, "after": seen, "epoch": "1"});
    let mut fourth = ApiClient::open(gateway.addr, strange).await;
    assert_eq!(fourth.init["resumed"], false);
    let rest = fourth.collect_until(|frame| frame["type"] == "ready").await;
    assert_eq!(orders(&rest), all);
    gateway.stop().await;
}

#[tokio::test]
async fn a_question_appears_once_and_is_answered() {
    let gateway = Gateway::start().await;
    let mut client = ApiClient::open(gateway.addr, json!({})).await;
    // From the chat, so that AI core clients are asked on both channels.
    let to = json!(["agent1"]);
    client
        .send(&json!({"type": "send", "to": to, "text": "ask write the file\nsay went on"}))
        .await;
    let asked = client.until("question").await;
    assert_eq!(asked["channel"], "agent1");
    let id = asked["data"]["id"].clone();
    client.send(&json!({"type": "answer", "id": id, "approved": true, "request": 7})).await;
    let rest = client.collect_until(|frame| frame["type"] == "agent_reply").await;
    assert!(rest.iter().any(|frame| frame["type"] == "ack" && frame["request"] == 7), "{rest:?}");
    let again = rest.iter().filter(|frame| frame["type"] == "question").count();
    let settled = rest.iter().filter(|frame| frame["type"] == "question_settled").count();
    assert_eq!((again, settled), (0, 1), "{rest:?}");
    gateway.stop().await;
}

#[tokio::test]
async fn files_are_uploaded_listed_and_watched() {
    let gateway = Gateway::start().await;
    std::fs::write(gateway.project().join("a.txt"), "a").unwrap();
    let mut client = ApiClient::open(gateway.addr, json!({})).await;
    client.send(&json!({"type": "upload", "name": "b.txt", "data": "aGVsbG8="})).await;
    assert_eq!(client.until("user_file").await["data"]["name"], "b.txt");
    client.send(&json!({"type": "files", "list": "project"})).await;
    let listed = client.until("files").await;
    assert_eq!((&listed["data"]["list"], &listed["channel"]), (&json!("project"), &json!("files")));
    let files = listed["data"]["files"].as_array().unwrap();
    assert!(files.iter().any(|file| file["path"].as_str().unwrap().ends_with("a.txt")), "{listed}");
    let known = json!({"newest": listed["data"]["newest"], "count": listed["data"]["count"]});
    client.send(&json!({"type": "files", "list": "project", "known": known})).await;
    client.until("files_unchanged").await;
    client.send(&json!({"type": "watch", "list": "project"})).await;
    client.until("files").await;
    std::fs::write(gateway.project().join("c.txt"), "c").unwrap();
    let has_c = |frame: &Value| {
        frame["type"] == "files" && frame["data"]["files"].to_string().contains("c.txt")
    };
    client.collect_until(has_c).await;
    gateway.stop().await;
}

#[tokio::test]
async fn mistakes_are_told_and_the_connection_lives() {
    let gateway = Gateway::start().await;
    let mut client = ApiClient::open(gateway.addr, json!({"language": "ja"})).await;
    client.until("ready").await;
    for (frame, code) in [
        ("{", "malformed"),
        ("{\"type\":\n\"send\", x}", "malformed"),
        ("[]", "not_an_object"),
        ("{}", "bad_field"),
        ("{\"type\":\"fly\"}", "unknown_type"),
        ("{\"type\":\"send\",\"to\":\"moon\",\"text\":\"a\"}", "bad_field"),
        ("{\"type\":\"answer\",\"id\":\"x\",\"approved\":true}", "nothing_to_confirm"),
    ] {
        client.send_raw(Message::text(frame)).await;
        let error = client.until("error").await;
        assert_eq!(error["code"], code, "{frame}: {error}");
        let told = error["message"].as_str().unwrap();
        assert!(!told.is_ascii() && english_in(told).is_none(), "{frame}: {told}");
    }
    client.send_raw(Message::binary(vec![0, 0])).await;
    assert_eq!(client.until("error").await["code"], "no_audio");
    client.send(&json!({"type": "send", "to": "chat", "text": "still there"})).await;
    client.until("reply").await;
    gateway.stop().await;
}

#[tokio::test]
async fn a_refused_connection_is_told_why() {
    let gateway = Gateway::start().await;
    for (token, hello, code, close) in [
        (None, json!({"type": "hello"}), "unauthorized", 3506),
        (Some("wrong"), json!({"type": "hello"}), "unauthorized", 3506),
        (Some(TOKEN), json!({"type": "send"}), "no_hello", 3502),
        (Some(TOKEN), json!({"type": "hello", "session": "x"}), "bad_field", 3502),
    ] {
        let bearer = token.map(|token| format!("Bearer {token}"));
        let header = bearer.as_deref().map(|bearer| ("Authorization", bearer));
        let mut client = ApiClient::dial_as(gateway.addr, header).await;
        client.send(&hello).await;
        assert_eq!(client.next().await["code"], code, "{hello}");
        assert_eq!(client.closed().await.0, close, "{hello}");
    }
    // A secret in the hello itself.
    let mut client = ApiClient::dial_as(gateway.addr, None).await;
    client.send(&json!({"type": "hello", "token": TOKEN})).await;
    assert_eq!(client.next().await["type"], "hello");
    gateway.stop().await;
}

#[tokio::test]
async fn sound_goes_both_ways_in_binary_frames() {
    let gateway = Gateway::start_with(|config| {
        Arc::make_mut(&mut config.settings).live = "scripted".to_owned();
    })
    .await;
    let features = json!({"features": ["audio"], "rate": 24000});
    let mut client = ApiClient::open(gateway.addr, features).await;
    client.until("ready").await;
    let chunk = vec![1_u8; 960];
    let mut announced = None;
    let heard = async {
        loop {
            client.send_raw(Message::binary(chunk.clone())).await;
            match client.message().await {
                Message::Text(text) => {
                    let frame: Value = serde_json::from_str(&text).unwrap();
                    if frame["type"] == "audio" {
                        announced = Some(frame);
                    }
                }
                Message::Binary(pcm) => return (announced, pcm),
                Message::Ping(_) | Message::Pong(_) | Message::Close(_) | Message::Frame(_) => {}
            }
        }
    };
    let (announced, pcm) = timeout(PATIENCE, heard).await.expect("no sound in time");
    let announced = announced.expect("each reply is announced before its sound");
    assert_eq!(announced["data"]["rate"], 24000);
    assert!(!pcm.is_empty() && pcm.len() % 2 == 0);
    gateway.stop().await;
}

/// Server-sent events of one stream.
struct Events {
    lines: Lines<BufReader<TcpStream>>,
    /// Of the last event.
    last_id: String,
}

impl Events {
    async fn open(addr: SocketAddr, path: &str, more: &str) -> Self {
        let mut stream = TcpStream::connect(addr).await.unwrap();
        let request = format!(
            "GET {path} HTTP/1.1\r\nHost: {addr}\r\nAuthorization: Bearer {TOKEN}\r\n{more}\r\n"
        );
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut lines = BufReader::new(stream).lines();
        let first = lines.next_line().await.unwrap().unwrap();
        assert!(first.contains("200"), "{first}");
        Self { lines, last_id: String::new() }
    }

    async fn line(&mut self) -> String {
        let line = timeout(PATIENCE, self.lines.next_line()).await.expect("no line in time");
        line.unwrap().expect("the stream has ended")
    }

    /// The next event, and its id if it has one.
    async fn next(&mut self) -> (Option<u64>, Value) {
        let (mut id, mut last_id) = (None, String::new());
        loop {
            let line = self.line().await;
            if let Some(number) = line.strip_prefix("id: ") {
                id = number.split_once('-').and_then(|(_, order)| order.parse().ok());
                last_id = number.to_owned();
            }
            if let Some(data) = line.strip_prefix("data: ") {
                let frame: Value = serde_json::from_str(data).unwrap();
                Api::default().heard(&frame);
                assert_eq!(id, frame["order"].as_u64(), "{frame}");
                self.last_id = last_id;
                return (id, frame);
            }
        }
    }
}

#[tokio::test]
async fn events_are_streamed_over_http_and_resumed() {
    let gateway = Gateway::start().await;
    let mut client = ApiClient::open(gateway.addr, json!({})).await;
    let session = client.session().to_owned();
    client.send(&json!({"type": "send", "to": "agent1", "text": "say one"})).await;
    client.until("run_ended").await;
    let path = format!("/api/events?session={session}");
    let mut events = Events::open(gateway.addr, &path, "").await;
    let (mut seen, mut first_id) = (Vec::new(), String::new());
    loop {
        let (id, frame) = events.next().await;
        if frame["type"] == "ready" {
            break;
        }
        if id.is_some() && first_id.is_empty() {
            first_id = events.last_id.clone();
        }
        seen.push(frame);
    }
    assert_eq!(seen[0]["type"], "hello");
    assert!(seen.iter().any(|frame| frame["type"] == "run_ended"), "{seen:?}");
    client.send(&json!({"type": "send", "to": "agent1", "text": "say two"})).await;
    while events.next().await.1["type"] != "run_ended" {}
    // A browser comes back with the last id that it has seen.
    let last = orders(&seen)[0];
    for (path, header) in [
        (path.clone(), format!("Last-Event-ID: {first_id}\r\n")),
        (format!("{path}&after={last}"), String::new()),
    ] {
        let mut again = Events::open(gateway.addr, &path, &header).await;
        assert_eq!(again.next().await.1["resumed"], true);
        let next = loop {
            if let (Some(order), _) = again.next().await {
                break order;
            }
        };
        assert_eq!(next, last + 1);
    }
    gateway.stop().await;
}

#[tokio::test]
async fn a_stream_stays_open_and_is_told_when_the_gateway_stops() {
    let gateway = Gateway::start_with(|config| config.limits.ping = PING).await;
    let session = ApiClient::open(gateway.addr, json!({})).await.session().to_owned();
    let path = format!("/api/events?session={session}");
    let mut events = Events::open(gateway.addr, &path, "").await;
    while events.next().await.1["type"] != "ready" {}
    // Nobody answers on a stream, and that is no reason to end it.
    for _ in 0..5 {
        while !events.line().await.starts_with(':') {}
    }
    let stopped = tokio::spawn(gateway.stop());
    while events.next().await.1["type"] != "system" {}
    stopped.await.unwrap();
}

#[tokio::test]
async fn a_stream_needs_a_session_of_its_own_user() {
    let gateway = Gateway::start().await;
    let strange = format!("/api/events?session=ws-{}", "0".repeat(32));
    for (path, local, status) in [
        ("/api/events", true, 400),
        ("/api/events?session=x", true, 400),
        ("/api/events?session=x&after=soon", true, 400),
        ("/api/events?session=x&history=-1", true, 400),
        (strange.as_str(), true, 404),
        (strange.as_str(), false, 401),
    ] {
        let ask = if local { get(path).local() } else { get(path) };
        let reply = ask.send(gateway.addr).await;
        assert_eq!(reply.status, status, "{path}: {}", reply.body);
        assert_eq!(reply.json()["type"], "error", "{path}");
    }
    gateway.stop().await;
}

#[tokio::test]
async fn a_stream_without_a_place_is_told_when_to_come_back() {
    let gateway = Gateway::start_with(|config| config.limits.sockets = 1).await;
    let client = ApiClient::open(gateway.addr, json!({})).await;
    let path = format!("/api/events?session={}", client.session());
    let reply = get(&path).local().send(gateway.addr).await;
    assert_eq!((reply.status, &reply.json()["code"]), (503, &json!("too_many_sockets")));
    assert_eq!(reply.header("retry-after").as_deref(), Some("5"));
    gateway.stop().await;
}

#[tokio::test]
async fn the_order_survives_a_restart() {
    let home = Arc::new(Home::new());
    let gateway = Gateway::start_at(Arc::clone(&home), |_| ()).await;
    let mut client = ApiClient::open(gateway.addr, json!({})).await;
    let session = client.session().to_owned();
    client.send(&json!({"type": "send", "to": "agent1", "text": "say one"})).await;
    let before = client.collect_until(|frame| frame["type"] == "run_ended").await;
    gateway.stop().await;
    let gateway = Gateway::start_at(home, |_| ()).await;
    let last = orders(&before).pop().unwrap();
    let resumed = json!({"session": session, "after": last});
    let mut client = ApiClient::open(gateway.addr, resumed).await;
    assert_eq!(client.init["resumed"], true);
    client.send(&json!({"type": "send", "to": "agent3", "text": "say two"})).await;
    let after = client.collect_until(|frame| frame["type"] == "run_ended").await;
    let all = orders(&after);
    assert!(all.iter().all(|order| *order > last), "{last}: {all:?}");
    gateway.stop().await;
}

#[tokio::test]
async fn sound_has_a_limit_of_its_own() {
    let gateway = Gateway::start_with(|config| config.limits.audio_frame = 1000).await;
    let mut client = ApiClient::open(gateway.addr, json!({"features": ["audio"]})).await;
    client.until("ready").await;
    client.send_raw(Message::binary(vec![0; 1002])).await;
    assert_eq!(client.until("error").await["code"], "too_large");
    client.send(&json!({"type": "send", "to": "chat", "text": "still there"})).await;
    client.until("reply").await;
    gateway.stop().await;
}

#[tokio::test]
async fn unwatching_ends_the_watch_of_one_client_only() {
    let gateway = Gateway::start().await;
    let mut first = ApiClient::open(gateway.addr, json!({})).await;
    let session = json!({"session": first.session()});
    let mut second = ApiClient::open(gateway.addr, session).await;
    for client in [&mut first, &mut second] {
        client.send(&json!({"type": "watch", "list": "project"})).await;
        client.until("files").await;
    }
    // The one who leaves takes nothing from the other.
    first.send(&json!({"type": "unwatch", "request": "a"})).await;
    first.until("ack").await;
    std::fs::write(gateway.project().join("new.txt"), "x").unwrap();
    let has_new = |frame: &Value| {
        frame["type"] == "files" && frame["data"]["files"].to_string().contains("new.txt")
    };
    second.collect_until(has_new).await;
    gateway.stop().await;
}

#[tokio::test]
async fn a_reader_cannot_send() {
    let gateway = Gateway::start().await;
    let writer = ApiClient::open(gateway.addr, json!({})).await;
    let more = json!({"session": writer.session(), "read_only": true});
    let mut reader = ApiClient::open(gateway.addr, more).await;
    reader.send(&json!({"type": "send", "to": "chat", "text": "hello"})).await;
    assert_eq!(reader.until("error").await["code"], "read_only");
    gateway.stop().await;
}

#[tokio::test]
async fn an_input_socket_is_greeted_as_usual_beside_an_api_client() {
    let gateway = Gateway::start().await;
    let client = ApiClient::open(gateway.addr, json!({})).await;
    let session = client.session().to_owned();
    let mut input = crate::support::Client::open(gateway.addr, "input", Some(&session)).await;
    input.until("streaming_started").await;
    gateway.stop().await;
}
