//! Paths that a tool's input names. Not every agent says apart what a call touches, and the input is what the tool
//! itself goes by: a key that is called after a file or a directory holds a path, whatever the rest of it is called.

use super::{Call, glob, risk};
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
/// The same for patterns of file names.
const GLOBS: [&str; 7] =
    ["glob", "globs", "include", "includes", "filepattern", "filepatterns", "pathpattern"];
/// The same for addresses, which are those of files or of the web.
const ADDRESSES: [&str; 2] = ["url", "urls"];
/// What is looked for: names of files, or what is in them.
const PATTERNS: [&str; 2] = ["pattern", "patterns"];
/// Objects whose keys are the paths, such as `{"changes": {"/a.txt": {"add": ...}}}`.
const BY_PATH: [&str; 3] = ["changes", "edits", "files"];
/// Inputs are flat or nearly so; what lies deeper is data.
const DEEPEST: usize = 4;

/// What the text under a key is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Means {
    Path,
    Address,
    Names,
    /// Names of files or anything else.
    Perhaps,
    Nothing,
}

/// What an input, which may also be a text that is one, says about places on the disk.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Mentioned {
    pub(super) paths: Vec<PathBuf>,
    /// What reads like a path, and may be something else.
    pub(super) guesses: Vec<PathBuf>,
    /// Patterns of names as they are written, with their wildcards.
    pub(super) names: Vec<PathBuf>,
}

pub(super) fn find(call: &Call, input: &Value) -> Mentioned {
    let is_glob = |name: &str| risk::words(name).iter().any(|word| word == "glob");
    let mut collector = Collector {
        is_move: call.kind == "move",
        is_glob: call.names().any(is_glob),
        found: Mentioned::default(),
    };
    let written = input.as_str().and_then(|text| serde_json::from_str(text).ok());
    collector.look(written.as_ref().unwrap_or(input), DEEPEST);
    collector.found
}

/// A path, also where it is written as the address of a file.
pub fn as_path(text: &str) -> PathBuf {
    let Some(rest) = after_file_scheme(text) else { return PathBuf::from(text) };
    let path = match rest.strip_prefix("//") {
        Some(rest) => &rest[rest.find('/').unwrap_or(rest.len())..],
        None => rest,
    };
    PathBuf::from(decoded(path))
}

fn after_file_scheme(text: &str) -> Option<&str> {
    let (scheme, rest) = text.split_once(':')?;
    scheme.eq_ignore_ascii_case("file").then_some(rest)
}

/// `%2e` is a dot. What does not become text stays as it is.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, others)) = rest.split_first() {
        let digits = others.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        let code = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        let escaped = code.filter(|_| *first == b'%');
        bytes.push(escaped.unwrap_or(*first));
        rest = if escaped.is_some() { &others[2..] } else { others };
    }
    String::from_utf8(bytes).unwrap_or_else(|_| text.to_owned())
}

struct Collector {
    is_move: bool,
    is_glob: bool,
    found: Mentioned,
}

impl Collector {
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
        // `path2` is one more of them.
        let is_digit = |one: char| one.is_ascii_digit() || one == '_';
        let words = risk::words(key.trim_end_matches(is_digit));
        let means = self.means(&words);
        match value {
            Value::String(text) => self.note(means, text),
            Value::Array(values) => {
                values.iter().filter_map(Value::as_str).for_each(|text| self.note(means, text));
            }
            Value::Object(fields) if words.last().is_some_and(|last| is_one_of(&BY_PATH, last)) => {
                fields.keys().for_each(|text| self.note(Means::Path, text));
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => {}
        }
    }

    /// `fileName` and `working_dir` are known by their last two words.
    fn means(&self, words: &[String]) -> Means {
        let Some(last) = words.last() else { return Means::Nothing };
        let two = words[words.len().saturating_sub(2)..].concat();
        let is_in = |keys: &[&str]| is_one_of(keys, last) || is_one_of(keys, &two);
        if is_in(&KEYS) || (self.is_move && is_one_of(&MOVED, last)) {
            Means::Path
        } else if is_one_of(&ADDRESSES, last) {
            Means::Address
        } else if is_in(&GLOBS) || (self.is_glob && is_in(&PATTERNS)) {
            Means::Names
        } else if is_in(&PATTERNS) {
            Means::Perhaps
        } else {
            Means::Nothing
        }
    }

