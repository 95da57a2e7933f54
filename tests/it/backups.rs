//! Backups over HTTP and on the command line: what is refused, what comes back, and that nothing is lost by that.

use crate::process::Process;
use crate::protocol::document;
use crate::support::{Frontend, Gateway, Home, PATIENCE, TOKEN, eventually};
use rustix::fs::{CWD, Mode, OFlags, mkfifoat, openat};
use serde_json::{Value, json};
use std::fs::File;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// Status and JSON of an answer, which must be as docs/openapi.yaml says.
async fn ask(addr: SocketAddr, method: &str, path: &str, body: &str, more: &str) -> (u16, Value) {
    let (length, kind) = (body.len(), "application/json");
    let request = format!(
        "{method} {path} HTTP/1.1\r\nHost: {addr}\r\nAuthorization: Bearer {TOKEN}\r\nContent-Type: {kind}\r\n\
         Content-Length: {length}\r\n{more}Connection: close\r\n\r\n{body}"
    );
    let mut client = TcpStream::connect(addr).await.unwrap();
    client.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    timeout(PATIENCE, client.read_to_string(&mut answer)).await.unwrap().unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap();
    let document = document("openapi");
    let listed = if method == "GET" { path } else { "/api/backups/{day}/{time}/restore" };
    let responses = &document["paths"][listed][method.to_lowercase()]["responses"];
    let promised = &responses[status];
    assert!(promised.is_object(), "{method} {path}: {status} is not listed: {answer}");
    let json = serde_json::from_str(body).unwrap_or(Value::Null);
    if let Some(schema) = promised["content"][kind].get("schema") {
        let whole =
            json!({"$ref": "#/schema", "schema": schema, "components": document["components"]});
        assert!(jsonschema::is_valid(&whole, &json), "{method} {path}: {answer}");
        assert!(head.contains("content-type: application/json"), "{answer}");
    }
    (status.parse().unwrap(), json)
}

async fn list(addr: SocketAddr) -> Vec<Value> {
    let (status, answer) = ask(addr, "GET", "/api/backups", "", "").await;
    assert_eq!(status, 200, "{answer}");
    answer["backups"].as_array().unwrap().clone()
}

async fn restore(addr: SocketAddr, backup: &Value, order: &Value) -> (u16, Value) {
    let (day, time) = (backup["day"].as_str().unwrap(), backup["time"].as_str().unwrap());
    let path = format!("/api/backups/{day}/{time}/restore");
    ask(addr, "POST", &path, &order.to_string(), "").await
}

