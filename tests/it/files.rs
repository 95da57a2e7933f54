//! Lists of files over the wire: right after every change, cheap without one, whatever the project holds.

use crate::http::get;
use crate::support::{BODY, CHANNEL, Frontend, Gateway, Home, KIND, PATIENCE};
use serde_json::{Value, json};
use std::fs;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
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
async fn a_client_that_has_the_current_list_is_told_so() {
    let gateway = Gateway::start().await;
    let mut front = Frontend::open(gateway.addr, None).await;
    upload(&mut front, "a.txt").await;
    let list = ask(&mut front, "files_temp", json!("")).await;
    let newest = list["作業ファイル日時"].clone();
    let has = |count: usize| json!({"作業ファイル日時": newest, "件数": count});
    let answer = ask(&mut front, "files_temp", has(1)).await;
    assert_eq!(answer, json!({"変化なし": true, "作業ファイル日時": newest, "件数": 1}));
    for other in [has(2), json!({"作業ファイル日時": "", "件数": 1}), json!({"件数": 1}), json!({})]
    {
        assert_eq!(ask(&mut front, "files_temp", other).await, list);
    }
    // A command with a number is acknowledged as always.
    front
        .input
        .send(&json!({CHANNEL: "file", KIND: "files_temp", BODY: has(1), "要求番号": "n"}))
        .await;
    assert_eq!(front.input.until("ack").await["要求番号"], "n");
    assert_eq!(front.file.until("files_temp").await[BODY]["変化なし"], true);
    upload(&mut front, "b.txt").await;
    assert_eq!(paths(&ask(&mut front, "files_temp", has(1)).await).len(), 2);
    let empty = ask(&mut front, "files_backup", json!({"最終ファイル日時": null, "件数": 0})).await;
    assert_eq!(empty, json!({"変化なし": true, "最終ファイル日時": null, "件数": 0}));
}

#[tokio::test]
async fn a_change_with_the_same_time_and_count_is_noticed() {
    let gateway = Gateway::start().await;
    fs::write(gateway.project().join("a"), "x").unwrap();
    let mut front = Frontend::open(gateway.addr, None).await;
    until_listed(&mut front, "files_backup", &["a"]).await;
    fs::rename(gateway.project().join("a"), gateway.project().join("b")).unwrap();
    until_listed(&mut front, "files_backup", &["b"]).await;
    let has = json!({"最終ファイル日時": null, "件数": 1});
    assert_eq!(paths(&ask(&mut front, "files_backup", has).await), ["b"]);
}

#[tokio::test]
async fn all_files_of_a_user_are_listed_on_request() {
    let gateway = Gateway::start().await;
    let mut front = Frontend::open(gateway.addr, None).await;
    let path = upload(&mut front, "old.txt").await;
    let stored = gateway.home.data.path().join("temp/local").join(path);
    let old = std::time::SystemTime::now() - Duration::from_secs(4_000);
    fs::File::options().write(true).open(stored).unwrap().set_modified(old).unwrap();
    until_listed(&mut front, "files_temp", &[]).await;
    assert_eq!(paths(&ask(&mut front, "files_temp", json!({"全件": true})).await).len(), 1);
}

#[tokio::test]
async fn followed_lists_come_by_themselves_at_most_once_a_second() {
    let gateway = Gateway::start().await;
    fs::write(gateway.project().join("a"), "x").unwrap();
    let mut front = Frontend::open(gateway.addr, None).await;
    let mut other = Frontend::open(gateway.addr, None).await;
    for front in [&mut front, &mut other] {
        watch(front, json!({"対象": "files_backup"})).await;
        assert_eq!(paths(&front.file.until("files_backup").await[BODY]), ["a"]);
    }
    let started = Instant::now();
    let project = gateway.project().to_owned();
    let writing = tokio::task::spawn_blocking(move || {
        for round in 0..30 {
            fs::write(project.join(format!("b{round}")), "x").unwrap();
            std::thread::sleep(Duration::from_millis(50));
        }
    });
    for front in [&mut front, &mut other] {
        let mut lists = 0;
        while paths(&front.file.until("files_backup").await[BODY]).len() < 31 {
            lists += 1;
        }
        let seconds = started.elapsed().as_secs_f64();
        assert!(f64::from(lists) <= seconds, "{lists} lists in {seconds} s");
    }
    writing.await.unwrap();
}

