//! Two hours of conversation, over every limit of the vendors that there is: nothing grows, nothing drifts, and every
//! turn is told once, also those that were interrupted.

use super::fake_vendor::Call;
use super::*;
use crate::provider::live::remote::vendor::gemini::tests::fake_vendor::Call as GeminiCall;
use crate::provider::row::Turns;
use crate::task;
use serde_json::json;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::time::{Instant, sleep, sleep_until};

/// One every 40 seconds.
const TURNS: usize = 180;
const EVERY: Duration = Duration::from_secs(40);
/// Samples of an answer, and of one that is interrupted.
const ANSWER: usize = 4_800;
const STORY: usize = 10 * 24_000;
/// What is asked for then.
const TELL: &str = "a story";
/// Three seconds of microphone, what was said last, and a little.
const MOST_KEPT: usize = 220;

/// How the user takes a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Writes,
    Speaks,
    Interrupts,
}

impl Way {
    fn of(turn: usize) -> Self {
        match turn % 6 {
            1 | 3 => Self::Speaks,
            5 => Self::Interrupts,
            _ => Self::Writes,
        }
    }
}

async fn two_hours(name: &str, turns: Turns) -> usize {
    let rules = TurnRules { turns, ..rules() };
    let (calls, called) = mpsc::channel(4);
    let remote = Remote { models: vec![model(name)], rules: Arc::new(rules), ..remote_to(calls) };
    let probe = remote.client.size_probe.clone();
    let speaker = Speaker::default();
    let player = Player::start(&speaker, ConnectionId(1));
    let link = live::connect(&LiveConfig::Remote(remote), speaker.clone(), ready(Vec::new()));
    let connections = Arc::new(AtomicUsize::new(0));
    let vendor = Vendor::new(called);
    // A vendor of its own task: the one of the test only answers.
    let (_, nobody) = mpsc::channel(1);
    let mut talk = Talk { link, speaker, player, vendor: Vendor::new(nobody) };
    if name.starts_with("gemini") {
        task::spawn("vendor", serve_gemini(vendor, Arc::clone(&connections)));
    } else {
        task::spawn("vendor", serve(vendor, Arc::clone(&connections)));
    }
    let start = Instant::now();
    let mut first_hour = 0;
    for number in 0..TURNS {
        let asked = Instant::now();
        let before = talk.player.samples();
        let cut = take_turn(&mut talk, number).await;
        assert_eq!(talk.said().await, answer(&format!("a{number}")), "{turns:?}");
        assert!(asked.elapsed() < Duration::from_secs(10), "{number}: {:?}", asked.elapsed());
        assert_eq!(talk.player.samples() - before - cut, ANSWER, "{number}");
        if number == TURNS / 2 {
            first_hour = probe.most();
        }
        sleep_until(start + EVERY * u32::try_from(number + 1).unwrap()).await;
    }
    talk.nothing().await;
    let kept = probe.most();
    assert!(kept <= first_hour + 10 && kept < MOST_KEPT, "{first_hour}, {kept}");
    assert!(talk.speaker.size() <= 8, "{}", talk.speaker.size());
    connections.load(Ordering::Relaxed)
}

/// How many samples were played of what was interrupted.
async fn take_turn(talk: &mut Talk, number: usize) -> usize {
    let way = Way::of(number);
    if way == Way::Writes {
        talk.say(LiveInput::Text(format!("q{number}"))).await;
        return 0;
    }
    let before = talk.player.samples();
    if way == Way::Interrupts {
        talk.say(LiveInput::Text(TELL.to_owned())).await;
        sleep(Duration::from_secs(2)).await;
    }
    talk.microphone(9_000, 25).await;
    let cut = talk.player.samples() - before;
    talk.microphone(0, 20).await;
    if way == Way::Interrupts {
        let (side, text, interrupted) = talk.said().await;
        assert_eq!((side, interrupted), (Side::Model, true), "{number}");
        assert!(text.starts_with("once upon"), "{number}: {text}");
        assert!((24_000..STORY / 2).contains(&cut), "{number}: {cut}");
    }
    assert_eq!(talk.said().await, user(&format!("q{number}")));
    cut
}

#[tokio::test(start_paused = true)]
async fn two_hours_with_openai_pass_without_growth_or_drift() {
    assert!(two_hours("first", Turns::Model).await >= 3);
}

#[tokio::test(start_paused = true)]
async fn the_same_with_openai_where_the_gateway_decides() {
    assert!(two_hours("first", Turns::Gateway).await >= 3);
}

#[tokio::test(start_paused = true)]
async fn two_hours_with_gemini_pass_without_growth_or_drift() {
    assert!(two_hours("gemini-3.8-live", Turns::Model).await >= 12);
}

