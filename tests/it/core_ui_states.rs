//! The core/UI interface at its edges: the end of a long answer, the lock, frames that a history does not have, and
//! pings without an answer.

use crate::acp::AGENT;
use crate::client::{Ask, Client, CoreUi};
use crate::http;
use crate::process::Process;
use crate::support::{Gateway, Home, PATIENCE, TOKEN};
use kakehashi::message::Channel;
use serde_json::Value;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;

type Ui = Client<CoreUi>;

async fn say(ui: &mut Ui, text: &str) {
    ui.ask(Ask::Text { to: Channel::Chat, text }).await;
}

fn state(frame: &Value) -> &str {
    frame["payload"]["state"].as_str().unwrap_or_default()
}

/// A frame by its type, a state by its name, an error by its code.
fn brief(frame: &Value) -> &str {
    let code = frame["payload"]["code"].as_str();
    let state = Some(state(frame)).filter(|name| !name.is_empty());
    state.or(code).unwrap_or_else(|| frame["type"].as_str().unwrap())
}

async fn until_state(ui: &mut Ui, name: &str) -> Vec<Value> {
    ui.collect_until(|frame| state(frame) == name).await
}

/// A long answer is stored in parts of about 1 MiB. Wherever it ends, the client learns that it is over.
#[tokio::test]
async fn an_answer_that_ends_with_its_part_is_over_too() {
    let home = Home::new();
    let settings = format!(
        "[[agents]]\nname = \"fake\"\nkind = \"acp\"\ncommand = [\"python3\", \"{AGENT}\"]\n"
    );
    let process = Process::start(&home, &settings);
    let mut ui = Ui::open(process.addr, "agent=1").await;
    // It arrives in pieces of 64 KiB, so parts end at multiples of that.
    for kib in [1024, 1024 + 64, 2048, 2048 + 128, 1000, 3000] {
        say(&mut ui, &format!("much {kib}")).await;
        let frames = until_state(&mut ui, "waiting_for_input").await;
        let told: Vec<_> = frames.iter().map(brief).collect();
        assert_eq!(told.last_chunk(), Some(&["onNewMessage", "waiting_for_input"]), "{kib}");
        let content = |frame: &Value| frame["payload"]["content"].as_str().map(str::len);
        let parts: Vec<_> = frames.iter().filter_map(content).collect();
        assert_eq!(parts.iter().sum::<usize>(), kib * 1024);
        assert!(parts.iter().all(|length| (1..=1024 * 1024).contains(length)), "{parts:?}");
        let end = &frames[frames.len() - 2]["payload"]["metadata"];
        assert!(end["latency_ms"].is_u64(), "{end}");
    }
    process.kill();
}

fn missing(number: usize) -> String {
    format!("use file:read {{\"path\": \"missing{number}\"}}\n")
}

/// Fails eight calls, the last seven of them in a second turn, and returns the frames of that turn.
async fn lock(ui: &mut Ui) -> Vec<Value> {
    say(ui, &missing(0)).await;
    until_state(ui, "waiting_for_input").await;
    say(ui, &(1..8).map(missing).collect::<String>()).await;
    until_state(ui, "locked").await
}

#[tokio::test]
async fn a_lock_is_the_end_of_its_turn() {
    let gateway = Gateway::start().await;
    let mut ui = Ui::open(gateway.addr, "").await;
    let session = ui.session().to_owned();
    say(&mut ui, "sleep 1").await;
    let calls: String = (0..8).map(missing).collect();
    say(&mut ui, &calls).await;
    say(&mut ui, "this waits behind the calls").await;
    until_state(&mut ui, "waiting_for_input").await;
    let frames = until_state(&mut ui, "locked").await;
    let told: Vec<_> = frames.iter().map(brief).collect();
    assert_eq!(told.first(), Some(&"thinking"));
    assert_eq!(told.last_chunk(), Some(&["RUN_FAILED", "locked"]));
    assert!(!told.contains(&"waiting_for_input"), "{told:?}");
    // What waited is not answered.
    say(&mut ui, "hello").await;
    assert_eq!(brief(&ui.next().await), "LOCKED");
    say(&mut ui, "/reset").await;
    assert_eq!(brief(&ui.next().await), "waiting_for_input");
    // A client that comes later, after any of these frames, gets the same ones.
    for (at, frame) in frames.iter().enumerate() {
        let after = &frame["seq"];
        let mut late = Ui::open(gateway.addr, &format!("session={session}&after={after}")).await;
        for expected in &frames[at + 1..] {
            assert_eq!(late.next().await, *expected, "after {after}");
        }
        assert_eq!(brief(&late.next().await), "waiting_for_input", "after {after}");
        late.close().await;
    }
    gateway.stop().await;
}

async fn is_locked(ui: &mut Ui) {
    say(ui, "hello").await;
    assert_eq!(brief(&ui.next().await), "LOCKED");
    say(ui, "/status").await;
    let said = ui.next().await;
    assert!(said["payload"]["content"].as_str().unwrap().contains("/reset"), "{said}");
}

async fn answers(ui: &mut Ui) {
    say(ui, "hello").await;
    let frames = until_state(ui, "waiting_for_input").await;
    assert!(frames.iter().any(|frame| frame["payload"]["content"] == "echo: hello"), "{frames:?}");
}

#[tokio::test]
async fn a_lock_outlives_the_memory_of_its_session() {
    let gateway = Gateway::start_with(|config| {
        config.limits.idle_sessions = 0;
        config.limits.unload = Duration::from_millis(1);
    })
    .await;
    let mut ui = Ui::open(gateway.addr, "").await;
    let query = format!("session={}&history=0", ui.session());
    lock(&mut ui).await;
    ui.close().await;
    until_unloaded(gateway.addr).await;
    let mut ui = Ui::open(gateway.addr, &query).await;
    is_locked(&mut ui).await;
    say(&mut ui, "/reset").await;
    until_state(&mut ui, "waiting_for_input").await;
    ui.close().await;
    until_unloaded(gateway.addr).await;
    answers(&mut Ui::open(gateway.addr, &query).await).await;
    gateway.stop().await;
}

