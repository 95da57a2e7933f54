//! Audio packets through both servers, at the pace of microphones.

use crate::report::{Of, Report, Row, Target, median, ratio};
use crate::server::{Home, Server};
use crate::side::{PACE, Pace, Side};
use crate::standstill::Watch;
use crate::{Plan, cores};
use std::sync::Arc;

/// Microphones that talk at the same time.
pub(crate) const SESSIONS: usize = 500;

/// Both servers with the same clients.
pub(crate) struct Pair {
    echo: Side,
    pub(crate) gateway: Side,
}

impl Pair {
    pub(crate) async fn new(home: &Home) -> Self {
        let mut echo = Side::new(cores::of_servers(Server::echo), SESSIONS).await;
        let mut gateway = Side::new(cores::of_servers(|| Server::gateway(home)), SESSIONS).await;
        echo.watch = Arc::new(Watch::new());
        gateway.watch = Arc::clone(&echo.watch);
        Self { echo, gateway }
    }

    fn shrink(&mut self, sessions: usize) {
        self.echo.clients.truncate(sessions);
        self.gateway.clients.truncate(sessions);
    }

    /// The rounds in which the client could keep the pace with both.
    async fn on_time(&mut self, packet: &Arc<[u8]>, plan: &Plan) -> Vec<(Pace, Pace)> {
        let mut rounds = Vec::new();
        for _ in 0..plan.paced_rounds {
            let theirs = self.echo.paced(packet, plan.paced_packets).await;
            let own = self.gateway.paced(packet, plan.paced_packets).await;
            if !theirs.late && !own.late {
                rounds.push((theirs, own));
            }
        }
        rounds
    }
}

pub(crate) async fn compare(plan: &Plan, packet: &Arc<[u8]>, pair: &mut Pair, report: &mut Report) {
    let mut sessions = SESSIONS;
    // Warms both up.
    pair.echo.paced(packet, PACE as usize).await;
    pair.gateway.paced(packet, PACE as usize).await;
    let mut rounds = pair.on_time(packet, plan).await;
    while rounds.is_empty() && sessions > SESSIONS / 8 {
        sessions /= 2;
        pair.shrink(sessions);
        rounds = pair.on_time(packet, plan).await;
    }
    if rounds.is_empty() {
        return report
            .skip("p99 latency of paced packets", "the machine is too busy to keep a pace");
    }
    let reduced = if sessions < SESSIONS {
        format!("; {SESSIONS} sessions were too many for this machine at this moment")
    } else {
        String::new()
    };
    let how = format!(
        "{sessions} sessions, {PACE} packets/s each of {} bytes, {} packets of each in a round, median of the {} rounds (of {}) that were sent on time{reduced}; {}",
        packet.len(),
        plan.paced_packets,
        rounds.len(),
        plan.paced_rounds,
        left_out(&pair.gateway.watch, &rounds),
    );
    add_rows(&rounds, &how, report);
}

/// What is not counted of both.
fn left_out(watch: &Watch, rounds: &[(Pace, Pace)]) -> String {
    if !watch.sees() {
        return "whether the core itself stood still could not be watched".to_owned();
    }
    let part = |of: fn(&(Pace, Pace)) -> f64| {
        100.0 * rounds.iter().map(of).sum::<f64>() / rounds.len() as f64
    };
    let (own, theirs) = (part(|(_, gateway)| gateway.left_out), part(|(echo, _)| echo.left_out));
    format!("without {own:.1} % (echo {theirs:.1} %) around which the core itself stood still")
}

fn add_rows(rounds: &[(Pace, Pace)], how: &str, report: &mut Report) {
    let p99 = vec![Target::AtMost(1.5)];
    add_row("p99 latency of paced packets", "ms", rounds, |pace| pace.p99_ms, p99, how, report);
    let with_gaps = "the same with standstills";
    add_row(with_gaps, "ms", rounds, |pace| pace.p99_with_gaps_ms, vec![], how, report);
    // What a busy machine adds is mostly beyond this one.
    add_row("p95 latency of paced packets", "ms", rounds, |pace| pace.p95_ms, vec![], how, report);
    let median = "median latency of paced packets";
    add_row(median, "ms", rounds, |pace| pace.p50_ms, vec![], how, report);
    add_row("CPU per paced audio packet", "us", rounds, |pace| pace.cpu, vec![], how, report);
}

fn add_row(
    what: &'static str,
    unit: &'static str,
    rounds: &[(Pace, Pace)],
    figure: fn(&Pace) -> f64,
    targets: Vec<Target>,
    how: &str,
    report: &mut Report,
) {
    let raw: Vec<_> = rounds.iter().map(|(echo, _)| figure(echo)).collect();
    let ours: Vec<_> = rounds.iter().map(|(_, gateway)| figure(gateway)).collect();
    report.add(&Row {
        what,
        unit,
        gateway: median(ours.clone()),
        against: Some(("echo", median(raw.clone()))),
        result: Of::Ratio(ratio(&ours, &raw)),
        targets,
        how: how.to_owned(),
    });
}
