//! The real Codex through the gateway's WebSocket, with the row that is shipped. Its model is a server of ours that does
//! what a prompt says; everything else is as it is for people.

use crate::model_server::{Asked, ModelServer, Reply};
use crate::panes::{Panes, Told};
use crate::process::Process;
use crate::support::{BODY, Client, Home, KIND, repository};
use kakehashi::provider::row::AgentRow;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// Where `npm ci` puts it.
const INSTALLED: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/tests/agents/node_modules/@agentclientprotocol/codex-acp/dist/index.js"
);
/// One that Codex knows, so that it has its tools.
const MODEL: &str = "gpt-6.1-sol";

fn codex() -> PathBuf {
    let path = PathBuf::from(INSTALLED);
    let shown = path.display();
    assert!(path.is_file(), "there is no Codex at {shown}; run: (cd tests/agents && npm ci)");
    path
}

fn shipped() -> AgentRow {
    kakehashi::config::known_agents().into_iter().find(|row| row.name == "codex").unwrap()
}

/// What the model says to a request. Prompts are a word and what belongs to it.
fn script(asked: &Asked) -> Reply {
    let items = asked.body["input"].as_array().cloned().unwrap_or_default();
    let Some(last) = items.last() else {
        return Reply::json(200, &json!({"models": [], "data": []}));
    };
    if last["type"].as_str().is_some_and(|kind| kind.ends_with("_output")) {
        return say(&format!("the tool said: {}", last["output"]));
    }
    let text = text(last);
    let (word, rest) = text.split_once(' ').unwrap_or((&text, ""));
    let id = format!("call-{}", items.len());
    match word {
        "SHELL" => shell(&id, &json!({"cmd": rest})),
        "ESCALATED" => shell(
            &id,
            &json!({"cmd": rest, "sandbox_permissions": "require_escalated", "justification": "work"}),
        ),
        "WRITE" => {
            let patch = format!(
                "*** Begin Patch\n*** Add File: {rest}\n+written by codex\n*** End Patch\n"
            );
            reply(&json!({"type": "custom_tool_call", "id": "tool", "call_id": id,
                "name": "apply_patch", "input": patch, "status": "completed"}))
        }
        _ => say(&format!("you said: {text}")),
    }
}

fn text(item: &Value) -> String {
    let parts = item["content"].as_array().map_or(&[][..], Vec::as_slice);
    let parts = parts.iter().filter_map(|part| part["text"].as_str());
    parts.collect::<String>().trim().to_owned()
}

fn say(words: &str) -> Reply {
    let content = json!([{"type": "output_text", "text": words}]);
    reply(&json!({"type": "message", "role": "assistant", "id": "message", "content": content}))
}

fn shell(id: &str, arguments: &Value) -> Reply {
    reply(&json!({"type": "function_call", "id": "tool", "call_id": id, "name": "exec_command",
        "arguments": arguments.to_string()}))
}

/// One item, in the events of the Responses API.
fn reply(item: &Value) -> Reply {
    let usage = json!({"input_tokens": 1, "output_tokens": 1, "total_tokens": 2});
    let events = [
        json!({"type": "response.created", "response": {"id": "one"}}),
        json!({"type": "response.output_item.done", "output_index": 0, "item": item}),
        json!({"type": "response.completed", "response": {"id": "one", "usage": usage}}),
    ];
    let event =
        |event: &Value| format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap());
    Reply::events(&events.iter().map(event).collect::<String>())
}

/// A gateway whose first agent is Codex.
struct Workshop {
    home: Home,
    model: ModelServer,
    process: Process,
}

impl Workshop {
    async fn new() -> Self {
        let model = ModelServer::answering(script).await;
        let row = shipped();
        let env: Vec<_> = row.env.iter().map(|entry| with_model(entry, &model)).collect();
        let settings = format!(
            "language = \"en\"\n[[agents]]\nname = \"codex\"\nkind = \"acp\"\nmode = {:?}\n\
             command = [\"{}\"]\nenv = {env:?}\n[settings]\nCODE_AI1_NAME = \"codex\"\n",
            row.mode.unwrap(),
            codex().display()
        );
        let home = Home::new();
        repository(home.project.path());
        let process = Process::start(&home, &settings);
        Self { home, model, process }
    }
}

/// The variables of the shipped row, and where the model is.
fn with_model(entry: &str, model: &ModelServer) -> String {
    if entry == "OPENAI_API_KEY" {
        return format!("{entry}=x");
    }
    let Some(config) = entry.strip_prefix("CODEX_CONFIG=") else { return entry.to_owned() };
    let mut config: Value = serde_json::from_str(config).unwrap();
    config["model"] = MODEL.into();
    config["model_provider"] = "loopback".into();
    config["model_providers"] = json!({"loopback": {"name": "loopback", "wire_api": "responses",
        "base_url": format!("http://{}/v1", model.addr), "env_key": "OPENAI_API_KEY",
        "requires_openai_auth": false}});
    format!("CODEX_CONFIG={config}")
}

