//! The real goose through the gateway's WebSocket. Its model is a server of ours that does what a prompt says: the
//! answers are scripted, everything else is as it is for people.

use crate::model_server::{Asked, ModelServer, Reply};
use crate::panes::{Panes, Told};
use crate::process::Process;
use crate::support::{BODY, Home, PATIENCE, eventually, repository};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::time::Instant;
use tokio::time::timeout;

/// Where `npm ci` puts it.
const INSTALLED: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/tests/agents/node_modules/@aaif/goose-binary-linux-x64/bin/goose"
);

fn goose() -> PathBuf {
    let named = std::env::var_os("KAKEHASHI_TEST_GOOSE").map(PathBuf::from);
    let path = named.unwrap_or_else(|| INSTALLED.into());
    let shown = path.display();
    assert!(path.is_file(), "there is no goose at {shown}; run: (cd tests/agents && npm ci)");
    path
}

/// By the names of its row the program is found that the install hint installs.
#[test]
fn the_shipped_row_names_what_npm_installs() {
    let package = goose().ancestors().nth(2).unwrap().join("package.json");
    let package: Value = serde_json::from_slice(&std::fs::read(package).unwrap()).unwrap();
    let row =
        kakehashi::config::known_agents().into_iter().find(|row| row.name == "goose").unwrap();
    let installed: Vec<_> = package["bin"].as_object().unwrap().keys().cloned().collect();
    assert!(installed.iter().all(|name| row.names().any(|known| known == name)), "{installed:?}");
    assert!(row.install.contains(package["name"].as_str().unwrap()), "{row:?}");
    assert!(row.install.contains(&installed[0]), "{row:?}");
}

/// What the model says to a request. Prompts are a word and what belongs to it; titles are asked for without tools.
fn script(asked: &Asked) -> Reply {
    let Some(messages) = asked.body["messages"].as_array() else {
        return Reply::json(404, &json!({"error": {"message": "not here"}}));
    };
    if asked.body["tools"].as_array().is_none_or(Vec::is_empty) {
        return say("A title");
    }
    let last = messages.last().unwrap();
    let text = text(last);
    if last["role"] == "tool" {
        return say(&format!("the tool said: {text}"));
    }
    let (word, rest) = text.split_once(' ').unwrap_or((&text, ""));
    match word {
        "WRITE" => call("write", &json!({"path": rest, "content": "written by goose\n"})),
        "SHELL" => call("shell", &json!({"command": rest})),
        "SLOW" => {
            let piece = event(&json!({"role": "assistant", "content": "a beginning"}), None);
            Reply::begin("text/event-stream").piece(piece.as_bytes()).hang()
        }
        "RECALL" => {
            let said = messages.iter().filter(|message| message["role"] == "user");
            say(&said.map(self::text).collect::<Vec<_>>().join("|"))
        }
        _ => say(&format!("you said: {text}")),
    }
}

/// What a person typed last: goose adds the time and the place, and puts prompts without an answer together.
fn text(message: &Value) -> String {
    let content = &message["content"];
    let parts = content.as_array().map_or(&[][..], Vec::as_slice);
    let parts = parts.iter().filter_map(|part| part["text"].as_str());
    let whole = content.as_str().map_or_else(|| parts.collect(), str::to_owned);
    if message["role"] == "tool" {
        return whole;
    }
    let mut added = false;
    let typed = whole.lines().filter(|line| {
        added |= *line == "<turn-context>";
        let theirs = !added;
        added &= *line != "</turn-context>";
        theirs && !line.is_empty()
    });
    typed.last().unwrap_or_default().to_owned()
}

fn event(delta: &Value, end: Option<&str>) -> String {
    let choice = json!({"index": 0, "delta": delta, "finish_reason": end});
    let chunk = json!({"id": "chunk", "object": "chat.completion.chunk", "created": 1, "model": "x", "choices": [choice]});
    format!("data: {chunk}\n\n")
}

fn say(words: &str) -> Reply {
    let told = event(&json!({"role": "assistant", "content": words}), None);
    let end = event(&json!({}), Some("stop"));
    Reply::events(&format!("{told}{end}data: [DONE]\n\n"))
}

