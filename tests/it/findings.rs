//! What real agents were seen to do around questions, done by the scripted one: however they take an answer, what was
//! decided is told and kept as it was decided.

use crate::acp::AGENT;
use crate::panes::Panes;
use crate::process::Process;
use crate::support::{BODY, CODE, Home, KIND};
use serde_json::{Value, json};
use std::path::Path;
use std::process::Command;

/// A gateway whose first slot is our agent, with further settings.
pub(crate) fn gateway(home: &Home, more: &str) -> Process {
    gateway_in("en", home, more)
}

pub(crate) fn gateway_in(language: &str, home: &Home, more: &str) -> Process {
    let settings = format!(
        "language = \"{language}\"\n[[agents]]\nname = \"test\"\nkind = \"acp\"\ncommand = [\"python3\", \"{AGENT}\"]\n\
         {more}[settings]\nCODE_AI1_NAME = \"test\"\n"
    );
    Process::start(home, &settings)
}

/// Who decided what, the newest first.
pub(crate) fn audit(home: &Home) -> Vec<(String, String)> {
    audit_at(home.data.path())
}

pub(crate) fn audit_at(data: &Path) -> Vec<(String, String)> {
    let mut audit = Command::new(env!("CARGO_BIN_EXE_kakehashi"));
    audit.args(["audit", "--json", "--data"]).arg(data).env_clear();
    audit.arg("--config").arg(data.join("settings.toml"));
    let lines = String::from_utf8(audit.output().unwrap().stdout).unwrap();
    let text = |row: &Value, key: &str| row[key].as_str().unwrap().to_owned();
    let row = |line: &str| serde_json::from_str::<Value>(line).unwrap();
    let rows = lines.lines().map(row);
    rows.map(|row| (text(&row, "decision"), text(&row, "by"))).collect()
}

pub(crate) fn decided(decision: &str, by: &str) -> (String, String) {
    (decision.to_owned(), by.to_owned())
}

#[tokio::test]
async fn a_refusal_is_a_refusal_however_the_agent_ends_then() {
    let home = Home::new();
    let process = gateway(&home, "");
    let mut front = Panes::open(process.addr, None).await;
    for word in ["ask-and-end", "ask-and-hush", "ask"] {
        front.type_in(1, word).await;
        let question = front.question(1).await;
        front.decide(&question, false).await;
        let result = front.pane(1).until("confirm_result").await;
        assert_eq!(
            (&result[BODY]["承認"], &result[BODY]["決定者"]),
            (&json!(false), &json!("user")),
            "{word}"
        );
        // The user has cancelled nothing, whatever the agent calls it.
        front.pane(1).until_where(|packet| packet[BODY] == "<<< 処理終了 >>>").await;
        assert_eq!(audit(&home)[0], decided("refused", "user"), "{word}");
    }
}

#[tokio::test]
async fn a_question_ends_with_its_agent() {
    let home = Home::new();
    let process = gateway(&home, "");
    let mut front = Panes::open(process.addr, None).await;
    front.type_in(1, "hello ask-and-die").await;
    let question = front.question(1).await;
    let result = front.pane(1).until("confirm_result").await;
    assert_eq!((&result[BODY]["id"], &result[BODY]["決定者"]), (&question["id"], &json!("end")));
    assert_eq!(front.ask(1, "hello").await.answer, "hello there");
    assert_eq!(audit(&home)[0], decided("refused", "end"));
}

#[tokio::test]
async fn a_question_ends_with_the_cancel_and_not_with_the_run() {
    let home = Home::new();
    let process = gateway(&home, "");
    let mut front = Panes::open(process.addr, None).await;
    front.type_in(1, "ask-and-stay").await;
    let question = front.question(1).await;
    front.cancel(1).await;
    front.decide(&question, true).await;
    assert_eq!(front.input.until("error").await[CODE], "nothing_to_confirm");
    let over = |packet: &Value| packet[BODY] == "<<< 処理中断 >>>";
    let packets = front.pane(1).collect_until(over).await;
    let at = |kind: &str| packets.iter().position(|packet| packet[KIND] == kind).unwrap();
    assert!(at("cancel_run") < at("confirm_result"), "{packets:?}");
    let result = &packets[at("confirm_result")][BODY];
    assert_eq!((&result["承認"], &result["決定者"]), (&json!(false), &json!("end")));
    assert_eq!(audit(&home), [decided("refused", "end")]);
}

#[tokio::test]
async fn no_answer_in_time_is_a_refusal_to_the_agent_and_no_cancel() {
    let home = Home::new();
    let process = gateway(&home, "[limits]\nconfirm_seconds = 1\n");
    let mut front = Panes::open(process.addr, None).await;
    assert_eq!(front.ask(1, "ask").await.answer, "the-reject_once");
    assert!(audit(&home).contains(&decided("refused", "time")));
}

