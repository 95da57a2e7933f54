//! A card without a card: the test is the callbacks.

use super::*;
use crate::talk::card::ring::{Loudspeaker, Pickup, rings};
use crate::talk::playout::Generation;
use std::f32::consts::TAU;
use std::time::Duration;

struct Bench {
    rack: Rack,
    pickup: Pickup,
    loudspeaker: Loudspeaker,
    speaker: Arc<Speaker>,
    captured: mpsc::Receiver<Captured>,
}

impl Bench {
    fn new(input_rate: u32, output_rate: u32) -> Self {
        let (pickup, loudspeaker, ends) = rings((input_rate, 1), (output_rate, 1));
        let speaker = Arc::<Speaker>::default();
        let (sender, captured) = mpsc::channel(1_000);
        let card = Card::default();
        let rack = Rack::new(ends, &card, Arc::clone(&speaker), sender).unwrap();
        Self { rack, pickup, loudspeaker, speaker, captured }
    }

    fn say(&self, number: u64, pcm: Bytes) {
        self.speaker.with(|playout| playout.push(Generation { life: 0, number }, pcm));
    }

    /// Ten milliseconds of a card.
    fn callback(&mut self, rate: u32, latency: Duration) -> Vec<i16> {
        let mut out = vec![0_i16; rate as usize / 100];
        self.loudspeaker.fill(&mut out, latency);
        self.rack.turn(true);
        out
    }

    fn played(&self) -> u64 {
        self.speaker.with(|playout| playout.progress()).map_or(0, |progress| progress.played)
    }
}

fn tone(rate: u32, count: usize) -> Vec<i16> {
    (0..count).map(|n| (9_000.0 * (TAU * 440.0 * n as f32 / rate as f32).sin()) as i16).collect()
}

fn loudest_step(samples: &[i16]) -> i32 {
    let steps = samples.windows(2).map(|pair| (i32::from(pair[1]) - i32::from(pair[0])).abs());
    steps.max().unwrap_or(0)
}

#[test]
fn sound_reaches_cards_of_every_rate_and_every_sample_is_counted() {
    for rate in [48_000, 44_100, 24_000, 16_000] {
        let mut bench = Bench::new(48_000, rate);
        bench.say(1, bytes(&tone(RATE, 24_000)));
        let mut heard = Vec::new();
        bench.rack.turn(false);
        for _ in 0..150 {
            heard.extend(bench.callback(rate, Duration::ZERO));
        }
        assert_eq!(bench.played(), 24_000, "at {rate} Hz");
        let loud = heard.iter().filter(|sample| sample.unsigned_abs() > 300).count();
        let share = loud as f32 / rate as f32;
        assert!((0.95..1.0).contains(&share), "at {rate} Hz: {share}");
        // A filter has a little ripple; a click would be many times as steep.
        let steepest = (1.3 * TAU * 440.0 / rate as f32 * 9_000.0) as i32;
        assert!(loudest_step(&heard) <= steepest, "at {rate} Hz: {}", loudest_step(&heard));
    }
}

#[test]
fn what_the_card_holds_back_was_not_heard() {
    let (mut bench, late) = (Bench::new(48_000, 48_000), Duration::from_millis(50));
    bench.say(1, bytes(&tone(RATE, 24_000)));
    bench.rack.turn(false);
    for _ in 0..20 {
        bench.callback(48_000, late);
    }
    // 200 ms were taken, 50 of them are still on their way, and the first of all were the start.
    assert!(bench.played() <= 24 * 150, "{}", bench.played());
    assert!(bench.played() > 24 * 100, "{}", bench.played());
    for _ in 0..120 {
        bench.callback(48_000, late);
    }
    assert_eq!(bench.played(), 24_000, "silence pushes out the last of it");
}

#[test]
fn little_is_waiting_so_that_a_cancel_is_heard_soon() {
    let mut bench = Bench::new(48_000, 48_000);
    bench.say(1, bytes(&tone(RATE, 240_000)));
    bench.rack.turn(false);
    for _ in 0..30 {
        bench.callback(48_000, Duration::ZERO);
    }
    bench.speaker.with(|playout| playout.cancel(Generation { life: 0, number: 1 }));
    let mut heard = Vec::new();
    for _ in 0..10 {
        heard.extend(bench.callback(48_000, Duration::ZERO));
    }
    let last = heard.iter().rposition(|sample| *sample != 0).unwrap_or(0);
    assert!(last < 48 * 60, "sound goes on for {} ms", last / 48);
    let steepest = (TAU * 440.0 / 48_000.0 * 9_000.0) as i32 + 80;
    assert!(loudest_step(&heard) <= steepest);
}

