//! OpenAI Realtime behind a session, over real sockets: a server of ours speaks the vendor's JSON.

use crate::http;
use crate::routing::picture;
use crate::support::{BODY, CHANNEL, Frontend, Gateway, KIND, SESSION};
use crate::turns::{RATE, received};
use futures_util::{SinkExt, StreamExt};
use kakehashi::provider::row::{ChatKey, LiveKind, LiveModel, Secret};
use serde_json::{Value, json};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::{WebSocketStream, accept_async};

const LONG: Duration = Duration::from_secs(30);

/// A server of the vendor, and its first connection.
pub(crate) struct Vendor {
    pub(crate) listener: TcpListener,
}

pub(crate) struct Call(WebSocketStream<TcpStream>);

impl Vendor {
    pub(crate) async fn start() -> Self {
        Self { listener: TcpListener::bind("127.0.0.1:0").await.unwrap() }
    }

    pub(crate) fn row(&self, name: &str) -> LiveModel {
        let secret = Some(Secret::new("sk-live"));
        LiveModel {
            name: name.to_owned(),
            label: name.to_owned(),
            kind: LiveKind::OpenAi,
            base_url: format!("ws://{}/v1", self.listener.local_addr().unwrap()),
            model: "gpt-realtime".to_owned(),
            voice: None,
            key: Some(ChatKey { variable: "TEST_LIVE_KEY".to_owned(), secret }),
            language: None,
            transcription: None,
        }
    }

    pub(crate) async fn answer(&self) -> Call {
        self.answer_with_setup().await.0
    }

    /// The same, with how the conversation is wanted.
    pub(crate) async fn answer_with_setup(&self) -> (Call, Value) {
        let (stream, _) = timeout(LONG, self.listener.accept()).await.unwrap().unwrap();
        let mut call = Call(accept_async(stream).await.unwrap());
        call.say(json!({"type": "session.created", "session": {}})).await;
        let wanted = call.until("session.update").await;
        call.say(json!({"type": "session.updated", "session": {}})).await;
        (call, wanted)
    }
}

impl Call {
    pub(crate) async fn say(&mut self, event: Value) {
        self.0.send(Message::text(event.to_string())).await.unwrap();
    }

    pub(crate) async fn until(&mut self, kind: &str) -> Value {
        loop {
            let next = timeout(LONG, self.0.next()).await.unwrap().unwrap().unwrap();
            if let Message::Text(text) = next {
                let event: Value = serde_json::from_str(&text).unwrap();
                if event["type"] == kind {
                    return event;
                }
            }
        }
    }

    /// The size of what it is shown, before anything else.
    async fn picture(&mut self) -> (u32, u32) {
        let item = self.until("conversation.item.create").await;
        let content = &item["item"]["content"][0];
        assert_eq!(content["type"], "input_image", "{item}");
        let url = content["image_url"].as_str().unwrap();
        size(url.strip_prefix("data:image/jpeg;base64,").unwrap())
    }

    /// The other side ends the conversation.
    pub(crate) async fn hangs_up(&mut self) {
        let end = async { while let Some(Ok(_)) = self.0.next().await {} };
        timeout(LONG, end).await.expect("it goes on");
    }

    /// A whole answer of so many tenths of a second.
    pub(crate) async fn reply(&mut self, text: &str, tenths: usize) {
        self.until("response.create").await;
        self.say(json!({"type": "response.created", "response": {"id": "r"}})).await;
        let part = |kind: &str, delta: &str| json!({"type": kind, "response_id": "r", "item_id": "i", "delta": delta});
        self.say(part("response.output_audio_transcript.delta", text)).await;
        let pcm = base64_simd::STANDARD.encode_to_string(vec![1; 4_800 * tenths]);
        self.say(part("response.output_audio.delta", &pcm)).await;
        let done = json!({"id": "r", "status": "completed", "output": []});
        self.say(json!({"type": "response.done", "response": done})).await;
    }
}

async fn write(front: &mut Frontend, text: &str) {
    let live = json!({CHANNEL: "0", "送信モード": "Live", KIND: "input_text", BODY: text});
    front.input.send(&live).await;
}

