//! What clients of the data analyst may send is the same in the document and in the code that reads it, for any mixture
//! of keys, right and wrong.

use crate::agreement_api::frame;
use crate::golden_analyst::dialect;
use crate::protocol::{ANALYST, Way, analyst_protocol};
use kakehashi::dialect::analyst::client_types;
use kakehashi::dialect::{Dialect, Received};
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Map, Value, json};

fn keys() -> impl Strategy<Value = Map<String, Value>> {
    frame(vec![
        ("id", json!(["a-1", "c0ffee", "", "x".repeat(128), "x".repeat(129), 7])),
        ("text", json!(["how many rows?", " ", "\n", "\u{3000}", "あ"])),
        ("name", json!(["sales.csv", "", " ", "x".repeat(513), 7])),
        ("approved", json!([true, false, "true", 1])),
        ("unknown", json!([1, null])),
    ])
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(4000) })]

    #[test]
    fn commands_of_the_analyst_mean_the_same_to_document_and_code(
        mut keys in keys(),
        kind in select(client_types().to_vec()),
    ) {
        keys.insert("type".to_owned(), json!(kind));
        let frame = Value::Object(keys);
        let documented = analyst_protocol().allows(ANALYST, Way::Receive, kind, &frame);
        match dialect().decode(Received::Text(&frame.to_string())).map_err(|refusal| refusal.error) {
            Ok(_) => prop_assert!(documented, "taken, but not in the document: {frame}"),
            Err(error) => prop_assert!(!documented, "in the document, but {error}: {frame}"),
        }
    }
}

/// Longer texts are too slow to be made four thousand times.
#[test]
fn the_longest_question_is_the_same_to_document_and_code() {
    for (length, allowed) in [(256 * 1024, true), (256 * 1024 + 1, false)] {
        let frame = json!({"type": "ask", "text": "x".repeat(length)});
        assert_eq!(analyst_protocol().allows(ANALYST, Way::Receive, "ask", &frame), allowed);
        let read = dialect().decode(Received::Text(&frame.to_string()));
        assert_eq!(read.is_ok(), allowed, "{length}");
    }
}
