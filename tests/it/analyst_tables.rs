//! Tables on their way from the upload to the answer: what is known of them outlives a restart, and a large one is
//! answered about completely.

use crate::analyst::{Analyst, gateway, upload, with_sales};
use crate::support::Gateway;
use serde_json::json;
use std::fmt::Write;
use std::time::{Duration, Instant};

fn call(code: &str) -> String {
    format!("use python_interpreter {}", json!({"code": code}))
}

#[tokio::test]
async fn a_question_about_a_million_rows_is_answered() {
    let Some(gateway) = gateway().await else { return };
    let mut table = String::from("id,day,shop,amount\n");
    for number in 0..1_000_000 {
        let (day, shop) = (number % 28 + 1, ["north", "south", "east"][number % 3]);
        let _ = writeln!(table, "{number},2024-01-{day:02},{shop},{}", number % 1000);
    }
    assert!(table.len() > 25_000_000);
    let told = upload(&gateway, "large.csv", None, table.as_bytes()).await;
    assert_eq!(told.status, 201, "{}", told.body);
    let told = told.json();
    assert_eq!((&told["shape"], &told["sampled"]), (&json!([1_000_000, 4]), &json!(null)));
    let mut analyst = Analyst::open(gateway.addr, told["session"].as_str().unwrap()).await;
    analyst.ask("sum of amount by shop").await;
    let done = analyst.one("exec").await;
    assert_eq!(done["success"], true, "{done}");
    // Every third number of 0..1_000_000, of which the last three digits count.
    let north: u64 = (0..1_000_000).step_by(3).map(|number| number % 1000).sum();
    assert!(done["stdout"].as_str().unwrap().contains(&north.to_string()), "{done}");
    gateway.stop().await;
}

/// The rows of all tables, as they are stored.
fn stored_tables(gateway: &Gateway) -> String {
    let file = gateway.home.data.path().join("kakehashi.db");
    let database = rusqlite::Connection::open(file).unwrap();
    let mut asked = database.prepare("SELECT body FROM events").unwrap();
    let bodies = asked.query_map([], |row| row.get::<_, String>(0)).unwrap();
    bodies.map(Result::unwrap).filter(|body| body.contains("shops.csv")).collect()
}

#[tokio::test]
async fn values_and_dates_are_kept_for_the_planner_and_not_told_to_clients() {
    let Some(gateway) = gateway().await else { return };
    let table = "shop,day\nnorth,31/12/2024\nsouth,1/12/2024\n";
    let told = upload(&gateway, "shops.csv", None, table.as_bytes()).await;
    assert!(!told.body.contains("%d/%m/%Y") && !told.body.contains("values"), "{}", told.body);
    let session = told.json()["session"].as_str().unwrap().to_owned();
    let mut analyst = Analyst::open(gateway.addr, &session).await;
    let frame = analyst.one("dataset_info").await.to_string();
    assert!(!frame.contains("%d/%m/%Y") && !frame.contains("values"), "{frame}");
    let home = gateway.stop().await;
    let gateway = Gateway::start_at(home, |_| ()).await;
    let stored = stored_tables(&gateway);
    assert!(stored.contains(r#"["north","south"]"#) && stored.contains("%d/%m/%Y"), "{stored}");
    gateway.stop().await;
}

#[tokio::test]
async fn a_cancel_while_the_interpreter_starts_is_quick_and_the_next_request_works() {
    let Some(gateway) = gateway().await else { return };
    let session = with_sales(&gateway).await;
    let mut analyst = Analyst::open(gateway.addr, &session).await;
    for pause in [0, 100, 400] {
        // Another table needs another interpreter.
        upload(&gateway, "more.csv", Some(&session), b"n\n1\n2\n").await;
        analyst.ask(&call("print(len(df))")).await;
        analyst.one("code").await;
        tokio::time::sleep(Duration::from_millis(pause)).await;
        let cancelled = Instant::now();
        analyst.raw(r#"{"type":"cancel"}"#).await;
        analyst.one("done").await;
        assert!(cancelled.elapsed().as_secs() < 20, "{pause}: {:?}", cancelled.elapsed());
        analyst.ask(&call("print(len(df))")).await;
        assert_eq!(analyst.one("exec").await["stdout"], "2\n", "{pause}");
        analyst.one("done").await;
    }
    gateway.stop().await;
}
