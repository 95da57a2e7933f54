//! `docs/asyncapi-core-ui.yaml` is sound in itself and says what the first form of the core/UI interface does, no less
//! and no more. Every client of it in other tests holds its frames against it too; see `client`.

use crate::asyncapi::{check_document, check_sent_messages, examples, object, strings, words};
use crate::docs::{close_codes, read};
use crate::golden_core_ui::{fixtures, types};
use crate::protocol::{CORE_UI, Way, core_ui_protocol, document};
use kakehashi::dialect::core_ui::client_types;
use serde_json::{Value, json};
use std::collections::BTreeSet;

const DOCUMENT: &str = "asyncapi-core-ui";

/// Golden frames of the first form.
fn golden() -> impl Iterator<Item = (String, Value)> {
    fixtures().into_iter().filter(|(name, _)| !name.starts_with("agent_event_"))
}

#[test]
fn every_golden_frame_of_the_core_ui_interface_is_in_its_document() {
    for (name, frame) in golden() {
        let way = if name.starts_with("client_") { Way::Receive } else { Way::Send };
        core_ui_protocol().check(CORE_UI, way, frame["type"].as_str().unwrap(), &frame);
    }
}

#[test]
fn every_example_of_the_document_is_a_golden_frame() {
    let golden: Vec<Value> = golden().map(|(_, frame)| frame).collect();
    for (name, message, example) in examples(&document(DOCUMENT)) {
        assert_eq!(message["name"], example["type"], "{name}");
        assert!(golden.contains(example), "{name}: {example}");
    }
}

#[test]
fn every_type_of_the_code_is_listed_and_no_other() {
    let kinds = |way| core_ui_protocol().kinds(way).map(str::to_owned).collect::<BTreeSet<_>>();
    assert_eq!(kinds(Way::Receive), client_types().map(str::to_owned).into());
    assert_eq!(kinds(Way::Send), types("server_"));
    // The names of the document are constants of the code.
    let code = read("src/dialect/core_ui/wire.rs");
    let rows = code.lines().filter_map(|line| line.strip_prefix("pub(super) const "));
    let names: BTreeSet<_> =
        rows.filter_map(|row| Some(row.split('"').nth(1)?.to_owned())).collect();
    assert_eq!(&kinds(Way::Receive) | &kinds(Way::Send), names);
}

/// The codes of the interface: those of the code, in capitals, two of them by other names.
pub(crate) fn codes() -> BTreeSet<String> {
    let mut used = BTreeSet::from(["run_failed".to_owned()]);
    for file in ["src/dialect/core_ui/error.rs", "src/message/problem.rs", "src/server/door.rs"] {
        let code = read(file);
        let (_, body) = code.split_once("fn code(").expect(file);
        used.extend(words(body.split("\n    }\n").next().unwrap()));
    }
    // There are no keys, switches, sounds, lists and choices here, and connections that only read cannot send.
    let never = [
        "too_many_keys",
        "too_many_controls",
        "not_holder",
        "list_failed",
        "no_choice",
        "read_only",
    ];
    for code in never {
        assert!(used.remove(code), "{code}");
    }
    let name = |code: &String| match code.as_str() {
        "nothing_to_confirm" => "UNKNOWN_CONFIRMATION".to_owned(),
        "confirm_twice" => "CONFIRM_AGAIN".to_owned(),
        other => other.to_ascii_uppercase(),
    };
    used.iter().map(name).collect()
}

#[test]
fn every_error_code_of_the_core_ui_interface_is_listed_and_no_other() {
    let document = document(DOCUMENT);
    assert_eq!(strings(&document["components"]["schemas"]["ErrorCode"]["enum"]), codes());
}

#[test]
fn every_close_code_of_the_core_ui_interface_is_listed_and_no_other() {
    let document = document(DOCUMENT);
    let listed: BTreeSet<String> =
        object(&document["x-close-codes"]).map(|row| row.0.clone()).collect();
    let mut used = close_codes();
    // Of the first packet of an AIコア socket, and of the hello of the session API.
    for other in ["3501", "3502", "3503"] {
        assert!(used.remove(other), "{other}");
    }
    assert_eq!(listed, used);
}

#[test]
fn frames_that_the_document_does_not_allow_are_noticed() {
    let allows = |way, frame: Value| {
        core_ui_protocol().allows(CORE_UI, way, frame["type"].as_str().unwrap(), &frame)
    };
    let session = format!("ws-{}", "0".repeat(32));
    let state = |state: &str| {
        json!({
            "type": "onAgentStateChange", "sessionId": session, "seq": 8, "timestamp": 1,
            "payload": {"state": state, "sessionId": session},
        })
    };
    assert!(allows(Way::Send, state("thinking")));
    assert!(!allows(Way::Send, state("asleep")));
    assert!(!allows(Way::Send, json!({"type": "onAgentStateChange", "payload": {}})));
    assert!(!allows(Way::Send, json!({"type": "cancel"})));
    assert!(allows(Way::Receive, json!({"type": "cancel", "more": 1})));
    assert!(!allows(Way::Receive, json!({"type": "cancel", "payload": null})));
    assert!(!allows(Way::Receive, json!({"type": "provideConfirmation", "payload": {}})));
}

#[test]
fn frames_of_the_gateway_have_no_keys_that_are_not_listed() {
    check_sent_messages(&document(DOCUMENT));
}

#[test]
fn the_document_of_the_core_ui_interface_is_sound() {
    check_document(&document(DOCUMENT), "/core-ui/ws");
}
