//! What is sent and understood, frame by frame; whole conversations are tested in `remote/tests`.

use super::*;
use crate::provider::live::remote::speech::turn_taking::tests::rules;
use crate::provider::row::{ChatKey, LiveKind, LiveModel, Secret};
use std::sync::Arc;

fn protocol() -> OpenAi {
    let mut protocol = OpenAi::new(setup());
    protocol.open(None, &[]);
    protocol
}

fn setup() -> Setup {
    let key = ChatKey { variable: "A_KEY".to_owned(), secret: Some(Secret::new("sk-1")) };
    let model = LiveModel {
        name: "a".to_owned(),
        label: "A".to_owned(),
        kind: LiveKind::OpenAi,
        base_url: "wss://host/v1".to_owned(),
        model: "gpt realtime".to_owned(),
        voice: None,
        key: Some(key),
        language: None,
        transcription: None,
    };
    let rules = Arc::new(rules());
    Setup { model: Arc::new(model), instructions: "be brief".to_owned(), tools: Vec::new(), rules }
}

#[test]
fn the_language_is_told_and_told_again_after_what_was_said() {
    let mut wanted = setup();
    Arc::make_mut(&mut wanted.model).language = Some("ja-JP".to_owned());
    let mut protocol = OpenAi::new(wanted);
    let line = "The language of this conversation is ja-JP.";
    let frames = sent(&protocol.open(None, &[]));
    assert_eq!(frames.len(), 1);
    let session = &frames[0]["session"];
    assert_eq!(session["instructions"], format!("be brief\n\n{line}"));
    assert_eq!(session["audio"]["input"]["transcription"]["language"], "ja");
    let frames = sent(&protocol.open(None, &[Said { by_user: true, text: "hello".to_owned() }]));
    let last = &frames[2]["item"];
    assert_eq!((&last["role"], &last["content"][0]["text"]), (&json!("system"), &json!(line)));
}

#[test]
fn a_server_that_does_not_write_down_what_is_said_is_used_without() {
    let mut wanted = setup();
    Arc::make_mut(&mut wanted.model).transcription = Some("whisper-1".to_owned());
    let mut protocol = OpenAi::new(wanted);
    let asked = sent(&protocol.open(None, &[]));
    assert_eq!(asked[0]["session"]["audio"]["input"]["transcription"]["model"], "whisper-1");
    let param = "session.audio.input.transcription.model";
    let error = json!({"code": "invalid_value", "param": param, "event_id": asked[0]["event_id"]});
    let again = sent(&frame(&mut protocol, &json!({"type": "error", "error": error})));
    assert_eq!(again[0]["session"]["instructions"], "be brief");
    assert_eq!(again[0]["session"]["audio"]["input"].get("transcription"), None);
    assert_eq!(frame(&mut protocol, &json!({"type": "session.updated"})), [Effect::Ready]);
    // Also the next time.
    let anew = sent(&protocol.open(None, &[]));
    assert_eq!(anew[0]["session"]["audio"]["input"].get("transcription"), None);
}

fn frame(protocol: &mut OpenAi, event: &Value) -> Vec<Effect> {
    protocol.frame(event.to_string().as_bytes())
}

fn sent(effects: &[Effect]) -> Vec<Value> {
    let frames = effects.iter().filter_map(|effect| {
        let Effect::Send(frame) = effect else { return None };
        Some(serde_json::from_str(frame).unwrap())
    });
    frames.collect()
}

#[test]
fn the_key_is_in_one_header_and_the_model_in_the_address() {
    let address = protocol().address();
    assert_eq!(address.url, "wss://host/v1/realtime?model=gpt%20realtime");
    assert_eq!(address.headers, [("authorization", "Bearer sk-1".to_owned())]);
}

#[test]
fn what_was_said_before_is_told_by_role() {
    let said = [
        Said { by_user: true, text: "q".to_owned() },
        Said { by_user: false, text: "a".to_owned() },
    ];
    let frames = sent(&protocol().open(None, &said));
    assert_eq!(frames[1]["item"]["content"][0]["type"], "input_text");
    assert_eq!(frames[2]["item"]["role"], "assistant");
    assert_eq!(frames[2]["item"]["content"][0]["type"], "output_text");
}

#[test]
fn unknown_broken_and_foreign_frames_do_nothing() {
    let mut protocol = protocol();
    assert_eq!(frame(&mut protocol, &json!({"type": "rate_limits.updated", "x": 1})), []);
    for bytes in [&b"{"[..], b"[]", b"\xff", b"{\"type\":\"response.created\"}"] {
        assert!(matches!(protocol.frame(bytes)[..], [Effect::Remark(_)]));
    }
    let stray = json!({"type": "response.output_audio.delta", "response_id": "r", "item_id": "i",
        "delta": "AAAA"});
    assert_eq!(frame(&mut protocol, &stray), []);
}

