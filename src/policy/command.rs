//! What of a call is a command, or may be one. A file that is written and a text that is searched for may hold any
//! word; what a word does to the machine it only does where it runs.

use super::{Call, risk, words};
use serde_json::Value;

/// The last word of keys such as `command`, `shell_command`, `argv`, `commandLine`.
const KEYS: [&str; 17] = [
    "command",
    "commands",
    "cmd",
    "cmds",
    "commandline",
    "cmdline",
    "argv",
    "args",
    "script",
    "scripts",
    "shell",
    "bash",
    "sh",
    "exec",
    "run",
    "program",
    "executable",
];

/// All texts of a call that may run. Of a tool of which nobody knows what it does, that is everything.
pub(super) fn texts(call: &Call, input: &Value) -> Vec<String> {
    if !is_known_not_to_run(&call.kind) {
        return everything(call, input);
    }
    let mut found = Vec::new();
    match input {
        Value::Object(fields) if fields.is_empty() => found.extend(titles(call)),
        Value::Object(_) => found.extend(under_keys(input)),
        // Nothing says what it is.
        Value::String(_) | Value::Array(_) => found.push(words(input)),
        Value::Null if call.input.is_empty() || call.input == "null" => found.extend(titles(call)),
        // No JSON: its end is missing, and that is asked about anyway.
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
    found
}

/// What stands under keys of commands.
pub(super) fn under_keys(input: &Value) -> Vec<String> {
    let mut found = Vec::new();
    collect(input, &mut found);
    found
}

/// Title, name and the whole input: as it is written, and its texts one after another.
pub(super) fn everything(call: &Call, input: &Value) -> Vec<String> {
    titles(call).chain([call.input.clone(), words(input)]).collect()
}

fn titles(call: &Call) -> impl Iterator<Item = String> {
    [Some(&call.tool), call.name.as_ref()].into_iter().flatten().cloned()
}

/// By its kind it works on files, looks something up, or only talks.
fn is_known_not_to_run(kind: &str) -> bool {
    matches!(kind, "read" | "search" | "edit" | "delete" | "move" | "fetch" | "think" | "errand")
}

fn collect(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                let is_text = matches!(value, Value::String(_) | Value::Array(_));
                if is_text && is_command_key(key) {
                    found.push(words(value));
                }
                collect(value, found);
            }
        }
        Value::Array(values) => values.iter().for_each(|value| collect(value, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// `command_line` is known by its last two words.
fn is_command_key(key: &str) -> bool {
    let words = risk::words(key);
    let two = words[words.len().saturating_sub(2)..].concat();
    words.last().is_some_and(|last| KEYS.contains(&last.as_str())) || KEYS.contains(&two.as_str())
}
