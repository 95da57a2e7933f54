//! JSON objects in a text. Each is found by its braces, outermost first; one that is no JSON gives way to those within it.

use serde_json::{Map, Value};
use std::ops::Range;

/// An object that holds more levels of objects than this is not read. It bounds how often a byte is read in vain.
const MAX_LEVELS: usize = 4;

/// The objects of a text for which `read` finds something, with what it finds. None of them is within another one. Only
/// those are parsed that `is_likely`.
pub(super) fn all<T>(
    text: &str,
    is_likely: impl Fn(&str) -> bool,
    read: impl Fn(&Map<String, Value>) -> Option<T>,
) -> Vec<T> {
    let mut found = Vec::new();
    if !text.contains('{') || !is_likely(text) {
        return found;
    }
    let mut end = 0;
    for span in spans(text) {
        if span.start < end {
            continue;
        }
        let object = text.get(span.clone()).filter(|json| is_likely(json)).and_then(object);
        if let Some(value) = object.as_ref().and_then(&read) {
            found.push(value);
            end = span.end;
        }
    }
    found
}

/// Python prints objects with single quotes and words of its own.
fn object(text: &str) -> Option<Map<String, Value>> {
    if !text.contains('\'') || text.contains('"') {
        return serde_json::from_str(text).ok();
    }
    let words = [(": None", ": null"), (": True", ": true"), (": False", ": false")];
    let json = text.replace('\'', "\"");
    let json = words.iter().fold(json, |json, (python, word)| json.replace(python, word));
    serde_json::from_str(&json).ok()
}

struct Open {
    start: usize,
    levels: usize,
}

/// Pairs of braces that are low enough, by where they start. A brace within a JSON text does not count. A JSON text ends
/// with its line at the latest, so a stray quote does not hide the rest.
fn spans(text: &str) -> Vec<Range<usize>> {
    let mut open: Vec<Open> = Vec::new();
    let mut found = Vec::new();
    let mut is_text = false;
    let mut is_escaped = false;
    for (at, one) in text.bytes().enumerate() {
        if std::mem::take(&mut is_escaped) {
            continue;
        }
        match one {
            b'\n' => is_text = false,
            b'\\' if is_text => is_escaped = true,
            b'"' if !open.is_empty() => is_text = !is_text,
            b'{' if !is_text => open.push(Open { start: at, levels: 1 }),
            b'}' if !is_text => {
                let Some(closed) = open.pop() else { continue };
                if let Some(outer) = open.last_mut() {
                    outer.levels = outer.levels.max(closed.levels + 1);
                }
                if closed.levels <= MAX_LEVELS {
                    found.push(closed.start..at + 1);
                }
            }
            _ => {}
        }
    }
    found.sort_by_key(|span| span.start);
    found
}
