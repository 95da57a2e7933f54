//! The documents say what the code does: the example runs, the samples are real, and every table is complete.

use crate::support::{BODY, Gateway, KIND, SESSION, TOKEN};
use crate::tidy::MAY_IMPORT;
use kakehashi::dialect::aicore::{AicoreDialect, client_kinds, read_connect};
use kakehashi::dialect::{Dialect, Received};
use kakehashi::locale::Locale;
use kakehashi::message::{Channel, SessionId};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::process::Command;
use tokio::time::timeout;

/// Node starts slowly on a loaded machine.
const PATIENCE: Duration = Duration::from_secs(60);

#[tokio::test]
async fn the_example_asks_resumes_and_is_answered_once() {
    let gateway = Gateway::start().await;
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("example.mjs");
    std::fs::write(&file, example()).unwrap();
    let node = Command::new("node")
        .args(["--experimental-websocket", "--no-warnings"])
        .arg(&file)
        .arg(format!("http://{}", gateway.addr))
        .arg(TOKEN)
        .kill_on_drop(true)
        .output();
    let output = timeout(PATIENCE, node).await.expect("the example ends").expect("node is there");
    let said = String::from_utf8(output.stdout).unwrap();
    let complained = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}{complained}");
    let page = page();
    let promised = blocks(&page).into_iter().find(|block| block.info == "text").unwrap();
    assert_eq!(said, promised.text, "{complained}");
    gateway.stop().await;
}

#[test]
fn the_example_is_short() {
    let example = example();
    let lines = example.lines().filter(|line| !line.trim().is_empty()).count();
    assert!((30..=45).contains(&lines), "{lines} lines");
}

#[test]
fn samples_of_what_clients_send_are_understood() {
    let page = page();
    let mut sent = BTreeSet::new();
    for block in blocks(&page) {
        let frame = filled(&block.text);
        if let Some(socket) = block.info.strip_prefix("json sent on ") {
            let own = channel(socket);
            let read = dialect(own).decode(Received::Text(&frame));
            assert!(read.is_ok(), "{}: {read:?}", block.text);
            sent.insert(kind(&frame));
        } else if block.info == "json first packet" {
            let read = read_connect(&frame);
            assert!(read.is_ok(), "{}: {read:?}", block.text);
        }
    }
    assert_eq!(sent, client_kinds().into_iter().map(str::to_owned).collect());
}

/// Samples with the fixtures' session ids are the fixtures; others have no golden frame and need only be packets.
#[test]
fn samples_of_what_the_server_sends_are_golden() {
    let page = page();
    let golden: Vec<Value> = fixtures().into_iter().map(|(_, frame)| frame).collect();
    for block in blocks(&page).into_iter().filter(|block| block.info == "json received") {
        let frame: Value = serde_json::from_str(&block.text).expect(&block.text);
        assert!(frame[KIND].is_string() && !frame[BODY].is_null() || frame[KIND] == "ack");
        let digits = frame[SESSION].as_str().unwrap().trim_start_matches("ws-");
        let is_golden = digits == "xxxx" || digits.bytes().all(|digit| digit == b'0');
        assert!(!is_golden || golden.contains(&frame), "{}", block.text);
    }
}

#[test]
fn every_kind_with_a_golden_frame_has_a_sample() {
    let page = page();
    let samples: BTreeSet<String> = blocks(&page)
        .iter()
        .filter(|block| block.info == "json received" || block.info.starts_with("json sent"))
        .map(|block| kind(&filled(&block.text)))
        .collect();
    for (name, frame) in fixtures() {
        let kind = frame[KIND].as_str().unwrap();
        assert!(samples.contains(kind), "{name}: docs/aicore.md has no sample of `{kind}`");
    }
}

#[test]
fn every_error_code_has_a_row_and_both_texts() {
    let rows = first_column(&section("### Error codes"));
    for language in ["en", "ja"] {
        let texts = toml_file(&format!("config/locales/{language}.toml"));
        assert_eq!(rows, keys(&texts["error"]), "{language}");
    }
}

#[test]
fn every_model_setting_has_a_row_with_its_default() {
    let config = toml_file("config/kakehashi.toml");
    let table = section("## モデル設定");
    assert_eq!(first_column(&table), keys(&config["settings"]));
    for (key, value) in config["settings"].as_table().unwrap() {
        let shown = match value.as_str() {
            Some("") => "empty".to_owned(),
            Some(text) => format!("`{text}`"),
            None => format!("`{value}`"),
        };
        assert!(table.contains(&format!("| `{key}` | {shown} |")), "{key}: default {shown}");
    }
}

#[test]
fn every_limit_has_a_row() {
    let config = toml_file("config/kakehashi.toml");
    let table = section("## Limits");
    for key in keys(&config["limits"]) {
        assert!(table.contains(&format!("| `{key}` |")), "docs/aicore.md: no row for {key}");
    }
}

