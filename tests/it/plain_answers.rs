//! Questions that are answered in plain words, and how long a word holds.

use crate::acp::AGENT;
use crate::http::post;
use crate::panes::Panes;
use crate::process::Process;
use crate::support::{BODY, Client, Frontend, Home, KIND, SESSION};
use serde_json::{Value, json};
use std::process::Command;

/// A gateway with two agents by different names; the first slot has the first.
fn gateway(home: &Home) -> Process {
    let row = |name: &str| {
        format!(
            "[[agents]]\nname = \"{name}\"\nkind = \"acp\"\ncommand = [\"python3\", \"{AGENT}\"]\n"
        )
    };
    let settings = "[settings]\nCODE_AI1_NAME = \"test\"\n";
    let rows = row("test") + &row("other");
    Process::start(home, &format!("language = \"en\"\n{rows}{settings}"))
}

async fn text(pane: &mut Client, part: &str) -> String {
    let says = |packet: &Value| packet[BODY].as_str().is_some_and(|text| text.contains(part));
    let packet = pane.until_where(says).await;
    assert_eq!(packet[KIND], "output_text", "{packet}");
    packet[BODY].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn with_several_questions_a_word_says_which_one_it_answers() {
    let home = Home::new();
    let process = gateway(&home);
    let mut front = Frontend::open(process.addr, None).await;
    front.type_in("1", "ask-both").await;
    for (number, tool) in [(1, "Write a.txt"), (2, "Write b.txt")] {
        let question = text(&mut front.agents[0], "asks for permission").await;
        assert!(question.starts_with(&format!("[{number}] ")) && question.contains(tool));
        assert!(question.contains(&format!("yes {number}")), "{question}");
    }
    for unclear in ["yes", "いいえ", "yes 3"] {
        front.type_in("1", unclear).await;
        let told = text(&mut front.agents[0], "Nothing was decided").await;
        assert!(told.contains("1, 2") && told.contains("yes 1"), "{told}");
    }
    front.type_in("1", "いいえ　２").await;
    text(&mut front.agents[0], "[2] Not allowed").await;
    // Only one is left, so there is no doubt.
    front.type_in("1", "はい").await;
    text(&mut front.agents[0], "[1] Allowed").await;
    text(&mut front.agents[0], "the-allow_once the-reject_once").await;
    // A number is not used again: a late answer does not meet another question.
    front.type_in("1", "ask").await;
    let question = text(&mut front.agents[0], "asks for permission").await;
    assert!(question.starts_with("[3] "), "{question}");
    front.type_in("1", "yes 2").await;
    let told = text(&mut front.agents[0], "Nothing was decided").await;
    assert!(told.contains("open: 3."), "{told}");
    front.type_in("1", "n 3").await;
    text(&mut front.agents[0], "[3] Not allowed").await;
}

/// A call with a difference, whose input says more than that.
fn call_with_a_difference(input: &Value) -> String {
    let diff = json!({"type": "diff", "path": "a.txt", "oldText": "old\n", "newText": "new\n"});
    let call = json!({"title": "Edit", "kind": "edit", "rawInput": input, "content": [diff]});
    format!("ask-call {call}")
}

#[tokio::test]
async fn a_question_in_words_says_as_much_as_a_dialog() {
    let home = Home::new();
    let process = gateway(&home);
    let mut front = Frontend::open(process.addr, None).await;
    let request = call_with_a_difference(&json!({"mode": "0777", "path": "a.txt"}));
    front.type_in("1", &request).await;
    let question = text(&mut front.agents[0], "asks for permission").await;
    let lines: Vec<&str> = question.lines().collect();
    assert_eq!(
        lines[..3],
        [
            "[1] The agent asks for permission: Edit",
            "WARN: risk: state_modifying",
            r#"{"mode":"0777","path":"a.txt"}"#
        ]
    );
    assert!(question.contains("\n-old\n+new\n"), "{question}");
    assert!(lines.last().unwrap().contains("within 300 seconds"), "{question}");
    front.type_in("1", "no").await;
    text(&mut front.agents[0], "[1] Not allowed").await;
    // A long input does not push the difference away.
    let long = json!({"note": "x".repeat(5_000), "path": "a.txt"});
    front.type_in("1", &call_with_a_difference(&long)).await;
    let question = text(&mut front.agents[0], "asks for permission").await;
    let missing = long.to_string().len() - 2048;
    assert!(question.contains(&format!("[... {missing} more bytes that are not shown here]")));
    assert!(question.contains("\n-old\n+new\n") && question.len() < 3_000, "{question}");
}

#[tokio::test]
async fn numbers_of_questions_go_on_after_a_restart() {
    let home = Home::new();
    let process = gateway(&home);
    let mut front = Frontend::open(process.addr, None).await;
    let session = front.session().to_owned();
    front.type_in("1", "ask-both").await;
    text(&mut front.agents[0], "[2] The agent asks").await;
    process.kill();
    let process = gateway(&home);
    let mut front = Frontend::open(process.addr, Some(&session)).await;
    front.type_in("1", "ask").await;
    text(&mut front.agents[0], "[3] The agent asks").await;
    // What was typed for a question of before decides nothing.
    front.type_in("1", "yes 1").await;
    text(&mut front.agents[0], "Nothing was decided").await;
    // Each agent counts for itself.
    choose(&process, &session, "CODE_AI2_NAME", "test").await;
    front.type_in("2", "ask").await;
    text(&mut front.agents[1], "[1] The agent asks").await;
}

async fn choose(process: &Process, session: &str, name: &str, value: &str) {
    let body = json!({SESSION: session, "モデル設定": {name: value}});
    let answer = post("/core/AIコア/モデル情報/設定", &body).local().send(process.addr).await;
    assert_eq!(answer.status, 200, "{name} {value}");
}

/// Whether the user is asked; if so, the answer is for always.
async fn is_asked(front: &mut Panes) -> bool {
    front.type_in(1, "ask").await;
    let found = |packet: &Value| packet[KIND] == "confirm_request" || packet[KIND] == "output_text";
    let packet = front.pane(1).until_where(found).await;
    if packet[KIND] == "output_text" {
        return false;
    }
    let always = json!({"id": packet[BODY]["id"], "承認": true, "常に": true});
    front.input.send(&json!({KIND: "confirm_answer", BODY: always})).await;
    front.pane(1).until("output_text").await;
    true
}

#[tokio::test]
async fn always_holds_for_one_agent_in_one_place() {
    let home = Home::new();
    for arguments in [&["init", "-q"][..], &["commit", "-q", "--allow-empty", "-m", "start"]] {
        let mut git = Command::new("git");
        git.args(["-c", "user.name=a", "-c", "user.email=a@b"]).args(arguments);
        assert!(git.current_dir(home.project.path()).status().unwrap().success());
    }
    let process = gateway(&home);
    let mut front = Panes::open(process.addr, None).await;
    let session = front.session();
    assert!(is_asked(&mut front).await);
    assert!(!is_asked(&mut front).await);
    // Another agent is not trusted for the first one's sake, and neither is that one when it comes back.
    choose(&process, &session, "CODE_AI1_NAME", "other").await;
    assert!(is_asked(&mut front).await);
    choose(&process, &session, "CODE_AI1_NAME", "test").await;
    assert!(is_asked(&mut front).await);
    assert!(!is_asked(&mut front).await);
    choose(&process, &session, "CODE_AI1_NAME", "other").await;
    choose(&process, &session, "CODE_AI1_NAME", "test").await;
    assert!(is_asked(&mut front).await);
    // In the project itself the same change is another one.
    choose(&process, &session, "CODE_AI1_PLACE", "shared").await;
    text(front.pane(1), "works in the project itself now").await;
    assert!(is_asked(&mut front).await);
    assert!(!is_asked(&mut front).await);
}
