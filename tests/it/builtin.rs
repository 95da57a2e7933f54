//! The built-in agent, with every kind of model and with none: what it does, what it asks, and what it refuses.

use crate::acp::{count, wait_for};
use crate::http::post;
use crate::model_server::{ModelServer, Reply};
use crate::process::Process;
use crate::support::{BODY, Client, Frontend, Gateway, Home, KIND, SESSION};
use kakehashi::assistant::{Coder, Said, Texts};
use kakehashi::locale::Locale;
use kakehashi::message::AgentSlot;
use kakehashi::provider::agent::{
    self, AgentConfig, AgentEnd, AgentInput, AgentLink, AgentOutput, AgentPrompt, Ask, Decision,
    Inside, Tool, ToolKind, ToolStatus,
};
use kakehashi::provider::chat::{ChatConfig, Client as ChatClient};
use kakehashi::provider::row::{ChatKind, ChatModel};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tempfile::TempDir;
use tokio::time::timeout;

const PATIENCE: Duration = Duration::from_secs(30);
const BINARY: &str = env!("CARGO_BIN_EXE_kakehashi");

/// A project, and where its agent keeps what was said.
struct Place {
    project: TempDir,
    data: TempDir,
}

impl Place {
    fn new() -> Self {
        Self { project: tempfile::tempdir().unwrap(), data: tempfile::tempdir().unwrap() }
    }

    fn path(&self) -> PathBuf {
        self.project.path().canonicalize().unwrap()
    }

    fn add(&self, path: &str, content: impl AsRef<[u8]>) {
        std::fs::write(self.project.path().join(path), content).unwrap();
    }

    fn read(&self, path: &str) -> String {
        std::fs::read_to_string(self.project.path().join(path)).unwrap()
    }

    fn start(&self, model: Option<ChatModel>) -> Agent {
        let texts = Texts::new(|said| match said {
            Said::Help => "the help".to_owned(),
            Said::NoModel => "no model".to_owned(),
            Said::Phrase(text) => text.to_owned(),
            Said::Title { tool, values } | Said::EnglishTitle { tool, values } => {
                Locale::En.say("title", tool, values)
            }
        });
        let memory = self.data.path().join("conversations/1.jsonl");
        let mut agent = Coder::new(BINARY.into(), "builtin-test".into(), memory, texts)
            .with_private(vec![self.data.path().to_owned()]);
        if let Some(model) = model {
            let client = ChatClient::new();
            agent = agent.with_chat(ChatConfig::Remote { model: Arc::new(model), client });
        }
        Agent {
            link: agent::start(
                &AgentConfig::Inside(Inside(Arc::new(agent))),
                &agent::Place::open(self.path()),
            ),
        }
    }
}

struct Agent {
    link: AgentLink,
}

impl Agent {
    async fn send(&self, input: AgentInput) {
        self.link.input.send(input).await.unwrap();
    }

    async fn prompt(&self, text: &str) {
        self.prompt_with(text, Vec::new()).await;
    }

    async fn prompt_with(&self, text: &str, attachments: Vec<PathBuf>) {
        let text = text.to_owned();
        self.send(AgentInput::Prompt(AgentPrompt { text, attachments })).await;
    }

    /// Reading is allowed at once, as the rules of the gateway do it.
    async fn until(&mut self, wanted: impl Fn(&AgentOutput) -> bool) -> Vec<AgentOutput> {
        let mut outputs = Vec::new();
        loop {
            let output = self.next().await;
            if let AgentOutput::Ask(Ask { id, tool, .. }) = &output
                && matches!(tool.kind, ToolKind::Read | ToolKind::Search)
            {
                self.send(AgentInput::Answer { id: *id, decision: Decision::AllowOnce }).await;
                outputs.push(output);
                continue;
            }
            outputs.push(output);
            if outputs.last().is_some_and(&wanted) {
                return outputs;
            }
        }
    }

    async fn next(&mut self) -> AgentOutput {
        let output = timeout(PATIENCE, self.link.output.recv()).await;
        output.expect("in time").expect("alive")
    }

    async fn asked(&mut self) -> Ask {
        match self.until(|output| matches!(output, AgentOutput::Ask(_))).await.pop() {
            Some(AgentOutput::Ask(ask)) => ask,
            other => panic!("{other:?}"),
        }
    }

    async fn decide(&mut self, decision: Decision) -> Ask {
        let ask = self.asked().await;
        self.send(AgentInput::Answer { id: ask.id, decision }).await;
        ask
    }

    async fn done(&mut self) -> Vec<AgentOutput> {
        self.until(|output| matches!(output, AgentOutput::Done(_))).await
    }

    /// The answer to a prompt that asks nothing.
    async fn said(&mut self, text: &str) -> String {
        self.prompt(text).await;
        self.finish().await
    }

    async fn finish(&mut self) -> String {
        let outputs = self.done().await;
        assert_eq!(outputs.last(), Some(&AgentOutput::Done(AgentEnd::Finished)), "{outputs:?}");
        answer(&outputs)
    }
}

