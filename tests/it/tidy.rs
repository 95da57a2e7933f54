//! Architecture invariants, checked by `cargo test`.

use std::path::{Path, PathBuf};

/// module -> the crate modules it may import. ARCHITECTURE.md shows the same table.
pub(crate) const MAY_IMPORT: &[(&str, &[&str])] = &[
    ("message", &[]),
    ("task", &[]),
    ("data_dir", &[]),
    ("which", &[]),
    ("regular", &[]),
    ("picture", &[]),
    ("gitignore", &["regular"]),
    ("locale", &["message"]),
    ("config", &["locale", "message", "provider", "sandbox", "tool", "which"]),
    ("metrics", &["message", "audio"]),
    ("auth", &["message", "config", "store", "auth"]),
    ("audio", &["message", "audio"]),
    ("dialect", &["message", "locale", "dialect"]),
    ("policy", &["policy"]),
    ("sandbox", &["sandbox"]),
    ("process", &["sandbox", "process"]),
    ("python", &["process", "sandbox", "which", "python"]),
    ("tool", &["message", "gitignore", "process", "tool"]),
    (
        "provider",
        &["message", "audio", "task", "sandbox", "process", "which", "picture", "provider"],
    ),
    ("assistant", &["message", "locale", "process", "tool", "provider", "assistant"]),
    ("files", &["message", "regular", "gitignore", "picture", "workplace", "files"]),
    ("store", &["message", "store"]),
    ("workplace", &["message", "regular", "workplace"]),
    ("talk", &["message", "locale", "task", "audio", "dialect", "talk"]),
    (
        "session",
        &[
            "message",
            "locale",
            "config",
            "metrics",
            "task",
            "files",
            "store",
            "policy",
            "sandbox",
            "process",
            "python",
            "provider",
            "assistant",
            "tool",
            "workplace",
            "audio",
            "session",
        ],
    ),
    (
        "command",
        &[
            "message",
            "locale",
            "config",
            "task",
            "data_dir",
            "files",
            "store",
            "auth",
            "python",
            "workplace",
            "session",
            "server",
            "talk",
            "command",
        ],
    ),
    (
        "doctor",
        &[
            "message",
            "locale",
            "config",
            "data_dir",
            "gitignore",
            "auth",
            "store",
            "sandbox",
            "python",
            "provider",
            "workplace",
            "server",
            "doctor",
        ],
    ),
    (
        "server",
        &[
            "message", "locale", "config", "metrics", "task", "data_dir", "auth", "dialect",
            "session", "server",
        ],
    ),
];

#[test]
fn imports_point_downwards() {
    for (path, text) in sources() {
        let owner = module_of(&path);
        if matches!(owner.as_str(), "lib" | "main") {
            continue;
        }
        let (_, allowed) =
            MAY_IMPORT.iter().find(|(module, _)| *module == owner).unwrap_or_else(|| {
                panic!("{}: `{owner}` is not in the table of modules", path.display())
            });
        for rest in text.split("crate::").skip(1) {
            let target = word(rest);
            assert!(
                allowed.contains(&target.as_str()),
                "{}: `{owner}` may not import `{target}`",
                path.display()
            );
        }
    }
}

#[test]
fn japanese_lives_in_wire() {
    for (path, text) in sources() {
        let is_wire = path.ends_with("wire.rs") || path.iter().any(|part| part == "wire");
        assert!(
            text.is_ascii() || (is_wire && module_of(&path) == "dialect"),
            "{}: non-ASCII text outside dialect/*/wire",
            path.display()
        );
    }
}

#[test]
fn every_file_says_what_it_owns() {
    for (path, text) in sources() {
        assert!(text.starts_with("//!"), "{}: no module doc", path.display());
    }
}

#[test]
fn layers_keep_to_their_own_words() {
    for (path, text) in sources() {
        let forbidden: &[&str] = match module_of(&path).as_str() {
            "message" => &["use serde", "derive(Serialize", "Deserialize)", "use tokio"],
            "dialect" => &["tokio", "axum"],
            "session" => &["serde_json", "axum", "WebSocket;"],
            "provider" => &["Channel,", "Channel;", "Channel::", "ChannelId", "axum"],
            _ => &[],
        };
        for word in forbidden {
            assert!(!text.contains(word), "{}: mentions `{word}`", path.display());
        }
    }
}

