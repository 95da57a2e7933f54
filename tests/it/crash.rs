//! `kill -9` of the real binary: whatever was seen or acknowledged is back.

use crate::process::Process;
use crate::support::{
    BODY, CHANNEL, Client, Frontend, Home, KIND, RESUMED, SEQ, cursor, eventually, seq,
};
use serde_json::{Value, json};

/// Reads a stream up to so many packets; all that was delivered.
async fn take(client: &mut Client, count: usize) -> Vec<Value> {
    let mut packets = Vec::new();
    while packets.len() < count {
        packets.push(client.next().await);
    }
    packets
}

#[tokio::test]
async fn four_streams_survive_kill_9() {
    let home = Home::new();
    let process = Process::start(&home, "");
    let mut front = Frontend::open(process.addr, None).await;
    let session = front.session().to_owned();
    for pane in ["1", "2", "3", "4"] {
        let text = "stream 300\nsleep 0.05\n".repeat(200);
        front
            .input
            .send(&json!({CHANNEL: pane, KIND: "input_text", BODY: text, "要求番号": pane}))
            .await;
        front.input.until("ack").await;
    }
    front
        .input
        .send(&json!({CHANNEL: "4", KIND: "input_text", BODY: "say later", "要求番号": "q"}))
        .await;
    front.input.until("ack").await;
    let mut delivered = Vec::new();
    for (index, agent) in front.agents.iter_mut().enumerate() {
        delivered.push(take(agent, 400 + index * 250).await);
    }
    process.kill();

    let process = Process::start(&home, "");
    for (index, pane) in ["1", "2", "3", "4"].into_iter().enumerate() {
        let last = seq(delivered[index].last().unwrap());
        let more = cursor(&front.agents[index].init, last);
        let mut again = Client::open_with(process.addr, pane, Some(&session), more).await;
        assert_eq!(again.init[RESUMED], true);
        let missed = again
            .collect_until(|packet| {
                packet[KIND] == "output_text" && packet[BODY].as_str().unwrap().contains("再起動")
            })
            .await;
        let numbers: Vec<u64> = missed.iter().map(seq).collect();
        let expected: Vec<u64> = (last + 1..=last + missed.len() as u64).collect();
        assert_eq!(numbers, expected);
        assert_eq!(missed[missed.len() - 2][BODY], "<<< 処理中断 >>>");
        // A newcomer finds everything that was ever delivered, as it was.
        let mut newcomer = Client::open(process.addr, pane, Some(&session)).await;
        let history =
            newcomer.collect_until(|packet| packet[SEQ] == numbers[numbers.len() - 1]).await;
        let stored: Vec<&Value> =
            history.iter().filter(|packet| packet.get(SEQ).is_some()).collect();
        let seen: Vec<&Value> = delivered[index].iter().chain(&missed).collect();
        assert_eq!(stored, seen);
    }
    // What had been acknowledged but not begun is carried out, once.
    let mut fourth = Client::open(process.addr, "4", Some(&session)).await;
    fourth.until_where(|packet| packet[KIND] == "output_text" && packet[BODY] == "later").await;
    let mut input = Client::open(process.addr, "input", Some(&session)).await;
    for request in ["1", "2", "3", "4", "q"] {
        input
            .send(&json!({CHANNEL: "1", KIND: "input_text", BODY: "say no", "要求番号": request}))
            .await;
        assert_eq!(input.until("ack").await["重複"], true);
    }
}

#[tokio::test]
async fn an_acknowledged_command_is_never_lost() {
    let home = Home::new();
    let mut session: Option<String> = None;
    let mut acknowledged = Vec::new();
    for round in 0..4 {
        let process = Process::start(&home, "");
        let mut input = Client::open(process.addr, "input", session.as_deref()).await;
        session = Some(input.session().to_owned());
        for number in 0..(5 + round * 7) {
            let text = format!("text {round}.{number}");
            input
                .send(&json!({CHANNEL: "0", KIND: "input_text", BODY: text, "要求番号": text}))
                .await;
            input.until("ack").await;
            acknowledged.push(text);
        }
        process.kill();
    }
    let process = Process::start(&home, "");
    let mut chat = Client::open(process.addr, "0", session.as_deref()).await;
    let history = chat.collect_until(|packet| packet[KIND] == "welcome_text").await;
    let said: Vec<&str> = history
        .iter()
        .filter(|packet| packet[KIND] == "input_text")
        .map(|packet| packet[BODY].as_str().unwrap())
        .collect();
    assert_eq!(said, acknowledged);
}

#[tokio::test]
async fn what_a_killed_gateway_left_behind_ends_by_itself() {
    let home = Home::new();
    let process = Process::start(&home, "");
    let mut front = Frontend::open(process.addr, None).await;
    let session = front.session().to_owned();
    let mark = format!("8{}.25", std::process::id());
    front.type_in("1", &format!("run (setsid sleep {mark} &); sleep {mark}; touch too-late")).await;
    eventually(|| sleeping(&mark) == 2).await;
    front
        .input
        .send(&json!({CHANNEL: "2", KIND: "input_file", BODY: "aGk=", "ファイル名": "a.txt"}))
        .await;
    front.agents[1].until("input_file").await;
    process.kill();
    eventually(|| sleeping(&mark) == 0).await;
    let process = Process::start(&home, "");
    // A file sent just before still goes with the next text.
    let mut front = Frontend::open(process.addr, Some(&session)).await;
    front.type_in("2", "say look").await;
    let said = front.agents[1].until_where(|packet| packet[KIND] == "input_text").await;
    assert!(said[BODY].as_str().unwrap().contains("a.txt"), "{said}");
}

fn sleeping(mark: &str) -> usize {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let commands =
        processes.filter_map(|entry| std::fs::read_to_string(entry.path().join("cmdline")).ok());
    commands.filter(|command| command.starts_with("sleep") && command.contains(mark)).count()
}