#[tokio::test]
async fn a_written_question_is_answered_aloud() {
    let vendor = Vendor::start().await;
    let row = vendor.row("openai_live");
    let gateway = Gateway::start_with(|config| config.add_live(vec![row]).unwrap()).await;
    let mut front = Frontend::open(gateway.addr, None).await;
    write(&mut front, "hello").await;
    let mut call = vendor.answer().await;
    let item = call.until("conversation.item.create").await;
    assert_eq!(item["item"]["content"][0]["text"], "hello");
    call.reply("hi there", 3).await;
    front.audio.until("output_audio").await;
    assert_eq!(front.chat.until("recognition_output").await[BODY], "hi there");
}

/// Sends a picture to the chat, as a file.
pub(crate) async fn send_picture(front: &mut Frontend, width: u32, height: u32) {
    let data = base64_simd::STANDARD.encode_to_string(picture(width, height));
    let file = json!({CHANNEL: "0", KIND: "input_file", BODY: data, "ファイル名": "a.png"});
    front.input.send(&file).await;
    front.chat.until("input_file").await;
}

/// Width and height of a JPEG.
pub(crate) fn size(base64: &str) -> (u32, u32) {
    let jpeg = base64_simd::STANDARD.decode_to_vec(base64).unwrap();
    let image = image::load_from_memory_with_format(&jpeg, image::ImageFormat::Jpeg).unwrap();
    (image.width(), image.height())
}

#[tokio::test]
async fn a_picture_of_the_chat_is_seen_before_the_question_about_it() {
    let vendor = Vendor::start().await;
    let row = vendor.row("openai_live");
    let gateway = Gateway::start_with(|config| config.add_live(vec![row]).unwrap()).await;
    let mut front = Frontend::open(gateway.addr, None).await;
    send_picture(&mut front, 1_920, 1_080).await;
    write(&mut front, "what is it").await;
    let mut call = vendor.answer().await;
    assert_eq!(call.picture().await, (960, 540));
    let item = call.until("conversation.item.create").await;
    assert_eq!(item["item"]["content"][0]["text"], "what is it");
    call.reply("a square", 2).await;
    assert_eq!(front.chat.until("recognition_output").await[BODY], "a square");
    // Who is there sees it at once, and a text for the chat still has it.
    send_picture(&mut front, 64, 32).await;
    assert_eq!(call.picture().await, (64, 32));
    front.type_in("0", "and you").await;
    let echo = front.chat.until("input_text").await;
    assert!(echo[BODY].as_str().unwrap().contains("[ファイル添付: temp/input/"), "{echo}");
}

#[tokio::test]
async fn a_picture_that_went_with_a_text_for_the_chat_is_not_shown_to_a_later_model() {
    let vendor = Vendor::start().await;
    let row = vendor.row("openai_live");
    let gateway = Gateway::start_with(|config| config.add_live(vec![row]).unwrap()).await;
    let mut front = Frontend::open(gateway.addr, None).await;
    send_picture(&mut front, 64, 32).await;
    front.type_in("0", "what is it").await;
    let answer = front.chat.until("output_text").await;
    assert!(answer[BODY].as_str().unwrap().contains("[file "), "{answer}");
    write(&mut front, "hello").await;
    let mut call = vendor.answer().await;
    loop {
        let item = call.until("conversation.item.create").await;
        let content = &item["item"]["content"][0];
        assert_ne!(content["type"], "input_image", "{item}");
        if content["text"] == "hello" {
            return;
        }
    }
}

#[tokio::test]
async fn a_stop_by_the_user_cuts_the_transcript() {
    let vendor = Vendor::start().await;
    let row = vendor.row("openai_live");
    let gateway = Gateway::start_with(|config| config.add_live(vec![row]).unwrap()).await;
    let mut front = Frontend::open(gateway.addr, None).await;
    write(&mut front, "a story").await;
    let mut call = vendor.answer().await;
    let words = vec!["word"; 200].join(" ");
    call.reply(&words, 600).await;
    // It is sent as it is played.
    received(&mut front.audio, 2 * RATE).await;
    front.audio.send(&json!({CHANNEL: "audio", KIND: "cancel_audio", BODY: null})).await;
    let cut = call.until("conversation.item.truncate").await;
    let end = cut["audio_end_ms"].as_u64().unwrap();
    assert!((500..20_000).contains(&end), "{end}");
    let told = front.chat.until("recognition_output").await;
    let said = told[BODY].as_str().unwrap();
    assert!(!said.is_empty() && said.len() < words.len() / 2, "{said}");
}

