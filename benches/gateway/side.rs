//! One server with many clients that talk to it at the same time.

use crate::client::Client;
use crate::microphones;
use crate::report::quantile;
use crate::server::Server;
use crate::standstill::Watch;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Packets a second of one microphone.
pub(crate) const PACE: u32 = 25;
/// When the client itself sends later than this, the machine is busy with something else and measures that.
const LATEST_MS: f64 = 5.0;

/// One server with its connected clients.
pub(crate) struct Side {
    pub(crate) server: Server,
    pub(crate) clients: Vec<Client>,
    /// Sees nothing unless somebody wants it to.
    pub(crate) watch: Arc<Watch>,
}

impl Side {
    pub(crate) async fn new(server: Server, sessions: usize) -> Self {
        let mut clients = Vec::new();
        for _ in 0..sessions {
            clients.push(Client::connect(&server, "audio", None).await);
        }
        Self { server, clients, watch: Arc::default() }
    }

    /// Microseconds of CPU per packet, and packets per second.
    pub(crate) async fn flat_out(
        &mut self,
        packet: &Arc<[u8]>,
        each: usize,
        window: usize,
    ) -> (f64, f64) {
        let (cpu, begun) = (self.server.cpu(), Instant::now());
        let talks = self.clients.drain(..).map(|client| {
            let packet = Arc::clone(packet);
            tokio::spawn(async move { client.talk(&packet, each, window).await })
        });
        let talks: Vec<_> = talks.collect();
        for talk in talks {
            self.clients.push(talk.await.unwrap());
        }
        let (wall, total) = (begun.elapsed(), (each * self.clients.len()) as f64);
        let cpu = self.server.cpu().since(&cpu);
        (cpu.as_secs_f64() * 1e6 / total, total / wall.as_secs_f64())
    }

    /// Every session sends in its own moment of the period. What came while a core stood still does not count.
    pub(crate) async fn paced(&mut self, packet: &Arc<[u8]>, each: usize) -> Pace {
        let period = Duration::from_secs(1) / PACE;
        let (count, cpu, begun) = (self.clients.len(), self.server.cpu(), Instant::now());
        let clients = std::mem::take(&mut self.clients);
        let (clients, seen) = microphones::talk(clients, Arc::clone(packet), period, each).await;
        self.clients = clients;
        let cpu = self.server.cpu().since(&cpu).as_secs_f64() * 1e6 / (count * each) as f64;
        let millis = |times: &[Duration], part| {
            1e3 * quantile(times.iter().map(Duration::as_secs_f64), part)
        };
        let gaps = self.watch.since(begun);
        let counted =
            seen.answers.iter().filter(|(sent, _)| !gaps.iter().any(|gap| gap.is_around(*sent)));
        let latencies: Vec<_> = counted.map(|(_, took)| *took).collect();
        Pace {
            cpu,
            p50_ms: millis(&latencies, 0.5),
            p95_ms: millis(&latencies, 0.95),
            p99_ms: millis(&latencies, 0.99),
            p99_with_gaps_ms: millis(
                &seen.answers.iter().map(|(_, took)| *took).collect::<Vec<_>>(),
                0.99,
            ),
            left_out: 1.0 - latencies.len() as f64 / seen.answers.len() as f64,
            late: millis(&seen.lateness, 0.99) > LATEST_MS,
        }
    }
}

#[derive(Debug)]
pub(crate) struct Pace {
    /// Microseconds for each packet.
    pub(crate) cpu: f64,
    pub(crate) p50_ms: f64,
    pub(crate) p95_ms: f64,
    pub(crate) p99_ms: f64,
    /// The same with what came while a core stood still.
    pub(crate) p99_with_gaps_ms: f64,
    /// The part of the packets during which a core stood still.
    pub(crate) left_out: f64,
    /// The client could not keep the pace.
    pub(crate) late: bool,
}
