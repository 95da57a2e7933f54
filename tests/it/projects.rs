//! Sessions on other projects than the gateway's own: what waits for one, what is shown of it, what is handed out.

use crate::http::{get, post};
use crate::process::Process;
use crate::support::{BODY, CHANNEL, Client, Frontend, Gateway, Home, KIND, PATIENCE, SESSION};
use kakehashi::config::Config;
use serde_json::{Value, json};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tempfile::TempDir;
use tokio::time::timeout;

const CONTENT: &str = "/core/files/内容取得";
const SETTINGS: &str = "/core/AIコア/モデル情報/設定";

/// A further directory of `[projects]`.
struct Other {
    _directory: TempDir,
    path: PathBuf,
}

impl Other {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().canonicalize().unwrap();
        Self { _directory: directory, path }
    }

    fn allow(&self) -> impl FnOnce(&mut Config) + use<> {
        let path = self.path.clone();
        move |config| config.projects.push(("other".to_owned(), path))
    }

    fn shown(&self) -> &str {
        self.path.to_str().unwrap()
    }
}

async fn move_to(addr: SocketAddr, session: &str, project: &str) {
    let body = json!({SESSION: session, "モデル設定": {"CODE_BASE_PATH": project}});
    let moved = post(SETTINGS, &body).local().send(addr).await;
    assert_eq!(moved.json()["status"], "OK", "{}", moved.body);
}

fn says(packet: &Value, part: &str) -> bool {
    packet[BODY].as_str().is_some_and(|text| text.contains(part))
}

#[tokio::test]
async fn what_waits_for_a_project_never_runs_in_another() {
    let other = Other::new();
    let gateway = Gateway::start_with(other.allow()).await;
    let mut front = Frontend::open(gateway.addr, None).await;
    let id = front.session().to_owned();
    move_to(gateway.addr, &id, other.shown()).await;
    front.type_in("1", "sleep 600").await;
    front.agents[0].until_where(|packet| packet[BODY] == "<<< 処理開始 >>>").await;
    front.type_in("1", "write astray.txt x").await;
    front.agents[0].until_where(|packet| says(packet, "実行番号 2")).await;
    let home = gateway.stop().await;

    let gateway = Gateway::start_at(home, |_| ()).await;
    let mut agent = Client::open(gateway.addr, "1", Some(&id)).await;
    agent.until_where(|packet| says(packet, "sleep 600") && says(packet, "再起動")).await;
    agent.until_where(|packet| says(packet, other.shown())).await;
    agent.until_where(|packet| says(packet, "write astray.txt x") && says(packet, "再起動")).await;
    // What is asked for now is meant for the gateway's own project, and the lane is free for it.
    let mut input = Client::open(gateway.addr, "input", Some(&id)).await;
    input.send(&json!({CHANNEL: "1", KIND: "input_text", BODY: "write here.txt x"})).await;
    agent.until_where(|packet| packet[BODY] == "<<< 処理終了 >>>").await;
    let there = |project: &Path, name: &str| project.join(name).exists();
    assert!(there(gateway.project(), "here.txt"));
    assert!(!there(gateway.project(), "astray.txt") && !there(&other.path, "astray.txt"));
    let home = gateway.stop().await;

    // Nor does the session go back by itself when the project is allowed again.
    let gateway = Gateway::start_at(home, other.allow()).await;
    let input = Client::open(gateway.addr, "input", Some(&id)).await;
    assert_eq!(input.init[BODY]["モデル設定"]["CODE_BASE_PATH"], "");
    gateway.stop().await;
}

/// Passes over lists until one that shows `path`.
async fn until_listed(file: &mut Client, path: &str) -> Value {
    file.until_where(|packet| {
        let files = packet[BODY]["ファイルリスト"].as_array();
        files.is_some_and(|files| files.iter().any(|file| file["パス"] == path))
    })
    .await
}

