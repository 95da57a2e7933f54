//! Calls that nobody has allowed: shown and written down, however the agent came to them.

use crate::acp::AGENT;
use crate::findings::{audit, decided, gateway, gateway_in};
use crate::panes::Panes;
use crate::process::Process;
use crate::support::{BODY, Client, Home, KIND};
use serde_json::{Value, json};
use std::process::Command;
use std::time::Instant;

/// Who is told about tools as packets.
async fn watcher(front: &Panes, addr: std::net::SocketAddr) -> Client {
    let more = json!({"履歴件数": 0, "機能": ["agents", "confirm"]});
    let mut pane = Client::open_with(addr, "1", Some(&front.session()), more).await;
    pane.until("welcome_text").await;
    pane
}

/// The last news of a run's tools: state, and whether nobody has allowed it.
async fn tool_told(pane: &mut Client) -> (Value, Value) {
    let over = |packet: &Value| {
        packet[BODY] == "<<< 処理終了 >>>"
            || packet[BODY] == "<<< 処理中断 >>>"
            || packet[BODY] == "!"
    };
    let packets = pane.collect_until(over).await;
    let mut tools = packets.iter().filter(|packet| packet[KIND] == "tool");
    let last = &tools.next_back().unwrap()[BODY];
    (last["状態"].clone(), last["承認なし"].clone())
}

#[tokio::test]
async fn a_call_that_does_not_keep_to_its_answer_is_ungated() {
    let home = Home::new();
    let process = gateway(&home, "");
    let mut front = Panes::open(process.addr, None).await;
    let mut watcher = watcher(&front, process.addr).await;
    for (word, approved, told) in [
        ("ask-told", false, Some("it was refused and went on all the same")),
        ("ask-changed", true, Some("it went on with another input than the one that was judged")),
        ("ask-told", true, None),
        ("ask-and-add", true, None),
        ("ask", false, None),
    ] {
        front.type_in(1, word).await;
        let question = front.question(1).await;
        front.decide(&question, approved).await;
        let lines = front.told(1).await.lines;
        let alarm = lines.iter().find(|line| line.contains("CRITICAL")).cloned();
        let expected = told.map(|told| format!("[tool] CRITICAL Write a.txt: {told}"));
        assert_eq!(alarm, expected, "{word}");
        let state = if word == "ask" { "failed" } else { "completed" };
        let expected = (json!(state), json!(told.is_some()));
        assert_eq!(tool_told(&mut watcher).await, expected, "{word}");
        let by_user = decided(if approved { "allowed" } else { "refused" }, "user");
        let mut expected = vec![by_user];
        expected.splice(0..0, told.map(|_| decided("allowed", "nobody")));
        assert_eq!(audit(&home)[..expected.len()], expected, "{word}");
    }
    assert_eq!(audit(&home).iter().filter(|row| row.1 == "nobody").count(), 2);
}

/// The last news of a run's tools: state, whether nobody has allowed it, and what went wrong.
async fn tool_failed(pane: &mut Client) -> (Value, Value, Value) {
    let failed = |packet: &Value| packet[KIND] == "tool" && packet[BODY]["状態"] == "failed";
    let last = pane.until_where(failed).await[BODY].clone();
    (last["状態"].clone(), last["承認なし"].clone(), last["エラー"].clone())
}

#[tokio::test]
async fn a_call_that_failed_without_asking_is_not_ungated() {
    let home = Home::new();
    let process = gateway(&home, "");
    let mut front = Panes::open(process.addr, None).await;
    let mut watcher = watcher(&front, process.addr).await;
    let lines = front.ask(1, "failure").await.lines;
    let told = tool_failed(&mut watcher).await;
    assert_eq!(told, (json!("failed"), json!(false), json!("no")));
    assert!(lines.iter().any(|line| line == "[tool] Write a.txt: failed"), "{lines:?}");
    assert!(audit(&home).is_empty());
}