/// What concerns one room of a session is a method of that room's struct. Only the actor, the dispatch and one file of
/// each room see the whole session.
#[test]
fn rooms_do_not_reach_into_the_session() {
    for (path, text) in sources() {
        let place = path.strip_prefix(root()).unwrap().to_string_lossy().into_owned();
        let may = ["session/actor.rs", "session/dispatch.rs"].contains(&place.as_str())
            || (place.starts_with("session/") && place.ends_with("/handlers.rs"));
        let sees = text.contains("impl Session {") || text.contains("actor::Session;");
        assert!(may || !sees, "{place}: only handlers.rs of a room may see the whole session");
    }
}

/// Other rooms call methods: the compiler keeps them out of private fields, and this keeps the fields private.
#[test]
fn rooms_keep_their_state_to_themselves() {
    for (room, owner) in [
        ("approval", "Approvals"),
        ("command", "Commands"),
        ("keeping", "Lifetime"),
        ("run", "Runs"),
        ("sockets", "Sockets"),
        ("voice", "Voice"),
        ("workplace", "Workplaces"),
    ] {
        let text = std::fs::read_to_string(root().join("session").join(room).join("mod.rs"));
        let text = text.unwrap();
        let docs = text.lines().take_while(|line| line.starts_with("//!")).count();
        assert!(docs >= 2, "{room}: what does it own, and what does it refuse to know?");
        let start = format!("pub(super) struct {owner} {{\n");
        let (_, fields) = text.split_once(&start).unwrap_or_else(|| panic!("{room}: no {owner}"));
        let (fields, _) = fields.split_once("\n}").unwrap();
        let is_public = |line: &&str| ["pub ", "pub("].iter().any(|word| line.contains(word));
        let mut public = fields.lines().filter(is_public);
        assert_eq!(public.next(), None, "{room}: others can reach a field of {owner}");
    }
}

#[test]
fn tasks_are_spawned_in_one_place() {
    for (path, text) in sources() {
        if path.ends_with("task.rs") {
            continue;
        }
        let code = without_tests(&path, &text);
        assert!(!code.contains("tokio::spawn("), "{}: use task::spawn", path.display());
        assert!(!code.contains("unbounded_channel"), "{}: every queue is bounded", path.display());
    }
}

/// What decides about questions and results takes only `Typed`, so nothing else may become one.
#[test]
fn only_dialects_say_what_a_user_has_typed() {
    for (path, text) in sources() {
        let code = without_tests(&path, &text);
        let is_reader = path.ends_with("decode.rs") && module_of(&path) == "dialect";
        assert_eq!(code.contains("Typed::on_socket"), is_reader, "{}", path.display());
        let makes_one = code.contains("Typed(") && !path.ends_with("message/typed.rs");
        assert!(!makes_one, "{}: only a dialect makes these", path.display());
    }
}

/// What is compiled into the gateway: the file without everything that is there for tests only.
fn without_tests(path: &Path, text: &str) -> String {
    let is_test = |part: &std::ffi::OsStr| part == "tests" || part == "tests.rs";
    if path.strip_prefix(root()).unwrap().iter().any(is_test) {
        return String::new();
    }
    let mut code = String::new();
    let mut rest = text;
    while let Some((before, item)) = rest.split_once("#[cfg(test)]") {
        code.push_str(before);
        rest = &item[end_of_item(item)..];
    }
    code + rest
}

/// Where an item ends: with its block, or with a semicolon before any block.
fn end_of_item(item: &str) -> usize {
    let mut depth = 0_usize;
    for (at, letter) in item.char_indices() {
        match letter {
            '{' => depth += 1,
            '}' if depth <= 1 => return at + 1,
            '}' => depth -= 1,
            ';' if depth == 0 => return at + 1,
            _ => {}
        }
    }
    item.len()
}

#[test]
fn code_after_tests_is_looked_at() {
    let path = root().join("some.rs");
    let text =
        "a();\n#[cfg(test)]\nmod tests {\n fn x() { y(); }\n}\nb();\n#[cfg(test)]\nuse c;\nd();\n";
    assert_eq!(without_tests(&path, text), "a();\n\nb();\n\nd();\n");
    assert_eq!(without_tests(&root().join("some/tests.rs"), text), "");
}

fn word(text: &str) -> String {
    text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
}

fn module_of(path: &Path) -> String {
    let relative = path.strip_prefix(root()).unwrap();
    let first = relative.components().next().unwrap().as_os_str().to_string_lossy().into_owned();
    first.trim_end_matches(".rs").to_owned()
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

fn sources() -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    let mut todo = vec![root()];
    while let Some(dir) = todo.pop() {
        for entry in std::fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                todo.push(path);
            } else if path.extension().is_some_and(|ext| ext == "rs") {
                found.push((path.clone(), std::fs::read_to_string(&path).unwrap()));
            }
        }
    }
    found
}
