//! `docs/asyncapi.yaml` is sound in itself and says what the code does, no less and no more. The sockets of all other
//! tests hold their packets against it too; see `protocol`.

use crate::docs::{close_codes, filled, fixtures, keys, read, toml_file};
use crate::protocol::{Way, document, protocol, resolve, validator};
use crate::support::{BODY, CHANNEL, KIND, SESSION};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// The seed's samples of what clients send; its other samples are answers.
const SENT: [&str; 5] = [
    "seed_7_1_input_audio",
    "seed_7_2_input_text",
    "seed_7_4_files_backup_request",
    "seed_7_7_input_image",
    "seed_7_8_cancel_run",
];

#[test]
fn every_golden_frame_is_in_the_document() {
    for (name, frame) in fixtures() {
        let text = filled(&frame.to_string()).replace("ws-xxxx", &format!("ws-{}", "0".repeat(32)));
        let frame: Value = serde_json::from_str(&text).unwrap();
        let kind = frame[KIND].as_str().unwrap();
        let sample = SENT.iter().any(|sent| name.ends_with(&format!("{sent}.json")));
        if sample || name.contains("/client_") {
            let sound = ["input_audio", "playback_ack", "push_to_talk"].contains(&kind);
            let socket = if sound { "audio" } else { "input" };
            protocol().check(socket, Way::Receive, kind, &frame);
        } else {
            let frame = numbered(frame, name.contains("/seed_"));
            let socket = frame[CHANNEL].as_str().unwrap_or("input");
            protocol().check(socket, Way::Send, frame[KIND].as_str().unwrap(), &frame);
        }
    }
}

/// The seed did not know numbers; our lists have them.
fn numbered(mut frame: Value, seed: bool) -> Value {
    if seed && frame[KIND] != "output_audio" {
        frame["連番"] = json!(7);
    }
    frame
}

#[test]
fn every_message_has_an_example_of_its_own_form() {
    let document = document("asyncapi");
    for (name, message, example) in examples(&document) {
        let kind = example[KIND].as_str().unwrap_or("connect");
        assert_eq!(message["name"], kind, "{name}");
    }
}

/// The examples of all messages, each with the name of its message; they are valid, and none is missing.
pub(crate) fn examples(document: &Value) -> Vec<(&str, &Value, &Value)> {
    let mut found = Vec::new();
    for (name, message) in object(&document["components"]["messages"]) {
        // Sound has no example that a schema could check.
        if message["contentType"] == "application/octet-stream" {
            continue;
        }
        let examples = message["examples"].as_array().expect(name);
        assert!(!examples.is_empty(), "{name}");
        let form = validator(document, &message["payload"]);
        for example in examples {
            let valid = form.validate(&example["payload"]);
            assert!(valid.is_ok(), "{name}: {valid:?}");
            found.push((name.as_str(), message, &example["payload"]));
        }
    }
    found
}

#[test]
fn what_the_gateway_sends_has_no_other_keys() {
    check_sent_messages(&document("asyncapi"));
}

/// What the gateway sends has no keys that its document does not list.
pub(crate) fn check_sent_messages(document: &Value) {
    for message in sent_messages(document) {
        check_strict(document, &message["payload"]);
    }
}

#[test]
fn a_packet_that_is_not_in_the_document_is_noticed() {
    let session = format!("ws-{}", "0".repeat(32));
    let packet = json!({KIND: "system_info", SESSION: session, BODY: "a"});
    let allows = |socket, packet: Value| {
        protocol().allows(socket, Way::Send, packet[KIND].as_str().unwrap(), &packet)
    };
    assert!(allows("0", packet));
    assert!(!allows("0", json!({KIND: "system_info", SESSION: session, BODY: "a", "key": 1})));
    assert!(!allows("0", json!({KIND: "system_info", SESSION: session})));
    assert!(!allows("0", json!({KIND: "heartbeat", SESSION: session, BODY: {}})));
    assert!(!allows("input", json!({KIND: "unknown", SESSION: session, BODY: "a"})));
}

