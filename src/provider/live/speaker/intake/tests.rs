//! Replies of models that speak at another rate, as they come out of the speaker: judged by the signal.

use crate::audio::resample::Resampler;
use crate::message::{ConnectionId, Generation, StopReason};
use crate::provider::live::{Pace, SPEAKER_RATE, Sound, Speaker};
use bytes::Bytes;
use std::f64::consts::TAU;
use std::time::Duration;
use tokio::time::timeout;

const HOLDER: ConnectionId = ConnectionId(1);
const AMPLITUDE: f64 = 10_000.0;
const HERTZ: f64 = 440.0;

fn speaker() -> Speaker {
    let speaker = Speaker::default();
    speaker.give_to(Some(HOLDER));
    speaker
}

fn pcm(samples: impl Iterator<Item = f64>) -> Bytes {
    samples.flat_map(|sample| (sample.round() as i16).to_le_bytes()).collect()
}

fn tone(rate: u32, count: usize) -> Bytes {
    pcm((0..count).map(|n| AMPLITUDE * (TAU * HERTZ * n as f64 / f64::from(rate)).sin()))
}

/// In pieces as uneven as a vendor's.
async fn push(speaker: &Speaker, generation: Generation, pcm: &Bytes) {
    let (mut rest, mut sizes) = (pcm.clone(), [1, 7, 160, 333, 1_024, 4_801].into_iter().cycle());
    while !rest.is_empty() {
        let size = 2 * sizes.next().unwrap();
        let piece = rest.split_to(size.min(rest.len()));
        speaker.push(generation, piece).await.unwrap();
    }
}

/// Everything that is played until there is nothing for a while, by reply.
async fn played(speaker: &Speaker) -> Vec<(Generation, i16)> {
    let mut listener = speaker.listen(HOLDER, false);
    let mut all = Vec::new();
    while let Ok(sound) = timeout(Duration::from_secs(30), listener.next()).await {
        if let Sound::Play { generation, chunk } = sound {
            assert_eq!(chunk.rate, SPEAKER_RATE);
            let pairs = chunk.pcm.chunks_exact(2);
            all.extend(pairs.map(|pair| (generation, i16::from_le_bytes([pair[0], pair[1]]))));
        }
    }
    all
}

fn of(generation: Generation, played: &[(Generation, i16)]) -> Vec<f64> {
    let own = played.iter().filter(|(whose, _)| *whose == generation);
    own.map(|(_, sample)| f64::from(*sample)).collect()
}

/// All of it, its beginning and end included, is the tone: a click at any border would stand out.
#[track_caller]
fn check_tone(found: &[f64], rate: u32, count: usize) {
    let length = (count as u64 * u64::from(SPEAKER_RATE)).div_ceil(u64::from(rate));
    assert_eq!(found.len() as u64, length, "{rate} Hz: no sample more or less");
    let expected = |n: usize| AMPLITUDE * (TAU * HERTZ * n as f64 / f64::from(SPEAKER_RATE)).sin();
    // What is cut out of silence rings for some samples, in every filter.
    let inner = 240..found.len() - 240;
    let worst = inner.map(|n| (found[n] - expected(n)).abs()).fold(0.0, f64::max);
    assert!(worst < AMPLITUDE / 100.0, "{rate} Hz: off by {worst}");
    let steepest = TAU * HERTZ / f64::from(SPEAKER_RATE) * AMPLITUDE;
    let jump = found.windows(2).map(|two| (two[1] - two[0]).abs()).fold(0.0, f64::max);
    assert!(jump < 1.5 * steepest, "{rate} Hz: a click of {jump}");
}

#[tokio::test(start_paused = true)]
async fn a_model_of_another_rate_is_heard_whole_and_without_a_click() {
    for rate in [8_000, 16_000, 22_050, 24_000, 44_100, 48_000] {
        let speaker = speaker();
        // Whole turns of the tone: an end within one would be a click of its own.
        let count = 2 * rate as usize;
        let reply = speaker.begin_at(Pace::Bursts, rate).unwrap();
        push(&speaker, reply, &tone(rate, count)).await;
        speaker.finish(reply);
        let found = of(reply, &played(&speaker).await);
        check_tone(&found, rate, count);
        assert_eq!(speaker.played(reply).made, found.len() as u64);
    }
}

