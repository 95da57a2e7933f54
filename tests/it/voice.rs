//! Sound on its own socket: in, out, who holds it, and silence when asked for.

use crate::http;
use crate::support::{BODY, CHANNEL, Client, Frontend, Gateway, KIND};
use serde_json::{Value, json};

const FILE_NAME: &str = "ファイル名";
/// The scripted model speaks 60 ms for each character, at 24 kHz.
const SAMPLES_PER_CHARACTER: usize = 1_440;

fn audio(mime: &str, samples: &[i16]) -> Value {
    let bytes: Vec<u8> = samples.iter().flat_map(|sample| sample.to_le_bytes()).collect();
    let pcm = base64_simd::STANDARD.encode_to_string(bytes);
    json!({CHANNEL: "audio", KIND: "input_audio", BODY: mime, FILE_NAME: pcm, "サムネイル画像": null})
}

fn samples(packet: &Value) -> Vec<i16> {
    let bytes = base64_simd::STANDARD.decode_to_vec(packet[FILE_NAME].as_str().unwrap()).unwrap();
    bytes.chunks_exact(2).map(|pair| i16::from_le_bytes([pair[0], pair[1]])).collect()
}

fn tone(rate: u32, count: usize, level: f32) -> Vec<i16> {
    let step = 440.0 * std::f32::consts::TAU / rate as f32;
    (0..count).map(|index| ((index as f32 * step).sin() * level) as i16).collect()
}

#[tokio::test]
async fn sound_at_24_khz_comes_back_as_it_went() {
    let gateway = Gateway::start().await;
    let mut front = Frontend::open(gateway.addr, None).await;
    for count in [1, 480, 2048] {
        let sent = tone(24_000, count, 8000.0);
        front.audio.send(&audio("audio/pcm;rate=24000", &sent)).await;
        let back = front.audio.until("output_audio").await;
        assert_eq!(samples(&back), sent);
        assert_eq!(back[BODY], "audio/pcm");
        assert_eq!(back.get("連番"), None);
    }
}

#[tokio::test]
async fn sound_at_16_khz_comes_back_at_24() {
    let gateway = Gateway::start().await;
    let mut front = Frontend::open(gateway.addr, None).await;
    let sent = tone(16_000, 16_000, 8000.0);
    for chunk in sent.chunks(1024) {
        front.audio.send(&audio("audio/pcm", chunk)).await;
    }
    let mut back = Vec::new();
    while back.len() < 22_000 {
        back.extend(samples(&front.audio.until("output_audio").await));
    }
    let crossings = back.windows(2).filter(|pair| pair[0] < 0 && pair[1] >= 0).count();
    let seconds = back.len() as f64 / 24_000.0;
    assert!((crossings as f64 / seconds - 440.0).abs() < 6.0, "{crossings} in {seconds} s");
}

#[tokio::test]
async fn speech_is_recognised_when_it_ends() {
    let gateway = Gateway::start().await;
    let mut front = Frontend::open(gateway.addr, None).await;
    for level in [8000.0, 0.0] {
        for chunk in tone(24_000, 60_000, level).chunks(2400) {
            front.audio.send(&audio("audio/pcm;rate=24000", chunk)).await;
            front.audio.until("output_audio").await;
        }
    }
    assert!(front.chat.until("recognition_input").await["連番"].is_u64());
    front.chat.until("recognition_output").await;
}

#[tokio::test]
async fn speaking_over_an_answer_stops_it() {
    let gateway = Gateway::start().await;
    let mut front = Frontend::open(gateway.addr, None).await;
    front
        .input
        .send(
            &json!({CHANNEL: "0", "送信モード": "Live", KIND: "input_text", BODY: "x".repeat(300)}),
        )
        .await;
    front.audio.until("output_audio").await;
    front.audio.send(&audio("audio/pcm;rate=24000", &tone(24_000, 2400, 20_000.0))).await;
    let stop = front.audio.until("cancel_audio").await;
    assert_eq!(stop[CHANNEL], "audio");
    // The user's own sound still comes back, and nothing of the answer behind it.
    let sent = tone(24_000, 480, 100.0);
    front.audio.send(&audio("audio/pcm;rate=24000", &sent)).await;
    front.audio.until_where(|packet| samples(packet) == sent).await;
    front.audio.send(&audio("audio/pcm;rate=24000", &[7])).await;
    assert_eq!(samples(&front.audio.next().await), [7]);
}

