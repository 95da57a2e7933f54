//! Where an agent may touch files, by whatever it says about them.

use crate::findings::{audit, decided, gateway, gateway_in};
use crate::panes::Panes;
use crate::support::Home;
use serde_json::{Value, json};

const ALLOWED: &str = "the-allow_once";
const REFUSED: &str = "the-reject_once";

/// What the agent gets for an answer when it asks for a call that no user is asked about.
async fn answered(front: &mut Panes, call: &Value) -> String {
    front.ask(1, &format!("ask-call {call}")).await.answer
}

#[tokio::test]
async fn a_path_is_judged_wherever_the_agent_names_it() {
    let home = Home::new();
    let process = gateway(&home, "");
    let mut front = Panes::open(process.addr, None).await;
    for (input, told, answer) in [
        (json!({}), json!(["/etc/passwd"]), REFUSED),
        (json!({"file_path": "/etc/passwd"}), json!([]), REFUSED),
        (json!({"options": {"paths": ["a.txt", "../../../etc/passwd"]}}), json!([]), REFUSED),
        (json!({"filePath": "/etc/passwd"}), json!(["a.txt"]), REFUSED),
        (json!({"file_path": "a.txt"}), json!([]), ALLOWED),
    ] {
        let told: Vec<_> =
            told.as_array().unwrap().iter().map(|path| json!({"path": path})).collect();
        let call = json!({"kind": "read", "rawInput": input, "locations": told});
        assert_eq!(answered(&mut front, &call).await, answer, "{call}");
        let decision = if answer == ALLOWED { "allowed" } else { "refused" };
        assert_eq!(audit(&home)[0], decided(decision, "rule"), "{call}");
    }
    // Nobody knows what this tool does with the path.
    let call = json!({"kind": "other", "rawInput": {"path": "/etc/passwd"}});
    front.type_in(1, &format!("ask-call {call}")).await;
    let question = front.question(1).await;
    assert_eq!(question["警告"]["level"], "CRITICAL");
    assert_eq!(question["警告"]["message"], "/etc/passwd is outside the place of work");
    front.decide(&question, false).await;
    assert_eq!(front.told(1).await.answer, REFUSED);
}

#[tokio::test]
async fn what_the_user_has_sent_may_be_read_and_not_changed() {
    let home = Home::new();
    let process = gateway(&home, "");
    let mut front = Panes::open(process.addr, None).await;
    let sent = home.data.path().canonicalize().unwrap().join("temp/local/input/a.txt");
    for (kind, answer) in
        [("read", ALLOWED), ("edit", REFUSED), ("delete", REFUSED), ("move", REFUSED)]
    {
        let told = json!({"kind": kind, "locations": [{"path": sent}]});
        let named = json!({"kind": kind, "rawInput": {"path": sent}});
        for call in [told, named] {
            assert_eq!(answered(&mut front, &call).await, answer, "{call}");
            assert_eq!(audit(&home)[0].1, "rule", "{call}");
        }
    }
}

#[tokio::test]
async fn a_refusal_says_why_in_the_language_of_its_user() {
    for (language, expected) in [
        ("en", "[tool] Call: agents do not get more rights than the gateway has"),
        ("ja", "[ツール] Call: エージェントにサーバー以上の権限は与えられません"),
    ] {
        let home = Home::new();
        let process = gateway_in(language, &home, "");
        let mut front = Panes::open(process.addr, None).await;
        let call = json!({"kind": "execute", "rawInput": {"command": "sudo"}});
        let told = front.ask(1, &format!("ask-call {call}")).await;
        assert_eq!(told.answer, REFUSED);
        assert!(told.lines.iter().any(|line| line == expected), "{:?}", told.lines);
    }
}