    /// An address in the web is no path of this machine.
    fn note(&mut self, means: Means, text: &str) {
        let scheme = text.split_once("://").map_or("", |(scheme, _)| scheme);
        if ["http", "https"].iter().any(|web| scheme.eq_ignore_ascii_case(web)) {
            return;
        }
        let found = &mut self.found;
        match means {
            Means::Path => add(&mut found.paths, text),
            // Who reads addresses passes over blanks around them.
            Means::Address if after_file_scheme(text.trim()).is_some() => {
                add(&mut found.paths, text.trim());
            }
            Means::Names => {
                add(&mut found.names, text);
                add(&mut found.paths, glob::base(text));
            }
            Means::Perhaps if glob::may_be_names(text) => {
                add(&mut found.names, text);
                if glob::leads_away(text) {
                    add(&mut found.guesses, glob::base(text));
                }
            }
            Means::Address | Means::Perhaps | Means::Nothing => {}
        }
    }
}

fn add(paths: &mut Vec<PathBuf>, text: &str) {
    if !text.is_empty() {
        paths.push(as_path(text));
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
        assert_eq!(found("Tool", kind, input).paths, expected, "{input}");
    }

    fn found(tool: &str, kind: &str, input: &Value) -> Mentioned {
        let (tool, kind, input_text) = (tool.to_owned(), kind.to_owned(), input.to_string());
        let (id, paths) = (String::new(), Vec::new());
        let call =
            Call { id, tool, english: None, name: None, kind, input: input_text, unseen: 0, paths };
        find(&call, input)
    }

    #[test]
    fn the_place_of_a_pattern_of_names_is_known() {
        check("search", &json!({"glob": "/etc/*", "include": ["~/**", "*.rs"]}), &["/etc/", "~/"]);
        check("search", &json!({"file_pattern": "src/*.rs"}), &["src/"]);
        let input = json!({"pattern": "/etc/*"});
        let by_name = found("Glob", "search", &input);
        assert_eq!((by_name.paths.len(), by_name.guesses.len()), (1, 0));
        let guess = found("Search", "search", &input);
        assert_eq!((guess.paths, guess.guesses), (Vec::new(), vec![PathBuf::from("/etc/")]));
        let neither = found("Search", "search", &json!({"pattern": "/api/.*"}));
        assert_eq!((neither.paths, neither.guesses), (Vec::new(), Vec::new()));
        assert_eq!(found("Search", "search", &json!({"pattern": "a.b"})), Mentioned::default());
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
        for address in [
            "file:///etc/passwd",
            "file:/etc/passwd",
            "FILE://localhost/etc/passwd",
            "file:///etc/%70asswd",
        ] {
            check("read", &json!({"uri": address}), &["/etc/passwd"]);
            check("fetch", &json!({ "url": format!(" {address}") }), &["/etc/passwd"]);
        }
        check("read", &json!({"path1": "/a", "file_2": "/b"}), &["/a", "/b"]);
        check("read", &json!(r#"{"path":"/etc/passwd"}"#), &["/etc/passwd"]);
        check("read", &json!({"path": "a://../../etc"}), &["a://../../etc"]);
        let long = format!("/{}etc", "./".repeat(4_000));
        check("read", &json!({ "path": long }), &[&long]);
        check("move", &json!({"destination": "/b", "from": "a"}), &["/b", "a"]);
    }

    #[test]
    fn what_is_no_path_is_left_alone() {
        for input in [
            json!({"command": "cat /etc/passwd", "content": "/a", "pattern": "/api/", "url": "/x"}),
            json!({"profile": "/a", "from": "/today", "path": 7, "file_text": "/a"}),
            json!({"path": "https://example.com/a", "dir": ""}),
            json!(["/a", "/b"]),
            json!("/a"),
            Value::Null,
        ] {
            check("read", &input, &[]);
        }
    }
}
