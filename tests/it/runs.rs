//! Work on a channel: queue, cancel at every moment, failure, results.

use crate::support::{BODY, CHANNEL, Frontend, Gateway, KIND, SEQ, brief};
use serde_json::{Value, json};

fn texts(packets: &[Value]) -> Vec<String> {
    brief(packets).into_iter().map(|(kind, body)| format!("{kind}: {body}")).collect()
}

fn says(kind: &'static str, body: &'static str) -> impl Fn(&Value) -> bool {
    move |packet| packet[KIND] == kind && packet[BODY] == body
}

#[tokio::test]
async fn requests_for_a_busy_channel_wait_in_order_and_know_their_place() {
    let gateway = Gateway::start().await;
    let mut front = Frontend::open(gateway.addr, None).await;
    front.type_in("1", "sleep 0.3\nsay first").await;
    front.type_in("1", "say second").await;
    front.type_in("1", "say third").await;
    let seen = front.agents[0].collect_until(says("output_text", "third")).await;
    let places: Vec<_> = seen.iter().filter_map(|packet| packet["待ち順"].as_u64()).collect();
    assert_eq!(places, [1, 2]);
    let answers: Vec<_> = seen
        .iter()
        .filter(|packet| packet[KIND] == "output_text" && packet.get("待ち順").is_none())
        .map(|packet| packet[BODY].as_str().unwrap())
        .collect();
    assert_eq!(answers, ["first", "second", "third"]);
    let numbers: Vec<_> = seen.iter().map(|packet| packet[SEQ].as_u64().unwrap()).collect();
    assert!(numbers.windows(2).all(|pair| pair[1] == pair[0] + 1), "{numbers:?}");
}

#[tokio::test]
async fn a_full_queue_refuses_and_leaves_no_trace() {
    let gateway = Gateway::start_with(|config| config.limits.queue_per_channel = 1).await;
    let mut front = Frontend::open(gateway.addr, None).await;
    front.type_in("1", "sleep 30").await;
    front.type_in("1", "say waits").await;
    front
        .input
        .send(&json!({CHANNEL: "1", KIND: "input_text", BODY: "say refused", "要求番号": "r"}))
        .await;
    let error = front.input.until("error").await;
    assert_eq!((&error["コード"], &error["要求番号"]), (&json!("queue_full"), &json!("r")));
    front.input.send(&json!({CHANNEL: "1", KIND: "cancel_run", "実行番号": "all"})).await;
    let seen = front.agents[0].collect_until(says("output_text", "処理を中断しました。")).await;
    assert!(texts(&seen).iter().all(|text| !text.contains("refused")), "{seen:#?}");
    // The refused command was not recorded: sent again, it is carried out.
    front
        .input
        .send(&json!({CHANNEL: "1", KIND: "input_text", BODY: "say refused", "要求番号": "r"}))
        .await;
    assert_eq!(front.input.until("ack").await["重複"], false);
    front.agents[0].until_where(says("output_text", "refused")).await;
}

#[tokio::test]
async fn a_cancel_stops_the_current_run_and_the_next_starts() {
    let gateway = Gateway::start().await;
    let mut front = Frontend::open(gateway.addr, None).await;
    front.type_in("1", "hello\nsleep 30").await;
    front.agents[0].until_where(says("output_stream", "hello")).await;
    front.type_in("1", "say next").await;
    front.agents[0].until_where(|packet| packet["待ち順"] == 1).await;
    front.cancel("1").await;
    let seen = front.agents[0].collect_until(says("output_text", "next")).await;
    let expected = [
        "cancel_run: 処理中断！",
        "output_stream: <<< 処理中断 >>>",
        "output_text: 処理を中断しました。",
        "output_stream: <<< 処理開始 >>>",
        "output_stream: <<< 処理終了 >>>",
        "output_text: next",
    ];
    assert_eq!(texts(&seen), expected);
}

#[tokio::test]
async fn cancel_works_at_every_moment() {
    let gateway = Gateway::start().await;
    let mut front = Frontend::open(gateway.addr, None).await;
    // Idle.
    front.cancel("1").await;
    let seen = front.agents[0].collect_until(|packet| packet[KIND] == "output_text").await;
    assert_eq!(
        texts(&seen),
        ["cancel_run: 処理中断！", "output_text: 取り消す処理はありませんでした。"]
    );
    // Just starting: sent together with the request, before it can be on disk.
    front.type_in("1", "sleep 30").await;
    front.cancel("1").await;
    front.agents[0].until_where(says("output_text", "処理を中断しました。")).await;
    // Ending: races with the end again and again; whoever wins, the channel must go on.
    for round in 0..40 {
        front.type_in("1", &format!("stream {}", round % 7)).await;
        front.cancel("1").await;
        front.type_in("1", &format!("say alive {round}")).await;
        let last = format!("alive {round}");
        front.agents[0]
            .until_where(|packet| packet[KIND] == "output_text" && packet[BODY] == last.as_str())
            .await;
    }
}

