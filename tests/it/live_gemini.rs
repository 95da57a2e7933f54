//! Gemini Live behind a session: a server of ours speaks the vendor's own JSON, and fails as the real one was seen to.

#[path = "../../src/provider/live/remote/vendor/gemini/tests/fake_vendor.rs"]
pub(crate) mod vendor;

use crate::live_openai::{send_picture, size};
use crate::support::{BODY, CHANNEL, Frontend, Gateway, KIND};
use kakehashi::provider::row::{ChatKey, LiveKind, LiveModel, Secret};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;
use vendor::Call;

const LONG: Duration = Duration::from_secs(30);
const MOMENT: Duration = Duration::from_millis(300);

/// A session, its gateway and its vendor.
struct Live {
    listener: TcpListener,
    front: Frontend,
    _gateway: Gateway,
}

async fn live() -> Live {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let model = row("gemini", &listener);
    let gateway = Gateway::start_with(|config| {
        Arc::make_mut(&mut config.settings).live = "gemini".to_owned();
        config.live = vec![model];
    })
    .await;
    let front = Frontend::open(gateway.addr, None).await;
    Live { listener, front, _gateway: gateway }
}

pub(crate) fn row(name: &str, listener: &TcpListener) -> LiveModel {
    let secret = Some(Secret::new("a-key"));
    LiveModel {
        name: name.to_owned(),
        label: "Gemini".to_owned(),
        kind: LiveKind::Gemini,
        base_url: format!("ws://{}", listener.local_addr().unwrap()),
        model: "gemini-3.8-live".to_owned(),
        voice: Some("Kore".to_owned()),
        key: Some(ChatKey { variable: "TEST_LIVE_KEY".to_owned(), secret }),
        language: Some("ja-JP".to_owned()),
        transcription: None,
    }
}

impl Live {
    async fn pick_up(&self) -> Call<TcpStream> {
        let (stream, _) = timeout(LONG, self.listener.accept()).await.unwrap().unwrap();
        Call::pick_up(stream).await
    }

    async fn write(&mut self, text: &str) {
        let live = json!({CHANNEL: "0", "送信モード": "Live", KIND: "input_text", BODY: text});
        self.front.input.send(&live).await;
    }

    async fn microphone(&mut self, bytes: usize) {
        let pcm = base64_simd::STANDARD.encode_to_string(vec![0; bytes]);
        let mime = "audio/pcm;rate=16000";
        let chunk = json!({CHANNEL: "audio", KIND: "input_audio", BODY: mime, "ファイル名": pcm});
        self.front.audio.send(&chunk).await;
    }

    /// What a caption of this kind says.
    async fn caption(&mut self, kind: &str) -> Value {
        self.front.chat.until(kind).await[BODY].take()
    }
}

#[tokio::test]
async fn a_written_question_is_answered_aloud() {
    let mut live = live().await;
    live.write("hello").await;
    let mut call = live.pick_up().await;
    assert!(call.path.ends_with("GenerativeService.BidiGenerateContent"), "{}", call.path);
    assert_eq!(call.key.as_deref(), Some("a-key"));
    let setup = call.begin().await;
    assert_eq!(setup["model"], "models/gemini-3.8-live");
    let voice = &setup["generationConfig"]["speechConfig"]["voiceConfig"]["prebuiltVoiceConfig"];
    assert_eq!(voice["voiceName"], "Kore");
    assert!(setup["systemInstruction"]["parts"][0]["text"].as_str().unwrap().len() > 10);
    assert_eq!(setup["tools"][0]["functionDeclarations"][0]["name"], "code_agent_request");
    assert_eq!(call.text().await, "hello");
    call.reply("hi there", MOMENT).await;
    live.front.audio.until("output_audio").await;
    assert_eq!(live.caption("recognition_output").await, "hi there");
}

/// The size of what it is shown, before anything but sound.
async fn picture(call: &mut Call<TcpStream>) -> (u32, u32) {
    let frame = call.next().await;
    let video = &frame["realtimeInput"]["video"];
    assert_eq!(video["mimeType"], "image/jpeg", "{frame}");
    size(video["data"].as_str().unwrap())
}

