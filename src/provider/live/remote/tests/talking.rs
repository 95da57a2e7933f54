//! What people do: ask, listen, interrupt, mumble, hold a key, show something, give work.

use super::fake_vendor::LETTER;
use super::*;
use crate::message::TalkKey;
use serde_json::json;
use tokio::time::{Instant, sleep};

fn milliseconds(time: u64) -> Duration {
    Duration::from_millis(time)
}

#[tokio::test(start_paused = true)]
async fn a_text_is_answered_and_told_when_it_was_heard() {
    let mut talk = talk();
    talk.say(LiveInput::Text("hello".to_owned())).await;
    let mut call = talk.vendor.answer().await;
    let session = &call.opening[0]["session"];
    assert_eq!(session["type"], "realtime");
    assert_eq!(session["output_modalities"], json!(["audio"]));
    assert_eq!(session["audio"]["output"]["voice"], "marin");
    let input = &session["audio"]["input"];
    assert_eq!(input["transcription"]["model"], "gpt-4o-transcribe");
    assert_eq!(input["turn_detection"]["create_response"], false);
    assert_eq!(input["turn_detection"]["interrupt_response"], false);
    assert_eq!(session["tools"][0]["name"], "code_agent_request");
    let item = call.expect("conversation.item.create").await;
    assert_eq!(item["item"]["content"], json!([{"type": "input_text", "text": "hello"}]));
    call.reply("r1", "good morning").await;
    let began = Instant::now();
    assert_eq!(talk.said().await, answer("good morning"));
    assert!(began.elapsed() >= milliseconds(11 * 1000 / 12), "{:?}", began.elapsed());
    assert_eq!(talk.player.samples(), 11 * LETTER);
}

#[tokio::test(start_paused = true)]
async fn a_question_that_is_known_late_is_told_before_its_answer() {
    let mut talk = talk();
    talk.microphone(0, 1).await;
    let mut call = talk.vendor.answer().await;
    call.speech("u1", true).await;
    call.speech("u1", false).await;
    call.reply("r1", "fine").await;
    sleep(milliseconds(2_000)).await;
    call.transcribed("u1", "how are you").await;
    assert_eq!(talk.said().await, user("how are you"));
    assert_eq!(talk.said().await, answer("fine"));
}

#[tokio::test(start_paused = true)]
async fn a_question_that_is_never_known_does_not_hold_up_its_answer() {
    let mut talk = talk();
    talk.microphone(0, 1).await;
    let mut call = talk.vendor.answer().await;
    call.speech("u1", true).await;
    call.speech("u1", false).await;
    call.reply("r1", "fine").await;
    assert_eq!(talk.said().await, answer("fine"));
    call.transcribed("u1", "how are you").await;
    assert_eq!(talk.said().await, user("how are you"));
}

#[tokio::test(start_paused = true)]
async fn who_goes_on_speaking_interrupts_and_only_what_was_heard_is_told() {
    let mut talk = talk();
    talk.say(LiveInput::Text("tell me a story".to_owned())).await;
    let mut call = talk.vendor.answer().await;
    call.expect("conversation.item.create").await;
    call.begin("r1").await;
    call.burst("r1", "once upon a time there was a king and he had many horses").await;
    sleep(milliseconds(1_000)).await;
    // By our own voice detection, half a second of voice is enough.
    talk.microphone(9_000, 16).await;
    let cancel = call.expect("response.cancel").await;
    assert_eq!(cancel["response_id"], "r1");
    call.done("r1", "cancelled").await;
    let truncate = call.expect("conversation.item.truncate").await;
    assert_eq!(truncate["item_id"], "item-r1");
    let end = truncate["audio_end_ms"].as_u64().unwrap();
    let played = talk.player.samples() as u64 * 1000 / 24_000;
    assert!(end <= played && end + 200 > played, "{end} of {played}");
    let (side, text, interrupted) = talk.said().await;
    assert_eq!((side, interrupted), (Side::Model, true));
    assert!("once upon a time there was".starts_with(&text) && text.len() > 5, "{text}");
    let silent = talk.player.samples();
    talk.nothing().await;
    assert_eq!(talk.player.samples(), silent);
}