/// Answers a question, so that nothing like it is asked again.
async fn always(front: &mut Panes, question: &Value) {
    let answer = json!({"id": question["id"], "承認": true, "常に": true, "再確認": true});
    front.input.send(&json!({KIND: "confirm_answer", BODY: answer})).await;
}

#[tokio::test]
async fn the_end_of_a_long_command_is_judged_too() {
    let home = Home::new();
    let process = gateway(&home, "");
    let mut front = Panes::open(process.addr, None).await;
    // Denied by a rule.
    assert_eq!(front.ask(1, "ask-long sudo").await.answer, "the-reject_once");
    assert_eq!(audit(&home)[0], decided("refused", "rule"));
    // What the user agrees to is shown as incomplete, and is this command only.
    for word in ["one", "two"] {
        front.type_in(1, &format!("ask-long {word}")).await;
        let question = front.question(1).await;
        let shown = question["入力"].as_str().unwrap();
        assert!(shown.len() < 20_000 && shown.ends_with("bytes that are not shown here]"));
        always(&mut front, &question).await;
        assert_eq!(front.told(1).await.answer, "the-allow_once");
    }
    assert_eq!(front.ask(1, "ask-long two").await.answer, "the-allow_once");
    assert_eq!(audit(&home)[0], decided("allowed", "rule"));
}

#[tokio::test]
async fn a_command_too_long_to_judge_is_asked_about_every_time() {
    let home = Home::new();
    let process = gateway(&home, "");
    let mut front = Panes::open(process.addr, None).await;
    for _ in 0..2 {
        front.type_in(1, "ask-huge one").await;
        let question = front.question(1).await;
        assert_eq!(question["警告"]["level"], "CRITICAL");
        assert!(question["警告"]["message"].as_str().unwrap().contains("too much to judge"));
        let shown = question["入力"].as_str().unwrap();
        let missing = 3_000_000 + r#"{"command":"\none"}"#.len() - 16 * 1024;
        assert!(shown.ends_with(&format!("[... {missing} more bytes that are not shown here]")));
        always(&mut front, &question).await;
        assert_eq!(front.told(1).await.answer, "the-allow_once");
    }
}

#[tokio::test]
async fn what_is_dangerous_takes_a_second_confirmation_every_time() {
    let home = Home::new();
    let process = gateway(&home, "");
    let mut front = Panes::open(process.addr, None).await;
    for _ in 0..2 {
        front.type_in(1, "ask-huge one").await;
        let question = front.question(1).await;
        assert_eq!(question["警告"]["level"], "CRITICAL");
        for more in [json!({}), json!({"再確認": false}), json!({"常に": true})] {
            let mut once = json!({"id": question["id"], "承認": true});
            once.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            front.input.send(&json!({KIND: "confirm_answer", BODY: once})).await;
            assert_eq!(front.input.until("error").await[CODE], "confirm_twice");
        }
        always(&mut front, &question).await;
        let told = front.told(1).await;
        assert_eq!(told.answer, "the-allow_once");
        let says_so = |line: &String| line.ends_with("a dangerous call is asked about every time");
        assert!(told.lines.iter().any(says_so), "{told:?}");
    }
    // A refusal needs no second one.
    front.type_in(1, "ask-huge one").await;
    let question = front.question(1).await;
    front
        .input
        .send(&json!({KIND: "confirm_answer", BODY: {"id": question["id"], "承認": false}}))
        .await;
    assert_eq!(front.told(1).await.answer, "the-reject_once");
}

#[tokio::test]
async fn a_change_at_the_end_of_a_large_file_is_shown() {
    let home = Home::new();
    let process = gateway(&home, "");
    let mut front = Panes::open(process.addr, None).await;
    front.type_in(1, "ask-late-change").await;
    let question = front.question(1).await;
    assert!(question["差分"].as_str().unwrap().contains("\n+the end\n"), "{question}");
    front.decide(&question, false).await;
    assert_eq!(front.told(1).await.answer, "the-reject_once");
}

#[tokio::test]
async fn only_calls_that_nobody_was_asked_about_are_called_ungated() {
    let home = Home::new();
    let process = gateway(&home, "");
    let mut front = Panes::open(process.addr, None).await;
    front.type_in(1, "ask-told").await;
    let question = front.question(1).await;
    front.decide(&question, true).await;
    assert_eq!(front.told(1).await.answer, "the-allow_once");
    assert_eq!(audit(&home), [decided("allowed", "user")]);
    front.ask(1, "silent-tool").await;
    assert_eq!(audit(&home), [decided("allowed", "nobody"), decided("allowed", "user")]);
}