#[tokio::test]
async fn a_picture_of_the_chat_is_seen_before_the_question_about_it() {
    let mut live = live().await;
    send_picture(&mut live.front, 1_080, 1_920).await;
    live.write("what is it?").await;
    let mut call = live.pick_up().await;
    call.begin().await;
    assert_eq!(picture(&mut call).await, (540, 960));
    assert_eq!(call.text().await, "what is it?");
    call.reply("a square", MOMENT).await;
    assert_eq!(live.caption("recognition_output").await, "a square");
    // It takes one a second, or what comes next along with it; the text for the chat has it, too.
    send_picture(&mut live.front, 64, 32).await;
    live.front.type_in("0", "and you").await;
    let echo = live.front.chat.until("input_text").await;
    assert!(echo[BODY].as_str().unwrap().contains("[ファイル添付: temp/input/"), "{echo}");
    live.write("and this?").await;
    assert_eq!(picture(&mut call).await, (64, 32));
    assert_eq!(call.text().await, "and this?");
}

#[tokio::test]
async fn a_picture_of_the_chat_is_seen_by_a_model_that_speech_opens() {
    let mut live = live().await;
    send_picture(&mut live.front, 64, 32).await;
    live.microphone(3200).await;
    let mut call = live.pick_up().await;
    call.begin().await;
    assert_eq!(picture(&mut call).await, (64, 32));
}

#[tokio::test]
async fn what_is_said_into_the_microphone_is_heard_and_shown_before_its_answer() {
    let mut live = live().await;
    live.write("hello").await;
    let mut call = live.pick_up().await;
    call.begin().await;
    call.text().await;
    call.reply("hi", MOMENT).await;
    assert_eq!(live.caption("recognition_output").await, "hi");
    for _ in 0..10 {
        live.microphone(3200).await;
    }
    // A microphone that sends nothing any more is told as such, behind all that it has sent.
    assert_eq!(call.next().await, json!({"realtimeInput": {"audioStreamEnd": true}}));
    assert_eq!((call.heard, call.loud), (32_000, 0));
    call.sound(MOMENT).await;
    call.words("it is noon").await;
    call.content(json!({"inputTranscription": {"text": "what time is it"}})).await;
    call.content(json!({"generationComplete": true})).await;
    call.content(json!({"turnComplete": true})).await;
    let first = live.front.chat.next().await;
    assert_eq!(
        (&first[KIND], &first[BODY]),
        (&json!("recognition_input"), &json!("what time is it"))
    );
    assert_eq!(live.caption("recognition_output").await, "it is noon");
}

#[tokio::test]
async fn an_interruption_silences_the_client_and_cuts_the_text() {
    let mut live = live().await;
    live.write("tell me a story").await;
    let mut call = live.pick_up().await;
    call.begin().await;
    call.text().await;
    call.story(20).await;
    live.front.audio.until("output_audio").await;
    call.content(json!({"interrupted": true})).await;
    call.content(json!({"turnComplete": true})).await;
    live.front.audio.until("cancel_audio").await;
    call.reply("yes?", MOMENT).await;
    let told = live.front.chat.until_where(|packet| packet[BODY] == "yes?").await;
    assert_eq!(told[KIND], "recognition_output");
    live.front.audio.until("output_audio").await;
}

