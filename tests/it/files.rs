//! Lists of files over the wire: right after every change, cheap without one, whatever the project holds.

use crate::support::{BODY, CHANNEL, Frontend, Gateway, Home, KIND, PATIENCE};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::time::{sleep, timeout};

const LIST: &str = "ファイルリスト";
const PATH: &str = "パス";

async fn ask(front: &mut Frontend, kind: &str, body: Value) -> Value {
    front.input.send(&json!({CHANNEL: "file", KIND: kind, BODY: body})).await;
    let mut answer = front.file.until(kind).await;
    answer[BODY].take()
}

fn paths(list: &Value) -> Vec<String> {
    let rows = list[LIST].as_array().unwrap();
    rows.iter().map(|row| row[PATH].as_str().unwrap().to_owned()).collect()
}

/// The system's notice of a change takes a moment.
async fn until_listed(front: &mut Frontend, kind: &str, expected: &[&str]) -> Value {
    let waiting = async {
        loop {
            let list = ask(front, kind, json!("")).await;
            if paths(&list) == expected {
                return list;
            }
            sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(PATIENCE, waiting).await.expect("the list never became right")
}

#[tokio::test]
async fn a_list_follows_the_project() {
    let gateway = Gateway::start().await;
    fs::write(gateway.project().join("a"), "x").unwrap();
    let mut front = Frontend::open(gateway.addr, None).await;
    let first = until_listed(&mut front, "files_backup", &["a"]).await;
    assert_eq!(ask(&mut front, "files_backup", json!("")).await, first);
    fs::create_dir(gateway.project().join("login")).unwrap();
    fs::write(gateway.project().join("login/template.html"), "x").unwrap();
    until_listed(&mut front, "files_backup", &["a", "login/template.html"]).await;
    fs::write(gateway.project().join(".gitignore"), "*.html\n").unwrap();
    until_listed(&mut front, "files_backup", &[".gitignore", "a"]).await;
    let odd = std::ffi::OsStr::from_bytes(b"z\xff");
    fs::write(gateway.project().join(odd), "x").unwrap();
    until_listed(&mut front, "files_backup", &[".gitignore", "a", "z\u{fffd}"]).await;
}

#[tokio::test]
async fn files_that_come_and_go_while_they_are_listed_do_no_harm() {
    let gateway = Gateway::start().await;
    let mut front = Frontend::open(gateway.addr, None).await;
    let project = gateway.project().to_owned();
    let busy = tokio::task::spawn_blocking(move || {
        for round in 0..300 {
            let dir = project.join(format!("d{}", round % 5));
            let _ = fs::create_dir(&dir);
            fs::write(dir.join("f"), "x").unwrap();
            fs::remove_dir_all(&dir).unwrap();
        }
        fs::write(project.join("last"), "x").unwrap();
    });
    while !busy.is_finished() {
        ask(&mut front, "files_backup", json!("")).await;
    }
    busy.await.unwrap();
    until_listed(&mut front, "files_backup", &["last"]).await;
}

#[tokio::test]
async fn a_read_only_project_is_listed() {
    let home = Arc::new(Home::new());
    fs::write(home.project.path().join("a"), "x").unwrap();
    fs::set_permissions(home.project.path(), fs::Permissions::from_mode(0o555)).unwrap();
    let gateway = Gateway::start_at(home, |_| ()).await;
    let mut front = Frontend::open(gateway.addr, None).await;
    assert_eq!(paths(&ask(&mut front, "files_backup", json!("")).await), ["a"]);
    assert_eq!(fs::read_dir(gateway.project()).unwrap().count(), 1);
    fs::set_permissions(gateway.project(), fs::Permissions::from_mode(0o755)).unwrap();
}

#[tokio::test]
async fn a_hundred_thousand_files_are_listed_and_followed() {
    // So many files take a disk minutes.
    let memory = Path::new("/dev/shm");
    let place = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
    let project = tempfile::tempdir_in(place).unwrap();
    let home = Home { project, data: tempfile::tempdir().unwrap() };
    plant(home.project.path());
    let gateway = Gateway::start_at(Arc::new(home), |_| ()).await;
    let mut front = Frontend::open(gateway.addr, None).await;
    let started = Instant::now();
    let first = ask(&mut front, "files_backup", json!("")).await;
    let scanned = started.elapsed();
    assert_eq!(first[LIST].as_array().unwrap().len(), 100_000);
    let started = Instant::now();
    let again = ask(&mut front, "files_backup", json!("")).await;
    println!("first list after {scanned:?}, the same again after {:?}", started.elapsed());
    assert_eq!(first, again);
    fs::write(gateway.project().join("d7/new"), "x").unwrap();
    let grown = async {
        while ask(&mut front, "files_backup", json!("")).await[LIST].as_array().unwrap().len()
            != 100_001
        {}
    };
    timeout(PATIENCE, grown).await.expect("the new file is listed");
}

fn plant(project: &Path) {
    for dir in 0..100 {
        let dir = project.join(format!("d{dir}"));
        fs::create_dir(&dir).unwrap();
        for file in 0..1_000 {
            fs::File::create(dir.join(format!("file-{file}.txt"))).unwrap();
        }
    }
}
