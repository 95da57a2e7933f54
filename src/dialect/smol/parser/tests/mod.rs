//! Tests of the whole parser.

mod codes;
mod definition;
mod fixture;
mod floor_orders;
mod hostile;
mod images;
mod points;

use super::{AgentResponse, Image, Output, Parsed, parse};
use serde_json::{Value, json};

const NOW: &str = "2026-11-19T00:00:00Z";

/// No file exists.
fn nothing(_: &str) -> Option<Image> {
    None
}

fn response(value: Value) -> AgentResponse {
    serde_json::from_value(value).unwrap()
}

fn parsed(value: Value) -> Parsed {
    parse(&response(value), &nothing)
}

/// The frames of one type.
#[track_caller]
fn frames(value: Value, kind: &str) -> Vec<Value> {
    let frames = parsed(value).outputs.into_iter().map(|one| one.frame(NOW));
    frames.filter(|frame| frame["type"] == kind).collect()
}

fn raw(text: &str) -> Value {
    json!({"text": "t", "raw_output": text})
}

#[test]
fn a_response_may_leave_out_or_null_everything() {
    assert_eq!(parsed(json!({})), Parsed::default());
    let nulls = json!({"text": null, "images": null, "map_data": null, "raw_output": null,
        "result": null, "code_steps": null, "logs": null, "error": null});
    assert_eq!(parsed(nulls), Parsed::default());
    assert_eq!(parsed(json!({"text": " \n"})), Parsed::default());
}

#[test]
fn a_response_is_written_as_it_was_read() {
    let value = json!({"text": "t", "images": ["a.png", {"content": "eA==", "format": "png"}],
        "map_data": null, "raw_output": "r", "result": 5,
        "code_steps": [{"code": "x", "step": "Step 1"}],
        "logs": ["a = 1", {"step_number": 1, "tool_calls": ["python_interpreter"]}]});
    assert_eq!(serde_json::to_value(response(value.clone())).unwrap(), value);
    let failed = json!({"text": "t", "error": true});
    assert_eq!(serde_json::to_value(response(failed)).unwrap()["error"], json!(true));
}

#[test]
fn a_failure_without_words_shows_what_was_printed() {
    let silent = json!({"text": "", "raw_output": "Traceback", "error": true});
    assert_eq!(parsed(silent).outputs, [Output::Error("Traceback".to_owned())]);
    assert_eq!(parsed(json!({"text": "", "raw_output": "printed"})).outputs, []);
}

#[test]
fn outputs_stand_in_the_order_of_the_document() {
    let all = json!({
        "text": "Kitchen ```py\nin_text\n``` CLEAR_MAP_COMMAND",
        "raw_output": "Code:\n  labelled\n```\nin_raw\n```\ndata:image/png;base64,eA==\n\
            ARROW_COMMAND: room=Toilet, direction=up\nCLEAR_ARROWS_COMMAND\n{\"lat\": 1, \"lon\": 2}\n\
            MAP_COMMAND: {\"floorId\": \"1F\"}",
        "code_steps": [{"code": "stepped"}],
        "logs": ["logged = 1"],
    });
    let frames = parsed(all).outputs.into_iter().map(|one| one.frame(NOW));
    let told: Vec<String> = frames
        .map(|frame| match frame["type"].as_str().unwrap() {
            "code" => frame["content"].as_str().unwrap().to_owned(),
            "map" => {
                if frame["content"]["points"].is_array() { "points" } else { "floor" }.to_owned()
            }
            kind => kind.to_owned(),
        })
        .collect();
    let wanted = "stepped in_raw labelled logged = 1 in_text text image points highlight_room arrow \
        clear_arrows floor clear_map";
    assert_eq!(told.join(" "), wanted);
}

#[test]
fn a_long_text_is_cut_between_characters() {
    let long = "\u{3042}".repeat(super::limit::MAX_TEXT);
    let outputs = parsed(json!({"text": long})).outputs;
    let [Output::Text(text)] = &outputs[..] else { panic!("{} outputs", outputs.len()) };
    assert!(text.ends_with("\u{3042}\n[...]") && text.len() <= super::limit::MAX_TEXT + 6);
}