#[tokio::test]
async fn a_client_can_silence_an_answer() {
    let gateway = Gateway::start().await;
    let mut front = Frontend::open(gateway.addr, None).await;
    front
        .input
        .send(
            &json!({CHANNEL: "0", "送信モード": "Live", KIND: "input_text", BODY: "x".repeat(300)}),
        )
        .await;
    front.audio.until("output_audio").await;
    front
        .audio
        .send(&json!({CHANNEL: "audio", KIND: "cancel_audio", BODY: null, FILE_NAME: null}))
        .await;
    let sent = [1, 2, 3];
    front.audio.send(&audio("audio/pcm;rate=24000", &sent)).await;
    front.audio.until_where(|packet| samples(packet) == sent).await;
    front.audio.send(&audio("audio/pcm;rate=24000", &[9])).await;
    assert_eq!(samples(&front.audio.next().await), [9]);
}

#[tokio::test]
async fn the_newest_audio_socket_holds_microphone_and_speaker() {
    let gateway = Gateway::start().await;
    let mut first = Client::open(gateway.addr, "audio", None).await;
    let session = first.session().to_owned();
    let mut second = Client::open(gateway.addr, "audio", Some(&session)).await;
    assert_eq!(first.next().await[KIND], "cancel_audio");
    first.send(&audio("audio/pcm;rate=24000", &[5])).await;
    assert_eq!(first.next().await["コード"], "not_holder");
    second.send(&audio("audio/pcm;rate=24000", &[6])).await;
    assert_eq!(samples(&second.next().await), [6]);
    // A reader never takes it over.
    let _view =
        Client::open_with(gateway.addr, "audio", Some(&session), json!({"閲覧": true})).await;
    second.send(&audio("audio/pcm;rate=24000", &[7])).await;
    assert_eq!(samples(&second.next().await), [7]);
    second.close().await;
    // With the holder gone, the older one has it again.
    loop {
        first.send(&audio("audio/pcm;rate=24000", &[8])).await;
        let answer = first.next().await;
        if answer[KIND] == "output_audio" {
            assert_eq!(samples(&answer), [8]);
            break;
        }
    }
}

#[tokio::test]
async fn a_socket_that_lost_the_speaker_cannot_silence_the_one_that_got_it() {
    let gateway = Gateway::start().await;
    let mut input = Client::open(gateway.addr, "input", None).await;
    let session = input.session().to_owned();
    let mut first = Client::open(gateway.addr, "audio", Some(&session)).await;
    let mut second = Client::open(gateway.addr, "audio", Some(&session)).await;
    input.send(&json!({CHANNEL: "input", KIND: "input_text", BODY: "x".repeat(20)})).await;
    second.until("output_audio").await;
    // The existing client answers the take-over like this, and with every chunk of a microphone left on.
    first.until("cancel_audio").await;
    first.send(&json!({CHANNEL: "audio", KIND: "cancel_audio", BODY: null, FILE_NAME: null})).await;
    let mut numbered = audio("audio/pcm;rate=24000", &[5]);
    numbered["要求番号"] = json!("n");
    first.send(&numbered).await;
    let refused = first.until("error").await;
    assert_eq!((&refused["コード"], &refused["要求番号"]), (&json!("not_holder"), &json!("n")));
    for _ in 0..10 {
        assert_eq!(second.next().await[KIND], "output_audio");
    }
}

async fn say_live(front: &mut Frontend, text: &str) {
    let live = json!({CHANNEL: "0", "送信モード": "Live", KIND: "input_text", BODY: text});
    front.input.send(&live).await;
}

#[tokio::test]
async fn a_live_model_gives_work_to_an_agent_and_hears_how_it_ended() {
    let gateway = Gateway::start().await;
    let mut front = Frontend::open(gateway.addr, None).await;
    say_live(&mut front, "/agent 2 look around").await;
    let asked = front.agents[1].until("input_request").await;
    assert_eq!(asked[BODY], "look around");
    let answer = front.chat.until("output_text").await;
    assert_eq!(answer[BODY], "agent 2 has it; you will be told when it is done");
    front.chat.until("output_request").await;
    // The news of its end is spoken.
    front.audio.until("output_audio").await;
}

