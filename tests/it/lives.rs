//! The lives of an agent's processes within one conversation: they rest, die and are started again, also by another
//! gateway, and the conversation goes on where it can.

use crate::acp::{AGENT, count, wait_for};
use crate::http;
use crate::panes::{Panes, Told};
use crate::process::Process;
use crate::support::{BODY, Gateway, Home, PATIENCE, SESSION};
use kakehashi::config::Config;
use kakehashi::message::AgentSlot;
use kakehashi::provider::row::{AgentKind, AgentRow};
use serde_json::{Value, json};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Settings of a gateway whose first two slots are our agent, with these arguments.
fn settings(arguments: &str) -> String {
    format!(
        "language = \"en\"\n[[agents]]\nname = \"test\"\nkind = \"acp\"\ncommand = [\"python3\", \"{AGENT}\"{arguments}]\n\
         [settings]\nCODE_AI1_NAME = \"test\"\nCODE_AI2_NAME = \"test\"\n"
    )
}

pub(crate) fn row(mark: &str) -> AgentRow {
    AgentRow {
        name: "test".to_owned(),
        label: "Test".to_owned(),
        kind: AgentKind::Acp,
        command: ["python3", AGENT, "--load", mark].map(str::to_owned).to_vec(),
        also: Vec::new(),
        env: Vec::new(),
        mode: None,
        mode_option: None,
        model_option: None,
        models: Vec::new(),
        writable: Vec::new(),
        network: false,
        install: String::new(),
    }
}

/// The same within this process; the mark is among the agent's arguments.
pub(crate) fn resting(config: &mut Config, mark: &str, patience: Duration) {
    config.supervisor = env!("CARGO_BIN_EXE_kakehashi").into();
    config.agents = vec![row(mark)];
    config.limits.agent_idle = patience;
    let agents = &mut Arc::make_mut(&mut config.settings).agents;
    agents[AgentSlot::ALL[0]].name = "test".to_owned();
}

/// The answer of an agent that knows what was said before, and does not say it again.
#[track_caller]
fn goes_on(told: &Told, answer: &str) {
    assert!(told.answer == answer && !told.forgot(), "{told:?}");
}

#[tokio::test]
async fn a_conversation_goes_on_after_a_restart_and_after_kill_9() {
    for arguments in [", \"--load\"", ", \"--resume\", \"--modes\""] {
        let home = Home::new();
        let process = Process::start(&home, &settings(arguments));
        let mut front = Panes::open(process.addr, None).await;
        let id = front.session();
        let first = front.ask(1, "session").await.answer;
        let second = front.ask(2, "session").await.answer;
        assert_ne!(first, second);
        drop(front);
        assert_eq!(process.end(Instant::now()).0, Some(0));

        let process = Process::start(&home, &settings(arguments));
        let mut front = Panes::open(process.addr, Some(&id)).await;
        // What a loaded conversation repeats is not told again.
        goes_on(&front.ask(1, "session").await, &first);
        goes_on(&front.ask(2, "session").await, &second);
        // Another session has conversations of its own.
        let mut other = Panes::open(process.addr, None).await;
        assert_ne!(other.ask(1, "session").await.answer, first);
        process.kill();

        let process = Process::start(&home, &settings(arguments));
        let mut front = Panes::open(process.addr, Some(&id)).await;
        goes_on(&front.ask(1, "session").await, &first);
    }
}

#[tokio::test]
async fn an_agent_that_cannot_go_on_says_so_and_the_new_conversation_is_kept() {
    let home = Home::new();
    let process = Process::start(&home, &settings(""));
    let mut front = Panes::open(process.addr, None).await;
    let id = front.session();
    let first_told = front.ask(1, "session").await;
    assert!(!first_told.forgot(), "{first_told:?}");
    process.kill();

    let process = Process::start(&home, &settings(""));
    let mut front = Panes::open(process.addr, Some(&id)).await;
    let second_told = front.ask(1, "session").await;
    assert!(second_told.answer != first_told.answer && second_told.forgot(), "{second_told:?}");
    process.kill();

    let process = Process::start(&home, &settings(", \"--load\""));
    let mut front = Panes::open(process.addr, Some(&id)).await;
    goes_on(&front.ask(1, "session").await, &second_told.answer);
}

#[tokio::test]
async fn an_agent_that_wants_a_login_has_not_forgotten_its_conversation() {
    let home = Home::new();
    let process = Process::start(&home, &settings(", \"--load\""));
    let mut front = Panes::open(process.addr, None).await;
    let id = front.session();
    let first = front.ask(1, "session").await.answer;
    process.kill();

    let process = Process::start(&home, &settings(", \"--load\", \"--auth\""));
    let mut front = Panes::open(process.addr, Some(&id)).await;
    let told = front.ask(1, "session").await;
    assert!(told.answer.contains("needs a login") && !told.forgot(), "{told:?}");
    process.kill();

    let process = Process::start(&home, &settings(", \"--load\""));
    let mut front = Panes::open(process.addr, Some(&id)).await;
    goes_on(&front.ask(1, "session").await, &first);
}

