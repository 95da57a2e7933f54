//! The scripted live model, spoken to through its link.

use super::super::{Listener, Sound};
use super::*;
use crate::message::ConnectionId;
use std::time::Duration;
use tokio::time::{Instant, timeout};

#[tokio::test(start_paused = true)]
async fn microphone_comes_back_at_once_and_uncopied() {
    let mut link = Talk::new();
    let chunk = loud(24_000, 1_024);
    let sent = chunk.pcm.as_ptr();
    say(&link.link, chunk).await;
    let Out::Sound(back) = link.next().await else { panic!("no audio") };
    assert_eq!((back.rate, back.pcm.as_ptr()), (24_000, sent));
}

#[tokio::test(start_paused = true)]
async fn other_rates_are_resampled_also_when_they_change() {
    let mut link = Talk::new();
    for (rate, expected) in [(16_000, 1_536), (48_000, 512), (16_000, 1_536)] {
        for _ in 0..8 {
            say(&link.link, loud(rate, 1_024)).await;
        }
        let mut total = 0;
        for _ in 0..8 {
            let Out::Sound(back) = link.next().await else { panic!("no audio") };
            total += back.pcm.len() / 2;
        }
        assert!(total > 7 * expected && total <= 8 * expected, "{rate} Hz: {total} samples");
    }
}

#[tokio::test(start_paused = true)]
async fn utterance_is_transcribed_when_it_ends() {
    let mut link = Talk::new();
    let mut heard = Vec::new();
    for n in 0..80 {
        say(&link.link, if n < 25 { loud(24_000, 960) } else { quiet(24_000, 960) }).await;
        heard.push(link.next().await);
    }
    while let Ok(Some(output)) = timeout(Duration::from_secs(1), link.link.output.recv()).await {
        heard.push(Out::Told(output));
    }
    heard.retain(|output| !matches!(output, Out::Sound(_)));
    let transcript = |speaker, text: &str| {
        Out::Told(LiveOutput::Transcript { speaker, text: text.to_owned(), interrupted: None })
    };
    let expected = [
        transcript(Speaker::User, "heard 1.0 s of speech"),
        transcript(Speaker::Model, "played 1.0 s back"),
    ];
    assert_eq!(heard, expected);
}

#[tokio::test(start_paused = true)]
async fn text_is_echoed_and_then_spoken_in_real_time() {
    let mut link = Talk::new();
    let began = Instant::now();
    link.link.input.send(LiveInput::Text("1234567890".to_owned())).await.unwrap();
    assert_eq!(link.next().await, said("echo: 1234567890".to_owned()));
    for _ in 0..15 {
        let Out::Sound(tone) = link.next().await else { panic!("no tone") };
        assert_eq!((tone.rate, tone.pcm.len()), (24_000, 1_920));
    }
    assert_eq!(began.elapsed(), Duration::from_millis(14 * 40));
    link.silent().await;
}

#[tokio::test(start_paused = true)]
async fn speaking_over_the_tone_stops_it() {
    let mut link = Talk::new();
    link.link.input.send(LiveInput::Text("x".repeat(100))).await.unwrap();
    link.next().await;
    link.next().await;
    say(&link.link, loud(24_000, 960)).await;
    assert_eq!(link.next().await, Out::Stop);
    assert!(matches!(link.next().await, Out::Sound(_)));
    link.silent().await;
}

#[tokio::test(start_paused = true)]
async fn speaking_into_silence_is_not_an_interruption() {
    let mut link = Talk::new();
    say(&link.link, loud(24_000, 960)).await;
    assert!(matches!(link.next().await, Out::Sound(_)));
}

#[tokio::test(start_paused = true)]
async fn interrupt_stops_the_tone_silently() {
    let mut link = Talk::new();
    link.link.input.send(LiveInput::Text("x".repeat(100))).await.unwrap();
    link.next().await;
    link.next().await;
    // What the speaker still had is stale by then; this model only has to stop.
    link.link.input.send(LiveInput::Interrupt).await.unwrap();
    link.silent().await;
}

#[tokio::test(start_paused = true)]
async fn new_text_replaces_the_tone() {
    let mut link = Talk::new();
    link.link.input.send(LiveInput::Text("x".repeat(300))).await.unwrap();
    link.next().await;
    link.next().await;
    link.link.input.send(LiveInput::Text("y".to_owned())).await.unwrap();
    assert_eq!(link.next().await, said("echo: y".to_owned()));
    for _ in 0..10 {
        link.next().await;
    }
    link.silent().await;
}

#[tokio::test]
async fn image_is_described_by_its_size() {
    let mut png = Cursor::new(Vec::new());
    image::RgbImage::new(30, 20).write_to(&mut png, image::ImageFormat::Png).unwrap();
    let mut link = Talk::new();
    for (bytes, expected) in
        [(png.into_inner(), "echo: image 30x20"), (b"hello".to_vec(), "echo: not an image")]
    {
        link.link.input.send(LiveInput::Image(bytes.into())).await.unwrap();
        assert_eq!(link.next().await, said(expected.to_owned()));
    }
}

#[tokio::test(start_paused = true)]
async fn strange_rate_ends_the_model_with_a_reason() {
    let mut link = Talk::new();
    say(&link.link, loud(5, 1)).await;
    assert!(matches!(link.next().await, Out::Told(LiveOutput::Failed { .. })));
    assert_eq!(link.link.output.recv().await, None);
}

#[tokio::test(start_paused = true)]
async fn dropping_the_input_ends_the_model() {
    let LiveLink { input, mut output } = connect(super::super::Speaker::default());
    drop(input);
    assert_eq!(output.recv().await, None);
}

async fn say(link: &LiveLink, chunk: AudioChunk) {
    link.input.send(LiveInput::Audio { chunk, lost: 0 }).await.unwrap();
}

/// What comes of a conversation, whichever way it comes.
#[derive(Debug, PartialEq)]
enum Out {
    Sound(AudioChunk),
    Stop,
    Told(LiveOutput),
}

fn said(text: String) -> Out {
    Out::Told(LiveOutput::Text(text))
}

/// A model with one listener.
struct Talk {
    link: LiveLink,
    listener: Listener,
}

impl Talk {
    fn new() -> Self {
        let speaker = super::super::Speaker::default();
        speaker.give_to(Some(ConnectionId(1)));
        Self { listener: speaker.listen(ConnectionId(1), false), link: connect(speaker) }
    }

    async fn next(&mut self) -> Out {
        timeout(Duration::from_secs(60), self.wait()).await.unwrap()
    }

    async fn silent(&mut self) {
        assert!(timeout(Duration::from_secs(60), self.wait()).await.is_err());
    }

    async fn wait(&mut self) -> Out {
        tokio::select! {
            biased;
            output = self.link.output.recv() => Out::Told(output.unwrap()),
            sound = self.listener.next() => match sound {
                Sound::Play { chunk, .. } => Out::Sound(chunk),
                Sound::Stop { .. } => Out::Stop,
            },
        }
    }
}

fn loud(rate: u32, samples: usize) -> AudioChunk {
    AudioChunk { rate, pcm: 9_000_i16.to_le_bytes().repeat(samples).into() }
}

fn quiet(rate: u32, samples: usize) -> AudioChunk {
    AudioChunk { rate, pcm: vec![0; 2 * samples].into() }
}
