//! The edge over real TCP and the real binary: limits, Host and Origin, start-up mistakes, an orderly end.

use crate::support::PATIENCE;
use kakehashi::config::{Config, Limits};
use kakehashi::server;
use rustix::process::{Pid, Signal, kill_process};
use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, ChildStderr, Command, Output, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

#[tokio::test]
async fn pages_are_served_with_their_headers() {
    let gateway = Gateway::start(|_| ()).await;
    for path in ["/login", "/assets/app.js", "/live", "/ready"] {
        let response = gateway.get(path).await;
        assert!(response.starts_with("HTTP/1.1 200 "), "{path}: {response}");
        assert!(
            response.contains("content-security-policy: default-src 'self'"),
            "{path}: {response}"
        );
        assert!(response.contains("x-content-type-options: nosniff"), "{path}: {response}");
    }
    assert!(gateway.get("/login").await.contains("content-type: text/html"));
    assert!(gateway.get("/metrics").await.contains("kakehashi_connections 1"));
    let missing = gateway.get("/assets/../Cargo.toml").await;
    assert!(missing.starts_with("HTTP/1.1 404 "), "{missing}");
}

#[tokio::test]
async fn foreign_hosts_and_origins_are_refused_everywhere() {
    let gateway = Gateway::start(|_| ()).await;
    let port = gateway.address.port();
    for headers in [
        format!("Host: evil.example:{port}\r\n"),
        "Host: 127.0.0.1\r\n".to_owned(),
        String::new(),
        format!("Host: 127.0.0.1:{port}\r\nHost: 127.0.0.1:{port}\r\n"),
        format!("Host: 127.0.0.1:{port}\r\nOrigin: null\r\n"),
        format!("Host: 127.0.0.1:{port}\r\nOrigin: http://127.0.0.1:{port}0\r\n"),
        format!("Host: 127.0.0.1:{port}\r\nOrigin: http://localhost.evil.example\r\n"),
    ] {
        for path in ["/live", "/assets/app.js", "/nowhere"] {
            let response = gateway
                .ask(&format!("GET {path} HTTP/1.1\r\n{headers}Connection: close\r\n\r\n"))
                .await;
            assert!(response.starts_with("HTTP/1.1 403 "), "{path} {headers}: {response}");
        }
    }
    let own = format!("Host: 127.0.0.1:{port}\r\nOrigin: http://127.0.0.1:{port}\r\n");
    let response =
        gateway.ask(&format!("GET /live HTTP/1.1\r\n{own}Connection: close\r\n\r\n")).await;
    assert!(response.starts_with("HTTP/1.1 200 "), "{response}");
    assert!(
        gateway
            .get("/metrics")
            .await
            .contains("kakehashi_requests_refused_total{reason=\"host\"} 12")
    );
}

#[tokio::test]
async fn half_a_header_does_not_hold_a_connection() {
    let gateway = Gateway::start(|limits| limits.header = Duration::from_millis(200)).await;
    let mut client = gateway.connect().await;
    client.write_all(b"GET /live HTTP/1.1\r\nHost: ").await.unwrap();
    assert_eq!(rest(&mut client).await, "");
}

#[tokio::test]
async fn an_idle_connection_is_closed() {
    let gateway = Gateway::start(|limits| limits.header = Duration::from_millis(200)).await;
    let mut client = gateway.connect().await;
    let host = gateway.address;
    client
        .write_all(format!("GET /live HTTP/1.1\r\nHost: {host}\r\n\r\n").as_bytes())
        .await
        .unwrap();
    assert!(rest(&mut client).await.ends_with("live\n"));
}

#[tokio::test]
async fn one_address_cannot_take_all_connections() {
    let gateway = Gateway::start(|limits| limits.connections_per_address = 2).await;
    let first = gateway.connect().await;
    let _second = gateway.connect().await;
    let refused = rest(&mut gateway.connect().await).await;
    assert!(refused.starts_with("HTTP/1.1 503 "), "{refused}");
    drop(first);
    gateway
        .eventually(
            "/metrics",
            "kakehashi_connections_refused_total{reason=\"too_many_from_address\"}",
        )
        .await;
}