#[tokio::test(start_paused = true)]
async fn the_same_with_gemini_where_the_gateway_decides() {
    assert!(two_hours("gemini-3.8-live", Turns::Gateway).await >= 12);
}

fn story() -> String {
    ["once upon a time"; 10].join(" ")
}

/// What a vendor that listens by itself makes of the sound so far.
#[derive(Default)]
struct Listening {
    speaks: bool,
    /// Samples since somebody spoke.
    quiet: usize,
}

impl Listening {
    /// True when somebody begins, false when they are done. Both of a stretch of sound that is all loud or all quiet.
    fn hear(&mut self, loud: bool, samples: usize, silence: usize) -> Option<bool> {
        self.quiet = if loud { 0 } else { self.quiet + samples };
        let over = self.speaks && self.quiet >= silence;
        let begins = loud && !self.speaks;
        self.speaks = (self.speaks || loud) && !over;
        if begins { Some(true) } else { over.then_some(false) }
    }
}

async fn serve(mut vendor: Vendor, connections: Arc<AtomicUsize>) {
    let (mut number, mut utterances) = (0, 0);
    loop {
        let mut call: Call = vendor.answer().await;
        let detects = !call.opening[0]["session"]["audio"]["input"]["turn_detection"].is_null();
        connections.fetch_add(1, Ordering::Relaxed);
        let (mut listening, mut tells) = (Listening::default(), false);
        while let Some(event) = call.any().await {
            match event["type"].as_str().unwrap() {
                "input_audio_buffer.append" if detects => {
                    let (loud, samples) = fake_vendor::loudness(&event);
                    let heard = listening.hear(loud, samples, 24_000 / 2);
                    utterances += usize::from(heard == Some(true));
                    let item = format!("u{utterances}");
                    if let Some(began) = heard {
                        call.speech(&item, began).await;
                    }
                    if heard == Some(false) {
                        call.transcribed(&item, &format!("q{number}")).await;
                    }
                }
                "input_audio_buffer.commit" => {
                    utterances += 1;
                    let item = format!("u{utterances}");
                    call.send(json!({"type": "input_audio_buffer.committed", "item_id": item}))
                        .await;
                    call.transcribed(&item, &format!("q{number}")).await;
                }
                "conversation.item.create" => {
                    tells = event["item"]["content"][0]["text"] == TELL;
                }
                "response.create" if std::mem::take(&mut tells) => {
                    let id = format!("s{number}");
                    call.created(&id).await;
                    call.text(&id, &story()).await;
                    call.sound(&id, &vec![1; STORY]).await;
                    call.done(&id, "completed").await;
                }
                "response.create" => {
                    let id = format!("r{number}");
                    call.created(&id).await;
                    call.text(&id, &format!("a{number}")).await;
                    call.sound(&id, &[1; ANSWER]).await;
                    call.done(&id, "completed").await;
                    number += 1;
                }
                _ => (),
            }
        }
    }
}

async fn serve_gemini(mut vendor: Vendor, connections: Arc<AtomicUsize>) {
    let mut number = 0;
    loop {
        let mut call = GeminiCall::pick_up(vendor.ring().await).await;
        let setup = call.begin().await;
        let detection = &setup["realtimeInputConfig"]["automaticActivityDetection"];
        let detects = detection["disabled"] == false;
        connections.fetch_add(1, Ordering::Relaxed);
        let (mut listening, mut tells, mut seen) = (Listening::default(), false, (0, 0));
        while let Some(frame) = call.any().await {
            let input = &frame["realtimeInput"];
            let loud = call.loud > seen.1;
            let heard =
                listening.hear(loud, (call.heard - seen.0) / 2, 16_000 / 2).filter(|_| detects);
            seen = (call.heard, call.loud);
            let begins = heard == Some(true) || input["activityStart"].is_object();
            if begins && std::mem::take(&mut tells) {
                call.content(json!({"interrupted": true})).await;
                call.content(json!({"turnComplete": true})).await;
            }
            if input["text"] == TELL {
                tells = true;
                call.pcm(&1_i16.to_le_bytes().repeat(STORY)).await;
                call.words(&story()).await;
                call.content(json!({"generationComplete": true})).await;
                continue;
            }
            if heard == Some(false) || input["activityEnd"].is_object() {
                let heard = json!({"text": format!("q{number}"), "finished": true});
                call.content(json!({ "inputTranscription": heard })).await;
            } else if !input["text"].is_string() {
                continue;
            }
            call.pcm(&1_i16.to_le_bytes().repeat(ANSWER)).await;
            call.words(&format!("a{number}")).await;
            call.content(json!({"generationComplete": true, "turnComplete": true})).await;
            call.handle(Some(&format!("h{number}"))).await;
            number += 1;
        }
    }
}