#[test]
fn a_reply_is_not_cut_behind_its_end() {
    let mut protocol = protocol();
    protocol.request(Request::Reply);
    frame(&mut protocol, &json!({"type": "response.created", "response": {"id": "r"}}));
    // Three bytes are one sample and a half.
    let sound = STANDARD_SECOND.repeat(24_000);
    let delta = base64_simd::STANDARD.encode_to_string([&sound[..], &[1]].concat());
    let effects = frame(
        &mut protocol,
        &json!({"type": "response.output_audio.delta",
        "response_id": "r", "item_id": "i", "delta": delta}),
    );
    assert!(
        matches!(&effects[..], [Effect::ReplyBegan { .. }, Effect::Sound { pcm, .. }] if pcm.len() == 48_000)
    );
    let heard = Request::Heard { reply: "i".to_owned(), played: Duration::from_secs(9) };
    assert_eq!(sent(&protocol.request(heard))[0]["audio_end_ms"], 1_000);
    let again = Request::Heard { reply: "i".to_owned(), played: Duration::ZERO };
    assert_eq!(protocol.request(again), [], "once");
}

const STANDARD_SECOND: [u8; 2] = [0, 1];

#[test]
fn a_switched_off_microphone_ends_what_the_vendor_hears() {
    let mut protocol = protocol();
    assert_eq!(protocol.request(Request::HearNothing), []);
    let began = json!({"type": "input_audio_buffer.speech_started", "item_id": "u"});
    frame(&mut protocol, &began);
    let frames = sent(&protocol.request(Request::HearNothing));
    let silence = frames[0]["audio"].as_str().unwrap();
    let bytes = base64_simd::STANDARD.decode_to_vec(silence).unwrap();
    assert_eq!(bytes.len(), 2 * 24 * 900);
}

#[test]
fn errors_mean_what_they_say() {
    for (code, recovery) in [
        ("insufficient_quota", Some(Recovery::GiveUp)),
        ("invalid_api_key", Some(Recovery::GiveUp)),
        ("session_expired", Some(Recovery::Retry)),
        ("response_cancel_not_active", None),
        ("unknown_parameter", None),
    ] {
        let mut protocol = protocol();
        let effects = frame(&mut protocol, &json!({"type": "error", "error": {"code": code}}));
        let found = effects.iter().find_map(|effect| {
            let Effect::Failed { recovery, .. } = effect else { return None };
            Some(*recovery)
        });
        assert_eq!(found, recovery, "{code}");
    }
    let mut protocol = protocol();
    for (code, reason, recovery) in [
        (Some(1001), "60 minutes", Recovery::Retry),
        (Some(1011), "", Recovery::Retry),
        (None, "cut", Recovery::Retry),
        (Some(3000), "invalid_request_error", Recovery::Unfit),
        (Some(1008), "invalid_api_key", Recovery::GiveUp),
        (Some(1000), "billing_hard_limit_reached", Recovery::GiveUp),
    ] {
        assert_eq!(protocol.closed(code, reason), recovery, "{reason}");
    }
}

#[test]
fn a_configuration_that_is_refused_is_not_tried_again() {
    let error = |event: &str, param: Option<&str>| {
        let error = json!({"code": "invalid_value", "message": "no such voice", "param": param,
            "event_id": event});
        json!({"type": "error", "error": error})
    };
    let given_up = Effect::Failed { reason: "no such voice".to_owned(), recovery: Recovery::Unfit };
    let mut one = protocol();
    let effects = frame(&mut one, &error("k1", Some("session.audio.output.voice")));
    assert_eq!(effects, [given_up]);
    // Whoever does not say what is wrong is asked for less, once.
    let mut two = protocol();
    assert_eq!(sent(&frame(&mut two, &error("k1", None))).len(), 1);
    let effects = frame(&mut two, &error("k2", None));
    assert!(
        matches!(&effects[..], [Effect::Failed { recovery: Recovery::Unfit, .. }]),
        "{effects:?}"
    );
}

#[test]
fn a_sample_that_is_torn_between_two_messages_is_put_together_again() {
    let mut protocol = protocol();
    protocol.request(Request::Reply);
    frame(&mut protocol, &json!({"type": "response.created", "response": {"id": "r"}}));
    let mut sound = |item: &str, bytes: &[u8]| {
        let delta = base64_simd::STANDARD.encode_to_string(bytes);
        let event = json!({"type": "response.output_audio.delta", "response_id": "r",
            "item_id": item, "delta": delta});
        let last = frame(&mut protocol, &event).pop();
        let Some(Effect::Sound { pcm, .. }) = last else { panic!("{last:?}") };
        pcm.to_vec()
    };
    assert_eq!(sound("i", &[1, 2, 3]), [1, 2]);
    assert_eq!(sound("i", &[4, 5, 6, 7]), [3, 4, 5, 6]);
    assert_eq!(sound("j", &[8, 9]), [8, 9], "the half of another reply is not part of this one");
}
