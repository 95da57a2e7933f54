//! Tables, files and reports of one user, whom another one asks for them.

use crate::analyst::{Analyst, gateway_with};
use crate::client::{Api, Client, CoreUi};
use crate::http::{Reply, announced, delete, get};
use crate::login::{log_in, with_users};
use serde_json::json;

#[tokio::test]
async fn no_other_user_reaches_a_table_a_file_or_a_report() {
    let Some(gateway) = gateway_with(with_users).await else { return };
    let addr = gateway.addr;
    let (ann, bob) = (log_in(addr, "ann").await, log_in(addr, "bob").await);
    let table = b"shop,amount\nsecretshop,1\nother,2\n";
    let sent = announced("/analyst/upload?name=mine.csv", "text/csv").bearer(&ann).bytes(table);
    let told = sent.send(addr).await;
    assert_eq!(told.status, 201, "{}", told.body);
    let session = told.json()["session"].as_str().unwrap().to_owned();
    let query = format!("session={session}");
    let (mut analyst, _) = Analyst::attach(addr, &query, &ann).await;
    analyst.ask("sum of amount by shop as a bar chart").await;
    let frames = analyst.until("done").await;
    let figure = frames.iter().find(|frame| frame["kind"] == "figure").unwrap();
    let paths = [
        figure["url"].as_str().unwrap().to_owned(),
        format!("/analyst/files/{session}/mine.csv"),
        format!("/analyst/files/{session}/report.md"),
        format!("/analyst/report/{session}"),
        format!("/analyst/report/{session}?format=html"),
        format!("/analyst/report/{session}?format=tar"),
        format!("/api/sessions/{session}/export"),
    ];
    let shows_nothing = |reply: &Reply| !reply.body.contains("secretshop");
    for path in &paths {
        // The client of these tests reads texts only.
        if !path.ends_with(".png") && !path.ends_with("tar") {
            assert_eq!(get(path).bearer(&ann).send(addr).await.status, 200, "{path}");
        }
        let refused = get(path).bearer(&bob).send(addr).await;
        assert!(
            (400..500).contains(&refused.status) && shows_nothing(&refused),
            "{path}: {}",
            refused.body
        );
    }
    // Neither may he add to the session, or begin a workspace in it, or delete it.
    let path = format!("/analyst/upload?name=his.csv&session={session}");
    let refused = announced(&path, "text/csv").bearer(&bob).bytes(b"n\n1\n").send(addr).await;
    assert_eq!(refused.status, 404, "{}", refused.body);
    let gone = delete(&format!("/api/sessions/{session}")).bearer(&bob).send(addr).await;
    assert!((400..500).contains(&gone.status), "{}", gone.body);
    // Sockets of every interface are refused, and told nothing.
    let (_, first) = Analyst::attach(addr, &query, &bob).await;
    assert_eq!(first["type"], "error", "{first}");
    let header = format!("Bearer {bob}");
    let mut api = Client::<Api>::dial_as(addr, Some(("Authorization", &header))).await;
    api.send(&json!({"type": "hello", "session": session, "language": "en"})).await;
    let first = api.next().await;
    assert_eq!(first["type"], "error", "{first}");
    let client = Client::<CoreUi>::attach(addr, &query, &[("Authorization", &header)]).await;
    assert!(!client.init.to_string().contains(&session), "{}", client.init);
    // What he computes himself sees nothing of hers.
    let sent = announced("/analyst/upload?name=his.csv", "text/csv").bearer(&bob).bytes(b"n\n1\n");
    let own = sent.send(addr).await.json()["session"].as_str().unwrap().to_owned();
    let (mut analyst, _) = Analyst::attach(addr, &format!("session={own}"), &bob).await;
    let code = json!({"code": "print(list(dfs), pd.io.common.os.listdir('/workspace'))"});
    analyst.ask(&format!("use python_interpreter {code}")).await;
    assert_eq!(analyst.one("exec").await["stdout"], "['his.csv'] ['his.csv']\n");
    analyst.raw(r#"{"type":"choose","name":"mine.csv","id":"c"}"#).await;
    assert_eq!(analyst.one("error").await["code"], "not_carried_out");
    assert_eq!(get(&paths[1]).bearer(&ann).send(addr).await.body.as_bytes(), table);
    gateway.stop().await;
}
