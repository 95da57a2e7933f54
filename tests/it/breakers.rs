//! Breakers: a run that goes too far is stopped, says why, and leaves the next one alone.

use crate::acp::AGENT;
use crate::findings::{audit, decided, gateway};
use crate::http::post;
use crate::panes::Panes;
use crate::process::Process;
use crate::support::{BODY, CHANNEL, Client, Home, KIND, SESSION};
use serde_json::{Value, json};

/// A gateway with another limit than the shipped rules have.
fn frugal_gateway(home: &Home, shipped: &str, limit: &str) -> Process {
    let rules = home.data.path().join("rules.toml");
    let all = include_str!("../../config/policy.toml");
    let changed = all.replace(&format!("\n{shipped}\n"), &format!("\n{limit}\n"));
    assert_ne!(all, changed);
    std::fs::write(&rules, changed).unwrap();
    let settings = format!(
        "language = \"en\"\npolicy = \"{}\"\n[[agents]]\nname = \"test\"\nkind = \"acp\"\n\
         command = [\"python3\", \"{AGENT}\"]\n[settings]\nCODE_AI1_NAME = \"test\"\n",
        rules.display()
    );
    Process::start(home, &settings)
}

const TOO_MANY_STEPS: &str = "it was stopped because it made more than 3 tool calls. To let it go on, type another text in \
                              its pane.";

#[tokio::test]
async fn a_call_is_one_step_however_often_it_is_told() {
    let home = Home::new();
    let process = frugal_gateway(&home, "steps = 200", "steps = 3");
    let mut front = Panes::open(process.addr, None).await;
    let told = front.ask(1, "silent-tool silent-tool silent-tool hello").await;
    assert_eq!(told.answer, "hello there");
    for calls in [
        "silent-tool silent-tool silent-tool silent-tool wait",
        "done-tool done-tool done-tool done-tool wait",
    ] {
        front.type_in(1, calls).await;
        front.pane(1).until_where(|packet| packet[BODY] == "!").await;
        let told = front.pane(1).until_where(|packet| {
            packet[BODY].as_str().is_some_and(|text| text.contains(TOO_MANY_STEPS))
        });
        told.await;
    }
    // It goes on with a budget of its own.
    assert_eq!(front.ask(1, "silent-tool hello").await.answer, "hello there");
}

#[tokio::test]
async fn a_stopped_request_of_the_chat_says_why() {
    let home = Home::new();
    let process = frugal_gateway(&home, "steps = 200", "steps = 3");
    let mut front = Panes::open(process.addr, None).await;
    let mut chat = Client::open(process.addr, "0", Some(&front.session())).await;
    let text = "silent-tool silent-tool silent-tool silent-tool wait";
    let request = json!({CHANNEL: "0", "出力先チャンネル": "1", "送信モード": "Code1", KIND: "input_text", BODY: text});
    front.input.send(&request).await;
    let answer = chat.until("output_request").await;
    assert_eq!(answer[BODY], format!("! {TOO_MANY_STEPS}"));
}

#[tokio::test]
async fn a_failure_counts_once_however_often_it_is_told() {
    let home = Home::new();
    let process = gateway(&home, "");
    let mut front = Panes::open(process.addr, None).await;
    assert_eq!(front.ask(1, "retold-failure hello").await.answer, "hello there");
    front.type_in(1, "failure failure failure wait").await;
    front.pane(1).until_where(|packet| packet[BODY] == "!").await;
    let told = |packet: &Value| {
        packet[BODY].as_str().is_some_and(|text| text.contains("the same call failed 3 times"))
    };
    front.pane(1).until_where(told).await;
    // What has failed was not carried out.
    assert!(audit(&home).is_empty());
}

/// Waits until the run is stopped, and why.
async fn stopped(front: &mut Panes, why: &str) {
    front.pane(1).until_where(|packet| packet[BODY] == "!").await;
    let told = |packet: &Value| packet[BODY].as_str().is_some_and(|text| text.contains(why));
    front.pane(1).until_where(told).await;
}

#[tokio::test]
async fn a_run_that_takes_too_many_tokens_is_stopped() {
    let home = Home::new();
    let process = frugal_gateway(&home, "tokens = 20000000", "tokens = 2500");
    let mut front = Panes::open(process.addr, None).await;
    // The conversation holds less than that, however often it is told.
    let told = front.ask(1, "usage 1000 0 usage 1200 0 usage 1200 0 usage 2500 0 hello").await;
    assert_eq!(told.answer, "hello there");
    // Every request to the model sends all of it again.
    front.type_in(1, "usage 1000 0 done-tool usage 1600 0 wait").await;
    stopped(&mut front, "it used more than 2500 tokens").await;
    // It goes on with a budget of its own, and the same conversation.
    let told = front.ask(1, "usage 1000 0 done-tool usage 1500 0 hello").await;
    assert_eq!(told.answer, "hello there");
}

#[tokio::test]
async fn a_run_whose_calls_mostly_fail_is_stopped() {
    let home = Home::new();
    let process = gateway(&home, "");
    let mut front = Panes::open(process.addr, None).await;
    let fail = "other-failure other-failure other-failure ";
    let seven = format!("{fail}done-tool {fail}done-tool other-failure ");
    assert_eq!(front.ask(1, &format!("{seven}hello")).await.answer, "hello there");
    front.type_in(1, &format!("{seven}other-failure wait")).await;
    stopped(&mut front, "8 of its last calls failed").await;
}

#[tokio::test]
async fn the_same_call_may_fail_twice_and_not_three_times() {
    let home = Home::new();
    let process = gateway(&home, "");
    let mut front = Panes::open(process.addr, None).await;
    let often = "failure failure done-tool failure other-failure failure failure ";
    assert_eq!(front.ask(1, &format!("{often}hello")).await.answer, "hello there");
    front.type_in(1, &format!("{often}failure wait")).await;
    stopped(&mut front, "the same call failed 3 times").await;
}

#[tokio::test]
async fn questions_over_the_limit_of_open_ones_are_refused() {
    let home = Home::new();
    let process = gateway(&home, "");
    let mut front = Panes::open(process.addr, None).await;
    let body = json!({SESSION: front.session(), "モデル設定": {"CODE_AI2_NAME": "test"}});
    let answer = post("/core/AIコア/モデル情報/設定", &body).local().send(process.addr).await;
    assert_eq!(answer.status, 200);
    let mut questions = Vec::new();
    for (pane, asked, shown) in [(1, 60, 60), (2, 6, 4)] {
        front.type_in(pane, &format!("ask-many {asked}")).await;
        for _ in 0..shown {
            questions.push(front.question(pane).await);
        }
    }
    for number in [4, 5] {
        let line = front.pane(2).until_where(|packet| {
            packet[BODY].as_str().is_some_and(|text| text.contains("questions are open"))
        });
        let expected = format!("[tool] Write {number}.txt: 64 questions are open already");
        assert_eq!(line.await[BODY], expected);
    }
    assert_eq!(audit(&home), [decided("refused", "rule"), decided("refused", "rule")]);
    for question in &questions {
        front.decide(question, true).await;
    }
    assert_eq!(front.told(1).await.answer, "60 allowed");
    assert_eq!(front.told(2).await.answer, "4 allowed");
}
