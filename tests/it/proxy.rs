//! What a proxy says about its client, over real TCP: believed from a trusted one, ignored from anybody else.

use crate::support::{Gateway, PATIENCE, TOKEN};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

const AS_CLIENT: &str = "X-Forwarded-For: 203.0.113.9\r\nX-Forwarded-Proto: https\r\n\
     X-Forwarded-Host: desk.example\r\n";

async fn gateway(proxy: &str) -> Gateway {
    let proxy = proxy.parse().unwrap();
    Gateway::start_with(|config| {
        config.trusted_proxies = vec![proxy];
        config.allowed_hosts = vec!["desk.example".to_owned()];
    })
    .await
}

async fn status(gateway: &Gateway, path: &str, headers: &str) -> u16 {
    let mut client = TcpStream::connect(gateway.addr).await.unwrap();
    let request = format!("GET {path} HTTP/1.1\r\n{headers}Connection: close\r\n\r\n");
    client.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    timeout(PATIENCE, client.read_to_string(&mut answer)).await.unwrap().unwrap();
    assert!(!answer.contains("strict-transport-security"), "the proxy's business: {answer}");
    answer.split(' ').nth(1).unwrap().parse().unwrap()
}

#[tokio::test]
async fn a_trusted_proxy_is_believed() {
    let gateway = gateway("127.0.0.1").await;
    let host = format!("Host: {}\r\n", gateway.addr);
    let headers = format!("{host}{AS_CLIENT}");
    let from = |origin: &str| format!("{headers}Origin: {origin}\r\n");
    assert_eq!(status(&gateway, "/live", &from("https://desk.example")).await, 200);
    assert_eq!(status(&gateway, "/live", &from("http://desk.example")).await, 403);
    // Its own address is not what the client asked for.
    let inner = format!("http://{}", gateway.addr);
    assert_eq!(status(&gateway, "/live", &from(&inner)).await, 403);
    // Metrics are free on this machine only, and the client is not at it.
    assert_eq!(status(&gateway, "/metrics", &headers).await, 401);
    let operator = format!("{headers}Authorization: Bearer {TOKEN}\r\n");
    assert_eq!(status(&gateway, "/metrics", &operator).await, 200);
    // A proxy that does not say for whom it asks may ask for anybody.
    assert_eq!(status(&gateway, "/metrics", &host).await, 401);
    let invented = format!("{host}X-Forwarded-For: 127.0.0.1, 203.0.113.9\r\n");
    assert_eq!(status(&gateway, "/metrics", &invented).await, 401);
    let evil = format!("{host}X-Forwarded-Host: evil.example\r\n");
    assert_eq!(status(&gateway, "/live", &evil).await, 403);
    gateway.stop().await;
}

#[tokio::test]
async fn a_proxy_that_is_not_trusted_is_ignored() {
    let gateway = gateway("192.0.2.1").await;
    let host = format!("Host: {}\r\n", gateway.addr);
    let headers = format!("{host}{AS_CLIENT}");
    let from = |origin: &str| format!("{headers}Origin: {origin}\r\n");
    assert_eq!(status(&gateway, "/live", &from("https://desk.example")).await, 403);
    let inner = format!("http://{}", gateway.addr);
    assert_eq!(status(&gateway, "/live", &from(&inner)).await, 200);
    assert_eq!(status(&gateway, "/metrics", &headers).await, 200);
    let own_name = format!("Host: evil.example\r\n{AS_CLIENT}");
    assert_eq!(status(&gateway, "/live", &own_name).await, 403);
    gateway.stop().await;
}
