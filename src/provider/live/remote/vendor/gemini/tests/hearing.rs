//! What the vendor is sent.

use super::*;
use crate::provider::live::remote::vendor::gemini::requests::{NUDGE, REPORT};

const NOTHING: [usize; 0] = [];

fn hear(gemini: &mut Gemini, bytes: usize) -> Vec<usize> {
    let length = |frame: Value| {
        let data = frame["realtimeInput"]["audio"]["data"].as_str().unwrap().to_owned();
        base64_simd::STANDARD.decode_to_vec(data).unwrap().len()
    };
    request(gemini, Request::Hear(Bytes::from(vec![1; bytes]))).into_iter().map(length).collect()
}

fn picture(name: &'static str) -> Request {
    Request::See(Bytes::from_static(name.as_bytes()))
}

fn shown(name: &str) -> Value {
    let data = base64_simd::STANDARD.encode_to_string(name);
    json!({"realtimeInput": {"video": {"data": data, "mimeType": "image/jpeg"}}})
}

#[test]
fn sound_goes_out_in_packets_of_20_to_100_ms() {
    let mut gemini = current();
    assert_eq!(hear(&mut gemini, 320), NOTHING);
    assert_eq!(hear(&mut gemini, 320), [640]);
    assert_eq!(hear(&mut gemini, 7000), [3200, 3200]);
    assert_eq!(hear(&mut gemini, 40), [640]);
    let frame = request(&mut gemini, Request::Hear(Bytes::from(vec![0; 640]))).remove(0);
    assert_eq!(frame["realtimeInput"]["audio"]["mimeType"], "audio/pcm;rate=16000");
}

#[test]
fn a_long_pause_of_the_microphone_is_told_once_and_sound_opens_it_again() {
    let mut gemini = current();
    let end = json!({"realtimeInput": {"audioStreamEnd": true}});
    assert_eq!(request(&mut gemini, Request::HearNothing), [] as [Value; 0]);
    hear(&mut gemini, 700);
    let frames = request(&mut gemini, Request::HearNothing);
    assert_eq!(frames.len(), 1, "all of it was sent: {frames:?}");
    assert_eq!(frames[0], end);
    assert_eq!(request(&mut gemini, Request::HearNothing), [] as [Value; 0]);
    hear(&mut gemini, 320);
    let frames = request(&mut gemini, Request::HearNothing);
    assert!(frames[0]["realtimeInput"]["audio"].is_object());
    assert_eq!(frames[1], end);
}

#[test]
fn a_short_word_by_a_key_is_answered_without_being_asked_for() {
    let mut gemini = ours();
    gemini.request(Request::SpeechBegins);
    assert_eq!(hear(&mut gemini, 100), NOTHING);
    assert_eq!(request(&mut gemini, Request::SpeechEnds).len(), 2);
    assert_eq!(gemini.request(Request::Reply), []);
}

#[test]
fn a_key_that_is_released_ends_the_stream_where_the_vendor_takes_turns() {
    let mut gemini = current();
    assert_eq!(request(&mut gemini, Request::SpeechBegins), [] as [Value; 0]);
    assert_eq!(hear(&mut gemini, 640), [640]);
    assert_eq!(
        request(&mut gemini, Request::SpeechEnds),
        [json!({"realtimeInput": {"audioStreamEnd": true}})]
    );
}

#[test]
fn turns_of_ours_have_a_start_and_an_end_and_nothing_around_them() {
    let mut gemini = ours();
    assert_eq!(hear(&mut gemini, 6400), NOTHING);
    assert_eq!(request(&mut gemini, Request::SpeechBegins), [activity_start()]);
    assert_eq!(request(&mut gemini, Request::SpeechBegins), [] as [Value; 0]);
    assert_eq!(hear(&mut gemini, 700), [700]);
    hear(&mut gemini, 100);
    let frames = request(&mut gemini, Request::SpeechEnds);
    assert!(frames[0]["realtimeInput"]["audio"].is_object(), "the rest goes before the end");
    assert_eq!(frames[1], activity_end());
    assert_eq!(request(&mut gemini, Request::Reply), [] as [Value; 0], "it answers by itself");
    assert_eq!(request(&mut gemini, Request::SpeechEnds), [] as [Value; 0]);
    // Only the vendor's own detection knows streams that end.
    assert_eq!(request(&mut gemini, Request::HearNothing), [] as [Value; 0]);
}

#[test]
fn a_text_is_never_content_because_that_closes_some_models_after_their_first_turn() {
    for name in ["gemini-3.8-live", "gemini-3.1-flash-live-preview", "gemini-2.5-flash"] {
        let mut gemini = open(name, Turns::Model);
        assert_eq!(read(&mut gemini, "hello"), [text("hello")]);
        content(&mut gemini, json!({"modelTurn": pcm(b"ab"), "turnComplete": true}));
        assert_eq!(read(&mut gemini, "again"), [text("again")]);
    }
}