/// Codex sometimes cannot open its own database when the machine is busy, says that it may be started again, and then
/// works.
async fn greet(front: &mut Panes) {
    let mut said = String::new();
    for _ in 0..3 {
        said = front.ask(1, "good morning").await.answer;
        if !said.contains("sqlite state runtime") {
            break;
        }
    }
    assert_eq!(said, "you said: good morning");
}

async fn decided(front: &mut Panes, approved: bool) -> Told {
    let question = front.question(1).await;
    front.decide(&question, approved).await;
    front.told(1).await
}

/// What a command has printed on a line of its own that begins like this.
fn printed(told: &Told, mark: &str) -> String {
    let line = told.lines.iter().find_map(|line| line.strip_prefix(mark));
    line.unwrap_or_else(|| panic!("no {mark} in {told:?}")).to_owned()
}

#[tokio::test]
async fn codex_asks_about_commands_and_edits_and_then_does_them() {
    let shop = Workshop::new().await;
    let mut front = Panes::open(shop.process.addr, None).await;
    greet(&mut front).await;
    // The model knows how commands are run here.
    let config =
        shipped().env.iter().find_map(|one| one.strip_prefix("CODEX_CONFIG=").map(str::to_owned));
    let config: Value = serde_json::from_str(&config.unwrap()).unwrap();
    let instructions = config["developer_instructions"].as_str().unwrap();
    assert!(instructions.contains("require_escalated"));
    let requests = shop.model.asked();
    assert!(requests.iter().any(|one| one.body["input"].to_string().contains(instructions)));

    front.type_in(1, "ESCALATED echo made > a.txt; echo at=$(pwd -P)").await;
    let question = front.question(1).await;
    assert!(question["入力"].as_str().unwrap().contains("echo made > a.txt"), "{question}");
    front.decide(&question, true).await;
    let told = front.told(1).await;
    let place = PathBuf::from(printed(&told, "at="));
    assert_ne!(place, shop.home.project.path().canonicalize().unwrap());
    assert_eq!(std::fs::read_to_string(place.join("a.txt")).unwrap(), "made\n");

    front.type_in(1, "WRITE b.txt").await;
    decided(&mut front, true).await;
    assert_eq!(std::fs::read_to_string(place.join("b.txt")).unwrap(), "written by codex\n");
}

#[tokio::test]
async fn what_is_not_asked_or_is_refused_does_not_happen() {
    let shop = Workshop::new().await;
    let mut front = Panes::open(shop.process.addr, None).await;
    greet(&mut front).await;
    front.type_in(1, "ESCALATED echo at=$(pwd -P)").await;
    let place = PathBuf::from(printed(&decided(&mut front, true).await, "at="));
    let more = json!({"履歴件数": 0, "機能": ["agents", "confirm"]});
    let mut watcher = Client::open_with(shop.process.addr, "1", Some(&front.session()), more).await;
    watcher.until("welcome_text").await;

    // Its own sandbox cannot work here, and without it nothing is done unasked.
    let told = front.ask(1, "SHELL echo made > a.txt; touch b.txt").await;
    assert!(told.answer.contains("exited with code 1"), "{told:?}");
    assert!(!told.lines.iter().any(|line| line.contains("ungated")), "{told:?}");
    assert_eq!(names(&place), [".git"]);

    for request in ["ESCALATED touch c.txt", "WRITE d.txt"] {
        front.type_in(1, request).await;
        decided(&mut front, false).await;
        assert_eq!(names(&place), [".git"], "{request}");
    }
    // It tells no end of the edit.
    let refused =
        |packet: &Value| packet[KIND] == "tool" && packet[BODY]["エラー"] == "it was refused";
    watcher.until_where(refused).await;
    assert_eq!(front.ask(1, "still there").await.answer, "you said: still there");
}

#[tokio::test]
async fn codex_works_in_a_box() {
    let shop = Workshop::new().await;
    let mut front = Panes::open(shop.process.addr, None).await;
    greet(&mut front).await;
    let (data, project) = (shop.home.data.path(), shop.home.project.path());
    let own = data.join("settings.toml");
    assert!(std::fs::read_to_string(&own).unwrap().contains("loopback"));
    let command = format!(
        "ESCALATED cat {own}; touch {project}/out.txt; touch {data}/out.txt; echo over=1",
        own = own.display(),
        project = project.display(),
        data = data.display(),
    );
    front.type_in(1, &command).await;
    let told = decided(&mut front, true).await;
    assert_eq!(printed(&told, "over="), "1");
    assert!(!told.lines.iter().any(|line| line.contains("loopback")), "{told:?}");
    assert!(!project.join("out.txt").exists() && !data.join("out.txt").exists());
}

fn names(place: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(place).unwrap();
    let name = |entry: std::io::Result<std::fs::DirEntry>| {
        entry.unwrap().file_name().to_string_lossy().into_owned()
    };
    let mut names: Vec<_> = entries.map(name).collect();
    names.sort();
    names
}
