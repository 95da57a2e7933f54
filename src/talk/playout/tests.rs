//! The speaker without a speaker: every sample is looked at.

use super::*;
use std::f32::consts::TAU;

const AMPLITUDE: f32 = 10_000.0;
/// The steepest step of the tone below, and what a fade may add to it.
const STEEPEST: i32 = (TAU * 440.0 / RATE as f32 * AMPLITUDE) as i32 + 60;
const TEN: usize = 10 * MILLISECOND;

fn generation(number: u64) -> Generation {
    Generation { life: 0, number }
}

fn tone(from: usize, samples: usize) -> Bytes {
    let sample = |n: usize| (AMPLITUDE * (TAU * 440.0 * n as f32 / RATE as f32).sin()) as i16;
    (from..from + samples).flat_map(|n| sample(n).to_le_bytes()).collect()
}

fn samples(pcm: &[u8]) -> Vec<i16> {
    pcm.as_chunks::<2>().0.iter().map(|pair| i16::from_le_bytes(*pair)).collect()
}

/// Renders in steps of a device and hears everything at once.
fn listen(playout: &mut Playout, count: usize) -> Vec<i16> {
    let mut heard = vec![0; count];
    for block in heard.chunks_mut(TEN) {
        playout.render(block);
        playout.advance(block.len());
    }
    heard
}

#[track_caller]
fn assert_no_click(heard: &[i16]) {
    let steps = heard.windows(2).map(|pair| (i32::from(pair[1]) - i32::from(pair[0])).abs());
    let worst = steps.max().unwrap_or(0);
    assert!(worst <= STEEPEST, "a step of {worst}, the tone itself has {STEEPEST}");
}

#[test]
fn nothing_starts_before_enough_is_there() {
    let mut playout = Playout::default();
    assert_eq!(playout.push(generation(1), tone(0, START - 1)), Taken::Waiting);
    assert!(listen(&mut playout, TEN).iter().all(|sample| *sample == 0));
    playout.push(generation(1), tone(START - 1, START));
    let heard = listen(&mut playout, START);
    assert_eq!(heard, samples(&tone(0, START)), "the sound is as it was made");
}

#[test]
fn an_answer_shorter_than_the_start_is_played_whole() {
    let mut playout = Playout::default();
    playout.push(generation(1), tone(0, 20 * MILLISECOND));
    let heard = listen(&mut playout, 2 * START);
    assert_eq!(
        heard.iter().position(|sample| *sample != 0),
        Some(START),
        "sample 0 of a sine is 0"
    );
    let progress = playout.progress().unwrap();
    assert_eq!((progress.played, progress.left_ms, progress.gaps), (480, 0, 0));
    assert_no_click(&heard);
}

#[test]
fn a_gap_is_a_fade_both_ways_and_makes_the_next_start_longer() {
    let mut playout = Playout::default();
    // 109 ms end in the middle of a wave.
    let first = 109 * MILLISECOND + 7;
    playout.push(generation(1), tone(0, first));
    let mut heard = listen(&mut playout, 200 * MILLISECOND);
    playout.push(generation(1), tone(first, 2 * START));
    let begun = heard.len();
    heard.extend(listen(&mut playout, 500 * MILLISECOND));
    assert_no_click(&heard);
    assert_eq!(playout.progress().unwrap().gaps, 1);
    assert_eq!(playout.progress().unwrap().played as usize, first + 2 * START);
    let silent = heard[begun..].iter().take_while(|sample| **sample == 0).count();
    assert!(silent <= 1, "what is longer than the new start begins at once: {silent}");
    assert_eq!(playout.start, START + GROWTH);
}

#[test]
fn the_start_grows_to_a_limit_and_recovers() {
    let mut playout = Playout::default();
    for _ in 0..50 {
        playout.push(generation(1), tone(0, MILLISECOND));
        listen(&mut playout, 600 * MILLISECOND);
    }
    assert_eq!(playout.start, LONGEST_START);
    for number in 2..60 {
        playout.push(generation(number), tone(0, MILLISECOND));
        listen(&mut playout, 600 * MILLISECOND);
    }
    assert_eq!(playout.start, START);
}

#[test]
fn a_long_pause_of_the_model_is_no_gap() {
    let mut playout = Playout::default();
    playout.push(generation(1), tone(0, START));
    listen(&mut playout, START + LONGEST_GAP + TEN);
    playout.push(generation(1), tone(0, START));
    listen(&mut playout, START);
    assert_eq!(playout.progress().unwrap().gaps, 0);
}

