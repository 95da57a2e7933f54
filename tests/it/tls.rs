//! TLS over real TCP: mistakes in the files, clients that do not speak it, and WebSockets over it.

use crate::process::Process;
use crate::support::{Gateway, Home, KIND, PATIENCE, SESSION, SOCKET_PATH, TOKEN};
use futures_util::{SinkExt, StreamExt};
use kakehashi::config::{Config, TlsFiles};
use rcgen::{CertifiedKey, KeyPair, generate_simple_self_signed};
use serde_json::{Value, json};
use std::fs::Permissions;
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::{Error, Message};

/// A certificate for this machine that only its own client believes.
struct Certificate {
    directory: TempDir,
    der: CertificateDer<'static>,
}

impl Certificate {
    fn new() -> Self {
        let names = ["localhost", "127.0.0.1", "desk.example"].map(str::to_owned);
        let CertifiedKey { cert, signing_key } = generate_simple_self_signed(names).unwrap();
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("cert.pem"), cert.pem()).unwrap();
        let key = directory.path().join("key.pem");
        std::fs::write(&key, signing_key.serialize_pem()).unwrap();
        std::fs::set_permissions(&key, Permissions::from_mode(0o600)).unwrap();
        Self { directory, der: cert.der().clone() }
    }

    fn files(&self) -> TlsFiles {
        let at = |name| self.directory.path().join(name);
        TlsFiles { cert: at("cert.pem"), key: at("key.pem") }
    }

    async fn gateway(&self, change: impl FnOnce(&mut Config)) -> Gateway {
        Gateway::start_with(|config| {
            config.tls = Some(self.files());
            change(config);
        })
        .await
    }

    async fn dial(&self, addr: SocketAddr) -> TlsStream<TcpStream> {
        let mut roots = RootCertStore::empty();
        roots.add(self.der.clone()).unwrap();
        let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        let name = ServerName::try_from("localhost").unwrap();
        let tcp = TcpSocket::new_v4().unwrap();
        // Soon full, for the test that does not read.
        tcp.set_recv_buffer_size(32 * 1024).unwrap();
        let tcp = tcp.connect(addr).await.unwrap();
        let connect = TlsConnector::from(Arc::new(config)).connect(name, tcp);
        timeout(PATIENCE, connect).await.unwrap().unwrap()
    }

    async fn get(&self, addr: SocketAddr, path: &str, headers: &str) -> String {
        let mut stream = self.dial(addr).await;
        let request = format!("GET {path} HTTP/1.1\r\n{headers}Connection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut response = String::new();
        timeout(PATIENCE, stream.read_to_string(&mut response)).await.unwrap().unwrap();
        response
    }
}

fn start(home: &Home, cert: &Path, key: &Path) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kakehashi"));
    command.args(["--listen", "127.0.0.1:0", "--data"]).arg(home.data.path());
    command.arg("--project").arg(home.project.path()).arg("--tls-cert").arg(cert);
    command.arg("--tls-key").arg(key).env_clear().env("HOME", home.data.path()).output().unwrap()
}

#[track_caller]
fn check_refused(output: &Output, expected: &str) {
    let line = String::from_utf8(output.stderr.clone()).unwrap();
    assert!(line.contains(expected), "{line}");
    assert!(line.starts_with("kakehashi: "), "{line}");
    assert_eq!((line.lines().count(), output.status.code()), (1, Some(2)), "{line}");
    assert_eq!(output.stdout, b"");
}

#[test]
fn mistakes_in_the_files_are_one_line_and_code_2() {
    let (home, own, other) = (Home::new(), Certificate::new(), Certificate::new());
    let TlsFiles { cert, key } = own.files();
    let missing = Path::new("/no/such.pem");
    let text = home.project.path().join("text.pem");
    std::fs::write(&text, "hello\n").unwrap();
    let broken = home.project.path().join("broken.pem");
    std::fs::write(&broken, "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")
        .unwrap();
    let empty = Path::new("");
    check_refused(&start(&home, missing, &key), "cannot read /no/such.pem: ");
    check_refused(&start(&home, &cert, missing), "cannot read /no/such.pem: ");
    check_refused(&start(&home, home.project.path(), &key), "cannot read ");
    check_refused(&start(&home, &text, &key), "text.pem holds no certificate in PEM form");
    check_refused(&start(&home, &key, &key), "key.pem holds no certificate in PEM form");
    check_refused(&start(&home, &cert, &text), "text.pem holds no private key in PEM form");
    check_refused(&start(&home, &cert, &cert), "cert.pem holds no private key in PEM form");
    check_refused(&start(&home, &broken, &key), "broken.pem with the key in ");
    let foreign = start(&home, &cert, &other.files().key);
    check_refused(&foreign, "does not belong to the certificate in ");
    check_refused(&start(&home, &cert, empty), "there is a TLS certificate but no key: --tls-key");
    check_refused(&start(&home, empty, &key), "there is a TLS key but no cert: --tls-cert");
}