#[test]
fn every_close_code_has_a_row() {
    let table = section("## Close codes");
    let rows: BTreeSet<String> = table
        .lines()
        .filter_map(|line| line.strip_prefix("| ")?.split(' ').next()?.parse::<u16>().ok())
        .map(|code| code.to_string())
        .collect();
    assert_eq!(rows, close_codes());
}

/// The close codes that stand anywhere in the code.
pub(crate) fn close_codes() -> BTreeSet<String> {
    let mut used = BTreeSet::new();
    let is_code = |path: &PathBuf| !path.iter().any(|part| part == "tests");
    let all = files_below("src/server").into_iter().chain(files_below("src/dialect"));
    for path in all.filter(is_code) {
        let text = std::fs::read_to_string(&path).unwrap();
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        let code = code.lines().filter(|line| !line.trim_start().starts_with("//"));
        let numbers = code.flat_map(|line| line.split(|letter: char| !letter.is_alphanumeric()));
        let codes = numbers.filter(|number| {
            number.parse().is_ok_and(|code: u16| matches!(code, 1001..=1015 | 3001..=3999))
        });
        used.extend(codes.map(str::to_owned));
    }
    used
}

#[test]
fn links_and_named_tests_exist() {
    let code = all_code();
    let pages = documents();
    for page in &pages {
        let text = std::fs::read_to_string(page).unwrap();
        let name = page.display();
        for test in named_tests(&text) {
            assert!(code.contains(&format!("fn {test}(")), "{name}: no test `{test}`");
        }
        for target in links(&text) {
            let (file, heading) = target.split_once('#').unwrap_or((&target, ""));
            let file = if file.is_empty() { page.clone() } else { page.with_file_name(file) };
            assert!(file.exists(), "{name}: {target} does not exist");
            let is_page = file.extension().is_some_and(|ext| ext == "md");
            if is_page && !heading.is_empty() {
                let found = anchors(&std::fs::read_to_string(&file).unwrap());
                assert!(found.contains(heading), "{name}: no heading for {target}");
            }
        }
    }
    assert!(!named_tests(&read("ARCHITECTURE.md")).is_empty());
}

/// Whoever opens them for the first time reads them to the end.
#[test]
fn the_first_pages_are_short() {
    for (page, kib) in [("README.md", 12), ("ARCHITECTURE.md", 15)] {
        let length = read(page).len();
        assert!(length <= kib * 1024, "{page} has {length} bytes; at most {kib} KiB");
    }
    let glossary = part(&read("ARCHITECTURE.md"), "Glossary");
    let words = glossary.lines().filter(|line| line.starts_with("| ")).skip(1).count();
    assert!((1..=25).contains(&words), "{words} words in the glossary");
}

#[test]
fn every_page_is_in_the_index_and_says_who_it_is_for() {
    let index = root().join("docs/README.md");
    let text = read("docs/README.md");
    let listed: BTreeSet<PathBuf> = links(&text)
        .iter()
        .filter_map(|target| index.with_file_name(target.split('#').next()?).canonicalize().ok())
        .collect();
    for page in documents() {
        let text = std::fs::read_to_string(&page).unwrap();
        let name = page.display();
        let is_listed = listed.contains(&page.canonicalize().unwrap());
        assert!(page == index || is_listed, "{name} is not in docs/README.md");
        let first = text.lines().skip(1).find(|line| !line.is_empty()).unwrap_or_default();
        let needs_no_word = page == root().join("README.md") || page.ends_with("CHANGELOG.md");
        assert!(needs_no_word || first.starts_with("For "), "{name} does not say who it is for");
    }
}

#[test]
fn the_table_of_imports_is_the_enforced_one() {
    let table = part(&read("ARCHITECTURE.md"), "Who may import whom");
    let mut shown = BTreeMap::new();
    for row in table.lines().filter(|line| line.starts_with("| `")) {
        let mut cells = row.trim_matches('|').split('|').map(quoted);
        let (modules, imports) = (cells.next().unwrap(), cells.next().unwrap());
        shown.extend(modules.into_iter().map(|module| (module, imports.clone())));
    }
    let enforced = MAY_IMPORT.iter().map(|(module, imports)| {
        let others = imports.iter().filter(|import| *import != module);
        ((*module).to_owned(), others.map(|import| (*import).to_owned()).collect())
    });
    assert_eq!(shown, enforced.collect::<BTreeMap<String, BTreeSet<String>>>());
}

#[test]
fn constants_of_the_queues_exist() {
    let code = all_code();
    let page = read("docs/design/queues.md");
    let mut constants = BTreeSet::new();
    for row in page.lines().filter(|line| line.starts_with("| ")) {
        let names = row.split('|').nth(2).map(quoted).unwrap_or_default();
        let name = |path: &String| path.rsplit("::").next().unwrap_or_default().to_owned();
        let is_constant = |name: &String| name.bytes().all(|b| b.is_ascii_uppercase() || b == b'_');
        constants.extend(names.iter().map(name).filter(is_constant));
    }
    assert!(constants.len() > 40, "{constants:?}");
    for name in constants {
        assert!(code.contains(&format!("const {name}: ")), "queues.md: no constant `{name}`");
    }
}

