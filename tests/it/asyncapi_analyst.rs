//! `docs/asyncapi-analyst.yaml` is sound in itself and says what the data analyst does, no less and no more. The client
//! in `analyst` holds what it is sent against it too.

use crate::asyncapi::{check_document, check_sent_messages, examples, object, strings, words};
use crate::docs::{close_codes, read};
use crate::golden_analyst::{fixtures, types};
use crate::protocol::{ANALYST, Way, analyst_protocol, document};
use kakehashi::dialect::analyst::client_types;
use serde_json::{Value, json};
use std::collections::BTreeSet;

const DOCUMENT: &str = "asyncapi-analyst";

#[test]
fn every_golden_frame_of_the_analyst_is_in_its_document() {
    for (name, frame) in fixtures() {
        let way = if name.starts_with("client_") { Way::Receive } else { Way::Send };
        analyst_protocol().check(ANALYST, way, frame["type"].as_str().unwrap(), &frame);
    }
}

#[test]
fn every_example_of_the_document_is_a_golden_frame() {
    let golden: Vec<Value> = fixtures().into_iter().map(|(_, frame)| frame).collect();
    for (name, message, example) in examples(&document(DOCUMENT)) {
        assert_eq!(message["name"], example["type"], "{name}");
        assert!(golden.contains(example), "{name}: {example}");
    }
}

#[test]
fn every_type_of_the_analyst_is_listed_and_no_other() {
    let kinds = |way| analyst_protocol().kinds(way).map(str::to_owned).collect::<BTreeSet<_>>();
    assert_eq!(kinds(Way::Receive), client_types().map(str::to_owned).into());
    assert_eq!(kinds(Way::Send), types("server_"));
}

/// The codes that come through the socket.
pub(crate) fn codes() -> BTreeSet<String> {
    let mut used = BTreeSet::from(["run_failed".to_owned()]);
    for file in ["src/dialect/api/error.rs", "src/message/problem.rs", "src/server/door.rs"] {
        let code = read(file);
        let (_, body) = code.split_once("fn code(").expect(file);
        used.extend(words(body.split("\n    }\n").next().unwrap()));
    }
    // There is no sound, hello, microphone, key, switch, list and choice here, and connections that only read cannot
    // send.
    let never = [
        "no_audio",
        "bad_audio",
        "no_hello",
        "not_holder",
        "too_many_keys",
        "too_many_controls",
        "list_failed",
        "no_choice",
        "read_only",
    ];
    for code in never {
        assert!(used.remove(code), "{code}");
    }
    used
}

#[test]
fn every_error_code_of_the_analyst_is_listed_and_no_other() {
    let document = document(DOCUMENT);
    assert_eq!(strings(&document["components"]["schemas"]["ErrorCode"]["enum"]), codes());
}

#[test]
fn every_close_code_of_the_analyst_is_listed_and_no_other() {
    let document = document(DOCUMENT);
    let listed: BTreeSet<String> =
        object(&document["x-close-codes"]).map(|row| row.0.clone()).collect();
    let mut used = close_codes();
    // Of the first packet of an AIコア socket.
    assert!(used.remove("3501") && used.remove("3503"));
    assert_eq!(listed, used);
}

#[test]
fn frames_that_the_document_does_not_allow_are_noticed() {
    let allows = |way, frame: &Value| {
        analyst_protocol().allows(ANALYST, way, frame["type"].as_str().unwrap(), frame)
    };
    let at = "2026-02-26T19:34:53.000Z";
    let done = |outcome: &str, run: Value| json!({"type": "done", "seq": 8, "at": at, "run": run, "loops": 1, "outcome": outcome, "elapsed_ms": 5});
    assert!(allows(Way::Send, &done("finished", json!(3))));
    assert!(allows(Way::Send, &done("interrupted", Value::Null)));
    assert!(!allows(Way::Send, &done("asleep", json!(3))));
    assert!(!allows(Way::Send, &done("finished", json!("3"))));
    assert!(!allows(Way::Send, &json!({"type": "done"})));
    assert!(!allows(Way::Send, &json!({"type": "cancel"})));
    assert!(allows(Way::Receive, &json!({"type": "cancel", "more": 1})));
    assert!(!allows(Way::Receive, &json!({"type": "ask", "text": "\n"})));
    assert!(!allows(Way::Receive, &json!({"type": "answer", "id": "a", "approved": "true"})));
}

#[test]
fn frames_of_the_analyst_have_no_keys_that_are_not_listed() {
    check_sent_messages(&document(DOCUMENT));
}

/// Only the id of an error may be missing from what the gateway sends.
#[test]
fn frames_of_the_analyst_lack_no_key() {
    let document = document(DOCUMENT);
    let mut seen = 0;
    for (name, schema) in object(&document["components"]["schemas"]) {
        for object_of in [schema, &schema["items"]] {
            if object_of["additionalProperties"] != false {
                continue;
            }
            let mut keys: BTreeSet<String> =
                object(&object_of["properties"]).map(|row| row.0.clone()).collect();
            if name == "SessionError" {
                keys.remove("id");
            }
            assert_eq!(strings(&object_of["required"]), keys, "{name}");
            seen += 1;
        }
    }
    // The kinds that are sent, the other form of an error, and three parts.
    assert_eq!(seen, types("server_").len() + 4);
}

#[test]
fn the_document_of_the_analyst_is_sound() {
    check_document(&document(DOCUMENT), "/analyst/ws");
}
