//! Whose turn it is: short words at the end of a reply, and results that come while somebody speaks.

use super::fake_vendor::LETTER;
use super::*;
use crate::message::TalkKey;
use crate::provider::live::remote::vendor::gemini::tests::fake_vendor::Call as GeminiCall;
use crate::provider::row::Turns;
use serde_json::json;
use tokio::time::sleep;

const QUESTION: &str = "shall we go on with it";
/// "hai", which is a backchannel.
const YES: &str = "\u{306f}\u{3044}";

fn milliseconds(time: u64) -> Duration {
    Duration::from_millis(time)
}

/// A question is being asked, and so long before its end the user begins to speak.
async fn asked(talk: &mut Talk, before_end: u64) -> fake_vendor::Call {
    talk.say(LiveInput::Text("go".to_owned())).await;
    let mut call = talk.vendor.answer().await;
    call.expect("conversation.item.create").await;
    call.reply("r1", QUESTION).await;
    let letters = QUESTION.chars().filter(|c| c.is_alphabetic()).count() as u64;
    // A speaker begins a little later than it gets something.
    sleep(milliseconds(letters * LETTER as u64 / 24 + 80 - before_end)).await;
    call
}

#[tokio::test(start_paused = true)]
async fn a_short_word_at_the_end_of_a_reply_is_an_answer_to_it() {
    for before_end in [100, 550] {
        let mut talk = talk();
        let mut call = asked(&mut talk, before_end).await;
        call.speech("u1", true).await;
        sleep(milliseconds(900)).await;
        call.speech("u1", false).await;
        call.transcribed("u1", YES).await;
        call.reply("r2", "good").await;
        assert_eq!(talk.said().await, answer(QUESTION), "{before_end} ms");
        assert_eq!(talk.said().await, user(YES));
        assert_eq!(talk.said().await, answer("good"));
        assert!(call.idle(Duration::from_secs(30)).await, "it is answered once");
    }
}

#[tokio::test(start_paused = true)]
async fn the_same_is_so_where_the_gateway_decides() {
    for before_end in [200, 550] {
        let mut talk = talk_with(TurnRules { turns: Turns::Gateway, ..rules() }, &["first"]);
        let mut call = asked(&mut talk, before_end).await;
        talk.microphone(9_000, 6).await;
        talk.microphone(0, 25).await;
        call.expect("input_audio_buffer.clear").await;
        call.expect("input_audio_buffer.commit").await;
        assert!(call.heard > 24 * 230, "{}", call.heard);
        call.send(json!({"type": "input_audio_buffer.committed", "item_id": "u1"})).await;
        call.transcribed("u1", YES).await;
        call.reply("r2", "good").await;
        assert_eq!(talk.said().await, answer(QUESTION), "{before_end} ms");
        assert_eq!(talk.said().await, user(YES));
        assert_eq!(talk.said().await, answer("good"));
        assert!(call.idle(Duration::from_secs(30)).await, "it is answered once");
    }
}

/// The model wants a tool to be used; its id.
async fn called(talk: &mut Talk) -> (fake_vendor::Call, String) {
    talk.say(LiveInput::Text("fix it".to_owned())).await;
    let mut call = talk.vendor.answer().await;
    call.expect("conversation.item.create").await;
    call.expect("response.create").await;
    let wanted = json!([{"type": "function_call", "call_id": "c1", "name": "code_agent_request",
        "arguments": "{\"channel\":1,\"request\":\"x\"}"}]);
    call.send(json!({"type": "response.created", "response": {"id": "r1"}})).await;
    call.done_with("r1", "completed", wanted).await;
    let LiveOutput::ToolCall { id, .. } = talk.told().await else { panic!() };
    (call, id)
}

#[tokio::test(start_paused = true)]
async fn a_result_that_comes_while_somebody_speaks_by_a_key_is_told_afterwards() {
    let mut talk = talk();
    let (mut call, id) = called(&mut talk).await;
    talk.say(LiveInput::TalkKey(TalkKey::Pressed)).await;
    talk.microphone(9_000, 10).await;
    talk.say(LiveInput::ToolResult { id, outcome: Ok("begun".to_owned()) }).await;
    talk.microphone(9_000, 10).await;
    talk.say(LiveInput::TalkKey(TalkKey::Released)).await;
    for kind in ["session.update", "input_audio_buffer.clear", "input_audio_buffer.commit"] {
        call.expect(kind).await;
    }
    call.expect("session.update").await;
    call.expect("response.create").await;
    let result = call.expect("conversation.item.create").await;
    assert_eq!(result["item"]["output"], "begun", "{result}");
}