/// Every document for people.
fn documents() -> Vec<PathBuf> {
    let first = ["README.md", "ARCHITECTURE.md", "CHANGELOG.md"].map(|name| root().join(name));
    let pages = files_below("docs").into_iter();
    let pages = pages.filter(|path| path.extension().is_some_and(|ext| ext == "md"));
    first.into_iter().chain(pages).collect()
}

fn all_code() -> String {
    let files = ["src", "tests/it"].into_iter().flat_map(files_below);
    files.map(|path| std::fs::read_to_string(path).unwrap()).collect()
}

/// The targets of links that lead to our own files.
fn links(text: &str) -> Vec<String> {
    let targets = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    targets.filter(|target| !target.contains("://")).map(str::to_owned).collect()
}

/// What links may name behind `#`: headings in lower case, with hyphens for spaces and without other marks.
fn anchors(page: &str) -> BTreeSet<String> {
    let headings = page.lines().filter(|line| line.starts_with('#'));
    let anchor = |line: &str| {
        let text = line.trim_start_matches('#').trim().to_lowercase().replace(' ', "-");
        text.chars().filter(|letter| letter.is_alphanumeric() || "-_".contains(*letter)).collect()
    };
    headings.map(anchor).collect()
}

/// What stands in backquotes.
pub(crate) fn quoted(text: &str) -> BTreeSet<String> {
    text.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

/// A chapter of a document, empty if it has none of that name.
fn part(text: &str, heading: &str) -> String {
    let rest = text.split_once(&format!("\n## {heading}\n")).map_or("", |(_, rest)| rest);
    rest.split("\n## ").next().unwrap_or_default().to_owned()
}

struct Block {
    info: String,
    text: String,
}

/// The fenced blocks of a document.
fn blocks(page: &str) -> Vec<Block> {
    let parts: Vec<&str> = page.split("```").collect();
    let fenced = parts.iter().skip(1).step_by(2);
    let block = |part: &&str| {
        let (info, text) = part.split_once('\n').unwrap();
        Block { info: info.trim().to_owned(), text: text.to_owned() }
    };
    fenced.map(block).collect()
}

fn example() -> String {
    let page = page();
    let found = blocks(&page).into_iter().filter(|block| block.info == "js");
    let mut examples = found.filter(|block| block.text.starts_with("// example\n"));
    let example = examples.next().unwrap().text;
    assert!(examples.next().is_none());
    example
}

/// A section of the page, from its heading to the next of the same or a higher rank.
fn section(heading: &str) -> String {
    let page = page();
    let (_, rest) = page.split_once(&format!("\n{heading}\n")).expect(heading);
    let end = ["\n## ", "\n### "].iter().filter_map(|next| rest.find(next)).min();
    rest[..end.unwrap_or(rest.len())].to_owned()
}

/// What stands in backquotes at the beginning of a table's rows.
fn first_column(table: &str) -> BTreeSet<String> {
    let row = |line: &str| Some(line.strip_prefix("| `")?.split_once("` |")?.0.to_owned());
    table.lines().filter_map(row).collect()
}

/// The last column of a document's table of invariants, if it has one.
fn named_tests(document: &str) -> Vec<String> {
    let table = part(document, "Invariants");
    let rows = table.lines().filter(|line| line.starts_with("| "));
    let last = rows.filter_map(|row| row.trim_end_matches('|').rsplit('|').next());
    last.flat_map(quoted).collect()
}

fn kind(frame: &str) -> String {
    let frame: Value = serde_json::from_str(frame).unwrap();
    frame[KIND].as_str().unwrap().to_owned()
}

/// The seed's placeholders stand for any base64.
pub(crate) fn filled(frame: &str) -> String {
    frame.replace("<base64_pcm>", "AAEC/w==").replace("<base64_image>", "AAEC/w==")
}

fn channel(socket: &str) -> Channel {
    match socket {
        "audio" => Channel::Audio,
        "input" => Channel::Input,
        other => panic!("no samples are sent on {other}"),
    }
}

fn dialect(own: Channel) -> AicoreDialect {
    AicoreDialect::new(SessionId::from_random(0), own, Locale::Ja)
}

pub(crate) fn fixtures() -> Vec<(String, Value)> {
    let read = |path: PathBuf| {
        let frame = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
        (path.display().to_string(), frame)
    };
    files_below("tests/fixtures/aicore").into_iter().map(read).collect()
}

pub(crate) fn toml_file(path: &str) -> toml::Table {
    read(path).parse().unwrap()
}

pub(crate) fn keys(table: &toml::Value) -> BTreeSet<String> {
    table.as_table().unwrap().keys().cloned().collect()
}

fn page() -> String {
    read("docs/aicore.md")
}

pub(crate) fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|err| panic!("{path}: {err}"))
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

pub(crate) fn files_below(directory: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut todo = vec![root().join(directory)];
    while let Some(dir) = todo.pop() {
        for entry in std::fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { todo.push(path) } else { found.push(path) }
        }
    }
    found
}
