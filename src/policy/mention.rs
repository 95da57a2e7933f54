//! Paths that a tool's input names. Not every agent says apart what a call touches, and the input is what the tool
//! itself goes by: a key that is called after a file or a directory holds a path, whatever the rest of it is called.

use super::risk;
use serde_json::Value;
use std::path::PathBuf;

/// The last word of keys such as `path`, `file_path`, `absolutePath`, `notebook_path`, `workdir`, `fileName`.
const KEYS: [&str; 24] = [
    "path",
    "paths",
    "filepath",
    "filepaths",
    "file",
    "files",
    "filename",
    "filenames",
    "dir",
    "dirs",
    "dirname",
    "directory",
    "directories",
    "folder",
    "folders",
    "cwd",
    "pwd",
    "workdir",
    "workingdir",
    "root",
    "roots",
    "worktree",
    "workspace",
    "uri",
];
/// The same for what is moved.
const MOVED: [&str; 7] = ["source", "src", "destination", "dest", "dst", "from", "to"];
/// Objects whose keys are the paths, such as `{"changes": {"/a.txt": {"add": ...}}}`.
const BY_PATH: [&str; 3] = ["changes", "edits", "files"];
/// Inputs are flat or nearly so; what lies deeper is data.
const DEEPEST: usize = 4;
/// The system opens no longer one.
const LONGEST_PATH: usize = 4096;

/// All paths of an input.
pub(super) fn paths(kind: &str, input: &Value) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut collector = Collector { is_move: kind == "move", found: &mut found };
    collector.look(input, DEEPEST);
    found
}

struct Collector<'a> {
    is_move: bool,
    found: &'a mut Vec<PathBuf>,
}

impl Collector<'_> {
    fn look(&mut self, value: &Value, deeper: usize) {
        let Some(deeper) = deeper.checked_sub(1) else { return };
        match value {
            Value::Object(fields) => {
                for (key, value) in fields {
                    self.field(key, value);
                    self.look(value, deeper);
                }
            }
            Value::Array(values) => values.iter().for_each(|value| self.look(value, deeper)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    fn field(&mut self, key: &str, value: &Value) {
        let words = risk::words(key);
        match value {
            Value::String(text) if self.is_path_key(&words) => self.note(text),
            Value::Array(values) if self.is_path_key(&words) => {
                values.iter().filter_map(Value::as_str).for_each(|text| self.note(text));
            }
            Value::Object(fields) if words.last().is_some_and(|last| is_one_of(&BY_PATH, last)) => {
                fields.keys().for_each(|text| self.note(text));
            }
            Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::String(_)
            | Value::Array(_)
            | Value::Object(_) => {}
        }
    }

    /// `fileName` and `working_dir` are known by their last two words.
    fn is_path_key(&self, words: &[String]) -> bool {
        let Some(last) = words.last() else { return false };
        let two = words[words.len().saturating_sub(2)..].concat();
        let is_moved = self.is_move && is_one_of(&MOVED, last);
        is_one_of(&KEYS, last) || is_one_of(&KEYS, &two) || is_moved
    }

    /// An address is no path, except that of a file.
    fn note(&mut self, text: &str) {
        let path = match text.split_once("://") {
            Some((scheme, path)) if scheme.eq_ignore_ascii_case("file") => path,
            Some(_) => return,
            None => text,
        };
        if !path.is_empty() && path.len() <= LONGEST_PATH {
            self.found.push(PathBuf::from(path));
        }
    }
}

fn is_one_of(words: &[&str], word: &str) -> bool {
    words.contains(&word)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[track_caller]
    fn check(kind: &str, input: &Value, expected: &[&str]) {
        let expected: Vec<_> = expected.iter().map(PathBuf::from).collect();
        assert_eq!(paths(kind, input), expected, "{input}");
    }

    #[test]
    fn keys_of_real_agents_are_known() {
        for key in [
            "path",
            "file_path",
            "filePath",
            "filepath",
            "absolute_path",
            "notebook_path",
            "fileName",
            "file_name",
            "dir_path",
            "directory",
            "cwd",
            "workdir",
            "working_dir",
            "grant_root",
            "OUTPUT_FILE",
        ] {
            check("read", &json!({key: "/etc/passwd"}), &["/etc/passwd"]);
        }
        check("read", &json!({"paths": ["/a", "b", 1]}), &["/a", "b"]);
        check("edit", &json!({"changes": {"/a.txt": {"add": {"content": "x"}}}}), &["/a.txt"]);
        check(
            "edit",
            &json!({"edits": [{"path": "/a"}, {"arguments": {"file": "/b"}}]}),
            &["/a", "/b"],
        );
        check("read", &json!({"uri": "file:///etc/passwd"}), &["/etc/passwd"]);
        check("move", &json!({"from": "a", "destination": "/b"}), &["/b", "a"]);
    }

    #[test]
    fn what_is_no_path_is_left_alone() {
        for input in [
            json!({"command": "cat /etc/passwd", "content": "/a", "pattern": "/api/", "url": "/x"}),
            json!({"profile": "/a", "from": "/today", "path": 7, "file_text": "/a"}),
            json!({"path": "https://example.com/a", "file": "x".repeat(5000), "dir": ""}),
            json!(["/a", "/b"]),
            json!("/a"),
            Value::Null,
        ] {
            check("read", &input, &[]);
        }
    }
}