#[tokio::test(start_paused = true)]
async fn a_result_that_another_vendor_asked_for_is_told_in_words() {
    let mut talk = talk_with(rules(), &["first", "gemini-3.8-live"]);
    let (call, id) = called(&mut talk).await;
    call.close(3000, "no more").await;
    assert!(matches!(talk.told().await, LiveOutput::Replaced { .. }));
    let mut call = GeminiCall::pick_up(talk.vendor.ring().await).await;
    call.begin().await;
    assert!(call.next().await["clientContent"].is_object());
    talk.say(LiveInput::ToolResult { id, outcome: Ok("agent 1 has begun".to_owned()) }).await;
    let told = call.text().await;
    assert!(told.contains("agent 1 has begun"), "{told}");
}

/// Who speaks by a key and leaves the microphone on hears every answer to its end.
async fn is_answered_by_key(turns: Turns, half_duplex: bool, room: [i16; 3]) {
    let mut talk = talk_with(TurnRules { turns, half_duplex, ..rules() }, &["first"]);
    let mut call = None;
    for round in 0..3 {
        talk.say(LiveInput::TalkKey(TalkKey::Pressed)).await;
        let mut now = match call.take() {
            Some(call) => call,
            None => talk.vendor.answer().await,
        };
        talk.microphone(9_000, 50).await;
        talk.say(LiveInput::TalkKey(TalkKey::Released)).await;
        let (before, id) = (talk.player.samples(), format!("r{round}"));
        let vendor = async {
            while now.next().await["type"] != "input_audio_buffer.commit" {}
            let committed = format!("u{round}");
            now.send(json!({"type": "input_audio_buffer.committed", "item_id": committed})).await;
            if turns == Turns::Model {
                now.expect("session.update").await;
            }
            now.expect("response.create").await;
            sleep(milliseconds(400)).await;
            now.created(&id).await;
            now.burst(&id, QUESTION).await;
            now.done(&id, "completed").await;
            now.transcribed(&committed, "go on").await;
        };
        let noise = async {
            // The last syllable comes after the key.
            talk.microphone(room[0], 5).await;
            talk.microphone(room[1], 50).await;
            talk.microphone(room[2], 50).await;
        };
        tokio::join!(vendor, noise);
        assert_eq!(talk.said().await, user("go on"));
        assert_eq!(talk.said().await, answer(QUESTION), "{turns:?} {room:?} {round}");
        let letters = QUESTION.chars().filter(|c| c.is_alphabetic()).count();
        assert_eq!(talk.player.samples() - before, letters * LETTER, "{turns:?} {round}");
        assert!(now.idle(Duration::from_secs(2)).await, "it is answered once");
        call = Some(now);
    }
}

#[tokio::test(start_paused = true)]
async fn who_speaks_by_a_key_and_leaves_the_microphone_on_is_answered() {
    for turns in [Turns::Model, Turns::Gateway] {
        // Silence, the room's noise, and a last syllable that comes after the key.
        for room in [[0, 0, 300], [600, 600, 600], [9_000, 0, 300]] {
            is_answered_by_key(turns, false, room).await;
        }
        is_answered_by_key(turns, true, [0, 0, 300]).await;
    }
}

#[tokio::test(start_paused = true)]
async fn who_goes_on_after_the_key_is_heard() {
    let mut talk = talk();
    talk.say(LiveInput::TalkKey(TalkKey::Pressed)).await;
    let mut call = talk.vendor.answer().await;
    talk.microphone(9_000, 25).await;
    talk.say(LiveInput::TalkKey(TalkKey::Released)).await;
    while call.next().await["type"] != "response.create" {}
    let heard = call.heard;
    call.created("r1").await;
    // Longer than any last syllable: this is somebody who does not want the answer yet.
    talk.microphone(9_000, 25).await;
    call.expect("response.cancel").await;
    while call.heard < heard + 24 * 960 {
        call.any().await;
    }
}
