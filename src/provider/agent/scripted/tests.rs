//! The scripted agent, spoken to through its link.

use super::*;
use std::path::Path;
use std::time::Duration;
use tokio::time::{Instant, sleep, timeout};

/// A cancel has to be answered in this time whatever the agent does.
const CANCEL_LIMIT: Duration = Duration::from_secs(6);

#[tokio::test]
async fn answer_is_all_that_was_said() {
    assert_eq!(
        all("say one\nhello\nsay two").await,
        [line("hello"), answer("one\ntwo"), finished()]
    );
    assert_eq!(all("").await, [answer("done"), finished()]);
}

#[tokio::test]
async fn stream_is_complete_and_in_order() {
    let outputs = all("stream 1000").await;
    assert_eq!(outputs.len(), 1_002);
    assert_eq!((&outputs[0], &outputs[999]), (&line("line 1"), &line("line 1000")));
}

#[tokio::test]
async fn files_are_written_read_and_told() {
    let place = Post::new();
    let outputs =
        place.all("write a/b.txt x\\ny\nread a/b.txt\nwrite a/b.txt z\nimage p/i.png").await;
    let made = AgentOutput::FileMade("p/i.png".to_owned());
    let changed = AgentOutput::FilesChanged(vec!["a/b.txt".to_owned(), "p/i.png".to_owned()]);
    assert_eq!(outputs, [line("x"), line("y"), made, changed, answer("done"), finished()]);
    assert_eq!(std::fs::read_to_string(place.path().join("a/b.txt")).unwrap(), "z");
    assert_eq!(image::image_dimensions(place.path().join("p/i.png")).unwrap(), (64, 64));
}

#[tokio::test]
async fn failure_ends_the_prompt_but_not_the_agent() {
    let place = Post::new();
    let mut link = place.start();
    prompt(&link, "write x 1\nfail no luck\nsay never").await;
    let changed = AgentOutput::FilesChanged(vec!["x".to_owned()]);
    assert_eq!(until_done(&mut link).await, [changed, failed("no luck")]);
    prompt(&link, "write ../x 1").await;
    assert_eq!(until_done(&mut link).await, [failed("../x leads outside the workplace")]);
    prompt(&link, "say still here").await;
    assert_eq!(until_done(&mut link).await, [answer("still here"), finished()]);
}