#[tokio::test]
async fn a_live_model_is_told_what_is_wrong_with_its_tool_call() {
    let gateway = Gateway::start().await;
    let mut front = Frontend::open(gateway.addr, None).await;
    for (text, why) in
        [("/agent 7 x", "the channel must be from 1 to 4"), ("/agent 1  ", "the request is empty")]
    {
        say_live(&mut front, text).await;
        assert_eq!(front.chat.until("output_text").await[BODY], why, "{text}");
    }
}

#[tokio::test]
async fn sound_has_its_generation_and_silence_ends_it() {
    let gateway = Gateway::start().await;
    let mut front = Frontend::open(gateway.addr, None).await;
    let session = front.input.session().to_owned();
    let feature = json!({"機能": ["playback"]});
    let mut audio_socket = Client::open_with(gateway.addr, "audio", Some(&session), feature).await;
    say_live(&mut front, &"x".repeat(300)).await;
    let first = audio_socket.until("output_audio").await["世代番号"].as_u64().unwrap();
    audio_socket
        .send(&json!({CHANNEL: "audio", KIND: "playback_ack", "要求番号": "a",
            BODY: {"世代番号": first, "再生サンプル数": 960, "残ミリ秒": 0, "途切れ回数": 0}}))
        .await;
    audio_socket.until("ack").await;
    audio_socket.send(&audio("audio/pcm;rate=24000", &tone(24_000, 2400, 20_000.0))).await;
    let stop = audio_socket.until("cancel_audio").await;
    assert_eq!(stop["世代番号"], first);
    let later = audio_socket.until("output_audio").await["世代番号"].as_u64().unwrap();
    assert!(later > first, "{later}");
}

#[tokio::test]
async fn an_answer_goes_on_at_the_next_socket() {
    let gateway = Gateway::start().await;
    let mut front = Frontend::open(gateway.addr, None).await;
    let session = front.input.session().to_owned();
    let text = "x".repeat(40);
    let is_sound = |packet: &Value| packet[KIND] == "output_audio";
    // The same text is spoken twice: to one socket, and to two of them.
    say_live(&mut front, &text).await;
    let mut whole = Vec::new();
    while whole.len() < SAMPLES_PER_CHARACTER * text.len() {
        whole.extend(samples(&front.audio.until("output_audio").await));
    }
    say_live(&mut front, &text).await;
    let mut heard = samples(&front.audio.until("output_audio").await);
    for packet in front.audio.leave().await.iter().filter(|packet| is_sound(packet)) {
        heard.extend(samples(packet));
    }
    assert!(heard.len() < whole.len(), "the first socket has heard everything");
    // Several pieces of it are spoken while nobody listens.
    let later = "sleep 0.3\nsay a while later";
    front.input.send(&json!({CHANNEL: "4", KIND: "input_text", BODY: later})).await;
    front.agents[3].until_where(|packet| packet[BODY] == "a while later").await;
    let mut next = Client::open(gateway.addr, "audio", Some(&session)).await;
    while heard.len() < whole.len() {
        heard.extend(samples(&next.until("output_audio").await));
    }
    assert!(heard == whole, "something was left out or came twice");
    next.send(&audio("audio/pcm;rate=24000", &[7])).await;
    assert_eq!(samples(&next.until("output_audio").await), [7]);
}

/// A gateway whose rules ask before a live model gives work to an agent.
async fn asking_gateway() -> (tempfile::TempDir, Gateway) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("policy.toml");
    let shipped = include_str!("../../config/policy.toml");
    let allowed = "kinds = [\"errand\"]\ndecision = \"allow\"";
    assert!(shipped.contains(allowed));
    let asked = shipped.replace(allowed, "kinds = [\"errand\"]\ndecision = \"ask\"");
    std::fs::write(&path, asked).unwrap();
    (dir, Gateway::start_with(|config| config.policy = Some(path)).await)
}