#[tokio::test]
async fn another_model_goes_on_with_the_conversation() {
    let (one, two) = (Vendor::start().await, Vendor::start().await);
    let rows = vec![one.row("one"), two.row("two")];
    let gateway = Gateway::start_with(|config| config.add_live(rows).unwrap()).await;
    let mut front = Frontend::open(gateway.addr, None).await;
    write(&mut front, "hello").await;
    let mut call = one.answer().await;
    call.reply("one here", 2).await;
    assert_eq!(front.chat.until("recognition_output").await[BODY], "one here");
    drop(call.0.close(None).await);
    // The vendor is gone for good, so the other one goes on.
    drop(one);
    let mut call = two.answer().await;
    write(&mut front, "and now").await;
    call.reply("two here", 2).await;
    assert_eq!(front.chat.until("recognition_output").await[BODY], "two here");
}

/// Another setting of this session.
async fn set(gateway: &Gateway, front: &Frontend, name: &str, value: &str) {
    let body = json!({SESSION: front.session(), "モデル設定": {name: value}});
    let post = http::post("/core/AIコア/モデル情報/設定", &body).local();
    assert_eq!(post.send(gateway.addr).await.json()["status"], "OK");
}

#[tokio::test]
async fn a_model_that_is_chosen_later_knows_what_was_said_to_the_last_word() {
    let (one, two) = (Vendor::start().await, Vendor::start().await);
    let rows = vec![one.row("one"), two.row("two")];
    let gateway = Gateway::start_with(|config| config.add_live(rows).unwrap()).await;
    let mut front = Frontend::open(gateway.addr, None).await;
    front.input.send(&json!({CHANNEL: "0", KIND: "input_text", BODY: "in the chat"})).await;
    front.chat.until_where(|packet| packet[BODY] == "echo: in the chat").await;
    write(&mut front, "a story").await;
    let mut call = one.answer().await;
    let words = vec!["word"; 200].join(" ");
    call.reply(&words, 600).await;
    // It is sent as it is played.
    received(&mut front.audio, 2 * RATE).await;
    // In the middle of its answer.
    set(&gateway, &front, "LIVE_AI_NAME", "two").await;
    let told = front.chat.until("recognition_output").await;
    let heard = told[BODY].as_str().unwrap().to_owned();
    assert!(!heard.is_empty() && heard.len() < words.len() / 2, "{heard}");
    front.audio.until("cancel_audio").await;
    write(&mut front, "and now").await;
    let mut call = two.answer().await;
    let mut said = Vec::new();
    while said.last().is_none_or(|last| last != "and now") {
        let item = call.until("conversation.item.create").await;
        said.push(item["item"]["content"][0]["text"].as_str().unwrap().to_owned());
    }
    assert_eq!(said, ["in the chat", "echo: in the chat", "a story", &heard, "and now"]);
    call.reply("two here", 2).await;
    front.audio.until("output_audio").await;
    assert_eq!(front.chat.until("recognition_output").await[BODY], "two here");
}

#[tokio::test]
async fn a_microphone_left_on_does_not_fill_the_chat_with_failures() {
    let vendor = Vendor::start().await;
    let row = vendor.row("refusing");
    tokio::spawn(refuse(vendor.listener));
    let gateway = Gateway::start_with(|config| config.add_live(vec![row]).unwrap()).await;
    let mut front = Frontend::open(gateway.addr, None).await;
    let sound = base64_simd::STANDARD.encode_to_string([0; 1_920]);
    let packet = json!({CHANNEL: "audio", KIND: "input_audio", BODY: "audio/pcm;rate=24000",
        "ファイル名": sound});
    for _ in 0..100 {
        front.audio.send(&packet).await;
    }
    front.chat.until_where(|packet| packet[BODY].to_string().contains("音声モデル")).await;
    for _ in 0..100 {
        front.audio.send(&packet).await;
    }
    // Answered behind everything that the sound has led to.
    let mut last = packet.clone();
    last["要求番号"] = json!("last");
    front.audio.send(&last).await;
    front.audio.until("ack").await;
    front.input.send(&json!({CHANNEL: "0", KIND: "input_text", BODY: "hello"})).await;
    let seen = front.chat.collect_until(|packet| packet[BODY] == "echo: hello").await;
    let told = seen.iter().filter(|packet| packet[BODY].to_string().contains("音声モデル")).count();
    assert_eq!(told, 0, "once is enough: {seen:?}");
}

