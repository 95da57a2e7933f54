//! A person's own sessions: list, export, deletion and age, over HTTP and as commands.

use crate::process::Process;
use crate::support::{
    BODY, CHANNEL, CODE, Client, Frontend, Gateway, Home, KIND, PATIENCE, RESUMED, SEQ, TOKEN,
    cursor, eventually, seq,
};
use rusqlite::{Connection, params};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs::Permissions;
use std::io::Read;
use std::net::SocketAddr;
use std::os::unix::fs::{PermissionsExt, lchown};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

const PICTURE: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/// Status and body of one request.
pub(crate) async fn ask(addr: SocketAddr, method: &str, path: &str) -> (u16, Vec<u8>) {
    let mut stream = send(addr, method, path).await;
    let mut response = Vec::new();
    timeout(PATIENCE * 3, stream.read_to_end(&mut response)).await.unwrap().unwrap();
    let split = response.windows(4).position(|part| part == b"\r\n\r\n").unwrap();
    let head = String::from_utf8(response[..split].to_vec()).unwrap().to_lowercase();
    let body = response.split_off(split + 4);
    let status = head[9..12].parse().unwrap();
    if head.contains("transfer-encoding: chunked") {
        (status, joined(&body))
    } else {
        (status, body)
    }
}

async fn send(addr: SocketAddr, method: &str, path: &str) -> TcpStream {
    let mut stream = TcpStream::connect(addr).await.unwrap();
    let request = format!(
        "{method} {path} HTTP/1.1\r\nHost: {addr}\r\nAuthorization: Bearer {TOKEN}\r\nConnection: close\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    stream
}

/// The chunks of a body; a body that was cut off panics.
fn joined(mut rest: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    loop {
        let end = rest.windows(2).position(|part| part == b"\r\n").expect("the body was cut off");
        let size = std::str::from_utf8(&rest[..end]).unwrap();
        let size = usize::from_str_radix(size, 16).unwrap();
        if size == 0 {
            return body;
        }
        body.extend(&rest[end + 2..end + 2 + size]);
        rest = &rest[end + 4 + size..];
    }
}

async fn ask_json(addr: SocketAddr, method: &str, path: &str) -> (u16, Value) {
    let (status, body) = ask(addr, method, path).await;
    (status, serde_json::from_slice(&body).unwrap())
}

/// The content of an archive by its paths.
pub(crate) fn unpacked(bytes: &[u8]) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    for entry in tar::Archive::new(bytes).entries().unwrap() {
        let mut entry = entry.unwrap();
        let path = entry.path().unwrap().to_str().unwrap().to_owned();
        let mut content = Vec::new();
        entry.read_to_end(&mut content).unwrap();
        files.insert(path, content);
    }
    files
}

