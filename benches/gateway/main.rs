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
mod client;
mod echo;
mod files;
mod memory;
mod model;
mod report;
mod server;
mod traffic;
mod wire;
mod work;

use report::Report;
use serde_json::json;
use std::path::Path;
use std::time::Duration;
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::timeout;

/// A measurement that takes longer says so, instead of holding up the rest.
const LONGEST: Duration = Duration::from_secs(120);

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
    /// More of them: a 99th percentile is made by the few worst moments of a round.
    paced_rounds: usize,
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
    paced_packets: 125,
    paced_rounds: 15,
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
    paced_packets: 38,
    paced_rounds: 5,
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
    // `--audio` and `--agents`: only these, for those who work on them.
    runtime.block_on(async {
        tokio::select! {
            () = measure(&plan, has("--audio"), has("--agents")) => {}
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

async fn measure(plan: &Plan, only_audio: bool, only_agents: bool) {
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    println!("{cpus} CPUs shared by client, echo and gateway; everything over loopback");
    let mut report = Report::new(json!({ "cpus": cpus, "plan": format!("{plan:?}") }));
    if !only_agents {
        bounded!(report, traffic::flat_out(plan, &mut report));
        bounded!(report, traffic::paced(plan, &mut report));
    }
    if !only_audio && !only_agents {
        bounded!(report, memory::per_socket(plan, &mut report));
        bounded!(report, memory::idle_session(plan, &mut report));
        bounded!(report, files::lists(plan, &mut report));
        bounded!(report, work::barge_in(&mut report));
        bounded!(report, work::first_answer(plan, &mut report));
        bounded!(report, work::stream_and_replay(plan, &mut report));
        bounded!(report, work::commits(plan, &mut report));
    }
    if !only_audio {
        bounded!(report, agents::first_token(plan, &mut report));
        bounded!(report, agents::prompts_and_cancels(plan, &mut report));
        bounded!(report, agents::four_streams(&mut report));
    }
    report.write(Path::new("bench.json"));
}