#[test]
fn a_cancel_is_silent_within_ten_milliseconds_and_without_a_click() {
    for played in 0..60 {
        let mut playout = Playout::default();
        playout.push(generation(1), tone(0, 10 * START));
        let mut heard = listen(&mut playout, START + played * 3);
        playout.cancel(generation(1));
        heard.extend(listen(&mut playout, TEN));
        let silence = listen(&mut playout, START);
        assert!(silence.iter().all(|sample| *sample == 0));
        heard.extend(silence);
        assert_no_click(&heard);
        let progress = playout.progress().unwrap();
        assert_eq!(progress.played as usize, START + played * 3 + FADE);
        assert_eq!(progress.left_ms, 0);
        assert_eq!(playout.push(generation(1), tone(0, START)), Taken::Stale);
    }
}

#[test]
fn a_cancel_keeps_what_comes_later_and_older_cancels_do_nothing() {
    let mut playout = Playout::default();
    playout.push(generation(1), tone(0, 3 * START));
    playout.push(generation(2), tone(0, 3 * START));
    let mut heard = listen(&mut playout, START);
    playout.cancel(generation(1));
    heard.extend(listen(&mut playout, START));
    assert_no_click(&heard);
    assert_eq!(playout.progress().unwrap().generation, generation(2));
    let before = playout.progress().unwrap().played;
    playout.cancel(generation(1));
    listen(&mut playout, TEN);
    assert_eq!(playout.progress().unwrap().played, before + TEN as u64, "it just goes on");
    assert_eq!(playout.progress_of(generation(1)).played as usize, START + FADE);
}

#[test]
fn what_comes_during_a_fade_does_not_disturb_it() {
    let mut playout = Playout::default();
    playout.push(generation(1), tone(0, 3 * START));
    let mut heard = listen(&mut playout, START + 20);
    playout.cancel(generation(1));
    heard.extend(listen(&mut playout, FADE / 2));
    playout.push(generation(2), tone(0, 3 * START));
    heard.extend(listen(&mut playout, 3 * START));
    assert_no_click(&heard);
}

#[test]
fn after_silence_the_same_answer_may_go_on() {
    let mut playout = Playout::default();
    playout.push(generation(1), tone(0, 3 * START));
    let mut heard = listen(&mut playout, START);
    playout.silence();
    heard.extend(listen(&mut playout, TEN));
    assert!(!playout.is_busy());
    assert_eq!(playout.push(generation(1), tone(0, START)), Taken::Waiting);
    heard.extend(listen(&mut playout, START));
    assert_no_click(&heard);
    assert_eq!(playout.progress().unwrap().played as usize, 2 * START + FADE);
}

#[test]
fn a_cancel_before_the_first_sample_says_that_nothing_was_heard() {
    let mut playout = Playout::default();
    playout.push(generation(3), tone(0, TEN));
    playout.cancel(generation(3));
    assert!(listen(&mut playout, 2 * START).iter().all(|sample| *sample == 0));
    assert_eq!(playout.progress(), None);
    let none = Progress { generation: generation(3), played: 0, left_ms: 0, gaps: 0 };
    assert_eq!(playout.progress_of(generation(3)), none);
}

#[test]
fn another_life_of_the_gateway_is_heard_although_it_counts_anew() {
    let mut playout = Playout::default();
    playout.push(generation(7), tone(0, START));
    playout.cancel(generation(7));
    let reborn = Generation { life: 1, number: 1 };
    assert_eq!(playout.push(reborn, tone(0, START)), Taken::Waiting);
    listen(&mut playout, START);
    assert_eq!(playout.progress().unwrap().generation, reborn);
}

#[test]
fn what_is_rendered_is_heard_only_when_the_device_says_so() {
    let mut playout = Playout::default();
    playout.push(generation(1), tone(0, START));
    let mut block = vec![0; START];
    playout.render(&mut block);
    assert_eq!(playout.progress(), None);
    assert!(!playout.advance(TEN));
    assert_eq!(playout.progress().unwrap().played as usize, TEN);
    assert_eq!(playout.progress().unwrap().left_ms, 90);
    assert!(playout.advance(START), "the last sound has been heard");
    assert!(!playout.advance(START), "which is told once");
    assert!(!playout.is_busy());
}

#[test]
fn more_than_ten_minutes_are_not_kept() {
    let mut playout = Playout::default();
    let minute = Bytes::from(vec![1; 120_000 * MILLISECOND]);
    for _ in 0..10 {
        assert_eq!(playout.push(generation(1), minute.clone()), Taken::Waiting);
    }
    assert_eq!(playout.push(generation(1), tone(0, 1)), Taken::Full);
}

#[test]
fn a_room_sounds_longer_than_the_speaker_but_not_in_silence() {
    let mut playout = Playout::default();
    playout.push(generation(1), Bytes::from(vec![0; 4 * START]));
    listen(&mut playout, START);
    assert!(!playout.is_audible(), "digital silence is nothing that a microphone hears");
    playout.cancel(generation(1));
    playout.push(generation(2), tone(0, START));
    listen(&mut playout, START);
    assert!(playout.is_audible());
    listen(&mut playout, REVERBERATION - TEN);
    assert!(playout.is_audible());
    listen(&mut playout, 2 * TEN);
    assert!(!playout.is_audible());
}