fn lines(events: &[u8]) -> Vec<Value> {
    let text = std::str::from_utf8(events).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

async fn upload(front: &mut Frontend, name: &str, content: &str) -> String {
    front
        .input
        .send(&json!({CHANNEL: "0", KIND: "input_file", BODY: content, "ファイル名": name}))
        .await;
    let echo = front.chat.until_where(|packet| packet[KIND] == "input_file").await;
    echo.to_string()
}

fn uploads(home: &Home) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(home.data.path().join("temp/local/input")) else {
        return Vec::new();
    };
    let mut names: Vec<_> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn database(home: &Home) -> Connection {
    let database = Connection::open(home.data.path().join("kakehashi.db")).unwrap();
    database.busy_timeout(PATIENCE).unwrap();
    database
}

fn count(home: &Home, table: &str) -> i64 {
    let query = format!("SELECT count(*) FROM {table}");
    database(home).query_row(&query, [], |row| row.get(0)).unwrap()
}

#[tokio::test]
async fn a_list_shows_what_there_is_the_last_used_first() {
    let gateway = Gateway::start().await;
    assert_eq!(
        ask_json(gateway.addr, "GET", "/api/sessions").await,
        (200, json!({"sessions": [], "more": false}))
    );
    let older = Frontend::open(gateway.addr, None).await;
    let mut newer = Frontend::open(gateway.addr, None).await;
    newer.type_in("1", "sleep 30").await;
    newer.type_in("1", "say later").await;
    newer.agents[0].until_where(|packet| packet["待ち順"] == 1).await;
    let (status, list) = ask_json(gateway.addr, "GET", "/api/sessions").await;
    assert_eq!(status, 200);
    let rows = list["sessions"].as_array().unwrap();
    assert_eq!([&rows[0]["id"], &rows[1]["id"]], [newer.session(), older.session()]);
    assert_eq!((&rows[0]["running"], &rows[0]["waiting"]), (&json!(1), &json!(1)));
    assert_eq!((&rows[1]["running"], &rows[1]["waiting"]), (&json!(0), &json!(0)));
    assert!(rows[0]["events"].as_u64().unwrap() > rows[1]["events"].as_u64().unwrap());
    for time in ["created", "used"] {
        let text = rows[0][time].as_str().unwrap();
        assert!(text.parse::<jiff::Timestamp>().is_ok() && text.ends_with('Z'), "{text}");
    }
    gateway.stop().await;
}

#[tokio::test]
async fn an_export_holds_the_session_and_nothing_else() {
    let gateway = Gateway::start().await;
    let mut other = Frontend::open(gateway.addr, None).await;
    upload(&mut other, "other.txt", "aGVsbG8=").await;
    let mut front = Frontend::open(gateway.addr, None).await;
    upload(&mut front, "note.txt", "aGVsbG8=").await;
    upload(&mut front, "dot.png", PICTURE).await;
    let long = format!("{}\u{3042}.txt", "long-".repeat(22));
    upload(&mut front, &long, "aGk=").await;
    front.type_in("0", "hello \"there\"").await;
    front.chat.until("output_text").await;
    front
        .input
        .send(&json!({KIND: "operations", BODY: {"ボタン": {"mic": true}}, "要求番号": "o"}))
        .await;
    front.input.until("ack").await;
    let path = format!("/api/sessions/{}/export", front.session());
    let (status, body) = ask(gateway.addr, "GET", &path).await;
    assert_eq!(status, 200);
    let files = unpacked(&body);
    let about: Value = serde_json::from_slice(&files["session.json"]).unwrap();
    assert_eq!(about["id"], front.session());
    assert_eq!((&about["principal"], &about["switches"]), (&json!("local"), &json!({"mic": true})));
    let events = lines(&files["events.jsonl"]);
    assert_eq!(about["events"], events.len());
    let kinds: Vec<_> = events.iter().map(|line| line["kind"].as_str().unwrap()).collect();
    let run = ["run_started", "run_ended", "text"];
    assert_eq!(kinds[..4], ["user_file", "user_file", "user_file", "user_text"]);
    assert_eq!(kinds[4..], run);
    assert!(events.iter().all(|line| line["channel"] == "0"));
    assert_eq!(events[3]["body"]["text"], "hello \"there\"");
    assert!(events[0].get("thumbnail").is_none());
    assert!(events[1]["thumbnail"].as_str().unwrap().starts_with("iVBOR"));
    assert!(events[0]["time"].as_str().unwrap().parse::<jiff::Timestamp>().is_ok());
    // Every event's path is the file's name in the archive.
    let stored =
        |line: &Value| &files[&format!("files/{}", line["body"]["path"].as_str().unwrap())];
    assert_eq!((stored(&events[0]), stored(&events[2])), (&b"hello".to_vec(), &b"hi".to_vec()));
    assert_eq!(files.len(), 2 + 3);
    assert!(!body.windows(9).any(|part| part == b"other.txt"));
    // Nothing of it stays behind.
    let left = std::fs::read_dir(gateway.home.data.path()).unwrap().flatten();
    assert!(left.into_iter().all(|entry| !entry.file_name().to_string_lossy().contains("export")));
    gateway.stop().await;
}

#[tokio::test]
async fn an_export_is_of_one_moment_while_events_are_written() {
    let gateway = Gateway::start().await;
    let mut front = Frontend::open(gateway.addr, None).await;
    let path = format!("/api/sessions/{}/export", front.session());
    for pane in ["1", "2", "3", "4"] {
        front.type_in(pane, "stream 4000").await;
    }
    front.agents[3].until("output_stream").await;
    let mut sizes = Vec::new();
    for _ in 0..5 {
        let files = unpacked(&ask(gateway.addr, "GET", &path).await.1);
        let mut next = BTreeMap::new();
        for line in lines(&files["events.jsonl"]) {
            let expected: &mut u64 = next.entry(line["channel"].to_string()).or_default();
            *expected += 1;
            assert_eq!(line["seq"], *expected, "{line}");
        }
        sizes.push(next.values().sum::<u64>());
    }
    assert!(sizes.is_sorted(), "{sizes:?}");
    gateway.stop().await;
}

#[tokio::test]
async fn a_long_history_is_exported_in_little_memory() {
    const EVENTS: i64 = 10_000;
    const BODY_BYTES: usize = 10_000;
    let home = Home::new();
    // On a busy machine the first of the slow clients would be cut off before the last one has begun.
    let process = Process::start(&home, "[limits]\nwrite_seconds = 3600\n");
    let session = Client::open(process.addr, "0", None).await.session().to_owned();
    let mut database = database(&home);
    let change = database.transaction().unwrap();
    let body = json!("x".repeat(BODY_BYTES)).to_string();
    for seq in 1..=EVENTS {
        let row = "INSERT INTO events SELECT key, 4, ?1, 1, 'run_line', ?2, NULL, ?1 FROM sessions";
        change.execute(row, params![seq, body]).unwrap();
    }
    change.commit().unwrap();
    let path = format!("/api/sessions/{session}/export");
    let before = process.memory("VmHWM");
    // Clients that do not read take the places, and give them back when they go.
    let mut slow = Vec::new();
    for _ in 0..4 {
        let mut stream = send(process.addr, "GET", &path).await;
        stream.read_u8().await.unwrap();
        slow.push(stream);
    }
    let (status, refused) = ask_json(process.addr, "GET", &path).await;
    assert_eq!((status, &refused["code"]), (503, &json!("too_many_exports")));
    drop(slow);
    let body = loop {
        let (status, body) = ask(process.addr, "GET", &path).await;
        if status == 200 {
            break body;
        }
    };
    assert!(body.len() > 100_000_000, "{}", body.len());
    let grown = process.memory("VmHWM") - before;
    assert!(grown < 40_000, "{grown} KiB");
    let files = unpacked(&body);
    let events = files["events.jsonl"].split(|byte| *byte == b'\n').count() - 1;
    assert_eq!(events, usize::try_from(EVENTS).unwrap());
}

#[tokio::test]
async fn a_deletion_ends_runs_and_tells_every_socket_not_to_come_back() {
    let gateway = Gateway::start().await;
    let mut front = Frontend::open(gateway.addr, None).await;
    let mut other = Frontend::open(gateway.addr, None).await;
    upload(&mut other, "kept.txt", "aGk=").await;
    upload(&mut front, "gone.txt", "aGk=").await;
    let session = front.session().to_owned();
    let mark = format!("8{}", std::process::id());
    front
        .type_in(
            "4",
            &format!("run trap '' TERM; (setsid sleep {mark} &); echo up; wait; sleep {mark}"),
        )
        .await;
    front.agents[3].until_where(|packet| packet[BODY] == "up").await;
    front.type_in("4", "say never").await;
    front.type_in("0", "sleep 30").await;
    // What runs there would take hours, and does not mind TERM.
    assert_eq!(
        ask(gateway.addr, "DELETE", &format!("/api/sessions/{session}")).await,
        (204, vec![])
    );
    assert_eq!(crate::runs::processes_with(&mark), Vec::<String>::new());
    let agents = front.agents.drain(..);
    for mut socket in agents.chain([front.input, front.audio, front.file, front.chat]) {
        let error = socket.until("error").await;
        assert_eq!((&error[CODE], error.get(SEQ)), (&json!("session_deleted"), None));
        assert_eq!(socket.closed().await, (3505, "session_deleted".to_owned()));
    }
    let names = uploads(&gateway.home);
    assert!(names.len() == 1 && names[0].ends_with("kept.txt"), "{names:?}");
    assert_eq!([count(&gateway.home, "sessions"), count(&gateway.home, "runs")], [1, 0]);
    // The other one has not noticed.
    other.type_in("0", "still here").await;
    other.chat.until("output_text").await;
    let again = ask_json(gateway.addr, "DELETE", &format!("/api/sessions/{session}")).await;
    assert_eq!((again.0, &again.1["code"]), (404, &json!("unknown_session")));
    gateway.stop().await;
}

#[tokio::test]
async fn nothing_of_a_deleted_session_is_written_afterwards() {
    let gateway = Gateway::start().await;
    for _ in 0..5 {
        let mut front = Frontend::open(gateway.addr, None).await;
        let session = front.session().to_owned();
        for pane in ["1", "2", "3", "4"] {
            front.type_in(pane, "stream 100000").await;
        }
        front.agents[0].until("output_stream").await;
        let large = "A".repeat(4 << 20);
        for number in 0..3 {
            let name = format!("{number}.bin");
            front
                .input
                .send(&json!({CHANNEL: "0", KIND: "input_file", BODY: large, "ファイル名": name}))
                .await;
        }
        let path = format!("/api/sessions/{session}");
        assert_eq!(ask(gateway.addr, "DELETE", &path).await.0, 204);
        drop(front);
        for table in ["sessions", "events", "runs", "requests"] {
            assert_eq!(count(&gateway.home, table), 0, "{table}");
        }
        assert_eq!(uploads(&gateway.home), [""; 0]);
    }
    assert_eq!(ask(gateway.addr, "GET", "/ready").await.0, 200);
    // Whoever could still write has written before the gateway ends.
    let home = gateway.stop().await;
    assert_eq!([count(&home, "sessions"), count(&home, "events")], [0, 0]);
    assert_eq!(uploads(&home), [""; 0]);
}

#[tokio::test]
async fn an_old_cursor_finds_an_empty_session_after_a_deletion() {
    let gateway = Gateway::start().await;
    let mut front = Frontend::open(gateway.addr, None).await;
    front.type_in("0", "secret").await;
    let last = seq(&front.chat.until("output_text").await);
    let (session, more) = (front.session().to_owned(), cursor(&front.chat.init, last));
    assert_eq!(ask(gateway.addr, "DELETE", &format!("/api/sessions/{session}")).await.0, 204);
    let mut chat = Client::open_with(gateway.addr, "0", Some(&session), more).await;
    assert_eq!((&chat.init[RESUMED], chat.session()), (&json!(false), session.as_str()));
    chat.nothing_until("welcome_info").await;
    chat.nothing_until("welcome_text").await;
    let mut input = Client::open(gateway.addr, "input", Some(&session)).await;
    let text = json!({CHANNEL: "0", "送信モード": "Chat", KIND: "input_text", BODY: "new"});
    input.send(&text).await;
    assert_eq!(seq(&chat.next().await), 1);
    gateway.stop().await;
}

#[tokio::test]
async fn an_unknown_and_a_malformed_id_are_answered_alike() {
    let english = |config: &mut kakehashi::config::Config| {
        config.language = kakehashi::locale::Locale::En;
    };
    let gateway = Gateway::start_with(english).await;
    let session = Client::open(gateway.addr, "0", None).await.session().to_owned();
    let unknown = format!("ws-{}", "0".repeat(32));
    let expected = json!({"error": "there is no such session", "code": "unknown_session"});
    for id in [&unknown, "ws-1", "..%2F..%2Fetc", &session.to_uppercase()] {
        let export = ask_json(gateway.addr, "GET", &format!("/api/sessions/{id}/export")).await;
        let delete = ask_json(gateway.addr, "DELETE", &format!("/api/sessions/{id}")).await;
        assert_eq!((export, delete), ((404, expected.clone()), (404, expected.clone())), "{id}");
    }
    let list = ask_json(gateway.addr, "GET", "/api/sessions").await.1;
    assert_eq!(list["sessions"].as_array().unwrap().len(), 1);
    assert_eq!(ask(gateway.addr, "POST", "/api/sessions").await.0, 405);
    gateway.stop().await;
}

#[tokio::test]
async fn what_nobody_used_for_retention_days_is_deleted_with_its_files() {
    let gateway = Gateway::start().await;
    let mut old = Frontend::open(gateway.addr, None).await;
    upload(&mut old, "old.txt", "aGk=").await;
    let old = old.session().to_owned();
    let recent = Client::open(gateway.addr, "0", None).await.session().to_owned();
    let ancient = Client::open(gateway.addr, "0", None).await.session().to_owned();
    let home = gateway.stop().await;
    for (id, days) in [(&old, 3), (&ancient, 30)] {
        let age = "UPDATE sessions SET used_at = used_at - ?2 * 86400000 WHERE id = ?1";
        database(&home).execute(age, (id, days)).unwrap();
    }
    for (days, left) in [(None, 3), (Some(4), 2), (Some(2), 1)] {
        // Each sweep ends with what agents of strange sessions have left.
        let stray = home.data.path().join("conversations").join(format!("ws-{}", "0".repeat(32)));
        std::fs::create_dir_all(&stray).unwrap();
        let retention = days.map(|days| Duration::from_secs(days * 86_400));
        let gateway =
            Gateway::start_at(Arc::clone(&home), |config| config.retention = retention).await;
        eventually(|| !stray.exists()).await;
        assert_eq!(count(&home, "sessions"), left, "{days:?}");
        gateway.stop().await;
    }
    assert_eq!(uploads(&home), [""; 0]);
    let gateway = Gateway::start_at(Arc::clone(&home), |_| ()).await;
    let list = ask_json(gateway.addr, "GET", "/api/sessions").await.1;
    assert_eq!(list["sessions"][0]["id"], recent);
    gateway.stop().await;
}

#[tokio::test]
async fn a_deletion_that_was_cut_off_is_finished_at_the_next_start() {
    let gateway = Gateway::start().await;
    let mut front = Frontend::open(gateway.addr, None).await;
    front.type_in("0", "secret").await;
    front.chat.until("output_text").await;
    let home = gateway.stop().await;
    // As the first step of a deletion leaves it.
    let first = "UPDATE sessions SET id = 'removed-' || key, principal = ''";
    assert_eq!(database(&home).execute(first, []).unwrap(), 1);
    let gateway = Gateway::start_at(Arc::clone(&home), |_| ()).await;
    let list = ask_json(gateway.addr, "GET", "/api/sessions").await.1;
    assert_eq!(list["sessions"], json!([]));
    eventually(|| count(&home, "sessions") == 0 && count(&home, "events") == 0).await;
    gateway.stop().await;
}

/// The command with the data of `home`, nothing on its standard input.
fn kakehashi(home: &Home, arguments: &[&str]) -> Output {
    session_command(home, arguments).output().unwrap()
}

fn session_command(home: &Home, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kakehashi"));
    command.arg("session").args(arguments).arg("--data").arg(home.data.path());
    command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command.env("HOME", home.project.path()).current_dir(home.project.path());
    command.stdin(Stdio::null());
    command
}

#[track_caller]
fn said(output: &Output, code: i32, part: &str) {
    let text = String::from_utf8_lossy(&output.stdout).into_owned()
        + &String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{text}");
    assert!(text.contains(part), "{text}");
}

fn listed(home: &Home) -> Vec<String> {
    let output = kakehashi(home, &["list", "--json"]);
    said(&output, 0, "sessions");
    let list: Value = serde_json::from_slice(&output.stdout).unwrap();
    let rows = list["sessions"].as_array().unwrap().iter();
    rows.map(|row| row["id"].as_str().unwrap().to_owned()).collect()
}

fn check_archive(path: &Path, session: &str) {
    let files = unpacked(&std::fs::read(path).unwrap());
    let about: Value = serde_json::from_slice(&files["session.json"]).unwrap();
    assert_eq!(about["id"], session);
    assert!(files.keys().any(|path| path.ends_with("a.txt")), "{:?}", files.keys());
}

#[tokio::test]
async fn commands_work_beside_a_running_gateway() {
    let home = Home::new();
    let process = Process::start(&home, "");
    let mut front = Frontend::open(process.addr, None).await;
    upload(&mut front, "a.txt", "aGk=").await;
    front.type_in("1", "sleep 30").await;
    front.agents[0].until("output_stream").await;
    let session = front.session().to_owned();
    said(&kakehashi(&home, &["list"]), 0, &session);
    said(&kakehashi(&home, &["list"]), 0, "running");
    assert_eq!(listed(&home), std::slice::from_ref(&session));
    said(&kakehashi(&home, &["export", &session]), 0, "");
    check_archive(&home.project.path().join(format!("{session}.tar")), &session);
    said(&kakehashi(&home, &["delete", &session]), 2, "add --yes");
    said(&kakehashi(&home, &["delete", &session, "--yes"]), 0, &format!("deleted {session}"));
    assert_eq!(front.chat.closed().await.0, 3505);
    assert_eq!((listed(&home), uploads(&home)), (vec![], vec![]));
    said(&kakehashi(&home, &["delete", &session, "--yes"]), 2, "there is no session");
    assert_eq!(process.end(Instant::now()).0, Some(0));
}

#[tokio::test]
async fn commands_work_without_a_gateway() {
    let home = Home::new();
    said(&kakehashi(&home, &["list"]), 0, "no sessions in");
    assert_eq!(listed(&home), [""; 0]);
    let process = Process::start(&home, "");
    let mut front = Frontend::open(process.addr, None).await;
    upload(&mut front, "a.txt", "aGk=").await;
    let (session, other) =
        (front.session().to_owned(), Client::open(process.addr, "0", None).await);
    let other = other.session().to_owned();
    // Killed: part of it is in the log beside the database.
    process.kill();
    assert_eq!(listed(&home).len(), 2);
    let target = home.project.path().join("out.tar");
    let target_text = target.to_str().unwrap();
    said(&kakehashi(&home, &["export", &session, "--output", target_text]), 0, "");
    check_archive(&target, &session);
    let again = kakehashi(&home, &["export", &session, "--output", target_text]);
    said(&again, 2, "exists and is not overwritten");
    let piped = kakehashi(&home, &["export", &session, "-o", "-"]);
    assert_eq!(unpacked(&piped.stdout).len(), 3);
    said(&kakehashi(&home, &["export", &session, "-o", "/no/such/dir/x.tar"]), 2, "cannot write");
    let unknown = format!("ws-{}", "0".repeat(32));
    for id in [unknown.as_str(), "nonsense"] {
        said(&kakehashi(&home, &["export", id]), 2, "there is no session");
        said(&kakehashi(&home, &["delete", id, "--yes"]), 2, "there is no session");
    }
    let left = std::fs::read_dir(home.project.path()).unwrap().count();
    assert_eq!(left, 1, "only the archive");
    // What agents remember of each; of the last by a gateway that was killed in between.
    let memories = [&session, &other, &unknown]
        .map(|session| home.data.path().join("conversations").join(session));
    for memory in &memories {
        std::fs::create_dir_all(memory).unwrap();
        std::fs::write(memory.join("1.jsonl"), "{}\n").unwrap();
    }
    let temporary = home.data.path().join("agent-temp").join(&session);
    std::fs::create_dir_all(temporary.join("1")).unwrap();
    said(&kakehashi(&home, &["delete", &session, "--yes"]), 0, "deleted");
    assert!(!temporary.exists());
    assert_eq!((listed(&home), uploads(&home)), (vec![other.clone()], vec![]));
    assert_eq!(memories.each_ref().map(|memory| memory.exists()), [false, true, true]);
    // The gateway goes on with what is left, and tidies up.
    let process = Process::start(&home, "");
    eventually(|| !memories[2].exists()).await;
    assert!(memories[1].join("1.jsonl").exists());
    let mut chat = Client::open(process.addr, "0", Some(&session)).await;
    chat.nothing_until("welcome_info").await;
    chat.nothing_until("welcome_text").await;
    assert_eq!(listed(&home), [session, other]);
}

#[tokio::test]
async fn files_that_cannot_be_removed_do_not_keep_a_session() {
    let home = Home::new();
    let process = Process::start(&home, "");
    let session = Client::open(process.addr, "0", None).await.session().to_owned();
    process.kill();
    // The directory around them is none, so nothing can be looked for in it, whatever our rights are.
    let temporary = home.data.path().join("agent-temp");
    let _ = std::fs::remove_dir_all(&temporary);
    std::fs::write(&temporary, "x").unwrap();
    let deleted = kakehashi(&home, &["delete", &session, "--yes"]);
    said(&deleted, 0, "files of its agents are left");
    said(&deleted, 0, "deleted");
    assert_eq!(listed(&home), [""; 0]);
}

#[tokio::test]
async fn an_upload_that_cannot_be_removed_does_not_keep_a_session() {
    let home = Home::new();
    let process = Process::start(&home, "");
    let mut front = Frontend::open(process.addr, None).await;
    upload(&mut front, "a.txt", "aGk=").await;
    let session = front.session().to_owned();
    process.kill();
    let input = home.data.path().join("temp/local/input");
    std::fs::set_permissions(&input, Permissions::from_mode(0o500)).unwrap();
    let mut command = session_command(&home, &["delete", &session, "--yes"]);
    if rustix::process::geteuid().is_root() {
        // Rights mean nothing to root.
        const NOBODY: u32 = 65_534;
        give(home.data.path(), NOBODY);
        give(home.project.path(), NOBODY);
        if !session_command(&home, &["list"]).uid(NOBODY).status().is_ok_and(|it| it.success()) {
            return eprintln!("not tested: others may not run what is built here");
        }
        command.uid(NOBODY);
    }
    let deleted = command.output().unwrap();
    std::fs::set_permissions(&input, Permissions::from_mode(0o700)).unwrap();
    said(&deleted, 0, "is left until it is too old");
    said(&deleted, 0, &format!("deleted {session}"));
    assert_eq!((listed(&home).len(), uploads(&home).len()), (0, 1));
    assert_eq!(count(&home, "events"), 0);
}

/// Everything below is theirs.
fn give(path: &Path, user: u32) {
    lchown(path, Some(user), None).unwrap();
    if path.symlink_metadata().unwrap().is_dir() {
        for entry in std::fs::read_dir(path).unwrap() {
            give(&entry.unwrap().path(), user);
        }
    }
}

#[test]
fn a_data_directory_that_does_not_exist_has_no_sessions_and_is_not_made() {
    let home = Home::new();
    let data = home.project.path().join("nowhere");
    let mut command = Command::new(env!("CARGO_BIN_EXE_kakehashi"));
    command.env_clear().args(["session", "list", "--data"]).arg(&data);
    said(&command.output().unwrap(), 0, "no sessions");
    assert!(!data.exists());
}
