//! `kakehashi user` on a configuration file, with and without a running gateway.

use crate::http::post;
use crate::process::Process;
use crate::support::{Client, Home, KIND, SESSION, TOKEN};
use serde_json::{Value, json};
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

const LOGIN: &str = "/core/auth/ログイン";
const WHO: &str = "/core/auth/現在利用者";

/// The file that [`Process`] starts its gateway with.
fn settings(home: &Home) -> PathBuf {
    home.data.path().join("settings.toml")
}

fn user(home: &Home, arguments: &[&str], password: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kakehashi"));
    command.arg("user").args(arguments).arg("--config").arg(settings(home));
    command.arg("--data").arg(home.data.path()).env_clear();
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // A command that refuses before it reads does not wait for it.
    let _ = writeln!(child.stdin.take().unwrap(), "{password}");
    child.wait_with_output().unwrap()
}

#[track_caller]
fn check(home: &Home, arguments: &[&str], password: &str, said: &str) {
    let output = user(home, arguments, password);
    let (out, err) =
        (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    assert!(output.status.success(), "{arguments:?}: {err}");
    assert!(out.starts_with(said), "{arguments:?}: {out}");
}

#[track_caller]
fn check_refused(home: &Home, arguments: &[&str], password: &str, reason: &str) {
    let output = user(home, arguments, password);
    let err = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {err}");
    assert!(err.contains(reason) && err.lines().count() == 1, "{arguments:?}: {err}");
}

#[test]
fn users_are_added_listed_changed_and_removed_in_the_file() {
    let home = Home::new();
    std::fs::write(settings(&home), "# mine\nlanguage = \"en\"\n").unwrap();
    check(&home, &["list"], "", "no users");
    check(&home, &["add", "ann", "--password-stdin"], "long enough", "ann may log in");
    check(&home, &["add", "Bob B", "--password-stdin"], "long enough", "Bob B may log in");
    check(&home, &["list"], "", "ann\nBob B\n");
    check(&home, &["list", "--json"], "", "[\"ann\",\"Bob B\"]");
    let before = std::fs::read_to_string(settings(&home)).unwrap();
    assert!(before.starts_with("# mine\nlanguage = \"en\"\n"), "{before}");
    assert!(!before.contains("long enough") && before.contains("$argon2id$"), "{before}");
    check(&home, &["passwd", "ann", "--password-stdin"], "another one", "ann has a new password");
    assert_ne!(std::fs::read_to_string(settings(&home)).unwrap(), before);
    check(&home, &["remove", "ann"], "", "ann may not log in any more");
    check(&home, &["list"], "", "Bob B\n");
}

#[test]
fn mistakes_change_nothing() {
    let home = Home::new();
    std::fs::write(settings(&home), "").unwrap();
    check(&home, &["add", "ann", "--password-stdin"], "long enough", "ann may log in");
    let before = std::fs::read_to_string(settings(&home)).unwrap();
    check_refused(&home, &["add", "ann", "--password-stdin"], "long enough", "already");
    check_refused(&home, &["add", "bob", "--password-stdin"], "short", "at least 8");
    check_refused(&home, &["add", "bob"], "long enough", "--password-stdin");
    check_refused(&home, &["add", "a/b", "--password-stdin"], "long enough", "not a user name");
    check_refused(&home, &["add", " bob", "--password-stdin"], "long enough", "not a user name");
    check_refused(&home, &["remove", "bob"], "", "there is no user `bob`");
    check_refused(&home, &["passwd", "bob", "--password-stdin"], "long enough", "no user `bob`");
    assert_eq!(std::fs::read_to_string(settings(&home)).unwrap(), before);
    std::fs::write(settings(&home), "[[users]]\nname = \"a\"\npassword = \"plain\"\n").unwrap();
    check_refused(
        &home,
        &["list"],
        "",
        "settings.toml:1: the password of `a` is not an Argon2 hash",
    );
}

#[tokio::test]
async fn a_running_gateway_takes_changes_over_at_once() {
    let home = Home::new();
    let process = Process::start(&home, "");
    let mut local = Client::open(process.addr, "input", None).await;
    check(&home, &["add", "ann", "--password-stdin"], "long enough", "ann may log in\nthe running");
    // The token is no way in any more, and who came in by it is out.
    assert_eq!(local.closed().await.0, 3506);
    assert_eq!(post(WHO, &Value::Null).bearer(TOKEN).send(process.addr).await.status, 401);
    let log_in = async |password: &str| {
        let body = json!({"利用者ID": "ann", "パスワード": password});
        post(LOGIN, &body).send(process.addr).await.json()
    };
    let token = log_in("long enough").await["data"]["access_token"].as_str().unwrap().to_owned();
    let header = format!("Bearer {token}");
    let mut client = Client::dial_as(process.addr, Some(("Authorization", &header))).await;
    client.send(&json!({"type": "connect", SESSION: null, "ソケット番号": "input"})).await;
    assert_eq!(client.next().await[KIND], "init");
    check(&home, &["passwd", "ann", "--password-stdin"], "another one", "ann has a new password");
    assert_eq!(client.closed().await.0, 3506);
    assert_eq!(log_in("long enough").await["status"], "NG");
    assert_eq!(log_in("another one").await["status"], "OK");
    check(&home, &["remove", "ann"], "", "ann may not log in any more");
    assert_eq!(log_in("another one").await["status"], "NG");
    assert_eq!(post(WHO, &Value::Null).bearer(TOKEN).send(process.addr).await.status, 200);

    // Another file is not the one that the gateway reads.
    let other = home.data.path().join("other.toml");
    let mut command = Command::new(env!("CARGO_BIN_EXE_kakehashi"));
    command.args(["user", "add", "bob", "--password-stdin", "--config"]).arg(&other);
    command.arg("--data").arg(home.data.path()).env_clear().stdin(Stdio::piped());
    let mut child = command.stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    writeln!(child.stdin.take().unwrap(), "long enough").unwrap();
    let output = child.wait_with_output().unwrap();
    let err = String::from_utf8(output.stderr).unwrap();
    assert!(err.contains("reads its settings from") && err.contains("settings.toml"), "{err}");
    assert_eq!(output.status.code(), Some(2));
    assert!(!other.exists());
}

#[tokio::test]
async fn a_running_gateway_without_a_box_takes_no_second_user() {
    let home = Home::new();
    let process = Process::start(&home, "[box]\nenabled = false\n");
    check(&home, &["add", "ann", "--password-stdin"], "long enough", "ann may log in");
    let why =
        "agents of several users have to be boxed, and there is no box: [box] enabled = false";
    let before = std::fs::read_to_string(settings(&home)).unwrap();
    check_refused(&home, &["add", "bob", "--password-stdin"], "long enough", why);
    assert_eq!(std::fs::read_to_string(settings(&home)).unwrap(), before);
    let log_in = async |name: &str| {
        let body = json!({"利用者ID": name, "パスワード": "long enough"});
        post(LOGIN, &body).send(process.addr).await.json()["status"].clone()
    };
    assert_eq!((log_in("ann").await, log_in("bob").await), (json!("OK"), json!("NG")));
    check_refused(&home, &["remove", "bob"], "", "there is no user `bob`");
}

#[test]
fn two_user_commands_at_once_keep_both_changes() {
    let home = Home::new();
    std::fs::write(settings(&home), "").unwrap();
    std::thread::scope(|scope| {
        for n in 0..6 {
            let home = &home;
            let name = if n < 3 { "same".to_owned() } else { format!("user{n}") };
            scope.spawn(move || user(home, &["add", &name, "--password-stdin"], "long enough"));
        }
    });
    let listed = user(&home, &["list", "--json"], "");
    let mut names: Vec<String> = serde_json::from_slice(&listed.stdout).unwrap();
    names.sort();
    assert_eq!(names, ["same", "user3", "user4", "user5"]);
}

#[test]
fn logins_are_ended_without_a_gateway_too() {
    let home = Home::new();
    std::fs::write(settings(&home), "").unwrap();
    check(&home, &["logout", "local"], "", "0 logins of local ended");
    check_refused(&home, &["add", "ann", "--password-stdin"], &"x".repeat(2000), "at most 1024");
    check_refused(
        &home,
        &["add", "a\u{200b}nn", "--password-stdin"],
        "long enough",
        "not a user name",
    );
    check_refused(&home, &["add", "..", "--password-stdin"], "long enough", "not a user name");
}
