//! Questions to the rule-based analyst, with their answers by real Python. What has to come out was computed by
//! `tests/fixtures/analyst/check.py` with pandas, without the templates of the analyst.

use crate::analyst::{Analyst, gateway};
use crate::http::announced;
use crate::support::Gateway;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

const TABLES: [(&str, &str); 5] = [
    ("sales", "sales.csv"),
    ("sensors", "sensors.csv"),
    ("messy", "messy.csv"),
    ("staff", "staff_cp932.csv"),
    ("orders", "orders.csv"),
];

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/analyst")
}

fn questions() -> Value {
    let text = std::fs::read_to_string(fixtures().join("questions.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

async fn session_with(gateway: &Gateway, file: &str) -> String {
    let bytes = std::fs::read(fixtures().join(file)).unwrap();
    let path = format!("/analyst/upload?name={file}");
    let told = announced(&path, "text/csv").local().bytes(&bytes).send(gateway.addr).await;
    assert_eq!(told.status, 201, "{}", told.body);
    told.json()["session"].as_str().unwrap().to_owned()
}

/// Facts by their names, and the rows of tables by theirs.
#[derive(Default)]
struct Printed {
    facts: BTreeMap<String, Value>,
    tables: BTreeMap<String, Value>,
}

fn printed(stdout: &str) -> Printed {
    let mut printed = Printed::default();
    for line in stdout.lines() {
        let Some((mark, json)) = line.split_once(' ') else { continue };
        let Ok(mut told) = serde_json::from_str::<Value>(json) else { continue };
        let name = told["name"].as_str().unwrap_or_default().to_owned();
        match mark {
            "@fact" => drop(printed.facts.insert(name, told["value"].take())),
            "@table" => drop(printed.tables.insert(name, told["rows"].take())),
            _ => {}
        }
    }
    printed
}

fn same(found: &Value, expected: &Value) -> bool {
    match (found.as_f64(), expected.as_f64()) {
        (Some(found), Some(expected)) => (found - expected).abs() <= 1e-6 * expected.abs().max(1.0),
        _ => found == expected,
    }
}

#[track_caller]
fn check(id: &str, expected: &Value, stdout: &str) {
    let printed = printed(stdout);
    for (name, value) in expected["facts"].as_object().into_iter().flatten() {
        let found = printed.facts.get(name).unwrap_or_else(|| panic!("{id}: no {name}: {stdout}"));
        assert!(same(found, value), "{id}: {name} is {found} and not {value}");
    }
    let Some(name) = expected["table"].as_str() else { return };
    let rows = printed.tables.get(name).unwrap_or_else(|| panic!("{id}: no {name}: {stdout}"));
    for (at, row) in expected["rows"].as_array().unwrap().iter().enumerate() {
        for (cell, value) in row.as_array().unwrap().iter().enumerate() {
            let found = &rows[at][cell];
            assert!(same(found, value), "{id}: row {at}: {found} and not {value}: {rows}");
        }
    }
}

#[tokio::test]
async fn questions_are_answered_as_pandas_answers_them() {
    let Some(gateway) = gateway().await else { return };
    let questions = questions();
    for (table, file) in TABLES {
        let session = session_with(&gateway, file).await;
        let mut analyst = Analyst::open(gateway.addr, &session).await;
        analyst.until("dataset_info").await;
        let rows = questions["questions"].as_array().unwrap().iter();
        for row in rows.filter(|row| row["table"] == table) {
            let id = row["id"].as_str().unwrap();
            analyst.ask(row["question"].as_str().unwrap()).await;
            let frames = analyst.until("done").await;
            let done = frames.iter().find(|frame| frame["type"] == "exec");
            let done = done.unwrap_or_else(|| panic!("{id}: nothing was run: {frames:?}"));
            assert_eq!(done["success"], true, "{id}: {done}");
            check(id, &row["expected"], done["stdout"].as_str().unwrap());
            let is_figure = |frame: &Value| frame["kind"] == "figure";
            let has_figure = frames.iter().any(is_figure);
            assert_eq!(has_figure, !row["figure"].is_null(), "{id}");
            let report = frames.iter().find(|frame| frame["type"] == "report").unwrap();
            let text = report["sections"].to_string();
            assert!(report["rule_based"] == true && text.contains("##"), "{id}: {text}");
        }
    }
    gateway.stop().await;
}

#[tokio::test]
async fn what_is_not_understood_is_asked_about_and_a_yes_is_an_answer() {
    let Some(gateway) = gateway().await else { return };
    let questions = questions();
    for row in questions["asks"].as_array().unwrap() {
        let question = row["question"].as_str().unwrap();
        let file = TABLES.iter().find(|(table, _)| row["table"] == *table).unwrap().1;
        let session = session_with(&gateway, file).await;
        let mut analyst = Analyst::open(gateway.addr, &session).await;
        analyst.until("dataset_info").await;
        analyst.ask(question).await;
        let frames = analyst.until("done").await;
        assert!(frames.iter().any(|frame| frame["type"] == "question"), "{question}: {frames:?}");
        let yes = if question.is_ascii() { "yes" } else { "はい" };
        analyst.ask(yes).await;
        let frames = analyst.until("done").await;
        assert!(frames.iter().any(|frame| frame["type"] == "report"), "{question}: {frames:?}");
    }
    gateway.stop().await;
}
