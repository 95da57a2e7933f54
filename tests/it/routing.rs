//! Where a packet goes: both ways of naming a destination, and what each pane shows of it.

use crate::support::{BODY, CHANNEL, Client, Frontend, Gateway, KIND, brief, seq};
use serde_json::{Value, json};

const TARGET: &str = "出力先チャンネル";
const MODE: &str = "送信モード";
const FILE_NAME: &str = "ファイル名";

fn row(kind: &str, body: &str) -> (String, String) {
    (kind.to_owned(), body.to_owned())
}

fn is(kind: &'static str) -> impl Fn(&Value) -> bool {
    move |packet| packet[KIND] == kind
}

#[tokio::test]
async fn chat_is_reached_in_both_forms() {
    let gateway = Gateway::start().await;
    let mut front = Frontend::open(gateway.addr, None).await;
    for packet in [
        json!({CHANNEL: "0", MODE: "Chat", KIND: "input_text", BODY: "one  two"}),
        json!({CHANNEL: "input", TARGET: "0", FILE_NAME: "chat", KIND: "input_text", BODY: "one  two"}),
        json!({CHANNEL: "0", KIND: "input_text", "text": "one  two"}),
        json!({CHANNEL: 0, MODE: "chat", KIND: "input_text", BODY: "one  two"}),
    ] {
        front.input.send(&packet).await;
        let seen = front.chat.collect_until(is("output_text")).await;
        let expected = [row("input_text", "one  two"), row("output_text", "echo: one  two")];
        assert_eq!(brief(&seen), expected, "{packet}");
    }
}

#[tokio::test]
async fn an_answer_comes_piece_by_piece_to_those_who_want_it() {
    let gateway = Gateway::start().await;
    let mut front = Frontend::open(gateway.addr, None).await;
    let more = json!({"機能": ["stream", "hologram"]});
    let mut keen = Client::open_with(gateway.addr, "0", Some(front.session()), more).await;
    keen.until("welcome_text").await;
    front.type_in("0", "hello").await;
    let pieces = keen.collect_until(is("output_text")).await;
    let whole = pieces.last().unwrap();
    let streamed: String = pieces
        .iter()
        .filter(|packet| packet[KIND] == "output_stream")
        .map(|packet| {
            assert_eq!(packet["実行番号"], whole["実行番号"], "{packet}");
            assert!(packet["連番"].is_null(), "{packet}");
            packet[BODY].as_str().unwrap()
        })
        .collect();
    assert_eq!(json!(streamed), whole[BODY]);
    // Others see what they always did.
    let plain = front.chat.collect_until(is("output_text")).await;
    assert_eq!(brief(&plain), [row("input_text", "hello"), row("output_text", "echo: hello")]);
    gateway.stop().await;
}

#[tokio::test]
async fn an_agent_pane_shows_the_whole_run_in_order() {
    let gateway = Gateway::start().await;
    let mut front = Frontend::open(gateway.addr, None).await;
    for packet in [
        json!({CHANNEL: "2", KIND: "input_text", BODY: "stream 2\nsay well\nhello"}),
        json!({CHANNEL: "input", TARGET: "2", FILE_NAME: "code", KIND: "input_text", BODY: "stream 2\nsay well\nhello"}),
    ] {
        front.input.send(&packet).await;
        let seen = front.agents[1].collect_until(is("output_text")).await;
        let expected = [
            row("input_text", "stream 2\nsay well\nhello"),
            row("output_stream", "<<< 処理開始 >>>"),
            row("output_stream", "line 1"),
            row("output_stream", "line 2"),
            row("output_stream", "hello"),
            row("output_stream", "<<< 処理終了 >>>"),
            row("output_text", "well"),
        ];
        assert_eq!(brief(&seen), expected);
        assert!(seen.iter().all(|packet| packet[CHANNEL] == "2"));
    }
}

#[tokio::test]
async fn a_request_from_the_chat_is_answered_in_the_chat_and_reported() {
    let gateway = Gateway::start().await;
    let mut front = Frontend::open(gateway.addr, None).await;
    front
        .input
        .send(&json!({CHANNEL: "0", MODE: "Code3", KIND: "input_text", BODY: "say built"}))
        .await;
    let agent = front.agents[2].collect_until(is("output_text")).await;
    assert_eq!(brief(&agent)[0], row("input_request", "say built"));
    assert_eq!(brief(&agent).last(), Some(&row("output_text", "built")));
    let chat = front.chat.collect_until(is("output_request")).await;
    assert_eq!(brief(&chat), [row("input_text", "say built"), row("output_request", "built")]);
    let reports = [front.input.next().await, front.input.next().await];
    assert!(
        reports.iter().all(|report| report[KIND] == "input_text" && report[CHANNEL] == "input")
    );
    assert!(reports[1][BODY].as_str().unwrap().contains("built"));
}

