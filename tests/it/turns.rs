//! A spoken exchange with a real protocol behind it: how long its parts took, whose word counts about what was heard, and
//! which model speaks.

use crate::http;
use crate::live_openai::{Call, Vendor};
use crate::support::{BODY, CHANNEL, Client, Frontend, Gateway, KIND, SESSION};
use serde_json::{Value, json};
use std::time::{Duration, Instant};
use tokio::time::{sleep, sleep_until};

pub(crate) const RATE: usize = 24_000;
/// A packet of the microphone, 40 ms.
const PACKET: usize = 960;
const MODELS: &str = "/core/AIコア/モデル情報/取得";
const SETTINGS: &str = "/core/AIコア/モデル情報/設定";

async fn gateway_with(vendors: &[(&Vendor, &str)]) -> Gateway {
    let rows = vendors.iter().map(|(vendor, name)| vendor.row(name)).collect();
    Gateway::start_with(|config| config.add_live(rows).unwrap()).await
}

async fn playing(front: &Frontend, gateway: &Gateway) -> Client {
    let feature = json!({"機能": ["playback"]});
    Client::open_with(gateway.addr, "audio", Some(front.session()), feature).await
}

async fn write(front: &mut Frontend, text: &str) {
    let live = json!({CHANNEL: "0", "送信モード": "Live", KIND: "input_text", BODY: text});
    front.input.send(&live).await;
}

/// Syllables with the harmonics of an open vowel: a tone alone is no voice.
fn voice(samples: usize) -> Vec<i16> {
    const WEIGHTS: [f64; 8] = [0.5, 0.4, 0.35, 0.5, 0.6, 0.4, 0.2, 0.15];
    let mut phase = 0.0;
    let sample = |n: usize| {
        let time = n as f64 / RATE as f64;
        let turn = std::f64::consts::TAU * time;
        phase += std::f64::consts::TAU * (130.0 + 40.0 * (1.3 * turn).sin()) / RATE as f64;
        let syllable = (2.0 * turn).sin().max(0.0).sqrt();
        let buzz = WEIGHTS.iter().zip(1..).map(|(weight, n)| weight * (phase * f64::from(n)).sin());
        (16_000.0 * syllable * buzz.sum::<f64>() / 3.0) as i16
    };
    (0..samples).map(sample).collect()
}

/// At the pace of speech, as a microphone does.
async fn speak(audio: &mut Client, samples: &[i16]) {
    let begun = tokio::time::Instant::now();
    for (n, packet) in samples.chunks(PACKET).enumerate() {
        sleep_until(begun + Duration::from_millis(40) * u32::try_from(n).unwrap()).await;
        let bytes: Vec<u8> = packet.iter().flat_map(|sample| sample.to_le_bytes()).collect();
        let pcm = base64_simd::STANDARD.encode_to_string(bytes);
        let body = "audio/pcm;rate=24000";
        audio
            .send(&json!({CHANNEL: "audio", KIND: "input_audio", BODY: body, "ファイル名": pcm}))
            .await;
    }
}

async fn ack(audio: &mut Client, generation: &Value, samples: u64, gaps: u64) {
    let body = json!({"世代番号": generation, "再生サンプル数": samples, "残ミリ秒": 0, "途切れ回数": gaps});
    audio.send(&json!({CHANNEL: "audio", KIND: "playback_ack", BODY: body})).await;
}

/// The vendor hears the user begin or end.
async fn heard(call: &mut Call, what: &str) {
    let kind = format!("input_audio_buffer.speech_{what}");
    call.say(json!({"type": kind, "item_id": "u"})).await;
}

/// One number of `/metrics`.
async fn metric(gateway: &Gateway, name: &str) -> f64 {
    let page = http::get("/metrics").send(gateway.addr).await.body;
    let line = page.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    line.unwrap_or_else(|| panic!("no {name} in {page}")).parse().unwrap()
}

/// The sound of one reply that has begun, all at once.
async fn burst(call: &mut Call, seconds: usize) {
    let part = |kind: &str, delta: &str| json!({"type": kind, "response_id": "r", "item_id": "i", "delta": delta});
    call.say(part("response.output_audio_transcript.delta", "once upon a time")).await;
    let pcm = base64_simd::STANDARD.encode_to_string(vec![1; 2 * RATE * seconds]);
    call.say(part("response.output_audio.delta", &pcm)).await;
}

const WAIT_OF_MODEL: Duration = Duration::from_millis(150);
const WAIT_OF_CLIENT: Duration = Duration::from_millis(120);
const SILENCE: usize = RATE * 4 / 5;

/// Reads until so many samples of the reply have come; its generation.
pub(crate) async fn received(audio: &mut Client, samples: usize) -> Value {
    let (mut sent, mut generation) = (0, Value::Null);
    while sent < samples {
        let packet = audio.until("output_audio").await;
        generation = packet["世代番号"].clone();
        let pcm = packet["ファイル名"].as_str().unwrap();
        sent += base64_simd::STANDARD.decode_to_vec(pcm).unwrap().len() / 2;
    }
    generation
}

