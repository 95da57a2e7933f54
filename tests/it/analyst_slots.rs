//! The data analyst in the slot of an agent, as clients of AIコア and of the session API see it.

use crate::analyst::{gateway, with_sales};
use crate::chat_tools::open;
use crate::client::{Aicore, Api, Ask, Client};
use crate::support::Gateway;
use kakehashi::message::{AgentSlot, Channel};
use serde_json::{Value, json};

const TWO: Channel = Channel::Agent(AgentSlot::ALL[1]);
const DRAW: &str = r#"use python_interpreter {"code": "df.groupby('地域')['売上'].sum().plot.bar()\nplt.savefig('chart.png')\nprint(int(df['売上'].sum()))"}"#;

/// A session with the table of sales, whose second agent is the analyst.
async fn with_analyst() -> Option<(Gateway, Client<Api>, String)> {
    let gateway = gateway().await?;
    let session = with_sales(&gateway).await;
    let hello = json!({"session": session, "language": "en", "history": 0});
    let mut api = Client::<Api>::open(gateway.addr, hello).await;
    api.until("ready").await;
    let change = json!({"agent2": {"name": "analyst"}});
    api.send(&json!({"type": "set", "agents": change, "request": 1})).await;
    api.until("ack").await;
    Some((gateway, api, session))
}

fn kinds(packets: &[Value]) -> Vec<&str> {
    packets.iter().filter_map(|packet| packet["メッセージ識別"].as_str()).collect()
}

#[tokio::test]
async fn code_is_streamed_and_figures_and_reports_are_files() {
    let Some((gateway, mut api, session)) = with_analyst().await else { return };
    let more = json!({"機能": ["stream", "confirm", "agents"]});
    let mut pane = Client::<Aicore>::open_with(gateway.addr, "2", Some(&session), more).await;
    let welcome = pane.until("welcome_info").await["メッセージ内容"].to_string();
    assert!(
        welcome.contains("/analyst?session=") && !welcome.contains("プロジェクト"),
        "{welcome}"
    );
    api.ask(Ask::Text { to: TWO, text: DRAW }).await;
    let mut packets = Vec::new();
    while packets.iter().all(|packet: &Value| packet["メッセージ識別"] != "output_text") {
        packets.push(pane.next().await);
    }
    let streamed: String = packets
        .iter()
        .filter(|packet| packet["メッセージ識別"] == "output_stream")
        .map(|packet| packet["メッセージ内容"].as_str().unwrap_or_default())
        .collect();
    assert!(streamed.contains("plt.savefig('chart.png')"), "{streamed}");
    assert!(streamed.contains("6950"), "{streamed}");
    let files: Vec<_> =
        packets.iter().filter(|packet| packet["メッセージ識別"] == "output_file").collect();
    let all: Vec<_> = files.iter().map(|packet| packet.to_string()).collect();
    for name in ["chart.png", "report.md", "report.html"] {
        assert!(all.iter().any(|file| file.contains(name)), "{name}: {:?}", kinds(&packets));
    }
    // The session API names the channel of each step.
    let code = api.until("code").await;
    assert_eq!(code["channel"], "agent2", "{code}");
    let report = api.until("report").await;
    assert_eq!(report["channel"], "agent2", "{report}");
    gateway.stop().await;
}

#[tokio::test]
async fn each_channel_has_a_conversation_of_its_own_and_all_have_the_tables() {
    let Some((gateway, mut api, _)) = with_analyst().await else { return };
    let first = r#"use python_interpreter {"code": "print('of agent', df.shape)"}"#;
    api.ask(Ask::Text { to: TWO, text: first }).await;
    let done = api.until("exec").await;
    assert_eq!(done["data"]["stdout"], "of agent (7, 3)\n", "{done}");
    api.until("report").await;
    api.until_where(|frame| frame["type"] == "run_ended" && frame["channel"] == "agent2").await;
    // The report gathers the results of its own channel only.
    let change = json!({"type": "set", "assistant": "analyst", "request": 2});
    api.send(&change).await;
    api.until("ack").await;
    let second = r#"use python_interpreter {"code": "print('of chat', df.shape)"}"#;
    api.ask(Ask::Text { to: Channel::Chat, text: second }).await;
    let report = api.until("report").await;
    assert_eq!(report["channel"], "chat");
    let text = report.to_string();
    assert!(text.contains("of chat") && !text.contains("of agent"), "{text}");
    gateway.stop().await;
}

#[tokio::test]
async fn a_cancel_ends_the_code_of_its_channel_and_the_slot_can_have_an_agent_again() {
    let Some((gateway, mut api, _)) = with_analyst().await else { return };
    let endless = r#"use python_interpreter {"code": "while True: pass"}"#;
    api.ask(Ask::Text { to: TWO, text: endless }).await;
    api.until("code").await;
    api.send(&json!({"type": "cancel", "to": "agent2"})).await;
    let ended = api.until("run_ended").await;
    assert_eq!(
        (&ended["channel"], &ended["data"]["outcome"]),
        (&json!("agent2"), &json!("cancelled"))
    );
    let change = json!({"agent2": {"name": "scripted"}});
    api.send(&json!({"type": "set", "agents": change, "request": 3})).await;
    api.until("ack").await;
    api.ask(Ask::Text { to: TWO, text: "hello" }).await;
    let answer = api.until("reply").await;
    // The scripted agent says no more.
    assert_eq!((&answer["channel"], &answer["data"]["text"]), (&json!("agent2"), &json!("done")));
    gateway.stop().await;
}

#[tokio::test]
async fn every_assistant_can_be_chosen_by_its_name() {
    let gateway = Gateway::start().await;
    let mut api = open(&gateway).await;
    let chats = kakehashi::assistant::chat_assistants().map(|name| json!({"assistant": name}));
    let slots = kakehashi::assistant::for_slots()
        .map(|(name, _)| json!({"agents": {"agent1": {"name": name}}}));
    for (number, mut change) in chats.chain(slots).enumerate() {
        change["type"] = json!("set");
        change["request"] = json!(number + 1);
        api.send(&change).await;
        let answer = api.until_where(|frame| frame["type"] == "ack" || frame["type"] == "error");
        assert_eq!(answer.await["type"], "ack", "{change}");
    }
    gateway.stop().await;
}