#[tokio::test]
async fn a_lost_connection_is_resumed_and_nobody_notices() {
    let mut live = live().await;
    live.write("hello").await;
    let mut call = live.pick_up().await;
    call.begin().await;
    call.text().await;
    call.reply("hi", MOMENT).await;
    call.handle(Some("h-1")).await;
    assert_eq!(live.caption("recognition_output").await, "hi");
    call.say(json!({"goAway": {"timeLeft": "50s"}})).await;
    call.left().await;
    let mut refused = live.pick_up().await;
    assert_eq!(refused.setup().await["sessionResumption"]["handle"], "h-1");
    refused.close(1011, "Internal error encountered.").await;
    let mut refused = live.pick_up().await;
    assert_eq!(refused.setup().await["sessionResumption"]["handle"], "h-1");
    refused.close(1007, "Request contains an invalid argument.").await;
    let mut anew = live.pick_up().await;
    anew.setup().await;
    anew.ready().await;
    let history = anew.next().await["clientContent"]["turns"].take();
    assert_eq!(history[0]["parts"][0]["text"], "hello");
    assert_eq!(history[1]["parts"][0]["text"], "hi");
    live.write("still there?").await;
    assert_eq!(anew.text().await, "still there?");
    anew.reply("yes", MOMENT).await;
    let seen = live.front.chat.collect_until(|packet| packet[BODY] == "yes").await;
    let kinds: Vec<_> = seen.iter().map(|packet| packet[KIND].as_str().unwrap()).collect();
    assert!(!kinds.iter().any(|kind| ["error", "output_text"].contains(kind)), "{seen:?}");
}

#[tokio::test]
async fn a_bad_key_is_told_to_the_user_in_the_vendors_words() {
    let mut live = live().await;
    live.write("hello").await;
    let mut call = live.pick_up().await;
    call.setup().await;
    call.close(1007, "API key not valid. Please pass a valid API key.").await;
    let told = live
        .front
        .chat
        .until_where(|packet| packet[BODY].to_string().contains("API key not valid"));
    let told = told.await;
    assert!(!told.to_string().contains("a-key"), "{told}");
}

#[tokio::test]
async fn a_model_gives_work_to_an_agent_and_is_told_how_it_ended() {
    let mut live = live().await;
    live.write("let agent 2 look around").await;
    let mut call = live.pick_up().await;
    call.begin().await;
    call.text().await;
    let wish = json!({"id": "c-1", "name": "code_agent_request",
        "args": {"channel": 2, "request": "look around"}});
    call.say(json!({"toolCall": {"functionCalls": [wish.clone()]}})).await;
    call.say(json!({"toolCall": {"functionCalls": [wish]}})).await;
    assert_eq!(live.front.agents[1].until("input_request").await[BODY], "look around");
    let frame = call.next().await;
    let responses = &frame["toolResponse"]["functionResponses"];
    assert_eq!(responses[0]["id"], "c-1", "{frame}");
    assert!(responses[0]["response"]["output"].is_string(), "{responses}");
    call.reply("agent 2 looks around", MOMENT).await;
    assert_eq!(live.caption("recognition_output").await, "agent 2 looks around");
    let news = call.text().await;
    assert!(news.contains("not said by the user"), "{news}");
}

/// The model's wish, what it says and what it has heard are words of the model, whatever they are.
#[tokio::test]
async fn a_live_model_answers_no_question_of_an_agent() {
    let mut live = live().await;
    live.front.type_in("2", "ask x").await;
    let asks = |packet: &Value| packet[BODY].to_string().contains("[1] ");
    live.front.agents[1].until_where(asks).await;
    live.write("say yes for me").await;
    let mut call = live.pick_up().await;
    call.begin().await;
    call.text().await;
    let wish = json!({"id": "c-1", "name": "code_agent_request",
        "args": {"channel": 2, "request": "はい"}});
    call.say(json!({"toolCall": {"functionCalls": [wish]}})).await;
    assert_eq!(live.front.agents[1].until("input_request").await[BODY], "はい");
    call.next().await;
    call.reply("はい", MOMENT).await;
    assert_eq!(live.caption("recognition_output").await, "はい");
    live.front.type_in("2", "いいえ").await;
    let told =
        live.front.agents[1].collect_until(|packet| packet[BODY] == "<<< 処理終了 >>>").await;
    let settled: Vec<&str> = told
        .iter()
        .filter_map(|packet| packet[BODY].as_str())
        .filter(|text| text.contains("許可し"))
        .collect();
    assert_eq!(settled, ["[1] 許可しませんでした。"]);
}
