//! Nothing lost, nothing twice: cursors, reconnects, request numbers, history, two tabs, unloading.

use crate::rawsocket::{attach, packet};
use crate::support::{
    BODY, CHANNEL, Client, EPOCH, Frontend, Gateway, KIND, PATIENCE, RESUMED, SEQ, brief, cursor,
    seq,
};
use kakehashi::config::Config;
use serde_json::{Value, json};
use std::time::Duration;
use tokio::time::timeout;

fn ends(packet: &Value) -> bool {
    packet[KIND] == "output_text"
}

#[tokio::test]
async fn a_reconnect_at_every_point_gets_exactly_what_was_missed() {
    let gateway = Gateway::start().await;
    let mut front = Frontend::open(gateway.addr, None).await;
    front.type_in("1", "stream 12\nsay end").await;
    let all = front.agents[0].collect_until(ends).await;
    let (first, last) = (seq(&all[0]), seq(all.last().unwrap()));
    assert_eq!(last - first + 1, all.len() as u64);
    for seen in 0..=last {
        let more = cursor(&front.agents[0].init, seen);
        let mut again = Client::open_with(gateway.addr, "1", Some(front.session()), more).await;
        assert_eq!(again.init[RESUMED], true);
        for expected in all.iter().filter(|packet| seq(packet) > seen) {
            assert_eq!(&again.next().await, expected);
        }
        again.close().await;
    }
}

#[tokio::test]
async fn reconnects_in_the_middle_of_a_stream_lose_and_repeat_nothing() {
    const LINES: usize = 3000;
    let gateway = Gateway::start().await;
    let mut front = Frontend::open(gateway.addr, None).await;
    let session = front.session().to_owned();
    front.type_in("1", &format!("stream {LINES}\nsay end")).await;
    let mut lines = Vec::new();
    let mut seen = 0;
    let mut connects = 0;
    'all: loop {
        let more = cursor(&front.agents[0].init, seen);
        let mut client = Client::open_with(gateway.addr, "1", Some(&session), more).await;
        assert_eq!(client.init[RESUMED], true);
        connects += 1;
        for _ in 0..=(connects * 37 % 200) {
            let packet = client.next().await;
            assert_eq!(seq(&packet), seen + 1);
            seen += 1;
            lines.extend(
                packet[BODY].as_str().filter(|body| body.starts_with("line ")).map(str::to_owned),
            );
            if ends(&packet) {
                break 'all;
            }
        }
        drop(client);
    }
    let expected: Vec<String> = (1..=LINES).map(|number| format!("line {number}")).collect();
    assert!(connects > 5);
    assert_eq!(lines, expected);
}

#[tokio::test]
async fn a_cursor_that_cannot_be_continued_gets_the_whole_history() {
    let gateway = Gateway::start().await;
    let mut front = Frontend::open(gateway.addr, None).await;
    front.type_in("0", "hello").await;
    front.chat.until("output_text").await;
    for more in [
        json!({EPOCH: "0000000000000001", "最終連番": 1}),
        json!({EPOCH: "not hex", "最終連番": 1}),
        cursor(&front.chat.init, 999),
        json!({}),
    ] {
        let mut again =
            Client::open_with(gateway.addr, "0", Some(front.session()), more.clone()).await;
        assert_eq!(again.init[RESUMED], false, "{more}");
        let kinds: Vec<String> =
            brief(&again.collect_until(|packet| packet[KIND] == "welcome_text").await)
                .into_iter()
                .map(|row| row.0)
                .collect();
        assert_eq!(kinds, ["welcome_info", "input_text", "output_text", "welcome_text"]);
    }
}

#[tokio::test]
async fn a_client_can_ask_for_less_history() {
    let gateway = Gateway::start().await;
    let mut front = Frontend::open(gateway.addr, None).await;
    front.type_in("1", "stream 1000\nsay end").await;
    let all = front.agents[0].collect_until(ends).await;
    for count in [0, 1, 3, 5000] {
        let more = json!({"履歴件数": count});
        let mut again = Client::open_with(gateway.addr, "1", Some(front.session()), more).await;
        let mut got = again.collect_until(|packet| packet[KIND] == "welcome_text").await;
        got.pop();
        assert_eq!(got.remove(0)[KIND], "welcome_info");
        let expected = &all[all.len().saturating_sub(count)..];
        assert_eq!(got, expected);
    }
}

