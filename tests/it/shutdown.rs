//! The real binary at its ends: told to stop under load, with children, and without file descriptors.

use crate::process::Process;
use crate::rawsocket::{Heard, Socket, attach, hear, packet};
use crate::support::{
    BODY, CHANNEL, Client, Frontend, Home, KIND, PATIENCE, SEQ, SESSION, SOCKET_PATH, TOKEN,
    eventually,
};
use futures_util::SinkExt;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::time::{Duration, Instant};
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio::time::{sleep, timeout};
use tokio_tungstenite::tungstenite::Message;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_end_under_load_tells_everybody_and_loses_nothing() {
    let home = Home::new();
    let process = Process::start(&home, "");
    let (mut inputs, mut sockets) = (Vec::new(), Vec::new());
    let (ready, mut streaming) = mpsc::channel(8);
    for _ in 0..2 {
        let mut input = Client::open(process.addr, "input", None).await;
        let id = input.session().to_owned();
        for name in ["audio", "file", "0", "1", "2", "3", "4"] {
            let (_, socket) = attach(process.addr, name, Some(&id), json!({})).await;
            sockets.push(tokio::spawn(follow(name, id.clone(), socket, ready.clone())));
        }
        for name in ["1", "4"] {
            input.send(&json!({CHANNEL: name, KIND: "input_text", BODY: "stream 1000000"})).await;
        }
        inputs.push(input);
    }
    for _ in 0..4 {
        timeout(PATIENCE, streaming.recv()).await.unwrap();
    }
    let told = Instant::now();
    let (code, took) = tokio::task::spawn_blocking(move || process.end(told)).await.unwrap();
    assert_eq!(code, Some(0));
    assert!(took < Duration::from_secs(50), "{took:?}");
    let mut hints = BTreeSet::new();
    let mut seen = Vec::new();
    for socket in sockets {
        let story = socket.await.unwrap();
        assert!(story.told, "no notice on {}", story.channel);
        let (code, reason) = story.close.unwrap_or_else(|| panic!("{}: no close", story.channel));
        assert_eq!(code, 3001, "{}", story.channel);
        let wait = reason.strip_prefix("retry in ").and_then(|rest| rest.strip_suffix(" ms"));
        hints.insert(wait.unwrap().parse::<u64>().unwrap());
        seen.push((story.channel, story.session, story.logged));
    }
    assert!(hints.len() > 7 && hints.iter().all(|wait| *wait <= 3000), "{hints:?}");
    let process = Process::start(&home, "");
    for (channel, session, logged) in seen {
        check_kept(process.addr, channel, &session, &logged).await;
    }
}

/// Every packet that was delivered is there again; a run is told to be cut off behind them.
async fn check_kept(addr: SocketAddr, channel: &'static str, session: &str, delivered: &[Value]) {
    if delivered.is_empty() {
        return;
    }
    let (_, mut socket) = attach(addr, channel, Some(session), json!({})).await;
    let mut replayed = Vec::new();
    let last = loop {
        let packet = packet(&mut socket).await;
        if packet.get(SEQ).is_none() {
            continue;
        }
        let text = packet[BODY].as_str().unwrap_or_default();
        if packet[KIND] == "output_text" && text.ends_with("stream 1000000") {
            break replayed.pop().unwrap();
        }
        replayed.push(packet);
    };
    assert!(replayed.starts_with(delivered), "channel {channel} lost something");
    assert_eq!((&last[KIND], &last[BODY]), (&json!("output_stream"), &json!("<<< 処理中断 >>>")));
}

struct Story {
    channel: &'static str,
    session: String,
    logged: Vec<Value>,
    told: bool,
    close: Option<(u16, String)>,
}

/// Reads a socket to its end, and says when enough has come to call it a load.
async fn follow(
    channel: &'static str,
    session: String,
    mut socket: Socket,
    ready: mpsc::Sender<()>,
) -> Story {
    let mut story = Story { channel, session, logged: Vec::new(), told: false, close: None };
    loop {
        match hear(&mut socket).await {
            Heard::Packet(packet) => {
                story.told |= packet[KIND] == "system_info";
                if packet.get(SEQ).is_some() {
                    story.logged.push(packet);
                    if story.logged.len() == 200 {
                        ready.send(()).await.unwrap();
                    }
                }
            }
            Heard::Closed(code, reason) => {
                story.close = Some((code, reason));
                return story;
            }
            Heard::Gone => return story,
        }
    }
}

