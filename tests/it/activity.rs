//! What frontends are told about the work of an agent, packet by packet: plans, states, costs, and how it is stopped.

use crate::acp::AGENT;
use crate::process::Process;
use crate::support::{BODY, CHANNEL, Client, Home, KIND, SEQ, eventually};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// A gateway whose first slot is our agent, with these arguments.
fn gateway(home: &Home, arguments: &str) -> Process {
    let settings = format!(
        "language = \"en\"\n[[agents]]\nname = \"test\"\nkind = \"acp\"\ncommand = [\"python3\", \"{AGENT}\"{arguments}]\n"
    );
    Process::start(home, &settings)
}

/// A frontend that knows everything about agents: the input socket and the first pane.
async fn open(process: &Process) -> (Client, Client) {
    let more = json!({"機能": ["agents", "confirm"]});
    let input = Client::open_with(process.addr, "input", None, more.clone()).await;
    let id = input.session().to_owned();
    let mut pane = Client::open_with(process.addr, "1", Some(&id), more).await;
    pane.until("welcome_text").await;
    (input, pane)
}

async fn type_in(input: &mut Client, text: &str) {
    input.send(&json!({CHANNEL: "1", KIND: "input_text", BODY: text})).await;
}

fn states(packets: &[Value]) -> Vec<&str> {
    let told = packets.iter().filter(|packet| packet[KIND] == "state");
    told.map(|packet| packet[BODY]["状態"].as_str().unwrap()).collect()
}

fn is_over(packet: &Value) -> bool {
    packet[KIND] == "state" && packet[BODY]["状態"] == "waiting_for_input"
}

#[tokio::test]
async fn plans_states_and_costs_are_packets_of_their_own() {
    let home = Home::new();
    let process = gateway(&home, "");
    let (mut input, mut pane) = open(&process).await;
    type_in(&mut input, "silent-tool news ask").await;
    let mut packets = pane.collect_until(|packet| packet[KIND] == "confirm_request").await;
    let asked = packets.last().unwrap()[BODY]["id"].clone();
    let waits = |packet: &Value| packet[BODY]["状態"] == "waiting_for_confirmation";
    if !packets.iter().any(waits) {
        packets.extend(pane.collect_until(waits).await);
    }
    input.send(&json!({KIND: "confirm_answer", BODY: {"id": asked, "承認": true}})).await;
    packets.extend(pane.collect_until(is_over).await);

    let of = |kind: &str| packets.iter().find(|packet| packet[KIND] == kind).unwrap();
    assert_eq!(of("plan")[BODY], json!({"手順": [{"内容": "first", "状態": "started"}]}));
    let cost = json!({"金額": 0.5, "通貨": "USD"});
    assert_eq!(of("usage")[BODY], json!({"使用トークン": 10, "上限トークン": 100, "費用": cost}));
    let run = &of("usage")["実行番号"];
    assert!(run.is_u64(), "{packets:?}");
    let mut seen = states(&packets);
    seen.dedup();
    let mut order = seen.iter();
    for wanted in
        ["thinking", "executing_tool", "thinking", "waiting_for_confirmation", "waiting_for_input"]
    {
        assert!(order.any(|state| *state == wanted), "no {wanted} in its place: {seen:?}");
    }
    for packet in packets.iter().filter(|packet| packet[KIND] == "state" && !is_over(packet)) {
        assert_eq!(&packet["実行番号"], run, "{packet}");
    }
}

#[tokio::test]
async fn frontends_without_the_agents_feature_get_lines() {
    let home = Home::new();
    let process = gateway(&home, "");
    let mut input = Client::open(process.addr, "input", None).await;
    let id = input.session().to_owned();
    let mut pane = Client::open(process.addr, "1", Some(&id)).await;
    type_in(&mut input, "news").await;
    let packets = pane.collect_until(|packet| packet[KIND] == "output_text").await;
    for kind in ["plan", "usage", "state"] {
        assert!(!packets.iter().any(|packet| packet[KIND] == kind), "{kind}: {packets:?}");
    }
    let line =
        |packet: &Value| packet[KIND] == "output_stream" && packet[BODY] == "[plan] [>] first";
    assert!(packets.iter().any(line), "{packets:?}");
}

/// What was told of an answer that is being made, and where in the list that was.
fn pieces<'a>(packets: &'a [Value], run: Option<&Value>) -> Vec<(usize, &'a str)> {
    let told = packets.iter().enumerate().filter(|(_, packet)| {
        packet[KIND] == "output_stream"
            && packet.get(SEQ).is_none()
            && packet.get("実行番号") == run
    });
    told.map(|(at, packet)| (at, packet[BODY].as_str().unwrap())).collect()
}