/// An object with listed keys takes no others, however deep it is; the user's switches are free.
#[track_caller]
fn check_strict(document: &Value, schema: &Value) {
    match schema {
        Value::Object(keys) => {
            assert!(
                !keys.contains_key("properties")
                    || keys.get("additionalProperties") == Some(&Value::Bool(false)),
                "{schema}"
            );
            if keys.contains_key("$ref") {
                check_strict(document, resolve(document, schema));
            }
            keys.values().for_each(|value| check_strict(document, value));
        }
        Value::Array(values) => values.iter().for_each(|value| check_strict(document, value)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => (),
    }
}

#[test]
fn every_kind_of_the_code_is_listed_and_no_other() {
    let decode = read("src/dialect/aicore/decode.rs");
    let (_, names) = decode.split_once("const NAMES").unwrap();
    let mut received = words(names.split("];").next().unwrap());
    received.insert("connect".to_owned());
    assert_eq!(kinds(Way::Receive), received);

    let mut sent = BTreeSet::new();
    for file in ["encode", "mod", "reject"] {
        let code = read(&format!("src/dialect/aicore/{file}.rs"));
        let code = code.split("fn code(").next().unwrap().to_owned();
        // The words of `say` are names of texts.
        let lines = code.lines().filter(|line| !line.contains(".say(") && !line.contains("[error"));
        sent.extend(words(&lines.collect::<Vec<_>>().join("\n")));
    }
    // This one is put together by hand.
    sent.insert("output_audio".to_owned());
    assert_eq!(kinds(Way::Send), sent);
}

#[test]
fn every_error_code_is_listed_and_no_other() {
    let document = document("asyncapi");
    let listed = strings(&document["components"]["schemas"]["ErrorCode"]["enum"]);
    assert_eq!(listed, keys(&toml_file("config/locales/en.toml")["error"]));
    let mut used = BTreeSet::new();
    for file in
        ["src/dialect/aicore/error.rs", "src/dialect/aicore/reject.rs", "src/message/problem.rs"]
    {
        let code = read(file);
        let (_, body) = code.split_once("fn code(").expect(file);
        used.extend(words(body.split("\n    }\n").next().unwrap()));
    }
    assert_eq!(listed, used);
}

#[test]
fn every_close_code_is_listed_and_no_other() {
    let document = document("asyncapi");
    let listed: BTreeSet<String> =
        object(&document["x-close-codes"]).map(|row| row.0.clone()).collect();
    assert_eq!(listed, close_codes());
}

#[test]
fn every_limit_and_setting_is_listed_with_its_default() {
    let (document, config) = (document("asyncapi"), toml_file("config/kakehashi.toml"));
    let listed: BTreeSet<(String, i64)> = object(&document["x-limits"])
        .map(|(key, row)| (key.clone(), row["default"].as_i64().unwrap()))
        .collect();
    let used = config["limits"].as_table().unwrap();
    assert_eq!(
        listed,
        used.iter().map(|(key, value)| (key.clone(), value.as_integer().unwrap())).collect()
    );
    let settings = &document["components"]["schemas"]["ModelSettings"];
    assert_eq!(strings(&settings["required"]), keys(&config["settings"]));
    let typed: BTreeSet<String> =
        object(&settings["properties"]).map(|row| row.0.clone()).collect();
    assert_eq!(typed, keys(&config["settings"]));
}

#[test]
fn the_document_is_sound() {
    check_document(&document("asyncapi"), kakehashi::dialect::aicore::SOCKET_PATH);
}

/// A document of this version whose channels are at `address`, and whose operations use every message once.
pub(crate) fn check_document(document: &Value, address: &str) {
    assert_eq!(document["asyncapi"], "3.0.0");
    assert_eq!(document["info"]["version"], env!("CARGO_PKG_VERSION"));
    assert!(document["info"]["title"].is_string());
    for part in ["servers", "channels", "operations", "components"] {
        assert!(object(&document[part]).next().is_some(), "{part}");
    }
    check_references(document, document);
    for (name, channel) in object(&document["channels"]) {
        assert_eq!(channel["address"], address, "{name}");
    }
    let mut used = BTreeSet::new();
    for (name, operation) in object(&document["operations"]) {
        assert!(matches!(operation["action"].as_str(), Some("send" | "receive")), "{name}");
        let channel = operation["channel"]["$ref"].as_str().unwrap();
        for message in operation["messages"].as_array().unwrap() {
            let message = message["$ref"].as_str().unwrap();
            assert!(message.starts_with(&format!("{channel}/messages/")), "{name}: {message}");
            assert!(used.insert(message.to_owned()), "{message} goes both ways");
        }
    }
    let offered = object(&document["channels"]).flat_map(|(name, channel)| {
        object(&channel["messages"]).map(move |row| format!("#/channels/{name}/messages/{}", row.0))
    });
    assert_eq!(used, offered.collect());
}

/// Every reference leads somewhere within the document.
pub(crate) fn check_references(document: &Value, part: &Value) {
    match part {
        Value::Object(keys) => {
            if keys.contains_key("$ref") {
                resolve(document, part);
            }
            keys.values().for_each(|value| check_references(document, value));
        }
        Value::Array(values) => values.iter().for_each(|value| check_references(document, value)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => (),
    }
}

pub(crate) fn object(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().unwrap_or_else(|| panic!("no object: {value}")).iter()
}

fn sent_messages(document: &Value) -> impl Iterator<Item = &Value> {
    let operations = object(&document["operations"]).filter(|row| row.1["action"] == "send");
    operations
        .flat_map(|(_, operation)| operation["messages"].as_array().unwrap())
        .map(|message| resolve(document, resolve(document, message)))
}

fn kinds(way: Way) -> BTreeSet<String> {
    protocol().kinds(way).map(str::to_owned).collect()
}

pub(crate) fn strings(list: &Value) -> BTreeSet<String> {
    list.as_array().unwrap().iter().map(|word| word.as_str().unwrap().to_owned()).collect()
}

/// The string literals that look like the name of a kind or a code.
pub(crate) fn words(code: &str) -> BTreeSet<String> {
    let code = code.lines().filter(|line| !line.trim_start().starts_with("//"));
    let code = code.collect::<Vec<_>>().join("\n");
    let literals = code.split('"').skip(1).step_by(2);
    let word = |text: &&str| {
        !text.is_empty()
            && text.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_'))
    };
    literals.filter(word).map(str::to_owned).collect()
}