/// A server that lets nobody in.
async fn refuse(listener: TcpListener) {
    while let Ok((mut stream, _)) = listener.accept().await {
        let mut request = [0; 4096];
        let _ = stream.read(&mut request).await;
        let answer = b"HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n";
        let _ = stream.write_all(answer).await;
    }
}

#[tokio::test]
async fn a_model_that_refuses_the_settings_of_one_session_serves_others() {
    let vendor = Vendor::start().await;
    let row = vendor.row("openai_live");
    let gateway = Gateway::start_with(|config| config.add_live(vec![row]).unwrap()).await;
    let mut first = Frontend::open(gateway.addr, None).await;
    let mut second = Frontend::open(gateway.addr, None).await;
    write(&mut first, "hello").await;
    let (stream, _) = timeout(LONG, vendor.listener.accept()).await.unwrap().unwrap();
    let mut call = Call(accept_async(stream).await.unwrap());
    let wanted = call.until("session.update").await;
    let error = json!({"type": "invalid_request_error", "code": "invalid_value",
        "param": "session.audio.output.voice", "message": "no such voice",
        "event_id": wanted["event_id"]});
    call.say(json!({"type": "error", "error": error})).await;
    first.chat.until_where(|packet| packet[BODY].to_string().contains("no such voice")).await;
    write(&mut second, "hello").await;
    let mut call = vendor.answer().await;
    call.until("conversation.item.create").await;
    call.reply("hi there", 3).await;
    assert_eq!(second.chat.until("recognition_output").await[BODY], "hi there");
}

#[tokio::test]
async fn a_text_written_into_a_reply_is_kept_behind_what_was_heard_of_it() {
    let (one, two) = (Vendor::start().await, Vendor::start().await);
    let rows = vec![one.row("one"), two.row("two")];
    let gateway = Gateway::start_with(|config| config.add_live(rows).unwrap()).await;
    let mut front = Frontend::open(gateway.addr, None).await;
    write(&mut front, "a story").await;
    let mut call = one.answer().await;
    front.chat.until("input_text").await;
    let mut said = vec!["a story".to_owned()];
    for number in 0..3 {
        let words = vec!["word"; 200].join(" ");
        call.reply(&words, 600).await;
        // A tenth of a second each: some of it is heard by then.
        for _ in 0..15 {
            front.audio.until("output_audio").await;
        }
        let text = format!("stop {number}");
        let numbered = json!({CHANNEL: "0", "送信モード": "Live", KIND: "input_text", BODY: text,
            "要求番号": format!("n{number}")});
        front.input.send(&numbered).await;
        // Who has no answer sends it again, and it is written once.
        front.input.send(&numbered).await;
        let seen = front.chat.collect_until(|packet| packet[BODY] == text).await;
        let heard: Vec<_> =
            seen.iter().filter(|packet| packet[KIND] == "recognition_output").collect();
        assert_eq!(heard.len(), 1, "{seen:?}");
        assert_eq!(heard[0]["中断"], true, "{heard:?}");
        said.extend([heard[0][BODY].as_str().unwrap().to_owned(), text]);
        for repeated in [json!(false), json!(true)] {
            let ack = front.input.until("ack").await;
            assert_eq!(ack["重複"], repeated, "{ack}");
        }
        front.audio.until("cancel_audio").await;
    }
    set(&gateway, &front, "LIVE_AI_NAME", "two").await;
    write(&mut front, "and now").await;
    said.push("and now".to_owned());
    let mut call = two.answer().await;
    let mut told = Vec::new();
    while told.last().is_none_or(|last| last != "and now") {
        let item = call.until("conversation.item.create").await;
        told.push(item["item"]["content"][0]["text"].as_str().unwrap().to_owned());
    }
    assert_eq!(told, said);
}
