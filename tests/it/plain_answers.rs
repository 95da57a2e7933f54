//! Questions that are answered in plain words, and how long a word holds.

use crate::acp::AGENT;
use crate::http::post;
use crate::panes::Panes;
use crate::process::Process;
use crate::support::{BODY, CHANNEL, Client, Frontend, Gateway, Home, KIND, SESSION};
use serde_json::{Value, json};
use std::process::Command;

/// A gateway with two agents by different names; the first slot has the first.
fn gateway(home: &Home) -> Process {
    let row = |name: &str| {
        format!(
            "[[agents]]\nname = \"{name}\"\nkind = \"acp\"\ncommand = [\"python3\", \"{AGENT}\"]\n"
        )
    };
    let settings = "[settings]\nCODE_AI1_NAME = \"test\"\n";
    let rows = row("test") + &row("other");
    Process::start(home, &format!("language = \"en\"\n{rows}{settings}"))
}

async fn text(pane: &mut Client, part: &str) -> String {
    let says = |packet: &Value| packet[BODY].as_str().is_some_and(|text| text.contains(part));
    let packet = pane.until_where(says).await;
    assert_eq!(packet[KIND], "output_text", "{packet}");
    packet[BODY].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn with_several_questions_a_word_says_which_one_it_answers() {
    let home = Home::new();
    let process = gateway(&home);
    let mut front = Frontend::open(process.addr, None).await;
    front.type_in("1", "ask-both").await;
    for (number, tool) in [(1, "Write a.txt"), (2, "Write b.txt")] {
        let question = text(&mut front.agents[0], "asks for permission").await;
        assert!(question.starts_with(&format!("[{number}] ")) && question.contains(tool));
        assert!(question.contains(&format!("yes {number}")), "{question}");
    }
    for unclear in ["yes", "いいえ", "yes 3"] {
        front.type_in("1", unclear).await;
        let told = text(&mut front.agents[0], "Nothing was decided").await;
        assert!(told.contains("1, 2") && told.contains("yes 1"), "{told}");
    }
    front.type_in("1", "いいえ　２").await;
    text(&mut front.agents[0], "[2] Not allowed").await;
    // Only one is left, so there is no doubt.
    front.type_in("1", "はい").await;
    text(&mut front.agents[0], "[1] Allowed").await;
    text(&mut front.agents[0], "the-allow_once the-reject_once").await;
    // A number is not used again: a late answer does not meet another question.
    front.type_in("1", "ask").await;
    let question = text(&mut front.agents[0], "asks for permission").await;
    assert!(question.starts_with("[3] "), "{question}");
    front.type_in("1", "yes 2").await;
    let told = text(&mut front.agents[0], "Nothing was decided").await;
    assert!(told.contains("open: 3."), "{told}");
    front.type_in("1", "n 3").await;
    text(&mut front.agents[0], "[3] Not allowed").await;
}

/// What the scripted agent was told, in the order of the texts that were typed.
#[tokio::test]
#[expect(clippy::too_many_lines, reason = "one table")]
async fn what_people_type_for_yes_and_no_is_understood() {
    let gateway = Gateway::start().await;
    let mut front = Frontend::open(gateway.addr, None).await;
    let yes = [
        "はい",
        "はい。",
        "ハイ",
        "ﾊｲ",
        "はい！",
        "はーい",
        "うん",
        "いいよ",
        "お願いします",
        "はい、お願いします。",
        "やっていいよ",
        "ＯＫ",
        "OK",
        "ok.",
        "OKです",
        "ｏｋです。",
        "イエス！",
        "実行してください",
        "Sounds good, proceed.",
        "オッケー",
        "了解です",
        "許可します",
        "yes!",
        "Yes",
        "ｙｅｓ",
        "Sure.",
        "go ahead",
        "👍",
        "2番 はい",
    ];
    let no = [
        "いいえ",
        "いいえ。",
        "イイエ",
        "だめ",
        "ダメです！",
        "ﾀﾞﾒ",
        "やめて",
        "やめてください。",
        "許可しません",
        "no",
        "No thanks",
        "no, thank you.",
        "NOPE",
        "キャンセル",
        "NGです",
        "abort!",
        "いいえ、結構です",
    ];
    let texts = yes.map(|text| (text, true)).into_iter().chain(no.map(|text| (text, false)));
    for (number, (text, allowed)) in (1..).zip(texts) {
        front.type_in("1", "ask x").await;
        text_of(&mut front.agents[0], &format!("[{number}] ")).await;
        let typed = text.replace("2番", &format!("{number}番"));
        front.type_in("1", &typed).await;
        let told = text_of(&mut front.agents[0], &format!("[{number}] ")).await;
        let expected = if allowed { "許可しました" } else { "許可しませんでした" };
        assert!(told.contains(expected), "{text}: {told}");
        front.agents[0].until_where(|packet| packet[BODY] == "<<< 処理終了 >>>").await;
    }
}

/// The next text of the gateway or an agent that begins like this.
async fn text_of(pane: &mut Client, beginning: &str) -> String {
    let begins = |packet: &Value| {
        packet[KIND] == "output_text"
            && packet[BODY].as_str().is_some_and(|text| text.starts_with(beginning))
    };
    pane.until_where(begins).await[BODY].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn an_unclear_answer_is_a_request_with_a_hint() {
    let gateway = Gateway::start().await;
    let mut front = Frontend::open(gateway.addr, None).await;
    front.type_in("1", "ask x").await;
    text_of(&mut front.agents[0], "[1] ").await;
    // All of these can mean both, or more.
    for text in [
        "いいです",
        "結構です",
        "大丈夫です",
        "いい",
        "はい？",
        "no problem",
        "yes and no",
        "はい、でも後で",
    ] {
        front.type_in("1", text).await;
        let queued = front.agents[0].until_where(|packet| packet.get("待ち順").is_some()).await;
        assert_eq!(queued[KIND], "output_text");
        let hint = front.agents[0].next().await;
        assert_eq!(hint[KIND], "output_text", "{hint}");
        let hint = hint[BODY].as_str().unwrap();
        assert!(hint.contains("質問 1 ") && hint.contains("はい 1"), "{text}: {hint}");
    }
    front.type_in("1", "いいえ").await;
    let told = text_of(&mut front.agents[0], "[1] ").await;
    assert!(told.contains("許可しませんでした"), "{told}");
    // Nothing is open any more: a yes is a request, and no hint is needed.
    front.type_in("2", "はい").await;
    let packets = front.agents[1].collect_until(|packet| packet[KIND] == "output_text").await;
    assert_eq!(packets.last().unwrap()[BODY], "done");
}

#[tokio::test]
async fn a_question_is_answered_in_the_chat_where_the_work_was_asked_for() {
    let gateway = Gateway::start().await;
    let mut front = Frontend::open(gateway.addr, None).await;
    let more = json!({"機能": ["confirm"]});
    let mut dialog = Client::open_with(gateway.addr, "0", Some(front.session()), more).await;
    dialog.until("welcome_text").await;
    front.type_in_chat("Code2", "ask x").await;
    let question = text_of(&mut front.chat, "[1] ").await;
    assert!(question.contains("エージェント 2") && question.contains("Code2"), "{question}");
    // Neither the chat model nor another agent is asked, so the answer is none to them.
    front.type_in_chat("Chat", "はい").await;
    text_of(&mut front.chat, "echo: はい").await;
    front.type_in_chat("Code3", "はい").await;
    front.agents[2].until_where(|packet| packet[BODY] == "<<< 処理終了 >>>").await;
    front.type_in_chat("Code2", "どうしようかな").await;
    let hint = text_of(&mut front.chat, "エージェント 2 は質問 1 ").await;
    assert!(hint.contains("はい 1"), "{hint}");
    front.type_in_chat("Code2", "はい。").await;
    assert_eq!(
        text_of(&mut front.chat, "エージェント 2: [1] ").await,
        "エージェント 2: [1] 許可しました。"
    );
    text_of(&mut front.agents[1], "[1] 許可しました").await;
    let answer = front.chat.until("output_request").await;
    assert_eq!(answer["出力元チャンネル"], "2");
    // Whoever has a dialog for it is not told in words, too.
    let told = dialog.collect_until(|packet| packet["出力元チャンネル"] == "2").await;
    let texts: Vec<&str> = told.iter().filter_map(|packet| packet[BODY].as_str()).collect();
    assert!(
        texts.contains(&"はい。") && !texts.iter().any(|text| text.contains("[1]")),
        "{texts:?}"
    );
    // What was asked for in the agent's own pane is not the chat's business, but may be answered from there.
    front.type_in("4", "ask x").await;
    text_of(&mut front.agents[3], "[1] ").await;
    front.type_in_chat("Code4", "だめ").await;
    let told = text_of(&mut front.chat, "エージェント 4: ").await;
    assert!(told.contains("許可しませんでした"), "{told}");
}

#[tokio::test]
async fn what_is_dangerous_is_allowed_by_a_second_yes_with_its_number() {
    let home = Home::new();
    let process = gateway(&home);
    let mut front = Frontend::open(process.addr, None).await;
    let call = json!({"title": "Delete", "kind": "delete", "rawInput": {"path": "a.txt"}});
    let ask = async |front: &mut Frontend, number: u32| {
        front.type_in("1", &format!("ask-call {call}")).await;
        let question = text(&mut front.agents[0], &format!("[{number}] The agent asks")).await;
        assert!(question.contains("CRITICAL"), "{question}");
    };
    ask(&mut front, 1).await;
    for answer in ["ok!", "yes", "sure"] {
        front.type_in("1", answer).await;
        text(&mut front.agents[0], "[1] This is dangerous").await;
    }
    front.type_in("1", "yes 1").await;
    text(&mut front.agents[0], "[1] Allowed").await;
    // The number alone is no second yes, and a no needs none.
    ask(&mut front, 2).await;
    front.type_in("1", "yes 2").await;
    text(&mut front.agents[0], "[2] This is dangerous").await;
    front.type_in("1", "no").await;
    text(&mut front.agents[0], "[2] Not allowed").await;
}

/// A call with a difference, whose input says more than that.
fn call_with_a_difference(input: &Value) -> String {
    let diff = json!({"type": "diff", "path": "a.txt", "oldText": "old\n", "newText": "new\n"});
    let call = json!({"title": "Edit", "kind": "edit", "rawInput": input, "content": [diff]});
    format!("ask-call {call}")
}

#[tokio::test]
async fn a_question_in_words_says_as_much_as_a_dialog() {
    let home = Home::new();
    let process = gateway(&home);
    let mut front = Frontend::open(process.addr, None).await;
    let request = call_with_a_difference(&json!({"mode": "0777", "path": "a.txt"}));
    front.type_in("1", &request).await;
    let question = text(&mut front.agents[0], "asks for permission").await;
    let lines: Vec<&str> = question.lines().collect();
    assert_eq!(
        lines[..3],
        [
            "[1] The agent asks for permission: Edit",
            "WARN: risk: state_modifying",
            r#"{"mode":"0777","path":"a.txt"}"#
        ]
    );
    assert!(question.contains("\n-old\n+new\n"), "{question}");
    assert!(lines.last().unwrap().contains("within 300 seconds"), "{question}");
    front.type_in("1", "no").await;
    text(&mut front.agents[0], "[1] Not allowed").await;
    // A long input does not push the difference away.
    let long = json!({"note": "x".repeat(5_000), "path": "a.txt"});
    front.type_in("1", &call_with_a_difference(&long)).await;
    let question = text(&mut front.agents[0], "asks for permission").await;
    let missing = long.to_string().len() - 2048;
    assert!(question.contains(&format!("[... {missing} more bytes that are not shown here]")));
    assert!(question.contains("\n-old\n+new\n") && question.len() < 3_000, "{question}");
}

#[tokio::test]
async fn numbers_of_questions_go_on_after_a_restart() {
    let home = Home::new();
    let process = gateway(&home);
    let mut front = Frontend::open(process.addr, None).await;
    let session = front.session().to_owned();
    front.type_in("1", "ask-both").await;
    text(&mut front.agents[0], "[2] The agent asks").await;
    process.kill();
    let process = gateway(&home);
    let mut front = Frontend::open(process.addr, Some(&session)).await;
    front.type_in("1", "ask").await;
    text(&mut front.agents[0], "[3] The agent asks").await;
    // What was typed for a question of before decides nothing.
    front.type_in("1", "yes 1").await;
    text(&mut front.agents[0], "Nothing was decided").await;
    // Each agent counts for itself.
    choose(&process, &session, "CODE_AI2_NAME", "test").await;
    front.type_in("2", "ask").await;
    text(&mut front.agents[1], "[1] The agent asks").await;
}

async fn choose(process: &Process, session: &str, name: &str, value: &str) {
    let body = json!({SESSION: session, "モデル設定": {name: value}});
    let answer = post("/core/AIコア/モデル情報/設定", &body).local().send(process.addr).await;
    assert_eq!(answer.status, 200, "{name} {value}");
}

/// Whether the user is asked; if so, the answer is for always.
async fn is_asked(front: &mut Panes) -> bool {
    front.type_in(1, "ask").await;
    // Answers have the number of their run, notices have none.
    let answers = |packet: &Value| packet[KIND] == "output_text" && packet["実行番号"].is_number();
    let found = |packet: &Value| packet[KIND] == "confirm_request" || answers(packet);
    let packet = front.pane(1).until_where(found).await;
    if packet[KIND] == "output_text" {
        return false;
    }
    let always = json!({"id": packet[BODY]["id"], "承認": true, "常に": true});
    front.input.send(&json!({KIND: "confirm_answer", BODY: always})).await;
    front.pane(1).until_where(answers).await;
    true
}

#[tokio::test]
async fn always_holds_for_one_agent_in_one_place() {
    let home = Home::new();
    for arguments in [&["init", "-q"][..], &["commit", "-q", "--allow-empty", "-m", "start"]] {
        let mut git = Command::new("git");
        git.args(["-c", "user.name=a", "-c", "user.email=a@b"]).args(arguments);
        assert!(git.current_dir(home.project.path()).status().unwrap().success());
    }
    let process = gateway(&home);
    let mut front = Panes::open(process.addr, None).await;
    let session = front.session();
    assert!(is_asked(&mut front).await);
    assert!(!is_asked(&mut front).await);
    // Another agent is not trusted for the first one's sake, and neither is that one when it comes back.
    choose(&process, &session, "CODE_AI1_NAME", "other").await;
    assert!(is_asked(&mut front).await);
    choose(&process, &session, "CODE_AI1_NAME", "test").await;
    assert!(is_asked(&mut front).await);
    assert!(!is_asked(&mut front).await);
    choose(&process, &session, "CODE_AI1_NAME", "other").await;
    choose(&process, &session, "CODE_AI1_NAME", "test").await;
    assert!(is_asked(&mut front).await);
    // In the project itself the same change is another one.
    choose(&process, &session, "CODE_AI1_PLACE", "shared").await;
    text(front.pane(1), "works in the project itself now").await;
    assert!(is_asked(&mut front).await);
    assert!(!is_asked(&mut front).await);
}

/// How agent 1 has been answered.
fn settlements(packets: &[Value]) -> Vec<&str> {
    let texts = packets.iter().filter(|packet| packet[KIND] == "output_text");
    texts
        .filter_map(|packet| packet[BODY].as_str())
        .filter(|text| text.contains("許可し"))
        .collect()
}

/// Every other way in which the word can come. See live_gemini.rs for what a live model says and wants.
#[tokio::test]
async fn only_what_a_user_types_answers_a_question() {
    let gateway = Gateway::start().await;
    let mut front = Frontend::open(gateway.addr, None).await;
    front.type_in("1", "ask x").await;
    text_of(&mut front.agents[0], "[1] ").await;
    let yes = base64_simd::STANDARD.encode_to_string("はい");
    // An attachment, by what is in it and by its name, on the pane and with a text.
    for channel in ["1", "0"] {
        let file = json!({CHANNEL: channel, KIND: "input_file", BODY: yes, "ファイル名": "はい"});
        front.input.send(&file).await;
    }
    front.chat.until("input_file").await;
    // A request of a program, and what is in the fields of a packet beside its text.
    front.input.send(&json!({CHANNEL: "1", KIND: "input_request", BODY: "はい"})).await;
    front.agents[0].until_where(|packet| packet.get("待ち順").is_some()).await;
    let beside = json!({CHANNEL: "1", KIND: "input_text", BODY: "say later", "ファイル名": "はい", "出力先チャンネル": "1"});
    front.input.send(&beside).await;
    front.input.send(&json!({KIND: "operations", BODY: {"ボタン": {"はい": "はい"}}})).await;
    // What another agent says, what its tool prints and what it writes.
    front.type_in("2", "say はい\nrun echo はい\nwrite はい.txt はい\nはい").await;
    front.agents[1].until_where(|packet| packet[BODY] == "<<< 処理終了 >>>").await;
    // What the chat model says, and what is said to the live model.
    front.type_in("0", "はい").await;
    front.chat.until_where(|packet| packet[BODY].to_string().contains("echo: はい")).await;
    front.type_in_chat("Live", "はい").await;
    front.chat.until_where(|packet| packet[BODY].to_string().contains("echo: はい")).await;
    // A socket that only reads.
    let more = json!({"閲覧": true});
    let mut viewer = Client::open_with(gateway.addr, "input", Some(front.session()), more).await;
    viewer.send(&json!({CHANNEL: "1", KIND: "input_text", BODY: "はい"})).await;
    assert_eq!(viewer.until("error").await["コード"], "read_only");
    // The question has waited for its user all the time.
    front.type_in("1", "いいえ").await;
    let packets = front.agents[0].collect_until(|packet| packet[BODY] == "<<< 処理終了 >>>").await;
    assert_eq!(settlements(&packets), ["[1] 許可しませんでした。"], "{packets:?}");
}
