//! Questions of agents: asked of the right user, answered once, refused in doubt, and kept.

use crate::acp::AGENT;
use crate::findings::{audit, decided};
use crate::http::delete;
use crate::panes::Panes;
use crate::process::Process;
use crate::support::{BODY, CODE, Client, Frontend, Gateway, Home, KIND, TOKEN, eventually};
use kakehashi::locale::Locale;
use serde_json::{Value, json};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Packets of the agent's pane for a frontend with a dialog.
async fn dialog(gateway: &Gateway, session: &str) -> Client {
    let more = json!({"機能": ["confirm"]});
    let mut pane = Client::open_with(gateway.addr, "1", Some(session), more).await;
    pane.until("welcome_text").await;
    pane
}

fn answer(id: &Value, approved: bool) -> Value {
    json!({KIND: "confirm_answer", BODY: {"id": id, "承認": approved}})
}

#[tokio::test]
async fn the_user_allows_or_refuses_and_the_first_answer_counts() {
    let gateway = Gateway::start().await;
    let mut front = Frontend::open(gateway.addr, None).await;
    let mut pane = dialog(&gateway, front.session()).await;
    front.type_in("1", "ask write the file\nsay went on").await;
    let asked = pane.until("confirm_request").await;
    let inbox = front.input.until("confirm_request").await;
    assert_eq!(inbox[BODY], asked[BODY]);
    assert_eq!(asked[BODY]["チャンネル"], "1");
    let id = &asked[BODY]["id"];

    front.input.send(&answer(&json!("another"), true)).await;
    assert_eq!(front.input.until("error").await[CODE], "nothing_to_confirm");
    front.input.send(&answer(id, true)).await;
    let result = pane.until("confirm_result").await;
    assert_eq!(result[BODY], json!({"id": id, "チャンネル": "1", "承認": true, "決定者": "user"}));
    pane.until_where(|packet| packet[BODY] == "<<< 処理終了 >>>").await;
    front.input.send(&answer(id, false)).await;
    assert_eq!(front.input.until("error").await[CODE], "nothing_to_confirm");

    front.type_in("1", "ask again\nsay over").await;
    let id = pane.until("confirm_request").await[BODY]["id"].clone();
    front.input.send(&answer(&id, false)).await;
    assert_eq!(pane.until("confirm_result").await[BODY]["承認"], false);
    gateway.stop().await;
}

#[tokio::test]
async fn another_session_cannot_answer() {
    let gateway = Gateway::start().await;
    let mut front = Frontend::open(gateway.addr, None).await;
    let mut other = Frontend::open(gateway.addr, None).await;
    let mut pane = dialog(&gateway, front.session()).await;
    front.type_in("1", "ask something").await;
    let id = pane.until("confirm_request").await[BODY]["id"].clone();
    other.input.send(&answer(&id, true)).await;
    assert_eq!(other.input.until("error").await[CODE], "nothing_to_confirm");
    front.input.send(&answer(&id, false)).await;
    pane.until("confirm_result").await;
    gateway.stop().await;
}

#[tokio::test]
async fn no_answer_means_no_and_a_cancel_voids_the_question() {
    let gateway =
        Gateway::start_with(|config| config.limits.confirm = Duration::from_secs(1)).await;
    let mut front = Frontend::open(gateway.addr, None).await;
    let mut pane = dialog(&gateway, front.session()).await;
    front.type_in("1", "ask something").await;
    let result = pane.until("confirm_result").await;
    assert_eq!((&result[BODY]["承認"], &result[BODY]["決定者"]), (&json!(false), &json!("time")));
    gateway.stop().await;

    let gateway = Gateway::start().await;
    let mut front = Frontend::open(gateway.addr, None).await;
    let mut pane = dialog(&gateway, front.session()).await;
    front.type_in("1", "ask something").await;
    let id = pane.until("confirm_request").await[BODY]["id"].clone();
    front.cancel("1").await;
    let result = pane.until("confirm_result").await;
    assert_eq!((&result[BODY]["承認"], &result[BODY]["決定者"]), (&json!(false), &json!("end")));
    front.input.send(&answer(&id, true)).await;
    assert_eq!(front.input.until("error").await[CODE], "nothing_to_confirm");
    gateway.stop().await;
}

