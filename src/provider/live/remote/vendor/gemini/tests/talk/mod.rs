//! Whole conversations on the paused clock, with all that the real vendor was seen to do wrong.

mod turns;

use super::fake_vendor::Call;
use super::*;
use crate::audio::voice::VoiceGate;
use crate::message::{AudioChunk, Interruption, Speaker as Side, TalkKey};
use crate::provider::live::remote::connection::dial::Dialer;
use crate::provider::live::remote::vendor::gemini::requests::{NUDGE, REPORT};
use crate::provider::live::remote::{Availability, Client, Remote, SizeProbe};
use crate::provider::live::{self, LiveConfig, LiveInput, LiveLink, Speaker};
use std::future::ready;
use tokio::io::DuplexStream;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, timeout};

const SECOND: Duration = Duration::from_secs(1);
const LONG: Duration = Duration::from_secs(300);

struct Talk {
    link: LiveLink,
    speaker: Speaker,
    calls: mpsc::Receiver<DuplexStream>,
    /// What it has cost so far.
    usage: (u64, u64),
}

fn talk(turns: Turns) -> Talk {
    talk_with(turns, &["gemini-3.8-live"])
}

fn talk_with(turns: Turns, models: &[&str]) -> Talk {
    talk_after(Vec::new(), turns, models)
}

/// After something was said elsewhere.
fn talk_after(past: Vec<Said>, turns: Turns, models: &[&str]) -> Talk {
    let (dialled, calls) = mpsc::channel(4);
    let gate = |rules: &TurnRules| {
        let loud =
            |frame: &[i16]| if frame.iter().any(|sample| *sample > 1000) { 1.0 } else { 0.0 };
        VoiceGate::judged_by(Box::new(loud), rules.threshold_percent, rules.silence)
    };
    let model = |name: &&str| {
        let mut model = wanted(name, turns).model;
        Arc::make_mut(&mut model).name = (*name).to_owned();
        model
    };
    let remote = Remote {
        models: models.iter().map(model).collect(),
        rules: Arc::new(rules(turns)),
        instructions: "Be brief.".into(),
        tools: Vec::new(),
        client: Client {
            dialer: Dialer::to(dialled),
            availability: Availability::default(),
            gate,
            size_probe: SizeProbe::default(),
        },
    };
    let speaker = Speaker::default();
    let link = live::connect(&LiveConfig::Remote(remote), speaker.clone(), ready(past));
    Talk { link, speaker, calls, usage: (0, 0) }
}

impl Talk {
    async fn pick_up(&mut self) -> Call<DuplexStream> {
        let stream = timeout(LONG, self.calls.recv()).await.unwrap().unwrap();
        Call::pick_up(stream).await
    }

    /// A connection that is ready.
    async fn answer(&mut self) -> Call<DuplexStream> {
        let mut call = self.pick_up().await;
        call.begin().await;
        call
    }

    async fn input(&self, input: LiveInput) {
        self.link.input.send(input).await.unwrap();
    }

    async fn write(&self, text: &str) {
        self.input(LiveInput::Text(text.to_owned())).await;
    }

    /// The microphone, in real time.
    async fn speak(&self, level: i16, time: Duration) {
        for _ in 0..time.as_millis() / 40 {
            let pcm: Vec<u8> = level.to_le_bytes().repeat(640);
            let chunk = AudioChunk { rate: 16_000, pcm: pcm.into() };
            self.input(LiveInput::Audio { chunk, lost: 0 }).await;
            sleep(Duration::from_millis(40)).await;
        }
    }

    async fn output(&mut self) -> LiveOutput {
        loop {
            let output = timeout(LONG, self.link.output.recv()).await.unwrap().unwrap();
            if let LiveOutput::Usage { input, output } = output {
                self.usage = (self.usage.0 + input, self.usage.1 + output);
            } else if !matches!(output, LiveOutput::Turn(_)) {
                return output;
            }
        }
    }

    async fn said(&mut self) -> (Side, String, Option<Interruption>) {
        let output = self.output().await;
        let LiveOutput::Transcript { speaker, text, interrupted } = output else {
            panic!("{output:?}")
        };
        (speaker, text, interrupted)
    }