#[tokio::test]
async fn a_command_that_ran_unasked_is_ungated_however_it_ended() {
    let home = Home::new();
    let process = gateway(&home, "");
    let mut front = Panes::open(process.addr, None).await;
    let mut watcher = watcher(&front, process.addr).await;
    for (count, word) in [(1, "run-failure"), (2, "exit-failure"), (3, "output-failure")] {
        front.ask(1, word).await;
        let (state, ungated, _) = tool_failed(&mut watcher).await;
        assert_eq!((state, ungated), (json!("failed"), json!(true)), "{word}");
        let rows = audit(&home);
        assert_eq!((rows.len(), &rows[0]), (count, &decided("allowed", "nobody")), "{word}");
    }
}

#[tokio::test]
async fn a_refused_call_without_an_end_is_told_as_refused() {
    for (language, refused) in
        [("en", "it was refused"), ("ja", "許可されなかったため、実行されていません")]
    {
        let home = Home::new();
        let process = gateway_in(language, &home, "");
        let mut front = Panes::open(process.addr, None).await;
        let mut watcher = watcher(&front, process.addr).await;
        for word in ["ask-and-end", "ask-and-hush"] {
            front.type_in(1, word).await;
            let question = front.question(1).await;
            front.decide(&question, false).await;
            front.told(1).await;
            let told = tool_failed(&mut watcher).await;
            assert_eq!(told, (json!("failed"), json!(false), json!(refused)), "{word}");
        }
        // Nobody has said no: the run ended.
        front.type_in(1, "ask-and-wait").await;
        front.question(1).await;
        front.cancel(1).await;
        let told = tool_failed(&mut watcher).await;
        assert_eq!((&told.0, &told.1), (&json!("failed"), &json!(false)));
        assert_ne!(told.2, json!(refused));
        front.pane(1).until_where(|packet| packet[BODY] == "<<< 処理中断 >>>").await;
    }
}

#[tokio::test]
async fn a_replayed_history_is_neither_shown_nor_audited() {
    let home = Home::new();
    let settings = format!(
        "language = \"en\"\n[[agents]]\nname = \"test\"\nkind = \"acp\"\n\
         command = [\"python3\", \"{AGENT}\", \"--load\", \"--load-late\", \"0.05\"]\n\
         [settings]\nCODE_AI1_NAME = \"test\"\n"
    );
    let process = Process::start(&home, &settings);
    let mut front = Panes::open(process.addr, None).await;
    let session = front.session();
    assert_eq!(front.ask(1, "hello").await.answer, "hello there");
    process.kill();
    let process = Process::start(&home, &settings);
    let mut front = Panes::open(process.addr, Some(&session)).await;
    let told = front.ask(1, "hello").await;
    assert_eq!(told.answer, "hello there");
    assert!(!told.forgot() && !told.lines.iter().any(|line| line.contains("old")), "{told:?}");
    assert!(audit(&home).is_empty());
}

#[tokio::test]
async fn a_call_that_does_not_wait_for_its_answer_is_ungated() {
    let home = Home::new();
    let process = gateway(&home, "");
    let mut front = Panes::open(process.addr, None).await;
    let lines = front.ask(1, "ask-and-go-on hello").await.lines;
    let told = "[tool] CRITICAL Write a.txt: it did not wait for the answer";
    assert!(lines.iter().any(|line| line == told), "{lines:?}");
    assert_eq!(audit(&home), [decided("refused", "end"), decided("allowed", "nobody")]);
}