#[tokio::test]
async fn an_end_does_not_wait_for_idle_connections() {
    // Whoever waited for them would wait for hours.
    let hours = |limits: &mut Limits| {
        limits.shutdown = Duration::from_secs(3600);
        limits.header = Duration::from_secs(3600);
    };
    let gateway = Gateway::start(hours).await;
    let (mut silent, mut idle) = (gateway.connect().await, gateway.connect().await);
    let host = gateway.address;
    idle.write_all(format!("GET /live HTTP/1.1\r\nHost: {host}\r\n\r\n").as_bytes()).await.unwrap();
    idle.read_u8().await.unwrap();
    timeout(PATIENCE, gateway.stop()).await.expect("it waits for idle connections");
    assert_eq!(rest(&mut silent).await, "");
    rest(&mut idle).await;
}

#[tokio::test]
async fn an_end_comes_in_time_whatever_clients_do() {
    // Whoever did not keep to its own time would wait for the request for an hour.
    let patient = |limits: &mut Limits| {
        limits.shutdown = Duration::from_millis(400);
        limits.header = Duration::from_secs(3600);
    };
    let gateway = Gateway::start(patient).await;
    let mut half = gateway.connect().await;
    half.write_all(b"GET /live HTTP/1.1\r\nHost: ").await.unwrap();
    // Without this answer the half request might not have arrived yet.
    gateway.get("/live").await;
    timeout(PATIENCE, gateway.stop()).await.expect("it waits for the request");
}

#[test]
fn mistakes_at_the_start_are_one_line_and_code_2() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("bad.toml");
    std::fs::write(&file, "language = \"en\"\nport = 1\n").unwrap();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = taken.local_addr().unwrap().to_string();
    let file = file.to_str().unwrap();
    check_refused(&home, &["--config", file], &format!("kakehashi: {file}:2: unknown key `port`"));
    check_refused(&home, &["--config", "/no/such.toml"], "kakehashi: cannot read /no/such.toml: ");
    check_refused(
        &home,
        &["--listen", "here"],
        "kakehashi: --listen or KAKEHASHI_LISTEN: `here` is not an address",
    );
    check_refused(
        &home,
        &["--listen", "0.0.0.0:0"],
        "kakehashi: 0.0.0.0:0 can be reached by others, and there are no users",
    );
    check_refused(&home, &["--listen", &taken], &format!("kakehashi: cannot listen on {taken}: "));
    check_refused(
        &home,
        &["--models", "gpt"],
        "kakehashi: --models or KAKEHASHI_MODELS: unknown variant `gpt`",
    );
    check_refused(
        &home,
        &["serve", "--project", file],
        &format!("kakehashi: project {file} is not a directory"),
    );
    check_refused(
        &home,
        &["--data", "/dev/null/x"],
        "kakehashi: cannot write to data directory /dev/null/x: ",
    );
    check_refused(
        &home,
        &["say", "hello"],
        "kakehashi: no gateway is running with data directory ",
    );
}

#[test]
fn the_platforms_file_and_the_environment_are_read() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("config/kakehashi/kakehashi.toml");
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(&file, "models = \"none\"").unwrap();
    check_refused(&home, &[], &format!("kakehashi: {}:1: models: ", file.display()));
    std::fs::write(&file, "listen = \"127.0.0.1:1\"").unwrap();
    let output = command(&home, &[]).env("KAKEHASHI_LISTEN", "there").output().unwrap();
    check_line(&output, "kakehashi: --listen or KAKEHASHI_LISTEN: `there`");
}