#[tokio::test]
async fn command_runs_in_the_workplace_with_a_bare_environment() {
    let place = Post::new();
    let outputs = place.all("run pwd; env | cut -d= -f1 | sort; cat").await;
    assert_eq!(outputs[0], line(&place.path().canonicalize().unwrap().to_string_lossy()));
    let allowed = ["PATH", "HOME", "LANG", "KAKEHASHI_AGENT", "PWD", "OLDPWD", "SHLVL", "_"];
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
async fn a_question_waits_for_its_own_answer() {
    let place = Post::new();
    let mut link = place.start();
    prompt(&link, "ask first\nask second").await;
    for (decision, told) in [(Decision::Deny, "denied"), (Decision::AllowOnce, "allowed once")] {
        assert!(matches!(link.output.recv().await, Some(AgentOutput::Tool(tool)) if tool.asked));
        let Some(AgentOutput::Ask(ask)) = link.output.recv().await else { panic!("no question") };
        let wrong = AgentInput::Answer { id: AskId(99), decision: Decision::AllowAlways };
        link.input.send(wrong).await.unwrap();
        link.input.send(AgentInput::Answer { id: ask.id, decision }).await.unwrap();
        assert!(matches!(link.output.recv().await, Some(AgentOutput::Tool(_))));
        assert_eq!(link.output.recv().await, Some(line(told)));
    }
    assert_eq!(until_done(&mut link).await, [answer("done"), finished()]);
    prompt(&link, "ask third").await;
    link.input.send(AgentInput::Cancel).await.unwrap();
    assert_eq!(until_done(&mut link).await.last(), Some(&cancelled()));
}

#[tokio::test]
async fn missing_workplace_fails_the_prompt() {
    let mut link = start(Place::open("/nonexistent/workplace"), "test");
    prompt(&link, "run true").await;
    let [AgentOutput::Done(AgentEnd::Failed { reason })] = &until_done(&mut link).await[..] else {
        panic!("not failed")
    };
    assert!(reason.starts_with("the command could not be started"), "{reason}");
}

#[tokio::test]
async fn idle_cancel_is_answered() {
    let place = Post::new();
    let mut link = place.start();
    link.input.send(AgentInput::Cancel).await.unwrap();
    assert_eq!(until_done(&mut link).await, [cancelled()]);
}

#[tokio::test]
async fn cancel_gets_through_a_full_output_queue() {
    let place = Post::new();
    let mut link = place.start();
    prompt(&link, "stream 1000000").await;
    sleep(Duration::from_millis(100)).await;
    link.input.send(AgentInput::Cancel).await.unwrap();
    let outputs = until_done(&mut link).await;
    assert_eq!(outputs.last(), Some(&cancelled()));
    assert!(outputs.len() <= AGENT_OUTPUT_CAPACITY + 2, "{}", outputs.len());
    prompt(&link, "say again").await;
    assert_eq!(until_done(&mut link).await, [answer("again"), finished()]);
}

#[tokio::test]
async fn cancel_tells_what_was_written() {
    let place = Post::new();
    let mut link = place.start();
    prompt(&link, "write x 1\nready\nsleep 100").await;
    assert_eq!(link.output.recv().await, Some(line("ready")));
    link.input.send(AgentInput::Cancel).await.unwrap();
    let changed = AgentOutput::FilesChanged(vec!["x".to_owned()]);
    assert_eq!(until_done(&mut link).await, [changed, cancelled()]);
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
    check_cancel("setsid sleep 7103 & ", "7103").await;
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
async fn dropping_the_link_ends_everything_also_in_the_background() {
    let place = Post::new();
    let mut link = place.start();
    prompt(&link, "run setsid sleep 7107 >/dev/null 2>&1 &").await;
    until_done(&mut link).await;
    prompt(&link, "run trap '' TERM; sleep 7107").await;
    wait_for(|| count("7107") >= 2).await;
    drop(link);
    wait_for(|| count("7107") == 0).await;
}

/// Cancels while `command` runs; every process with `mark` among its arguments has to be gone afterwards.
async fn check_cancel(command: &str, mark: &str) {
    let place = Post::new();
    let mut link = place.start();
    prompt(&link, &format!("run {command}")).await;
    wait_for(|| count(mark) > 0).await;
    sleep(Duration::from_millis(100)).await;
    let began = Instant::now();
    link.input.send(AgentInput::Cancel).await.unwrap();
    assert_eq!(until_done(&mut link).await.last(), Some(&cancelled()));
    assert!(began.elapsed() < CANCEL_LIMIT);
    assert_eq!(count(mark), 0, "`{command}` left something behind");
}

/// Processes with this word among their arguments.
fn count(word: &str) -> usize {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let lines = processes.filter_map(|process| std::fs::read(process.path().join("cmdline")).ok());
    lines
        .filter(|line| line.split(|&byte| byte == 0).any(|argument| argument == word.as_bytes()))
        .count()
}

async fn wait_for(mut condition: impl FnMut() -> bool) {
    let waiting = async {
        while !condition() {
            sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(CANCEL_LIMIT, waiting).await.unwrap();
}

struct Post(tempfile::TempDir);

impl Post {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn start(&self) -> AgentLink {
        start(Place::open(self.path()), "test")
    }

    async fn all(&self, text: &str) -> Vec<AgentOutput> {
        let mut link = self.start();
        prompt(&link, text).await;
        until_done(&mut link).await
    }
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
    match output {
        AgentOutput::Line(text) => Some(text),
        AgentOutput::Answer(_)
        | AgentOutput::Note(_)
        | AgentOutput::WholeAnswer(_)
        | AgentOutput::Thought(_)
        | AgentOutput::Tool(_)
        | AgentOutput::Plan(_)
        | AgentOutput::Usage(_)
        | AgentOutput::Ask(_)
        | AgentOutput::State(_)
        | AgentOutput::Mode(_)
        | AgentOutput::Opened { .. }
        | AgentOutput::Picture(_)
        | AgentOutput::FileMade(_)
        | AgentOutput::FilesChanged(_)
        | AgentOutput::Done(_) => None,
    }
}

fn line(text: &str) -> AgentOutput {
    AgentOutput::Line(text.to_owned())
}

fn answer(text: &str) -> AgentOutput {
    AgentOutput::WholeAnswer(text.to_owned())
}

fn failed(reason: &str) -> AgentOutput {
    AgentOutput::Done(AgentEnd::Failed { reason: reason.to_owned() })
}

fn finished() -> AgentOutput {
    AgentOutput::Done(AgentEnd::Finished)
}

fn cancelled() -> AgentOutput {
    AgentOutput::Done(AgentEnd::Cancelled)
}