#[tokio::test]
async fn a_frontend_without_a_dialog_is_asked_in_words() {
    let gateway = Gateway::start().await;
    let mut front = Frontend::open(gateway.addr, None).await;
    for (word, told) in [("はい", "許可しました"), ("No", "許可しませんでした")] {
        front.type_in("1", "ask write it").await;
        let question = front.agents[0]
            .until_where(|packet| {
                packet[BODY].as_str().is_some_and(|text| text.contains("許可を求めて"))
            })
            .await;
        assert_eq!(question[KIND], "output_text");
        front.type_in("1", word).await;
        front.agents[0]
            .until_where(|packet| packet[BODY].as_str().is_some_and(|text| text.contains(told)))
            .await;
        front.agents[0].until_where(|packet| packet[BODY] == "<<< 処理終了 >>>").await;
    }
    // Without a question it is a request like any other.
    front.type_in("1", "yes").await;
    front.agents[0].until_where(|packet| packet[BODY] == "<<< 処理開始 >>>").await;
    gateway.stop().await;
}

#[tokio::test]
async fn an_always_answer_holds_for_one_session_and_every_decision_is_kept() {
    let home = Home::new();
    let process = Process::start(&home, "models = \"scripted\"\n");
    let mut front = Frontend::open(process.addr, None).await;
    let more = json!({"機能": ["confirm"]});
    let mut pane = Client::open_with(process.addr, "1", Some(front.session()), more).await;
    front.type_in("1", "ask same thing").await;
    let id = pane.until("confirm_request").await[BODY]["id"].clone();
    front
        .input
        .send(&json!({KIND: "confirm_answer", BODY: {"id": id, "承認": true, "常に": true}}))
        .await;
    pane.until("confirm_result").await;
    pane.until_where(|packet| packet[BODY] == "<<< 処理終了 >>>").await;
    front.type_in("1", "ask same thing").await;
    let rest = pane.collect_until(|packet| packet[BODY] == "<<< 処理終了 >>>").await;
    assert!(rest.iter().all(|packet| packet[KIND] != "confirm_request"), "{rest:?}");

    let mut audit = Command::new(env!("CARGO_BIN_EXE_kakehashi"));
    audit.args(["audit", "--json", "--data"]).arg(home.data.path()).env_clear();
    audit.arg("--config").arg(home.data.path().join("settings.toml"));
    let output = audit.output().unwrap();
    let lines = String::from_utf8(output.stdout).unwrap();
    let rows: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let told: Vec<_> =
        rows.iter().map(|row| (&row["decision"], &row["by"], &row["user"])).collect();
    assert!(told.contains(&(&json!("allowed"), &json!("user"), &json!("local"))), "{lines}");
    assert!(told.contains(&(&json!("allowed"), &json!("rule"), &json!("local"))), "{lines}");
}

#[tokio::test]
async fn decisions_outlive_their_session_without_inputs_and_go_when_they_are_old() {
    let gateway = Gateway::start().await;
    let mut front = Frontend::open(gateway.addr, None).await;
    let mut pane = dialog(&gateway, front.session()).await;
    for _ in 0..2 {
        front.type_in("1", "ask for the secret").await;
        let id = pane.until("confirm_request").await[BODY]["id"].clone();
        front.input.send(&answer(&id, true)).await;
        pane.until_where(|packet| packet[BODY] == "<<< 処理終了 >>>").await;
    }
    let path = format!("/api/sessions/{}", front.session());
    let home = gateway.stop().await;
    let database = || rusqlite::Connection::open(home.data.path().join("kakehashi.db")).unwrap();
    let inputs = || {
        let database = database();
        let mut query = database.prepare("SELECT input FROM audit").unwrap();
        let rows = query.query_map([], |row| row.get::<_, String>(0)).unwrap();
        rows.map(Result::unwrap).collect::<Vec<_>>()
    };
    assert_eq!(inputs(), ["\"for the secret\""; 2]);
    // One of them is old, and still the session is there.
    let aged = "UPDATE audit SET at = at - 3 * 86400000 WHERE key = 1";
    assert_eq!(database().execute(aged, []).unwrap(), 1);
    let gateway = Gateway::start_at(Arc::clone(&home), |config| {
        config.audit_age = Some(Duration::from_secs(2 * 86_400));
    });
    let gateway = gateway.await;
    eventually(|| inputs() == ["\"for the secret\""]).await;
    let deleted = delete(&path).bearer(TOKEN).send(gateway.addr).await;
    assert_eq!(deleted.status, 204);
    assert_eq!(inputs(), [""]);
    gateway.stop().await;
}