#[tokio::test]
async fn a_followed_list_moves_along_with_its_session() {
    let other = Other::new();
    std::fs::write(other.path.join("there.txt"), "x").unwrap();
    let gateway = Gateway::start_with(other.allow()).await;
    std::fs::write(gateway.project().join("here.txt"), "x").unwrap();
    let mut input = Client::open(gateway.addr, "input", None).await;
    let id = input.session().to_owned();
    let mut file = Client::open(gateway.addr, "file", Some(&id)).await;
    let watch = json!({CHANNEL: "file", KIND: "files_watch", BODY: {"対象": "files_backup"}});
    input.send(&watch).await;
    until_listed(&mut file, "here.txt").await;

    move_to(gateway.addr, &id, other.shown()).await;
    let list = until_listed(&mut file, "there.txt").await;
    assert_eq!(list[BODY]["プロジェクトパス"], other.shown());
    // The old project is nothing to this session any more.
    std::fs::write(gateway.project().join("late.txt"), "x").unwrap();
    std::fs::write(other.path.join("new.txt"), "x").unwrap();
    let seen = file.collect_until(|packet| packet[BODY].to_string().contains("new.txt")).await;
    let strange = seen.iter().find(|packet| packet[BODY]["プロジェクトパス"] != other.shown());
    assert_eq!(strange, None);

    // Nor does a socket that comes later get the list of the project that was left.
    let mut later = Client::open(gateway.addr, "file", Some(&id)).await;
    let first = later.until("files_backup").await;
    assert_eq!(first[BODY]["プロジェクトパス"], other.shown());
    gateway.stop().await;
}

/// What a client that does not name its session gets.
async fn content(gateway: &Gateway, name: &str) -> Result<String, String> {
    let reply = post(CONTENT, &json!({"ファイル名": name})).local().send(gateway.addr).await;
    let data = &reply.json()["data"]["base64_data"];
    let bytes = data.as_str().map(|text| base64_simd::STANDARD.decode_to_vec(text).unwrap());
    bytes.map(|bytes| String::from_utf8(bytes).unwrap()).ok_or_else(|| reply.refused())
}

#[tokio::test]
async fn a_path_without_a_session_is_looked_for_where_its_user_works() {
    let (one, two) = (Other::new(), Other::new());
    for other in [&one, &two] {
        std::fs::write(other.path.join("same.txt"), other.shown()).unwrap();
    }
    std::fs::write(one.path.join("one.txt"), "one").unwrap();
    let (first, second) = (one.allow(), two.allow());
    let gateway = Gateway::start_with(|config| {
        first(config);
        second(config);
    })
    .await;
    std::fs::write(gateway.project().join("same.txt"), "main").unwrap();
    std::fs::write(gateway.project().join("main.txt"), "main").unwrap();
    let missing = Err("FILE_NOT_FOUND".to_owned());
    // Nobody works there.
    assert_eq!(content(&gateway, "one.txt").await, missing);
    let mut front = Frontend::open(gateway.addr, None).await;
    assert_eq!(content(&gateway, "one.txt").await, missing);
    move_to(gateway.addr, front.session(), one.shown()).await;
    assert_eq!(content(&gateway, "one.txt").await.as_deref(), Ok("one"));
    assert_eq!(content(&gateway, "main.txt").await.as_deref(), Ok("main"));
    assert_eq!(content(&gateway, "same.txt").await.as_deref(), Ok(one.shown()));
    assert_eq!(content(&gateway, "../same.txt").await, Err("INVALID_FILE_NAME".to_owned()));

    // The last used session goes first.
    let later = Client::open(gateway.addr, "input", None).await;
    move_to(gateway.addr, later.session(), two.shown()).await;
    assert_eq!(content(&gateway, "same.txt").await.as_deref(), Ok(two.shown()));
    front.type_in("1", "write made.txt made").await;
    let told = front.agents[0].until("update_info").await;
    let made = told[BODY].to_string();
    assert!(made.contains("made.txt"), "{made}");
    assert_eq!(content(&gateway, "made.txt").await.as_deref(), Ok("made"));
    assert_eq!(content(&gateway, "same.txt").await.as_deref(), Ok(one.shown()));
    move_to(gateway.addr, later.session(), "").await;
    assert_eq!(content(&gateway, "same.txt").await.as_deref(), Ok("main"));

    // A backup by its absolute path, as lists tell it.
    front.input.send(&json!({CHANNEL: "file", KIND: "files_backup", BODY: ""})).await;
    let list = front.file.until("files_backup").await;
    let backup = PathBuf::from(list[BODY]["バックアップベースパス"].as_str().unwrap());
    let day = backup.parent().unwrap();
    let layers = std::fs::read_dir(day).unwrap().map(|layer| layer.unwrap().path());
    let copies = layers.map(|layer| layer.join("made.txt")).filter(|copy| copy.exists());
    let copy = copies.last().unwrap();
    assert_eq!(content(&gateway, copy.to_str().unwrap()).await.as_deref(), Ok("made"));
    gateway.stop().await;
}

