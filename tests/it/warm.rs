//! Agents are started when somebody comes to their channel, so that the first request need not wait for that.

use crate::acp::{AGENT, count};
use crate::choice::git;
use crate::lives::{resting, row, set};
use crate::panes::Panes;
use crate::process::Process;
use crate::support::{BODY, CHANNEL, Client, Gateway, Home, KIND, eventually, repository};
use kakehashi::provider::row::AgentRow;
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// Settings of a gateway whose first slot is this command, and whose others are scripted.
fn settings(command: &[&str]) -> String {
    let scripted = [2, 3, 4].map(|slot| format!("CODE_AI{slot}_NAME = \"scripted\"\n")).concat();
    format!(
        "language = \"en\"\n[[agents]]\nname = \"test\"\nkind = \"acp\"\ncommand = {command:?}\n[settings]\n\
         CODE_AI1_NAME = \"test\"\n{scripted}"
    )
}

/// The conversations that our agent has begun somewhere below.
fn conversations(directory: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
        let (path, name) = (entry.path(), entry.file_name());
        if path.is_dir() {
            found.extend(conversations(&path));
        } else if let Some(name) = name.to_str().and_then(|name| name.strip_suffix(".session")) {
            found.push(name.to_owned());
        }
    }
    found
}

async fn type_in(input: &mut Client, pane: &str, text: &str) {
    input.send(&json!({CHANNEL: pane, KIND: "input_text", BODY: text})).await;
}

#[tokio::test]
async fn opening_a_channel_starts_its_agent() {
    for in_git in [true, false] {
        let home = Home::new();
        if in_git {
            repository(home.project.path());
        }
        let mark = format!("warm-{in_git}-4711");
        let process =
            Process::start(&home, &settings(&["python3", AGENT, "--noise", mark.as_str()]));
        let mut input = Client::open(process.addr, "input", None).await;
        let id = input.session().to_owned();
        let mut other = Client::open(process.addr, "2", Some(&id)).await;
        type_in(&mut input, "2", "say as ever").await;
        other.until("output_text").await;
        // Nobody has come to its channel.
        assert_eq!(count(&mark), 0);

        let mut pane = Client::open(process.addr, "1", Some(&id)).await;
        pane.until("welcome_text").await;
        let root =
            if in_git { home.data.path().join("worktrees") } else { home.project.path().into() };
        eventually(|| !conversations(&root).is_empty()).await;
        let begun = conversations(&root);
        type_in(&mut input, "1", "session").await;
        let packets = pane.collect_until(|packet| packet[KIND] == "output_text").await;
        let at = |text: &str| packets.iter().position(|packet| packet[BODY] == text);
        assert_eq!(packets.last().unwrap()[BODY], *begun[0], "{packets:?}");
        assert_eq!(conversations(&root), begun);
        // What it said at its start is told with the first request.
        assert!(at("<<< 処理開始 >>>").unwrap() < at("loading extensions").unwrap(), "{packets:?}");
    }
}

#[tokio::test]
async fn an_agent_that_cannot_start_says_so_when_it_is_asked() {
    let home = Home::new();
    let script = "echo x >> tries; echo bad luck >&2; exit 7";
    let process = Process::start(&home, &settings(&["sh", "-c", script]));
    let mut front = Panes::open(process.addr, None).await;
    let tries = home.project.path().join("tries");
    eventually(|| tries.exists()).await;
    front.type_in(1, "hello").await;
    let packets = front.pane(1).collect_until(|packet| packet[KIND] == "output_text").await;
    let is_start = |packet: &Value| packet[BODY] == "<<< 処理開始 >>>";
    let start = packets.iter().position(is_start).unwrap();
    let told = |packet: &Value| packet[BODY].as_str().is_some_and(|text| text.contains("bad luck"));
    assert!(!packets[..start].iter().any(told), "{packets:?}");
    assert!(packets[start..].iter().any(told), "{packets:?}");
    let reason = packets.last().unwrap()[BODY].as_str().unwrap();
    assert!(reason.contains("it ended unexpectedly (exit status 7"), "{reason}");
}

#[tokio::test]
async fn an_agent_started_early_and_never_asked_ends_when_idle() {
    let mark = "warm-rest-4712";
    let patience = Duration::from_secs(1);
    let gateway = Gateway::start_with(|config| resting(config, mark, patience)).await;
    let input = Client::open(gateway.addr, "input", None).await;
    let id = input.session().to_owned();
    let pane = Client::open(gateway.addr, "1", Some(&id)).await;
    eventually(|| count(mark) > 0).await;
    eventually(|| count(mark) == 0).await;
    // Who comes later finds one again.
    let another = Client::open(gateway.addr, "1", Some(&id)).await;
    eventually(|| count(mark) > 0).await;
    drop((input, pane, another));
}