#[tokio::test]
async fn following_ends_when_asked_and_with_the_last_file_socket() {
    let gateway = Gateway::start().await;
    let mut other = Frontend::open(gateway.addr, None).await;
    watch(&mut other, json!({"対象": "files_backup"})).await;
    let mut front = Frontend::open(gateway.addr, None).await;
    watch(&mut front, json!({})).await;
    let kinds = [front.file.next().await, front.file.next().await].map(|packet| {
        assert_eq!(packet[BODY][LIST], json!([]));
        packet[KIND].as_str().unwrap().to_owned()
    });
    assert!(kinds.contains(&"files_temp".to_owned()) && kinds.contains(&"files_backup".to_owned()));
    watch(&mut front, json!({"対象": "files_temp", "停止": true})).await;
    upload(&mut front, "a.txt").await;
    fs::write(gateway.project().join("a"), "x").unwrap();
    let next = front.file.nothing_until("files_backup").await;
    assert_eq!(paths(&next[BODY]), ["a"]);
    let Frontend { input, file, .. } = &mut front;
    let last = crate::support::cursor(&file.init, crate::support::seq(&next));
    let session = input.session().to_owned();
    let old = std::mem::replace(
        file,
        crate::support::Client::open_with(gateway.addr, "file", Some(&session), last.clone()).await,
    );
    old.close().await;
    // Another socket took its place, so it goes on.
    fs::write(gateway.project().join("b"), "x").unwrap();
    let next = file.nothing_until("files_backup").await;
    assert_eq!(paths(&next[BODY]), ["a", "b"]);
    let last = crate::support::cursor(&file.init, crate::support::seq(&next));
    let old = std::mem::replace(
        file,
        crate::support::Client::open(gateway.addr, "0", Some(&session)).await,
    );
    old.close().await;
    let gone = async {
        let none = "kakehashi_sockets{channel=\"file\"} 1\n";
        while !get("/metrics").send(gateway.addr).await.body.contains(none) {
            sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(PATIENCE, gone).await.expect("the socket is still there");
    *file = crate::support::Client::open_with(gateway.addr, "file", Some(&session), last).await;
    // Another session follows: when it has been told of the second change, a second after the first, everybody who
    // follows has been told of the first.
    for name in ["c", "d"] {
        fs::write(gateway.project().join(name), "x").unwrap();
        let told = |packet: &Value| packet[BODY].to_string().contains(&format!("\"{name}\""));
        other.file.until_where(told).await;
    }
    input.send(&json!({CHANNEL: "file", KIND: "files_temp", BODY: ""})).await;
    file.nothing_until("files_temp").await;
}

async fn watch(front: &mut Frontend, body: Value) {
    front.input.send(&json!({KIND: "files_watch", BODY: body, "要求番号": fresh()})).await;
    front.input.until("ack").await;
}

fn fresh() -> String {
    format!("{:?}", Instant::now())
}

/// Where the file is, below the user's directory.
async fn upload(front: &mut Frontend, name: &str) -> String {
    front
        .input
        .send(&json!({CHANNEL: "0", KIND: "input_file", BODY: "aGk=", "ファイル名": name}))
        .await;
    let echo = front.chat.until("input_file").await;
    echo["ファイル名"].as_str().unwrap().strip_prefix("temp/").unwrap().to_owned()
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
async fn a_read_only_project_is_listed_read_and_backed_up() {
    let home = Arc::new(Home::new());
    let Some(disk) = SmallDisk::mount(home.project.path(), "512k") else { return };
    fs::write(home.project.path().join("a"), "x").unwrap();
    disk.close();
    let gateway = Gateway::start_at(Arc::clone(&home), |_| ()).await;
    let mut front = Frontend::open(gateway.addr, None).await;
    assert_eq!(paths(&ask(&mut front, "files_backup", json!("")).await), ["a"]);
    run(&mut front, "read a\nrun echo y > b; echo y > a\nsay fine").await;
    let list = ask(&mut front, "files_backup", json!("")).await;
    assert_eq!(paths(&list), ["a"]);
    let last = Path::new(list["バックアップベースパス"].as_str().unwrap());
    assert_eq!(fs::read_to_string(last.join("a")).unwrap(), "x");
    assert_eq!(fs::read_dir(gateway.project()).unwrap().count(), 1);
}

/// Runs this text and returns what the agent's pane shows of it, up to the answer.
async fn run(front: &mut Frontend, text: &str) {
    front.type_in("1", text).await;
    front.agents[0].until("output_text").await;
}

/// The next `update_info`; it is followed by nothing but later runs.
async fn changed_files(front: &mut Frontend) -> Value {
    front.agents[0].until("update_info").await[BODY]["update_files"].clone()
}

#[tokio::test]
async fn what_a_run_changes_is_told_whoever_changed_it() {
    let gateway = Gateway::start().await;
    fs::write(gateway.project().join("old"), "x").unwrap();
    fs::write(gateway.project().join("doomed"), "x").unwrap();
    let mut front = Frontend::open(gateway.addr, None).await;
    run(&mut front, "run echo longer > old; rm doomed; mkdir sub; echo x > sub/new\nwrite told y")
        .await;
    let expected = json!(["doomed", "old", "sub/new", "told"]);
    assert_eq!(changed_files(&mut front).await, expected);
    assert_eq!(front.chat.until("update_info").await[BODY]["update_files"], expected);
    // Nothing changed: nothing is told, so that the next to tell is the third run's.
    run(&mut front, "read old").await;
    run(&mut front, "run mkdir node_modules; echo x > node_modules/x").await;
    run(&mut front, "write last z").await;
    assert_eq!(changed_files(&mut front).await, json!(["last"]));
}

#[tokio::test]
async fn the_project_is_backed_up_before_and_after_every_run() {
    let gateway = Gateway::start().await;
    fs::write(gateway.project().join("a"), "before").unwrap();
    let mut front = Frontend::open(gateway.addr, None).await;
    let list = ask(&mut front, "files_backup", json!("")).await;
    assert_eq!(list["最終ファイル日時"], Value::Null);
    run(&mut front, "write a after\nwrite b new").await;
    changed_files(&mut front).await;
    let list = ask(&mut front, "files_backup", json!("")).await;
    assert_eq!(paths(&list), ["a", "b"]);
    let newest = list["最終ファイル日時"].as_str().unwrap();
    assert_eq!(newest.len(), "YYYY/MM/DD HH:MM:SS".len(), "{newest}");
    let last = Path::new(list["バックアップベースパス"].as_str().unwrap());
    assert_eq!(fs::read_to_string(last.join("a")).unwrap(), "after");
    assert_eq!(fs::read_to_string(last.join("b")).unwrap(), "new");
    let name = last.file_name().unwrap().to_str().unwrap();
    assert!(newest.replace([':', '/'], "").ends_with(&format!(" {name}")), "{newest} {name}");
    let day = last.parent().unwrap();
    let full = fs::read_dir(day)
        .unwrap()
        .flatten()
        .find(|entry| entry.file_name().to_string_lossy().ends_with(".all"));
    assert_eq!(fs::read_to_string(full.unwrap().path().join("a")).unwrap(), "before");
    let project = gateway.project().file_name().unwrap().to_owned();
    assert_eq!(day.parent().unwrap().file_name(), Some(project.as_os_str()));
    // What the client has is the list after the run.
    let has = json!({"最終ファイル日時": newest, "件数": 2});
    assert_eq!(ask(&mut front, "files_backup", has.clone()).await["変化なし"], true);
    run(&mut front, "say nothing").await;
    assert_eq!(ask(&mut front, "files_backup", has.clone()).await["変化なし"], true);
    // And still after a restart.
    let session = front.session().to_owned();
    let home = gateway.stop().await;
    let gateway = Gateway::start_at(home, |_| ()).await;
    let mut front = Frontend::open(gateway.addr, Some(&session)).await;
    front.file.until("files_backup").await;
    assert_eq!(ask(&mut front, "files_backup", has).await["変化なし"], true);
}

/// A small disk over a directory, for as long as it lives.
pub(crate) struct SmallDisk<'a>(&'a Path);

impl<'a> SmallDisk<'a> {
    /// `None`, and a word about it, where that is not allowed.
    pub(crate) fn mount(path: &'a Path, size: &str) -> Option<Self> {
        fs::create_dir_all(path).unwrap();
        let mut mount = std::process::Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", &format!("size={size}"), "tmpfs"]).arg(path);
        let mounted = mount.output().is_ok_and(|done| done.status.success());
        if !mounted {
            // Past the test's own capture, so that somebody sees it.
            let _ = writeln!(std::io::stderr(), "SKIPPED: a small disk cannot be mounted here");
        }
        mounted.then_some(Self(path))
    }

    /// From now on nobody can write there, not even root.
    fn close(&self) {
        let mut mount = std::process::Command::new("mount");
        let closed = mount.args(["-o", "remount,ro"]).arg(self.0).status();
        assert!(closed.is_ok_and(|done| done.success()));
        assert!(fs::write(self.0.join("probe"), "").is_err());
    }
}

impl Drop for SmallDisk<'_> {
    fn drop(&mut self) {
        let _ = std::process::Command::new("umount").arg("-l").arg(self.0).status();
    }
}

#[tokio::test]
async fn a_full_disk_costs_the_backup_but_not_the_run() {
    let home = Arc::new(Home::new());
    fs::write(home.project.path().join("large"), vec![1; 2 * 1024 * 1024]).unwrap();
    let path = home.data.path().join("backup");
    let Some(_disk) = SmallDisk::mount(&path, "512k") else { return };
    let gateway = Gateway::start_at(Arc::clone(&home), |_| ()).await;
    let mut front = Frontend::open(gateway.addr, None).await;
    front.type_in("1", "write b new\nsay fine").await;
    let told = front.agents[0].collect_until(|packet| packet[KIND] == "output_text").await;
    let is_trouble = |packet: &&Value| {
        let line = packet[BODY].as_str().filter(|_| packet[KIND] == "output_stream");
        line.is_some_and(|line| {
            line.starts_with("プロジェクトをバックアップできませんでした: サーバーの")
        })
    };
    assert_eq!(told.iter().filter(is_trouble).count(), 1, "{told:?}");
    assert_eq!(changed_files(&mut front).await, json!(["b"]));
    let list = ask(&mut front, "files_backup", json!("")).await;
    assert_eq!(
        (&list["最終ファイル日時"], paths(&list)),
        (&Value::Null, vec!["b".into(), "large".into()])
    );
    // Half a backup is none, and takes no place.
    fs::remove_file(gateway.project().join("large")).unwrap();
    run(&mut front, "write c new").await;
    changed_files(&mut front).await;
    let list = ask(&mut front, "files_backup", json!("")).await;
    assert!(list["最終ファイル日時"].is_string(), "{list}");
}

#[tokio::test]
async fn a_full_disk_refuses_an_upload_and_leaves_nothing_of_it() {
    let home = Arc::new(Home::new());
    let path = home.data.path().join("temp");
    let Some(_disk) = SmallDisk::mount(&path, "256k") else { return };
    let gateway = Gateway::start_at(Arc::clone(&home), |_| ()).await;
    let mut front = Frontend::open(gateway.addr, None).await;
    let large = base64_simd::STANDARD.encode_to_string(vec![1; 1024 * 1024]);
    front
        .input
        .send(&json!({CHANNEL: "0", KIND: "input_file", BODY: large, "ファイル名": "large.bin"}))
        .await;
    assert_eq!(front.input.until("error").await["コード"], "file_refused");
    upload(&mut front, "small.txt").await;
    assert_eq!(paths(&ask(&mut front, "files_temp", json!("")).await).len(), 1);
}

#[tokio::test]
async fn a_hundred_thousand_files_are_listed_and_followed() {
    // So many files take a disk minutes.
    let memory = Path::new("/dev/shm");
    let place = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
    let project = tempfile::tempdir_in(place).unwrap();
    let home = Home::at(project, tempfile::tempdir().unwrap());
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