#[test]
fn news_are_told_as_news() {
    let mut gemini = current();
    let frames = request(&mut gemini, Request::Report("it is done".to_owned()));
    assert_eq!(frames, [text(&format!("{REPORT}it is done"))]);
}

#[test]
fn it_replies_by_itself_and_knows_what_was_heard() {
    let mut gemini = current();
    read(&mut gemini, "hello");
    assert_eq!(gemini.request(Request::Reply), []);
    hear(&mut gemini, 640);
    assert_eq!(gemini.request(Request::Reply), []);
    let heard = Request::Heard { reply: "reply-1".to_owned(), played: Duration::ZERO };
    assert_eq!(gemini.request(heard), []);
}

#[test]
fn a_vendor_that_got_nothing_and_is_to_answer_is_told_so() {
    let mut gemini = current();
    assert_eq!(request(&mut gemini, Request::Reply), [text(NUDGE)], "it knows only the past");
    assert_eq!(request(&mut gemini, Request::Reply), [text(NUDGE)], "it is mute");
    read(&mut gemini, "hello");
    gemini.request(Request::Reply);
    gemini.open(None, &[]);
    let frames = say(&mut gemini, json!({"setupComplete": {}}));
    assert_eq!(frames, [Effect::Ready]);
    assert_eq!(request(&mut gemini, Request::Reply), [text(NUDGE)], "it has lost what was asked");
    let mut gemini = ours();
    gemini.request(Request::SpeechBegins);
    assert_eq!(gemini.request(Request::Reply), [], "the user speaks");
}

#[tokio::test(start_paused = true)]
async fn pictures_go_out_one_a_second_and_none_is_lost() {
    let mut gemini = current();
    assert_eq!(request(&mut gemini, picture("a")), [shown("a")]);
    assert_eq!(request(&mut gemini, picture("b")), [] as [Value; 0]);
    assert_eq!(request(&mut gemini, picture("c")), [] as [Value; 0]);
    tokio::time::advance(Duration::from_millis(999)).await;
    assert_eq!(gemini.request(Request::Hear(Bytes::new())), []);
    tokio::time::advance(Duration::from_millis(1)).await;
    assert_eq!(request(&mut gemini, Request::Hear(Bytes::new())), [shown("b")]);
    tokio::time::advance(Duration::from_secs(1)).await;
    assert_eq!(sent(say(&mut gemini, json!({}))), [shown("c")], "any message is an occasion");
}

#[tokio::test(start_paused = true)]
async fn a_question_does_not_overtake_the_pictures_that_it_is_about() {
    let mut gemini = current();
    for name in ["a", "b"] {
        gemini.request(picture(name));
    }
    assert_eq!(read(&mut gemini, "which?"), [shown("b"), text("which?")]);
    let mut gemini = ours();
    gemini.request(Request::SpeechBegins);
    for name in ["a", "b"] {
        gemini.request(picture(name));
    }
    assert_eq!(request(&mut gemini, Request::SpeechEnds), [shown("b"), activity_end()]);
}

#[test]
fn a_reply_is_silenced_by_pretending_that_the_user_speaks() {
    let mut gemini = ours();
    assert_eq!(gemini.request(Request::Cancel), [], "nobody speaks");
    content(&mut gemini, json!({"modelTurn": pcm(b"ab")}));
    let mut effects = gemini.request(Request::Cancel);
    assert_eq!(effects.remove(0), ended("reply-1", ReplyEnd::Cancelled));
    assert_eq!(sent(effects), [activity_start()]);
    assert_eq!(gemini.request(Request::Cancel), [], "once is enough");
    // What is still on its way, and the vendor's word for it, are nobody's business any more.
    for late in [
        json!({"modelTurn": pcm(b"cd"), "outputTranscription": {"text": "late"}}),
        json!({"interrupted": true}),
        json!({"outputTranscription": {"text": "later"}}),
        json!({"turnComplete": true}),
    ] {
        assert_eq!(content(&mut gemini, late), []);
    }
    // The user then really speaks, in the turn that is open already.
    assert_eq!(request(&mut gemini, Request::SpeechBegins), [] as [Value; 0]);
    assert_eq!(hear(&mut gemini, 640), [640]);
    assert_eq!(request(&mut gemini, Request::SpeechEnds), [activity_end()]);
    assert_eq!(
        content(&mut gemini, json!({"modelTurn": pcm(b"ef")})),
        [began("reply-2"), sound("reply-2", b"ef")]
    );
}

#[test]
fn a_text_after_silence_ends_the_pretence_or_it_would_wait_for_ever() {
    let mut gemini = ours();
    content(&mut gemini, json!({"modelTurn": pcm(b"ab")}));
    gemini.request(Request::Cancel);
    assert_eq!(read(&mut gemini, "go on"), [text("go on"), activity_end()]);
    assert_eq!(read(&mut gemini, "and on"), [text("and on")]);
}

