//! The page of the session API: its examples run, and its frames are understood.

use crate::asyncapi::strings;
use crate::docs::quoted;
use crate::golden_api::fixtures;
use crate::protocol::document;
use crate::support::{Gateway, TOKEN};
use kakehashi::dialect::api::{ApiDialect, client_types, read_hello};
use kakehashi::dialect::{Dialect, Received};
use kakehashi::locale::Locale;
use kakehashi::message::SessionId;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::process::Stdio;
use std::time::Duration;
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};
use tokio::time::timeout;

const PATIENCE: Duration = Duration::from_secs(60);

fn page() -> String {
    std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/api.md")).unwrap()
}

/// The code of the page, the first example first.
fn examples() -> Vec<String> {
    let page = page();
    let blocks = page.split("```js\n").skip(1);
    blocks.map(|block| block.split("```").next().unwrap().to_owned()).collect()
}

/// A running example; its directory goes with it.
struct Example {
    lines: Lines<BufReader<ChildStdout>>,
    _child: Child,
    _directory: TempDir,
}

impl Example {
    fn start(code: &str, gateway: &Gateway, more: &[&str]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("example.mjs");
        std::fs::write(&file, code).unwrap();
        let mut child = Command::new("node")
            .args(["--experimental-websocket", "--no-warnings"])
            .arg(&file)
            .args([&format!("http://{}", gateway.addr), TOKEN])
            .args(more)
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .expect("node is there");
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { lines, _child: child, _directory: directory }
    }

    async fn line(&mut self) -> Option<String> {
        timeout(PATIENCE, self.lines.next_line()).await.expect("no line in time").unwrap()
    }
}

#[tokio::test]
async fn the_chat_example_prints_the_answer_and_ends() {
    let gateway = Gateway::start().await;
    let mut chat = Example::start(&examples()[0], &gateway, &["hello"]);
    let answer = chat.line().await.expect("an answer");
    assert!(!answer.is_empty());
    assert_eq!(chat.line().await, None);
    gateway.stop().await;
}

#[tokio::test]
async fn the_dashboard_example_prints_what_changes() {
    let gateway = Gateway::start().await;
    let project = gateway.project().to_owned();
    std::fs::write(project.join("a.txt"), "a").unwrap();
    let mut dashboard = Example::start(&examples()[1], &gateway, &[]);
    assert_eq!(dashboard.line().await.as_deref(), Some("1 files"));
    std::fs::write(project.join("b.txt"), "b").unwrap();
    let line = dashboard.line().await.unwrap();
    assert!(line.starts_with("+ ") && line.contains("b.txt ("), "{line}");
    std::fs::remove_file(project.join("a.txt")).unwrap();
    let line = dashboard.line().await.unwrap();
    assert!(line.starts_with("- ") && line.ends_with("a.txt"), "{line}");
    gateway.stop().await;
}

#[test]
fn the_examples_are_short() {
    let examples = examples();
    assert_eq!(examples.len(), 2);
    for example in examples {
        let lines = example.lines().filter(|line| !line.trim().is_empty()).count();
        assert!(lines <= 32, "{lines} lines:\n{example}");
    }
}

/// Frames in the table of what clients send.
pub(crate) fn sent() -> Vec<String> {
    let page = page();
    let (_, table) = page.split_once("## What you send").unwrap();
    let (table, _) = table.split_once("## What you get").unwrap();
    let cells =
        table.lines().filter(|line| line.starts_with("| `{") || line.starts_with("| binary"));
    let firsts = cells.filter_map(|line| line.split('|').nth(1));
    let codes = firsts.flat_map(|cell| cell.split('`').map(str::to_owned).collect::<Vec<_>>());
    codes.filter(|code| code.starts_with('{')).collect()
}

#[test]
fn frames_of_the_page_are_understood_and_complete() {
    let dialect = ApiDialect::new(SessionId::from_random(0), Locale::En, Some(24_000));
    let mut types = BTreeSet::new();
    for frame in sent() {
        let frame = frame.replace("BASE64", "aGVsbG8=");
        let read = dialect.decode(Received::Text(&frame));
        assert!(read.is_ok(), "{frame}: {read:?}");
        let frame: Value = serde_json::from_str(&frame).unwrap();
        types.insert(frame["type"].as_str().unwrap().to_owned());
    }
    types.insert("unwatch".to_owned());
    assert_eq!(types, client_types().map(str::to_owned).into());
}

#[test]
fn the_hello_of_the_page_is_understood() {
    let page = page();
    let hello = page.split("```json\n").nth(1).unwrap().split("```").next().unwrap();
    let hello = hello.replace("ws-…", &format!("ws-{}", "0".repeat(32))).replace("5f1c…", "5f1c");
    read_hello(&hello).unwrap();
}

/// The rows of the table with this first heading: the names in the first column, and those in the last.
fn rows(heading: &str) -> Vec<(BTreeSet<String>, BTreeSet<String>)> {
    let page = page();
    let (_, table) = page.split_once(&format!("\n| {heading} |")).expect(heading);
    let lines = table.lines().skip(2).take_while(|line| line.starts_with('|'));
    let row = |line: &str| {
        let cells: Vec<_> = line.trim_matches('|').split('|').map(quoted).collect();
        (cells.first().unwrap().clone(), cells.last().unwrap().clone())
    };
    lines.map(row).collect()
}

/// The types of golden frames with the keys of their `data`, of all frames of a type together.
fn data_keys(is_wanted: impl Fn(&Value) -> bool) -> BTreeMap<String, BTreeSet<String>> {
    let mut found: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
    for (_, frame) in fixtures().into_iter().filter(|(name, _)| name.starts_with("server_")) {
        if let Some(data) = frame["data"].as_object().filter(|_| is_wanted(&frame)) {
            let kind = frame["type"].as_str().unwrap().to_owned();
            found.entry(kind).or_default().extend(data.keys().cloned());
        }
    }
    found
}

#[test]
fn every_event_and_signal_is_listed_with_its_data_and_no_other() {
    for (heading, is_event) in [("event", true), ("signal", false)] {
        let mut listed = BTreeMap::new();
        for (names, keys) in rows(heading) {
            let name = names.into_iter().next().expect(heading);
            assert!(listed.insert(name.clone(), keys).is_none(), "{name} is listed twice");
        }
        let sent = data_keys(|frame| frame["order"].is_u64() == is_event);
        assert_eq!(listed, sent, "{heading}");
    }
}

#[test]
fn every_error_code_of_the_page_is_in_the_document_and_no_other() {
    let listed: BTreeSet<String> = rows("code").into_iter().flat_map(|(codes, _)| codes).collect();
    let document = document("asyncapi-api");
    assert_eq!(listed, strings(&document["components"]["schemas"]["ErrorCode"]["enum"]));
}