#[tokio::test(start_paused = true)]
async fn the_last_milliseconds_come_with_the_end_of_a_reply() {
    let speaker = speaker();
    let reply = speaker.begin_at(Pace::Speech, 16_000).unwrap();
    push(&speaker, reply, &tone(16_000, 1_600)).await;
    let before = played(&speaker).await.len();
    assert!(before < 2_400, "{before}: nothing was held back, so this shows nothing");
    speaker.finish(reply);
    assert_eq!(before + played(&speaker).await.len(), 2_400);
    // Once: it is told at every loss of a connection, too.
    speaker.finish(reply);
    speaker.abandon();
    assert_eq!(played(&speaker).await.len(), 0);
}

#[tokio::test(start_paused = true)]
async fn whoever_waits_hears_the_end_at_once() {
    let speaker = speaker();
    let reply = speaker.begin_at(Pace::Speech, 16_000).unwrap();
    speaker.push(reply, tone(16_000, 40)).await.unwrap();
    let mut listener = speaker.listen(HOLDER, false);
    let end = async { speaker.finish(reply) };
    // The first is asked first, and has to wait.
    let both = async { tokio::join!(biased; listener.next(), end) };
    let (sound, ()) = timeout(Duration::from_secs(5), both).await.expect("nobody woke it");
    assert!(matches!(sound, Sound::Play { .. }), "{sound:?}");
}

#[tokio::test(start_paused = true)]
async fn the_model_may_go_without_an_end_and_nothing_is_missing() {
    let speaker = speaker();
    let reply = speaker.begin_at(Pace::Bursts, 16_000).unwrap();
    push(&speaker, reply, &tone(16_000, 1_600)).await;
    speaker.abandon();
    assert_eq!(played(&speaker).await.len(), 2_400);
}

#[tokio::test(start_paused = true)]
async fn nothing_of_a_silenced_reply_is_heard_in_the_next() {
    let speaker = speaker();
    let first = speaker.begin_at(Pace::Bursts, 16_000).unwrap();
    push(&speaker, first, &pcm((0..1_000).map(|_| 30_000.0))).await;
    assert!(speaker.stop(Some(StopReason::UserSpeaks)).is_some());
    speaker.finish(first);
    assert!(speaker.push(first, tone(16_000, 500)).await.is_err());
    let next = speaker.begin_at(Pace::Bursts, 16_000).unwrap();
    let sound = tone(16_000, 8_000);
    push(&speaker, next, &sound).await;
    speaker.finish(next);
    let found = played(&speaker).await;
    assert_eq!(of(first, &found), [0.0; 0]);
    let mut alone = Resampler::new(16_000, SPEAKER_RATE).unwrap();
    let alone = [alone.push(&sound), alone.finish()].concat();
    let alone: Vec<f64> = alone
        .chunks_exact(2)
        .map(|pair| f64::from(i16::from_le_bytes([pair[0], pair[1]])))
        .collect();
    assert_eq!(of(next, &found), alone, "as if nobody had spoken before");
}

#[tokio::test(start_paused = true)]
async fn replies_that_are_made_at_the_same_time_do_not_mix() {
    let speaker = speaker();
    let (first, second) = (
        speaker.begin_at(Pace::Bursts, 16_000).unwrap(),
        speaker.begin_at(Pace::Bursts, 48_000).unwrap(),
    );
    let (low, high) = (tone(16_000, 16_000), tone(48_000, 48_000));
    for n in 0..10 {
        speaker.push(first, low.slice(n * 3_200..(n + 1) * 3_200)).await.unwrap();
        speaker.push(second, high.slice(n * 9_600..(n + 1) * 9_600)).await.unwrap();
    }
    speaker.finish(first);
    speaker.finish(second);
    let found = played(&speaker).await;
    check_tone(&of(first, &found), 16_000, 16_000);
    check_tone(&of(second, &found), 48_000, 48_000);
}

#[test]
fn a_rate_that_nobody_speaks_at_is_refused() {
    let err = Speaker::default().begin_at(Pace::Bursts, 4_000).unwrap_err();
    assert!(err.to_string().starts_with("4000 Hz is not supported"), "{err}");
}