#[tokio::test]
async fn a_deleted_session_leaves_no_conversation() {
    let home = Home::new();
    let process = Process::start(&home, &settings(", \"--load\""));
    let mut front = Panes::open(process.addr, None).await;
    let id = front.session();
    let first = front.ask(1, "session").await.answer;
    let delete = http::delete(&format!("/api/sessions/{id}")).local();
    assert_eq!(delete.send(process.addr).await.status, 204);
    // The same name, and nothing of the former session.
    let mut front = Panes::open(process.addr, Some(&id)).await;
    let second_told = front.ask(1, "session").await;
    assert!(second_told.answer != first && !second_told.forgot(), "{second_told:?}");
}

#[tokio::test]
async fn an_agent_without_work_ends_and_comes_back_with_its_conversation() {
    let (mark, other) = ("--idle-8471", "--idle-8472");
    let gateway = Gateway::start_with(|config| {
        resting(config, mark, Duration::from_millis(300));
        config.agents.push(AgentRow { name: "other".to_owned(), ..row(other) });
    })
    .await;
    let mut front = Panes::open(gateway.addr, None).await;
    // It is not ended while it works, although another one that has worked since then is.
    front.type_in(1, "wait").await;
    wait_for(PATIENCE, || count(mark) > 0).await;
    let chosen = set(gateway.addr, &front.session(), "CODE_AI2_NAME", "other").await;
    assert_eq!(chosen["status"], "OK", "{chosen}");
    front.ask(2, "session").await;
    wait_for(PATIENCE, || count(other) == 0).await;
    assert!(count(mark) > 0);
    front.cancel(1).await;
    front.told(1).await;
    let first = front.ask(1, "session").await.answer;
    wait_for(PATIENCE, || count(mark) == 0).await;
    goes_on(&front.ask(1, "session").await, &first);
    gateway.stop().await;
}

/// Changes a setting of a session and tells what the gateway says.
pub(crate) async fn set(addr: SocketAddr, session: &str, name: &str, value: &str) -> Value {
    let body = json!({SESSION: session, "モデル設定": {name: value}});
    http::post("/core/AIコア/モデル情報/設定", &body).local().send(addr).await.json()
}

#[tokio::test]
async fn another_model_holds_from_the_next_request_on_within_the_same_conversation() {
    let home = Home::new();
    let arguments = ", \"--load\", \"--modes\", \"--options\"";
    let models =
        settings(arguments).replace("[settings]", "models = [\"large\", \"gone\"]\n[settings]");
    let process = Process::start(&home, &models);
    let mut front = Panes::open(process.addr, None).await;
    let id = front.session();
    assert_eq!(front.ask(1, "mode").await.answer, "auto");
    let session = front.ask(1, "session").await.answer;
    let refused = set(process.addr, &id, "CODE_AI1_MODEL", "small").await;
    assert!(refused["message"].as_str().unwrap().contains("auto, large, gone"), "{refused}");
    // The run that is under way keeps its own.
    front.type_in(1, "wait").await;
    front.pane(1).until_where(|packet| packet[BODY] == "<<< 処理開始 >>>").await;
    assert_eq!(set(process.addr, &id, "CODE_AI1_MODEL", "large").await["status"], "OK");
    front.cancel(1).await;
    front.told(1).await;
    goes_on(&front.ask(1, "mode").await, "auto+large");
    goes_on(&front.ask(1, "session").await, &session);
    // One that the agent does not have is told, and no reason not to work.
    assert_eq!(set(process.addr, &id, "CODE_AI1_MODEL", "gone").await["status"], "OK");
    let told = front.ask(1, "mode").await;
    assert_eq!(told.answer, "auto");
    let line = "test keeps its model instead of `gone`; it has: small, large";
    assert!(told.lines.iter().any(|told| told == line), "{told:?}");
    // Nothing is as good as "auto".
    assert_eq!(set(process.addr, &id, "CODE_AI1_MODEL", "").await["status"], "OK");
    goes_on(&front.ask(1, "mode").await, "auto");
    let offer = http::post("/core/AIコア/モデル情報/取得", &json!({SESSION: id})).local();
    let offer = offer.send(process.addr).await.body;
    assert!(offer.contains("\"large\"") && offer.contains("\"gone\""), "{offer}");
}

#[tokio::test]
async fn an_agent_is_kept_between_two_requests() {
    let mark = "--idle-8472";
    let gateway =
        Gateway::start_with(|config| resting(config, mark, Duration::from_secs(60))).await;
    let mut front = Panes::open(gateway.addr, None).await;
    let first = front.ask(1, "session").await.answer;
    // Its conversation has a name by now, which must not look like another agent.
    assert_eq!(front.ask(1, "session").await.answer, first);
    gateway.stop().await;
}