#[tokio::test]
async fn the_user_is_asked_about_a_live_models_errand_where_the_rules_say_so() {
    let (_dir, gateway) = asking_gateway().await;
    let mut front = Frontend::open(gateway.addr, None).await;
    say_live(&mut front, "/agent 2 look around").await;
    let question = front.input.until("confirm_request").await;
    assert_eq!(question[BODY]["チャンネル"], "2");
    let id = question[BODY]["id"].clone();
    front.input.send(&json!({KIND: "confirm_answer", BODY: {"id": id, "承認": false}})).await;
    assert_eq!(front.chat.until("output_text").await[BODY], "the user does not want it");
    say_live(&mut front, "/agent 2 look around").await;
    let id = front.input.until("confirm_request").await[BODY]["id"].clone();
    front.input.send(&json!({KIND: "confirm_answer", BODY: {"id": id, "承認": true}})).await;
    assert_eq!(front.agents[1].until("input_request").await[BODY], "look around");
    front.chat.until("output_request").await;
}

/// One number of `/metrics`, with its labels as they are written there.
async fn metric(gateway: &Gateway, name: &str) -> u64 {
    let page = http::get("/metrics").send(gateway.addr).await.body;
    let line = page.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    line.unwrap_or_else(|| panic!("no {name} in {page}")).parse().unwrap()
}

#[tokio::test]
async fn bad_sound_of_a_microphone_is_counted_and_still_heard() {
    let gateway = Gateway::start().await;
    let mut front = Frontend::open(gateway.addr, None).await;
    let cut_off: Vec<i16> =
        tone(24_000, 960, 60_000.0).iter().map(|sample| sample.saturating_mul(3)).collect();
    for sent in [tone(24_000, 960, 8_000.0), vec![0; 960], cut_off, vec![3, -3]] {
        front.audio.send(&audio("audio/pcm;rate=24000", &sent)).await;
        let back = front.audio.until("output_audio").await;
        assert_eq!(samples(&back), sent);
    }
    let heard = async |condition: &str| {
        metric(
            &gateway,
            &format!("kakehashi_audio_chunks_heard_total{{condition=\"{condition}\"}}"),
        )
        .await
    };
    assert_eq!([heard("fine").await, heard("silent").await, heard("clipped").await], [1, 2, 1]);
    // Three seconds at once, in the rate of a microphone that does not say it, and with a number.
    let mut long = audio("audio/pcm", &vec![100; 48_000]);
    long["要求番号"] = json!("long");
    let burst = "kakehashi_audio_uneven_total{reason=\"burst\"}";
    let before = metric(&gateway, burst).await;
    front.audio.send(&long).await;
    front.audio.until("ack").await;
    assert_eq!(metric(&gateway, burst).await, before + 1);
    // Another socket of the session does not hold the microphone, and is not counted.
    let session = front.input.session().to_owned();
    let _holder = Client::open(gateway.addr, "audio", Some(&session)).await;
    let fine = heard("fine").await;
    front.audio.send(&audio("audio/pcm;rate=24000", &tone(24_000, 960, 8_000.0))).await;
    front.audio.until("error").await;
    assert_eq!(heard("fine").await, fine);
}

#[tokio::test]
async fn malformed_sound_is_refused_and_counted() {
    let gateway = Gateway::start().await;
    let mut front = Frontend::open(gateway.addr, None).await;
    let mut odd = audio("audio/pcm;rate=24000", &[]);
    odd[FILE_NAME] = json!("AAAA");
    for packet in [
        odd,
        audio("audio/ogg", &[1, 2]),
        audio("audio/pcm;rate=7999", &[1, 2]),
        audio("audio/pcm;rate=24000", &[]),
    ] {
        front.audio.send(&packet).await;
        assert_eq!(front.audio.until("error").await["コード"], "bad_audio", "{packet}");
    }
    let refused = "kakehashi_frames_refused_total{code=\"bad_audio\"}";
    assert_eq!(metric(&gateway, refused).await, 4);
    // The line is as good as before.
    front.audio.send(&audio("audio/pcm;rate=24000", &[5])).await;
    assert_eq!(samples(&front.audio.until("output_audio").await), [5]);
}