#[tokio::test(start_paused = true)]
async fn of_a_voice_that_is_known_almost_all_is_told_that_was_heard() {
    let mut talk = talk();
    let sentence = "this is what such a voice has said";
    let mut call = None;
    for number in 0..3 {
        talk.say(LiveInput::Text("go".to_owned())).await;
        if call.is_none() {
            call = Some(talk.vendor.answer().await);
        }
        let call = call.as_mut().unwrap();
        call.expect("conversation.item.create").await;
        call.reply(&format!("r{number}"), sentence).await;
        assert_eq!(talk.said().await, answer(sentence));
    }
    let mut call = call.unwrap();
    talk.say(LiveInput::Text("a story".to_owned())).await;
    call.expect("conversation.item.create").await;
    call.begin("r3").await;
    let before = talk.player.samples();
    call.burst("r3", &vec!["word"; 40].join(" ")).await;
    sleep(milliseconds(5_000)).await;
    talk.cancel().await;
    let (_, text, interrupted) = talk.said().await;
    assert!(interrupted);
    let told = text.matches("word").count();
    let heard = (talk.player.samples() - before) / (4 * LETTER);
    assert!(told <= heard && 5 * told >= 4 * heard, "{told} of {heard} words");
}

#[tokio::test(start_paused = true)]
async fn the_vendors_word_interrupts_too() {
    let mut talk = talk();
    talk.say(LiveInput::Text("go".to_owned())).await;
    let mut call = talk.vendor.answer().await;
    call.expect("conversation.item.create").await;
    call.reply("r1", "one two three four five six seven eight nine ten").await;
    sleep(milliseconds(800)).await;
    call.speech("u1", true).await;
    // The response is complete, so there is nothing to cancel.
    call.expect("conversation.item.truncate").await;
    call.speech("u1", false).await;
    call.expect("response.create").await;
    call.transcribed("u1", "stop").await;
    assert!(matches!(talk.said().await, (Side::Model, _, true)));
    assert_eq!(talk.said().await, user("stop"));
}

#[tokio::test(start_paused = true)]
async fn a_short_word_that_means_go_on_does_not_interrupt() {
    let mut talk = talk();
    talk.say(LiveInput::Text("go".to_owned())).await;
    let mut call = talk.vendor.answer().await;
    call.expect("conversation.item.create").await;
    call.reply("r1", "one two three four five six seven eight nine ten").await;
    sleep(milliseconds(800)).await;
    call.speech("u1", true).await;
    sleep(milliseconds(700)).await;
    call.speech("u1", false).await;
    call.transcribed("u1", "Mm-hm.").await;
    let all = "one two three four five six seven eight nine ten";
    assert_eq!(talk.said().await, answer(all));
    assert_eq!(talk.said().await, user("Mm-hm."));
    talk.nothing().await;
}

#[tokio::test(start_paused = true)]
async fn a_short_word_that_means_something_interrupts_when_it_is_known() {
    let mut talk = talk();
    talk.say(LiveInput::Text("go".to_owned())).await;
    let mut call = talk.vendor.answer().await;
    call.expect("conversation.item.create").await;
    call.reply("r1", "one two three four five six seven eight nine ten").await;
    sleep(milliseconds(800)).await;
    call.speech("u1", true).await;
    sleep(milliseconds(700)).await;
    call.speech("u1", false).await;
    call.transcribed("u1", "Wait!").await;
    call.expect("response.create").await;
    call.expect("conversation.item.truncate").await;
    assert!(matches!(talk.said().await, (Side::Model, _, true)));
    assert_eq!(talk.said().await, user("Wait!"));
}

#[tokio::test(start_paused = true)]
async fn a_reply_that_nobody_heard_is_forgotten_everywhere() {
    let mut talk = talk();
    talk.say(LiveInput::Text("go".to_owned())).await;
    let mut call = talk.vendor.answer().await;
    call.expect("conversation.item.create").await;
    call.begin("r1").await;
    call.burst("r1", "one two").await;
    sleep(milliseconds(5)).await;
    talk.cancel().await;
    assert_eq!(call.expect("response.cancel").await["response_id"], "r1");
    assert_eq!(call.expect("conversation.item.delete").await["item_id"], "item-r1");
    call.done("r1", "cancelled").await;
    talk.nothing().await;
}

