//! How risky a tool is: by ACP's kind, else by the words of its name. Names are written by agents, so words may make a
//! tool look worse, but never good enough to be allowed.

use super::{Call, Decision, Level};
use serde::Deserialize;

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Risk {
    pub(super) name: String,
    #[serde(default)]
    kinds: Vec<String>,
    #[serde(default)]
    words: Vec<String>,
    pub(super) decision: Decision,
    pub(super) level: Level,
}

impl Risk {
    pub(super) fn allows_by_words(&self) -> bool {
        self.decision == Decision::Allow && !self.words.is_empty()
    }
}

/// A kind that a row knows goes before any word; `other` and unknown kinds say nothing.
pub(super) fn find<'a>(rows: &'a [Risk], call: &Call) -> Option<&'a Risk> {
    let by_kind = rows.iter().find(|row| row.kinds.contains(&call.kind));
    by_kind.or_else(|| {
        let words: Vec<_> = call.titles().flat_map(words).collect();
        rows.iter().find(|row| row.words.iter().any(|word| words.contains(word)))
    })
}

/// `readFile`, `read_file` and `fs:read` all have the word `read`; `thread` has not.
pub(super) fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut was_lower = false;
    for c in name.chars() {
        if !c.is_alphanumeric() || (was_lower && c.is_uppercase()) {
            words.push(String::new());
        }
        was_lower = c.is_lowercase();
        if let Some(word) = words.last_mut().filter(|_| c.is_alphanumeric()) {
            word.extend(c.to_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_words() {
        assert_eq!(words("readFile"), ["read", "file"]);
        assert_eq!(words("fs:write_text-file"), ["fs", "write", "text", "file"]);
        assert_eq!(words("thread"), ["thread"]);
        assert_eq!(words(""), [""; 0]);
    }
}
