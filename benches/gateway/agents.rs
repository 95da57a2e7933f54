//! Chat models and code agents through the gateway: how soon the first word comes, how soon a cancel works, and what
//! four busy agents cost.

use crate::client::{Client, frame};
use crate::model::Direct;
use crate::report::{Of, Report, Row, Target, median};
use crate::server::{Home, Server};
use crate::{Plan, wire};
use std::time::Instant;

/// Lines of each of the four.
const LINES: usize = 10_000;

pub(crate) async fn first_token(plan: &Plan, report: &mut Report) {
    let model = Server::helper("--model-server");
    let home = Home::new();
    home.configure(&format!(
        "[[chat]]\nname = \"bench\"\nkind = \"openai\"\nmodel = \"bench\"\nbase_url = \"http://{}/v1\"\n",
        model.addr
    ));
    let server = Server::gateway(&home);
    let (mut input, session) = Client::join(&server, "input", None).await;
    let mut chat = Client::connect_with(&server, "0", Some(&session), wire::STREAM).await;
    chat.receive_kind("welcome_text").await;
    let mut direct = Direct::connect(&model).await;
    let (mut through, mut beside) = (Vec::new(), Vec::new());
    for _ in 0..plan.answers {
        beside.push(direct.first_token().await.as_secs_f64() * 1e3);
        let begun = Instant::now();
        input.send(&frame(&wire::text("0", "hello"))).await;
        chat.receive_kind("output_stream").await;
        through.push(begun.elapsed().as_secs_f64() * 1e3);
        chat.receive_kind("output_text").await;
    }
    let (through, beside) = (median(through), median(beside));
    report.add(&Row {
        what: "first token, added to the same model directly",
        unit: "ms",
        gateway: through - beside,
        against: Some(("directly", beside)),
        result: Of::Figure,
        targets: vec![Target::AtMost(2.0)],
        how: format!(
            "text in to first output_stream ({through:.2} ms) less the model asked directly, over kept connections; medians of {}",
            plan.answers
        ),
    });
}

pub(crate) async fn prompts_and_cancels(plan: &Plan, report: &mut Report) {
    let home = Home::new();
    home.configure(&rows());
    let server = Server::gateway(&home);
    let (mut input, session) = Client::join(&server, "input", None).await;
    let mut pane = Client::connect(&server, "1", Some(&session)).await;
    pane.receive_kind("welcome_text").await;
    let mut first = Vec::new();
    for _ in 0..plan.replays + 1 {
        let begun = Instant::now();
        input.send(&frame(&wire::text("1", "talk 1"))).await;
        // The start of the run is a line too.
        pane.receive_text_with("line 0").await;
        first.push(begun.elapsed().as_secs_f64() * 1e3);
        pane.receive_kind("output_text").await;
    }
    // The first has started the agent.
    let cold = first.remove(0);
    report.add(&figure(
        "prompt to first output_stream, warm agent",
        "ms",
        median(first),
        format!("the backup of an empty project, commit and ACP included; cold {cold:.0} ms"),
    ));
    let mut stages = Vec::new();
    for (what, rounds) in [("wait", plan.replays), ("deaf", 1), ("stubborn", 1)] {
        let (mut told, mut over) = (Vec::new(), Vec::new());
        for _ in 0..rounds {
            input.send(&frame(&wire::text("1", what))).await;
            pane.receive_text_with("line 0").await;
            let begun = Instant::now();
            input.send(&frame(&wire::cancel("1"))).await;
            pane.receive_kind("cancel_run").await;
            told.push(begun.elapsed().as_secs_f64() * 1e3);
            pane.receive_text_with(wire::CANCELLED).await;
            over.push(begun.elapsed().as_secs_f64() * 1e3);
            // What it had said so far: the next run begins with the same words.
            pane.receive_kind("output_text").await;
        }
        stages.push((median(told), median(over)));
    }
    let (told, over) = stages[0];
    report.add(&figure("cancel: client told", "ms", told, "from cancel_run to its echo".into()));
    report.add(&figure("cancel: agent that listens is over", "ms", over, "by ACP cancel".into()));
    let how = "3 s for ACP cancel, then TERM to everything".into();
    report.add(&figure("cancel: agent that does not listen is over", "ms", stages[1].1, how));
    let how = "2 s more for TERM, then KILL to everything".into();
    report.add(&figure("cancel: agent that ignores TERM is over", "ms", stages[2].1, how));
}

pub(crate) async fn four_streams(report: &mut Report) {
    let home = Home::new();
    home.configure(&rows());
    let server = Server::gateway(&home);
    let (mut input, session) = Client::join(&server, "input", None).await;
    let mut panes = Vec::new();
    for name in ["1", "2", "3", "4"] {
        let mut pane = Client::connect(&server, name, Some(&session)).await;
        pane.receive_kind("welcome_text").await;
        input.send(&frame(&wire::text(name, "talk 1"))).await;
        pane.receive_kind("output_text").await;
        panes.push(pane);
    }
    let (before, begun) = (server.memory_kib(), Instant::now());
    for name in ["1", "2", "3", "4"] {
        input.send(&frame(&wire::text(name, &format!("talk {LINES}")))).await;
    }
    let mut peak = before;
    let mut events = 0;
    for pane in &mut panes {
        events += pane.receive_kind("output_text").await.1;
        peak = peak.max(server.memory_kib());
    }
    let rate = events as f64 / begun.elapsed().as_secs_f64();
    report.add(&figure(
        "four agents streaming: memory of the gateway",
        "MiB",
        peak / 1024.0,
        format!(
            "{:.1} MiB before; {LINES} lines from each, {rate:.0} packets per second in all",
            before / 1024.0
        ),
    ));
}

/// All four slots have the agent of this benchmark.
fn rows() -> String {
    let binary = std::env::current_exe().unwrap();
    let slots = (1..=4).map(|slot| format!("CODE_AI{slot}_NAME = \"bench\"\n"));
    format!(
        "[[agents]]\nname = \"bench\"\nkind = \"acp\"\ncommand = [{binary:?}, \"--acp-agent\"]\n[settings]\n{}",
        slots.collect::<String>()
    )
}

/// A figure without a target, to be compared with itself over time.
fn figure(what: &'static str, unit: &'static str, gateway: f64, how: String) -> Row {
    Row { what, unit, gateway, against: None, result: Of::Figure, targets: Vec::new(), how }
}