#[tokio::test]
async fn without_agents_early_no_agent_is_started_before_its_first_request() {
    let home = Home::new();
    let mark = "warm-off-4714";
    let settings = format!("agents_early = false\n{}", settings(&["python3", AGENT, mark]));
    let process = Process::start(&home, &settings);
    let mut input = Client::open(process.addr, "input", None).await;
    let id = input.session().to_owned();
    let mut pane = Client::open(process.addr, "1", Some(&id)).await;
    let mut other = Client::open(process.addr, "2", Some(&id)).await;
    // Whoever was to be started would be there before the answer: its channel was opened first.
    type_in(&mut input, "2", "sleep 1\nsay done").await;
    other.until("output_text").await;
    assert_eq!((count(mark), conversations(home.project.path()).len()), (0, 0));
    type_in(&mut input, "1", "hello").await;
    assert_eq!(pane.until("output_text").await[BODY], "hello there");
}

#[tokio::test]
async fn a_newly_chosen_agent_is_started_early() {
    let mark = "warm-chosen-4713";
    let gateway = Gateway::start_with(|config| config.agents = vec![row(mark)]).await;
    let input = Client::open(gateway.addr, "input", None).await;
    let id = input.session().to_owned();
    let _pane = Client::open(gateway.addr, "1", Some(&id)).await;
    assert_eq!(count(mark), 0);
    assert_eq!(set(gateway.addr, &id, "CODE_AI1_NAME", "test").await["status"], "OK");
    eventually(|| count(mark) > 0).await;
}

#[tokio::test]
async fn an_agent_whose_channel_is_not_open_is_not_started() {
    let (mark, unseen) = ("warm-seen-4716", "warm-unseen-4717");
    let gateway = Gateway::start_with(|config| {
        config.supervisor = env!("CARGO_BIN_EXE_kakehashi").into();
        config.agents = vec![row(mark), AgentRow { name: "unseen".to_owned(), ..row(unseen) }];
    })
    .await;
    let mut input = Client::open(gateway.addr, "input", None).await;
    let id = input.session().to_owned();
    let mut pane = Client::open(gateway.addr, "1", Some(&id)).await;
    assert_eq!(set(gateway.addr, &id, "CODE_AI2_NAME", "unseen").await["status"], "OK");
    assert_eq!(set(gateway.addr, &id, "CODE_AI1_NAME", "test").await["status"], "OK");
    // The one that was chosen first would be there by the time the other answers.
    type_in(&mut input, "1", "hello").await;
    assert_eq!(pane.until("output_text").await[BODY], "hello there");
    assert_eq!(count(unseen), 0);
    let _looking = Client::open(gateway.addr, "2", Some(&id)).await;
    eventually(|| count(unseen) > 0).await;
}

#[tokio::test]
async fn what_the_copy_of_one_project_lacks_is_not_told_in_another() {
    let home = Arc::new(Home::new());
    repository(home.project.path());
    std::fs::create_dir(home.project.path().join("nested")).unwrap();
    git(&home.project.path().join("nested"), "init -q");
    let other = tempfile::tempdir().unwrap();
    let path = other.path().canonicalize().unwrap();
    let there = path.clone();
    let gateway = Gateway::start_at(home, |config| {
        config.agents = vec![row("warm-lacks-4715")];
        config.projects.push(("other".to_owned(), there));
    })
    .await;
    let mut input = Client::open(gateway.addr, "input", None).await;
    let id = input.session().to_owned();
    let mut pane = Client::open(gateway.addr, "1", Some(&id)).await;
    assert_eq!(set(gateway.addr, &id, "CODE_AI1_NAME", "test").await["status"], "OK");
    let copies = gateway.home.data.path().join("worktrees");
    eventually(|| !conversations(&copies).is_empty()).await;
    let project = path.to_str().unwrap();
    assert_eq!(set(gateway.addr, &id, "CODE_BASE_PATH", project).await["status"], "OK");
    type_in(&mut input, "1", "hello").await;
    let packets = pane.collect_until(|packet| packet[BODY] == "hello there").await;
    let told = |packet: &Value| packet[BODY].as_str().is_some_and(|text| text.contains("nested/"));
    assert!(!packets.iter().any(told), "{packets:?}");
}
