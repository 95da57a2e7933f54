//! Reports of the data analyst as they are handed out, and the choice among several tables.

use crate::analyst::{Analyst, gateway, upload, with_sales};
use crate::http::get;
use crate::sessions::{ask, unpacked};
use serde_json::{Value, json};

const ORDERS: &str = "product,quantity\nPen,3\nBook,5\nPen,4\n";

fn call(code: &str) -> String {
    format!("use python_interpreter {}", json!({"code": code}))
}

#[tokio::test]
async fn a_table_can_be_chosen_again() {
    let Some(gateway) = gateway().await else { return };
    let session = with_sales(&gateway).await;
    upload(&gateway, "orders.csv", Some(&session), ORDERS.as_bytes()).await;
    let mut analyst = Analyst::open(gateway.addr, &session).await;
    analyst.ask(&call("print(df.shape, sorted(dfs))")).await;
    assert_eq!(analyst.one("exec").await["stdout"], "(3, 2) ['orders.csv', 'sales.csv']\n");
    analyst.one("done").await;
    // What is asked right behind it finds the chosen table.
    analyst.raw(r#"{"type":"choose","name":"sales.csv","id":"c"}"#).await;
    analyst.ask(&call("print(df.shape, sorted(dfs))")).await;
    assert_eq!(analyst.one("dataset_info").await["name"], "sales.csv");
    assert_eq!(analyst.one("exec").await["stdout"], "(7, 3) ['orders.csv', 'sales.csv']\n");
    analyst.one("done").await;
    analyst.raw(r#"{"type":"choose","name":"other.csv","id":"d"}"#).await;
    let refused = analyst.one("error").await;
    assert_eq!((&refused["code"], &refused["id"]), (&json!("not_carried_out"), &json!("d")));
    gateway.stop().await;
}

#[tokio::test]
async fn a_report_is_about_its_own_request() {
    let Some(gateway) = gateway().await else { return };
    let session = with_sales(&gateway).await;
    let mut analyst = Analyst::open(gateway.addr, &session).await;
    analyst.ask(&call("print('of the first request')")).await;
    analyst.one("done").await;
    analyst.ask(&call("1/0")).await;
    let report = analyst.one("report").await.to_string();
    assert!(!report.contains("of the first request"), "{report}");
    gateway.stop().await;
}

#[tokio::test]
async fn what_stands_in_a_table_is_only_text_in_the_report() {
    let Some(gateway) = gateway().await else { return };
    let table = "name,amount\n![i](http://evil.invalid/x.png),1\n<img src=x onerror=alert(1)>,2\n";
    let told = upload(&gateway, "x.csv", None, table.as_bytes()).await.json();
    let session = told["session"].as_str().unwrap();
    let mut analyst = Analyst::open(gateway.addr, session).await;
    analyst.ask("sum of amount by name").await;
    analyst.one("report").await;
    analyst.one("done").await;
    let path = format!("/analyst/report/{session}");
    let markdown = get(&path).local().send(gateway.addr).await.body;
    assert!(markdown.contains("evil"), "{markdown}");
    let live = markdown.replace("\\[", "").replace("\\<", "");
    assert!(!live.contains("![i") && !live.contains("<img"), "{markdown}");
    gateway.stop().await;
}

#[tokio::test]
async fn a_report_is_downloaded_with_its_figures_in_the_language_of_its_question() {
    let Some(gateway) = gateway().await else { return };
    let told = upload(&gateway, "orders.csv", None, ORDERS.as_bytes()).await.json();
    let session = told["session"].as_str().unwrap().to_owned();
    let mut analyst = Analyst::open(gateway.addr, &session).await;
    for (question, language) in [
        ("sum of quantity by product as a bar chart", "en"),
        ("productごとのquantityの合計を棒グラフで", "ja"),
    ] {
        analyst.ask(question).await;
        let figure = analyst.until("done").await;
        let is_figure = |frame: &&Value| frame["kind"] == "figure";
        let figure = figure.iter().find(is_figure).unwrap()["file_name"].as_str().unwrap();
        let path = format!("/analyst/report/{session}?format=");
        let page = get(&format!("{path}html")).local().send(gateway.addr).await.body;
        assert!(page.contains(&format!("<html lang=\"{language}\">")), "{question}: {page:.200}");
        let (_, archive) = ask(gateway.addr, "GET", &format!("{path}tar")).await;
        let files = unpacked(&archive);
        assert!(files.values().all(|content| !content.is_empty()));
        let names: Vec<_> = files.keys().collect();
        assert!(names.iter().any(|name| name.starts_with("report") && name.ends_with(".md")));
        assert!(files.contains_key(figure), "{names:?} {figure}");
    }
    gateway.stop().await;
}
