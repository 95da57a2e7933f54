//! What the gateway costs against a raw echo of the same frames, side by side in one run: `./scripts/bench`.
//! Servers are processes of their own, so that their CPU time and memory can be read without the client's.
//! `BENCH_GATEWAY=path` measures another build of the gateway.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a benchmark that cannot go on should stop"
)]

mod agent;
mod agents;
mod analyst;
mod beside;
mod client;
mod cores;
mod echo;
mod files;
mod memory;
mod microphones;
mod model;
mod paced;
mod report;
mod server;
mod side;
mod smol;
mod standstill;
mod tools;
mod traffic;
mod voice;
mod wire;
mod work;

use client::frame;
use paced::Pair;
use report::Report;
use serde_json::json;
use server::Home;
use std::path::Path;
use std::time::Duration;
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::timeout;

/// A measurement that takes longer says so, instead of holding up the rest.
const LONGEST: Duration = Duration::from_secs(300);

/// Measures within the time there is.
macro_rules! bounded {
    ($report:ident, $measuring:expr) => {
        if timeout(LONGEST, $measuring).await.is_err() {
            $report.skip(stringify!($measuring), "it took too long");
        }
    };
}

/// How much of everything.
#[derive(Debug)]
pub(crate) struct Plan {
    /// The servers take turns, so that a busy neighbour hits both.
    rounds: usize,
    /// Of all sessions together, in each round.
    packets: usize,
    /// Of each paced session, in each round.
    paced_packets: usize,
    /// More of them, and short: a 99th percentile is made by the few worst moments, and a machine that stands still for
    /// some of them spoils a round.
    paced_rounds: usize,
    soak_minutes: usize,
    sockets: usize,
    idle_sessions: usize,
    scans: usize,
    list_rounds: usize,
    commands: usize,
    replays: usize,
    answers: usize,
}

const FULL: Plan = Plan {
    rounds: 7,
    packets: 100_000,
    paced_packets: 12,
    paced_rounds: 90,
    soak_minutes: 30,
    sockets: 500,
    idle_sessions: 200,
    scans: 5,
    list_rounds: 15,
    commands: 1000,
    replays: 9,
    answers: 200,
};

const QUICK: Plan = Plan {
    rounds: 3,
    packets: 20_000,
    paced_packets: 12,
    paced_rounds: 20,
    soak_minutes: 2,
    sockets: 150,
    idle_sessions: 60,
    scans: 2,
    list_rounds: 3,
    commands: 100,
    replays: 3,
    answers: 50,
};

fn main() {
    let has = |flag: &str| std::env::args().any(|arg| arg == flag);
    if has("--echo-server") {
        return echo::serve();
    }
    if has("--model-server") {
        return model::serve();
    }
    if has("--acp-agent") {
        return agent::serve();
    }
    let plan = if has("--quick") { QUICK } else { FULL };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let part = Part::asked_for(&has);
    runtime.block_on(async {
        tokio::select! {
            () = measure(&plan, part) => {}
            // Dropping the measurement ends its servers and removes its directories.
            () = told_to_stop() => println!("stopped"),
        }
    });
}

async fn told_to_stop() {
    let mut terminate = signal(SignalKind::terminate()).unwrap();
    let mut interrupt = signal(SignalKind::interrupt()).unwrap();
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
}

/// What is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Everything,
    Audio,
    Agents,
    Tools,
    Analyst,
    Voice,
    Soak,
}

impl Part {
    fn asked_for(has: &impl Fn(&str) -> bool) -> Self {
        let parts = [
            ("--audio", Self::Audio),
            ("--agents", Self::Agents),
            ("--tools", Self::Tools),
            ("--analyst", Self::Analyst),
            ("voice", Self::Voice),
            ("soak", Self::Soak),
        ];
        parts.into_iter().find(|(word, _)| has(word)).map_or(Self::Everything, |(_, part)| part)
    }
}

async fn measure(plan: &Plan, part: Part) {
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    println!("{cpus} CPUs shared by client, echo and gateway; everything over loopback");
    let mut report = Report::new(json!({ "cpus": cpus, "plan": format!("{plan:?}") }));
    match part {
        Part::Everything => {
            audio(plan, &mut report).await;
            rest(plan, &mut report).await;
            agents(plan, &mut report).await;
            tools(plan, &mut report).await;
            analyst(plan, &mut report).await;
        }
        Part::Audio => audio(plan, &mut report).await,
        Part::Agents => agents(plan, &mut report).await,
        Part::Tools => tools(plan, &mut report).await,
        Part::Analyst => analyst(plan, &mut report).await,
        Part::Voice => voice(plan, &mut report).await,
        Part::Soak => voice::soak(plan.soak_minutes, &mut report).await,
    }
    report.write(Path::new("bench.json"));
}

async fn audio(plan: &Plan, report: &mut Report) {
    bounded!(report, traffic::flat_out(plan, report));
    let home = Home::new();
    let packet = frame(&wire::quiet_audio()).into();
    bounded!(report, async {
        let mut pair = Pair::new(&home).await;
        paced::compare(plan, &packet, &mut pair, report).await;
    });
}

async fn rest(plan: &Plan, report: &mut Report) {
    bounded!(report, memory::per_socket(plan, report));
    bounded!(report, memory::idle_session(plan, report));
    bounded!(report, files::lists(plan, report));
    bounded!(report, work::barge_in(report));
    bounded!(report, work::first_answer(plan, report));
    bounded!(report, work::stream_and_replay(plan, report));
    bounded!(report, work::commits(plan, report));
}

async fn agents(plan: &Plan, report: &mut Report) {
    bounded!(report, agents::first_token(plan, report));
    bounded!(report, agents::prompts_and_cancels(plan, report));
    bounded!(report, agents::four_streams(report));
    bounded!(report, beside::cancels(report));
}

async fn tools(plan: &Plan, report: &mut Report) {
    bounded!(report, tools::gated_call(plan, report));
    bounded!(report, tools::streams(plan, report));
    bounded!(report, smol::messages(plan, report));
}

async fn analyst(plan: &Plan, report: &mut Report) {
    bounded!(report, analyst::all(plan, report));
}

async fn voice(plan: &Plan, report: &mut Report) {
    bounded!(report, voice::conversations(plan, report));
    bounded!(report, voice::memory(report));
    bounded!(report, voice::capacity(report));
    bounded!(report, work::barge_in(report));
}