#[test]
fn a_data_directory_has_one_gateway() {
    let home = tempfile::tempdir().unwrap();
    let running = Process::start(command(&home, &["--listen", "127.0.0.1:0"]));
    check_refused(&home, &["--listen", "127.0.0.1:0"], "kakehashi: data directory ");
    running.end(Signal::TERM, 0);
    let again = Process::start(command(&home, &["serve", "--listen", "127.0.0.1:0"]));
    again.end(Signal::INT, 0);
}

#[test]
fn say_reaches_the_running_gateway() {
    let home = tempfile::tempdir().unwrap();
    let running = Process::start(command(&home, &["--listen", "127.0.0.1:0"]));
    let socket = home.path().join("data/kakehashi/control.sock");
    assert_eq!(std::fs::metadata(&socket).unwrap().permissions().mode() & 0o777, 0o600);
    let said = command(&home, &["say", "hello"]).output().unwrap();
    assert_eq!(String::from_utf8(said.stdout).unwrap(), "told 0 sessions\n");
    let empty = command(&home, &["say", " "]).output().unwrap();
    check_line(&empty, "kakehashi: the gateway refused: there is nothing to say");
    running.end(Signal::TERM, 0);
    assert!(!socket.exists());
}

#[test]
fn a_socket_left_by_a_killed_gateway_is_replaced() {
    let home = tempfile::tempdir().unwrap();
    Process::start(command(&home, &["--listen", "127.0.0.1:0"])).kill();
    check_refused(
        &home,
        &["say", "hello"],
        "kakehashi: no gateway is running with data directory ",
    );
    let running = Process::start(command(&home, &["--listen", "127.0.0.1:0"]));
    let said = command(&home, &["say", "hello"]).output().unwrap();
    assert_eq!(said.status.code(), Some(0));
    running.end(Signal::TERM, 0);
}

#[test]
fn a_second_signal_does_not_wait() {
    let home = tempfile::tempdir().unwrap();
    let running = Process::start(command(&home, &["--listen", "127.0.0.1:0"]));
    // A request that never ends keeps the gateway waiting for a while.
    let mut half = std::net::TcpStream::connect(running.address).unwrap();
    std::io::Write::write_all(&mut half, b"GET /live HTTP/1.1\r\n").unwrap();
    wait_for_answer(running.address);
    kill_process(Pid::from_child(&running.child), Signal::TERM).unwrap();
    while std::net::TcpStream::connect(running.address).is_ok() {}
    running.end(Signal::TERM, 143);
}