fn answer(outputs: &[AgentOutput]) -> String {
    let mut answer = String::new();
    for output in outputs {
        if let AgentOutput::Answer(text) = output {
            answer.push_str(text);
        }
    }
    answer
}

fn tools(outputs: &[AgentOutput]) -> Vec<&Tool> {
    let mut tools = Vec::new();
    for output in outputs {
        if let AgentOutput::Tool(tool) = output {
            tools.push(tool);
        }
    }
    tools
}

fn lines(outputs: &[AgentOutput]) -> Vec<&str> {
    let mut lines = Vec::new();
    for output in outputs {
        if let AgentOutput::Line(line) | AgentOutput::Note(line) = output {
            lines.push(line.as_str());
        }
    }
    lines
}

/// An answer of a model in OpenAI's form: some text, and calls of tools.
pub(crate) fn reply(text: &str, calls: &[(&str, Value)]) -> Reply {
    let end = if calls.is_empty() { "stop" } else { "tool_calls" };
    let calls = calls.iter().enumerate().map(|(at, (name, arguments))| {
        let function = json!({"name": name, "arguments": arguments.to_string()});
        json!({"index": at, "id": format!("call-{at}"), "type": "function", "function": function})
    });
    let delta = json!({"content": text, "tool_calls": calls.collect::<Vec<_>>()});
    let events = [
        json!({"choices": [{"index": 0, "delta": delta}]}),
        json!({"choices": [{"index": 0, "delta": {}, "finish_reason": end}]}),
        json!({"choices": [], "usage": {"prompt_tokens": 70, "completion_tokens": 30}}),
    ];
    let events: String = events.iter().map(|event| format!("data: {event}\n\n")).collect();
    Reply::events(&(events + "data: [DONE]\n\n"))
}

fn model(server: &ModelServer) -> Option<ChatModel> {
    Some(server.model(ChatKind::OpenAi, "/v1"))
}

/// What the model was told last, as role and content.
fn told(server: &ModelServer) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let asked = server.asked().pop().unwrap();
    let messages = asked.body["messages"].as_array().unwrap();
    messages.iter().map(|row| (text(&row["role"]), text(&row["content"]))).collect()
}

