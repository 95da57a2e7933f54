//! The page of the data analyst names the frames, fields, codes and statuses that exist, and no others.

use crate::asyncapi::object;
use crate::asyncapi_analyst::codes;
use crate::docs::{quoted, read};
use crate::golden_analyst::{dialect, fixtures, types};
use crate::protocol::document;
use kakehashi::dialect::analyst::client_types;
use kakehashi::dialect::{Dialect, Received};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// The cells of the first two columns of the table with this first heading.
fn table(heading: &str) -> Vec<(String, String)> {
    let page = read("docs/analyst.md");
    let (_, table) = page.split_once(&format!("\n| {heading} |")).expect(heading);
    let lines = table.lines().skip(2).take_while(|line| line.starts_with('|'));
    let row = |line: &str| {
        // A bar within a cell has a backslash.
        let line = line.replace("\\|", "/");
        let mut cells = line.trim_matches('|').split('|').map(|cell| cell.trim().to_owned());
        (cells.next().unwrap(), cells.next().unwrap())
    };
    lines.map(row).collect()
}

fn names(heading: &str) -> BTreeSet<String> {
    table(heading).iter().flat_map(|row| quoted(&row.0)).collect()
}

#[test]
fn every_frame_of_the_page_is_sent_and_none_is_missing() {
    assert_eq!(names("frame"), types("server_"));
}

#[test]
fn every_field_of_a_frame_is_on_the_page() {
    let rows: BTreeMap<String, BTreeSet<String>> = table("frame")
        .into_iter()
        .map(|(name, fields)| (name.trim_matches('`').to_owned(), quoted(&fields)))
        .collect();
    let ours = fixtures().into_iter().filter(|(name, _)| name.starts_with("server_"));
    let mut there: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (_, frame) in ours {
        let keys = object(&frame).map(|row| row.0.clone());
        let keys = keys.filter(|key| !["type", "seq", "at"].contains(&key.as_str()));
        there.entry(frame["type"].as_str().unwrap().to_owned()).or_default().extend(keys);
    }
    for (kind, keys) in there {
        let listed = &rows[&kind];
        assert!(keys.is_subset(listed), "{kind}: {keys:?}, but the page has {listed:?}");
    }
}

#[test]
fn every_frame_that_the_page_tells_to_send_is_understood() {
    let mut sent = BTreeSet::new();
    for (cell, _) in table("you send") {
        let frame = cell.trim_matches('`');
        let value: Value = serde_json::from_str(frame).unwrap();
        let read = dialect().decode(Received::Text(frame));
        assert!(read.is_ok(), "{frame}: {read:?}");
        sent.insert(value["type"].as_str().unwrap().to_owned());
    }
    assert_eq!(sent, client_types().map(str::to_owned).into());
}

#[test]
fn every_code_of_the_page_comes_through_the_socket_and_none_is_missing() {
    assert_eq!(names("code"), codes());
}

#[test]
fn every_status_of_an_upload_is_on_the_page() {
    let openapi = document("openapi");
    let answers = &openapi["paths"]["/analyst/upload"]["post"]["responses"];
    let listed: BTreeSet<String> = table("status").into_iter().map(|row| row.0).collect();
    assert_eq!(listed, object(answers).map(|row| row.0.clone()).collect());
}

/// Every code of `refuse(` in the code that takes uploads stands in a row of the page.
#[test]
fn every_code_of_an_upload_is_on_the_page() {
    let code = read("src/server/analyst/upload.rs");
    let rows: BTreeSet<String> = table("status").iter().flat_map(|row| quoted(&row.1)).collect();
    let used = [
        "bad_field",
        "not_received",
        "stopping",
        "not_stored",
        "not_a_table",
        "no_python",
        "too_large",
    ];
    for name in used {
        assert!(code.contains(&format!("\"{name}\"")), "{name} is sent no more");
        assert!(rows.contains(name), "{name} is not on the page");
    }
}
