//! Audio packets through both servers: as fast as they go, and at the pace of microphones.

use crate::client::{Client, frame};
use crate::report::{Of, Report, Row, Target, median, quantile, ratio};
use crate::server::{Home, Server};
use crate::{Plan, wire};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Sessions that talk at the same time, and packets of each that are on their way.
const SESSIONS: usize = 50;
const WINDOW: usize = 4;
/// Microphones that talk at the same time, each with so many packets a second.
const PACED_SESSIONS: usize = 500;
const PACE: u32 = 25;
/// When the client itself sends later than this, the machine is busy with something else and measures that.
const LATEST_MS: f64 = 5.0;

/// One server with its connected clients.
struct Side {
    server: Server,
    clients: Vec<Client>,
}

impl Side {
    async fn new(server: Server, sessions: usize) -> Self {
        let mut clients = Vec::new();
        for _ in 0..sessions {
            clients.push(Client::connect(&server, "audio", None).await);
        }
        Self { server, clients }
    }

    /// Microseconds of CPU per packet, and packets per second.
    async fn flat_out(&mut self, packet: &Arc<[u8]>, each: usize) -> (f64, f64) {
        let (cpu, begun) = (self.server.cpu(), Instant::now());
        let talks = self.clients.drain(..).map(|client| {
            let packet = Arc::clone(packet);
            tokio::spawn(async move { client.talk(&packet, each, WINDOW).await })
        });
        let talks: Vec<_> = talks.collect();
        for talk in talks {
            self.clients.push(talk.await.unwrap());
        }
        let (wall, total) = (begun.elapsed(), (each * self.clients.len()) as f64);
        let cpu = self.server.cpu().since(&cpu);
        (cpu.as_secs_f64() * 1e6 / total, total / wall.as_secs_f64())
    }

    /// Every session sends in its own moment of the period.
    async fn paced(&mut self, packet: &Arc<[u8]>, each: usize) -> Pace {
        let period = Duration::from_secs(1) / PACE;
        let (count, cpu) = (self.clients.len(), self.server.cpu());
        let begin = Instant::now() + period;
        let talks = self.clients.drain(..).enumerate().map(|(index, client)| {
            let packet = Arc::clone(packet);
            let start = begin + period.mul_f64(index as f64 / count as f64);
            tokio::spawn(async move { client.pace(&packet, start, period, each).await })
        });
        let talks: Vec<_> = talks.collect();
        let (mut latencies, mut lateness) = (Vec::new(), Vec::new());
        for talk in talks {
            let (client, seen) = talk.await.unwrap();
            self.clients.push(client);
            latencies.extend(seen.latencies);
            lateness.extend(seen.lateness);
        }
        let cpu = self.server.cpu().since(&cpu).as_secs_f64() * 1e6 / (count * each) as f64;
        let millis = |times: &[Duration], part| {
            1e3 * quantile(times.iter().map(Duration::as_secs_f64), part)
        };
        Pace {
            cpu,
            p50_ms: millis(&latencies, 0.5),
            p99_ms: millis(&latencies, 0.99),
            late: millis(&lateness, 0.99) > LATEST_MS,
        }
    }
}

struct Pace {
    cpu: f64,
    p50_ms: f64,
    p99_ms: f64,
    late: bool,
}

pub(crate) async fn flat_out(plan: &Plan, report: &mut Report) {
    let home = Home::new();
    let mut echo = Side::new(Server::echo(), SESSIONS).await;
    let mut gateway = Side::new(Server::gateway(&home), SESSIONS).await;
    let text = wire::quiet_audio();
    let packet: Arc<[u8]> = frame(&text).into();
    let each = plan.packets / SESSIONS;
    let (mut raw, mut ours) = (Vec::new(), Vec::new());
    // The first round opens the models and fills the caches.
    for round in 0..=plan.rounds {
        let (theirs, own) =
            (echo.flat_out(&packet, each).await, gateway.flat_out(&packet, each).await);
        if round > 0 {
            raw.push(theirs);
            ours.push(own);
        }
    }
    let ((raw_cpu, raw_rate), (cpu, rate)): ((Vec<_>, Vec<_>), (Vec<_>, Vec<_>)) =
        (raw.into_iter().unzip(), ours.into_iter().unzip());
    let how = format!(
        "{} bytes of text with {} bytes of PCM, {SESSIONS} sessions flat out, {WINDOW} packets of each on their way, median of {} rounds of {}",
        text.len(),
        wire::PCM_BYTES,
        plan.rounds,
        plan.packets
    );
    report.add(&Row {
        what: "CPU per audio packet, in and out",
        unit: "us",
        gateway: median(cpu.clone()),
        against: Some(("echo", median(raw_cpu.clone()))),
        result: Of::Ratio(ratio(&cpu, &raw_cpu)),
        targets: vec![Target::AtMost(1.6), Target::AtMost(1.3)],
        how: how.clone(),
    });
    report.add(&Row {
        what: "packets per second flat out",
        unit: "/s",
        gateway: median(rate.clone()),
        against: Some(("echo", median(raw_rate.clone()))),
        result: Of::Ratio(ratio(&rate, &raw_rate)),
        targets: vec![Target::AtLeast(0.6), Target::AtLeast(0.75)],
        how: format!("packets that went in and came back, of all sessions together; {how}"),
    });
}

