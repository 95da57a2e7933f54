//! Choices while they are carried out. Git stands still as long as the test wants it to, so nothing is over too early.

use crate::choice::{git, read, repository};
use crate::process::Process;
use crate::support::{BODY, CHANNEL, CODE, Client, Home, KIND, REQUEST, eventually};
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::time::Instant;

/// A gateway whose git waits while there is a certain file.
struct Standstill {
    home: Home,
    /// Where that git is.
    tools: tempfile::TempDir,
}

impl Standstill {
    fn new() -> Self {
        let (home, tools) = (Home::new(), tempfile::tempdir().unwrap());
        repository(home.project.path());
        let path = std::env::var_os("PATH").unwrap();
        let real = std::env::split_paths(&path).map(|part| part.join("git"));
        let real = real.into_iter().find(|git| git.is_file()).unwrap();
        let here = tools.path().display();
        let script = format!(
            "#!/bin/sh\nwhile [ -e {here}/stop ]; do : > {here}/stands; sleep 0.02; done\nexec {} \"$@\"\n",
            real.display()
        );
        let git = tools.path().join("git");
        std::fs::write(&git, script).unwrap();
        std::fs::set_permissions(&git, std::fs::Permissions::from_mode(0o755)).unwrap();
        Self { home, tools }
    }

    fn start(&self) -> Process {
        let script = format!("PATH={}:$PATH exec \"$0\" \"$@\"", self.tools.path().display());
        Process::start_under(&self.home, &script, "")
    }

    fn file(&self, name: &str) -> PathBuf {
        self.tools.path().join(name)
    }

    fn stop(&self) {
        std::fs::write(self.file("stop"), "").unwrap();
    }

    async fn stands(&self) {
        eventually(|| self.file("stands").exists()).await;
    }
}

/// The input socket of a session whose first agent has changed a file.
async fn worked(process: &Process) -> Client {
    let mut input = Client::open(process.addr, "input", None).await;
    let session = input.session().to_owned();
    let mut pane = Client::open(process.addr, "1", Some(&session)).await;
    input.send(&json!({CHANNEL: "1", KIND: "input_text", BODY: "write main.txt better"})).await;
    pane.until_where(|packet| packet[BODY] == "<<< 処理終了 >>>").await;
    input
}

/// How often the pane of the first agent tells of such a choice, and the last of them.
async fn told(process: &Process, session: &str, kind: &str) -> (usize, Value) {
    let knowing = json!({"機能": ["agents"]});
    let mut pane = Client::open_with(process.addr, "1", Some(session), knowing).await;
    let history = pane.collect_until(|packet| packet[KIND] == "welcome_text").await;
    let mut told: Vec<_> = history.into_iter().filter(|packet| packet[KIND] == kind).collect();
    (told.len(), told.pop().map_or(Value::Null, |last| last[BODY].clone()))
}

#[tokio::test]
async fn a_choice_that_is_sent_again_meanwhile_is_carried_out_once() {
    let still = Standstill::new();
    let process = still.start();
    let mut input = worked(&process).await;
    let session = input.session().to_owned();
    still.stop();
    let accept = json!({KIND: "accept", CHANNEL: "1", REQUEST: 7});
    // One that is not possible is refused to each, and can be sent again.
    let bad = json!({KIND: "accept", CHANNEL: "2", REQUEST: 8});
    for packet in [&accept, &accept, &bad, &bad] {
        input.send(packet).await;
    }
    // Commands are taken in their order: with this one all of them have been.
    input.send(&json!({KIND: "input_text", CHANNEL: "0", BODY: "hello", REQUEST: 9})).await;
    let wanted = |packet: &Value| packet[KIND] == "ack" || packet[KIND] == "error";
    assert_eq!(input.until_where(wanted).await[REQUEST], 9, "nothing is settled meanwhile");
    std::fs::remove_file(still.file("stop")).unwrap();
    let mut answers = Vec::new();
    while answers.len() < 4 {
        let packet = input.until_where(wanted).await;
        answers.push((packet[REQUEST].clone(), packet["重複"].clone(), packet[CODE].clone()));
    }
    answers.sort_by_key(|row| format!("{row:?}"));
    let no = json!("no_choice");
    assert_eq!(
        answers,
        [
            (json!(7), json!(false), Value::Null),
            (json!(7), json!(true), Value::Null),
            (json!(8), Value::Null, no.clone()),
            (json!(8), Value::Null, no),
        ]
    );
    assert_eq!(told(&process, &session, "accept").await.0, 1);
    let project = still.home.project.path();
    assert_eq!(read(project, "main.txt"), "better");
    let ours = std::fs::read_dir(still.home.data.path().join("workplace")).unwrap();
    let ours = ours.flatten().next().unwrap().path().join("git");
    let refs = git(&ours, "for-each-ref --format=%(refname) refs/kakehashi/backup");
    assert_eq!(refs.matches("-accept-").count(), 2, "of the project and of the place: {refs}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_choice_on_its_way_is_done_and_told_before_the_gateway_ends() {
    let still = Standstill::new();
    let process = still.start();
    let mut input = worked(&process).await;
    let session = input.session().to_owned();
    still.stop();
    input.send(&json!({KIND: "discard", CHANNEL: "1"})).await;
    still.stands().await;
    let end = tokio::task::spawn_blocking(move || process.end(Instant::now()));
    // Everybody has been told and closed, and now the sessions end: this one has something to do yet.
    assert_eq!(input.closed().await.0, 3001);
    assert!(!end.is_finished());
    std::fs::remove_file(still.file("stop")).unwrap();
    assert_eq!(end.await.unwrap().0, Some(0));
    let process = still.start();
    let (times, last) = told(&process, &session, "discard").await;
    assert_eq!(
        (times, &last["結果"], &last["ファイル"]),
        (1, &json!("done"), &json!(["main.txt"])),
        "{last}"
    );
}
