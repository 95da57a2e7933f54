//! Conversations: many microphones and speakers in real time, how many there can be, and for how long.

use crate::client::{Client, frame};
use crate::paced::{self, Pair};
use crate::report::{Of, Report, Row, Target};
use crate::server::{Home, Server};
use crate::side::{PACE, Side};
use crate::{Plan, wire};
use std::sync::Arc;
use std::time::Duration;

/// Samples of 40 ms at 24 kHz, in bytes: what a microphone really sends so often.
const PCM_BYTES: usize = 1920;
/// The first sessions pay for what all share.
const FIRST: usize = 30;
const MEASURED: usize = 100;
const REST: Duration = Duration::from_millis(700);
/// A delay that people begin to hear.
const AUDIBLE_MS: f64 = 20.0;
/// More are tried up to here.
const MOST_SESSIONS: usize = 4000;
/// Packets of each session by which it is judged.
const LOOK: usize = 3 * PACE as usize;
const SOAKED_SESSIONS: usize = 100;

fn packet() -> Arc<[u8]> {
    frame(&wire::quiet_audio_of(PCM_BYTES)).into()
}

pub(crate) async fn conversations(plan: &Plan, report: &mut Report) {
    let home = Home::new();
    let mut pair = Pair::new(&home).await;
    paced::compare(plan, &packet(), &mut pair, report).await;
    let Pair { mut gateway, .. } = pair;
    let pace = gateway.paced(&packet(), LOOK).await;
    report.add(&Row {
        what: "CPU per session in a conversation",
        unit: "ms/s",
        gateway: pace.cpu * f64::from(PACE) / 1e3,
        against: None,
        result: Of::Figure,
        targets: Vec::new(),
        how: format!("{} sessions that speak and hear in real time", gateway.clients.len()),
    });
}

/// What one more conversation keeps in memory: sockets `audio` and `0`, its model, sound on its way.
pub(crate) async fn memory(report: &mut Report) {
    let home = Home::new();
    let mut side = Side::new(Server::gateway(&home), 0).await;
    let mut captions = Vec::new();
    let mut before = 0.0;
    for index in 0..FIRST + MEASURED {
        if index == FIRST {
            side.paced(&packet(), PACE as usize).await;
            tokio::time::sleep(REST).await;
            before = side.server.memory_kib();
        }
        let (audio, session) = Client::join(&side.server, "audio", None).await;
        captions.push(Client::connect(&side.server, "0", Some(&session)).await);
        side.clients.push(audio);
    }
    side.paced(&packet(), PACE as usize * 2).await;
    tokio::time::sleep(REST).await;
    report.add(&Row {
        what: "memory of a session in a conversation",
        unit: "KiB",
        gateway: (side.server.memory_kib() - before) / MEASURED as f64,
        against: None,
        result: Of::Figure,
        targets: vec![Target::AtMost(200.0)],
        how: format!("growth by {MEASURED} sessions with sockets audio and 0 after 2 s of talk"),
    });
}

/// How many can talk at the same time before people would hear it.
pub(crate) async fn capacity(report: &mut Report) {
    let home = Home::new();
    let mut side = Side::new(Server::gateway(&home), paced::SESSIONS).await;
    let (mut fine, mut seen) = (0, Vec::new());
    while side.clients.len() <= MOST_SESSIONS {
        // Their first packets open their models.
        side.paced(&packet(), PACE as usize).await;
        let pace = side.paced(&packet(), LOOK).await;
        seen.push(format!("{}: {:.1} ms", side.clients.len(), pace.p99_ms));
        if pace.p99_ms > AUDIBLE_MS {
            break;
        }
        fine = side.clients.len();
        for _ in 0..fine / 2 {
            side.clients.push(Client::connect(&side.server, "audio", None).await);
        }
    }
    report.add(&Row {
        what: "sessions with a p99 below 20 ms",
        unit: "",
        gateway: fine as f64,
        against: None,
        result: Of::Figure,
        targets: Vec::new(),
        how: format!(
            "the client shares the machine and its limit is ours; p99 at {}",
            seen.join(", ")
        ),
    });
}

/// Talks for so many minutes in real time and looks every minute.
pub(crate) async fn soak(minutes: usize, report: &mut Report) {
    let home = Home::new();
    let mut side = Side::new(Server::gateway(&home), SOAKED_SESSIONS).await;
    let packet = packet();
    let (mut middle, mut last, mut worst) = (0.0, 0.0, 0.0_f64);
    for minute in 1..=minutes {
        let pace = side.paced(&packet, PACE as usize * 60).await;
        last = side.server.memory_kib();
        // Until then heaps find their size; what leaks goes on growing.
        if minute <= minutes.div_ceil(2) {
            middle = last;
        }
        worst = worst.max(pace.p99_ms);
        println!(
            "    minute {minute}: p50 {:.2} ms, p99 {:.2} ms, {:.0} KiB, {:.1} us/packet",
            pace.p50_ms, pace.p99_ms, last, pace.cpu
        );
    }
    let how = format!(
        "{SOAKED_SESSIONS} sessions, {PACE} packets/s each way for {minutes} minutes, every packet answered; worst p99 of a minute {worst:.2} ms"
    );
    report.add(&Row {
        what: "growth of memory in the second half",
        unit: "KiB",
        gateway: last - middle,
        against: None,
        result: Of::Figure,
        targets: vec![Target::AtMost(2048.0)],
        how,
    });
}