#[test]
fn where_the_vendor_takes_turns_a_silenced_reply_is_swallowed() {
    let mut gemini = current();
    content(&mut gemini, json!({"modelTurn": pcm(b"ab")}));
    assert_eq!(gemini.request(Request::Cancel), [ended("reply-1", ReplyEnd::Cancelled)]);
    for late in [
        json!({"modelTurn": pcm(b"cd"), "outputTranscription": {"text": "late"}}),
        json!({"generationComplete": true}),
        json!({"outputTranscription": {"text": "later"}}),
        json!({"turnComplete": true}),
    ] {
        assert_eq!(content(&mut gemini, late), []);
    }
    assert_eq!(
        content(&mut gemini, json!({"modelTurn": pcm(b"ef")})),
        [began("reply-2"), sound("reply-2", b"ef")]
    );
}

#[test]
fn a_swallowed_reply_that_is_made_does_not_swallow_the_next_one() {
    let mut gemini = current();
    content(&mut gemini, json!({"modelTurn": pcm(b"ab"), "generationComplete": true}));
    gemini.request(Request::Cancel);
    read(&mut gemini, "next");
    assert_eq!(
        content(&mut gemini, json!({"modelTurn": pcm(b"cd")})),
        [began("reply-2"), sound("reply-2", b"cd")]
    );
}

#[test]
fn a_reply_can_be_silenced_before_it_begins() {
    let mut gemini = current();
    read(&mut gemini, "tell me a story");
    assert_eq!(gemini.request(Request::Cancel), []);
    let reply = json!({"modelTurn": pcm(b"ab"), "turnComplete": true});
    assert_eq!(content(&mut gemini, reply.clone()), []);
    assert_eq!(content(&mut gemini, reply).len(), 3, "the next one is heard");
}

#[test]
fn silence_does_not_swallow_the_answer_to_what_is_said_after_it() {
    let mut gemini = current();
    read(&mut gemini, "tell me a story");
    gemini.request(Request::Cancel);
    content(&mut gemini, json!({"inputTranscription": {"text": "no, a song"}}));
    let effects = content(&mut gemini, json!({"modelTurn": pcm(b"ab")}));
    assert_eq!(effects.last(), Some(&sound("reply-2", b"ab")));
}

#[test]
fn an_answer_that_was_unwanted_before_it_began_may_answer_something_else() {
    let mut gemini = current();
    read(&mut gemini, "tell me a story");
    gemini.request(Request::Cancel);
    assert_eq!(content(&mut gemini, json!({"modelTurn": pcm(b"ab")})), []);
    // The text of what the user said instead comes late.
    content(&mut gemini, json!({"inputTranscription": {"text": "no, a song"}}));
    let effects = content(&mut gemini, json!({"modelTurn": pcm(b"cd")}));
    assert_eq!(effects, [began("reply-2"), sound("reply-2", b"cd")]);
}

#[test]
fn an_interruption_by_the_vendor_leaves_nothing_to_be_swallowed() {
    let mut gemini = current();
    content(&mut gemini, json!({"modelTurn": pcm(b"ab")}));
    read(&mut gemini, "by the way");
    content(&mut gemini, json!({"interrupted": true}));
    // Whoever hears of it wants silence.
    assert_eq!(gemini.request(Request::Cancel), []);
    assert_eq!(content(&mut gemini, json!({"modelTurn": pcm(b"cd")})).len(), 2);
}

#[test]
fn what_is_over_leaves_nothing_to_be_swallowed() {
    let mut gemini = current();
    content(&mut gemini, json!({"modelTurn": pcm(b"ab")}));
    read(&mut gemini, "by the way");
    content(&mut gemini, json!({"turnComplete": true}));
    assert_eq!(gemini.request(Request::Cancel), []);
    assert_eq!(content(&mut gemini, json!({"modelTurn": pcm(b"cd")})).len(), 2);
}

#[test]
fn whoever_speaks_after_a_text_is_answered() {
    let mut gemini = current();
    read(&mut gemini, "tell me a story");
    content(&mut gemini, json!({"inputTranscription": {"text": "no, a song"}}));
    assert_eq!(gemini.request(Request::Cancel), []);
    assert_eq!(content(&mut gemini, json!({"modelTurn": pcm(b"ab")})).len(), 2);
}

#[test]
fn a_silenced_reply_still_has_the_words_of_what_was_heard_of_it() {
    let mut gemini = current();
    content(&mut gemini, json!({"modelTurn": pcm(b"ab")}));
    gemini.request(Request::Cancel);
    let words = json!({"outputTranscription": {"text": "late"}});
    assert_eq!(content(&mut gemini, words.clone()), [said("reply-1", "late")]);
    assert_eq!(content(&mut gemini, json!({"modelTurn": pcm(b"cd")})), []);
    assert_eq!(content(&mut gemini, words), [], "of what nobody has heard");
}