#[tokio::test]
async fn what_an_agent_says_is_seen_while_it_works_and_kept_once() {
    let home = Home::new();
    let process = gateway(&home, "");
    let (mut input, mut lines) = open(&process).await;
    let id = input.session().to_owned();
    let more = json!({"機能": ["agents", "stream"]});
    let mut keen = Client::open_with(process.addr, "1", Some(&id), more).await;
    keen.until("welcome_text").await;
    type_in(&mut input, "narrate wait").await;
    let says = |text: &'static str| {
        move |packet: &Value| packet[BODY].as_str().is_some_and(|body| body.contains(text))
    };
    let packets = keen.collect_until(says("working")).await;
    let started = packets.iter().find(|packet| packet[BODY] == "<<< 処理開始 >>>").unwrap();
    let run = &started["実行番号"];
    let told = pieces(&packets, Some(run));
    let said: String = told.iter().map(|(_, text)| *text).collect();
    assert_eq!(said, "I'll look.\n\nNow I edit.\nDone.\nworking");
    let tool = packets.iter().position(|packet| packet[KIND] == "tool").unwrap();
    for (at, text) in told {
        assert_eq!(at < tool, "I'll look.".contains(text), "{packets:?}");
    }
    // Who does not want pieces sees whole lines, in their place all the same.
    let mut packets = lines.collect_until(says("Done.")).await;
    let tool = packets.iter().position(|packet| packet[KIND] == "tool").unwrap();
    let told = pieces(&packets, None);
    assert_eq!((told[0].1, told[0].0 < tool), ("I'll look.", true), "{packets:?}");
    let rest: Vec<_> = told[1..].iter().map(|(_, text)| *text).collect();
    assert_eq!(rest.join("\n"), "Now I edit.\nDone.");
    input.send(&json!({CHANNEL: "1", KIND: "cancel_run", BODY: "強制停止！"})).await;
    let whole = |packet: &Value| packet[KIND] == "output_text" && packet[BODY] == said.as_str();
    packets = lines.collect_until(whole).await;
    assert_eq!(pieces(&packets, None), [], "the rest is told with the whole");
    keen.until_where(whole).await;
    // Only the whole is history.
    let mut late = Client::open_with(process.addr, "1", Some(&id), json!({})).await;
    let history = late.collect_until(|packet| packet[KIND] == "welcome_text").await;
    assert_eq!(history.iter().filter(|packet| says("I'll look.")(packet)).count(), 1);
    assert!(history.iter().any(whole), "{history:?}");
}

/// Whether an agent with this mark does not mind being asked to leave.
fn ignores_term(mark: &str) -> bool {
    const TERM: u64 = 1 << 14;
    std::fs::read_dir("/proc").unwrap().flatten().any(|process| {
        let line = std::fs::read_to_string(process.path().join("cmdline")).unwrap_or_default();
        let status = std::fs::read_to_string(process.path().join("status")).unwrap_or_default();
        let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
        let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
        let is_agent = line.starts_with("python3") || line.contains("/python3");
        let is_it = is_agent && line.split('\0').any(|one| one == mark);
        is_it && !line.contains("supervise") && ignored.is_some_and(|mask| mask & TERM != 0)
    })
}

#[tokio::test]
async fn an_agent_that_ignores_signals_is_killed_and_the_next_request_starts() {
    let home = Home::new();
    let mark = "stubborn-5120";
    let process = gateway(&home, &format!(", \"{mark}\""));
    let (mut input, mut pane) = open(&process).await;
    type_in(&mut input, "stubborn").await;
    eventually(|| ignores_term(mark)).await;
    type_in(&mut input, "hello").await;
    pane.until_where(|packet| packet[KIND] == "input_text" && packet[BODY] == "hello").await;
    let began = Instant::now();
    input.send(&json!({CHANNEL: "1", KIND: "cancel_run", BODY: "強制停止！"})).await;
    // The user is told at once, whatever the agent does.
    let mut packets = pane.collect_until(|packet| packet[KIND] == "cancel_run").await;
    assert!(ignores_term(mark), "it was told only when the agent was gone");
    packets.extend(pane.collect_until(|packet| packet[BODY] == "<<< 処理中断 >>>").await);
    assert!(states(&packets).contains(&"stopping"), "{packets:?}");
    // Three seconds to stop by itself, two to leave, and then nobody is asked any more.
    assert!(began.elapsed() >= Duration::from_secs(5), "{:?}", began.elapsed());
    assert!(!ignores_term(mark));
    pane.until_where(|packet| packet[KIND] == "output_text" && packet[BODY] == "hello there").await;
}