#[tokio::test]
async fn the_binary_says_and_speaks_https() {
    let (home, certificate) = (Home::new(), Certificate::new());
    let TlsFiles { cert, key } = certificate.files();
    let settings = format!("[tls]\ncert = {cert:?}\nkey = {key:?}\n");
    let process = Process::start(&home, &settings);
    assert_eq!(process.scheme, "https");
    let host = format!("Host: {}\r\n", process.addr);
    let response = certificate.get(process.addr, "/live", &host).await;
    assert!(response.ends_with("\r\n\r\nlive\n"), "{response}");
    let (code, _) = process.end(Instant::now());
    assert_eq!(code, Some(0));
}

#[tokio::test]
async fn a_plain_client_is_told_and_closed() {
    let certificate = Certificate::new();
    let gateway = certificate.gateway(|_| ()).await;
    let body = "x".repeat(40_000);
    for request in ["GET /live HTTP/1.1\r\nHost: x\r\n\r\n", &body] {
        let mut client = TcpStream::connect(gateway.addr).await.unwrap();
        client.write_all(request.as_bytes()).await.unwrap();
        client.shutdown().await.unwrap();
        let mut answer = String::new();
        timeout(PATIENCE, client.read_to_string(&mut answer)).await.unwrap().unwrap();
        assert!(answer.starts_with("HTTP/1.1 400 "), "{answer}");
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        assert!(body.starts_with("this port speaks https"), "{answer}");
        assert!(head.ends_with(&format!("Content-Length: {}", body.len())), "{answer}");
    }
    gateway.stop().await;
}

#[tokio::test]
async fn a_client_that_does_not_shake_hands_is_cut_and_holds_up_nobody() {
    let certificate = Certificate::new();
    let gateway = certificate.gateway(|config| config.limits.header = Duration::from_secs(1)).await;
    let mut silent = TcpStream::connect(gateway.addr).await.unwrap();
    let mut half = TcpStream::connect(gateway.addr).await.unwrap();
    // The beginning of a handshake of 512 bytes.
    half.write_all(&[22, 3, 1, 2, 0, 1]).await.unwrap();
    let host = format!("Host: localhost:{}\r\n", gateway.addr.port());
    assert!(certificate.get(gateway.addr, "/live", &host).await.starts_with("HTTP/1.1 200 "));
    for client in [&mut silent, &mut half] {
        let mut bytes = Vec::new();
        // Closed or reset: both are an end.
        let _ = timeout(PATIENCE, client.read_to_end(&mut bytes)).await.expect("still open");
        assert_eq!(bytes, b"");
    }
    gateway.stop().await;
}

#[tokio::test]
async fn an_end_does_not_wait_for_handshakes() {
    let certificate = Certificate::new();
    // Whoever waited for the handshake would wait for hours.
    let gateway = certificate
        .gateway(|config| {
            config.limits.shutdown = Duration::from_secs(3600);
            config.limits.header = Duration::from_secs(3600);
        })
        .await;
    let mut half = TcpStream::connect(gateway.addr).await.unwrap();
    half.write_all(&[22, 3, 1, 2, 0, 1]).await.unwrap();
    let host = format!("Host: {}\r\n", gateway.addr);
    certificate.get(gateway.addr, "/live", &host).await;
    timeout(PATIENCE, gateway.stop()).await.expect("it waits for the handshake");
}