#[tokio::test]
async fn what_agents_started_ends_with_the_gateway() {
    let home = Home::new();
    let process = Process::start(&home, "");
    let mut front = Frontend::open(process.addr, None).await;
    let mark = format!("1000.{}", std::process::id());
    front.type_in("1", &format!("run sleep {mark}")).await;
    front.type_in("2", &format!("run setsid sleep {mark} & trap '' TERM; sleep {mark}")).await;
    eventually(|| count(&mark) == 3).await;
    // They would run for a quarter of an hour, and one of them does not mind TERM.
    assert_eq!(process.end(Instant::now()).0, Some(0));
    // They are killed; a busy machine takes a moment to forget them.
    eventually(|| count(&mark) == 0).await;
}

#[tokio::test]
async fn without_descriptors_old_sockets_work_and_new_ones_wait() {
    let home = Home::new();
    let settings = "[limits]\nsockets_per_channel = 1000\nsockets_per_principal = 1000\n";
    let process = Process::start_under(&home, "ulimit -n 64; exec \"$0\" \"$@\"", settings);
    let mut front = Frontend::open(process.addr, None).await;
    // The lookup of a request number opens what it needs, before there is nothing left to open.
    numbered(&mut front, "before").await;
    let id = front.session().to_owned();
    let mut crowd = Vec::new();
    // One connection more than there are descriptors waits until there is one.
    let descriptors = format!("/proc/{}/fd", process.pid());
    let all_taken = || std::fs::read_dir(&descriptors).unwrap().count() >= 64;
    loop {
        let name = ["0", "1", "2", "3", "4"][crowd.len() % 5];
        let attached = try_attach(process.addr, name, &id);
        tokio::select! {
            biased;
            socket = attached => match socket {
                Some(socket) => crowd.push(socket),
                None => break,
            },
            () = eventually(all_taken) => break,
        }
        assert!(crowd.len() < 60, "there is no limit");
    }
    assert!(crowd.len() > 5, "only {} sockets", crowd.len());
    numbered(&mut front, "meanwhile").await;
    crowd.truncate(crowd.len() - 5);
    let retry = async {
        while timeout(Duration::from_secs(2), try_attach(process.addr, "0", &id))
            .await
            .is_ok_and(|socket| socket.is_none())
        {
            sleep(Duration::from_millis(50)).await;
        }
    };
    timeout(PATIENCE, retry).await.expect("no socket after others were closed");
    numbered(&mut front, "after").await;
    assert_eq!(process.end(Instant::now()).0, Some(0));
}

/// A command that is acknowledged and answered.
async fn numbered(front: &mut Frontend, word: &str) {
    let packet = json!({CHANNEL: "0", "送信モード": "Chat", KIND: "input_text", BODY: word, "要求番号": word});
    front.input.send(&packet).await;
    assert_eq!(front.input.until("ack").await["要求番号"], word);
    let answer = format!("echo: {word}");
    front.chat.until_where(|packet| packet[BODY] == answer.as_str()).await;
}

/// `None`: refused or cut off.
async fn try_attach(addr: SocketAddr, name: &str, session: &str) -> Option<Socket> {
    let stream = TcpStream::connect(addr).await.ok()?;
    let url = format!("ws://{addr}{SOCKET_PATH}");
    let (mut socket, _) = tokio_tungstenite::client_async(url, stream).await.ok()?;
    let connect =
        json!({"type": "connect", SESSION: session, "ソケット番号": name, "トークン": TOKEN});
    socket.send(Message::text(connect.to_string())).await.ok()?;
    match hear(&mut socket).await {
        Heard::Packet(packet) if packet[KIND] == "init" => Some(socket),
        Heard::Packet(_) | Heard::Closed(..) | Heard::Gone => None,
    }
}

fn count(word: &str) -> usize {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let lines = processes.filter_map(|process| std::fs::read(process.path().join("cmdline")).ok());
    let has = |line: &Vec<u8>| {
        line.starts_with(b"sleep\0")
            && line.split(|byte| *byte == 0).any(|arg| arg == word.as_bytes())
    };
    lines.filter(has).count()
}
