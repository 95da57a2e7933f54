//! `docs/asyncapi-agent-ui.yaml` is sound in itself and says what the agent UI does, no less and no more. The client in
//! `smol` holds what it is sent against it too.

use crate::asyncapi::{check_document, check_sent_messages, examples, object};
use crate::docs::close_codes;
use crate::golden_smol::{fixtures, types};
use crate::protocol::{AGENT_UI, Way, agent_ui_protocol, document};
use serde_json::{Value, json};
use std::collections::BTreeSet;

const DOCUMENT: &str = "asyncapi-agent-ui";

/// A message of a client has no type.
fn kind(frame: &Value) -> &str {
    frame["type"].as_str().unwrap_or("message")
}

#[test]
fn every_golden_frame_of_the_agent_ui_is_in_its_document() {
    for (name, frame) in fixtures() {
        let way = if name.starts_with("client_") { Way::Receive } else { Way::Send };
        agent_ui_protocol().check(AGENT_UI, way, kind(&frame), &frame);
    }
}

#[test]
fn every_example_of_the_agent_ui_is_a_golden_frame() {
    let golden: Vec<Value> = fixtures().into_iter().map(|(_, frame)| frame).collect();
    for (name, message, example) in examples(&document(DOCUMENT)) {
        assert_eq!(message["name"], kind(example), "{name}");
        assert!(golden.contains(example), "{name}: {example}");
    }
}

#[test]
fn every_type_of_the_agent_ui_is_listed_and_no_other() {
    let kinds = |way| agent_ui_protocol().kinds(way).map(str::to_owned).collect::<BTreeSet<_>>();
    let received = ["message", "cancel", "confirm"].map(str::to_owned);
    assert_eq!(kinds(Way::Receive), received.into());
    assert_eq!(kinds(Way::Send), types());
}

#[test]
fn every_close_code_of_the_agent_ui_is_listed_and_no_other() {
    let document = document(DOCUMENT);
    let listed: BTreeSet<String> =
        object(&document["x-close-codes"]).map(|row| row.0.clone()).collect();
    let mut used = close_codes();
    // Of the first packet of an AIコア socket.
    assert!(used.remove("3501") && used.remove("3503"));
    // Its address has nothing else that could be wrong.
    assert!(used.remove("3502"));
    assert_eq!(listed, used);
}

#[test]
fn frames_that_the_agent_ui_does_not_send_are_noticed() {
    let allows =
        |frame: &Value| agent_ui_protocol().allows(AGENT_UI, Way::Send, kind(frame), frame);
    let arrow = |room: &str| json!({"type": "arrow", "content": {"room": room, "direction": "up"}});
    assert!(allows(&arrow("Kitchen")));
    assert!(!allows(&arrow("Attic")));
    assert!(!allows(&json!({"type": "text", "content": "a", "more": 1})));
    assert!(!allows(&json!({"type": "map", "content": {"points": [{"lat": 91, "lon": 0}]}})));
    assert!(!allows(&json!({"type": "cancel"})));
}

#[test]
fn frames_of_the_agent_ui_have_no_keys_that_are_not_listed() {
    check_sent_messages(&document(DOCUMENT));
}

#[test]
fn the_document_of_the_agent_ui_is_sound() {
    check_document(&document(DOCUMENT), "/ws");
}