/// Waits until the gateway has no connection but the one that asks about it.
async fn until_alone(certificate: &Certificate, addr: SocketAddr) {
    let host = format!("Host: {addr}\r\n");
    let asking = async {
        let page = async || certificate.get(addr, "/metrics", &host).await;
        while !page().await.contains("\nkakehashi_connections 1\n") {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(PATIENCE, asking).await.expect("it is never cut off");
}

#[tokio::test]
async fn a_client_that_takes_nothing_is_cut_off_under_tls_too() {
    const TIMES: usize = 3_000;
    let certificate = Certificate::new();
    let gateway =
        certificate.gateway(|config| config.limits.write = Duration::from_millis(300)).await;
    let mut stream = certificate.dial(gateway.addr).await;
    let request = format!("GET /assets/app.js HTTP/1.1\r\nHost: {}\r\n\r\n", gateway.addr);
    let all = request.repeat(TIMES);
    // Whatever of it the gateway takes before it gives up.
    tokio::select! {
        _ = stream.write_all(all.as_bytes()) => until_alone(&certificate, gateway.addr).await,
        () = until_alone(&certificate, gateway.addr) => {}
    }
    let mut got = Vec::new();
    let ended = timeout(PATIENCE, stream.read_to_end(&mut got)).await.expect("still open");
    assert!(ended.is_err(), "an orderly end after {} bytes", got.len());
    let answers = got.windows(9).filter(|at| at.starts_with(b"HTTP/1.1 ")).count();
    assert!(answers < TIMES, "{answers}");
    gateway.stop().await;
}

/// The first packet that a WebSocket over TLS gets, or the status that it is refused with.
async fn connect(certificate: &Certificate, addr: SocketAddr, origin: &str) -> Result<Value, u16> {
    let host = format!("localhost:{}", addr.port());
    let mut request = format!("wss://{host}{SOCKET_PATH}").into_client_request().unwrap();
    request.headers_mut().insert("Origin", origin.parse().unwrap());
    let stream = certificate.dial(addr).await;
    let (mut socket, _) = match tokio_tungstenite::client_async(request, stream).await {
        Ok(opened) => opened,
        Err(Error::Http(response)) => return Err(response.status().as_u16()),
        Err(err) => panic!("{err}"),
    };
    let first =
        json!({"type": "connect", SESSION: null, "ソケット番号": "input", "トークン": TOKEN});
    socket.send(Message::text(first.to_string())).await.unwrap();
    let packet = timeout(PATIENCE, socket.next()).await.unwrap().unwrap().unwrap();
    Ok(serde_json::from_str(packet.to_text().unwrap()).unwrap())
}

#[tokio::test]
async fn a_websocket_over_tls_has_the_origin_https() {
    let certificate = Certificate::new();
    let gateway = certificate.gateway(|_| ()).await;
    let port = gateway.addr.port();
    let own = format!("https://localhost:{port}");
    assert_eq!(connect(&certificate, gateway.addr, &own).await.unwrap()[KIND], "init");
    for foreign in [format!("http://localhost:{port}"), "https://evil.example".to_owned()] {
        assert_eq!(connect(&certificate, gateway.addr, &foreign).await, Err(403), "{foreign}");
    }
    gateway.stop().await;
}

#[tokio::test]
async fn names_under_tls_need_no_port_and_are_kept_to_https() {
    let certificate = Certificate::new();
    let gateway =
        certificate.gateway(|config| config.allowed_hosts = vec!["desk.example".to_owned()]).await;
    let named = "Host: desk.example\r\nOrigin: https://desk.example\r\n";
    let response = certificate.get(gateway.addr, "/live", named).await;
    assert!(response.starts_with("HTTP/1.1 200 "), "{response}");
    assert!(response.contains("strict-transport-security: max-age="), "{response}");
    let local = format!("Host: localhost:{}\r\n", gateway.addr.port());
    let response = certificate.get(gateway.addr, "/live", &local).await;
    assert!(response.starts_with("HTTP/1.1 200 "), "{response}");
    assert!(!response.contains("strict-transport-security"), "{response}");
    gateway.stop().await;
}

#[test]
fn the_doctor_knows_certificates_and_a_gateway_with_them() {
    let (home, certificate) = (Home::new(), Certificate::new());
    let TlsFiles { cert, key } = certificate.files();
    let settings = format!("[tls]\ncert = {cert:?}\nkey = {key:?}\n");
    let process = Process::start(&home, &settings);
    let ask = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_kakehashi"));
        command.arg("doctor").arg("--data").arg(home.data.path());
        command.arg("--config").arg(home.data.path().join("settings.toml"));
        command.arg("--project").arg(home.project.path());
        command.args(["--listen", &process.addr.to_string()]);
        String::from_utf8(command.env_clear().output().unwrap().stdout).unwrap()
    };
    let said = ask();
    assert!(said.contains("the running gateway, which speaks https"), "{said}");
    let tls = said.lines().find(|line| line.contains(" tls ")).unwrap();
    assert!(tls.starts_with("ok ") && tls.contains("belong together; good until 4096"), "{tls}");
    std::fs::set_permissions(&key, Permissions::from_mode(0o644)).unwrap();
    let open = ask();
    let tls = open.lines().find(|line| line.contains(" tls ")).unwrap();
    assert!(tls.starts_with("warn") && tls.contains("-> run `chmod o-r "), "{tls}");
    std::fs::write(&key, KeyPair::generate().unwrap().serialize_pem()).unwrap();
    let said = ask();
    let tls = said.lines().find(|line| line.contains(" tls ")).unwrap();
    assert!(tls.starts_with("fail") && tls.contains("does not belong to"), "{tls}");
}
