//! What one session notices of another one that starts and cancels runs as fast as it can.

use crate::client::{Client, frame};
use crate::report::{Of, Report, Row, Target};
use crate::server::{Home, Server};
use crate::wire;
use std::process::Command;
use std::time::{Duration, Instant};
use tokio::time::sleep;

const PAIRS: usize = 200;
const APART: Duration = Duration::from_millis(2);
/// Files of the project, which is a git repository: places are made for the agents of both sessions.
const FILES: usize = 20;

pub(crate) async fn cancels(report: &mut Report) {
    let home = Home::new();
    repository(&home);
    let server = Server::gateway(&home);
    let (mut input, session) = Client::join(&server, "input", None).await;
    let mut pane = Client::connect(&server, "1", Some(&session)).await;
    let mut restless = Client::connect(&server, "input", None).await;
    for _ in 0..2 {
        answered(&mut input, &mut pane).await;
    }
    let mut alone = Duration::ZERO;
    for _ in 0..5 {
        alone = alone.max(answered(&mut input, &mut pane).await);
    }
    let flood = tokio::spawn(async move {
        for _ in 0..PAIRS {
            restless.send(&frame(&wire::text("1", "say more"))).await;
            restless.send(&frame(&wire::cancel("1"))).await;
            sleep(APART).await;
        }
        restless
    });
    let (mut slowest, mut threads, mut answers) = (Duration::ZERO, 0, 0);
    // What the flood leaves behind counts as well.
    while !flood.is_finished() || answers < 5 {
        slowest = slowest.max(answered(&mut input, &mut pane).await);
        threads = threads.max(server.threads());
        answers += 1;
    }
    flood.await.unwrap();
    report.add(&Row {
        what: "agent's answer beside a session that cancels",
        unit: "ms",
        gateway: slowest.as_secs_f64() * 1e3,
        against: Some(("alone", alone.as_secs_f64() * 1e3)),
        result: Of::Figure,
        targets: vec![Target::AtMost(300.0)],
        how: format!(
            "request to whole answer of a scripted agent in its worktree, slowest of {answers} and of 5 alone, while another session starts and cancels {PAIRS} runs, {} ms apart; at most {threads} threads",
            APART.as_millis()
        ),
    });
}

async fn answered(input: &mut Client, pane: &mut Client) -> Duration {
    let begun = Instant::now();
    input.send(&frame(&wire::text("1", "say fine"))).await;
    pane.receive_kind("output_text").await;
    begun.elapsed()
}

fn repository(home: &Home) {
    for number in 0..FILES {
        std::fs::write(home.project().join(format!("{number}.txt")), "a line\n").unwrap();
    }
    let init = "git init -q . && git add . && git -c user.name=b -c user.email=b@example.com commit -q -m first";
    let done = Command::new("sh").args(["-c", init]).current_dir(home.project()).status().unwrap();
    assert!(done.success());
}