/// Two states: `a.txt` says `then` in the first, and an agent has changed it and made another file in the second.
async fn two_states(addr: SocketAddr, project: &Path) {
    std::fs::create_dir(project.join("src")).unwrap();
    std::fs::write(project.join("src/a.txt"), "then").unwrap();
    let mut frontend = Frontend::open(addr, None).await;
    frontend.type_in("1", "write src/a.txt and now\nwrite new.txt fresh").await;
    frontend.agents[0].until("output_text").await;
    let both = async {
        while list(addr).await.len() < 2 {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    };
    timeout(PATIENCE, both).await.expect("no second backup");
}

fn read(project: &Path, path: &str) -> Option<String> {
    std::fs::read_to_string(project.join(path)).ok()
}

#[tokio::test]
async fn what_cannot_be_restored_is_refused() {
    let gateway = Gateway::start().await;
    let addr = gateway.addr;
    assert_eq!(list(addr).await, Vec::<Value>::new());
    two_states(addr, gateway.project()).await;
    let newest = list(addr).await[0].clone();
    let secret = gateway.home.data.path().join("kakehashi.db");
    for path in [
        "none.txt",
        "../data",
        "src",
        "",
        "/etc/passwd",
        "src/../src/a.txt",
        secret.to_str().unwrap(),
    ] {
        let (status, answer) = restore(addr, &newest, &json!({"path": path})).await;
        assert_eq!((status, &answer["code"]), (404, &json!("not_in_backup")), "{path}");
    }
    let everything = json!({"path": null}).to_string();
    for place in [
        "20000101/000000",
        "2026/1",
        "20260230/000000",
        "%2e%2e/000000",
        "..%2f..%2fdata/000000",
        "%ff/000000",
    ] {
        let path = format!("/api/backups/{place}/restore");
        let (status, answer) = ask(addr, "POST", &path, &everything, "").await;
        assert_eq!((status, &answer["code"]), (404, &json!("not_in_backup")), "{place}");
    }
    let (day, time) = (newest["day"].as_str().unwrap(), newest["time"].as_str().unwrap());
    let path = format!("/api/backups/{day}/{time}/restore");
    for (body, status) in [
        ("", 400),
        ("{", 400),
        ("{}", 422),
        ("[]", 422),
        ("{\"path\":1}", 422),
        ("{\"paht\":null}", 422),
    ] {
        let (found, answer) = ask(addr, "POST", &path, body, "").await;
        assert_eq!((found, &answer["code"]), (status, &json!("bad_request")), "{body}: {answer}");
    }
    let foreign = "Origin: http://evil.example\r\n";
    assert_eq!(ask(addr, "POST", &path, &everything, foreign).await.0, 403);
    assert_eq!(ask(addr, "GET", "/api/backups", "", foreign).await.0, 403);
    let place = gateway.project().join("src/a.txt");
    assert_eq!(std::fs::read_to_string(&place).unwrap(), "and now");
    // No backup can hold a link, so it is not overwritten.
    std::fs::remove_file(&place).unwrap();
    std::os::unix::fs::symlink("/etc/hostname", &place).unwrap();
    for path in [json!("src/a.txt"), json!(null)] {
        let (status, answer) = restore(addr, &newest, &json!({"path": path})).await;
        assert_eq!((status, &answer["code"]), (409, &json!("in_the_way")), "{answer}");
        assert!(answer["error"].as_str().unwrap().contains("src/a.txt "), "{answer}");
    }
    assert!(place.is_symlink());
    gateway.stop().await;
}

#[tokio::test]
async fn one_file_or_everything_comes_back_and_nothing_is_lost() {
    let gateway = Gateway::start().await;
    let (addr, project) = (gateway.addr, gateway.project().to_owned());
    two_states(addr, &project).await;
    let backups = list(addr).await;
    let [newest, oldest] = backups.as_slice() else { panic!("{backups:?}") };
    assert_eq!((&newest["kind"], &newest["files"]), (&json!("changes"), &json!(2)));
    assert_eq!((&oldest["kind"], &oldest["files"]), (&json!("full"), &json!(1)));
    // Not in any backup yet.
    std::fs::write(project.join("draft.txt"), "precious").unwrap();
    let (status, answer) = restore(addr, oldest, &json!({"path": "src/a.txt"})).await;
    assert_eq!((status, &answer), (200, &json!({"written": ["src/a.txt"], "removed": []})));
    assert_eq!(read(&project, "src/a.txt").as_deref(), Some("then"));
    assert_eq!(read(&project, "draft.txt").as_deref(), Some("precious"));
    let (status, answer) = restore(addr, oldest, &json!({"path": null})).await;
    assert_eq!(status, 200, "{answer}");
    assert_eq!(answer["removed"], json!(["draft.txt", "new.txt"]));
    assert_eq!(read(&project, "draft.txt"), None);
    let kept = list(addr).await;
    assert_eq!(kept.len(), 4);
    restore(addr, &kept[1], &json!({"path": null})).await;
    assert_eq!(read(&project, "draft.txt").as_deref(), Some("precious"));
    assert_eq!(read(&project, "new.txt").as_deref(), Some("fresh"));
    gateway.stop().await;
}

/// No backup of the next minute is finished before this is released: who opens a pipe to write waits for a reader.
struct Hold(Vec<PathBuf>);

impl Hold {
    fn over(gateway: &Gateway) -> Self {
        let project = gateway.project().canonicalize().unwrap();
        let base = gateway.home.data.path().join("backup").join(project.file_name().unwrap());
        let now = jiff::Zoned::now();
        let pipe = |second: i64| {
            let moment = now.checked_add(jiff::Span::new().seconds(second)).unwrap();
            let day = base.join(moment.strftime("%Y%m%d").to_string());
            std::fs::create_dir_all(&day).unwrap();
            let path = day.join(moment.strftime("%H%M%S.manifest").to_string());
            // The one of this second may be there.
            mkfifoat(CWD, &path, Mode::RUSR | Mode::WUSR).is_ok().then_some(path)
        };
        Self((0..60).filter_map(pipe).collect())
    }

    /// Keeps the readers, which must not go before the writers.
    fn release(&self) -> Vec<File> {
        let open = |path: &PathBuf| {
            let flags = OFlags::RDONLY | OFlags::NONBLOCK;
            openat(CWD, path, flags, Mode::empty()).ok().map(File::from)
        };
        self.0.iter().filter_map(open).collect()
    }
}

/// A thread that waits for ever would keep a failed test from ending.
impl Drop for Hold {
    fn drop(&mut self) {
        let _readers = self.release();
        self.0.iter().for_each(|path| drop(std::fs::remove_file(path)));
    }
}

fn says<'a>(text: &'a str) -> impl Fn(&Value) -> bool + 'a {
    move |packet| packet["メッセージ内容"].as_str().is_some_and(|line| line.starts_with(text))
}

