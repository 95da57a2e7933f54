//! `kakehashi doctor` as a process: what it says, what it returns, and that it leaves everything as it was.

use crate::process::Process;
use crate::support::{Client, Home};
use kakehashi::sandbox::{self, Wish};
use serde_json::Value;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::SystemTime;

/// Asks with the directories of `home` and these further arguments.
fn ask(home: &Home, more: &[&str]) -> Output {
    ask_with(home, "language = \"en\"\n", std::env::var_os("PATH").unwrap_or_default(), more)
}

fn ask_with(home: &Home, settings: &str, path: OsString, more: &[&str]) -> Output {
    let file = home.data.path().join("settings.toml");
    std::fs::write(&file, settings).unwrap();
    let before = [seen(home.data.path()), seen(home.project.path())];
    let mut command = Command::new(env!("CARGO_BIN_EXE_kakehashi"));
    command.arg("doctor").args(more);
    for (flag, path) in
        [("--project", home.project.path()), ("--data", home.data.path()), ("--config", &file)]
    {
        if !more.contains(&flag) {
            command.arg(flag).arg(path);
        }
    }
    command.env_clear().env("PATH", path);
    let output = command.output().unwrap();
    let after = [seen(home.data.path()), seen(home.project.path())];
    assert!(before == after, "{}", String::from_utf8_lossy(&output.stdout));
    output
}

/// Everything about the files below a directory that a look must not change.
fn seen(directory: &Path) -> BTreeMap<PathBuf, (SystemTime, Vec<u8>)> {
    let mut found = BTreeMap::new();
    let mut todo = vec![directory.to_owned()];
    while let Some(path) = todo.pop() {
        let modified = path.symlink_metadata().unwrap().modified().unwrap();
        if path.is_dir() {
            todo.extend(std::fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        }
        // A socket cannot be read.
        let bytes = std::fs::read(&path).unwrap_or_default();
        found.insert(path, (modified, bytes));
    }
    found
}

/// The report of a call that had this exit code, by the names of its checks.
#[track_caller]
fn report(home: &Home, more: &[&str], code: i32) -> BTreeMap<String, Value> {
    let output = ask(home, &[more, &["--json"]].concat());
    let said = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(code), "{said}");
    assert_eq!(output.stderr, b"");
    let report: Value = serde_json::from_str(&said).unwrap();
    assert_eq!(report["healthy"], code == 0);
    assert_eq!(report["version"], env!("CARGO_PKG_VERSION"));
    let findings = report["findings"].as_array().unwrap();
    let named = |row: &Value| (row["check"].as_str().unwrap().to_owned(), row.clone());
    let named: BTreeMap<String, Value> = findings.iter().map(named).collect();
    assert_eq!(named.len(), findings.len(), "two checks of one name: {said}");
    for finding in findings {
        assert!(finding["found"].is_string(), "{finding}");
        let fine = finding["verdict"] == "ok";
        assert!(fine || finding["advice"].is_string(), "nothing to do: {finding}");
    }
    named
}

#[track_caller]
fn check(found: &BTreeMap<String, Value>, name: &str, verdict: &str, part: &str) {
    let finding = &found[name];
    assert_eq!(finding["verdict"], verdict, "{finding}");
    assert!(finding["found"].as_str().unwrap().contains(part), "{finding}");
}

fn free_port() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap()
}

/// The terminal goes before the settings, and the settings before English.
#[test]
fn people_are_told_in_the_language_of_their_terminal() {
    let home = Home::new();
    let told = |settings: &str, language: Option<&str>| {
        let file = home.data.path().join("settings.toml");
        std::fs::write(&file, settings).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_kakehashi"));
        command.args(["doctor", "--json", "--listen", "127.0.0.1:0", "--config"]).arg(file);
        command.arg("--project").arg(home.project.path()).arg("--data").arg(home.data.path());
        command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.envs(language.map(|language| ("LANG", language)));
        let report: Value = serde_json::from_slice(&command.output().unwrap().stdout).unwrap();
        report["findings"].as_array().unwrap().clone()
    };
    let english = |text: &Value| text.as_str().is_none_or(str::is_ascii);
    for (settings, language) in
        [("language = \"en\"", Some("ja_JP.UTF-8")), ("language = \"ja\"", None)]
    {
        for finding in told(settings, language) {
            assert!(!english(&finding["found"]), "{finding}");
            assert!(finding["advice"].is_null() || !english(&finding["advice"]), "{finding}");
        }
    }
    for (settings, language) in [("language = \"ja\"", Some("C.UTF-8")), ("", None)] {
        for finding in told(settings, language) {
            assert!(english(&finding["found"]) && english(&finding["advice"]), "{finding}");
        }
    }
}