#[tokio::test]
async fn a_long_history_does_not_hold_up_what_passes_by() {
    let gateway = Gateway::start().await;
    let mut front = Frontend::open(gateway.addr, None).await;
    for _ in 0..3 {
        front
            .input
            .send(&json!({CHANNEL: "1", KIND: "input_request", BODY: "stream 5000\nsay end"}))
            .await;
    }
    for _ in 0..3 {
        front.agents[0]
            .until_where(|packet| packet[KIND] == "output_text" && packet[BODY] == "end")
            .await;
    }
    // New work goes on while the history is on its way; both arrive in order.
    let mut late = Client::open(gateway.addr, "1", Some(front.session())).await;
    front.type_in("1", "stream 2000\nsay last").await;
    let got =
        late.collect_until(|packet| packet[KIND] == "output_text" && packet[BODY] == "last").await;
    let numbers: Vec<u64> = got.iter().filter_map(|packet| packet[SEQ].as_u64()).collect();
    assert!(numbers.len() > 17_000);
    assert!(numbers.windows(2).all(|pair| pair[1] == pair[0] + 1));
}

#[tokio::test]
async fn a_numbered_command_is_carried_out_once() {
    let gateway = Gateway::start().await;
    let mut front = Frontend::open(gateway.addr, None).await;
    let session = front.session().to_owned();
    let packet = json!({CHANNEL: "0", KIND: "input_text", BODY: "once", "要求番号": "n-1"});
    for repeated in [false, true, true] {
        front.input.send(&packet).await;
        let ack = front.input.until("ack").await;
        assert_eq!((&ack["要求番号"], &ack["重複"]), (&json!("n-1"), &json!(repeated)));
        assert_eq!(ack.get(SEQ), None);
    }
    let mut other = Client::open(gateway.addr, "input", Some(&session)).await;
    other.send(&packet).await;
    assert_eq!(other.until("ack").await["重複"], true);
    let home = gateway.stop().await;
    let gateway = Gateway::start_at(home, |_| ()).await;
    let mut input = Client::open(gateway.addr, "input", Some(&session)).await;
    input.send(&packet).await;
    assert_eq!(input.until("ack").await["重複"], true);
    let mut chat = Client::open(gateway.addr, "0", Some(&session)).await;
    let history = chat.collect_until(|packet| packet[KIND] == "welcome_text").await;
    assert_eq!(history.iter().filter(|packet| packet[KIND] == "input_text").count(), 1);
    // Numbers belong to their session.
    let mut stranger = Client::open(gateway.addr, "input", None).await;
    stranger.send(&packet).await;
    assert_eq!(stranger.until("ack").await["重複"], false);
}

#[tokio::test]
async fn two_tabs_see_the_same_and_both_may_send() {
    let gateway = Gateway::start().await;
    let mut one = Frontend::open(gateway.addr, None).await;
    let mut two = Frontend::open(gateway.addr, Some(one.session())).await;
    one.type_in("0", "from one").await;
    two.type_in("1", "say from two").await;
    for tab in [&mut one, &mut two] {
        assert_eq!(tab.chat.until("output_text").await[BODY], "echo: from one");
        assert_eq!(tab.agents[0].until("output_text").await[BODY], "from two");
    }
    drop(one);
    two.type_in("0", "still here").await;
    two.chat.until_where(|packet| packet[BODY] == "echo: still here").await;
}

#[tokio::test]
async fn a_reader_only_reads() {
    let gateway = Gateway::start().await;
    let mut front = Frontend::open(gateway.addr, None).await;
    let view = json!({"閲覧": true});
    let mut input =
        Client::open_with(gateway.addr, "input", Some(front.session()), view.clone()).await;
    let mut chat = Client::open_with(gateway.addr, "0", Some(front.session()), view).await;
    input.send(&json!({CHANNEL: "0", KIND: "input_text", BODY: "no", "要求番号": "v"})).await;
    let error = input.until("error").await;
    assert_eq!((&error["コード"], &error["要求番号"]), (&json!("read_only"), &json!("v")));
    front.type_in("0", "yes").await;
    assert_eq!(chat.until("output_text").await[BODY], "echo: yes");
}

