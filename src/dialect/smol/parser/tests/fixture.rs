//! The responses of `tests/fixtures/smol/output_parser.json` and their frames.

use super::super::{AgentResponse, Image, parse};
use super::NOW;
use bytes::Bytes;
use serde_json::{Map, Value};

const FIXTURE: &str = include_str!("../../../../../tests/fixtures/smol/output_parser.json");

fn fixture() -> Value {
    serde_json::from_str(FIXTURE).unwrap()
}

fn frames(input: &Value, files: &Map<String, Value>) -> Vec<Value> {
    let response: AgentResponse = serde_json::from_value(input.clone()).unwrap();
    let open = |path: &str| {
        let data = files.get(path)?.as_str()?;
        let bytes = base64_simd::STANDARD.decode_to_vec(data).ok()?;
        Some(Image { bytes: Bytes::from(bytes) })
    };
    parse(&response, &open).outputs.iter().map(|output| output.frame(NOW)).collect()
}

#[test]
fn every_response_gives_its_frames() {
    let fixture = fixture();
    let files = fixture["files"].as_object().unwrap();
    let cases = fixture["cases"].as_array().unwrap();
    assert_eq!(cases.len(), 29);
    for case in cases {
        let found = Value::from(frames(&case["input"], files));
        assert_eq!(found, case["expected"], "{}", case["name"]);
    }
}

#[test]
fn every_difference_to_the_origin_has_its_reason() {
    let fixture = fixture();
    let differing =
        fixture["cases"].as_array().unwrap().iter().filter(|case| case["origin"].is_array());
    let mut count = 0;
    for case in differing {
        assert_ne!(case["origin"], case["expected"], "{}", case["name"]);
        assert!(case["why"].as_str().is_some_and(|why| !why.is_empty()), "{}", case["name"]);
        count += 1;
    }
    assert_eq!(count, 7);
}
