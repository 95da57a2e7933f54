//! Sessions at work: commits, streams, replays, answers and interruptions.

use crate::client::{Client, frame};
use crate::report::{Of, Report, Row, Target, median};
use crate::server::{Home, Server};
use crate::{Plan, wire};
use std::time::{Duration, Instant};
use tokio::time::timeout;

const SESSIONS: usize = 50;
const WINDOW: usize = 8;
/// Lines of progress, each one numbered, stored packet.
const LINES: usize = 10_000;

pub(crate) async fn commits(plan: &Plan, report: &mut Report) {
    let home = Home::new();
    let server = Server::gateway(&home);
    let mut inputs = Vec::new();
    for _ in 0..SESSIONS {
        let mut input = Client::connect(&server, "input", None).await;
        input.receive_kind("welcome_text").await;
        inputs.push(input);
    }
    let (begun, each) = (Instant::now(), plan.commands);
    let tasks: Vec<_> =
        inputs.into_iter().map(|input| tokio::spawn(send_numbered(input, each))).collect();
    for task in tasks {
        task.await.unwrap();
    }
    report.add(&figure(
        "numbered commands acknowledged per second",
        "/s",
        (SESSIONS * each) as f64 / begun.elapsed().as_secs_f64(),
        format!(
            "acks, each after its commit; {SESSIONS} sessions with {each} commands each, {WINDOW} of each unacknowledged"
        ),
    ));
}

async fn send_numbered(mut input: Client, count: usize) {
    for number in 0..count + WINDOW {
        if number < count {
            input.send(&frame(&wire::numbered(number))).await;
        }
        if number >= WINDOW {
            input.receive_kind("ack").await;
        }
    }
}

pub(crate) async fn stream_and_replay(plan: &Plan, report: &mut Report) {
    let home = Home::new();
    let server = Server::gateway(&home);
    let (mut input, session) = Client::join(&server, "input", None).await;
    let mut agent = Client::connect(&server, "1", Some(&session)).await;
    agent.receive_kind("welcome_text").await;
    let begun = Instant::now();
    input.send(&frame(&wire::text("1", &format!("stream {LINES}")))).await;
    let (_, events) = agent.receive_kind("output_text").await;
    report.add(&figure(
        "events per second of one streaming agent",
        "/s",
        events as f64 / begun.elapsed().as_secs_f64(),
        format!("numbered packets, stored and then received on one socket; {events} of them"),
    ));
    let mut rates = Vec::new();
    for _ in 0..plan.replays {
        let begun = Instant::now();
        let mut late = Client::connect(&server, "1", Some(&session)).await;
        let (_, packets) = late.receive_kind("welcome_text").await;
        assert!(packets >= LINES, "only {packets} packets came back");
        rates.push(packets as f64 / begun.elapsed().as_secs_f64());
    }
    report.add(&figure(
        "history replay, packets per second",
        "/s",
        median(rates),
        format!(
            "stored packets received by one new socket from its connect on, {LINES} lines of progress; median of {}",
            plan.replays
        ),
    ));
}

/// A figure without a target, to be compared with itself over time.
fn figure(what: &'static str, unit: &'static str, gateway: f64, how: String) -> Row {
    Row { what, unit, gateway, against: None, result: Of::Figure, targets: Vec::new(), how }
}

pub(crate) async fn barge_in(report: &mut Report) {
    let home = Home::new();
    let server = Server::gateway(&home);
    let (mut audio, session) = Client::join(&server, "audio", None).await;
    let mut input = Client::connect(&server, "input", Some(&session)).await;
    input.send(&frame(&wire::live_text(&"a long answer ".repeat(20)))).await;
    audio.receive_kind("output_audio").await;
    let loud = frame(&wire::loud_audio());
    let begun = Instant::now();
    let mut sent = 0;
    loop {
        audio.send(&loud).await;
        sent += 1;
        if timeout(Duration::from_millis(85), audio.receive_kind("cancel_audio")).await.is_ok() {
            break;
        }
        assert!(sent < 50, "the model cannot be interrupted");
    }
    report.add(&Row {
        what: "speech start to playback stopped (barge-in)",
        unit: "packets",
        gateway: f64::from(sent),
        against: None,
        result: Of::Figure,
        targets: vec![Target::AtMost(1.0)],
        how: format!(
            "loud microphone packets until cancel_audio is back, which took {:.2} ms",
            begun.elapsed().as_secs_f64() * 1e3
        ),
    });
}

pub(crate) async fn first_answer(plan: &Plan, report: &mut Report) {
    let home = Home::new();
    let server = Server::gateway(&home);
    let (mut input, session) = Client::join(&server, "input", None).await;
    let mut chat = Client::connect(&server, "0", Some(&session)).await;
    chat.receive_kind("welcome_text").await;
    let mut times = Vec::new();
    for _ in 0..plan.answers {
        let begun = Instant::now();
        input.send(&frame(&wire::text("0", "hello"))).await;
        chat.receive_kind("output_text").await;
        times.push(begun.elapsed().as_secs_f64() * 1e3);
    }
    report.add(&Row {
        what: "first token: text in to answer out",
        unit: "ms",
        gateway: median(times),
        against: None,
        result: Of::Figure,
        targets: vec![Target::AtMost(2.0)],
        how: format!(
            "added to a model that answers at once (scripted chat), two commits and the network included; median of {}",
            plan.answers
        ),
    });
}