/// Waits until no session is in memory.
async fn until_unloaded(addr: SocketAddr) {
    let waiting = async {
        loop {
            let page = http::get("/metrics").local().send(addr).await.body;
            if page.lines().any(|line| line == "kakehashi_sessions 0") {
                return;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(PATIENCE, waiting).await.expect("the session stays in memory");
}

#[tokio::test]
async fn a_lock_outlives_the_gateway() {
    let home = Home::new();
    let process = Process::start(&home, "");
    let mut ui = Ui::open(process.addr, "").await;
    let query = format!("session={}&history=0", ui.session());
    lock(&mut ui).await;
    process.kill();
    let process = Process::start(&home, "");
    let mut ui = Ui::open(process.addr, &query).await;
    is_locked(&mut ui).await;
    say(&mut ui, "/reset").await;
    until_state(&mut ui, "waiting_for_input").await;
    process.kill();
    let process = Process::start(&home, "");
    answers(&mut Ui::open(process.addr, &query).await).await;
    process.kill();
}

/// The first frame of a stream of events.
async fn first_event(addr: SocketAddr, query: &str, last: Option<u64>) -> Value {
    let mut stream = TcpStream::connect(addr).await.unwrap();
    let last = last.map_or(String::new(), |seq| format!("Last-Event-ID: {seq}\r\n"));
    let head = format!(
        "GET /core-ui/events?{query} HTTP/1.1\r\nHost: {addr}\r\nAuthorization: Bearer {TOKEN}\r\n{last}\r\n"
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut lines = BufReader::new(stream).lines();
    loop {
        let line = lines.next_line().await.unwrap().unwrap();
        if let Some(data) = line.strip_prefix("data: ") {
            return serde_json::from_str(data).unwrap();
        }
    }
}

/// The history begins anew for a client that names a frame which it does not have, on every way in.
#[tokio::test]
async fn a_frame_beyond_the_end_is_unknown() {
    let gateway = Gateway::start().await;
    let addr = gateway.addr;
    let mut ui = Ui::open(addr, "").await;
    say(&mut ui, "hello").await;
    let frames = until_state(&mut ui, "waiting_for_input").await;
    let end = frames.last().unwrap()["seq"].as_u64().unwrap();
    // Each event has room for eight frames, and the last one is the answer.
    let beyond = (end / 8 + 1) * 8;
    for (after, resumed) in
        [(end, true), (beyond, false), (beyond + 8, false), (beyond + 16, false)]
    {
        let query = format!("session={}&after={after}", ui.session());
        let mut socket = Ui::open(addr, &query).await;
        assert_eq!(socket.init["payload"]["resumed"], resumed, "{after}");
        if !resumed {
            assert_eq!(socket.next().await, frames[0], "{after}");
        }
        socket.close().await;
        let own = format!("session={}", ui.session());
        for (query, last) in [(&query, None), (&own, Some(after))] {
            let first = first_event(addr, query, last).await;
            assert_eq!(first["payload"]["resumed"], resumed, "{after}: {first}");
        }
        if !resumed {
            let path = format!("/core-ui/poll?{query}");
            let polled = http::get(&path).local().send(addr).await.json();
            assert_eq!(polled["frames"][0]["payload"]["resumed"], false, "{polled}");
            assert_eq!(polled["frames"].as_array().unwrap()[1..], frames, "{after}");
        }
    }
    gateway.stop().await;
}

/// Reads a WebSocket by hand: nobody answers its pings.
async fn opcode(stream: &mut BufReader<TcpStream>) -> (u8, Vec<u8>) {
    use tokio::io::AsyncReadExt;
    let head = stream.read_u8().await.unwrap();
    let length = match stream.read_u8().await.unwrap() {
        126 => usize::from(stream.read_u16().await.unwrap()),
        short => usize::from(short),
    };
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await.unwrap();
    (head & 0x0f, body)
}

const CLOSE: u8 = 8;
const PING: u8 = 9;

/// Two pings may stay without an answer. The connection ends when the third would be due, and a pong begins the count
/// anew.
#[tokio::test]
async fn a_silent_page_is_given_up_at_the_third_ping() {
    let gateway =
        Gateway::start_with(|config| config.limits.ping = Duration::from_millis(300)).await;
    let mut stream = TcpStream::connect(gateway.addr).await.unwrap();
    let head = format!(
        "GET /core-ui/ws?form=agent_event&token={TOKEN} HTTP/1.1\r\nHost: {}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n",
        gateway.addr
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut stream = BufReader::new(stream);
    let mut line = String::new();
    while line != "\r\n" {
        line.clear();
        stream.read_line(&mut line).await.unwrap();
    }
    let mut next = async |answer: bool| loop {
        let (code, body) = opcode(&mut stream).await;
        if code == PING && answer {
            // An empty pong, masked with zeros.
            stream.write_all(&[0x8a, 0x80, 0, 0, 0, 0]).await.unwrap();
        }
        if code == PING || code == CLOSE {
            return (code, body);
        }
    };
    for answer in [false, true, false] {
        assert_eq!(next(answer).await.0, PING);
    }
    assert_eq!(next(false).await.0, PING);
    let (code, body) = next(false).await;
    assert_eq!((code, u16::from_be_bytes([body[0], body[1]])), (CLOSE, 3003));
    gateway.stop().await;
}