/// A mistake in the settings is told in the language that they name.
#[test]
fn what_keeps_the_gateway_from_starting_is_told_in_both_languages() {
    let home = Home::new();
    for (language, expected) in
        [("en", "is not an address like"), ("ja", "のようなアドレスではありません")]
    {
        let file = home.data.path().join("settings.toml");
        std::fs::write(&file, format!("language = \"{language}\"\nlisten = \"nowhere\"\n"))
            .unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_kakehashi"));
        command.arg("serve").arg("--config").arg(&file).env_clear();
        let output = command.output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(expected) && said.contains("settings.toml:2: listen: "), "{said}");
    }
}

#[test]
fn a_machine_that_has_everything_is_healthy() {
    let home = Home::new();
    std::fs::create_dir(home.project.path().join(".git")).unwrap();
    std::fs::write(home.project.path().join("main.py"), "print()").unwrap();
    let address = free_port().to_string();
    let found = report(&home, &["--listen", &address], 0);
    let checks: Vec<&str> = found.keys().map(String::as_str).collect();
    let expected = [
        "agent claude",
        "agent codex",
        "agent copilot",
        "agent gemini",
        "agent goose",
        "agent opencode",
        "agent qwen",
        "box",
        "browser",
        "config",
        "control",
        "data",
        "database",
        "exposure",
        "files",
        "gateway",
        "git",
        "live",
        "models",
        "open files",
        "port",
        "project",
        "python",
        "space",
        "terminal",
        "tls",
        "token",
        "users",
        "watches",
    ];
    assert_eq!(checks, expected);
    check(&found, "config", "ok", "settings.toml sets language");
    check(&found, "port", "ok", &format!("{address} is free"));
    check(&found, "git", "ok", "repository at ");
    let binary = Path::new(env!("CARGO_BIN_EXE_kakehashi"));
    let verdict = match sandbox::probe(binary, Wish::Auto) {
        Ok(means) if means.lacks().is_empty() => "ok",
        Ok(_) | Err(_) => "warn",
    };
    check(&found, "box", verdict, "box");
    check(&found, "files", "ok", "1 files in 1 directories");
    check(&found, "gateway", "ok", "none is running");
    check(&found, "database", "ok", "there is none yet");
}

#[test]
fn the_way_in_which_the_box_is_made_is_told() {
    let home = Home::new();
    let path = std::env::var_os("PATH").unwrap_or_default();
    for (way, wish, made_of) in
        [("own", Wish::Own, "namespaces of our own"), ("bwrap", Wish::Bwrap, "bubblewrap (")]
    {
        let settings = format!("language = \"en\"\n[box]\nway = \"{way}\"\n");
        let output = ask_with(&home, &settings, path.clone(), &["--listen", "127.0.0.1:0"]);
        let said = String::from_utf8(output.stdout).unwrap();
        let expected = match sandbox::probe(Path::new(env!("CARGO_BIN_EXE_kakehashi")), wish) {
            Ok(_) => made_of,
            Err(_) => "agents cannot be boxed",
        };
        assert!(said.lines().any(|line| line.contains("box") && line.contains(expected)), "{said}");
    }
    // Without bubblewrap there is no such box, and that is told.
    let settings = "language = \"en\"\n[box]\nway = \"bwrap\"\n";
    let output = ask_with(&home, settings, "/nowhere".into(), &["--listen", "127.0.0.1:0"]);
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.contains("agents cannot be boxed: bubblewrap is not installed"), "{said}");
}

