//! Commands of the scripted agent: below our own binary, in the place of work, and ended with all that they started.

use crate::acp::{count, wait_for};
use kakehashi::provider::agent::{
    self, AgentConfig, AgentEnd, AgentInput, AgentLink, AgentOutput, AgentPrompt, Place,
};
use std::path::Path;
use std::time::Duration;
use tempfile::TempDir;
use tokio::time::timeout;

/// Long enough for a loaded machine; the commands would run for hours.
const PATIENCE: Duration = Duration::from_secs(60);

#[tokio::test]
async fn command_runs_in_the_workplace_with_a_bare_environment() {
    let place = Post::new();
    let outputs = place.all("run pwd; env | cut -d= -f1 | sort; cat").await;
    assert_eq!(outputs[0], line(&place.path().canonicalize().unwrap().to_string_lossy()));
    let allowed =
        ["PATH", "HOME", "LANG", "TERM", "KAKEHASHI_AGENT", "PWD", "OLDPWD", "SHLVL", "_"];
    for output in &outputs[1..outputs.len() - 2] {
        let AgentOutput::Line(name) = output else { panic!("{output:?}") };
        assert!(allowed.contains(&name.as_str()), "{name} was passed on");
    }
}

#[tokio::test]
async fn failed_command_is_told_and_the_prompt_goes_on() {
    let outputs = all("run echo out; echo err >&2; exit 3\nrun kill -9 $$\nsay next").await;
    assert!(outputs[..2].contains(&line("out")) && outputs[..2].contains(&line("err")));
    let rest = [line("exit status 3"), line("ended by signal 9"), answer("next"), finished()];
    assert_eq!(outputs[2..], rest);
}

#[tokio::test]
async fn no_output_of_a_command_is_lost() {
    let command = "head -c 200000 /dev/zero | tr '\\0' x; echo; printf 'a\\377b\\n'; seq 5000 >&2; printf end";
    let outputs = all(&format!("run {command}")).await;
    let lines: Vec<&str> = outputs.iter().filter_map(text).collect();
    let long: usize =
        lines.iter().filter(|line| line.starts_with('x')).map(|line| line.len()).sum();
    assert_eq!(long, 200_000);
    assert!(lines.contains(&"a\u{FFFD}b") && lines.contains(&"end"));
    assert_eq!(lines.iter().filter(|line| line.parse::<u32>().is_ok()).count(), 5_000);
}

#[tokio::test]
async fn cancel_ends_a_command() {
    check_cancel("sleep 7101", "7101").await;
}

#[tokio::test]
async fn cancel_ends_a_child_in_its_own_session() {
    check_cancel("setsid sleep 7102 & sleep 7102", "7102").await;
}

#[tokio::test]
async fn cancel_ends_a_child_whose_parent_is_gone() {
    check_cancel("(setsid sleep 7103 &); sleep 7103", "7103").await;
}

#[tokio::test]
async fn cancel_ends_what_ignores_term() {
    check_cancel("trap '' TERM; setsid sleep 7104 & sleep 7104", "7104").await;
}

#[tokio::test]
async fn cancel_ends_a_child_with_an_empty_environment() {
    check_cancel("trap '' TERM; env -i setsid sleep 7105 & sleep 7105; wait", "7105").await;
}

#[tokio::test]
async fn cancel_ends_a_command_that_floods_an_unread_queue() {
    check_cancel("yes 7106", "7106").await;
}

#[tokio::test]
async fn what_a_command_leaves_in_the_background_ends_with_it() {
    let outputs =
        all("run env -i setsid sleep 7108 >/dev/null 2>&1 & echo started\nsay next").await;
    assert_eq!(outputs, [line("started"), answer("next"), finished()]);
    assert_eq!(count("7108"), 0);
}

#[tokio::test]
async fn dropping_the_link_ends_everything_also_in_the_background() {
    let place = Post::new();
    let link = place.start();
    prompt(&link, "run trap '' TERM; env -i setsid sleep 7107 >/dev/null 2>&1 & sleep 7107").await;
    wait_for(PATIENCE, || count("7107") >= 2).await;
    drop(link);
    wait_for(PATIENCE, || count("7107") == 0).await;
}

#[tokio::test]
async fn missing_workplace_fails_the_prompt() {
    let mut link = agent::start(&config(), &Place::open("/nonexistent/workplace"));
    prompt(&link, "run true").await;
    let [AgentOutput::Done(AgentEnd::Failed { reason })] = &until_done(&mut link).await[..] else {
        panic!("not failed")
    };
    assert!(reason.starts_with("the command could not be started"), "{reason}");
}

/// Cancels while `command` runs; every process with `mark` among its arguments has to be gone afterwards.
async fn check_cancel(command: &str, mark: &str) {
    let place = Post::new();
    let mut link = place.start();
    prompt(&link, &format!("run {command}")).await;
    let started = command.matches(mark).count();
    wait_for(PATIENCE, || count(mark) >= started).await;
    link.input.send(AgentInput::Cancel).await.unwrap();
    assert_eq!(until_done(&mut link).await.last(), Some(&cancelled()));
    assert_eq!(count(mark), 0, "`{command}` left something behind");
}

/// Where the agent works.
struct Post(TempDir);

impl Post {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn start(&self) -> AgentLink {
        agent::start(&config(), &Place::open(self.path()))
    }

    async fn all(&self, text: &str) -> Vec<AgentOutput> {
        let mut link = self.start();
        prompt(&link, text).await;
        until_done(&mut link).await
    }
}

fn config() -> AgentConfig {
    let supervisor = env!("CARGO_BIN_EXE_kakehashi").into();
    AgentConfig::Scripted { supervisor, owner: "scripted-test".into() }
}

async fn all(text: &str) -> Vec<AgentOutput> {
    Post::new().all(text).await
}

async fn prompt(link: &AgentLink, text: &str) {
    let prompt = AgentPrompt { text: text.to_owned(), attachments: Vec::new() };
    link.input.send(AgentInput::Prompt(prompt)).await.unwrap();
}

async fn until_done(link: &mut AgentLink) -> Vec<AgentOutput> {
    let mut outputs = Vec::new();
    while !matches!(outputs.last(), Some(AgentOutput::Done(_))) {
        let next = timeout(Duration::from_secs(30), link.output.recv()).await;
        outputs.push(next.expect("the agent answers in time").expect("the agent lives"));
    }
    outputs
}

fn text(output: &AgentOutput) -> Option<&str> {
    let AgentOutput::Line(text) = output else { return None };
    Some(text)
}

fn line(text: &str) -> AgentOutput {
    AgentOutput::Line(text.to_owned())
}

fn answer(text: &str) -> AgentOutput {
    AgentOutput::WholeAnswer(text.to_owned())
}

fn finished() -> AgentOutput {
    AgentOutput::Done(AgentEnd::Finished)
}

fn cancelled() -> AgentOutput {
    AgentOutput::Done(AgentEnd::Cancelled)
}
