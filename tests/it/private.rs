//! What only the operator may read: the settings, the key, and the data directory with what users have sent.

use crate::http::post;
use crate::process::Process;
use crate::support::{BODY, CHANNEL, Frontend, Gateway, Home, KIND, eventually};
use kakehashi::auth;
use serde_json::json;
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Instant;

const CONTENT: &str = "/core/files/内容取得";

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

#[tokio::test]
async fn settings_and_keys_inside_a_project_are_hidden() {
    let home = Arc::new(Home::new());
    let project = home.project.path().canonicalize().unwrap();
    let file = project.join("kakehashi.toml");
    fs::write(&file, "hash").unwrap();
    fs::write(project.join("a.txt"), "a").unwrap();
    symlink("kakehashi.toml", project.join("link")).unwrap();
    fs::hard_link(&file, project.join("twin.toml")).unwrap();
    let named = file.clone();
    let gateway = Gateway::start_at(home, |config| config.file = Some(named)).await;
    for name in ["kakehashi.toml", "link", "twin.toml", file.to_str().unwrap()] {
        let reply = post(CONTENT, &json!({"ファイル名": name})).local().send(gateway.addr).await;
        assert_eq!(reply.refused(), "FILE_NOT_FOUND", "{name}");
    }
    let mut front = Frontend::open(gateway.addr, None).await;
    front.type_in("1", "write b.txt b").await;
    front.agents[0].until("update_info").await;
    front.input.send(&json!({CHANNEL: "file", KIND: "files_backup", BODY: ""})).await;
    let list = front.file.until("files_backup").await;
    let files = list[BODY]["ファイルリスト"].as_array().unwrap();
    let paths: Vec<_> = files.iter().map(|file| &file["パス"]).collect();
    assert_eq!(paths, ["a.txt", "b.txt"]);
    let backups = gateway.home.data.path().join("backup");
    eventually(|| holds(&backups, "b.txt")).await;
    assert!(holds(&backups, "a.txt"));
    assert!(!holds(&backups, "kakehashi.toml") && !holds(&backups, "twin.toml"));
    gateway.stop().await;
}

/// Whether a file of this name is anywhere below.
fn holds(directory: &Path, name: &str) -> bool {
    let Ok(entries) = fs::read_dir(directory) else { return false };
    let found = |path: &Path| path.file_name().is_some_and(|it| it == name) || holds(path, name);
    entries.filter_map(Result::ok).any(|entry| found(&entry.path()))
}

#[test]
fn settings_with_users_that_others_can_read_or_change_are_told() {
    let home = Home::new();
    let file = home.data.path().join("settings.toml");
    let password = auth::hash_password("long enough to be one").unwrap();
    let settings = format!("[[users]]\nname = \"ann\"\npassword = {password:?}\n");
    let doctor = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_kakehashi"));
        command.args(["doctor", "--listen", "127.0.0.1:0"]).arg("--config").arg(&file);
        command.arg("--project").arg(home.project.path()).arg("--data").arg(home.data.path());
        String::from_utf8(command.env_clear().output().unwrap().stdout).unwrap()
    };
    fs::write(&file, &settings).unwrap();
    for (mode, warned) in [(0o600, false), (0o640, false), (0o644, true), (0o620, true)] {
        set_mode(&file, mode);
        let said = doctor();
        let line = said.lines().find(|line| line.contains(" config ")).unwrap();
        assert_eq!(line.starts_with("warn"), warned, "{line}");
        let log = home.project.path().join("log");
        let script = format!("exec \"$0\" \"$@\" 2>{}", log.display());
        Process::start_under(&home, &script, &settings).end(Instant::now());
        let log = fs::read_to_string(log).unwrap();
        assert_eq!(log.contains("the settings with the users"), warned, "{mode:o} {log}");
    }
    // Without users there is nothing to hide.
    fs::write(&file, "").unwrap();
    set_mode(&file, 0o644);
    assert!(doctor().contains("ok    config"));
}

/// Directories and files below, each with its rights.
fn rights(path: &Path) -> Vec<(PathBuf, bool, u32)> {
    let about = path.symlink_metadata().unwrap();
    let mut found = vec![(path.to_owned(), about.is_dir(), about.permissions().mode() & 0o777)];
    if about.is_dir() {
        let entries = fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path());
        found.extend(entries.flat_map(|path| rights(&path)));
    }
    found
}

#[tokio::test]
async fn uploads_and_backups_are_for_nobody_else_on_the_machine() {
    let home = Arc::new(Home::new());
    let (data, project) = (home.data.path(), home.project.path());
    for path in [data.to_owned(), data.join("temp"), data.join("backup")] {
        fs::create_dir_all(&path).unwrap();
        set_mode(&path, 0o755);
    }
    fs::create_dir(project.join("src")).unwrap();
    fs::write(project.join("src/a.sh"), "a").unwrap();
    set_mode(&project.join("src/a.sh"), 0o755);
    let gateway = Gateway::start_at(Arc::clone(&home), |_| ()).await;
    let mut front = Frontend::open(gateway.addr, None).await;
    let file = json!({CHANNEL: "0", KIND: "input_file", BODY: "aGk=", "ファイル名": "a.txt"});
    front.input.send(&file).await;
    front.chat.until("input_file").await;
    front.type_in("1", "write b.txt b").await;
    front.agents[0].until("update_info").await;
    eventually(|| holds(&data.join("backup"), "b.txt")).await;
    let (temp, backup) = (rights(&data.join("temp")), rights(&data.join("backup")));
    for (path, is_dir, mode) in temp.iter().chain(&backup).filter(|row| row.1) {
        assert!(*is_dir && *mode == 0o700, "{mode:o} {}", path.display());
    }
    let uploads: Vec<u32> = temp.iter().filter(|row| !row.1).map(|row| row.2).collect();
    assert_eq!(uploads, [0o600]);
    // A copy is what it was.
    let copy = backup.iter().find(|row| row.0.ends_with("src/a.sh")).unwrap();
    assert_eq!(copy.2, 0o755);
    gateway.stop().await;
}

#[test]
fn the_start_warns_of_a_data_directory_that_others_can_enter() {
    let home = Home::new();
    for (mode, warned) in [(0o700, false), (0o755, true)] {
        set_mode(home.data.path(), mode);
        let log = home.project.path().join("log");
        let script = format!("exec \"$0\" \"$@\" 2>{}", log.display());
        Process::start_under(&home, &script, "").end(Instant::now());
        let log = fs::read_to_string(log).unwrap();
        assert_eq!(log.contains("can get into the data directory"), warned, "{mode:o} {log}");
    }
}
