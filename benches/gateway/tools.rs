//! Tools of the chat, and the core/UI interface beside AIコア.

use crate::Plan;
use crate::client::{Client, frame};
use crate::report::{Of, Report, Row, Target, median, ratio};
use crate::server::{Home, Server};
use crate::wire;
use kakehashi::process::{Launcher, Place};
use kakehashi::tool::{self, Context, Output, OutputClosed, Workplace};
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

/// Calls of the longer of two texts; one call is their difference.
const CALLS: usize = 21;
const CALL: &str = r#"use file:read {"path": "a.txt"}"#;

/// Sessions that stream at the same time, and words of each answer.
const SESSIONS: usize = 200;
const WORDS: usize = 300;

/// What the gate, the audit and the events add to a call that nobody is asked about.
pub(crate) async fn gated_call(plan: &Plan, report: &mut Report) {
    let home = Home::new();
    let server = Server::gateway(&home);
    std::fs::write(home.project().join("a.txt"), "one line\n").unwrap();
    let mut client = Client::core_ui(&server, "").await;
    let place = Workplace::new(&home.project(), &[]);
    let (mut through, mut alone) = (Vec::new(), Vec::new());
    for _ in 0..plan.answers {
        let one = turn(&mut client, 1).await;
        let many = turn(&mut client, CALLS).await;
        through.push(many.saturating_sub(one).as_secs_f64() * 1e3 / (CALLS - 1) as f64);
        alone.push(by_itself(&home, &place).await.as_secs_f64() * 1e3);
    }
    let (through, alone) = (median(through), median(alone));
    report.add(&Row {
        what: "gated tool call, added to the tool itself",
        unit: "ms",
        gateway: through - alone,
        against: Some(("tool alone", alone)),
        result: Of::Figure,
        targets: vec![Target::AtMost(1.0)],
        how: format!(
            "(a text with {CALLS} calls of file:read less one with 1) / {} = {through:.2} ms, less the tool alone; medians of {}",
            CALLS - 1,
            plan.answers
        ),
    });
}

async fn turn(client: &mut Client, calls: usize) -> Duration {
    let text = vec![CALL; calls].join("\n");
    let begun = Instant::now();
    client.send(&frame(&say(&text))).await;
    client.receive_text_with("waiting_for_input").await;
    begun.elapsed()
}

fn say(text: &str) -> String {
    serde_json::json!({"type": "submitUserInput", "payload": {"text": text}}).to_string()
}

struct Silent;

impl Output for Silent {
    async fn print(&self, _: &str) -> Result<(), OutputClosed> {
        Ok(())
    }
}

async fn by_itself(home: &Home, place: &Workplace) -> Duration {
    let read = tool::find("file:read").unwrap();
    let context = Context {
        workplace: place.clone(),
        launcher: Launcher {
            supervisor: "kakehashi".into(),
            owner: "bench".into(),
            variables: Vec::new(),
        },
        place: Place::open(home.project()),
        longest: None,
        memory: None,
        stop: CancellationToken::new(),
        kill_now: CancellationToken::new(),
    };
    let begun = Instant::now();
    let call = read.prepare(place, r#"{"path": "a.txt"}"#).unwrap();
    call.run(&context, &Silent).await.unwrap().unwrap();
    begun.elapsed()
}

/// CPU of the gateway for the same answers, streamed to many sessions in either dialect.
pub(crate) async fn streams(plan: &Plan, report: &mut Report) {
    let home = Home::new();
    let server = Server::gateway(&home);
    let words = vec!["word"; WORDS].join(" ");
    let mut pages = Vec::new();
    for _ in 0..SESSIONS {
        let (input, session) = Client::join(&server, "input", None).await;
        let mut chat = Client::connect_with(&server, "0", Some(&session), wire::STREAM).await;
        chat.receive_kind("welcome_text").await;
        pages.push((input, chat));
    }
    let mut uis = Vec::new();
    for _ in 0..SESSIONS {
        uis.push(Client::core_ui(&server, "features=deltas").await);
    }
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..plan.rounds {
        let before = server.cpu();
        for (input, _) in &mut pages {
            input.send(&frame(&wire::text("0", &words))).await;
        }
        let mut events = 0;
        for (_, chat) in &mut pages {
            events += chat.receive_kind("output_text").await.1 + 1;
        }
        theirs.push(per_event(server.cpu().since(&before), events));
        let before = server.cpu();
        for ui in &mut uis {
            ui.send(&frame(&say(&words))).await;
        }
        let mut events = 0;
        for ui in &mut uis {
            events += count_until(ui, "waiting_for_input").await;
        }
        ours.push(per_event(server.cpu().since(&before), events));
    }
    report.add(&Row {
        what: "CPU per event, 200 core/UI sessions",
        unit: "us",
        gateway: median(ours.clone()),
        against: Some(("AIcore", median(theirs.clone()))),
        result: Of::Ratio(ratio(&ours, &theirs)),
        targets: vec![Target::AtMost(1.2)],
        how: format!(
            "{SESSIONS} sessions stream the same {WORDS} words in either dialect of one gateway; medians of {} rounds",
            plan.rounds
        ),
    });
}

fn per_event(cpu: Duration, events: usize) -> f64 {
    cpu.as_secs_f64() * 1e6 / events as f64
}

async fn count_until(client: &mut Client, part: &str) -> usize {
    let mut count = 1;
    while !client.receive_text().await.contains(part) {
        count += 1;
    }
    count
}
