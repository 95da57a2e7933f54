//! Sessions on other projects than the gateway's own: what waits for one, what is shown of it, what is handed out.

use crate::http::post;
use crate::support::{BODY, CHANNEL, Client, Frontend, Gateway, KIND, SESSION};
use kakehashi::config::Config;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use tempfile::TempDir;

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

async fn move_to(gateway: &Gateway, session: &str, project: &str) {
    let body = json!({SESSION: session, "モデル設定": {"CODE_BASE_PATH": project}});
    let moved = post(SETTINGS, &body).local().send(gateway.addr).await;
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
    move_to(&gateway, &id, other.shown()).await;
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

    move_to(&gateway, &id, other.shown()).await;
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
