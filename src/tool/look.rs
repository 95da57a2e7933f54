//! Read-only tools: `file:read`, `file:list` and `file:search`. The length of their results is limited.

use super::call::{Call, Work, arguments, shown_path};
use super::registry::{Risk, Tool};
use super::workplace::{Workplace, WorkplaceError};
use crate::gitignore;
use ignore::DirEntry;
use regex::{Regex, RegexBuilder};
use serde::Deserialize;
use serde_json::json;
use std::fmt::Write;
use std::ops::RangeInclusive;
use std::path::Path;
use tokio_util::sync::CancellationToken;

/// Longest part of a file that one call returns, in bytes.
const LONGEST_PART: usize = 64 * 1024;
/// Levels of directories in a list.
const LIST_DEPTH: usize = 3;
const MOST_ENTRIES: usize = 1_000;
const MOST_MATCHES: usize = 200;
/// Longest part of a matching line that is returned, in characters.
const LONGEST_LINE: usize = 300;
/// Largest compiled pattern, in bytes; a larger one is refused.
const LARGEST_PATTERN: usize = 1024 * 1024;

pub(super) static READ: Tool = Tool { name: "file:read", risk: Risk::Read, prepare: prepare_read };
pub(super) static LIST: Tool = Tool { name: "file:list", risk: Risk::Read, prepare: prepare_list };
pub(super) static SEARCH: Tool =
    Tool { name: "file:search", risk: Risk::Search, prepare: prepare_search };

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ReadArguments {
    path: String,
    from: Option<usize>,
    to: Option<usize>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ListArguments {
    #[serde(default)]
    path: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SearchArguments {
    pattern: String,
    #[serde(default)]
    path: String,
}

fn prepare_read(place: &Workplace, text: &str) -> Result<Call, String> {
    let ReadArguments { path, from, to } = arguments(&READ, text)?;
    let (first, last) = (from.unwrap_or(1), to.unwrap_or(usize::MAX));
    if first == 0 || last < first {
        return Err(format!("there are no lines {first} to {last}: lines count from 1"));
    }
    let lines = (from.is_some() || to.is_some()).then_some(first..=last);
    let input = match &lines {
        Some(lines) => json!({ "path": path, "from": lines.start(), "to": lines.end() }),
        None => json!({ "path": path }),
    };
    let number = |line: usize| u32::try_from(line).unwrap_or(u32::MAX);
    let range = lines.as_ref().map(|lines| (number(*lines.start()), number(*lines.end())));
    let title_values = vec![("path", shown_path(&path))];
    let (place, file) = (place.clone(), path.clone());
    let work = Work::Look(Box::new(move |_| read(&place, &file, lines.as_ref())));
    Ok(Call { tool: &READ, input, title_values, path: Some(path), lines: range, work })
}

fn prepare_list(place: &Workplace, text: &str) -> Result<Call, String> {
    let ListArguments { path } = arguments(&LIST, text)?;
    let input = json!({ "path": path });
    let title_values = vec![("path", shown_path(&path))];
    let (place, directory) = (place.clone(), path.clone());
    let work = Work::Look(Box::new(move |stop| list(&place, &directory, stop)));
    Ok(Call { tool: &LIST, input, title_values, path: Some(path), lines: None, work })
}

fn prepare_search(place: &Workplace, text: &str) -> Result<Call, String> {
    let SearchArguments { pattern, path } = arguments(&SEARCH, text)?;
    let input = json!({ "pattern": pattern, "path": path });
    let title_values = vec![("pattern", pattern.clone()), ("path", shown_path(&path))];
    let (place, directory) = (place.clone(), path.clone());
    let work = Work::Look(Box::new(move |stop| search(&place, &pattern, &directory, stop)));
    Ok(Call { tool: &SEARCH, input, title_values, path: Some(path), lines: None, work })
}

fn reason(err: WorkplaceError) -> String {
    err.to_string()
}

fn read(
    place: &Workplace,
    path: &str,
    lines: Option<&RangeInclusive<usize>>,
) -> Result<String, String> {
    let text = place.text(path).map_err(reason)?;
    let count = text.lines().count();
    let wanted = lines.cloned().unwrap_or(1..=usize::MAX);
    if *wanted.start() > count.max(1) {
        return Err(format!("{path} has only {count} lines"));
    }
    let mut shown = String::new();
    for (number, line) in (1..).zip(text.lines()).filter(|(number, _)| wanted.contains(number)) {
        if shown.len() + line.len() > LONGEST_PART {
            let is_partly_shown = shown.is_empty();
            if is_partly_shown {
                shown.extend(line.chars().take(LONGEST_PART / 4));
                let _ = write!(shown, "\n[only the beginning of line {number} is shown]");
            }
            let number = number + usize::from(is_partly_shown);
            let _ = write!(shown, "\n[{path} has {count} lines; continue with line {number}]");
            return Ok(shown);
        }
        // Writing to a `String` cannot fail.
        let _ = writeln!(shown, "{number:>5}  {line}");
    }
    if shown.is_empty() { Ok(format!("[{path} is empty]")) } else { Ok(shown) }
}

fn list(place: &Workplace, path: &str, stop: &CancellationToken) -> Result<String, String> {
    let start = place.start(path).map_err(reason)?;
    let mut entries = Vec::new();
    let mut more = false;
    for entry in walk(place, &start, Some(LIST_DEPTH)).filter(|entry| entry.depth() > 0) {
        if entries.len() == MOST_ENTRIES || stop.is_cancelled() {
            more = true;
            break;
        }
        let slash = if entry.file_type().is_some_and(|kind| kind.is_dir()) { "/" } else { "" };
        entries.push(format!("{}{slash}", relative(place, entry.path())));
    }
    if entries.is_empty() {
        return Ok("[an empty directory]".to_owned());
    }
    if more {
        entries.push(format!("[more than {MOST_ENTRIES} entries; list a subdirectory]"));
    }
    Ok(entries.join("\n"))
}

fn search(
    place: &Workplace,
    pattern: &str,
    path: &str,
    stop: &CancellationToken,
) -> Result<String, String> {
    let pattern = RegexBuilder::new(pattern).size_limit(LARGEST_PATTERN).build();
    let pattern = pattern.map_err(|err| format!("this is not a regular expression: {err}"))?;
    let start = place.start(path).map_err(reason)?;
    let mut found = Vec::new();
    let files = walk(place, &start, None)
        .filter(|entry| entry.file_type().is_some_and(|kind| kind.is_file()));
    for entry in files {
        if stop.is_cancelled() {
            break;
        }
        search_file(place, &entry, &pattern, &mut found);
        if found.len() >= MOST_MATCHES {
            found.push(format!("[more than {MOST_MATCHES} lines; narrow the search]"));
            break;
        }
    }
    if found.is_empty() { Ok("[nothing found]".to_owned()) } else { Ok(found.join("\n")) }
}

/// Skips files that are not text, are too large or were deleted meanwhile.
fn search_file(place: &Workplace, entry: &DirEntry, pattern: &Regex, found: &mut Vec<String>) {
    let path = relative(place, entry.path());
    let Ok(text) = place.text(&path) else { return };
    for (number, line) in (1..).zip(text.lines()).filter(|(_, line)| pattern.is_match(line)) {
        if found.len() == MOST_MATCHES {
            return;
        }
        let line: String = line.chars().take(LONGEST_LINE).collect();
        found.push(format!("{path}:{number}: {line}"));
    }
}

/// Sorted by name. Ignored files, git's own files and private files are left out, and links are not followed.
fn walk(
    place: &Workplace,
    start: &Path,
    depth: Option<usize>,
) -> impl Iterator<Item = DirEntry> + use<> {
    let workplace = place.clone();
    let wanted = move |entry: &DirEntry| {
        !entry.file_name().eq_ignore_ascii_case(".git") && !workplace.is_private(entry.path())
    };
    let mut walk = gitignore::walk(repository_root(place), start, wanted);
    walk.max_depth(depth).sort_by_file_name(Ord::cmp).build().filter_map(Result::ok)
}

/// Where ignore rules begin: the repository that contains the workplace, or the workplace itself.
fn repository_root(place: &Workplace) -> &Path {
    let mut around = place.root().ancestors();
    around.find(|directory| directory.join(".git").exists()).unwrap_or(place.root())
}

fn relative(place: &Workplace, path: &Path) -> String {
    path.strip_prefix(place.root()).unwrap_or(path).to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::super::registry;
    use super::*;
    use rustix::fs::{CWD, Mode, mkfifoat};
    use std::fs;
    use std::sync::mpsc;
    use std::thread;
    use std::time::Duration;

    struct Fixture {
        directory: tempfile::TempDir,
    }

    impl Fixture {
        fn new() -> Self {
            Self { directory: tempfile::tempdir().unwrap() }
        }

        fn add(&self, path: &str, content: impl AsRef<[u8]>) {
            let path = self.directory.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }

        fn look(&self, name: &str, arguments: &str) -> Result<String, String> {
            let place =
                Workplace::new(self.directory.path(), &[self.directory.path().join("private")]);
            let tool = registry::find(&format!("file:{name}")).unwrap();
            match tool.prepare(&place, arguments).unwrap().work {
                Work::Look(look) => look(&CancellationToken::new()),
                Work::Edit(_)
                | Work::Execute(_)
                | Work::Request { .. }
                | Work::Compute { .. }
                | Work::Impossible(_) => panic!("{name} is not read-only"),
            }
        }
    }

    #[test]
    fn a_file_is_shown_in_parts() {
        let fixture = Fixture::new();
        fixture.add("a.txt", "one\ntwo\nthree\n");
        fixture.add("empty", "");
        assert_eq!(
            fixture.look("read", r#"{"path":"a.txt","from":2,"to":9}"#).unwrap(),
            "    2  two\n    3  three\n"
        );
        assert_eq!(fixture.look("read", r#"{"path":"empty"}"#).unwrap(), "[empty is empty]");
        let beyond = fixture.look("read", r#"{"path":"a.txt","from":4}"#).unwrap_err();
        assert_eq!(beyond, "a.txt has only 3 lines");
        fixture.add("long", "0123456789\n".repeat(20_000));
        let part = fixture.look("read", r#"{"path":"long"}"#).unwrap();
        assert!(part.len() < LONGEST_PART + 200, "{}", part.len());
        assert!(part.ends_with("]") && part.contains("[long has 20000 lines; continue with line "));
        fixture.add("wide", "x".repeat(LONGEST_PART * 2));
        let wide = fixture.look("read", r#"{"path":"wide"}"#).unwrap();
        assert!(wide.len() < LONGEST_PART && wide.contains("[only the beginning of line 1 "));
        fixture.add("wider", format!("{}\nb\n", "x".repeat(LONGEST_PART * 2)));
        let wider = fixture.look("read", r#"{"path":"wider"}"#).unwrap();
        assert!(wider.ends_with("[wider has 2 lines; continue with line 2]"));
    }

    #[test]
    fn lists_and_searches_leave_out_ignored_and_private_files() {
        let fixture = Fixture::new();
        for path in ["src/a.rs", "src/b/c.rs", "target/x", ".git/config", "private/token", ".env"] {
            fixture.add(path, "let needle = 1;\nother\n");
        }
        fixture.add(".gitignore", "target\n");
        fixture.add("binary", b"needle\0");
        std::os::unix::fs::symlink("/etc", fixture.directory.path().join("link")).unwrap();
        assert_eq!(
            fixture.look("list", "{}").unwrap(),
            ".env\n.gitignore\nbinary\nlink\nsrc/\nsrc/a.rs\nsrc/b/\nsrc/b/c.rs"
        );
        assert_eq!(
            fixture.look("search", r#"{"pattern":"need.e"}"#).unwrap(),
            ".env:1: let needle = 1;\nsrc/a.rs:1: let needle = 1;\nsrc/b/c.rs:1: let needle = 1;"
        );
        let below = fixture.look("search", r#"{"pattern":"needle","path":"src/b"}"#).unwrap();
        assert_eq!(below, "src/b/c.rs:1: let needle = 1;");
        let file = fixture.look("search", r#"{"pattern":"other","path":"src/a.rs"}"#).unwrap();
        assert_eq!(file, "src/a.rs:2: other");
        assert_eq!(fixture.look("search", r#"{"pattern":"nowhere"}"#).unwrap(), "[nothing found]");
        let wrong = fixture.look("search", r#"{"pattern":"("}"#).unwrap_err();
        assert!(wrong.contains("not a regular expression"), "{wrong}");
        assert!(fixture.look("list", r#"{"path":".."}"#).unwrap_err().contains("outside"));
        assert!(
            fixture.look("list", r#"{"path":"private"}"#).unwrap_err().contains("does not exist")
        );
    }

    #[test]
    fn ignore_rules_that_are_pipes_do_not_block() {
        let fixture = Fixture::new();
        let root = fixture.directory.path();
        fixture.add("src/a.rs", "needle\n");
        fixture.add("rules", "*.rs\n");
        fixture.add(".git/info/attributes", "");
        std::os::unix::fs::symlink(root.join("rules"), root.join("src/.gitignore")).unwrap();
        for name in [".gitignore", ".ignore", ".git/info/exclude"] {
            mkfifoat(CWD, root.join(name), Mode::RWXU).unwrap();
        }
        let (sender, answers) = mpsc::channel();
        thread::spawn(move || {
            let asked = [("list", "{}"), ("search", r#"{"pattern":"needle"}"#)];
            sender.send(asked.map(|(name, arguments)| fixture.look(name, arguments).unwrap()))
        });
        let [list, found] = answers.recv_timeout(Duration::from_secs(60)).unwrap();
        assert_eq!(list, ".gitignore\n.ignore\nrules\nsrc/\nsrc/.gitignore\nsrc/a.rs");
        assert_eq!(found, "src/a.rs:1: needle");
    }

    #[test]
    fn ignore_rules_of_a_repository_apply_in_a_workplace_within_it() {
        let fixture = Fixture::new();
        for path in ["part/src/a.rs", "part/src/x.log", "part/y.tmp", "part/src/y.tmp"] {
            fixture.add(path, "");
        }
        fixture.add(".gitignore", "*.log\n");
        fixture.add("part/.gitignore", "/src/*.tmp\n");
        let listed = |path| {
            let place = Workplace::new(&fixture.directory.path().join("part"), &[]);
            list(&place, path, &CancellationToken::new()).unwrap()
        };
        // The workplace is not in a repository yet.
        assert_eq!(listed("src"), "src/a.rs\nsrc/x.log");
        fixture.add(".git/HEAD", "");
        assert_eq!(listed("src"), "src/a.rs");
        assert_eq!(listed("."), ".gitignore\nsrc/\nsrc/a.rs\ny.tmp");
    }

    #[test]
    fn lists_and_searches_are_limited() {
        let fixture = Fixture::new();
        for number in 0..=MOST_ENTRIES {
            fixture.add(&format!("many/{number}"), "x\n");
        }
        let list = fixture.look("list", "{}").unwrap();
        assert_eq!(list.lines().count(), MOST_ENTRIES + 1);
        let found = fixture.look("search", r#"{"pattern":"x"}"#).unwrap();
        assert_eq!(found.lines().count(), MOST_MATCHES + 1);
    }
}
