//! `docs/asyncapi-api.yaml` is sound in itself and says what the session API does, no less and no more. Every client of
//! the session API in other tests holds its frames against it too; see `client`.

use crate::asyncapi::{check_document, check_sent_messages, examples, object, strings, words};
use crate::docs::{close_codes, read};
use crate::golden_api::{fixtures, types};
use crate::protocol::{SESSION_API, Way, api_protocol, document};
use kakehashi::dialect::api::client_types;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// Binary frames have no type; the document calls them so.
const SOUND: &str = "sound";

#[test]
fn every_golden_frame_of_the_api_is_in_its_document() {
    for (name, frame) in fixtures() {
        let way = if name.starts_with("client_") { Way::Receive } else { Way::Send };
        api_protocol().check(SESSION_API, way, frame["type"].as_str().unwrap(), &frame);
    }
}

#[test]
fn every_example_of_the_document_is_a_golden_frame() {
    let golden: Vec<Value> = fixtures().into_iter().map(|(_, frame)| frame).collect();
    for (name, message, example) in examples(&document("asyncapi-api")) {
        assert_eq!(message["name"], example["type"], "{name}");
        assert!(golden.contains(example), "{name}: {example}");
    }
}

#[test]
fn every_type_of_the_code_is_listed_and_no_other() {
    let kinds = |way| api_protocol().kinds(way).map(str::to_owned).collect::<BTreeSet<_>>();
    let mut received: BTreeSet<String> = client_types().map(str::to_owned).into();
    received.extend(["hello", SOUND].map(str::to_owned));
    assert_eq!(kinds(Way::Receive), received);
    let mut sent = types("server_");
    sent.insert(SOUND.to_owned());
    assert_eq!(kinds(Way::Send), sent);
}

#[test]
fn every_error_code_of_the_api_is_listed_and_no_other() {
    let document = document("asyncapi-api");
    let listed = strings(&document["components"]["schemas"]["ErrorCode"]["enum"]);
    let mut used = BTreeSet::new();
    for file in ["src/dialect/api/error.rs", "src/message/problem.rs", "src/server/door.rs"] {
        let code = read(file);
        let (_, body) = code.split_once("fn code(").expect(file);
        used.extend(words(body.split("\n    }\n").next().unwrap()));
    }
    used.insert("settings_refused".to_owned());
    assert_eq!(listed, used);
}

#[test]
fn every_close_code_of_the_api_is_listed_and_no_other() {
    let document = document("asyncapi-api");
    let listed: BTreeSet<String> =
        object(&document["x-close-codes"]).map(|row| row.0.clone()).collect();
    let mut used = close_codes();
    // Of the first packet of an AIコア socket.
    assert!(used.remove("3501") && used.remove("3503"));
    assert_eq!(listed, used);
}

#[test]
fn frames_that_the_document_does_not_allow_are_noticed() {
    let allows = |way, frame: Value| {
        api_protocol().allows(SESSION_API, way, frame["type"].as_str().unwrap(), &frame)
    };
    assert!(allows(Way::Send, json!({"type": "ready"})));
    assert!(!allows(Way::Send, json!({"type": "ready", "more": 1})));
    assert!(!allows(Way::Send, json!({"type": "send", "to": "chat", "text": "a"})));
    assert!(!allows(Way::Send, json!({"type": "ack", "request": 7})));
    assert!(allows(Way::Receive, json!({"type": "discard", "agent": "agent1", "more": 1})));
    assert!(!allows(Way::Receive, json!({"type": "discard", "agent": "agent5"})));
    assert!(!allows(Way::Receive, json!({"type": "ready"})));
}

#[test]
fn frames_of_the_gateway_have_no_keys_that_are_not_listed() {
    check_sent_messages(&document("asyncapi-api"));
}

#[test]
fn the_document_of_the_api_is_sound() {
    check_document(&document("asyncapi-api"), "/api/ws");
}
