//! Sockets that do not read: they cost their session, the others and the memory nothing, and miss nothing.

use crate::process::Process;
use crate::rawsocket::{Heard, Socket, attach, hear, packet};
use crate::support::{
    BODY, CHANNEL, Client, EPOCH, Frontend, Gateway, Home, KIND, PATIENCE, RESUMED, SEQ, eventually,
};
use futures_util::StreamExt;
use serde_json::{Value, json};
use std::time::{Duration, Instant};
use tokio::time::{sleep, timeout};
use tokio_tungstenite::tungstenite::Message;

/// What the whole gateway may need more while a socket does not read.
const MEMORY_BOUND_KIB: u64 = 64 * 1024;
/// Round trips of others take milliseconds; this only tells a loaded machine from a blocked gateway.
const PROMPT: Duration = Duration::from_secs(10);

/// The real binary, because its memory is not shared with other tests. Its patience is longer than the test, so
/// the stalled socket is there from the first line to the last.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stalled_socket_holds_up_nobody_and_costs_no_memory() {
    const LINES: u64 = 200_000;
    let home = Home::new();
    let process = Process::start(&home, "[limits]\nwrite_seconds = 300\nping_seconds = 300\n");
    let mut front = Frontend::open(process.addr, None).await;
    let mut other = Frontend::open(process.addr, None).await;
    let (_, mut stalled) = attach(process.addr, "1", Some(front.session()), json!({})).await;
    until_welcome(&mut stalled).await;
    front.type_in("1", "stream 2000").await;
    front.agents[0].until("output_text").await;
    let before = process.memory("VmRSS");
    // Long lines: kept in memory they would be far over the bound.
    let padding = "x".repeat(300);
    front.type_in("1", &format!("run seq -f 'line %.0f {padding}' {LINES}")).await;
    let mut pane = front.agents.remove(0);
    let reading = tokio::spawn(async move {
        let mut lines = Lines::new(1, LINES);
        while !lines.take(&pane.next().await) {}
    });
    // While it streams, another pane of the same session and another session are answered at once.
    let mut rounds = Vec::new();
    while !reading.is_finished() {
        let began = Instant::now();
        front.type_in("2", "say aside").await;
        front.agents[0].until_where(|packet| packet[BODY] == "aside").await;
        other.type_in("0", "hello").await;
        other.chat.until_where(|packet| packet[BODY] == "echo: hello").await;
        rounds.push(began.elapsed());
    }
    reading.await.unwrap();
    rounds.sort();
    let usual = rounds[rounds.len() / 2];
    assert!(rounds.len() > 3 && usual < PROMPT, "{} rounds, usually {usual:?}", rounds.len());
    let grown = process.memory("VmHWM").saturating_sub(before);
    assert!(grown < MEMORY_BOUND_KIB, "{grown} KiB more");
    // It was only slow: as soon as it reads on, everything is there, once and in order.
    let mut lines = Lines::new(1, 2000);
    while !lines.take(&packet(&mut stalled).await) {}
    let mut lines = Lines::new(1, LINES);
    while !lines.take(&packet(&mut stalled).await) {}
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_socket_beyond_the_write_deadline_is_cut_and_resumes_exactly() {
    const LINES: u64 = 60_000;
    let home = Home::new();
    let process = Process::start(&home, "[limits]\nwrite_seconds = 3\n");
    let mut front = Frontend::open(process.addr, None).await;
    let id = front.session().to_owned();
    let (init, mut stalled) = attach(process.addr, "1", Some(&id), json!({})).await;
    until_welcome(&mut stalled).await;
    let sockets = "kakehashi_sockets{channel=\"1\"}";
    assert_eq!(process.metric(sockets), 2);
    front.type_in("1", &format!("stream {LINES}")).await;
    let mut whole = Vec::new();
    let mut lines = Lines::new(1, LINES);
    loop {
        let packet = front.agents[0].next().await;
        let last = lines.take(&packet);
        whole.push(packet);
        if last {
            break;
        }
    }
    eventually(|| process.metric(sockets) == 1).await;
    let mut got = Vec::new();
    while let Heard::Packet(packet) = hear(&mut stalled).await {
        got.push(packet);
    }
    assert!(!got.is_empty() && got.len() < whole.len(), "{} of {}", got.len(), whole.len());
    let cursor = json!({EPOCH: init[EPOCH], "最終連番": got.last().unwrap()[SEQ]});
    let (init, mut resumed) = attach(process.addr, "1", Some(&id), cursor).await;
    assert_eq!(init[RESUMED], true);
    while got.len() < whole.len() {
        got.push(packet(&mut resumed).await);
    }
    assert!(got == whole, "the resumed socket saw something else than the one that was never away");
}