#[tokio::test]
async fn backups_of_every_project_are_listed_and_restored() {
    let (other, unknown) = (Other::new(), Other::new());
    std::fs::write(other.path.join("a.txt"), "then").unwrap();
    let home = Home::new();
    let settings = format!("[projects]\nother = {:?}\n", other.shown());
    let gateway = Process::start(&home, &settings);
    let mut front = Frontend::open(gateway.addr, None).await;
    move_to(gateway.addr, front.session(), other.shown()).await;
    front.type_in("1", "write a.txt now").await;
    front.agents[0].until("update_info").await;

    let list = async |project: &str| {
        let path = format!("/api/backups?project={project}");
        get(&path).local().send(gateway.addr).await
    };
    assert_eq!(list("").await.json(), json!({"backups": []}));
    let own = home.project.path().canonicalize().unwrap();
    assert_eq!(list(own.to_str().unwrap()).await.json(), json!({"backups": []}));
    let both = async {
        loop {
            let backups = list(other.shown()).await.json()["backups"].as_array().unwrap().clone();
            if backups.len() == 2 {
                return backups;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let backups = timeout(PATIENCE, both).await.expect("no second backup");
    for strange in [unknown.shown(), "/", "..", "a.txt"] {
        let refused = list(strange).await;
        assert_eq!((refused.status, &refused.json()["code"]), (404, &json!("unknown_project")));
    }

    let oldest = backups.last().unwrap();
    let moment = [&oldest["day"], &oldest["time"]].map(|part| part.as_str().unwrap()).join("/");
    let restore = async |project: &Value| {
        let body = json!({"path": "a.txt", "project": project});
        let path = format!("/api/backups/{moment}/restore");
        post(&path, &body).local().send(gateway.addr).await
    };
    let refused = restore(&json!(unknown.shown())).await;
    assert_eq!((refused.status, &refused.json()["code"]), (404, &json!("unknown_project")));
    assert_eq!(restore(&Value::Null).await.status, 404);
    let read = || std::fs::read_to_string(other.path.join("a.txt")).unwrap();
    assert_eq!(read(), "now");
    let done = restore(&json!(other.shown())).await;
    assert_eq!(done.json(), json!({"written": ["a.txt"], "removed": []}));
    assert_eq!(read(), "then");

    // The same by the operator's command, through the running gateway.
    let command = |project: &str, args: &[&str]| backup_command(&home, project, args);
    let (code, listed) = command(other.shown(), &["list"]);
    assert_eq!((code, listed.lines().count()), (Some(0), 2), "{listed}");
    let newest = listed.lines().next().unwrap().split(' ').next().unwrap();
    let (code, said) = command(other.shown(), &["restore", newest, "--yes"]);
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(read(), "now");
    let (code, said) = command(unknown.shown(), &["restore", newest, "--yes"]);
    assert!(code == Some(2) && said.contains(other.shown()), "{said}");
}

/// Exit code and output.
fn backup_command(home: &Home, project: &str, args: &[&str]) -> (Option<i32>, String) {
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_kakehashi"));
    command.arg("backup").args(args).args(["--project", project]);
    command.arg("--data").arg(home.data.path()).env_clear().env("HOME", home.data.path());
    let output = command.stdin(std::process::Stdio::null()).output().unwrap();
    let said = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8(said).unwrap())
}
