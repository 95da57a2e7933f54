//! What connections and idle sessions keep in memory, as the growth of a process by many of them.

use crate::client::{Client, frame};
use crate::report::{Of, Report, Row, Target};
use crate::server::{Home, Server};
use crate::{Plan, wire};
use std::time::Duration;

const CHANNELS: [&str; 8] = ["audio", "input", "file", "0", "1", "2", "3", "4"];
/// The first ones pay for what all share: threads, pages of the allocator, code.
const FIRST: usize = 30;
const PACKETS: usize = 50;
/// Until sockets and sessions have come to rest.
const REST: Duration = Duration::from_millis(700);

pub(crate) async fn per_socket(plan: &Plan, report: &mut Report) {
    let home = Home::new();
    let echo = after_traffic(&Server::echo(), plan.sockets).await;
    let gateway = after_traffic(&Server::gateway(&home), plan.sockets).await;
    report.add(&Row {
        what: "memory per attached socket after traffic",
        unit: "KiB",
        gateway,
        against: Some(("echo", echo)),
        result: Of::Ratio(gateway / echo),
        targets: vec![Target::AtMost(1.5)],
        how: format!(
            "growth by {} audio sockets that carried {PACKETS} packets each; their sessions and live models were there before",
            plan.sockets
        ),
    });
}

async fn after_traffic(server: &Server, sockets: usize) -> f64 {
    let mut sessions = Vec::new();
    if server.is_gateway {
        for _ in 0..FIRST + sockets {
            let (mut input, session) = Client::join(server, "input", None).await;
            // Opens the live model, which would otherwise be counted as part of the first audio socket.
            input.send(&frame(&wire::live_text("hello"))).await;
            sessions.push((input, session));
        }
        tokio::time::sleep(REST).await;
    }
    let packet = frame(&wire::quiet_audio());
    let mut open = Vec::new();
    let mut before = 0.0;
    for index in 0..FIRST + sockets {
        if index == FIRST {
            tokio::time::sleep(REST).await;
            before = server.memory_kib();
        }
        let session = sessions.get(index).map(|(_, session)| session.as_str());
        let client = Client::connect(server, "audio", session).await;
        open.push(client.talk(&packet, PACKETS, 4).await);
    }
    tokio::time::sleep(REST).await;
    (server.memory_kib() - before) / sockets as f64
}

pub(crate) async fn idle_session(plan: &Plan, report: &mut Report) {
    let home = Home::new();
    let server = Server::gateway(&home);
    let mut open = Vec::new();
    let mut before = 0.0;
    for index in 0..FIRST + plan.idle_sessions {
        if index == FIRST {
            tokio::time::sleep(REST).await;
            before = server.memory_kib();
        }
        let (first, session) = Client::join(&server, CHANNELS[0], None).await;
        open.push(first);
        for channel in &CHANNELS[1..] {
            open.push(Client::connect(&server, channel, Some(&session)).await);
        }
    }
    tokio::time::sleep(REST).await;
    report.add(&Row {
        what: "memory of an idle session with 8 sockets",
        unit: "KiB",
        gateway: (server.memory_kib() - before) / plan.idle_sessions as f64,
        against: None,
        result: Of::Figure,
        targets: vec![Target::AtMost(256.0)],
        how: format!("growth by {} sessions that were greeted on every socket", plan.idle_sessions),
    });
}