#[tokio::test(start_paused = true)]
async fn cancels_that_come_too_early_or_too_late_harm_nobody() {
    let mut talk = talk();
    talk.say(LiveInput::Text("one".to_owned())).await;
    let mut call = talk.vendor.answer().await;
    call.expect("conversation.item.create").await;
    call.expect("response.create").await;
    talk.say(LiveInput::Text("two".to_owned())).await;
    call.expect("conversation.item.create").await;
    // Only now the first one is there: it is cancelled, and nothing of it is heard.
    call.created("r1").await;
    call.burst("r1", "wrong").await;
    let cancel = call.expect("response.cancel").await;
    assert_eq!(cancel["response_id"], "r1");
    call.error("response_cancel_not_active", &cancel).await;
    call.done("r1", "completed").await;
    call.reply("r2", "right").await;
    assert_eq!(talk.said().await, answer("right"));
    talk.say(LiveInput::Text("three".to_owned())).await;
    call.expect("conversation.item.create").await;
    let create = call.expect("response.create").await;
    call.error("conversation_already_has_active_response", &create).await;
    call.done("r0", "completed").await;
    call.reply("r3", "again").await;
    assert_eq!(talk.said().await, answer("again"));
}

#[tokio::test(start_paused = true)]
async fn who_speaks_by_a_key_begins_and_ends_with_it() {
    let mut talk = talk();
    talk.say(LiveInput::TalkKey(TalkKey::Pressed)).await;
    let mut call = talk.vendor.answer().await;
    talk.microphone(0, 25).await;
    let off = call.expect("session.update").await;
    assert_eq!(off["session"]["audio"]["input"]["turn_detection"], json!(null));
    call.expect("input_audio_buffer.clear").await;
    talk.say(LiveInput::TalkKey(TalkKey::Released)).await;
    call.expect("input_audio_buffer.commit").await;
    assert_eq!(call.heard, 25 * 960);
    let on = call.expect("session.update").await;
    assert_eq!(on["session"]["audio"]["input"]["turn_detection"]["type"], "server_vad");
    call.send(json!({"type": "input_audio_buffer.committed", "item_id": "u1"})).await;
    call.reply("r1", "yes").await;
    call.transcribed("u1", "really").await;
    assert_eq!(talk.said().await, user("really"));
    assert_eq!(talk.said().await, answer("yes"));
}

#[tokio::test(start_paused = true)]
async fn where_the_gateway_decides_only_speech_is_heard() {
    let rules = TurnRules { turns: crate::provider::row::Turns::Gateway, ..rules() };
    let mut talk = talk_with(rules, &["first"]);
    talk.microphone(0, 25).await;
    let mut call = talk.vendor.answer().await;
    assert_eq!(call.opening[0]["session"]["audio"]["input"]["turn_detection"], json!(null));
    talk.microphone(9_000, 25).await;
    talk.microphone(0, 25).await;
    call.expect("input_audio_buffer.clear").await;
    call.expect("input_audio_buffer.commit").await;
    // Its second, what came shortly before, and the silence that ended it.
    assert!((1_400..2_200).contains(&(call.heard / 24)), "{} ms", call.heard / 24);
    call.reply("r1", "yes").await;
    assert_eq!(talk.said().await, answer("yes"));
}

#[tokio::test(start_paused = true)]
async fn a_loudspeaker_without_echo_cancellation_is_not_heard() {
    let mut talk = talk_with(TurnRules { half_duplex: true, ..rules() }, &["first"]);
    talk.say(LiveInput::Text("go".to_owned())).await;
    let mut call = talk.vendor.answer().await;
    call.expect("conversation.item.create").await;
    call.reply("r1", "one two three four five six").await;
    sleep(milliseconds(200)).await;
    talk.microphone(9_000, 25).await;
    assert_eq!(talk.said().await, answer("one two three four five six"));
    assert_eq!(call.heard, 0);
}

