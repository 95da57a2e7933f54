//! What clients of the session API may send is the same in the document and in the code that reads it, for any mixture
//! of keys, right and wrong.

use crate::protocol::{SESSION_API, Way, api_protocol};
use kakehashi::dialect::api::{ApiDialect, ApiError, client_types, read_hello};
use kakehashi::dialect::{Dialect, Received};
use kakehashi::locale::Locale;
use kakehashi::message::SessionId;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Map, Value, json};

/// Values of every type, for keys that are given a wrong one.
fn anything() -> Vec<Value> {
    let values = json!([null, true, false, 0, 7, -1, 1.5, "", "a", [], ["a"], {}, {"a": 1}]);
    values.as_array().unwrap().clone()
}

/// A key is left out, has one of these values, or has any value at all.
pub(crate) fn frame(keys: Vec<(&'static str, Value)>) -> impl Strategy<Value = Map<String, Value>> {
    let choice = |(key, values): (&'static str, Value)| {
        let usual = select(values.as_array().unwrap().clone());
        let value = prop_oneof![
            3 => Just(None),
            6 => usual.prop_map(Some),
            1 => select(anything()).prop_map(Some),
        ];
        value.prop_map(move |value| value.map(|value| (key.to_owned(), value)))
    };
    let choices: Vec<_> = keys.into_iter().map(choice).collect();
    choices.prop_map(|rows| rows.into_iter().flatten().collect())
}

fn command() -> impl Strategy<Value = Map<String, Value>> {
    let known = json!([
        {}, {"newest": "2026/11/17 10:00:00", "count": 3}, {"newest": null, "count": null}, {"count": -1},
        {"count": "3"}, {"newest": 5}, {"count": 1, "more": true}
    ]);
    let request = json!([1, "a-1", "", -1, 1.5, {}, "x".repeat(128), "x".repeat(129), u64::MAX]);
    let to = json!([
        "chat",
        "live",
        "agent1",
        "agent4",
        "agent5",
        "input",
        ["agent1"],
        ["agent1", "agent2"],
        ["chat"],
        [],
        [1]
    ]);
    frame(vec![
        ("to", to),
        ("text", json!(["hello", " ", "\n", "\u{3000}", "あ"])),
        ("run", json!([4, "all", "4", "none", 18_446_744_073_709_551_615_u64, 1e30])),
        ("id", json!(["q", ""])),
        ("approved", json!([true, false, "yes", 1])),
        ("always", json!([true, false, 1])),
        ("twice", json!([true, "true"])),
        ("name", json!(["a.csv", ""])),
        ("data", json!(["aGVsbG8=", "", "*"])),
        ("list", json!(["project", "recent", "all"])),
        ("all", json!([true, false, "all"])),
        ("known", known),
        ("agents", json!([["agent1"], ["agent1", "agent4"], ["agent5"], [], "agent1", [1]])),
        ("check", json!([true, false, 0])),
        ("tools", json!([["file:read"], [], null, "auto", [1]])),
        ("agent", json!(["agent1", "agent2", "agent9", 1])),
        ("path", json!(["src/main.rs", 7])),
        ("branch", json!(["b", "", 7])),
        ("comment", json!(["c", 7])),
        ("snapshot", json!(["s", "", 7])),
        ("generation", json!([3, -3, 1.5, "3"])),
        ("samples", json!([24000, -1])),
        ("buffered_ms", json!([120, 900_000, -1, 0.5])),
        ("underruns", json!([0, 3, -1])),
        ("pressed", json!([true, false, "start"])),
        ("request", request),
        ("unknown", json!([1, null])),
    ])
}

fn hello() -> impl Strategy<Value = Map<String, Value>> {
    let id = format!("ws-{}", "0".repeat(32));
    frame(vec![
        ("session", json!([id, "0123456789", "ws-xxxx", "", 5])),
        ("after", json!([0, 41, -1, "1", 0.5])),
        ("epoch", json!(["5f1c", "00000000000000FF", "z", "", "12345678901234567", 7])),
        ("history", json!([0, 100, -1, "1"])),
        ("features", json!([["audio", "playback"], ["none"], [], "audio", [1]])),
        ("rate", json!([8000, 48000, 16000, 7999, 48001, "16000"])),
        ("read_only", json!([true, false, 1, "true"])),
        ("language", json!(["ja", "en-GB", "fr", 5])),
        ("token", json!(["t", "", 5])),
        ("unknown", json!([1, null])),
    ])
}

fn in_document(frame: &Value) -> bool {
    api_protocol().allows(SESSION_API, Way::Receive, frame["type"].as_str().unwrap(), frame)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(4000) })]

    #[test]
    fn commands_of_the_api_mean_the_same_to_document_and_code(
        mut keys in command(),
        kind in select(client_types().to_vec()),
    ) {
        keys.insert("type".to_owned(), json!(kind));
        let frame = Value::Object(keys);
        let dialect = ApiDialect::new(SessionId::from_random(0), Locale::En, None);
        let documented = in_document(&frame);
        match dialect.decode(Received::Text(&frame.to_string())).map_err(|refusal| refusal.error) {
            Ok(_) => prop_assert!(documented, "taken, but not in the document: {frame}"),
            // A schema cannot tell what is inside base64.
            Err(ApiError::BadField { field: "data", .. }) => (),
            Err(error) => prop_assert!(!documented, "in the document, but {error}: {frame}"),
        }
    }

    #[test]
    fn hellos_mean_the_same_to_document_and_code(mut keys in hello()) {
        keys.insert("type".to_owned(), json!("hello"));
        let frame = Value::Object(keys);
        match read_hello(&frame.to_string()) {
            Ok(_) => prop_assert!(in_document(&frame), "taken, but not in the document: {frame}"),
            Err(error) => prop_assert!(!in_document(&frame), "in the document, but {error}: {frame}"),
        }
    }
}
