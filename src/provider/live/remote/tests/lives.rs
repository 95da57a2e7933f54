//! Connections that end, models that do not work, and vendors that fall silent.

use super::*;
use serde_json::{Value, json};
use tokio::time::sleep;

fn seconds(time: u64) -> Duration {
    Duration::from_secs(time)
}

/// What a new connection is told of what was said, as role and text.
async fn retold(call: &mut fake_vendor::Call, count: usize) -> Vec<(String, String)> {
    let mut said = Vec::new();
    for _ in 0..count {
        let event: Value = call.expect("conversation.item.create").await;
        let item = &event["item"];
        let text = item["content"][0]["text"].as_str().unwrap().to_owned();
        said.push((item["role"].as_str().unwrap().to_owned(), text));
    }
    said
}

fn line(role: &str, text: &str) -> (String, String) {
    (role.to_owned(), text.to_owned())
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_ends_within_a_reply_is_followed_by_one_that_knows_what_was_heard() {
    for (code, reason) in [(1011, "keepalive"), (1007, "bad"), (1001, "60 minutes")] {
        let mut talk = talk();
        talk.say(LiveInput::Text("hello".to_owned())).await;
        let mut call = talk.vendor.answer().await;
        call.expect("conversation.item.create").await;
        call.begin("r1").await;
        call.burst("r1", "good morning").await;
        call.close(code, reason).await;
        // Its text may have been ahead of its sound.
        assert_eq!(talk.said().await, cut("good"));
        let mut call = talk.vendor.answer().await;
        let said = retold(&mut call, 2).await;
        assert_eq!(said, [line("user", "hello"), line("assistant", "good")]);
        // The reply was not complete, so it is asked for again.
        call.reply("r2", "how are you").await;
        assert_eq!(talk.said().await, answer("how are you"));
    }
}

#[tokio::test(start_paused = true)]
async fn an_expired_session_is_followed_by_another() {
    let mut talk = talk();
    talk.say(LiveInput::Text("hello".to_owned())).await;
    let mut call = talk.vendor.answer().await;
    call.expect("conversation.item.create").await;
    call.reply("r1", "yes").await;
    assert_eq!(talk.said().await, answer("yes"));
    call.error("session_expired", &Value::Null).await;
    let mut call = talk.vendor.answer().await;
    let said = retold(&mut call, 2).await;
    assert_eq!(said, [line("user", "hello"), line("assistant", "yes")]);
}

#[tokio::test(start_paused = true)]
async fn a_connection_is_renewed_between_two_turns_before_it_ends() {
    let mut talk = talk();
    talk.say(LiveInput::Text("hello".to_owned())).await;
    let mut call = talk.vendor.answer().await;
    call.expect("conversation.item.create").await;
    call.reply("r1", "yes").await;
    assert_eq!(talk.said().await, answer("yes"));
    assert!(call.idle(seconds(50 * 60 - 10)).await);
    // Nobody leaves in the middle of a turn.
    talk.say(LiveInput::Text("more".to_owned())).await;
    call.expect("conversation.item.create").await;
    call.begin("r2").await;
    sleep(seconds(8)).await;
    call.burst("r2", "still here").await;
    sleep(seconds(9)).await;
    call.done("r2", "completed").await;
    assert_eq!(talk.said().await, answer("still here"));
    assert_eq!(call.event().await, None, "the old one hangs up first");
    let mut call = talk.vendor.answer().await;
    assert_eq!(retold(&mut call, 4).await[3], line("assistant", "still here"));
    talk.say(LiveInput::Text("and now".to_owned())).await;
    call.expect("conversation.item.create").await;
    call.reply("r3", "as before").await;
    assert_eq!(talk.said().await, answer("as before"));
}

#[tokio::test(start_paused = true)]
async fn another_model_goes_on_when_one_cannot() {
    let mut talk = talk_with(rules(), &["first", "second"]);
    talk.say(LiveInput::Text("hello".to_owned())).await;
    let mut call = talk.vendor.answer().await;
    let create = call.expect("conversation.item.create").await;
    call.error("insufficient_quota", &create).await;
    let LiveOutput::Replaced { model, reason } = talk.told().await else { panic!() };
    assert_eq!((&*model, &*reason), ("SECOND", "about insufficient_quota"));
    let mut call = talk.vendor.answer().await;
    assert_eq!(call.opening[0]["session"]["model"], "second");
    assert_eq!(retold(&mut call, 1).await, [line("user", "hello")]);
    call.reply("r1", "hello").await;
    assert_eq!(talk.said().await, answer("hello"));
    call.close(3000, "invalid_request_error sk-secret").await;
    let LiveOutput::Failed { reason } = talk.told().await else { panic!() };
    assert!(reason.contains("(the key)") && !reason.contains("sk-secret"), "{reason}");
    assert!(talk.link.output.recv().await.is_none());
}

#[tokio::test(start_paused = true)]
async fn a_server_that_refuses_is_not_asked_for_ever() {
    let mut talk = talk();
    talk.say(LiveInput::Text("hello".to_owned())).await;
    for _ in 0..5 {
        talk.vendor.refuse(503).await;
    }
    let LiveOutput::Failed { reason } = talk.told().await else { panic!() };
    assert!(reason.contains("503"), "{reason}");
}

#[tokio::test(start_paused = true)]
async fn a_bad_key_is_told_at_once() {
    let mut talk = talk();
    talk.say(LiveInput::Text("hello".to_owned())).await;
    talk.vendor.refuse(401).await;
    let LiveOutput::Failed { reason } = talk.told().await else { panic!() };
    assert!(reason.contains("401"), "{reason}");
}

#[tokio::test(start_paused = true)]
async fn what_is_said_while_nobody_listens_is_heard_afterwards() {
    let mut talk = talk();
    talk.microphone(0, 1).await;
    let call = talk.vendor.answer().await;
    talk.microphone(0, 5).await;
    call.close(1011, "gone").await;
    let mut call = talk.vendor.pick_up().await;
    talk.microphone(9_000, 50).await;
    call.send(json!({"type": "session.created", "session": {}})).await;
    call.expect("session.update").await;
    call.send(json!({"type": "session.updated", "session": {}})).await;
    talk.microphone(0, 5).await;
    talk.say(LiveInput::Text("mark".to_owned())).await;
    call.expect("conversation.item.create").await;
    let heard = call.heard / 24;
    assert!((2_000..=3_200).contains(&heard), "{heard} ms");
}

#[tokio::test(start_paused = true)]
async fn a_long_question_that_nobody_has_answered_is_heard_again_from_its_beginning() {
    let mut talk = talk();
    talk.microphone(0, 25).await;
    let mut call = talk.vendor.answer().await;
    call.speech("u1", true).await;
    talk.microphone(9_000, 250).await;
    call.close(1011, "gone").await;
    let mut call = talk.vendor.answer().await;
    talk.microphone(0, 5).await;
    talk.say(LiveInput::Text("mark".to_owned())).await;
    call.expect("conversation.item.create").await;
    let heard = call.heard / 24;
    assert!((10_000..14_000).contains(&heard), "{heard} ms");
}

#[tokio::test(start_paused = true)]
async fn a_limit_of_the_vendor_is_waited_for() {
    let mut talk = talk();
    talk.say(LiveInput::Text("hello".to_owned())).await;
    let mut call = talk.vendor.answer().await;
    call.expect("conversation.item.create").await;
    let create = call.expect("response.create").await;
    call.error("rate_limit_exceeded", &create).await;
    let before = tokio::time::Instant::now();
    call.expect("response.create").await;
    assert!(before.elapsed() >= seconds(1));
}

#[tokio::test(start_paused = true)]
async fn a_limit_that_the_vendor_announces_is_waited_for_as_long_as_it_says() {
    let mut talk = talk();
    talk.say(LiveInput::Text("hello".to_owned())).await;
    let mut call = talk.vendor.answer().await;
    call.expect("conversation.item.create").await;
    call.expect("response.create").await;
    call.send(json!({"type": "response.created", "response": {"id": "r1"}})).await;
    let limits = json!([{"name": "requests", "limit": 9, "remaining": 9, "reset_seconds": 50.0},
        {"name": "tokens", "limit": 9, "remaining": 0, "reset_seconds": 20.5}]);
    call.send(json!({"type": "rate_limits.updated", "rate_limits": limits})).await;
    call.done("r1", "failed").await;
    let before = tokio::time::Instant::now();
    call.expect("response.create").await;
    assert!((20..25).contains(&before.elapsed().as_secs()), "{:?}", before.elapsed());
}

#[tokio::test(start_paused = true)]
async fn whatever_is_written_before_the_vendor_is_ready_is_read() {
    let mut talk = talk();
    for number in 0..40 {
        talk.say(LiveInput::Text(number.to_string())).await;
    }
    let mut call = talk.vendor.answer().await;
    let mut read = Vec::new();
    while read.len() < 40 {
        let event = call.next().await;
        if event["type"] == "conversation.item.create" {
            read.push(event["item"]["content"][0]["text"].as_str().unwrap().to_owned());
        }
    }
    assert_eq!(read, (0..40).map(|number| number.to_string()).collect::<Vec<_>>());
}

#[tokio::test(start_paused = true)]
async fn a_vendor_that_goes_mute_is_asked_again_and_then_connected_again() {
    let mut talk = talk();
    talk.say(LiveInput::Text("hello".to_owned())).await;
    let mut call = talk.vendor.answer().await;
    call.expect("conversation.item.create").await;
    call.expect("response.create").await;
    call.send(json!({"type": "response.created", "response": {"id": "r1"}})).await;
    call.done("r1", "completed").await;
    call.expect("response.create").await;
    let mut call = talk.vendor.answer().await;
    assert_eq!(retold(&mut call, 1).await, [line("user", "hello")]);
    call.reply("r2", "here i am").await;
    assert_eq!(talk.said().await, answer("here i am"));
}

/// Connects, and never says anything.
async fn mute(talk: &mut Talk) {
    let mut call = talk.vendor.answer().await;
    crate::task::spawn("mute", async move { while call.read().await.is_some() {} });
}

#[tokio::test(start_paused = true)]
async fn a_vendor_that_never_answers_is_replaced_and_if_there_is_no_other_that_is_told() {
    let mut talk = talk_with(rules(), &["first", "second"]);
    talk.say(LiveInput::Text("hello".to_owned())).await;
    for _ in 0..3 {
        mute(&mut talk).await;
    }
    let LiveOutput::Replaced { model, reason } = talk.told().await else { panic!() };
    assert!(model == "SECOND" && reason.contains("does not answer"), "{model} {reason}");
    for _ in 0..3 {
        mute(&mut talk).await;
    }
    let LiveOutput::Failed { reason } = talk.told().await else { panic!() };
    assert!(reason.contains("does not answer"), "{reason}");
}

#[tokio::test(start_paused = true)]
async fn a_vendor_whose_answers_always_fail_is_replaced() {
    let mut talk = talk();
    talk.say(LiveInput::Text("hello".to_owned())).await;
    for _ in 0..3 {
        let mut call = talk.vendor.answer().await;
        crate::task::spawn("failing", async move {
            while let Some(event) = call.read().await {
                if event["type"] == "response.create" {
                    call.created("r").await;
                    call.done("r", "failed").await;
                }
            }
        });
    }
    let LiveOutput::Failed { reason } = talk.told().await else { panic!() };
    assert!(reason.contains("does not answer"), "{reason}");
}

#[tokio::test(start_paused = true)]
async fn what_was_heard_is_told_before_it_is_told_that_no_model_is_left() {
    let mut talk = talk();
    talk.say(LiveInput::Text("go".to_owned())).await;
    let mut call = talk.vendor.answer().await;
    call.expect("conversation.item.create").await;
    call.begin("r1").await;
    call.burst("r1", "one two three four five six seven eight nine ten").await;
    sleep(seconds(2)).await;
    call.close(3000, "no more").await;
    let (side, text, interrupted) = talk.said().await;
    assert_eq!((side, interrupted), (Side::Model, true));
    assert!("one two three four".starts_with(&text) && text.len() > 5, "{text}");
    let silent = talk.player.samples();
    assert!(matches!(talk.told().await, LiveOutput::Failed { .. }));
    assert!(talk.link.output.recv().await.is_none());
    sleep(seconds(1)).await;
    assert_eq!((talk.player.samples(), talk.speaker.current()), (silent, None));
}

#[tokio::test(start_paused = true)]
async fn what_was_heard_is_told_when_the_session_wants_no_more() {
    let mut talk = talk();
    talk.microphone(0, 1).await;
    let mut call = talk.vendor.answer().await;
    call.speech("u1", true).await;
    call.speech("u1", false).await;
    call.begin("r1").await;
    call.burst("r1", "one two three four five six seven eight nine ten").await;
    sleep(seconds(2)).await;
    let LiveLink { input, mut output } = talk.link;
    drop(input);
    let mut told = Vec::new();
    while let Some(output) = output.recv().await {
        if let LiveOutput::Transcript { text, interrupted, .. } = output {
            told.push((text, interrupted.is_some()));
        }
    }
    let [(text, true)] = &told[..] else { panic!("{told:?}") };
    assert!("one two three four".starts_with(text) && text.len() > 5, "{text}");
    assert_eq!(talk.speaker.current(), None);
}

#[tokio::test(start_paused = true)]
async fn a_conversation_goes_on_from_what_was_said_before_it() {
    let said = |by_user, text: &str| Said { by_user, text: text.to_owned() };
    let past = vec![said(true, "my name is kim"), said(false, "hello kim")];
    let mut talk = talk_after(past, rules(), &["first"]);
    talk.say(LiveInput::Text("who am i".to_owned())).await;
    let mut call = talk.vendor.answer().await;
    let wanted = [line("user", "my name is kim"), line("assistant", "hello kim")];
    assert_eq!(retold(&mut call, 2).await, wanted);
    assert_eq!(retold(&mut call, 1).await, [line("user", "who am i")]);
}

#[tokio::test(start_paused = true)]
async fn a_conversation_that_ends_does_not_silence_the_next() {
    let mut talk = talk();
    talk.say(LiveInput::Text("go".to_owned())).await;
    let mut call = talk.vendor.answer().await;
    call.expect("conversation.item.create").await;
    call.begin("r1").await;
    call.burst("r1", "one two three four five six seven eight nine ten").await;
    sleep(seconds(2)).await;
    let next = talk.speaker.begin(live::Pace::Bursts);
    talk.speaker.push(next, vec![1; 4_800].into()).await.unwrap();
    drop(talk.link.input);
    sleep(Duration::from_millis(50)).await;
    assert_eq!(talk.speaker.current(), Some(next));
}

#[tokio::test(start_paused = true)]
async fn news_that_were_not_told_when_the_connection_ended_are_told_on_the_next() {
    for begun in [false, true] {
        let mut talk = talk();
        talk.say(LiveInput::Report("agent 1 is done".to_owned())).await;
        let mut call = talk.vendor.answer().await;
        call.expect("conversation.item.create").await;
        if begun {
            call.begin("r1").await;
            call.text("r1", "agent").await;
            call.sound("r1", &[1; 24_000]).await;
            sleep(seconds(2)).await;
        }
        call.close(1011, "gone").await;
        let mut call = talk.vendor.answer().await;
        if begun {
            assert_eq!(talk.said().await, cut("agent"));
            assert_eq!(retold(&mut call, 1).await, [line("assistant", "agent")]);
        }
        assert_eq!(retold(&mut call, 1).await, [line("system", "agent 1 is done")]);
        call.reply("r2", "it is done").await;
        assert_eq!(talk.said().await, answer("it is done"));
        call.close(1011, "gone").await;
        let mut call = talk.vendor.answer().await;
        retold(&mut call, if begun { 2 } else { 1 }).await;
        assert!(call.idle(seconds(5)).await, "once is enough");
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_written_into_a_reply_comes_behind_it_also_on_the_next_connection() {
    let mut talk = talk();
    talk.say(LiveInput::Text("one".to_owned())).await;
    let mut call = talk.vendor.answer().await;
    call.expect("conversation.item.create").await;
    call.reply("r1", "a long story that goes on and on and on").await;
    tokio::time::sleep(seconds(1)).await;
    talk.say(LiveInput::Place(7)).await;
    talk.say(LiveInput::Text("two".to_owned())).await;
    let (side, heard, interrupted) = talk.said().await;
    assert!(side == Side::Model && interrupted && !heard.is_empty(), "{heard}");
    assert_eq!(talk.told().await, LiveOutput::Placed(7));
    call.close(1011, "gone").await;
    let mut call = talk.vendor.answer().await;
    let known = [line("user", "one"), line("assistant", &heard), line("user", "two")];
    assert_eq!(retold(&mut call, 3).await, known);
    // Nobody speaks: the place is where the conversation is.
    call.reply("r2", "yes").await;
    assert_eq!(talk.said().await, answer("yes"));
    talk.say(LiveInput::Place(8)).await;
    assert_eq!(talk.told().await, LiveOutput::Placed(8));
}