#[tokio::test]
async fn a_waiting_request_can_be_cancelled_by_its_number() {
    let gateway = Gateway::start().await;
    let mut front = Frontend::open(gateway.addr, None).await;
    front.type_in("1", "sleep 0.5\nsay first").await;
    front.type_in("1", "say second").await;
    front.type_in("1", "say third").await;
    let second =
        front.agents[0].until_where(|packet| packet["待ち順"] == 1).await["実行番号"].clone();
    front.input.send(&json!({CHANNEL: "1", KIND: "cancel_run", "実行番号": second})).await;
    let seen = front.agents[0].collect_until(says("output_text", "third")).await;
    assert!(texts(&seen).iter().any(|text| text == "output_text: first"));
    assert!(texts(&seen).iter().all(|text| text != "output_text: second"));
    front.input.send(&json!({CHANNEL: "1", KIND: "cancel_run", "実行番号": 9999})).await;
    front.agents[0].until_where(says("output_text", "取り消す処理はありませんでした。")).await;
}

#[tokio::test]
async fn cancel_stops_chat_too() {
    let gateway = Gateway::start().await;
    let mut front = Frontend::open(gateway.addr, None).await;
    front.type_in("0", "sleep 30").await;
    front.chat.until("input_text").await;
    front.cancel("0").await;
    let seen = front.chat.collect_until(|packet| packet[KIND] == "output_text").await;
    assert_eq!(texts(&seen), ["cancel_run: 処理中断！", "output_text: 処理を中断しました。"]);
    front.type_in("0", "again").await;
    front.chat.until_where(says("output_text", "echo: again")).await;
}

#[tokio::test]
async fn cancel_ends_every_process() {
    let gateway = Gateway::start().await;
    let mut front = Frontend::open(gateway.addr, None).await;
    let mark = format!("7{}", std::process::id());
    let command = format!(
        "run trap '' TERM; (setsid sleep {mark} &) ; (trap '' TERM; sleep {mark}.5) & echo up; wait"
    );
    front.type_in("4", &command).await;
    front.agents[3].until_where(says("output_stream", "up")).await;
    // They would run for hours, and do not mind TERM.
    front.cancel("4").await;
    front.agents[3].until_where(says("output_text", "処理を中断しました。")).await;
    assert_eq!(processes_with(&mark), Vec::<String>::new());
}

/// Command lines of living processes that mention `mark`.
pub(crate) fn processes_with(mark: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let command = std::fs::read_to_string(entry.path().join("cmdline")).unwrap_or_default();
        if command.contains(mark) {
            found.push(command);
        }
    }
    found
}

#[tokio::test]
async fn a_failed_run_says_why_and_frees_the_channel() {
    let gateway = Gateway::start().await;
    let mut front = Frontend::open(gateway.addr, None).await;
    front.type_in("1", "fail no such thing").await;
    let seen = front.agents[0].collect_until(|packet| packet[KIND] == "output_text").await;
    assert_eq!(seen[seen.len() - 2][BODY], "!");
    assert_eq!(seen[seen.len() - 1][BODY], "! 処理に失敗しました: no such thing");
    front.type_in("0", "fail chat too").await;
    assert!(front.chat.until("output_text").await[BODY].as_str().unwrap().ends_with("chat too"));
    front.type_in("1", "say fine").await;
    front.agents[0].until_where(says("output_text", "fine")).await;
}

#[tokio::test]
async fn results_are_shown_after_the_answer() {
    let gateway = Gateway::start().await;
    let mut front = Frontend::open(gateway.addr, None).await;
    front
        .type_in("2", "write notes/a.txt hello\\nworld\nimage plot.png\nread notes/a.txt\nsay ok")
        .await;
    let seen = front.agents[1].collect_until(|packet| packet[KIND] == "output_file").await;
    let kinds: Vec<String> = brief(&seen).into_iter().map(|row| row.0).collect();
    assert_eq!(kinds[kinds.len() - 3..], ["output_text", "update_info", "output_file"]);
    assert_eq!(seen[seen.len() - 2][BODY], json!({"update_files": ["notes/a.txt", "plot.png"]}));
    assert!(seen.last().unwrap()["サムネイル画像"].is_string());
    assert_eq!(
        std::fs::read_to_string(gateway.project().join("notes/a.txt")).unwrap(),
        "hello\nworld"
    );
    // The chat is told whose work that was.
    let told = front.chat.until("update_info").await;
    let expected = json!({"update_files": ["notes/a.txt", "plot.png"], "チャンネル": "2"});
    assert_eq!((&told[CHANNEL], &told[BODY]), (&json!("0"), &expected));
    assert_eq!(front.input.until("output_file").await["ファイル名"], "plot.png");
    assert!(texts(&seen).contains(&"output_stream: world".to_owned()));
}

#[tokio::test]
async fn four_agents_work_at_the_same_time() {
    let gateway = Gateway::start().await;
    let mut front = Frontend::open(gateway.addr, None).await;
    // Each waits for a file that another one writes: one after the other they would never end.
    let waits = "run for i in $(seq 200); do [ -e flagN ] && exit 0; sleep 0.05; done; echo never";
    for (pane, own, other) in [("1", "a", "d"), ("2", "b", "a"), ("3", "c", "b"), ("4", "d", "c")] {
        front
            .type_in(
                pane,
                &format!(
                    "run touch flag{own}\n{}\nsay met",
                    waits.replace("flagN", &format!("flag{other}"))
                ),
            )
            .await;
    }
    for agent in &mut front.agents {
        let seen = agent.collect_until(|packet| packet[KIND] == "output_text").await;
        assert!(!texts(&seen).contains(&"output_stream: never".to_owned()));
        assert_eq!(seen.last().unwrap()[BODY], "met");
    }
}