fn call(tool: &str, arguments: &Value) -> Reply {
    let function = json!({"name": tool, "arguments": arguments.to_string()});
    let call = json!({"index": 0, "id": "call-1", "type": "function", "function": function});
    let told = event(&json!({"role": "assistant", "tool_calls": [call]}), None);
    let end = event(&json!({}), Some("tool_calls"));
    Reply::events(&format!("{told}{end}data: [DONE]\n\n"))
}

/// A gateway whose four agents are goose.
struct Workshop {
    home: Home,
    settings: String,
    model: ModelServer,
}

impl Workshop {
    async fn new() -> Self {
        let model = ModelServer::answering(script).await;
        let env = [
            format!("OPENAI_HOST=http://{}", model.addr),
            "OPENAI_API_KEY=x".to_owned(),
            "GOOSE_PROVIDER=openai".to_owned(),
            "GOOSE_MODEL=x".to_owned(),
            "GOOSE_MODE=approve".to_owned(),
            "GOOSE_DISABLE_KEYRING=1".to_owned(),
        ];
        let slots = [1, 2, 3, 4].map(|slot| format!("CODE_AI{slot}_NAME = \"goose\"\n")).concat();
        let settings = format!(
            "language = \"en\"\n[[agents]]\nname = \"goose\"\nkind = \"acp\"\nmode = \"approve\"\n\
             command = [\"{}\", \"acp\"]\nenv = {env:?}\n[settings]\n{slots}",
            goose().display()
        );
        let home = Home::new();
        repository(home.project.path());
        Self { home, settings, model }
    }

    fn open(&self) -> Process {
        Process::start(&self.home, &self.settings)
    }

    /// Where the agent of this pane works: a worktree of its own.
    fn place(&self, session: &str, pane: usize) -> PathBuf {
        let places = self.home.data.path().join("worktrees").join(session);
        let own = |entry: std::io::Result<std::fs::DirEntry>| {
            let path = entry.unwrap().path();
            path.to_string_lossy().ends_with(&format!("-{pane}")).then_some(path)
        };
        std::fs::read_dir(places).unwrap().find_map(own).expect("no worktree")
    }

    /// What the model was told about its last tool call.
    fn tool_results(&self) -> Vec<String> {
        let told = |asked: Asked| {
            let last = asked.body["messages"].as_array()?.last()?.clone();
            (last["role"] == "tool").then(|| text(&last))
        };
        self.model.asked().into_iter().filter_map(told).collect()
    }

    async fn until_asked(&self, prompt: &str) {
        let is_it = |asked: Asked| {
            let tools = asked.body["tools"].as_array().is_some_and(|tools| !tools.is_empty());
            let last = asked.body["messages"].as_array().and_then(|all| all.last().map(text));
            tools && last.as_deref() == Some(prompt)
        };
        eventually(|| self.model.asked().into_iter().any(is_it)).await;
    }
}

/// Processes of goose that work here.
fn geese(place: &Path) -> Vec<Pid> {
    let mut found = Vec::new();
    for process in std::fs::read_dir("/proc").unwrap().flatten() {
        let here = std::fs::read_link(process.path().join("cwd")).is_ok_and(|cwd| cwd == place);
        let exe = std::fs::read_link(process.path().join("exe")).unwrap_or_default();
        if here && exe.file_name().is_some_and(|name| name == "goose") {
            let pid = process.file_name().to_str().unwrap().parse().unwrap();
            found.extend(Pid::from_raw(pid));
        }
    }
    found
}

async fn approve(front: &mut Panes, pane: usize) -> Told {
    let question = front.question(pane).await;
    front.decide(&question, true).await;
    front.told(pane).await
}