pub(crate) async fn paced(plan: &Plan, report: &mut Report) {
    let home = Home::new();
    let (echo, gateway) = (Server::echo(), Server::gateway(&home));
    let mut sessions = PACED_SESSIONS;
    let packet: Arc<[u8]> = frame(&wire::quiet_audio()).into();
    let (mut echo, mut gateway) =
        (Side::new(echo, sessions).await, Side::new(gateway, sessions).await);
    // Warms both up.
    echo.paced(&packet, PACE as usize).await;
    gateway.paced(&packet, PACE as usize).await;
    let mut rounds = on_time(&mut echo, &mut gateway, &packet, plan).await;
    while rounds.is_empty() && sessions > PACED_SESSIONS / 8 {
        sessions /= 2;
        echo.clients.truncate(sessions);
        gateway.clients.truncate(sessions);
        rounds = on_time(&mut echo, &mut gateway, &packet, plan).await;
    }
    if rounds.is_empty() {
        return report
            .skip("p99 latency of paced packets", "the machine is too busy to keep a pace");
    }
    let (raw, ours): (Vec<_>, Vec<_>) = rounds.into_iter().unzip();
    let reduced = if sessions < PACED_SESSIONS {
        format!("; {PACED_SESSIONS} sessions were too many for this machine at this moment")
    } else {
        String::new()
    };
    let how = format!(
        "{sessions} sessions, {PACE} packets/s each, {} packets of each in a round, median of the {} rounds (of {}) that were sent on time{reduced}",
        plan.paced_packets,
        raw.len(),
        plan.paced_rounds
    );
    let p99 = |paces: &[Pace]| paces.iter().map(|pace| pace.p99_ms).collect::<Vec<_>>();
    let p50 = |paces: &[Pace]| paces.iter().map(|pace| pace.p50_ms).collect::<Vec<_>>();
    let cpu = |paces: &[Pace]| paces.iter().map(|pace| pace.cpu).collect::<Vec<_>>();
    report.add(&Row {
        what: "p99 latency of paced packets",
        unit: "ms",
        gateway: median(p99(&ours)),
        against: Some(("echo", median(p99(&raw)))),
        result: Of::Ratio(ratio(&p99(&ours), &p99(&raw))),
        targets: vec![Target::AtMost(1.5)],
        how: how.clone(),
    });
    report.add(&Row {
        what: "median latency of paced packets",
        unit: "ms",
        gateway: median(p50(&ours)),
        against: Some(("echo", median(p50(&raw)))),
        result: Of::Ratio(ratio(&p50(&ours), &p50(&raw))),
        targets: Vec::new(),
        how: how.clone(),
    });
    report.add(&Row {
        what: "CPU per paced audio packet",
        unit: "us",
        gateway: median(cpu(&ours)),
        against: Some(("echo", median(cpu(&raw)))),
        result: Of::Ratio(ratio(&cpu(&ours), &cpu(&raw))),
        targets: Vec::new(),
        how,
    });
}

/// The rounds in which the client could keep the pace with both.
async fn on_time(
    echo: &mut Side,
    gateway: &mut Side,
    packet: &Arc<[u8]>,
    plan: &Plan,
) -> Vec<(Pace, Pace)> {
    let mut rounds = Vec::new();
    for _ in 0..plan.paced_rounds {
        let theirs = echo.paced(packet, plan.paced_packets).await;
        let own = gateway.paced(packet, plan.paced_packets).await;
        if !theirs.late && !own.late {
            rounds.push((theirs, own));
        }
    }
    rounds
}