#[tokio::test]
async fn a_cancel_overtakes_uploads() {
    let gateway = Gateway::start().await;
    let mut front = Frontend::open(gateway.addr, None).await;
    front.type_in("1", "hello\nsleep 30").await;
    front.agents[0].until_where(says("output_stream", "hello")).await;
    let image = base64_simd::STANDARD.encode_to_string(crate::routing::picture(5000, 5000));
    for _ in 0..6 {
        front
            .input
            .send(&json!({CHANNEL: "0", KIND: "input_file", BODY: image, "ファイル名": "a.png"}))
            .await;
    }
    let mut second =
        crate::support::Client::open(gateway.addr, "input", Some(front.session())).await;
    second.send(&json!({CHANNEL: "1", KIND: "cancel_run", "要求番号": 1})).await;
    front.agents[0].until_where(says("output_text", "処理を中断しました。")).await;
    // The cancel was first although the uploads came before it.
    front.input.send(&json!({CHANNEL: "file", KIND: "files_temp"})).await;
    let mut stored = 0;
    while stored < 6 {
        stored += usize::from(front.chat.next().await[KIND] == "input_file");
    }
    assert_eq!(second.until("ack").await["要求番号"], 1);
}

#[tokio::test]
async fn a_numbered_cancel_sent_right_behind_its_request_stops_it() {
    let gateway = Gateway::start().await;
    let mut front = Frontend::open(gateway.addr, None).await;
    for round in 0..10 {
        let text = json!({CHANNEL: "1", KIND: "input_text", BODY: "sleep 30", "要求番号": format!("t{round}")});
        let cancel = json!({CHANNEL: "1", KIND: "cancel_run", "要求番号": format!("c{round}")});
        front.input.send(&text).await;
        front.input.send(&cancel).await;
        front.agents[0].until_where(says("output_text", "処理を中断しました。")).await;
    }
}

#[tokio::test]
async fn a_cancel_sent_twice_stops_one_run() {
    let gateway = Gateway::start().await;
    let mut front = Frontend::open(gateway.addr, None).await;
    for seconds in ["sleep 30", "sleep 31", "say third"] {
        front.type_in("1", seconds).await;
    }
    front.agents[0].until_where(|packet| packet["待ち順"] == 2).await;
    let cancel = json!({CHANNEL: "1", KIND: "cancel_run", "要求番号": "c1"});
    front.input.send(&cancel).await;
    front.input.send(&cancel).await;
    let acks = [front.input.until("ack").await, front.input.until("ack").await];
    assert_eq!(acks.map(|ack| ack["重複"].clone()), [json!(false), json!(true)]);
    // The second run has the channel now, and a new cancel reaches it.
    front.agents[0].until_where(says("output_stream", "<<< 処理開始 >>>")).await;
    front.cancel("1").await;
    let seen = front.agents[0].collect_until(says("output_text", "third")).await;
    let cancels = texts(&seen).iter().filter(|text| text.starts_with("cancel_run")).count();
    assert_eq!(cancels, 1, "{seen:#?}");
}

#[tokio::test]
async fn cancelling_everything_reaches_what_was_asked_for_just_before() {
    let gateway = Gateway::start().await;
    let mut front = Frontend::open(gateway.addr, None).await;
    for round in 0..10 {
        front.type_in("1", "sleep 30").await;
        front.agents[0].until_where(says("output_stream", "<<< 処理開始 >>>")).await;
        let text = json!({CHANNEL: "1", KIND: "input_text", BODY: "sleep 40", "要求番号": format!("t{round}")});
        front.input.send(&text).await;
        front.input.send(&json!({CHANNEL: "1", KIND: "cancel_run", "実行番号": "all"})).await;
        front.input.until("ack").await;
        front.type_in("1", "say free").await;
        front.agents[0].until_where(says("output_text", "free")).await;
    }
}

#[tokio::test]
async fn files_of_a_run_are_told_before_the_next_run_starts() {
    let gateway = Gateway::start().await;
    let mut front = Frontend::open(gateway.addr, None).await;
    front.type_in("1", "sleep 0.2\nimage one.png\nimage two.png").await;
    front.type_in("1", "say next").await;
    let seen = front.agents[0].collect_until(says("output_text", "next")).await;
    let starts: Vec<usize> =
        (0..seen.len()).filter(|at| seen[*at][BODY] == "<<< 処理開始 >>>").collect();
    let files: Vec<usize> = (0..seen.len()).filter(|at| seen[*at][KIND] == "output_file").collect();
    assert_eq!(files.len(), 2);
    assert!(files.iter().all(|at| *at > starts[0] && *at < starts[1]), "{seen:#?}");
}
