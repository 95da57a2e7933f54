//! Pages from elsewhere, over real TCP: a listed origin may ask and read, another one may not.

use crate::http::{get, post};
use crate::process::Process;
use crate::support::{Gateway, Home, PATIENCE};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

const LISTED: &str = "http://localhost:8090";

async fn gateway() -> Gateway {
    Gateway::start_with(|config| config.allowed_origins = vec![LISTED.to_owned()]).await
}

async fn ask(gateway: &Gateway, line: &str, headers: &str) -> String {
    let mut client = TcpStream::connect(gateway.addr).await.unwrap();
    let host = gateway.addr;
    let request = format!("{line} HTTP/1.1\r\nHost: {host}\r\n{headers}Connection: close\r\n\r\n");
    client.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    timeout(PATIENCE, client.read_to_string(&mut answer)).await.unwrap().unwrap();
    answer
}

fn preflight(origin: &str) -> String {
    format!(
        "Origin: {origin}\r\nAccess-Control-Request-Method: POST\r\n\
         Access-Control-Request-Headers: content-type\r\n"
    )
}

#[tokio::test]
async fn other_origins_are_refused_and_told_nothing() {
    let gateway = gateway().await;
    for origin in
        ["http://evil.example", "null", "http://localhost:80900", "https://localhost:8090"]
    {
        for (line, headers) in
            [("OPTIONS /live", preflight(origin)), ("GET /live", format!("Origin: {origin}\r\n"))]
        {
            let answer = ask(&gateway, line, &headers).await;
            assert!(answer.starts_with("HTTP/1.1 403 "), "{line} {origin}: {answer}");
            assert!(!answer.contains("access-control-"), "{line} {origin}: {answer}");
        }
    }
    gateway.stop().await;
}

#[tokio::test]
async fn a_listed_origin_asks_first_and_is_answered() {
    let gateway = gateway().await;
    for path in ["/live", "/nowhere"] {
        let answer = ask(&gateway, &format!("OPTIONS {path}"), &preflight(LISTED)).await;
        assert!(answer.starts_with("HTTP/1.1 204 "), "{answer}");
        for line in [
            "access-control-allow-origin: http://localhost:8090\r\n",
            "access-control-allow-credentials: true\r\n",
            "access-control-allow-methods: GET, POST, DELETE\r\n",
            "access-control-allow-headers: content-type, authorization, last-event-id\r\n",
            "vary: Origin\r\n",
        ] {
            assert!(answer.contains(line), "{line}: {answer}");
        }
    }
    gateway.stop().await;
}

#[tokio::test]
async fn a_listed_origin_may_read_every_answer() {
    let gateway = gateway().await;
    for (path, status) in [("/live", "200"), ("/nowhere", "404")] {
        let answer = ask(&gateway, &format!("GET {path}"), &format!("Origin: {LISTED}\r\n")).await;
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{answer}");
        assert!(answer.contains(&format!("access-control-allow-origin: {LISTED}\r\n")), "{answer}");
        assert!(answer.contains("vary: Origin\r\n"), "{answer}");
    }
    gateway.stop().await;
}

#[tokio::test]
async fn our_own_page_needs_no_cors_headers() {
    let gateway = gateway().await;
    let own = format!("http://{}", gateway.addr);
    let answer = ask(&gateway, "GET /live", &format!("Origin: {own}\r\n")).await;
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    assert!(!answer.contains("access-control-"), "{answer}");
    assert!(answer.contains("vary: Origin\r\n"), "{answer}");
    let answer = ask(&gateway, "OPTIONS /live", &preflight(&own)).await;
    assert!(answer.starts_with("HTTP/1.1 405 "), "{answer}");
    gateway.stop().await;
    let closed = Gateway::start().await;
    assert!(!ask(&closed, "GET /live", "").await.contains("vary"), "nothing varies");
    closed.stop().await;
}

#[tokio::test]
async fn a_refused_page_is_told_why_and_its_line_is_in_the_log_once() {
    let home = Home::new();
    let log = home.data.path().join("log");
    let script = format!("exec \"$0\" \"$@\" 2>'{}'", log.display());
    let settings = "language = \"en\"\nallowed_origins = [\"http://localhost:8090\"]\n";
    let process = Process::start_under(&home, &script, settings);
    let page = "http://localhost:5173";
    for _ in 0..3 {
        let body = serde_json::json!({"利用者ID": "local", "パスワード": "x"});
        let asked = post("/core/auth/ログイン", &body).header("Origin", page);
        let refused = asked.send(process.addr).await;
        assert_eq!((refused.status, refused.refused().as_str()), (403, "ORIGIN_REFUSED"));
        let told = refused.json();
        assert_eq!(told["message"], told["detail"]);
        assert!(told["message"].as_str().unwrap().contains(page), "{told}");
        // No other site learns more than that it is refused.
        assert_eq!(refused.header("access-control-allow-origin"), None);
    }
    let evil = get("/live").header("Origin", "null").send(process.addr).await;
    assert_eq!(evil.status, 403);
    for _ in 0..2 {
        let mut client = TcpStream::connect(process.addr).await.unwrap();
        let request = "GET /live HTTP/1.1\r\nHost: my.example:8091\r\nConnection: close\r\n\r\n";
        client.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        timeout(PATIENCE, client.read_to_string(&mut answer)).await.unwrap().unwrap();
        assert!(answer.starts_with("HTTP/1.1 403 "), "{answer}");
    }
    let line = r#"allowed_origins = ["http://localhost:8090", "http://localhost:5173"]"#;
    let lines = std::fs::read_to_string(&log).unwrap();
    let lines: Vec<serde_json::Value> =
        lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let told: Vec<_> = lines.iter().filter(|row| row["line"] == line).collect();
    assert_eq!(told.len(), 1, "{lines:?}");
    assert_eq!(told[0]["level"], "WARN");
    let message = told[0]["message"].as_str().unwrap();
    let file = home.data.path().join("settings.toml").display().to_string();
    assert!(message.ends_with(line) && message.contains(&file), "{told:?}");
    let hosts = r#"allowed_hosts = ["my.example:8091"]"#;
    assert_eq!(lines.iter().filter(|row| row["line"] == hosts).count(), 1, "{lines:?}");
    let never = lines.iter().find(|row| row["name"] == "null").unwrap();
    assert_eq!(never["line"], serde_json::Value::Null);
    // The very line lets the page in.
    drop(process);
    let process = Process::start(&home, &format!("{line}\n"));
    let asked = get("/live").header("Origin", page).send(process.addr).await;
    assert_eq!(asked.status, 200);
}