#[tokio::test]
async fn a_run_in_the_project_begins_when_it_is_backed_up() {
    let gateway = Gateway::start().await;
    let project = gateway.project().to_owned();
    std::fs::write(project.join("a"), "before").unwrap();
    let mut front = Frontend::open(gateway.addr, None).await;
    let hold = Hold::over(&gateway);
    let waiting = says("プロジェクトをバックアップしています");
    front.type_in("1", "write a cancelled").await;
    front.agents[0].until_where(&waiting).await;
    front.cancel("1").await;
    front.agents[0].until_where(says("<<< 処理中断 >>>")).await;
    front.type_in("1", "write a after").await;
    front.agents[0].until_where(&waiting).await;
    assert_eq!(read(&project, "a").as_deref(), Some("before"));
    let _readers = hold.release();
    front.agents[0].until("update_info").await;
    assert_eq!(read(&project, "a").as_deref(), Some("after"));
    drop(hold);
    let oldest = list(gateway.addr).await.pop().unwrap();
    restore(gateway.addr, &oldest, &json!({"path": "a"})).await;
    assert_eq!(read(&project, "a").as_deref(), Some("before"));
}

#[tokio::test]
async fn what_a_run_has_changed_is_told_when_it_is_backed_up() {
    let gateway = Gateway::start().await;
    let project = gateway.project().to_owned();
    std::fs::write(project.join("a"), "before").unwrap();
    let mut front = Frontend::open(gateway.addr, None).await;
    front.type_in("1", "run touch began; while [ ! -e go ]; do sleep 0.05; done").await;
    eventually(|| project.join("began").exists()).await;
    let hold = Hold::over(&gateway);
    std::fs::write(project.join("go"), "").unwrap();
    let told = front.agents[0].collect_until(says("作業の結果をバックアップしています")).await;
    let is_end = |packet: &Value| packet["メッセージ識別"] == "update_info";
    assert!(!told.iter().any(is_end), "{told:?}");
    // The answer does not wait for the copies: it would be lost with a gateway that ends meanwhile.
    let told =
        front.agents[0].collect_until(|packet| packet["メッセージ識別"] == "output_text").await;
    assert!(!told.iter().any(is_end), "{told:?}");
    let _readers = hold.release();
    let told = front.agents[0].until_where(is_end).await;
    assert_eq!(told["メッセージ内容"]["update_files"], json!(["began", "go"]));
    drop(hold);
    assert_eq!(list(gateway.addr).await.len(), 2);
}

fn command(home: &Home, project: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kakehashi"));
    command.arg("backup").args(args).arg("--data").arg(home.data.path());
    command.arg("--project").arg(project).env_clear().env("HOME", home.data.path());
    command.stdin(std::process::Stdio::null()).output().unwrap()
}

#[track_caller]
fn check(output: &Output, code: i32, part: &str) -> String {
    let said = if code == 0 { &output.stdout } else { &output.stderr };
    let said = String::from_utf8(said.clone()).unwrap();
    assert_eq!(output.status.code(), Some(code), "{said}");
    assert!(said.contains(part), "{said}");
    assert!(code == 0 || said.lines().count() == 1, "{said}");
    said
}

#[tokio::test]
async fn the_command_works_with_and_without_a_gateway() {
    let home = Home::new();
    let project = home.project.path().to_owned();
    check(&command(&home, &project, &["list"]), 0, "no backups of ");
    let missing = command(&home, &project, &["restore", "20260101/000000", "--yes"]);
    check(&missing, 2, "no backup holds this");

    let process = Process::start(&home, "");
    two_states(process.addr, &project).await;
    let listed = check(&command(&home, &project, &["list"]), 0, "  full     1 files");
    let oldest = listed.lines().last().unwrap().split(' ').next().unwrap().to_owned();
    let restore = ["restore", oldest.as_str(), "--yes"];
    check(&command(&home, &project, &restore[..2]), 2, "nobody can be asked without a terminal");
    assert_eq!(read(&project, "src/a.txt").as_deref(), Some("and now"));
    let elsewhere = tempfile::tempdir().unwrap();
    check(&command(&home, elsewhere.path(), &restore), 2, "choose one with --project");
    assert_eq!(read(&project, "src/a.txt").as_deref(), Some("and now"));
    std::fs::write(project.join("draft.txt"), "precious").unwrap();
    let one = command(&home, &project, &["restore", &oldest, "src/a.txt", "--yes"]);
    check(&one, 0, &format!("{oldest} is back: 1 written, 0 removed\n"));
    assert_eq!(read(&project, "src/a.txt").as_deref(), Some("then"));
    // The gateway knows what it did, so its own list has the backup from before.
    assert_eq!(list(process.addr).await.len(), 3);
    check(&command(&home, &project, &["restore", &oldest, "none", "-y"]), 2, "the gateway refused");
    process.kill();

    check(&command(&home, &project, &restore), 0, "2 removed");
    assert_eq!(read(&project, "new.txt"), None);
    check(&command(&home, &project, &["restore", "yesterday", "-y"]), 2, "is not a time like");
    let json = check(&command(&home, &project, &["list", "--json"]), 0, "\"backups\"");
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["backups"].as_array().unwrap().len(), 4);
}