#[tokio::test]
async fn goose_answers_and_does_what_is_approved() {
    let shop = Workshop::new().await;
    let process = shop.open();
    let mut front = Panes::open(process.addr, None).await;
    assert_eq!(front.ask(1, "good morning").await.answer, "you said: good morning");
    let place = shop.place(&front.session(), 1);

    front.type_in(1, "WRITE a.txt").await;
    let question = front.question(1).await;
    assert!(question["ツール名"].as_str().unwrap().starts_with("write"), "{question}");
    assert!(question["入力"].as_str().unwrap().contains("written by goose"), "{question}");
    assert!(!place.join("a.txt").exists());
    front.decide(&question, true).await;
    let told = front.told(1).await;
    assert!(told.answer.starts_with("the tool said: Created"), "{told:?}");
    assert_eq!(std::fs::read_to_string(place.join("a.txt")).unwrap(), "written by goose\n");
    let changed = front.pane(1).until("update_info").await;
    assert_eq!(changed[BODY]["update_files"], json!(["agent-1:a.txt"]));

    front.type_in(1, "SHELL echo made > b.txt; pwd").await;
    let told = approve(&mut front, 1).await;
    assert!(told.answer.contains(place.to_str().unwrap()), "{told:?}");
    assert_eq!(std::fs::read_to_string(place.join("b.txt")).unwrap(), "made\n");
    assert!(told.lines.iter().any(|line| line.starts_with("[tool] shell")), "{told:?}");
}

#[tokio::test]
async fn goose_works_in_a_box() {
    let shop = Workshop::new().await;
    let process = shop.open();
    let mut front = Panes::open(process.addr, None).await;
    let (data, project) = (shop.home.data.path(), shop.home.project.path());
    let (own, secret) = (data.join("settings.toml"), "GOOSE_DISABLE_KEYRING=1");
    assert!(std::fs::read_to_string(&own).unwrap().contains(secret));
    // The user says yes to all of it; what cannot be done is not done all the same.
    let port = process.addr.port();
    let command = format!(
        "cat {own}; echo x > {project}/out.txt; echo x > {data}/out.txt; \
         (exec 3<>/dev/tcp/127.0.0.1/{port}) 2>&1 && echo connected; echo x > in.txt; echo over",
        own = own.display(),
        project = project.display(),
        data = data.display(),
    );
    front.type_in(1, &format!("SHELL bash -c '{command}'")).await;
    let told = approve(&mut front, 1).await;
    assert!(told.answer.contains("over"), "{told:?}");
    assert!(!told.answer.contains(secret) && !told.answer.contains("connected"), "{told:?}");
    assert!(!project.join("out.txt").exists() && !data.join("out.txt").exists());
    let place = shop.place(&front.session(), 1);
    assert_eq!(std::fs::read_to_string(place.join("in.txt")).unwrap(), "x\n");
    // The process itself is confined, not only what it starts.
    let [goose] = geese(&place)[..] else { panic!("not one goose") };
    let status = format!("/proc/{}/status", goose.as_raw_nonzero());
    let status = std::fs::read_to_string(status).unwrap();
    assert!(status.lines().any(|line| line == "NoNewPrivs:\t1"), "{status}");
}

#[tokio::test]
async fn what_is_refused_does_not_happen_and_the_model_is_told() {
    let shop = Workshop::new().await;
    let process = shop.open();
    let mut front = Panes::open(process.addr, None).await;
    front.type_in(1, "WRITE a.txt").await;
    let question = front.question(1).await;
    let place = shop.place(&front.session(), 1);
    front.decide(&question, false).await;
    let told = front.told(1).await;
    assert!(told.answer.starts_with("the tool said: "), "{told:?}");
    let results = shop.tool_results();
    assert!(results.len() == 1 && results[0].contains("declined"), "{results:?}");
    assert!(!place.join("a.txt").exists());
    // It keeps to what was decided, and nobody is alarmed.
    assert!(!told.lines.iter().any(|line| line.contains("CRITICAL")), "{told:?}");
    // What the rules refuse is not even asked.
    front.type_in(1, "SHELL sudo touch b.txt").await;
    let told = front.told(1).await;
    assert!(told.lines.iter().any(|line| line.contains("more rights")), "{told:?}");
    assert!(shop.tool_results()[1].contains("declined") && !place.join("b.txt").exists());
}