#[tokio::test]
async fn a_pause_within_the_deadline_loses_nothing() {
    const LINES: u64 = 30_000;
    let gateway = Gateway::start_with(|config| config.limits.write = Duration::from_secs(20)).await;
    let mut input = Client::open(gateway.addr, "input", None).await;
    let (_, mut pane) = attach(gateway.addr, "1", Some(input.session()), json!({})).await;
    until_welcome(&mut pane).await;
    let text = format!("stream {LINES}");
    input.send(&json!({CHANNEL: "1", KIND: "input_text", BODY: text})).await;
    let mut lines = Lines::new(1, LINES);
    let mut taken = 0;
    while !lines.take(&packet(&mut pane).await) {
        taken += 1;
        if taken % 5000 == 0 {
            sleep(Duration::from_millis(200)).await;
        }
    }
}

/// While the gateway waits for the network it asks nobody, so nobody can have failed to answer.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pause_longer_than_two_pings_is_not_taken_for_death() {
    let gateway = Gateway::start().await;
    let mut front = Frontend::open(gateway.addr, None).await;
    let id = front.session().to_owned();
    let long = "x".repeat(900_000);
    for _ in 0..4 {
        front.type_in("1", &long).await;
        front.agents[0].until("output_text").await;
    }
    let home = gateway.stop().await;
    let gateway = Gateway::start_at(home, |config| {
        config.limits.write = Duration::from_secs(3600);
        config.limits.ping = Duration::from_secs(3);
    })
    .await;
    // The history is more than the network takes at once, so the gateway waits in the middle of it.
    let (_, mut pane) = attach(gateway.addr, "1", Some(&id), json!({})).await;
    let (_, mut other) = attach(gateway.addr, "0", Some(&id), json!({})).await;
    let mut pings = 0;
    while pings < 3 {
        let message = timeout(PATIENCE, other.next()).await.expect("no ping in time");
        pings += usize::from(matches!(message, Some(Ok(Message::Ping(_)))));
    }
    let mut lines = 0;
    while packet(&mut pane).await[KIND] != "welcome_text" {
        lines += 1;
    }
    assert!(lines > 4 * 4, "{lines}");
}

async fn until_welcome(socket: &mut Socket) {
    while packet(socket).await[KIND] != "welcome_text" {}
}

/// Checks that the lines of a stream come once and in order.
struct Lines {
    next: u64,
    last: u64,
    seq: u64,
}

impl Lines {
    fn new(next: u64, last: u64) -> Self {
        Self { next, last, seq: 0 }
    }

    /// True when the run is over; every line must have come by then.
    fn take(&mut self, packet: &Value) -> bool {
        let seq = packet[SEQ].as_u64().unwrap_or_else(|| panic!("{packet}"));
        assert!(seq > self.seq, "{packet} after {}", self.seq);
        self.seq = seq;
        let line = packet[BODY].as_str().and_then(|text| text.strip_prefix("line "));
        if let Some(line) = line {
            assert_eq!(line.split(' ').next().unwrap().parse(), Ok(self.next));
            self.next += 1;
        }
        let over = packet[KIND] == "output_text";
        assert!(!over || self.next == self.last + 1, "ended before line {}", self.next);
        over
    }
}
