//! Pages from elsewhere, over real TCP: a listed origin may ask and read, another one may not.

use crate::support::{Gateway, PATIENCE};
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
            "access-control-allow-headers: content-type, authorization\r\n",
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
async fn our_own_page_needs_none_of_it() {
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
