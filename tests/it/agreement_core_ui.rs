//! What clients of the core/UI interface may send is the same in the document and in the code that reads it, for any
//! mixture of keys, right and wrong.

use crate::agreement_api::frame;
use crate::golden_core_ui::dialect;
use crate::protocol::{CORE_UI, Way, core_ui_protocol};
use kakehashi::dialect::core_ui::{CoreUiError, client_types};
use kakehashi::dialect::{Dialect, Received};
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Map, Value, json};

const PNG: &str = "iVBORw0KGgo=";

fn payload() -> impl Strategy<Value = Map<String, Value>> {
    let picture = json!({"type": "image", "data": PNG});
    let attachments = json!([
        [],
        [picture],
        [{"type": "image", "data": format!("data:image/png;base64,{PNG}"), "more": 1}],
        [{"type": "sound", "data": PNG}],
        [{"type": "image"}],
        [{"type": "image", "data": 5}],
        [{"data": PNG}],
        ["image"],
        vec![picture.clone(); 8],
        vec![picture; 9],
        null
    ]);
    frame(vec![
        ("text", json!(["hello", " ", "\n", "\u{3000}", "あ"])),
        ("attachments", attachments),
        ("confirmationId", json!(["c0ffee", ""])),
        ("approved", json!([true, false, "true", 1])),
        ("sessionId", json!([format!("ws-{}", "0".repeat(32)), null])),
        ("unknown", json!([1, null])),
    ])
}

fn outer() -> impl Strategy<Value = Map<String, Value>> {
    frame(vec![
        ("id", json!(["a-1", "", "x".repeat(128), "x".repeat(129), 7])),
        ("sessionId", json!([format!("ws-{}", "0".repeat(32)), null])),
        ("unknown", json!([1, null])),
    ])
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(4000) })]

    #[test]
    fn commands_of_the_core_ui_interface_mean_the_same_to_document_and_code(
        mut keys in outer(),
        payload in prop_oneof![
            1 => select(vec![None, Some(Value::Null), Some(json!([])), Some(json!("a"))]),
            9 => payload().prop_map(|payload| Some(Value::Object(payload))),
        ],
        kind in select(client_types().to_vec()),
    ) {
        keys.insert("type".to_owned(), json!(kind));
        keys.extend(payload.map(|payload| ("payload".to_owned(), payload)));
        let frame = Value::Object(keys);
        let documented = core_ui_protocol().allows(CORE_UI, Way::Receive, kind, &frame);
        match dialect().decode(Received::Text(&frame.to_string())).map_err(|refusal| refusal.error) {
            Ok(_) => prop_assert!(documented, "taken, but not in the document: {frame}"),
            // A schema can tell neither what is inside base64 nor which session is the client's.
            Err(CoreUiError::BadField { field: "data", .. } | CoreUiError::WrongSession) => (),
            Err(error) => prop_assert!(!documented, "in the document, but {error}: {frame}"),
        }
    }
}