#[tokio::test(start_paused = true)]
async fn work_is_given_once_and_only_by_a_reply_that_was_not_broken_off() {
    let mut talk = talk();
    talk.say(LiveInput::Text("fix it".to_owned())).await;
    let mut call = talk.vendor.answer().await;
    call.expect("conversation.item.create").await;
    let wanted = json!([{"type": "function_call", "call_id": "c1", "name": "code_agent_request",
        "arguments": "{\"channel\":1,\"request\":\"x\"}"}]);
    call.expect("response.create").await;
    call.send(json!({"type": "response.created", "response": {"id": "r1"}})).await;
    call.send(json!({"type": "response.function_call_arguments.done", "response_id": "r1",
        "call_id": "c0", "name": "code_agent_request", "arguments": "{}"}))
        .await;
    call.done_with("r1", "failed", json!([])).await;
    call.expect("response.create").await;
    call.send(json!({"type": "response.created", "response": {"id": "r2"}})).await;
    call.done_with("r2", "completed", wanted).await;
    let LiveOutput::ToolCall { id, name, arguments } = talk.told().await else { panic!() };
    assert_eq!((&*id, &*name), ("c1", "code_agent_request"));
    assert_eq!(arguments, "{\"channel\":1,\"request\":\"x\"}");
    talk.say(LiveInput::ToolResult { id, outcome: Ok("begun".to_owned()) }).await;
    let result = call.expect("conversation.item.create").await;
    let output = json!({"type": "function_call_output", "call_id": "c1", "output": "begun"});
    assert_eq!(result["item"], output);
    call.reply("r3", "it has begun").await;
    assert_eq!(talk.said().await, answer("it has begun"));
    talk.say(LiveInput::Report("agent 1 is done".to_owned())).await;
    let report = call.expect("conversation.item.create").await;
    assert_eq!(report["item"]["role"], "system");
    call.reply("r4", "done").await;
    assert_eq!(talk.said().await, answer("done"));
}

#[tokio::test(start_paused = true)]
async fn pictures_come_before_what_is_asked_about_them() {
    let mut png = std::io::Cursor::new(Vec::new());
    image::RgbImage::new(30, 20).write_to(&mut png, image::ImageFormat::Png).unwrap();
    let mut talk = talk();
    talk.say(LiveInput::Image(b"no picture".to_vec().into())).await;
    talk.say(LiveInput::Image(png.into_inner().into())).await;
    talk.say(LiveInput::Text("what is it".to_owned())).await;
    let mut call = talk.vendor.answer().await;
    let seen = call.expect("conversation.item.create").await;
    let url = seen["item"]["content"][0]["image_url"].as_str().unwrap();
    assert!(url.starts_with("data:image/jpeg;base64,"), "{url}");
    let asked = call.expect("conversation.item.create").await;
    assert_eq!(asked["item"]["content"][0]["text"], "what is it");
    call.expect("response.create").await;
}

#[tokio::test(start_paused = true)]
async fn a_burst_is_held_and_nothing_of_it_is_lost() {
    let mut talk = talk();
    talk.say(LiveInput::Text("go".to_owned())).await;
    let mut call = talk.vendor.answer().await;
    call.expect("conversation.item.create").await;
    let long = vec!["word"; 500].join(" ");
    call.reply("r1", &long).await;
    // Half of it is not even read before the rest was heard.
    sleep(Duration::from_secs(200)).await;
    let (side, text, interrupted) = talk.said().await;
    assert_eq!((side, interrupted, text.len()), (Side::Model, false, long.len()));
    assert_eq!(talk.player.samples(), 2_000 * LETTER);
}

#[tokio::test(start_paused = true)]
async fn a_cancel_right_after_a_stop_of_ours_is_meant() {
    let mut talk = talk();
    talk.say(LiveInput::Text("go".to_owned())).await;
    let mut call = talk.vendor.answer().await;
    call.expect("conversation.item.create").await;
    call.reply("r1", "one two three four five six seven eight nine ten").await;
    sleep(milliseconds(800)).await;
    talk.say(LiveInput::Text("something else".to_owned())).await;
    call.expect("conversation.item.create").await;
    call.expect("response.create").await;
    call.expect("conversation.item.truncate").await;
    call.created("r2").await;
    sleep(milliseconds(50)).await;
    talk.cancel().await;
    assert_eq!(call.expect("response.cancel").await["response_id"], "r2");
}