#[test]
fn a_card_that_takes_much_at_once_is_soon_given_enough() {
    let mut bench = Bench::new(48_000, 48_000);
    bench.rack.turn(false);
    let mut burst = || {
        let mut out = [0_i16; 4_800];
        bench.loudspeaker.fill(&mut out, Duration::ZERO);
        bench.rack.turn(false);
        bench.rack.gauge.starved()
    };
    let missed = (0..10).map(|_| burst()).last();
    assert!(missed > Some(0), "100 ms at once are more than it begins with");
    assert_eq!((0..100).map(|_| burst()).last(), missed);
}

#[test]
fn a_microphone_of_every_rate_becomes_pieces_of_24_khz() {
    for rate in [48_000, 44_100, 16_000] {
        let mut bench = Bench::new(rate, 48_000);
        for block in tone(rate, rate as usize).chunks(rate as usize / 100) {
            bench.pickup.take(block, Duration::ZERO);
            bench.rack.turn(true);
        }
        let mut heard = Vec::new();
        while let Ok(Captured::Sound(pcm)) = bench.captured.try_recv() {
            assert_eq!(pcm.len(), 2 * PIECE);
            heard.extend(samples(&pcm));
        }
        assert!((23_000..=24_000).contains(&heard.len()), "{rate}: {}", heard.len());
        let rises = heard.windows(2).filter(|pair| pair[0] < 0 && pair[1] >= 0).count();
        let pitch = rises as f32 * 24_000.0 / heard.len() as f32;
        assert!((pitch - 440.0).abs() < 5.0, "{rate}: {pitch} Hz");
    }
}

#[test]
fn nobody_listens_before_the_beginning() {
    let mut bench = Bench::new(48_000, 48_000);
    bench.pickup.take(&tone(48_000, 9_600), Duration::ZERO);
    bench.rack.turn(false);
    assert!(bench.captured.try_recv().is_err());
}

#[test]
fn what_a_sound_server_delivers_at_once_is_heard_and_the_rest_is_told() {
    let mut bench = Bench::new(48_000, 48_000);
    bench.pickup.take(&tone(48_000, 48_000 * 12 / 5), Duration::ZERO);
    bench.rack.turn(true);
    let pieces: Vec<_> = std::iter::from_fn(|| bench.captured.try_recv().ok()).collect();
    assert!((115..=120).contains(&pieces.len()), "{}", pieces.len());
    assert!(pieces.iter().all(|piece| matches!(piece, Captured::Sound(_))));
    // Nobody misses what was lost before the beginning.
    bench.pickup.take(&tone(48_000, 48_000 * 3), Duration::ZERO);
    bench.rack.turn(false);
    bench.pickup.take(&tone(48_000, 48_000 * 3), Duration::ZERO);
    bench.rack.turn(true);
    let told = std::iter::from_fn(|| bench.captured.try_recv().ok());
    let lost: Vec<_> = told.filter(|told| !matches!(told, Captured::Sound(_))).collect();
    assert_eq!(lost, [Captured::Lost(Duration::from_millis(500))]);
}

#[test]
fn a_conversation_that_does_not_listen_is_told_what_it_missed() {
    let mut bench = Bench::new(48_000, 48_000);
    let (sender, mut captured) = mpsc::channel(3);
    bench.rack.captured = sender;
    bench.pickup.take(&tone(48_000, 48_000), Duration::ZERO);
    bench.rack.turn(true);
    let kept = std::iter::from_fn(|| captured.try_recv().ok()).count();
    assert_eq!(kept, 3);
    bench.rack.turn(true);
    let Ok(Captured::Lost(time)) = captured.try_recv() else { panic!("it was not told") };
    assert!((Duration::from_millis(860)..=Duration::from_millis(940)).contains(&time), "{time:?}");
    bench.rack.turn(true);
    assert!(captured.try_recv().is_err(), "once");
}
