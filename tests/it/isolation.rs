//! Two sessions never see each other's packets, whatever happens in which order.

use crate::support::{BODY, CHANNEL, Frontend, Gateway, KIND, SESSION};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Value, json};

/// One thing that one of the frontends does.
#[derive(Debug, Clone)]
struct Act {
    who: usize,
    pane: usize,
    kind: u8,
}

fn packet(act: &Act, mark: &str) -> Value {
    let pane = act.pane.to_string();
    match act.kind {
        0 => json!({CHANNEL: pane, KIND: "input_text", BODY: format!("say {mark}\n{mark}")}),
        1 => {
            json!({CHANNEL: "0", "送信モード": format!("Code{}", act.pane.max(1)), KIND: "input_text", BODY: format!("say {mark}")})
        }
        2 => json!({CHANNEL: pane, KIND: "cancel_run"}),
        3 => {
            json!({CHANNEL: pane, KIND: "input_file", BODY: "aGk=", "ファイル名": format!("{mark}.txt")})
        }
        4 => json!({CHANNEL: "file", KIND: "files_temp", BODY: ""}),
        5 => json!({CHANNEL: "0", "送信モード": "Live", KIND: "input_text", BODY: mark}),
        _ => json!({KIND: "operations", BODY: {"ボタン": {"印": mark}}}),
    }
}

async fn check(acts: Vec<Act>) {
    let gateway = Gateway::start().await;
    let marks = ["aaaa-one-aaaa", "bbbb-two-bbbb", "cccc-three-cccc"];
    let mut fronts = Vec::new();
    for _ in marks {
        fronts.push(Frontend::open(gateway.addr, None).await);
    }
    for act in &acts {
        fronts[act.who].input.send(&packet(act, marks[act.who])).await;
    }
    for (who, front) in fronts.iter_mut().enumerate() {
        let session = front.session().to_owned();
        front
            .input
            .send(&json!({KIND: "operations", BODY: {"ボタン": {"終": true}}, "要求番号": "last"}))
            .await;
        let mut seen = front.input.collect_until(|packet| packet["要求番号"] == "last").await;
        // The last thing on every pane is known, so everything before it has been looked at.
        for pane in ["0", "1", "2", "3", "4"] {
            front.input.send(&json!({CHANNEL: pane, KIND: "cancel_run", "実行番号": "all"})).await;
            front
                .input
                .send(&json!({CHANNEL: pane, KIND: "input_text", BODY: "say the end"}))
                .await;
            let socket = if pane == "0" {
                &mut front.chat
            } else {
                &mut front.agents[pane.parse::<usize>().unwrap() - 1]
            };
            let ends = |packet: &Value| {
                packet[KIND] == "output_text" && packet[BODY].as_str().unwrap().contains("the end")
            };
            seen.extend(socket.collect_until(ends).await);
        }
        for packet in seen {
            assert_eq!(packet[SESSION], session.as_str(), "{packet}");
            let text = packet.to_string();
            for (other, mark) in marks.iter().enumerate() {
                assert!(
                    other == who || packet[KIND] == "files_temp" || !text.contains(mark),
                    "{who} saw {text}"
                );
            }
        }
    }
    gateway.stop().await;
}

#[test]
fn sessions_never_see_each_others_packets() {
    let act = (0..3usize, 0..5usize, 0..7u8).prop_map(|(who, pane, kind)| Act { who, pane, kind });
    let mut runner = TestRunner::new(Config {
        cases: 12,
        failure_persistence: None,
        max_shrink_iters: 8,
        ..Config::default()
    });
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runner
        .run(&proptest::collection::vec(act, 1..40), |acts| {
            runtime.block_on(check(acts));
            Ok(())
        })
        .unwrap();
}