/// The figures of a packet, with how long the whole turn took as the test saw it.
async fn interrupted_turn(
    front: &mut Frontend,
    audio: &mut Client,
    vendor: &Vendor,
) -> (Value, Duration) {
    speak(audio, &voice(RATE)).await;
    let mut call = vendor.answer().await;
    heard(&mut call, "started").await;
    let begun = Instant::now();
    speak(audio, &voice(RATE)).await;
    speak(audio, &[0; SILENCE]).await;
    heard(&mut call, "stopped").await;
    call.until("response.create").await;
    sleep(WAIT_OF_MODEL).await;
    call.say(json!({"type": "response.created", "response": {"id": "r"}})).await;
    burst(&mut call, 30).await;
    let generation = received(audio, 1).await;
    sleep(WAIT_OF_CLIENT).await;
    ack(audio, &generation, 240, 0).await;
    // Later than anybody could take it for its own echo.
    received(audio, RATE).await;
    ack(audio, &generation, RATE as u64, 2).await;
    speak(audio, &voice(2 * RATE)).await;
    assert_eq!(audio.until("cancel_audio").await["世代番号"], generation);
    let told = audio.until("metrics").await;
    let cut = front.chat.until("recognition_output").await;
    assert_eq!((&cut["中断"], &cut["再生ミリ秒"]), (&json!(true), &json!(1_000)), "{cut}");
    (told[BODY].clone(), begun.elapsed())
}

#[tokio::test]
async fn the_parts_of_a_turn_are_told_to_the_client_and_to_the_operator() {
    let vendor = Vendor::start().await;
    let gateway = gateway_with(&[(&vendor, "openai_live")]).await;
    let mut front = Frontend::open(gateway.addr, None).await;
    let mut audio = playing(&front, &gateway).await;
    let (told, took) = interrupted_turn(&mut front, &mut audio, &vendor).await;
    let millis = |name: &str| {
        let value = told[name].as_u64().unwrap_or_else(|| panic!("no {name} in {told}"));
        Duration::from_millis(value)
    };
    // One after the other: each is no shorter than what the test made it wait for, and together they fit into the turn.
    let parts = [
        ("発話終了からターン終了", "end_of_turn", Duration::from_millis(200)),
        ("ターン終了から初音", "first_sound", WAIT_OF_MODEL),
        ("初音から送信", "first_sent", Duration::ZERO),
        ("送信から再生", "first_played", WAIT_OF_CLIENT),
        ("割り込みから停止", "interruption_stop", Duration::ZERO),
    ];
    for (name, part, least) in parts {
        assert!(millis(name) >= least, "{name}: {told}");
        let number = |what: &str| format!("kakehashi_voice_turn_seconds_{what}{{part=\"{part}\"}}");
        assert_eq!(metric(&gateway, &number("count")).await, 1.0, "{part}");
        let sum = metric(&gateway, &number("sum")).await;
        let difference = (sum - millis(name).as_secs_f64()).abs();
        assert!(difference < 0.001_1, "{part}: {sum} s, but the client was told {told}");
    }
    let whole: Duration = parts.iter().map(|(name, _, _)| millis(name)).sum();
    assert!(whole < took, "{told} within {took:?}");
    assert_eq!((&told["途切れ回数"], &told["欠落数"]), (&json!(2), &json!(0)), "{told}");
    assert_eq!(metric(&gateway, "kakehashi_playback_underruns_total").await, 2.0);
}

#[tokio::test]
async fn a_socket_that_does_not_play_says_nothing_about_what_was_heard() {
    let vendor = Vendor::start().await;
    let gateway = gateway_with(&[(&vendor, "openai_live")]).await;
    let mut front = Frontend::open(gateway.addr, None).await;
    let mut former = playing(&front, &gateway).await;
    let mut holder = playing(&front, &gateway).await;
    write(&mut front, "a story").await;
    let mut call = vendor.answer().await;
    call.reply(&vec!["word"; 200].join(" "), 300).await;
    let generation = received(&mut holder, 19_200).await;
    ack(&mut holder, &generation, 12_000, 0).await;
    // It may not count in any way: not as more, not with gaps, with a number or without.
    ack(&mut former, &generation, 16_800, 7).await;
    let body =
        json!({"世代番号": generation, "再生サンプル数": 16_800, "残ミリ秒": 0, "途切れ回数": 7});
    former
        .send(&json!({CHANNEL: "audio", KIND: "playback_ack", "要求番号": "n", BODY: body}))
        .await;
    former.until("ack").await;
    holder.send(&json!({CHANNEL: "audio", KIND: "cancel_audio", BODY: null})).await;
    ack(&mut holder, &generation, 12_000, 0).await;
    let cut = call.until("conversation.item.truncate").await;
    assert_eq!(cut["audio_end_ms"], 500, "{cut}");
    let told = front.chat.until("recognition_output").await;
    assert_eq!(told["再生ミリ秒"], 500, "{told}");
    assert_eq!(holder.until("metrics").await[BODY]["途切れ回数"], 0);
    assert_eq!(metric(&gateway, "kakehashi_playback_underruns_total").await, 0.0);
}