#[tokio::test]
async fn input_request_finds_its_agent_in_every_form() {
    let gateway = Gateway::start().await;
    let mut front = Frontend::open(gateway.addr, None).await;
    for (packet, agent) in [
        (json!({KIND: "input_request", BODY: "say x"}), 0),
        (json!({KIND: "input_request", TARGET: "2", BODY: "say x"}), 1),
        (json!({KIND: "input_request", CHANNEL: "3", BODY: "say x"}), 2),
        (json!({KIND: "input_request", CHANNEL: "0", MODE: "Code4", "text": "say x"}), 3),
        (json!({KIND: "input_request", CHANNEL: "input", TARGET: "4", BODY: "say x"}), 3),
        (json!({KIND: "input_request", CHANNEL: "0", TARGET: "2", BODY: "", "text": "say x"}), 1),
    ] {
        front.input.send(&packet).await;
        let seen = front.agents[agent].collect_until(is("output_text")).await;
        assert_eq!(brief(&seen)[0], row("input_request", "say x"), "{packet}");
        let answer = front.chat.until("output_request").await;
        assert_eq!(
            (&answer[BODY], &answer["出力元チャンネル"]),
            (&json!("x"), &json!((agent + 1).to_string()))
        );
    }
}

#[tokio::test]
async fn live_text_is_echoed_only_where_there_is_a_pane() {
    let gateway = Gateway::start().await;
    let mut front = Frontend::open(gateway.addr, None).await;
    front.input.send(&json!({CHANNEL: "input", KIND: "input_text", BODY: "silent"})).await;
    let seen = front.chat.collect_until(is("output_text")).await;
    assert_eq!(brief(&seen), [row("output_text", "echo: silent")]);
    for packet in [
        json!({CHANNEL: "0", MODE: "Live", KIND: "input_text", BODY: "seen"}),
        json!({CHANNEL: "input", TARGET: "0", FILE_NAME: "live", KIND: "input_text", BODY: "seen"}),
    ] {
        front.input.send(&packet).await;
        let seen = front.chat.collect_until(is("output_text")).await;
        assert_eq!(brief(&seen), [row("input_text", "seen"), row("output_text", "echo: seen")]);
    }
    assert_eq!(front.audio.next().await[KIND], "output_audio");
}

#[tokio::test]
async fn files_are_stored_echoed_listed_and_attached() {
    let gateway = Gateway::start().await;
    let mut front = Frontend::open(gateway.addr, None).await;
    let png = picture(640, 320);
    let bare = base64_simd::STANDARD.encode_to_string(&png);
    let url = format!("data:image/png;base64,{bare}");
    for (packet, pane) in [
        (json!({CHANNEL: "0", KIND: "input_file", BODY: bare, FILE_NAME: "図.png"}), None),
        (json!({CHANNEL: "2", KIND: "input_file", BODY: url, FILE_NAME: "図.png"}), Some(1)),
        (
            json!({CHANNEL: "input", TARGET: "0", KIND: "input_file", BODY: bare, FILE_NAME: "図.png"}),
            None,
        ),
    ] {
        front.input.send(&packet).await;
        let pane: &mut Client = match pane {
            Some(agent) => &mut front.agents[agent],
            None => &mut front.chat,
        };
        let echo = pane.until("input_file").await;
        assert!(echo[BODY].as_str().unwrap().ends_with("図.png"));
        let path = echo[FILE_NAME].as_str().unwrap();
        assert!(
            path.starts_with("temp/input/") && path.contains(".図.") && path.ends_with(".png"),
            "{path}"
        );
        let stored =
            gateway.home.data.path().join("temp/local").join(path.strip_prefix("temp/").unwrap());
        assert_eq!(std::fs::read(stored).unwrap(), png);
        let thumbnail =
            base64_simd::STANDARD.decode_to_vec(echo["サムネイル画像"].as_str().unwrap()).unwrap();
        let small = image::load_from_memory(&thumbnail).unwrap();
        assert_eq!((small.width(), small.height()), (320, 160));
        assert!(seq(&echo) > 0);
    }
    front.type_in("0", "what is it").await;
    let said = front.chat.until("input_text").await;
    assert!(said[BODY].as_str().unwrap().contains("what is it\n[ファイル添付: temp/input/"));
    assert!(front.chat.until("output_text").await[BODY].as_str().unwrap().contains("[file "));
    front.input.send(&json!({CHANNEL: "file", KIND: "files_temp", BODY: ""})).await;
    let list = front.file.until("files_temp").await;
    assert_eq!(list[BODY]["ファイルリスト"].as_array().unwrap().len(), 3);
    assert!(list[BODY]["作業ファイル日時"].as_str().unwrap().contains('/'));
}

