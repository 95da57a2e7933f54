//! What the gateway costs against a raw echo of the same frames, side by side in one run: `./scripts/bench`.
//! Both servers are processes of their own, so that their CPU time can be read without the client's.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a benchmark that cannot go on should stop"
)]

mod client;
mod echo;
mod server;

use client::Client;
use server::Server;
use std::time::{Duration, Instant};

/// Sessions that talk at the same time, and packets of each that are on their way.
const SESSIONS: usize = 50;
const WINDOW: usize = 4;
/// Microphone packets of 4096 bytes of PCM, as base64 in JSON about 5.7 KB.
const PCM_BYTES: usize = 4096;
/// The servers take turns, so that a busy neighbour hits both.
const ROUNDS: usize = 5;

fn main() {
    if std::env::args().any(|arg| arg == "--echo-server") {
        return echo::serve();
    }
    let quick = std::env::args().any(|arg| arg == "--quick");
    let packets = if quick { 20_000 } else { 200_000 };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(compare(packets));
}

async fn compare(packets: usize) {
    let (echo, gateway) = (Server::echo(), Server::gateway());
    println!(
        "{SESSIONS} sessions, {WINDOW} packets of each on their way, {PCM_BYTES} bytes of PCM, best of {ROUNDS} rounds"
    );
    let (mut raw, mut ours) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        raw.push(flat_out(&echo, packets).await);
        ours.push(flat_out(&gateway, packets).await);
    }
    let best = |figures: &[Figures]| Figures {
        cpu: figures.iter().map(|round| round.cpu).min().unwrap(),
        per_second: figures.iter().map(|round| round.per_second).fold(0.0, f64::max),
    };
    let (raw, ours) = (best(&raw), best(&ours));
    let ratio = |ours: f64, raw: f64| ours / raw;
    println!(
        "CPU per packet, in and out   echo {:6.2?}   gateway {:6.2?}   {:.2}x",
        raw.cpu,
        ours.cpu,
        ratio(ours.cpu.as_secs_f64(), raw.cpu.as_secs_f64())
    );
    println!(
        "packets per second           echo {:6.0}   gateway {:6.0}   {:.2}x",
        raw.per_second,
        ours.per_second,
        ratio(ours.per_second, raw.per_second)
    );
    println!(
        "memory after traffic         echo {:4} KiB   gateway {:4} KiB",
        echo.memory_kib(),
        gateway.memory_kib()
    );
}

#[derive(Debug, Clone, Copy)]
struct Figures {
    cpu: Duration,
    per_second: f64,
}

/// Every session sends as fast as its answers come back.
async fn flat_out(server: &Server, packets: usize) -> Figures {
    let mut clients = Vec::new();
    for _ in 0..SESSIONS {
        clients.push(Client::connect(server, PCM_BYTES).await);
    }
    let (cpu, begun) = (server.cpu(), Instant::now());
    let each = packets / SESSIONS;
    let tasks: Vec<_> =
        clients.into_iter().map(|client| tokio::spawn(client.talk(each, WINDOW))).collect();
    for task in tasks {
        task.await.unwrap();
    }
    let wall = begun.elapsed();
    let total = each * SESSIONS;
    Figures {
        cpu: (server.cpu() - cpu) / u32::try_from(total).unwrap(),
        per_second: total as f64 / wall.as_secs_f64(),
    }
}
