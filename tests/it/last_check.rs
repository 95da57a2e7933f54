//! What a call meets between the question and the act: the last check after an approval, and a gate that fails.

use crate::chat_tools::{open, reply};
use crate::client::{Api, Ask, Client};
use crate::core_ui::ask_before_reading;
use crate::http::get;
use crate::support::{Gateway, PATIENCE};
use kakehashi::message::Channel;
use serde_json::json;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::time::Duration;
use tempfile::TempDir;
use tokio::time::timeout;

/// The file with the gateway's settings, which is private.
const SETTINGS: &str = "settings.toml";
const SECRET: &str = "a secret of somebody else";

/// A project with `report.txt` and the directories `a` and `b`, and a directory outside of it.
struct Place {
    gateway: Gateway,
    api: Client<Api>,
    outside: TempDir,
}

impl Place {
    async fn new() -> Self {
        let gateway = Gateway::start_with(|config| {
            ask_before_reading(config);
            let settings = config.data.join(SETTINGS);
            fs::write(&settings, SECRET).unwrap();
            config.file = Some(settings);
        })
        .await;
        let project = gateway.project();
        fs::write(project.join("report.txt"), "all is well\n").unwrap();
        fs::write(project.join("other.txt"), SECRET).unwrap();
        fs::create_dir(project.join("a")).unwrap();
        fs::create_dir(project.join("b")).unwrap();
        let outside = tempfile::tempdir().unwrap();
        fs::write(outside.path().join("secret.txt"), SECRET).unwrap();
        let api = open(&gateway).await;
        Self { gateway, api, outside }
    }

    async fn ask(&mut self, tool: &str, arguments: serde_json::Value) {
        let text = format!("use {tool} {arguments}");
        self.api.ask(Ask::Text { to: Channel::Chat, text: &text }).await;
    }

    /// The id of the open question.
    async fn question(&mut self) -> String {
        self.api.until("question").await["data"]["id"].as_str().unwrap().to_owned()
    }

    async fn approve(&mut self, id: &str) -> String {
        self.api.ask(Ask::Answer { id, approved: true }).await;
        reply(&mut self.api).await
    }
}

#[tokio::test]
async fn a_file_that_is_another_one_after_the_approval_is_not_read() {
    let mut place = Place::new().await;
    let report = place.gateway.project().join("report.txt");
    let settings = place.gateway.home.data.path().join(SETTINGS);
    let secret = place.outside.path().join("secret.txt");
    let other = place.gateway.project().join("other.txt");
    let changes: [(&dyn Fn(), &str); 4] = [
        (&|| symlink(&secret, &report).unwrap(), "another file than before"),
        (&|| symlink(&other, &report).unwrap(), "another file than before"),
        (&|| symlink("other.txt", &report).unwrap(), "another file than before"),
        // It is private now, by another name.
        (&|| fs::hard_link(&settings, &report).unwrap(), "report.txt does not exist"),
    ];
    for (change, why) in changes {
        place.ask("file:read", json!({"path": "report.txt"})).await;
        let id = place.question().await;
        fs::remove_file(&report).unwrap();
        change();
        let said = place.approve(&id).await;
        assert!(said.contains(why), "{said}");
        assert!(!said.contains(SECRET), "{said}");
        fs::remove_file(&report).unwrap();
        fs::write(&report, "all is well\n").unwrap();
    }
    // One that only has other content is what the user was asked about.
    place.ask("file:read", json!({"path": "report.txt"})).await;
    let id = place.question().await;
    fs::write(&report, "all is better\n").unwrap();
    assert!(place.approve(&id).await.contains("all is better"));
    place.gateway.stop().await;
}

#[tokio::test]
async fn a_directory_that_is_another_one_after_the_approval_is_not_written_to() {
    let mut place = Place::new().await;
    let a = place.gateway.project().join("a");
    let data = place.gateway.home.data.path().to_owned();
    let outside = place.outside.path().to_owned();
    for (target, why) in [
        (outside.as_path(), "leads outside the workplace"),
        (data.as_path(), "leads outside the workplace"),
        (Path::new("b"), "another file than before"),
    ] {
        place.ask("file:write", json!({"path": "a/made.txt", "content": "x"})).await;
        let id = place.question().await;
        fs::remove_dir(&a).unwrap();
        symlink(target, &a).unwrap();
        let said = place.approve(&id).await;
        assert!(said.contains(why), "{said}");
        assert!(!a.join("made.txt").exists(), "{target:?}");
        fs::remove_file(&a).unwrap();
        fs::create_dir(&a).unwrap();
    }
    place.gateway.stop().await;
}