#[tokio::test]
async fn running_out_of_descriptors_is_survived() {
    let home = tempfile::tempdir().unwrap();
    let gateway = command(&home, &["--listen", "127.0.0.1:0"]);
    let mut limited = Command::new("sh");
    limited
        .args(["-c", "ulimit -n 40; exec \"$0\" \"$@\""])
        .arg(gateway.get_program())
        .args(gateway.get_args());
    limited.envs(gateway.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let mut running = Process::start(limited);
    let mut clients = Vec::new();
    for _ in 0..100 {
        clients.push(TcpStream::connect(running.address).await.unwrap());
    }
    running.until_logged("cannot accept connections");
    drop(clients);
    let request =
        format!("GET /live HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", running.address);
    let mut client = TcpStream::connect(running.address).await.unwrap();
    client.write_all(request.as_bytes()).await.unwrap();
    assert!(rest(&mut client).await.starts_with("HTTP/1.1 200 "));
    let log = running.end(Signal::TERM, 0);
    let complaints = log.matches("cannot accept connections").count();
    assert!((1..=3).contains(&complaints), "{log}");
}

/// A gateway inside the test, stopped with it.
struct Gateway {
    address: SocketAddr,
    stop: CancellationToken,
    running: JoinHandle<()>,
    _data: TempDir,
}

impl Gateway {
    async fn start(change: impl FnOnce(&mut Limits)) -> Self {
        let data = tempfile::tempdir().unwrap();
        let mut config = Config::for_test(data.path(), data.path());
        change(&mut config.limits);
        let listener = TcpListener::bind(config.listen).await.unwrap();
        let address = listener.local_addr().unwrap();
        let stop = CancellationToken::new();
        let run = server::run(listener, Arc::new(config), stop.clone(), |_, _| ());
        let running = tokio::spawn(async { run.await.unwrap() });
        Self { address, stop, running, _data: data }
    }

    async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.unwrap()
    }

    async fn ask(&self, request: &str) -> String {
        let mut client = self.connect().await;
        client.write_all(request.as_bytes()).await.unwrap();
        rest(&mut client).await
    }

    async fn get(&self, path: &str) -> String {
        let host = self.address;
        self.ask(&format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n")).await
    }

    /// A connection is given back a moment after its client lets it go.
    async fn eventually(&self, path: &str, expected: &str) {
        let deadline = Instant::now() + Duration::from_secs(10);
        while !self.get(path).await.contains(expected) {
            assert!(Instant::now() < deadline, "{path} never said {expected}");
        }
    }

    async fn stop(self) {
        self.stop.cancel();
        self.running.await.unwrap();
    }
}

/// What the peer still sends; a connection that is reset has nothing more to say.
async fn rest(client: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    let ended = tokio::time::timeout(Duration::from_secs(10), client.read_to_end(&mut bytes)).await;
    assert!(ended.is_ok(), "the connection stays open");
    String::from_utf8(bytes).unwrap()
}

/// The real binary, killed with the test.
struct Process {
    child: Child,
    address: SocketAddr,
    /// What it has logged and somebody has read.
    log: String,
    rest_of_log: BufReader<ChildStderr>,
}

impl Process {
    fn start(mut command: Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line
            .trim()
            .strip_prefix("listening on http://")
            .and_then(|rest| rest.strip_suffix('/'));
        let address = address.unwrap_or_else(|| panic!("{line}")).parse().unwrap();
        wait_for_answer(address);
        let rest_of_log = BufReader::new(child.stderr.take().unwrap());
        Self { child, address, log: String::new(), rest_of_log }
    }

    /// Waits until it logs a line with this text.
    fn until_logged(&mut self, text: &str) {
        while !self.log.contains(text) {
            let read = self.rest_of_log.read_line(&mut self.log).unwrap();
            assert!(read > 0, "it ended without a word about it: {}", self.log);
        }
    }

    /// Returns what it logged.
    fn end(mut self, signal: Signal, code: i32) -> String {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
        self.rest_of_log.read_to_string(&mut self.log).unwrap();
        assert_eq!(self.child.wait().unwrap().code(), Some(code), "{}", self.log);
        std::mem::take(&mut self.log)
    }

    fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Already ended where a test asked for it.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Accepting happens after everything else has started.
fn wait_for_answer(address: SocketAddr) {
    let mut client = std::net::TcpStream::connect(address).unwrap();
    let request = format!("GET /live HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    std::io::Write::write_all(&mut client, request.as_bytes()).unwrap();
    client.read_to_end(&mut Vec::new()).unwrap();
}

fn command(home: &TempDir, args: &[&str]) -> Command {
    let at = |name: &str| home.path().join(name);
    let mut command = Command::new(env!("CARGO_BIN_EXE_kakehashi"));
    command.args(args).current_dir(Path::new("/tmp")).env_clear();
    command.env("PATH", std::env::var_os("PATH").unwrap_or_default()).env("HOME", home.path());
    command.env("XDG_CONFIG_HOME", at("config")).env("XDG_DATA_HOME", at("data"));
    command
}

#[track_caller]
fn check_refused(home: &TempDir, args: &[&str], expected: &str) {
    check_line(&command(home, args).output().unwrap(), expected);
}

#[track_caller]
fn check_line(output: &Output, expected: &str) {
    let line = String::from_utf8(output.stderr.clone()).unwrap();
    assert!(line.starts_with(expected), "{line}");
    assert_eq!(line.lines().count(), 1, "{line}");
    assert_eq!(output.status.code(), Some(2), "{line}");
}