#[tokio::test]
async fn a_cancel_ends_goose_while_it_speaks_and_while_it_waits() {
    let shop = Workshop::new().await;
    let process = shop.open();
    let mut front = Panes::open(process.addr, None).await;
    front.ask(1, "hello").await;
    let place = shop.place(&front.session(), 1);
    let goose = geese(&place);
    front.type_in(1, "SLOW").await;
    shop.until_asked("SLOW").await;
    front.cancel(1).await;
    front.pane(1).until_where(|packet| packet[BODY] == "<<< 処理中断 >>>").await;
    // Nobody listens to the model any more.
    timeout(PATIENCE, shop.model.left()).await.unwrap();

    front.type_in(1, "WRITE a.txt").await;
    front.question(1).await;
    front.cancel(1).await;
    let result = front.pane(1).until("confirm_result").await;
    assert_eq!((&result[BODY]["承認"], &result[BODY]["決定者"]), (&false.into(), &"end".into()));
    front.pane(1).until_where(|packet| packet[BODY] == "<<< 処理中断 >>>").await;
    assert!(!place.join("a.txt").exists());
    // It was asked and not killed, and takes the next request.
    assert_eq!(front.ask(1, "still there").await.answer, "you said: still there");
    assert_eq!(geese(&place), goose);
}

#[tokio::test]
async fn a_goose_that_was_killed_goes_on_with_its_conversation() {
    let shop = Workshop::new().await;
    let process = shop.open();
    let mut front = Panes::open(process.addr, None).await;
    front.ask(1, "my name is Gosling").await;
    let place = shop.place(&front.session(), 1);
    let [goose] = geese(&place)[..] else { panic!("not one goose") };
    kill_process(goose, Signal::KILL).unwrap();
    eventually(|| geese(&place).is_empty()).await;
    let told = front.ask(1, "RECALL").await;
    assert!(told.answer.contains("my name is Gosling") && !told.forgot(), "{told:?}");

    front.type_in(1, "SLOW").await;
    shop.until_asked("SLOW").await;
    let [goose] = geese(&place)[..] else { panic!("not one goose") };
    kill_process(goose, Signal::KILL).unwrap();
    let told = front.told(1).await;
    let texts = format!("{told:?}");
    assert!(!texts.contains("you said"), "{texts}");
    let told = front.ask(1, "RECALL").await;
    assert!(told.answer.contains("my name is Gosling") && !told.forgot(), "{told:?}");
}

#[tokio::test]
async fn a_conversation_survives_restarts_of_the_gateway() {
    let shop = Workshop::new().await;
    let process = shop.open();
    let mut front = Panes::open(process.addr, None).await;
    let id = front.session();
    front.ask(1, "my name is Gosling").await;
    front.ask(2, "my name is Gander").await;
    assert_eq!(process.end(Instant::now()).0, Some(0));

    let process = shop.open();
    let mut front = Panes::open(process.addr, Some(&id)).await;
    let told = front.ask(1, "RECALL").await;
    assert!(told.answer.contains("Gosling") && !told.answer.contains("Gander"), "{told:?}");
    assert!(!told.forgot(), "{told:?}");
    process.kill();

    let process = shop.open();
    let mut front = Panes::open(process.addr, Some(&id)).await;
    let told = front.ask(2, "RECALL").await;
    assert!(told.answer.contains("Gander") && !told.forgot(), "{told:?}");
    // Still in the mode in which it asks.
    front.type_in(2, "WRITE a.txt").await;
    front.question(2).await;
}

#[tokio::test]
async fn four_goose_agents_work_at_once_each_in_its_own_place() {
    let shop = Workshop::new().await;
    let process = shop.open();
    let mut front = Panes::open(process.addr, None).await;
    for pane in 1..=4 {
        front.type_in(pane, &format!("WRITE by-{pane}.txt")).await;
    }
    // All of them wait at the same time, and one inbox knows of all.
    let mut questions = Vec::new();
    for _ in 1..=4 {
        questions.push(front.input.until("confirm_request").await[BODY].clone());
    }
    let mut channels: Vec<_> = questions.iter().map(|one| one["チャンネル"].clone()).collect();
    channels.sort_by_key(Value::to_string);
    assert_eq!(channels, ["1", "2", "3", "4"]);
    for question in &questions {
        front.decide(question, question["チャンネル"] != "3").await;
    }
    for pane in 1..=4 {
        front.told(pane).await;
        let place = shop.place(&front.session(), pane);
        assert_eq!(place.join(format!("by-{pane}.txt")).exists(), pane != 3, "{pane}");
    }
    // Nobody has touched the project itself.
    let project = shop.home.project.path();
    let names: Vec<_> =
        std::fs::read_dir(project).unwrap().map(|one| one.unwrap().file_name()).collect();
    assert_eq!(names, [".git"]);
}
