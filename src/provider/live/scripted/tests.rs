//! The scripted live model, spoken to through its link.

use super::*;
use std::time::Duration;
use tokio::time::{Instant, timeout};

#[tokio::test(start_paused = true)]
async fn microphone_comes_back_at_once_and_uncopied() {
    let mut link = connect();
    let chunk = loud(24_000, 1_024);
    let sent = chunk.pcm.as_ptr();
    say(&link, chunk).await;
    let LiveOutput::Audio(back) = next(&mut link).await else { panic!("no audio") };
    assert_eq!((back.rate, back.pcm.as_ptr()), (24_000, sent));
}

#[tokio::test(start_paused = true)]
async fn other_rates_are_resampled_also_when_they_change() {
    let mut link = connect();
    for (rate, expected) in [(16_000, 1_536), (48_000, 512), (16_000, 1_536)] {
        for _ in 0..8 {
            say(&link, loud(rate, 1_024)).await;
        }
        let mut total = 0;
        for _ in 0..8 {
            let LiveOutput::Audio(back) = next(&mut link).await else { panic!("no audio") };
            total += back.pcm.len() / 2;
        }
        assert!(total > 7 * expected && total <= 8 * expected, "{rate} Hz: {total} samples");
    }
}

#[tokio::test(start_paused = true)]
async fn utterance_is_transcribed_when_it_ends() {
    let mut link = connect();
    let mut heard = Vec::new();
    for n in 0..80 {
        say(&link, if n < 25 { loud(24_000, 960) } else { quiet(24_000, 960) }).await;
        heard.push(next(&mut link).await);
    }
    while let Ok(output) = link.output.try_recv() {
        heard.push(output);
    }
    heard.retain(|output| !matches!(output, LiveOutput::Audio(_)));
    let transcript =
        |speaker, text: &str| LiveOutput::Transcript { speaker, text: text.to_owned() };
    let expected = [
        transcript(Speaker::User, "heard 1.0 s of speech"),
        transcript(Speaker::Model, "played 1.0 s back"),
    ];
    assert_eq!(heard, expected);
}

#[tokio::test(start_paused = true)]
async fn text_is_echoed_and_then_spoken_in_real_time() {
    let mut link = connect();
    let began = Instant::now();
    link.input.send(LiveInput::Text("1234567890".to_owned())).await.unwrap();
    assert_eq!(next(&mut link).await, LiveOutput::Text("echo: 1234567890".to_owned()));
    for _ in 0..15 {
        let LiveOutput::Audio(tone) = next(&mut link).await else { panic!("no tone") };
        assert_eq!((tone.rate, tone.pcm.len()), (24_000, 1_920));
    }
    assert_eq!(began.elapsed(), Duration::from_millis(14 * 40));
    silent(&mut link).await;
}

#[tokio::test(start_paused = true)]
async fn speaking_over_the_tone_stops_it() {
    let mut link = connect();
    link.input.send(LiveInput::Text("x".repeat(100))).await.unwrap();
    next(&mut link).await;
    next(&mut link).await;
    say(&link, loud(24_000, 960)).await;
    assert_eq!(next(&mut link).await, LiveOutput::SpeechStarted);
    assert!(matches!(next(&mut link).await, LiveOutput::Audio(_)));
    silent(&mut link).await;
}

#[tokio::test(start_paused = true)]
async fn speaking_into_silence_is_not_an_interruption() {
    let mut link = connect();
    say(&link, loud(24_000, 960)).await;
    assert!(matches!(next(&mut link).await, LiveOutput::Audio(_)));
}

#[tokio::test(start_paused = true)]
async fn interrupt_stops_the_tone_silently() {
    let mut link = connect();
    link.input.send(LiveInput::Text("x".repeat(100))).await.unwrap();
    next(&mut link).await;
    next(&mut link).await;
    link.input.send(LiveInput::Interrupt).await.unwrap();
    silent(&mut link).await;
}

#[tokio::test(start_paused = true)]
async fn new_text_replaces_the_tone() {
    let mut link = connect();
    link.input.send(LiveInput::Text("x".repeat(300))).await.unwrap();
    next(&mut link).await;
    next(&mut link).await;
    link.input.send(LiveInput::Text("y".to_owned())).await.unwrap();
    assert_eq!(next(&mut link).await, LiveOutput::Text("echo: y".to_owned()));
    for _ in 0..10 {
        next(&mut link).await;
    }
    silent(&mut link).await;
}

#[tokio::test]
async fn image_is_described_by_its_size() {
    let mut png = Cursor::new(Vec::new());
    image::RgbImage::new(30, 20).write_to(&mut png, image::ImageFormat::Png).unwrap();
    let mut link = connect();
    for (bytes, expected) in
        [(png.into_inner(), "echo: image 30x20"), (b"hello".to_vec(), "echo: not an image")]
    {
        link.input.send(LiveInput::Image(bytes.into())).await.unwrap();
        assert_eq!(next(&mut link).await, LiveOutput::Text(expected.to_owned()));
    }
}

#[tokio::test(start_paused = true)]
async fn strange_rate_ends_the_model_with_a_reason() {
    let mut link = connect();
    say(&link, loud(5, 1)).await;
    assert!(matches!(next(&mut link).await, LiveOutput::Failed { .. }));
    assert_eq!(link.output.recv().await, None);
}

#[tokio::test(start_paused = true)]
async fn dropping_the_input_ends_the_model() {
    let LiveLink { input, mut output } = connect();
    drop(input);
    assert_eq!(output.recv().await, None);
}

async fn say(link: &LiveLink, chunk: AudioChunk) {
    link.input.send(LiveInput::Audio { chunk, gap: false }).await.unwrap();
}

async fn next(link: &mut LiveLink) -> LiveOutput {
    timeout(Duration::from_secs(60), link.output.recv()).await.unwrap().unwrap()
}

async fn silent(link: &mut LiveLink) {
    assert!(timeout(Duration::from_secs(60), link.output.recv()).await.is_err());
}

fn loud(rate: u32, samples: usize) -> AudioChunk {
    AudioChunk { rate, pcm: 9_000_i16.to_le_bytes().repeat(samples).into() }
}

fn quiet(rate: u32, samples: usize) -> AudioChunk {
    AudioChunk { rate, pcm: vec![0; 2 * samples].into() }
}
