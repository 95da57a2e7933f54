//! The scripted agent, spoken to through its link. Its commands need our own binary: they are tested in `tests/it`.

use super::*;
use std::path::Path;
use std::time::Duration;
use tokio::time::{sleep, timeout};

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

struct Post(tempfile::TempDir);

impl Post {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn start(&self) -> AgentLink {
        let launcher = Launcher {
            supervisor: "/nonexistent".into(),
            owner: "test".into(),
            variables: Vec::new(),
        };
        start(Place::open(self.path()), launcher)
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