#[tokio::test]
async fn a_picture_for_the_live_model_is_seen_by_it() {
    let gateway = Gateway::start().await;
    let mut front = Frontend::open(gateway.addr, None).await;
    let image = base64_simd::STANDARD.encode_to_string(picture(64, 32));
    let packet = json!({CHANNEL: "input", TARGET: "0", KIND: "input_image", BODY: "image/jpeg", FILE_NAME: image});
    front.input.send(&packet).await;
    assert_eq!(front.chat.until("output_text").await[BODY], "echo: image 64x32");
    let broken = json!({KIND: "input_image", BODY: "image/jpeg", FILE_NAME: "AAAA"});
    front.input.send(&broken).await;
    assert_eq!(front.input.until("error").await["コード"], "file_refused");
}

#[tokio::test]
async fn lists_are_answered_where_they_were_asked_for() {
    let gateway = Gateway::start().await;
    std::fs::write(gateway.project().join("catalog.md"), "x").unwrap();
    std::fs::create_dir(gateway.project().join("node_modules")).unwrap();
    std::fs::write(gateway.project().join("node_modules/left.js"), "x").unwrap();
    let mut front = Frontend::open(gateway.addr, None).await;
    front.input.send(&json!({CHANNEL: "file", KIND: "files_backup", BODY: ""})).await;
    let list = front.file.until("files_backup").await;
    let files = list[BODY]["ファイルリスト"].as_array().unwrap().clone();
    assert_eq!(files.len(), 1);
    assert_eq!(files[0]["パス"], "catalog.md");
    front.input.send(&json!({CHANNEL: "0", KIND: "files_backup", BODY: ""})).await;
    assert_eq!(front.chat.until("files_backup").await[CHANNEL], "0");
}

#[tokio::test]
async fn an_answer_without_a_file_socket_waits_for_one() {
    let gateway = Gateway::start().await;
    let mut input = Client::open(gateway.addr, "input", None).await;
    input.send(&json!({CHANNEL: "file", KIND: "files_temp", BODY: "", "要求番号": "1"})).await;
    input.until("ack").await;
    let mut file = Client::open(gateway.addr, "file", Some(input.session())).await;
    assert_eq!(file.until("files_temp").await[BODY]["ファイルリスト"], json!([]));
}

#[tokio::test]
async fn switches_are_remembered_and_merged() {
    let gateway = Gateway::start().await;
    let mut input = Client::open(gateway.addr, "input", None).await;
    let session = input.session().to_owned();
    input.send(&json!({CHANNEL: null, KIND: "operations", BODY: {"ボタン": {"マイク": true, "チャットモード": "code1"}}})).await;
    input.send(&json!({KIND: "operations", BODY: {"ボタン": {"マイク": false, "カメラ": true}}, "要求番号": 7})).await;
    // The number comes back as it was sent.
    assert_eq!(input.until("ack").await["要求番号"], 7);
    let again = Client::open(gateway.addr, "input", Some(&session)).await;
    let expected =
        json!({"スピーカー": true, "マイク": false, "カメラ": true, "チャットモード": "code1"});
    assert_eq!(again.init[BODY]["ボタン"], expected);
    input.send(&json!({KIND: "operations", BODY: {"ボタン": 3}})).await;
    assert_eq!(input.until("error").await["コード"], "bad_field");
}

pub(crate) fn picture(width: u32, height: u32) -> Vec<u8> {
    let mut png = std::io::Cursor::new(Vec::new());
    image::DynamicImage::new_rgb8(width, height)
        .write_to(&mut png, image::ImageFormat::Png)
        .unwrap();
    png.into_inner()
}
