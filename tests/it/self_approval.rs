//! An agent that asks, and then tries to be the user who answers.

use crate::findings::{audit_at, decided};
use crate::panes::Panes;
use crate::sandbox::{Boxing, Lab, boxes};
use crate::support::{BODY, KIND, SOCKET_PATH};
use serde_json::{Value, json};

/// What the agent says about its attempts, after somebody has told it everything but the token. The user answers no
/// when it has tried, if the question is still open by then.
async fn attack(state: Boxing) -> (String, Vec<(String, String)>, Vec<(String, String)>) {
    let lab = Lab::new(state);
    let mut front = Panes::open(lab.addr(), None).await;
    front.type_in(1, "approve-itself").await;
    let question = front.question(1).await;
    let known = json!({
        "port": lab.addr().port(), "path": SOCKET_PATH, "session": front.session(), "id": question["id"],
        "data": lab.data(), "addresses": ["127.0.0.1", "localhost", "::1", "0.0.0.0", "127.0.0.2"],
    });
    // In one piece, because the agent waits for it.
    std::fs::write(lab.project().join("known"), known.to_string()).unwrap();
    std::fs::rename(lab.project().join("known"), lab.project().join("known.json")).unwrap();
    let tried = |packet: &Value| packet[BODY].as_str().is_some_and(|text| text.contains("tried"));
    front.pane(1).until_where(tried).await;
    let meanwhile = audit_at(&lab.data());
    front.decide(&question, false).await;
    let answer = front.pane(1).until_where(|packet| packet[KIND] == "output_text").await;
    (answer[BODY].as_str().unwrap().to_owned(), meanwhile, audit_at(&lab.data()))
}

#[tokio::test]
async fn an_agent_cannot_answer_its_own_question() {
    // Without a box it can, so the attempts are good ones.
    let (said, meanwhile, _) = attack(Boxing::Off).await;
    assert!(said.contains("some worked") && said.ends_with("the-allow_once"), "{said}");
    assert_eq!(meanwhile, [decided("allowed", "user")]);
    for state in boxes() {
        let (said, meanwhile, after) = attack(state).await;
        assert!(said.contains("none worked") && said.ends_with("the-reject_once"), "{said}");
        // The question stayed open, and nothing was decided but what the user has decided.
        assert_eq!(meanwhile, [], "{state:?}");
        assert_eq!(after, [decided("refused", "user")], "{state:?}");
    }
}