    async fn model_said(&mut self, wanted: &str) {
        let model = (Side::Model, wanted.to_owned(), None);
        assert_eq!(self.said().await, model);
    }

    async fn user_said(&mut self, wanted: &str) {
        assert_eq!(self.said().await, (Side::User, wanted.to_owned(), None));
    }

    /// One written question and its answer.
    async fn exchange(&mut self, call: &mut Call<DuplexStream>, question: &str, answer: &str) {
        self.write(question).await;
        assert_eq!(call.text().await, question);
        call.reply(answer, SECOND).await;
        self.model_said(answer).await;
    }

    async fn nobody_calls_for(&mut self, time: Duration) {
        assert!(timeout(time, self.calls.recv()).await.is_err());
    }
}

#[tokio::test(start_paused = true)]
async fn a_question_is_answered() {
    let mut talk = talk(Turns::Model);
    let mut call = talk.pick_up().await;
    assert!(call.path.ends_with("GenerativeService.BidiGenerateContent"), "{}", call.path);
    assert_eq!(call.key.as_deref(), Some("a-key"));
    assert_eq!(call.begin().await["model"], "models/gemini-3.8-live");
    talk.write("hello").await;
    assert_eq!(call.text().await, "hello");
    call.sound(SECOND).await;
    call.say(json!({
        "serverContent": {"outputTranscription": {"text": "hi there"}, "generationComplete": true},
        "usageMetadata": {"promptTokenCount": 7, "responseTokenCount": 5},
    }))
    .await;
    call.content(json!({"turnComplete": true})).await;
    talk.model_said("hi there").await;
    assert_eq!(talk.usage, (7, 5));
}

#[tokio::test(start_paused = true)]
async fn what_was_said_is_told_in_order_although_its_text_comes_late() {
    let mut talk = talk(Turns::Model);
    let mut call = talk.answer().await;
    talk.speak(8000, SECOND).await;
    talk.speak(0, SECOND).await;
    call.sound(SECOND).await;
    call.words("it is noon").await;
    call.content(json!({"inputTranscription": {"text": "what time "}})).await;
    call.content(json!({"inputTranscription": {"text": "is it"}, "generationComplete": true}))
        .await;
    call.content(json!({"turnComplete": true})).await;
    talk.user_said("what time is it").await;
    talk.model_said("it is noon").await;
    sleep(SECOND).await;
    talk.write("thanks").await;
    assert_eq!(call.text().await, "thanks");
    assert!(call.heard > 32_000, "{}", call.heard);
}