async fn set(gateway: &Gateway, session: &str, name: &str, value: &str) -> Value {
    let body = json!({SESSION: session, "モデル設定": {name: value}});
    http::post(SETTINGS, &body).local().send(gateway.addr).await.json()
}

#[tokio::test]
async fn a_session_may_choose_who_speaks_and_with_which_voice() {
    let (one, two) = (Vendor::start().await, Vendor::start().await);
    let gateway = gateway_with(&[(&one, "openai_live"), (&two, "second")]).await;
    let mut front = Frontend::open(gateway.addr, None).await;
    let session = front.session().to_owned();

    let offer = http::post(MODELS, &json!({SESSION: session})).local().send(gateway.addr).await;
    let offer = offer.json()["data"]["available_models"].clone();
    assert_eq!(offer["live_models"]["second"], json!({"gpt-realtime": "second"}), "{offer}");
    // What existing frontends look for is there, and empty if it cannot be chosen.
    assert_eq!(offer["live_models"]["gemini_live"], json!({}), "{offer}");
    assert_eq!(offer["live_models"]["scripted"], json!({"auto": "Scripted"}), "{offer}");
    let voices = offer["live_voices"]["openai_live"].as_object().unwrap();
    assert!(voices.contains_key("marin") && voices.contains_key("cedar"), "{offer}");

    write(&mut front, "hello").await;
    let mut call = one.answer().await;
    call.reply("one here", 2).await;
    assert_eq!(front.chat.until("recognition_output").await[BODY], "one here");

    let refused = set(&gateway, &session, "LIVE_AI_NAME", "nobody").await;
    assert_eq!(refused["status"], "NG", "{refused}");
    let message = refused["message"].as_str().unwrap();
    assert!(message.contains("openai_live") && message.contains("second"), "{message}");

    // At once: whoever spoke before is gone, and the next word is the other one's.
    assert_eq!(set(&gateway, &session, "LIVE_AI_NAME", "second").await["status"], "OK");
    call.hangs_up().await;
    write(&mut front, "and now").await;
    let mut call = two.answer().await;
    call.reply("two here", 2).await;
    assert_eq!(front.chat.until("recognition_output").await[BODY], "two here");

    // Another voice of the same model is another connection, too.
    assert_eq!(set(&gateway, &session, "LIVE_AI_NAME", "openai_live").await["status"], "OK");
    assert_eq!(set(&gateway, &session, "LIVE_OPENAI_VOICE", "cedar").await["status"], "OK");
    call.hangs_up().await;
    write(&mut front, "again").await;
    let (mut call, wanted) = one.answer_with_setup().await;
    assert_eq!(wanted["session"]["audio"]["output"]["voice"], "cedar", "{wanted}");
    call.reply("one again", 2).await;
    assert_eq!(front.chat.until("recognition_output").await[BODY], "one again");

    // Back to the one that needs no vendor.
    assert_eq!(set(&gateway, &session, "LIVE_AI_NAME", "scripted").await["status"], "OK");
    call.hangs_up().await;
    write(&mut front, "hello").await;
    assert_eq!(front.chat.until("output_text").await[BODY], "echo: hello");
}

async fn welcome(gateway: &Gateway, session: Option<&str>) -> (String, String) {
    let mut chat = Client::open(gateway.addr, "0", session).await;
    let told = chat.until("welcome_info").await;
    (told[BODY].as_str().unwrap().to_owned(), chat.session().to_owned())
}

#[tokio::test]
async fn the_welcome_says_when_only_the_scripted_model_speaks() {
    const HINT: &str = "[[live]]";
    let (told, _) = welcome(&Gateway::start().await, None).await;
    assert!(told.contains("Live: scripted") && told.contains(HINT), "{told}");

    let vendor = Vendor::start().await;
    let gateway = gateway_with(&[(&vendor, "openai_live")]).await;
    let (told, session) = welcome(&gateway, None).await;
    assert!(told.contains("Live: openai_live") && !told.contains(HINT), "{told}");
    assert_eq!(set(&gateway, &session, "LIVE_AI_NAME", "scripted").await["status"], "OK");
    let (told, _) = welcome(&gateway, Some(&session)).await;
    assert!(told.contains("Live: scripted") && told.contains(HINT), "{told}");

    // A row without its key is as good as none.
    let mut row = vendor.row("openai_live");
    row.key.as_mut().unwrap().secret = None;
    let gateway = Gateway::start_with(|config| config.add_live(vec![row]).unwrap()).await;
    let (told, _) = welcome(&gateway, None).await;
    assert!(told.contains("Live: scripted") && told.contains(HINT), "{told}");
}
