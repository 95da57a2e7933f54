//! What of a call is a command, or may be one. A file that is written and a text that is searched for may hold any
//! word; what a word does to the machine it only does where it runs.

use super::shell::Command;
use super::{Call, risk, words};
use serde_json::{Map, Value};
use std::path::PathBuf;

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

/// Keys of what is added to a command.
const ARGUMENTS: [&str; 3] = ["args", "argv", "arguments"];
/// Keys of where a command runs, by their last word or their last two.
const PLACES: [&str; 8] =
    ["cwd", "pwd", "workdir", "workingdir", "workingdirectory", "dir", "directory", "folder"];

/// What a call runs as a shell would, or may run.
pub(super) fn commands(call: &Call, input: &Value) -> Vec<Command> {
    let mut found = Vec::new();
    in_objects(input, &mut found);
    let (runs, is_known) = (call.kind == "execute", is_known_not_to_run(&call.kind));
    let is_empty = says_nothing(call, input);
    match input {
        _ if is_empty && runs => {
            found.extend(titles(call).map(|title| Command::Script(title_only(&title))))
        }
        _ if is_empty => found.extend(titles(call).map(Command::Perhaps)),
        // It is no JSON, so it is what the agent wrote down of a command.
        Value::Null if runs && call.unseen == 0 => found.push(Command::Script(call.input.clone())),
        Value::Null => found.push(Command::Perhaps(call.input.clone())),
        Value::String(text) if runs => found.push(Command::Script(text.clone())),
        Value::String(text) => found.push(Command::Perhaps(text.clone())),
        Value::Array(values) => found.extend(in_array(values, false)),
        Value::Object(_) if !is_known && (found.is_empty() || !runs) => {
            found.extend(titles(call).map(Command::Perhaps));
            leaves(input, &mut found);
        }
        Value::Object(_) | Value::Bool(_) | Value::Number(_) => {}
    }
    found
}

/// Texts of which nobody knows whether they run: patterns are looked for in them, because no shell may read them.
pub(super) fn unclear(call: &Call, input: &Value) -> Vec<String> {
    let mut found = Vec::new();
    in_objects(input, &mut found);
    let is_clear = call.kind == "execute" && !found.is_empty() && call.unseen == 0;
    if is_clear || is_known_not_to_run(&call.kind) { Vec::new() } else { everything(call, input) }
}

/// Directories that the input names for its command.
pub(super) fn places(input: &Value) -> Vec<PathBuf> {
    let mut found = Vec::new();
    if let Value::Object(fields) = input {
        for (key, value) in fields {
            let is_place = is_one_of(&PLACES, key);
            found.extend(value.as_str().filter(|_| is_place).map(super::mention::as_path));
        }
    }
    found
}

fn says_nothing(call: &Call, input: &Value) -> bool {
    match input {
        Value::Null => call.input.is_empty() || call.input == "null",
        Value::Object(fields) => fields.is_empty(),
        Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => false,
    }
}

/// Some agents tell the command only in the title, between backquotes or with remarks in brackets behind it.
fn title_only(title: &str) -> String {
    let title = title.trim();
    let bare = title.strip_prefix('`').and_then(|title| title.strip_suffix('`')).unwrap_or(title);
    if super::shell::is_readable(bare) {
        return bare.to_owned();
    }
    let end = [" [", " ("].iter().filter_map(|mark| bare.find(mark)).min().unwrap_or(bare.len());
    bare[..end].to_owned()
}

fn in_objects(value: &Value, found: &mut Vec<Command>) {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                if is_command_key(key) {
                    found.extend(of_key(key, value, fields));
                }
                in_objects(value, found);
            }
        }
        Value::Array(values) => values.iter().for_each(|value| in_objects(value, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// One command with what its object adds to it.
fn of_key(key: &str, value: &Value, fields: &Map<String, Value>) -> Vec<Command> {
    let is_plural = key.ends_with('s') && !is_one_of(&ARGUMENTS, key);
    match value {
        Value::String(text) if !is_one_of(&ARGUMENTS, key) => {
            let mut script = text.clone();
            for (key, value) in fields.iter().filter(|(key, _)| is_one_of(&ARGUMENTS, key)) {
                let quote = |text: &str| format!(" '{}'", text.replace('\'', r"'\''"));
                match value {
                    Value::String(more) if key != "argv" => script = format!("{script} {more}"),
                    Value::Array(more) => {
                        script.extend(more.iter().filter_map(Value::as_str).map(quote))
                    }
                    Value::Null
                    | Value::Bool(_)
                    | Value::Number(_)
                    | Value::String(_)
                    | Value::Object(_) => {}
                }
            }
            // The arguments may be its own, or those of something else.
            let alone = Command::Script(text.clone());
            if script == *text { vec![alone] } else { vec![alone, Command::Script(script)] }
        }
        Value::String(text) => vec![Command::Perhaps(text.clone())],
        Value::Array(values) => in_array(values, is_plural),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => Vec::new(),
    }
}

/// Arguments of one command, or several commands.
fn in_array(values: &[Value], is_plural: bool) -> Vec<Command> {
    let texts: Vec<_> = values.iter().filter_map(Value::as_str).map(str::to_owned).collect();
    let Some(first) = texts.first() else { return Vec::new() };
    if is_plural || first.contains([' ', '\n', ';']) {
        return vec![Command::Script(texts.join("\n")), Command::Arguments(texts)];
    }
    vec![Command::Perhaps(texts.join(" ")), Command::Arguments(texts)]
}

fn leaves(value: &Value, found: &mut Vec<Command>) {
    match value {
        Value::String(text) => found.push(Command::Perhaps(text.clone())),
        Value::Array(values) => values.iter().for_each(|value| leaves(value, found)),
        Value::Object(fields) => fields.values().for_each(|value| leaves(value, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

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
    call.titles().map(str::to_owned)
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
    is_one_of(&KEYS, key)
}

fn is_one_of(keys: &[&str], key: &str) -> bool {
    let words = risk::words(key);
    let two = words[words.len().saturating_sub(2)..].concat();
    words.last().is_some_and(|last| keys.contains(&last.as_str())) || keys.contains(&two.as_str())
}