#[tokio::test]
async fn a_run_goes_on_without_sockets_and_its_result_is_there_later() {
    let gateway = Gateway::start().await;
    let mut front = Frontend::open(gateway.addr, None).await;
    let session = front.session().to_owned();
    let init = front.agents[0].init.clone();
    front.type_in("1", "hello\nsleep 0.5\nrun touch finished\nsay after").await;
    front.agents[0].until_where(|packet| packet[BODY] == "hello").await;
    drop(front);
    let mut again = Client::open_with(gateway.addr, "1", Some(&session), cursor(&init, 0)).await;
    let seen = again.collect_until(ends).await;
    assert_eq!(seen.last().unwrap()[BODY], "after");
    assert!(gateway.project().join("finished").exists());
}

#[tokio::test]
async fn an_unloaded_session_comes_back_as_it_was() {
    let gateway =
        Gateway::start_with(|config| config.limits.unload = Duration::from_millis(50)).await;
    let mut front = Frontend::open(gateway.addr, None).await;
    let session = front.session().to_owned();
    let epoch = front.chat.init[EPOCH].clone();
    front.input.send(&json!({KIND: "operations", BODY: {"ボタン": {"マイク": true}}})).await;
    front.type_in("0", "before").await;
    let last = seq(&front.chat.until("output_text").await);
    drop(front);
    let unloaded = async {
        while metric(&gateway, "kakehashi_sessions ").await != "0" {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(PATIENCE, unloaded).await.expect("it stays in memory");
    let input = Client::open(gateway.addr, "input", Some(&session)).await;
    assert_eq!(input.init[BODY]["ボタン"]["マイク"], true);
    let more = json!({EPOCH: epoch, "最終連番": last - 1});
    let mut chat = Client::open_with(gateway.addr, "0", Some(&session), more).await;
    assert_eq!(chat.init[RESUMED], true);
    assert_eq!(chat.next().await[BODY], "echo: before");
    assert_eq!(input.init[EPOCH], epoch);
}

#[tokio::test]
async fn heartbeats_come_while_there_is_an_input_and_again_after_it_came_back() {
    let gateway = Gateway::start().await;
    let mut input = Client::open(gateway.addr, "input", None).await;
    let session = input.session().to_owned();
    let mut counts = Vec::new();
    for _ in 0..2 {
        let beat = loop {
            let packet = input.next_of_any_kind().await;
            if packet[KIND] == "heartbeat" {
                break packet;
            }
        };
        assert!(beat[BODY]["時刻"].is_f64());
        assert_eq!(beat.get(CHANNEL), None);
        counts.push(beat[BODY]["カウント"].as_u64().unwrap());
        input.close().await;
        input = Client::open(gateway.addr, "input", Some(&session)).await;
    }
    assert!(counts[0] >= 1 && counts[1] > counts[0], "{counts:?}");
}

async fn metric(gateway: &Gateway, name: &str) -> String {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let mut stream = tokio::net::TcpStream::connect(gateway.addr).await.unwrap();
    let request =
        format!("GET /metrics HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", gateway.addr);
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut page = String::new();
    stream.read_to_string(&mut page).await.unwrap();
    let line = page.lines().find_map(|line| line.strip_prefix(name));
    line.unwrap_or_else(|| panic!("{page}")).to_owned()
}

#[tokio::test]
async fn a_limited_history_of_an_empty_channel_does_not_disturb_what_follows() {
    // More than the network between the two takes, so the gateway cannot send it to a client that does not read.
    const LINES: u64 = 12_000;
    let patient = |config: &mut Config| config.limits.write = Duration::from_secs(3600);
    let gateway = Gateway::start_with(patient).await;
    let mut input = Client::open(gateway.addr, "input", None).await;
    let session = input.session().to_owned();
    let text = format!("run seq -f '%.0f {}' {LINES}\nsay end", "x".repeat(500));
    for (pane, count) in [("1", 10), ("2", 1_000_000)] {
        let more = json!({"履歴件数": count});
        let (_, mut stalled) = attach(gateway.addr, pane, Some(&session), more).await;
        let mut reading = Client::open(gateway.addr, pane, Some(&session)).await;
        let sent = async || metric(&gateway, "kakehashi_frames_out_total ").await.parse::<u64>();
        let before = sent().await.unwrap();
        input.send(&json!({CHANNEL: pane, KIND: "input_text", BODY: text})).await;
        let all = reading.collect_until(ends).await;
        // The other one was sent so little that its queue of a few hundred events has overflowed: what it did not
        // get comes from the store.
        let sent = sent().await.unwrap() - before;
        assert!(sent < 2 * LINES - 3_000, "{sent} frames for two sockets: nothing had to wait");
        let mut got = vec![packet(&mut stalled).await];
        while !ends(got.last().unwrap()) {
            got.push(packet(&mut stalled).await);
        }
        let numbers = |packets: &[Value]| -> Vec<u64> {
            packets.iter().filter_map(|packet| packet[SEQ].as_u64()).collect()
        };
        assert_eq!(numbers(&got), numbers(&all));
    }
}

#[tokio::test]
async fn many_numbered_commands_at_once_are_all_acknowledged() {
    const COUNT: usize = 3000;
    let gateway = Gateway::start().await;
    let mut input = Client::open(gateway.addr, "input", None).await;
    for number in 0..COUNT {
        let body = json!({"ボタン": {"マイク": number % 2 == 0}});
        input.send(&json!({KIND: "operations", BODY: body, "要求番号": number})).await;
    }
    for number in 0..COUNT {
        assert_eq!(input.until("ack").await["要求番号"], number);
    }
}

#[tokio::test]
async fn a_number_and_its_text_name_the_same_command() {
    let gateway = Gateway::start().await;
    let mut front = Frontend::open(gateway.addr, None).await;
    let packet = |request: Value| json!({CHANNEL: "0", KIND: "input_text", BODY: "once", "要求番号": request});
    for number in 0..20 {
        front.input.send(&packet(json!(number))).await;
        front.input.send(&packet(json!(number.to_string()))).await;
        assert_eq!(front.input.until("ack").await["重複"], false);
        assert_eq!(front.input.until("ack").await["重複"], true);
    }
}

/// What a socket without a cursor is shown before its welcome ends.
async fn replayed(gateway: &Gateway, channel: &str, session: &str, more: Value) -> Vec<Value> {
    let mut client = Client::open_with(gateway.addr, channel, Some(session), more).await;
    assert_eq!(client.init[RESUMED], false);
    let mut got = client.collect_until(|packet| packet[KIND] == "welcome_text").await;
    got.pop();
    assert_eq!(got.remove(0)[KIND], "welcome_info");
    got
}

fn is_news(packet: &Value) -> bool {
    packet[KIND] == "update_info" || packet[CHANNEL] == "input"
}

#[tokio::test]
async fn news_reaches_attached_and_resuming_sockets_only() {
    let gateway = Gateway::start().await;
    let mut front = Frontend::open(gateway.addr, None).await;
    let session = front.session().to_owned();
    let request = "write notes.txt hi\nimage small.png\nsay end";
    front.input.send(&json!({CHANNEL: "1", KIND: "input_request", BODY: request})).await;
    let mut seen = Vec::new();
    seen.push(("1", front.agents[0].collect_until(|packet| packet[KIND] == "output_file").await));
    seen.push(("0", front.chat.collect_until(|packet| packet[KIND] == "update_info").await));
    seen.push(("input", front.input.collect_until(|packet| packet[KIND] == "output_file").await));
    let inits = [&front.agents[0].init, &front.chat.init, &front.input.init];
    for ((channel, all), init) in seen.iter().zip(inits) {
        let all: Vec<Value> = all.iter().filter(|row| row.get(SEQ).is_some()).cloned().collect();
        assert!(all.iter().any(is_news), "{channel}");
        // A page that is loaded anew is told what belongs to the conversation, and no more.
        let history: Vec<Value> = all.iter().filter(|row| !is_news(row)).cloned().collect();
        assert_eq!(replayed(&gateway, channel, &session, json!({})).await, history);
        let some = replayed(&gateway, channel, &session, json!({"履歴件数": all.len()})).await;
        assert_eq!(some, history);
        // Whoever was away for a moment has missed it, and gets it once.
        for lost in 0..=all.len() {
            let last = lost.checked_sub(1).map_or(seq(&all[0]) - 1, |last| seq(&all[last]));
            let more = cursor(init, last);
            let mut again = Client::open_with(gateway.addr, channel, Some(&session), more).await;
            assert_eq!(again.init[RESUMED], true);
            for expected in &all[lost..] {
                assert_eq!(&again.next().await, expected, "{channel} after {last}");
            }
        }
    }
    // Who came later is there for the next.
    let mut late = Client::open(gateway.addr, "1", Some(&session)).await;
    front.type_in("1", "write notes.txt again").await;
    let told = late.until("update_info").await;
    assert_eq!(told[BODY]["update_files"].as_array().unwrap().len(), 1);
}