#[tokio::test]
async fn a_question_does_not_stay_open_over_a_restart() {
    for killed in [true, false] {
        let home = Home::new();
        let process = Process::start(&home, "models = \"scripted\"\n");
        let mut front = Frontend::open(process.addr, None).await;
        let session = front.session().to_owned();
        front.type_in("1", "ask something").await;
        let id = front.input.until("confirm_request").await[BODY]["id"].clone();
        if killed {
            process.kill();
        } else {
            assert_eq!(process.end(Instant::now()).0, Some(0));
            // Written down before it leaves.
            assert_eq!(audit(&home), [decided("refused", "end")]);
        }
        // Whoever comes later finds one question and one answer, on both channels.
        for _ in 0..2 {
            let process = Process::start(&home, "models = \"scripted\"\n");
            let more = json!({"機能": ["confirm"]});
            for socket in ["input", "1"] {
                let more = more.clone();
                let mut client =
                    Client::open_with(process.addr, socket, Some(&session), more).await;
                // It may be decided just when the first socket comes, and then be told behind the welcome.
                let mut awaited = vec!["welcome_text", "confirm_result"];
                let packets = client
                    .collect_until(|packet| {
                        awaited.retain(|kind| packet[KIND] != **kind);
                        awaited.is_empty()
                    })
                    .await;
                let results: Vec<_> =
                    packets.iter().filter(|packet| packet[KIND] == "confirm_result").collect();
                assert_eq!(results.len(), 1, "{packets:?}");
                let result = &results[0][BODY];
                assert_eq!(
                    (&result["id"], &result["承認"], &result["決定者"]),
                    (&id, &json!(false), &json!("end"))
                );
            }
            assert_eq!(audit(&home), [decided("refused", "end")]);
            process.kill();
        }
    }
}

#[tokio::test]
async fn a_tool_is_denied_by_its_name_whatever_its_title_says() {
    let home = Home::new();
    let rules = home.data.path().join("rules.toml");
    let all = include_str!("../../config/policy.toml");
    let more = "[[deny]]\ntool = \"shell\"\npattern = ''\nreason = \"no shells\"\n";
    std::fs::write(&rules, format!("{more}{all}")).unwrap();
    let settings = format!(
        "language = \"en\"\npolicy = \"{}\"\n[[agents]]\nname = \"test\"\nkind = \"acp\"\n\
         command = [\"python3\", \"{AGENT}\"]\n[settings]\nCODE_AI1_NAME = \"test\"\n",
        rules.display()
    );
    let process = Process::start(&home, &settings);
    let mut front = Panes::open(process.addr, None).await;
    for (call, answer) in [
        (json!({"name": "shell", "title": "List", "kind": "read"}), "the-reject_once"),
        (json!({"_meta": {"vendor": {"toolName": "shell"}}, "kind": "read"}), "the-reject_once"),
        (json!({"name": "look", "title": "List", "kind": "read"}), "the-allow_once"),
    ] {
        assert_eq!(front.ask(1, &format!("ask-call {call}")).await.answer, answer, "{call}");
    }
}

/// Rules are written once, for sessions of any language.
#[tokio::test]
async fn a_rule_names_an_english_title_in_a_japanese_session() {
    let home = Home::new();
    let rules = home.data.path().join("rules.toml");
    let all = include_str!("../../config/policy.toml");
    let more = "[[deny]]\ntool = \"Write secret*\"\npattern = ''\nreason = \"no secrets\"\n";
    std::fs::write(&rules, format!("{more}{all}")).unwrap();
    let settings = format!(
        "language = \"ja\"\npolicy = \"{}\"\n[settings]\nCODE_AI1_NAME = \"builtin\"\n",
        rules.display()
    );
    let process = Process::start(&home, &settings);
    let mut front = Panes::open(process.addr, None).await;
    let refused = front.ask(1, "/write secret.txt\nx").await;
    let line = refused.lines.iter().find(|line| line.contains("no secrets"));
    // People still read their own language.
    let title = Locale::Ja.say("title", "file:write", &[("path", "secret.txt")]);
    assert!(line.is_some_and(|line| line.contains(&title)), "{:?}", refused.lines);
    front.type_in(1, "/write open.txt\nx").await;
    let question = front.question(1).await;
    let title = Locale::Ja.say("title", "file:write", &[("path", "open.txt")]);
    assert_eq!(question["ツール名"], title, "{question}");
    front.decide(&question, false).await;
    front.told(1).await;
}