#[tokio::test(start_paused = true)]
async fn a_reply_that_begins_while_a_cancel_is_on_its_way_is_silenced_too() {
    let mut talk = talk();
    talk.say(LiveInput::Text("go".to_owned())).await;
    let mut call = talk.vendor.answer().await;
    call.expect("conversation.item.create").await;
    call.expect("response.create").await;
    talk.player.hush();
    talk.speaker.stop(None);
    call.created("r1").await;
    call.burst("r1", "one two three four five six seven eight nine ten").await;
    sleep(milliseconds(600)).await;
    talk.say(LiveInput::Interrupt).await;
    assert_eq!(call.expect("response.cancel").await["response_id"], "r1");
    assert_eq!(talk.speaker.current(), None);
    let silent = talk.player.samples();
    call.expect("conversation.item.truncate").await;
    sleep(milliseconds(1_000)).await;
    assert_eq!(talk.player.samples(), silent);
}

#[tokio::test(start_paused = true)]
async fn what_the_vendor_hears_when_a_reply_has_just_begun_does_not_hold_it_up() {
    let rules = TurnRules { guard: milliseconds(800), ..rules() };
    for (speaks, interrupts) in [(600, false), (2_500, true)] {
        let mut talk = talk_with(rules.clone(), &["first"]);
        talk.say(LiveInput::Text("go".to_owned())).await;
        let mut call = talk.vendor.answer().await;
        call.expect("conversation.item.create").await;
        call.reply("r1", "one two three four five six seven eight nine ten").await;
        sleep(milliseconds(100)).await;
        call.speech("u1", true).await;
        sleep(milliseconds(700)).await;
        // More than what had been sent ahead when the vendor heard something.
        assert!(talk.player.samples() > 24 * 550, "{}", talk.player.samples());
        sleep(milliseconds(speaks - 500)).await;
        call.speech("u1", false).await;
        call.transcribed("u1", "Mm-hm.").await;
        assert_eq!(talk.said().await.2, interrupts, "{speaks} ms");
    }
}

#[tokio::test(start_paused = true)]
async fn where_the_gateway_decides_a_short_word_interrupts_only_if_it_means_something() {
    let all = "one two three four five six seven eight nine ten";
    for (word, interrupts) in [("Mm-hm.", false), ("Wait!", true)] {
        let rules = TurnRules { turns: crate::provider::row::Turns::Gateway, ..rules() };
        let mut talk = talk_with(rules, &["first"]);
        talk.say(LiveInput::Text("go".to_owned())).await;
        let mut call = talk.vendor.answer().await;
        call.expect("conversation.item.create").await;
        call.reply("r1", all).await;
        sleep(milliseconds(800)).await;
        talk.microphone(9_000, 7).await;
        talk.microphone(0, 10).await;
        call.expect("input_audio_buffer.clear").await;
        call.expect("input_audio_buffer.commit").await;
        assert!(call.heard > 24 * 250, "{}", call.heard);
        call.send(json!({"type": "input_audio_buffer.committed", "item_id": "u1"})).await;
        call.transcribed("u1", word).await;
        if interrupts {
            call.expect("response.create").await;
            call.expect("conversation.item.truncate").await;
        }
        let (side, text, interrupted) = talk.said().await;
        assert_eq!((side, interrupted, text == all), (Side::Model, interrupts, !interrupts));
        assert_eq!(talk.said().await, user(word));
    }
}

#[tokio::test(start_paused = true)]
async fn who_goes_on_after_a_short_word_is_not_answered_in_between() {
    let rules = TurnRules { turns: crate::provider::row::Turns::Gateway, ..rules() };
    let mut talk = talk_with(rules, &["first"]);
    talk.say(LiveInput::Text("go".to_owned())).await;
    let mut call = talk.vendor.answer().await;
    call.expect("conversation.item.create").await;
    call.reply("r1", "one two three four five six seven eight nine ten").await;
    sleep(milliseconds(800)).await;
    talk.microphone(9_000, 7).await;
    talk.microphone(0, 10).await;
    call.expect("input_audio_buffer.clear").await;
    call.expect("input_audio_buffer.commit").await;
    call.send(json!({"type": "input_audio_buffer.committed", "item_id": "u1"})).await;
    talk.microphone(9_000, 20).await;
    call.expect("input_audio_buffer.clear").await;
    call.expect("conversation.item.truncate").await;
    // Only now the vendor has understood the first word.
    call.transcribed("u1", "Wait!").await;
    talk.microphone(9_000, 5).await;
    talk.microphone(0, 20).await;
    call.expect("input_audio_buffer.commit").await;
    call.expect("response.create").await;
}