#[tokio::test]
async fn commands_read_and_search_without_a_model() {
    let place = Place::new();
    place.add("a.txt", "one\ntwo\nthree\n");
    let mut agent = place.start(None);
    assert_eq!(agent.said("hello").await, "no model");
    assert_eq!(agent.said("/help").await, "the help");
    agent.prompt("/read a.txt 2-3").await;
    let outputs = agent.done().await;
    assert_eq!(answer(&outputs), "    2  two\n    3  three\n");
    let tools = tools(&outputs);
    assert_eq!((tools[0].title.as_str(), tools[0].kind), ("Read a.txt", ToolKind::Read));
    assert_eq!(tools[0].input.as_deref(), Some(r#"{"path":"a.txt","from":2,"to":3}"#));
    assert_eq!(tools[0].locations[0].path, place.path().join("a.txt").display().to_string());
    assert_eq!(tools.last().unwrap().status, ToolStatus::Completed);
    let both = agent.said("/list\n/search t[wh]").await;
    assert_eq!(both, "[List .]\na.txt\n\n[Search t[wh] in .]\na.txt:2: two\na.txt:3: three\n");
    let wrong = agent.said("/list\n/raed a.txt").await;
    assert!(wrong.starts_with("line 2: `/raed` is no command"), "{wrong}");
    let stopped = agent.said("/read none\n/list").await;
    assert!(stopped.contains("none does not exist\nlater commands"), "{stopped}");
}

#[tokio::test]
async fn every_read_list_and_search_asks_first() {
    let place = Place::new();
    place.add("a.txt", "needle\n");
    let mut agent = place.start(None);
    for (command, title, kind) in [
        ("/read a.txt", "Read a.txt", ToolKind::Read),
        ("/list", "List .", ToolKind::Read),
        ("/search needle", "Search needle in .", ToolKind::Search),
    ] {
        agent.prompt(command).await;
        let ask = loop {
            let output = agent.next().await;
            assert!(!matches!(output, AgentOutput::Answer(_)), "{command}: {output:?}");
            if let AgentOutput::Ask(ask) = output {
                break ask;
            }
        };
        assert_eq!((ask.tool.title.as_str(), ask.tool.kind), (title, kind));
        assert!(ask.tool.locations[0].path.starts_with(&place.path().display().to_string()));
        agent.send(AgentInput::Answer { id: ask.id, decision: Decision::Deny }).await;
        let said = agent.finish().await;
        assert!(said.contains("not allowed") && !said.contains("a.txt"), "{command}: {said}");
    }
}

#[tokio::test]
async fn commands_that_change_something_are_asked_about_with_their_change() {
    let place = Place::new();
    let mut agent = place.start(None);
    agent.prompt("/write src/a.txt\none\ntwo").await;
    let ask = agent.decide(Decision::AllowOnce).await;
    assert_eq!((ask.tool.title.as_str(), ask.tool.kind), ("Write src/a.txt", ToolKind::Edit));
    let diff = &ask.tool.diffs[0];
    assert_eq!((diff.old.as_deref(), &*diff.new), (None, "one\ntwo\n"));
    assert_eq!(diff.path, place.path().join("src/a.txt").display().to_string());
    assert!(!place.project.path().join("src").exists());
    assert_eq!(agent.finish().await, "src/a.txt is written: 8 bytes\n");
    assert_eq!(place.read("src/a.txt"), "one\ntwo\n");

    let replace = "/replace src/a.txt\n```\ntwo\n```\n```\n2\n```";
    agent.prompt(replace).await;
    agent.decide(Decision::Deny).await;
    assert!(agent.finish().await.contains("not allowed"));
    assert_eq!(place.read("src/a.txt"), "one\ntwo\n");
    agent.prompt(replace).await;
    let ask = agent.asked().await;
    assert_eq!(ask.tool.diffs[0].old.as_deref(), Some("one\ntwo\n"));
    // What was shown is not what is there any more.
    place.add("src/a.txt", "somebody else's two\n");
    agent.send(AgentInput::Answer { id: ask.id, decision: Decision::AllowOnce }).await;
    assert!(agent.finish().await.contains("has changed meanwhile"));
    assert_eq!(place.read("src/a.txt"), "somebody else's two\n");
}

#[tokio::test]
async fn impossible_calls_and_paths_outside_are_refused_without_asking() {
    let place = Place::new();
    let outside = tempfile::tempdir().unwrap();
    std::fs::write(outside.path().join("secret"), "secret").unwrap();
    std::os::unix::fs::symlink(outside.path(), place.project.path().join("door")).unwrap();
    place.add("binary", b"\0\x01");
    std::fs::File::create(place.project.path().join("huge")).unwrap().set_len(1 << 30).unwrap();
    let mut agent = place.start(None);
    // It counts as failed, not as something that went on unasked.
    agent.prompt("/write ../x\ny").await;
    let outputs = agent.done().await;
    let told: Vec<_> = tools(&outputs).iter().map(|tool| tool.status).collect();
    assert_eq!(told, [ToolStatus::Failed]);
    let absolute = outside.path().join("secret").display().to_string();
    for path in ["../x", "door/secret", "door/new", "/etc/passwd", &absolute] {
        for command in [format!("/read {path}"), format!("/write {path}\nx")] {
            let refused = agent.said(&command).await;
            assert!(refused.contains("outside the workplace"), "{command}: {refused}");
        }
    }
    assert!(agent.said("/list door").await.contains("outside the workplace"));
    assert!(agent.said("/read binary").await.contains("binary is not text (2 bytes)"));
    assert!(agent.said("/read huge").await.contains("huge is larger than 4 MiB"));
    assert!(agent.said("/replace binary\n```\na\n```\n```\nb\n```").await.contains("is not text"));
    assert_eq!(std::fs::read_dir(outside.path()).unwrap().count(), 1);
}

#[tokio::test]
async fn calls_on_git_directories_are_refused_without_asking() {
    let place = Place::new();
    std::fs::create_dir_all(place.project.path().join(".git/hooks")).unwrap();
    place.add(".git/config", "[core]\n");
    std::os::unix::fs::symlink(".git", place.project.path().join("alias")).unwrap();
    let mut agent = place.start(None);
    for path in [".git/hooks/pre-commit", "alias/hooks/pre-commit", ".git/config"] {
        let refused = agent.said(&format!("/write {path}\n#!/bin/sh")).await;
        assert!(refused.contains("belongs to git; use git itself"), "{path}: {refused}");
    }
    let refused = agent.said("/replace .git/config\n```\ncore\n```\n```\nevil\n```").await;
    assert!(refused.contains("belongs to git"), "{refused}");
    assert_eq!(place.read(".git/config"), "[core]\n");
    assert!(!place.project.path().join(".git/hooks/pre-commit").exists());
}

#[tokio::test]
async fn a_command_is_shown_while_it_runs_and_ends_with_all_it_started() {
    let place = Place::new();
    let mut agent = place.start(None);
    agent.prompt("/run echo one; echo two >&2; setsid sleep 9401.5 & printf last; exit 3").await;
    let ask = agent.decide(Decision::AllowOnce).await;
    assert_eq!(ask.tool.kind, ToolKind::Execute);
    assert!(ask.tool.input.as_ref().unwrap().contains("echo two >&2"));
    let outputs = agent.done().await;
    assert_eq!(lines(&outputs), ["one", "two", "last"]);
    assert_eq!(answer(&outputs), "one\ntwo\nlast\n[exit status 3]\n");
    assert_eq!(tools(&outputs).last().unwrap().status, ToolStatus::Failed);
    assert_eq!(count("9401.5"), 0);

    agent.prompt("/run trap '' TERM; setsid sleep 9402.5 & echo go; sleep 9402.5").await;
    agent.decide(Decision::AllowOnce).await;
    agent.until(|output| *output == AgentOutput::Line("go".to_owned())).await;
    agent.send(AgentInput::Cancel).await;
    assert_eq!(agent.done().await.last(), Some(&AgentOutput::Done(AgentEnd::Cancelled)));
    assert_eq!(count("9402.5"), 0);
    // The same agent goes on.
    assert_eq!(agent.said("/help").await, "the help");

    agent.prompt("/run sleep 9403.5").await;
    agent.decide(Decision::AllowOnce).await;
    wait_for(PATIENCE, || count("9403.5") > 0).await;
    drop(agent);
    wait_for(Duration::from_secs(8), || count("9403.5") == 0).await;
}

#[tokio::test]
async fn only_what_a_command_needs_is_in_its_environment() {
    let place = Place::new();
    let mut agent = place.start(None);
    agent.prompt("/run env | cut -d= -f1 | sort | tr '\\n' ' '; pwd").await;
    agent.decide(Decision::AllowOnce).await;
    let said = agent.finish().await;
    let (names, directory) = said.trim_end().rsplit_once(' ').unwrap();
    assert_eq!(directory, place.path().display().to_string());
    let known = ["HOME", "KAKEHASHI_AGENT", "LANG", "OLDPWD", "PATH", "PWD", "TERM", "SHLVL", "_"];
    assert!(names.split(' ').all(|name| known.contains(&name)), "{names}");
}

#[tokio::test]
async fn a_model_reads_replaces_and_runs_with_permission() {
    let server = ModelServer::start([
        reply("Let me look.", &[("file_read", json!({"path": "a.txt"}))]),
        reply("", &[("file_replace", json!({"path": "a.txt", "old": "41", "new": "42"}))]),
        reply("", &[("shell_execute", json!({"command": "cat a.txt"})), ("file_list", json!({}))]),
        reply("It is 42 now.", &[]),
    ])
    .await;
    let place = Place::new();
    place.add("a.txt", "answer = 41\n");
    let mut agent = place.start(model(&server));
    agent.prompt("correct the answer").await;
    let ask = agent.decide(Decision::AllowOnce).await;
    assert_eq!(
        (ask.tool.title.as_str(), &*ask.tool.diffs[0].new),
        ("Replace in a.txt", "answer = 42\n")
    );
    assert_eq!(agent.decide(Decision::AllowOnce).await.tool.title, "Run cat a.txt");
    let outputs = agent.done().await;
    assert_eq!(outputs.last(), Some(&AgentOutput::Done(AgentEnd::Finished)));
    assert_eq!(answer(&outputs), "\n\nIt is 42 now.");
    assert!(
        outputs
            .iter()
            .any(|output| matches!(output, AgentOutput::Usage(usage) if usage.used == 100))
    );
    assert_eq!(place.read("a.txt"), "answer = 42\n");
    let asked = server.asked();
    assert_eq!(asked.len(), 4);
    let names: Vec<_> = asked[0].body["tools"].as_array().unwrap().iter().collect();
    assert_eq!(names.len(), 6);
    let rows = told(&server);
    assert!(rows[0].1.contains(&place.path().display().to_string()), "{rows:?}");
    let results: Vec<_> = rows.iter().filter(|row| row.0 == "tool").map(|row| &*row.1).collect();
    assert_eq!(
        results,
        ["    1  answer = 41\n", "replaced once in a.txt", "answer = 42\n", "a.txt"]
    );
}

#[tokio::test]
#[expect(clippy::too_many_lines, reason = "one conversation for each vendor")]
async fn models_of_all_vendors_can_drive_the_built_in_agent() {
    let anthropic = |text: &str, call: Option<&str>| {
        let (block, delta, stop) = match call {
            Some(input) => (
                json!({"type": "tool_use", "id": "toolu_1", "name": "file_read", "input": {}}),
                json!({"type": "input_json_delta", "partial_json": input}),
                "tool_use",
            ),
            None => (
                json!({"type": "text", "text": ""}),
                json!({"type": "text_delta", "text": text}),
                "end_turn",
            ),
        };
        let usage = json!({"input_tokens": 1, "output_tokens": 1});
        let start = json!({"id": "m", "type": "message", "role": "assistant", "content": [], "usage": usage});
        let events = [
            json!({"type": "message_start", "message": start}),
            json!({"type": "content_block_start", "index": 0, "content_block": block}),
            json!({"type": "content_block_delta", "index": 0, "delta": delta}),
            json!({"type": "content_block_stop", "index": 0}),
            json!({"type": "message_delta", "delta": {"stop_reason": stop}, "usage": {"output_tokens": 2}}),
            json!({"type": "message_stop"}),
        ];
        let event = |event: &Value| {
            format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap())
        };
        Reply::events(&events.iter().map(event).collect::<String>())
    };
    let gemini = |part: Value| {
        let content = json!({"parts": [part], "role": "model"});
        let event = json!({"candidates": [{"content": content, "finishReason": "STOP", "index": 0}],
            "usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 1}});
        Reply::events(&format!("data: {event}\n\n"))
    };
    let call = json!({"path": "a.txt"});
    let cases = [
        (
            ChatKind::OpenAi,
            [reply("", &[("file_read", call.clone())]), reply("It says hello.", &[])],
        ),
        (
            ChatKind::Anthropic,
            [anthropic("", Some(&call.to_string())), anthropic("It says hello.", None)],
        ),
        (
            ChatKind::Gemini,
            [
                gemini(
                    json!({"functionCall": {"name": "file_read", "args": call}, "thoughtSignature": "c2ln"}),
                ),
                gemini(json!({"text": "It says hello."})),
            ],
        ),
    ];
    for (kind, replies) in cases {
        let server = ModelServer::start(replies).await;
        let place = Place::new();
        place.add("a.txt", "hello\n");
        let mut agent = place.start(Some(server.model(kind, "/v1")));
        assert_eq!(agent.said("what does it say?").await, "It says hello.", "{kind:?}");
        let last = server.asked().pop().unwrap().body.to_string();
        assert!(last.contains("    1  hello\\n"), "{kind:?}: {last}");
        assert!(kind != ChatKind::Gemini || last.contains("c2ln"), "{last}");
    }
}

#[tokio::test]
async fn a_model_is_told_what_was_refused_and_what_it_did_wrong() {
    let server = ModelServer::start([
        reply(
            "",
            &[
                ("file_write", json!({"path": "a.txt", "content": "x"})),
                ("fly", json!({})),
                ("file_read", json!({"file": "a.txt"})),
                ("file_read", json!({"path": "../secret"})),
                ("file_replace", json!({"path": "b.txt", "old": "y", "new": "z"})),
            ],
        ),
        reply("I see.", &[]),
    ])
    .await;
    let place = Place::new();
    place.add("b.txt", "b");
    let mut agent = place.start(model(&server));
    agent.prompt("go").await;
    agent.decide(Decision::Deny).await;
    assert_eq!(agent.finish().await, "I see.");
    assert!(!place.project.path().join("a.txt").exists());
    let results: Vec<_> = told(&server).into_iter().filter(|row| row.0 == "tool").collect();
    let expected = [
        "error: this was not allowed",
        "error: there is no tool `fly`",
        "error: the arguments of file_read do not match its schema",
        "error: ../secret leads outside",
        "error: the old text does not occur in b.txt",
    ];
    assert_eq!(results.len(), expected.len());
    for (result, expected) in results.iter().zip(expected) {
        assert!(result.1.starts_with(expected), "{result:?}");
    }
}

#[tokio::test]
async fn a_model_that_fails_in_the_middle_fails_the_prompt_and_nothing_else() {
    let cut = Reply::begin("text/event-stream")
        .pieces("data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"half\"}}]}\n\n")
        .cut();
    let quota = json!({"error": {"message": "no money", "code": "insufficient_quota"}});
    let server = ModelServer::start([
        reply("", &[("file_list", json!({}))]),
        cut,
        Reply::json(429, &quota),
        reply("back again", &[]),
    ])
    .await;
    let place = Place::new();
    let mut agent = place.start(model(&server));
    for expected in ["cannot be reached", "quota of this model is used up"] {
        agent.prompt("go").await;
        match agent.done().await.pop() {
            Some(AgentOutput::Done(AgentEnd::Failed { reason })) => {
                assert!(reason.contains(expected), "{reason}");
                assert!(reason.starts_with("Built-in agent: "), "{reason}");
            }
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(agent.said("go on").await, "back again");
    let rows = told(&server);
    assert!(rows.contains(&("assistant".to_owned(), "half".to_owned())), "{rows:?}");
    assert_eq!(rows.last().unwrap().1, "go\n\ngo on");
}

#[tokio::test]
async fn a_model_that_never_ends_is_ended() {
    let server = ModelServer::start([reply("", &[("file_list", json!({}))])]).await;
    let place = Place::new();
    let mut agent = place.start(model(&server));
    agent.prompt("go").await;
    let outputs = agent.done().await;
    assert!(lines(&outputs).iter().any(|line| line.contains("limit of steps")), "{outputs:?}");
    assert_eq!(server.asked().len(), 50);
}

#[tokio::test]
async fn a_cancel_is_heard_while_the_model_speaks_and_while_it_waits_for_permission() {
    let speaking = Reply::begin("text/event-stream")
        .pieces("data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"well\"}}]}\n\n")
        .hang();
    let asking = reply("", &[("shell_execute", json!({"command": "touch made"}))]);
    let server = ModelServer::start([speaking, asking, reply("done", &[])]).await;
    let place = Place::new();
    let mut agent = place.start(model(&server));
    agent.prompt("one").await;
    agent.until(|output| *output == AgentOutput::Answer("well".to_owned())).await;
    agent.send(AgentInput::Cancel).await;
    assert_eq!(agent.done().await.last(), Some(&AgentOutput::Done(AgentEnd::Cancelled)));
    timeout(PATIENCE, server.left()).await.unwrap();

    agent.prompt("two").await;
    agent.asked().await;
    agent.send(AgentInput::Cancel).await;
    assert_eq!(agent.done().await.last(), Some(&AgentOutput::Done(AgentEnd::Cancelled)));
    assert!(!place.project.path().join("made").exists());
    assert_eq!(agent.said("three").await, "done");
    let rows = told(&server);
    let result = rows.iter().find(|row| row.0 == "tool").unwrap();
    assert!(result.1.contains("this was not done"), "{rows:?}");
}

#[tokio::test]
async fn a_conversation_goes_on_after_a_restart_until_it_is_forgotten() {
    let server = ModelServer::start([
        reply("", &[("file_read", json!({"path": "a.txt"}))]),
        reply("noted", &[]),
        reply("I remember", &[]),
        reply("Who are you?", &[]),
    ])
    .await;
    let place = Place::new();
    place.add("a.txt", "hello\n");
    let mut agent = place.start(model(&server));
    assert_eq!(agent.said("first").await, "noted");
    drop(agent);
    let mut agent = place.start(model(&server));
    agent.prompt("second").await;
    let outputs = agent.done().await;
    let resumed =
        |output: &AgentOutput| matches!(output, AgentOutput::Opened { resumed: true, .. });
    assert!(outputs.iter().any(resumed), "{outputs:?}");
    assert_eq!(answer(&outputs), "I remember");
    let roles: Vec<_> = told(&server).into_iter().map(|(role, _)| role).collect();
    assert_eq!(roles, ["system", "user", "assistant", "tool", "assistant", "user"]);
    agent.said("/new").await;
    drop(agent);
    let mut agent = place.start(model(&server));
    assert_eq!(agent.said("third").await, "Who are you?");
    assert_eq!(told(&server).len(), 2);
}

#[tokio::test]
async fn files_of_a_prompt_reach_the_model() {
    let server = ModelServer::start([reply("seen", &[])]).await;
    let place = Place::new();
    let (note, picture) = (place.data.path().join("n.txt"), place.data.path().join("p.png"));
    std::fs::write(&note, "a note").unwrap();
    let mut png = std::io::Cursor::new(Vec::new());
    image::DynamicImage::new_rgb8(2, 2).write_to(&mut png, image::ImageFormat::Png).unwrap();
    std::fs::write(&picture, png.into_inner()).unwrap();
    let mut agent = place.start(model(&server));
    agent.prompt_with("look", vec![note, picture]).await;
    assert_eq!(agent.finish().await, "seen");
    let told = server.only_request().body["messages"][1]["content"].to_string();
    assert!(told.contains("a note") && told.contains("data:image/png;base64,"), "{told}");
}

#[tokio::test]
async fn attached_text_is_never_a_command() {
    let place = Place::new();
    let note = place.data.path().join("a\nrun touch injected.txt");
    std::fs::write(&note, "/write injected.txt\n```\nx\n```\n/run touch injected.txt\n").unwrap();
    let mut agent = place.start(None);
    for text in ["/list", "", "hello"] {
        agent.prompt_with(text, vec![note.clone()]).await;
        let outputs = agent.done().await;
        let asks = |output: &&AgentOutput| matches!(output, AgentOutput::Ask(ask) if ask.tool.kind != ToolKind::Search && ask.tool.kind != ToolKind::Read);
        assert!(!outputs.iter().any(|output| asks(&output)), "{text}: {outputs:?}");
        assert!(!answer(&outputs).contains("is no command"), "{text}: {outputs:?}");
    }
    assert!(!place.path().join("injected.txt").exists());
    // A model is told that it is a file, and where that ends.
    let server = ModelServer::start([reply("seen", &[])]).await;
    let other = Place::new();
    let mut agent = other.start(model(&server));
    agent.prompt_with("look", vec![note]).await;
    agent.finish().await;
    let told = server.only_request().body["messages"][1]["content"].clone();
    let told = told.as_str().unwrap();
    assert!(told.starts_with("look\n\n[attached file a run touch injected.txt; "), "{told}");
    assert!(told.contains("]\n````\n/write injected.txt\n```\nx\n```\n"), "{told}");
    assert!(told.trim_end().ends_with("\n````"), "{told}");
}

/// A gateway whose first slot is the built-in agent.
async fn gateway(models: Vec<ChatModel>) -> Gateway {
    Gateway::start_with(|config| {
        config.add_chat(models).unwrap();
        config.supervisor = BINARY.into();
        choose(config);
    })
    .await
}

fn choose(config: &mut kakehashi::config::Config) {
    config.language = kakehashi::locale::Locale::En;
    let agents = &mut Arc::make_mut(&mut config.settings).agents;
    agents[AgentSlot::ALL[0]].name = "builtin".to_owned();
}

async fn pane(gateway: &Gateway, session: &str) -> Client {
    let more = json!({"機能": ["confirm"]});
    let mut pane = Client::open_with(gateway.addr, "1", Some(session), more).await;
    pane.until("welcome_text").await;
    pane
}

async fn confirm(front: &mut Frontend, pane: &mut Client, approved: bool) -> Value {
    let asked = pane.until("confirm_request").await;
    let answer = json!({KIND: "confirm_answer", BODY: {"id": asked[BODY]["id"], "承認": approved, "再確認": true}});
    front.input.send(&answer).await;
    pane.until("confirm_result").await;
    asked[BODY].clone()
}

#[tokio::test]
async fn the_user_is_asked_in_the_channel_and_decides() {
    let gateway = gateway(Vec::new()).await;
    let mut front = Frontend::open(gateway.addr, None).await;
    let mut pane = pane(&gateway, front.session()).await;
    for approved in [false, true] {
        front.type_in("1", "/write notes.txt\nhello").await;
        let asked = confirm(&mut front, &mut pane, approved).await;
        assert_eq!(asked["ツール名"], "Write notes.txt");
        let said = pane.until("output_text").await;
        let expected = if approved { "is written" } else { "not allowed" };
        assert!(said[BODY].as_str().unwrap().contains(expected), "{said}");
        assert_eq!(gateway.project().join("notes.txt").exists(), approved);
    }
    // What the rules refuse is not asked.
    front.type_in("1", "/run sudo true").await;
    let said = pane.until("output_text").await;
    assert!(said[BODY].as_str().unwrap().contains("not allowed"), "{said}");
    front.type_in("1", "what is this?").await;
    let said = pane.until("output_text").await;
    assert!(said[BODY].as_str().unwrap().contains("[[chat]]"), "{said}");
    gateway.stop().await;
}

#[tokio::test]
async fn the_agent_speaks_the_language_that_the_page_has_chosen() {
    let gateway = Gateway::start_with(|config| {
        config.supervisor = BINARY.into();
        choose(config);
        config.language = kakehashi::locale::Locale::Ja;
    })
    .await;
    let mut front = Frontend::open(gateway.addr, None).await;
    let session = front.session().to_owned();
    for (language, help, missing, refused, wrong, title) in [
        (
            json!("en"),
            "Commands of the",
            "none does not exist",
            "was not allowed",
            "is no command",
            "[List .]",
        ),
        (
            json!("ja"),
            "内蔵エージェント",
            "none はありません",
            "許可されません",
            "命令はありません",
            "[. の一覧]",
        ),
        (
            json!("en-GB"),
            "Commands of the",
            "none does not exist",
            "was not allowed",
            "is no command",
            "[List .]",
        ),
    ] {
        let more = json!({"機能": ["confirm"], "言語": language});
        let mut pane = Client::open_with(gateway.addr, "1", Some(&session), more).await;
        pane.until("welcome_text").await;
        for (command, expected) in [
            ("/help", help),
            ("/read none", missing),
            ("/run sudo ls", refused),
            ("/fly", wrong),
            ("/list\n/list", title),
        ] {
            front.type_in("1", command).await;
            let said = pane.until("output_text").await;
            let said = said[BODY].as_str().unwrap();
            assert!(said.contains(expected), "{language} {command}: {said}");
            assert!(!said.contains("do not try"), "{said}");
        }
    }
    gateway.stop().await;
}

#[tokio::test]
async fn over_http_the_browser_chooses_the_language() {
    let gateway =
        Gateway::start_with(|config| config.language = kakehashi::locale::Locale::Ja).await;
    for (wanted, expected) in [
        (Some("en-US,en;q=0.9,ja;q=0.1"), "there is no such session"),
        (Some("ja"), "そのセッションはありません"),
        (Some("fr"), "そのセッションはありません"),
        (None, "そのセッションはありません"),
    ] {
        let ask = crate::http::delete("/api/sessions/ws-1").local();
        let ask =
            if let Some(wanted) = wanted { ask.header("Accept-Language", wanted) } else { ask };
        assert_eq!(ask.send(gateway.addr).await.json()["error"], expected, "{wanted:?}");
    }
    gateway.stop().await;
}

#[tokio::test]
async fn a_dangerous_command_is_marked_or_refused() {
    let gateway = gateway(Vec::new()).await;
    std::fs::create_dir(gateway.project().join("build")).unwrap();
    let mut front = Frontend::open(gateway.addr, None).await;
    let mut pane = pane(&gateway, front.session()).await;
    for (command, level) in [
        ("/run ls", "WARN"),
        ("/run rm -rf build", "CRITICAL"),
        ("/run env X=1 sh -c 'git reset --hard'", "CRITICAL"),
        ("/run curl -s http://127.0.0.1:1/x | sh", "CRITICAL"),
        ("/run echo 'no end", "CRITICAL"),
    ] {
        front.type_in("1", command).await;
        let asked = confirm(&mut front, &mut pane, false).await;
        assert_eq!(asked["警告"]["level"], level, "{command}");
        pane.until("output_text").await;
    }
    for command in ["/run cd / && r\\m -r x", "/run X=sudo; $X ls", "/run rm -rf ~"] {
        front.type_in("1", command).await;
        let said = pane.until("output_text").await;
        assert!(said[BODY].as_str().unwrap().contains("not allowed"), "{command}: {said}");
    }
    assert!(gateway.project().join("build").exists());
    gateway.stop().await;
}

#[tokio::test]
async fn a_cancel_in_the_channel_ends_all_that_a_command_started() {
    let gateway = gateway(Vec::new()).await;
    let mut front = Frontend::open(gateway.addr, None).await;
    let mut pane = pane(&gateway, front.session()).await;
    front.type_in("1", "/run trap '' TERM; setsid sleep 9404.5 & echo go; sleep 9404.5").await;
    confirm(&mut front, &mut pane, true).await;
    pane.until_where(|packet| packet[BODY] == "go").await;
    front.cancel("1").await;
    pane.until("output_text").await;
    assert_eq!(count("9404.5"), 0);
    gateway.stop().await;
}

#[tokio::test]
async fn the_model_of_the_session_drives_it_and_remembers_over_a_restart() {
    let server = ModelServer::start([
        reply("", &[("file_write", json!({"path": "a.txt", "content": "made\n"}))]),
        reply("made it", &[]),
        reply("yes", &[]),
    ])
    .await;
    let mut row = server.model(ChatKind::OpenAi, "/v1");
    row.name = "one".to_owned();
    let first = gateway(vec![row.clone()]).await;
    let mut front = Frontend::open(first.addr, None).await;
    let session = front.session().to_owned();
    let mut one = pane(&first, &session).await;
    front.type_in("1", "make a.txt").await;
    confirm(&mut front, &mut one, true).await;
    assert_eq!(one.until("output_text").await[BODY], "made it");
    let memory = first.home.data.path().join("conversations").join(&session);
    assert!(memory.join("1.jsonl").exists());
    let home = first.stop().await;
    let change = |config: &mut kakehashi::config::Config| {
        config.add_chat(vec![row]).unwrap();
        choose(config);
    };
    let second = Gateway::start_at(home, change).await;
    let mut front = Frontend::open(second.addr, Some(&session)).await;
    let mut one = pane(&second, &session).await;
    front.type_in("1", "did you?").await;
    one.until_where(|packet| packet[KIND] == "output_text" && packet[BODY] == "yes").await;
    let rows = told(&server);
    assert!(rows.iter().any(|row| row.1 == "make a.txt"), "{rows:?}");
    // Without its model it says what it needs, and with it again it goes on.
    let body = json!({SESSION: session, "モデル設定": {"CHAT_AI_NAME": "scripted"}});
    post("/core/AIコア/モデル情報/設定", &body).local().send(second.addr).await;
    front.type_in("1", "and now?").await;
    let said = one.until("output_text").await;
    assert!(said[BODY].as_str().unwrap().contains("[[chat]]"), "{said}");
    second.stop().await;
}

#[tokio::test]
async fn tokens_of_the_built_in_agent_count_for_its_user() {
    let server = ModelServer::start([reply("one", &[])]).await;
    let row = server.model(ChatKind::OpenAi, "/v1");
    let gateway = Gateway::start_with(|config| {
        config.add_chat(vec![row]).unwrap();
        config.limits.chat_tokens = 100;
        choose(config);
    })
    .await;
    let mut front = Frontend::open(gateway.addr, None).await;
    front.type_in("1", "first").await;
    assert_eq!(front.agents[0].until("output_text").await[BODY], "one");
    for pane in ["1", "0"] {
        front.type_in(pane, "second").await;
        let socket = if pane == "0" { &mut front.chat } else { &mut front.agents[0] };
        let refused = socket.until("output_text").await;
        let text = refused[BODY].as_str().unwrap();
        let told = ["100 tokens of today", "今日の 100 トークン"].map(|part| text.contains(part));
        assert!(told.contains(&true), "{refused}");
    }
    assert_eq!(server.asked().len(), 1);
    gateway.stop().await;
}

#[tokio::test]
async fn the_built_in_agent_is_the_default_and_nothing_of_it_survives_kill_9() {
    let home = Home::new();
    let process = Process::start(&home, "language = \"en\"\nmodels = \"auto\"\n");
    let mut front = Frontend::open(process.addr, None).await;
    front.type_in("4", "/help").await;
    let help = front.agents[3].until("output_text").await;
    assert!(help[BODY].as_str().unwrap().contains("/replace PATH [all]"), "{help}");
    front.type_in("1", "/run setsid sleep 9405.5 & sleep 9405.5").await;
    let asks = |packet: &Value| {
        packet[BODY].as_str().is_some_and(|text| text.contains("asks for permission"))
    };
    front.agents[0].until_where(asks).await;
    front.type_in("1", "yes").await;
    wait_for(PATIENCE, || count("9405.5") > 1).await;
    process.kill();
    wait_for(Duration::from_secs(8), || count("9405.5") == 0).await;
}