/// Neither before nor after it is asked about.
#[tokio::test]
async fn no_path_with_two_dots_is_followed() {
    let mut place = Place::new().await;
    let name = place.outside.path().file_name().unwrap().to_str().unwrap().to_owned();
    let out = |file: &str| format!("../{name}/{file}");
    let absolute = format!("{}/a/../report.txt", place.gateway.project().display());
    for (tool, arguments) in [
        ("file:read", json!({"path": out("secret.txt")})),
        ("file:read", json!({"path": format!("a/../{}", out("secret.txt"))})),
        ("file:read", json!({"path": "a/../report.txt"})),
        ("file:read", json!({"path": absolute})),
        ("file:list", json!({"path": out("")})),
        ("file:list", json!({"path": "a/.."})),
        ("file:search", json!({"pattern": "secret", "path": ".."})),
        ("file:write", json!({"path": out("made.txt"), "content": "x"})),
        ("file:write", json!({"path": "a/../made.txt", "content": "x"})),
        ("file:replace", json!({"path": out("secret.txt"), "old": "secret", "new": "x"})),
    ] {
        // A new session each time: many refusals lock one.
        place.api = open(&place.gateway).await;
        place.ask(tool, arguments.clone()).await;
        let mut asked = None;
        let answered = place.api.collect_until(|frame| {
            let is_question = frame["type"] == "question" && asked.is_none();
            if is_question {
                asked = frame["data"]["id"].as_str().map(str::to_owned);
            }
            is_question || frame["type"] == "reply"
        });
        let last = answered.await.pop().unwrap();
        // Even one that the user allows.
        let said = match asked {
            Some(id) => place.approve(&id).await,
            None => last["data"]["text"].as_str().unwrap().to_owned(),
        };
        // By the rules or by the tool.
        assert!(said.contains("outside the "), "{tool} {arguments}: {said}");
    }
    assert_eq!(fs::read_to_string(place.outside.path().join("secret.txt")).unwrap(), SECRET);
    for made in [place.outside.path(), place.gateway.project()] {
        assert!(!made.join("made.txt").exists());
    }
    // A command that looks elsewhere is no plain look.
    place.ask("shell:execute", json!({"command": format!("cat {}", out("secret.txt"))})).await;
    let id = place.question().await;
    place.api.ask(Ask::Answer { id: &id, approved: false }).await;
    assert!(reply(&mut place.api).await.contains("not allowed"));
    place.gateway.stop().await;
}

/// The answer has to be stored before the call is made, and without a disk it never is.
#[tokio::test]
async fn an_approval_that_cannot_be_stored_allows_nothing() {
    for comes_back in [true, false] {
        let gateway = Gateway::start_with(|config| {
            config.limits.shutdown = Duration::from_millis(300);
        })
        .await;
        let mut api = open(&gateway).await;
        let text = r#"use file:write {"path": "made.txt", "content": "x"}"#;
        api.ask(Ask::Text { to: Channel::Chat, text }).await;
        let id = api.until("question").await["data"]["id"].as_str().unwrap().to_owned();
        let data = gateway.home.data.path();
        let (file, away) = (data.join("kakehashi.db"), data.join("away"));
        fs::rename(&file, &away).unwrap();
        api.ask(Ask::Answer { id: &id, approved: true }).await;
        let stalled = async { while get("/ready").send(gateway.addr).await.status != 503 {} };
        timeout(PATIENCE, stalled).await.expect("the writer goes on");
        let made = gateway.project().join("made.txt");
        assert!(!made.exists());
        if comes_back {
            fs::rename(&away, &file).unwrap();
            reply(&mut api).await;
            assert!(made.exists());
            gateway.stop().await;
        } else {
            let home = gateway.stop().await;
            assert!(!home.project.path().join("made.txt").exists());
        }
    }
}