#[tokio::test(start_paused = true)]
async fn half_a_minute_at_once_is_heard_in_half_a_minute() {
    let mut talk = talk(Turns::Model);
    let mut call = talk.answer().await;
    talk.write("tell me").await;
    call.text().await;
    let start = Instant::now();
    call.reply("a long story", 30 * SECOND).await;
    talk.model_said("a long story").await;
    assert!(start.elapsed() >= 30 * SECOND, "{:?}", start.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_voice_that_is_slower_than_speech_is_heard_whole() {
    let mut talk = talk(Turns::Model);
    let mut call = talk.answer().await;
    talk.write("tell me").await;
    call.text().await;
    for word in ["slow", "er ", "than ", "speech"] {
        call.sound(Duration::from_millis(100)).await;
        call.words(word).await;
        sleep(SECOND).await;
    }
    call.content(json!({"generationComplete": true, "turnComplete": true})).await;
    talk.model_said("slower than speech").await;
}

#[tokio::test(start_paused = true)]
async fn an_interrupted_reply_is_told_as_far_as_it_was_heard() {
    let mut talk = talk(Turns::Model);
    let mut call = talk.answer().await;
    talk.write("tell me").await;
    call.text().await;
    call.story(10).await;
    sleep(3 * SECOND).await;
    call.content(json!({"interrupted": true})).await;
    call.content(json!({"turnComplete": true})).await;
    let (side, text, interrupted) = talk.said().await;
    assert_eq!(side, Side::Model);
    let words = text.split_whitespace().count();
    assert!((5..=12).contains(&words), "three seconds of ten: {text}");
    let heard = interrupted.unwrap().heard;
    assert!(heard > 2 * SECOND && heard < 4 * SECOND, "{heard:?}");
    call.reply("yes?", SECOND).await;
    talk.model_said("yes?").await;
}

#[tokio::test(start_paused = true)]
async fn a_vendor_that_goes_mute_after_an_interruption_is_connected_anew() {
    let mut talk = talk(Turns::Model);
    let mut call = talk.answer().await;
    talk.write("tell me").await;
    call.text().await;
    call.story(20).await;
    sleep(2 * SECOND).await;
    talk.speak(8000, SECOND).await;
    call.content(json!({"interrupted": true})).await;
    call.content(json!({"turnComplete": true})).await;
    talk.speak(0, SECOND).await;
    let mut again = talk.pick_up().await;
    let setup = again.begin().await;
    assert_eq!(setup["historyConfig"]["initialHistoryInClientContent"], true);
    let history = again.next().await["clientContent"].take();
    assert_eq!(history["turns"][0]["parts"][0]["text"], "tell me");
    assert_eq!(history["turns"][1]["role"], "model");
    // What nobody answered is said again: as sound, for its text is not known.
    let _ = timeout(5 * SECOND, again.frame()).await;
    assert!(again.heard > 16_000, "{}", again.heard);
    again.reply("yes?", SECOND).await;
    let (_, cut, interrupted) = talk.said().await;
    assert!(interrupted.is_some() && (10..60).contains(&cut.len()), "{cut}");
    talk.model_said("yes?").await;
}

#[tokio::test(start_paused = true)]
async fn a_close_in_the_middle_of_a_reply_is_survived() {
    for (code, reason) in [
        (1011, "Internal error encountered."),
        (1007, "Request contains an invalid argument."),
        (1011, "Deadline expired before operation could complete."),
    ] {
        let mut talk = talk(Turns::Model);
        let mut call = talk.answer().await;
        call.handle(Some("h")).await;
        talk.write("tell me").await;
        call.text().await;
        // While it speaks its session cannot be resumed.
        call.handle(None).await;
        call.sound(2 * SECOND).await;
        call.words("once upon").await;
        sleep(SECOND).await;
        call.close(code, reason).await;
        let mut again = talk.pick_up().await;
        let setup = again.begin().await;
        assert_eq!(setup["sessionResumption"], json!({}), "{reason}");
        let history = again.next().await;
        assert_eq!(history["clientContent"]["turns"][0]["parts"][0]["text"], "tell me");
        assert_eq!(again.text().await, NUDGE, "{reason}");
        again.reply("there was", SECOND).await;
        let (_, text, interrupted) = talk.said().await;
        assert!(interrupted.is_some() && "once upon".starts_with(&text), "{text}");
        talk.model_said("there was").await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_warning_is_followed_at_the_next_pause_and_the_old_connection_left_first() {
    let mut talk = talk(Turns::Model);
    let mut call = talk.answer().await;
    talk.exchange(&mut call, "hello", "hi").await;
    call.handle(Some("h-1")).await;
    talk.write("tell me").await;
    call.text().await;
    call.handle(None).await;
    call.sound(5 * SECOND).await;
    call.say(json!({"goAway": {"timeLeft": "50s"}})).await;
    talk.nobody_calls_for(4 * SECOND).await;
    call.words("a story").await;
    call.content(json!({"generationComplete": true, "turnComplete": true})).await;
    call.handle(Some("h-2")).await;
    talk.model_said("a story").await;
    // It is refused as long as the old one is open, and it is open until its goodbye was read.
    call.left().await;
    let mut next = talk.pick_up().await;
    assert_eq!(next.begin().await["sessionResumption"], json!({"handle": "h-2"}));
    talk.exchange(&mut next, "and then?", "that was it").await;
}

#[tokio::test(start_paused = true)]
async fn a_refused_resumption_is_tried_again_and_a_refused_handle_is_not() {
    let mut talk = talk(Turns::Model);
    let mut call = talk.answer().await;
    talk.exchange(&mut call, "hello", "hi").await;
    call.handle(Some("h-1")).await;
    call.say(json!({"goAway": {"timeLeft": "1.5s"}})).await;
    call.left().await;
    let mut refused = talk.pick_up().await;
    assert_eq!(refused.setup().await["sessionResumption"]["handle"], "h-1");
    refused.close(1011, "Internal error encountered.").await;
    let mut refused = talk.pick_up().await;
    assert_eq!(refused.setup().await["sessionResumption"]["handle"], "h-1");
    refused.close(1007, "Request contains an invalid argument.").await;
    let mut anew = talk.pick_up().await;
    assert_eq!(anew.begin().await["sessionResumption"], json!({}));
    let turns = anew.next().await["clientContent"]["turns"].take();
    assert_eq!(
        turns,
        json!([
            {"role": "user", "parts": [{"text": "hello"}]},
            {"role": "model", "parts": [{"text": "hi"}]},
        ])
    );
    talk.exchange(&mut anew, "still there?", "yes").await;
}

#[tokio::test(start_paused = true)]
async fn ten_minutes_are_crossed_without_a_word() {
    let mut talk = talk(Turns::Model);
    let mut call = talk.answer().await;
    talk.exchange(&mut call, "hello", "hi").await;
    call.handle(Some("h-1")).await;
    let start = Instant::now();
    call.left().await;
    assert!(start.elapsed() > Duration::from_secs(500), "{:?}", start.elapsed());
    let mut next = talk.pick_up().await;
    assert_eq!(next.begin().await["sessionResumption"]["handle"], "h-1");
    talk.exchange(&mut next, "still there?", "yes").await;
}

#[tokio::test(start_paused = true)]
async fn a_slow_pong_is_no_end() {
    let mut talk = talk(Turns::Model);
    let mut call = talk.answer().await;
    talk.exchange(&mut call, "hello", "hi").await;
    // Nothing is read, so no ping is answered, for longer than the slowest pong that was ever seen.
    talk.nobody_calls_for(35 * SECOND).await;
    talk.exchange(&mut call, "still there?", "yes").await;
    talk.nobody_calls_for(SECOND).await;
}

#[tokio::test(start_paused = true)]
async fn a_vendor_that_says_nothing_for_more_than_a_minute_is_connected_anew() {
    let mut talk = talk(Turns::Model);
    let mut call = talk.answer().await;
    talk.exchange(&mut call, "hello", "hi").await;
    talk.nobody_calls_for(58 * SECOND).await;
    let start = Instant::now();
    let mut again = talk.answer().await;
    assert!(start.elapsed() < 30 * SECOND, "{:?}", start.elapsed());
    assert!(again.next().await["clientContent"].is_object());
    talk.exchange(&mut again, "still there?", "yes").await;
}

#[tokio::test(start_paused = true)]
async fn a_vendor_that_never_gets_ready_is_given_up() {
    let mut talk = talk(Turns::Model);
    let mut kept = Vec::new();
    let failed = loop {
        tokio::select! {
            Some(call) = talk.calls.recv() => kept.push(Call::pick_up(call).await),
            output = talk.link.output.recv() => break output,
        }
    };
    assert!(matches!(&failed, Some(LiveOutput::Failed { .. })), "{failed:?}");
    assert!((2..20).contains(&kept.len()), "{} connections", kept.len());
}

#[tokio::test(start_paused = true)]
async fn a_bad_key_is_told_at_once_or_the_next_model_goes_on() {
    let reason = "API key not valid. Please pass a valid API key.";
    let mut talk = talk(Turns::Model);
    let mut call = talk.pick_up().await;
    call.setup().await;
    call.close(1007, reason).await;
    let failed = talk.output().await;
    assert!(matches!(&failed, LiveOutput::Failed { reason: told } if told.contains(reason)));

    let mut talk = talk_with(Turns::Model, &["gemini-3.1-flash-live-preview", "gemini-3.8-live"]);
    let mut call = talk.pick_up().await;
    call.setup().await;
    call.close(1011, "You exceeded your current quota.").await;
    let replaced = talk.output().await;
    assert!(matches!(replaced, LiveOutput::Replaced { .. }), "{replaced:?}");
    let mut call = talk.pick_up().await;
    assert_eq!(call.begin().await["model"], "models/gemini-3.8-live");
    talk.exchange(&mut call, "hello", "hi").await;
}

#[tokio::test(start_paused = true)]
async fn a_tool_is_used_once_and_not_after_it_was_cancelled() {
    let mut talk = talk(Turns::Model);
    let mut call = talk.answer().await;
    let request = |id: &str, request: &str| {
        let call = json!({"id": id, "name": "code_agent_request", "args": {"request": request}});
        json!({"toolCall": {"functionCalls": [call]}})
    };
    talk.write("build it").await;
    call.text().await;
    call.say(request("a", "build")).await;
    call.say(request("a", "build")).await;
    call.say(request("b", "test")).await;
    for wanted in ["a", "b"] {
        let told = talk.output().await;
        assert!(matches!(&told, LiveOutput::ToolCall { id, .. } if id == wanted), "{told:?}");
    }
    call.say(json!({"toolCallCancellation": {"ids": ["b"]}})).await;
    assert_eq!(talk.output().await, LiveOutput::ToolsCancelled { ids: vec!["b".to_owned()] });
    for id in ["b", "a"] {
        let outcome = Ok("done".to_owned());
        talk.input(LiveInput::ToolResult { id: id.to_owned(), outcome }).await;
    }
    let response = call.next().await["toolResponse"]["functionResponses"].take();
    assert_eq!(response.as_array().unwrap().len(), 1);
    assert_eq!(response[0]["id"], "a");
    assert_eq!(response[0]["response"], json!({"output": "done"}));
    call.reply("it is built", SECOND).await;
    talk.model_said("it is built").await;
    talk.input(LiveInput::Report("the agent is done".to_owned())).await;
    assert_eq!(call.text().await, format!("{REPORT}the agent is done"));
}

#[tokio::test(start_paused = true)]
async fn who_speaks_by_a_key_begins_and_ends_a_turn() {
    let mut talk = talk(Turns::Gateway);
    let mut call = talk.pick_up().await;
    let setup = call.begin().await;
    let detection = &setup["realtimeInputConfig"]["automaticActivityDetection"];
    assert_eq!(detection["disabled"], true);
    talk.input(LiveInput::TalkKey(TalkKey::Pressed)).await;
    talk.speak(8000, SECOND).await;
    talk.input(LiveInput::TalkKey(TalkKey::Released)).await;
    assert_eq!(call.next().await, activity_start());
    assert_eq!(call.next().await, activity_end());
    assert_eq!(call.heard, 32_000);
    call.content(json!({"inputTranscription": {"text": "over", "finished": true}})).await;
    call.reply("and out", SECOND).await;
    talk.user_said("over").await;
    talk.model_said("and out").await;
}

#[tokio::test(start_paused = true)]
async fn silence_on_request_is_silence_at_once_and_not_for_ever() {
    for turns in [Turns::Model, Turns::Gateway] {
        let mut talk = talk(turns);
        let mut call = talk.answer().await;
        talk.write("tell me").await;
        call.text().await;
        call.story(20).await;
        sleep(2 * SECOND).await;
        talk.speaker.stop(None);
        talk.input(LiveInput::Interrupt).await;
        let (_, text, interrupted) = talk.said().await;
        assert!(interrupted.is_some() && (10..50).contains(&text.len()), "{text}");
        call.sound(SECOND).await;
        call.words("who").await;
        if turns == Turns::Gateway {
            assert_eq!(call.next().await, activity_start());
            call.content(json!({"interrupted": true})).await;
        }
        call.content(json!({"turnComplete": true})).await;
        talk.write("go on").await;
        assert_eq!(call.text().await, "go on");
        if turns == Turns::Gateway {
            assert_eq!(call.next().await, activity_end());
        }
        call.reply("he slept", SECOND).await;
        talk.model_said("he slept").await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_picture_is_seen_before_the_question_about_it() {
    let mut talk = talk(Turns::Model);
    let mut call = talk.answer().await;
    let mut png = std::io::Cursor::new(Vec::new());
    image::RgbImage::new(8, 8).write_to(&mut png, image::ImageFormat::Png).unwrap();
    talk.input(LiveInput::Image(png.into_inner().into())).await;
    talk.write("what is it?").await;
    let video = call.next().await["realtimeInput"]["video"].take();
    assert_eq!(video["mimeType"], "image/jpeg");
    let jpeg = base64_simd::STANDARD.decode_to_vec(video["data"].as_str().unwrap()).unwrap();
    assert_eq!(jpeg[..2], [0xff, 0xd8]);
    assert_eq!(call.text().await, "what is it?");
}

#[tokio::test(start_paused = true)]
async fn words_that_come_behind_the_end_of_a_reply_still_count() {
    let mut talk = talk(Turns::Model);
    let mut call = talk.answer().await;
    talk.write("hello").await;
    assert_eq!(call.text().await, "hello");
    call.sound(Duration::from_millis(100)).await;
    call.words("good ").await;
    // By now all of its sound was heard.
    sleep(SECOND).await;
    call.content(json!({"turnComplete": true})).await;
    sleep(Duration::from_millis(200)).await;
    call.words("morning").await;
    talk.model_said("good morning").await;
}

#[tokio::test(start_paused = true)]
async fn words_of_a_reply_that_was_just_silenced_still_count() {
    let mut talk = talk(Turns::Model);
    let mut call = talk.answer().await;
    talk.write("hello").await;
    assert_eq!(call.text().await, "hello");
    call.sound(3 * SECOND).await;
    sleep(2 * SECOND).await;
    call.content(json!({"interrupted": true})).await;
    sleep(Duration::from_millis(50)).await;
    call.words("one two three four five six seven eight nine").await;
    let (side, text, interrupted) = talk.said().await;
    assert!(side == Side::Model && interrupted.is_some() && text.starts_with("one two"), "{text}");
}

#[tokio::test(start_paused = true)]
async fn silence_of_an_open_microphone_is_nothing_to_answer_so_a_mute_vendor_is_asked() {
    let mut talk = talk(Turns::Model);
    let mut call = talk.answer().await;
    let user = async {
        talk.speak(9_000, SECOND).await;
        talk.speak(0, 12 * SECOND).await;
    };
    let ((), read) = tokio::join!(user, call.text());
    assert_eq!(read, NUDGE);
}

#[tokio::test(start_paused = true)]
async fn what_is_known_of_an_utterance_is_asked_again_as_text() {
    for handle in [None, Some("h")] {
        let mut talk = talk(Turns::Model);
        let mut call = talk.answer().await;
        call.handle(handle).await;
        talk.speak(9_000, SECOND).await;
        call.content(json!({"inputTranscription": {"text": "what time"}})).await;
        call.content(json!({"inputTranscription": {"text": " is it"}})).await;
        talk.speak(0, SECOND).await;
        call.close(1011, "gone").await;
        talk.user_said("what time is it").await;
        let mut call = talk.pick_up().await;
        let setup = call.begin().await;
        if handle.is_some() {
            assert_eq!(setup["sessionResumption"]["handle"], "h");
            assert_eq!(call.text().await, "what time is it");
        } else {
            let history = call.next().await.to_string();
            assert!(history.contains("what time is it"), "{history}");
            assert_eq!(call.text().await, NUDGE);
        }
        assert_eq!(call.heard, 0, "its sound is not heard again");
        call.reply("noon", SECOND).await;
        talk.model_said("noon").await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_conversation_goes_on_from_what_was_said_before_it() {
    let said = |by_user, text: &str| Said { by_user, text: text.to_owned() };
    for model in ["gemini-3.8-live", "gemini-2.5-flash-live"] {
        let past = vec![said(true, "my name is kim"), said(false, "hello kim")];
        let mut talk = talk_after(past, Turns::Model, &[model]);
        let mut call = talk.pick_up().await;
        let setup = call.begin().await;
        // As content where the model takes that, and else in its instructions.
        if setup["historyConfig"].is_object() {
            let turns = call.next().await["clientContent"]["turns"].take();
            assert_eq!(turns[0]["parts"][0]["text"], "my name is kim");
            assert_eq!(turns[1], json!({"role": "model", "parts": [{"text": "hello kim"}]}));
        } else {
            let told = setup["systemInstruction"].to_string();
            assert!(told.contains("User: my name is kim") && told.contains("You: hello kim"));
        }
        talk.exchange(&mut call, "who am i", "kim").await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_short_sound_over_a_reply_does_not_interrupt_it_whoever_decides() {
    for turns in [Turns::Model, Turns::Gateway] {
        for (time, interrupts) in [(Duration::from_millis(160), false), (SECOND, true)] {
            let mut talk = talk(turns);
            let mut call = talk.answer().await;
            talk.write("tell me").await;
            call.text().await;
            call.reply("one two three four five six", 4 * SECOND).await;
            sleep(SECOND).await;
            talk.speak(8000, time).await;
            talk.speak(0, 4 * SECOND).await;
            let (side, text, interrupted) = talk.said().await;
            assert_eq!(
                (side, interrupted.is_some()),
                (Side::Model, interrupts),
                "{turns:?} {text}"
            );
            let _ = timeout(SECOND, call.frame()).await;
            while let Ok(Some(_)) = timeout(SECOND, call.frame()).await {}
            // What it hears it would fall silent at.
            assert_eq!(call.loud > 0, interrupts, "{turns:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_click_is_nothing_to_wait_for() {
    for turns in [Turns::Model, Turns::Gateway] {
        let mut talk = talk(turns);
        let mut call = talk.answer().await;
        talk.exchange(&mut call, "hello", "hi").await;
        talk.speak(8000, Duration::from_millis(80)).await;
        talk.speak(0, 3 * SECOND).await;
        let asked = timeout(40 * SECOND, async {
            loop {
                let frame = call.next().await;
                if frame["realtimeInput"]["text"].is_string() {
                    return frame;
                }
            }
        });
        let asked = asked.await;
        assert!(asked.is_err(), "{turns:?}: {asked:?}");
        talk.nobody_calls_for(SECOND).await;
        // And nothing waits for its text.
        let start = Instant::now();
        talk.exchange(&mut call, "still there?", "yes").await;
        assert!(start.elapsed() < 3 * SECOND, "{turns:?} {:?}", start.elapsed());
    }
}

#[tokio::test(start_paused = true)]
async fn a_key_holds_the_turn_although_the_vendor_would_end_it() {
    for handle in [None, Some("h")] {
        let mut talk = talk(Turns::Model);
        let mut call = talk.pick_up().await;
        let setup = call.begin().await;
        let detection = &setup["realtimeInputConfig"]["automaticActivityDetection"];
        assert_eq!(detection["disabled"], false);
        talk.exchange(&mut call, "hello", "hi").await;
        call.handle(handle).await;
        sleep(SECOND).await;
        talk.input(LiveInput::TalkKey(TalkKey::Pressed)).await;
        // It cannot be told within a connection that it is not to judge.
        call.left().await;
        let mut call = talk.pick_up().await;
        let setup = call.begin().await;
        let detection = &setup["realtimeInputConfig"]["automaticActivityDetection"];
        assert_eq!(detection["disabled"], true);
        assert_eq!(setup["sessionResumption"]["handle"].as_str(), handle);
        if handle.is_none() {
            assert!(call.next().await["clientContent"].is_object());
        }
        // A pause for thought does not end it.
        talk.speak(8000, SECOND).await;
        talk.speak(0, 2 * SECOND).await;
        talk.speak(8000, SECOND).await;
        talk.input(LiveInput::TalkKey(TalkKey::Released)).await;
        assert_eq!(call.next().await, activity_start());
        assert_eq!(call.next().await, activity_end());
        assert_eq!(call.heard, 4 * 32_000);
        call.content(json!({"inputTranscription": {"text": "over", "finished": true}})).await;
        call.reply("and out", SECOND).await;
        talk.user_said("over").await;
        talk.model_said("and out").await;
        // Without the talk key our own voice detection tells when the user speaks.
        talk.speak(8000, SECOND).await;
        talk.speak(0, SECOND).await;
        assert_eq!(call.next().await, activity_start());
        assert_eq!(call.next().await, activity_end());
    }
}
