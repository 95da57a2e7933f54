//! Two hours of conversation, over every limit of the vendors that there is: nothing grows, nothing drifts, and every
//! turn is told once.

use super::vendor::Call;
use super::*;
use crate::message::Turns;
use crate::provider::live::remote::gemini::tests::vendor::Call as GeminiCall;
use crate::task;
use serde_json::json;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::time::{Instant, sleep_until};

/// One every 40 seconds.
const TURNS: usize = 180;
const EVERY: Duration = Duration::from_secs(40);
/// Samples of an answer.
const ANSWER: usize = 4_800;
/// Three seconds of microphone, what was said last, and a little.
const MOST_KEPT: usize = 220;

async fn two_hours(name: &str) -> usize {
    let rules = TurnRules { turns: Turns::Gateway, ..rules() };
    let (calls, called) = mpsc::channel(4);
    let remote = Remote { models: vec![model(name)], rules: Arc::new(rules), ..remote_to(calls) };
    let probe = remote.client.probe.clone();
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
        if number % 2 == 0 {
            talk.say(LiveInput::Text(format!("q{number}"))).await;
        } else {
            talk.microphone(9_000, 25).await;
            talk.microphone(0, 20).await;
            assert_eq!(talk.said().await, user(&format!("q{number}")));
        }
        assert_eq!(talk.said().await, answer(&format!("a{number}")));
        assert!(asked.elapsed() < Duration::from_secs(10), "{number}: {:?}", asked.elapsed());
        assert_eq!(talk.player.samples(), (number + 1) * ANSWER, "{number}");
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

#[tokio::test(start_paused = true)]
async fn two_hours_pass_without_growth_or_drift() {
    assert!(two_hours("first").await >= 3);
    assert!(two_hours("gemini-3.8-live").await >= 12);
}

async fn serve(mut vendor: Vendor, connections: Arc<AtomicUsize>) {
    let mut number = 0;
    loop {
        let mut call: Call = vendor.answer().await;
        connections.fetch_add(1, Ordering::Relaxed);
        while let Some(event) = call.read().await {
            match event["type"].as_str().unwrap() {
                "input_audio_buffer.commit" => {
                    let item = format!("u{number}");
                    call.send(json!({"type": "input_audio_buffer.committed", "item_id": item}))
                        .await;
                    call.transcribed(&item, &format!("q{number}")).await;
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
        call.begin().await;
        connections.fetch_add(1, Ordering::Relaxed);
        while let Some(frame) = call.read().await {
            let input = &frame["realtimeInput"];
            if input["activityEnd"].is_object() {
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