#[test]
fn a_git_that_makes_no_copies_is_told() {
    let home = Home::new();
    let programs = tempfile::tempdir().unwrap();
    let told = || {
        let more = ["--listen", "127.0.0.1:0"];
        let path = programs.path().as_os_str().to_owned();
        let said = ask_with(&home, "language = \"en\"\n", path, &more).stdout;
        let said = String::from_utf8(said).unwrap();
        said.lines().find(|line| line.starts_with("warn  git")).unwrap_or(&said).to_owned()
    };
    let missing = told();
    assert!(missing.contains("git is not installed") && missing.contains("shared"), "{missing}");
    let git = programs.path().join("git");
    std::fs::write(&git, "#!/bin/sh\necho git version 1.8.3.1\n").unwrap();
    std::fs::set_permissions(&git, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let old = told();
    assert!(old.contains("git version 1.8.3.1 is too old"), "{old}");
}

#[test]
fn a_webhook_is_looked_at() {
    let home = Home::new();
    let path = std::env::var_os("PATH").unwrap_or_default();
    for (settings, verdict, part) in [
        ("url = \"https://a.example/t0ken\"\nsecret = \"HOOK\"", "fail", "HOOK holds no secret"),
        ("url = \"https://a.example/t0ken\"", "warn", "without a signature"),
        ("url = \"a.example\"", "fail", "is not an address"),
    ] {
        let settings = format!("language = \"en\"\n[webhook]\n{settings}\n");
        let output = ask_with(&home, &settings, path.clone(), &["--listen", "127.0.0.1:0"]);
        let said = String::from_utf8(output.stdout).unwrap();
        let line = said.lines().find(|line| line.contains(part)).unwrap_or(&said);
        assert!(line.starts_with(verdict) && !line.contains("t0ken"), "{line}");
    }
}

#[test]
fn people_get_one_line_for_each_finding() {
    let home = Home::new();
    let output = ask(&home, &["--listen", "127.0.0.1:0"]);
    let said = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<&str> = said.lines().collect();
    let (sum, findings) = lines.split_last().unwrap();
    for line in findings {
        let verdict = line.split(' ').next().unwrap();
        assert!(matches!(verdict, "ok" | "warn" | "fail"), "{line}");
    }
    assert!(sum.ends_with(" 0 fail"), "{said}");
    let git = lines.iter().find(|line| line.contains("git ")).unwrap();
    assert!(git.starts_with("ok    git") && git.contains("copies of its files"), "{git}");
}

#[tokio::test]
async fn a_running_gateway_is_recognised_and_not_disturbed() {
    let home = Home::new();
    let process = Process::start(&home, "");
    let mut client = Client::open(process.addr, "input", None).await;
    client.until("welcome_text").await;
    let address = process.addr.to_string();
    let found = report(&home, &["--listen", &address], 0);
    check(&found, "port", "ok", "in use by the running gateway, which is ready");
    check(&found, "gateway", "ok", "one is running");
    check(&found, "database", "ok", ", 1 sessions");
    let elsewhere = free_port().to_string();
    let found = report(&home, &["--listen", &elsewhere], 0);
    check(&found, "port", "ok", "is free");
    assert!(found["port"]["advice"].as_str().unwrap().contains("listens elsewhere"));
    // The same port from another data directory.
    check(
        &report(&Home::new(), &["--listen", &address], 1),
        "port",
        "fail",
        "another data directory",
    );

    process.kill();
    let found = report(&home, &["--listen", &address], 0);
    check(&found, "gateway", "ok", "none is running");
    check(&found, "database", "ok", ", 1 sessions");
}

#[test]
fn a_port_of_another_program_is_a_failure() {
    let home = Home::new();
    let other = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = other.local_addr().unwrap().to_string();
    // It never answers.
    check(&report(&home, &["--listen", &address], 1), "port", "fail", "another program");
}

#[test]
fn broken_settings_are_found_with_their_line() {
    let home = Home::new();
    let file = home.project.path().join("bad.toml");
    std::fs::write(&file, "\nport = 1\n").unwrap();
    let found = report(&home, &["--config", file.to_str().unwrap()], 1);
    check(&found, "config", "fail", "bad.toml:2: unknown key `port`");
    assert_eq!(found.len(), 1);
}

#[test]
fn a_missing_project_hides_nothing_else() {
    let home = Home::new();
    let found = report(&home, &["--project", "/no/such", "--listen", "127.0.0.1:0"], 1);
    check(&found, "project", "fail", "/no/such is not a directory");
    check(&found, "config", "ok", "settings.toml");
    assert!(found["data"]["found"].as_str().unwrap().contains("is writable"));
    assert!(!found.contains_key("files"));
}

#[test]
fn an_address_that_others_reach_hides_nothing_else() {
    let home = Home::new();
    let found = report(&home, &["--listen", "0.0.0.0:0"], 1);
    check(&found, "exposure", "fail", "there are no users");
    check(&found, "config", "ok", "settings.toml");
    check(&found, "tls", "ok", "speaks http");
    assert!(found.contains_key("port"));
}

#[test]
fn a_directory_that_does_not_exist_is_not_made() {
    let home = Home::new();
    let data = home.project.path().join("data");
    let found = report(&home, &["--data", data.to_str().unwrap(), "--listen", "127.0.0.1:0"], 0);
    check(&found, "data", "ok", "does not exist yet and will be made");
    check(&found, "project", "warn", "holds the data directory");
}

#[test]
fn a_damaged_or_foreign_database_is_a_failure() {
    let home = Home::new();
    std::fs::write(home.data.path().join("kakehashi.db"), "not a database, whatever it says")
        .unwrap();
    let found = report(&home, &["--listen", "127.0.0.1:0"], 1);
    check(&found, "database", "fail", "is damaged");
}