#[tokio::test]
async fn a_call_is_judged_by_all_that_its_agent_has_told_about_it() {
    let home = Home::new();
    let process = gateway(&home, "");
    let mut front = Panes::open(process.addr, None).await;
    assert_eq!(front.ask(1, "ask-less sudo").await.answer, "the-reject_once");
    front.type_in(1, "ask-less ls").await;
    let question = front.question(1).await;
    assert_eq!(question["入力"], r#"{"command":"ls"}"#);
    front.decide(&question, true).await;
    let told = front.told(1).await;
    assert_eq!(told.answer, "the-allow_once");
    assert!(!told.lines.iter().any(|line| line.contains("CRITICAL")), "{told:?}");
}

#[tokio::test]
async fn a_call_without_an_end_ends_with_its_run() {
    let home = Home::new();
    let process = gateway(&home, "");
    let mut front = Panes::open(process.addr, None).await;
    let mut watcher = watcher(&front, process.addr).await;
    for (request, is_cancelled) in
        [("begun-tool hello", false), ("begun-tool wait", true), ("begun-tool die", false)]
    {
        front.type_in(1, request).await;
        watcher.until_where(|packet| packet[BODY]["状態"] == "started").await;
        if is_cancelled {
            front.cancel(1).await;
        }
        assert_eq!(tool_told(&mut watcher).await, (json!("failed"), json!(true)), "{request}");
        assert_eq!(audit(&home)[0], decided("allowed", "nobody"), "{request}");
    }
    assert_eq!(audit(&home).len(), 3);
    // Also when that is cut off by the end of the gateway.
    front.type_in(1, "begun-tool wait").await;
    watcher.until_where(|packet| packet[BODY]["状態"] == "started").await;
    assert_eq!(process.end(Instant::now()).0, Some(0));
    assert_eq!(audit(&home).len(), 4);
}

/// Of the newest decision.
fn why(home: &Home) -> String {
    let mut audit = Command::new(env!("CARGO_BIN_EXE_kakehashi"));
    audit.args(["audit", "--json", "--last", "1", "--data"]).arg(home.data.path()).env_clear();
    audit.arg("--config").arg(home.data.path().join("settings.toml"));
    let row: Value = serde_json::from_slice(&audit.output().unwrap().stdout).unwrap();
    row["reason"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_call_that_kill_9_has_cut_off_ends_at_the_next_start() {
    let allowed = || vec![decided("allowed", "user"), decided("allowed", "user")];
    let unasked = || vec![decided("allowed", "nobody")];
    for (request, answer, name, ungated, decisions) in [
        ("begun-tool wait", None, "Write a.txt", true, unasked()),
        ("ask-begun wait", Some(true), "Writing a.txt", false, allowed()),
        ("ask-hinted wait", Some(true), "Writing a.txt", false, allowed()),
        // Nobody has said yes, so there is nothing of which the outcome would be unknown.
        ("ask-begun wait", None, "Write a.txt", false, vec![decided("refused", "end")]),
        // A yes is for one call.
        ("ask-told begun-again wait", Some(true), "Writing again", true, unasked()),
    ] {
        let home = Home::new();
        let process = gateway(&home, "");
        let mut front = Panes::open(process.addr, None).await;
        let mut pane = watcher(&front, process.addr).await;
        // What is over stays as it was.
        front.type_in(1, "silent-tool").await;
        assert_eq!(tool_told(&mut pane).await.0, "completed");
        front.type_in(1, request).await;
        if request.starts_with("ask") {
            let question = front.question(1).await;
            if let Some(approved) = answer {
                front.decide(&question, approved).await;
            }
        }
        let begun =
            |packet: &Value| packet[BODY]["名前"] == name && packet[BODY]["状態"] == "started";
        pane.until_where(begun).await;
        let before = audit(&home);
        process.kill();
        for _ in 0..2 {
            let process = gateway(&home, "");
            let more = json!({"機能": ["agents", "confirm"]});
            let session = Some(front.session());
            let mut pane = Client::open_with(process.addr, "1", session.as_deref(), more).await;
            let packets = pane.collect_until(|packet| packet[BODY] == "<<< 処理中断 >>>").await;
            let last = packets.iter().rfind(|packet| packet[KIND] == "tool").unwrap();
            let told = &last[BODY];
            assert_eq!(
                (&told["名前"], &told["状態"]),
                (&json!(name), &json!("failed")),
                "{request}"
            );
            assert_eq!(told["承認なし"], ungated, "{request}");
            assert!(told["エラー"].as_str().unwrap().contains("restart"), "{told}");
            let ends = packets.iter().filter(|packet| packet[BODY]["状態"] == "failed").count();
            assert_eq!(ends, 1, "{packets:?}");
            let rows = audit(&home);
            assert_eq!(rows[..decisions.len()], decisions, "{request}: {before:?} {rows:?}");
            assert_eq!(why(&home).contains("outcome is unknown"), rows[0].0 == "allowed");
            process.kill();
        }
    }
}
