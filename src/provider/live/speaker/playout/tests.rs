//! The playout on a clock of the test's own.

use super::super::reply::PACKET;
use super::*;

const MS: Duration = Duration::from_millis(1);

/// So many milliseconds of sound whose samples count up from `from`, so that every one of them can be told.
fn sound(from: u64, millis: u64) -> Bytes {
    let count = samples(MS * u32::try_from(millis).unwrap());
    (from..from + count).flat_map(|n| (n as u16).to_le_bytes()).collect()
}

struct Bench {
    playout: Playout,
    now: Instant,
    /// The client echoes stops and tells nothing, as existing ones do.
    echoes: bool,
}

impl Bench {
    fn new() -> Self {
        let mut bench = Self { playout: Playout::default(), now: Instant::now(), echoes: false };
        bench.playout.hand_over(true, bench.now);
        bench
    }

    /// With a client that never tells what it has played.
    fn untold() -> Self {
        Self { echoes: true, ..Self::new() }
    }

    fn reply(&mut self, millis: u64) -> Generation {
        let generation = self.playout.begin(Pace::Bursts, Intake::default());
        self.playout.push(generation, sound(0, millis), self.now);
        self.playout.finish(generation, self.now);
        generation
    }

    fn wait(&mut self, millis: u32) {
        self.now += MS * millis;
    }

    /// Everything that may be sent now.
    fn take(&mut self) -> Vec<u8> {
        let mut taken = Vec::new();
        while let Next::Sound(Sound::Play { chunk, .. }) = self.playout.next(self.now, self.echoes)
        {
            assert!(chunk.pcm.len() <= 2 * samples(PACKET) as usize);
            taken.extend_from_slice(&chunk.pcm);
        }
        taken
    }

    fn ack(&mut self, generation: Generation, samples: u64) {
        let ack = PlaybackAck { generation, samples, buffered: Duration::ZERO, underruns: 0 };
        self.playout.ack(ack, self.now);
    }

    fn heard(&mut self, generation: Generation) -> u64 {
        self.playout.played(generation, self.now).samples
    }
}

#[test]
fn a_burst_is_sent_as_it_is_played_with_a_lead() {
    let mut bench = Bench::new();
    bench.reply(2_000);
    let mut sent = bench.take();
    // The lead, and the packet that goes beyond it.
    assert_eq!(sent.len(), sound(0, 500).len());
    for _ in 0..30 {
        bench.wait(50);
        sent.extend(bench.take());
    }
    assert_eq!(sent, sound(0, 2_000));
}

#[test]
fn who_waits_is_told_for_how_long() {
    let mut bench = Bench::new();
    bench.reply(2_000);
    bench.take();
    let Next::Wait(moment) = bench.playout.next(bench.now, false) else {
        panic!("nothing to wait for")
    };
    assert_eq!(moment - bench.now, MS * 100);
    bench.now = moment;
    assert!(matches!(bench.playout.next(bench.now, false), Next::Sound(_)));
}

#[test]
fn a_model_that_speaks_like_people_is_not_held_back() {
    let mut bench = Bench::new();
    let generation = bench.playout.begin(Pace::Speech, Intake::default());
    for n in 0..100 {
        bench.playout.push(generation, sound(n, 90), bench.now);
    }
    assert_eq!(bench.take().len(), 100 * sound(0, 90).len());
}

#[test]
fn silence_makes_everything_stale_and_goes_first() {
    let mut bench = Bench::untold();
    let first = bench.reply(2_000);
    bench.reply(500);
    bench.take();
    bench.wait(650);
    let cut = bench.playout.stop(Some(StopReason::UserSpeaks), bench.now).unwrap();
    assert_eq!(cut.generation, first);
    // 500 ms were sent, and all of them could be heard by now.
    assert_eq!(cut.played.samples, samples(MS * 500));
    let third = bench.reply(100);
    assert!(bench.playout.is_stale(first) && !bench.playout.is_stale(third));
    let Next::Sound(Sound::Stop { generation, .. }) = bench.playout.next(bench.now, false) else {
        panic!("sound overtook silence");
    };
    assert_eq!(generation, Generation(2));
    assert_eq!(bench.take(), sound(0, 100));
    assert_eq!(bench.playout.stop(None, bench.now + MS * 1_000), None, "nothing is left");
}

#[test]
fn a_client_that_stops_by_itself_is_not_told() {
    let mut bench = Bench::new();
    bench.reply(2_000);
    bench.take();
    assert!(bench.playout.stop(None, bench.now).is_some());
    assert!(matches!(bench.playout.next(bench.now, false), Next::Nothing));
}

#[test]
fn without_word_of_the_client_less_is_taken_for_heard() {
    let mut bench = Bench::untold();
    let reply = bench.reply(300);
    bench.take();
    for (wait, heard) in [(0, 0), (150, 0), (100, 100), (200, 300), (500, 300)] {
        bench.wait(wait);
        assert_eq!(bench.heard(reply), samples(MS * heard));
    }
    assert!(bench.playout.played(reply, bench.now).over);
}

#[test]
fn who_will_tell_has_heard_nothing_until_then_however_slow_the_network() {
    let mut bench = Bench::new();
    let reply = bench.reply(1_000);
    bench.take();
    bench.wait(900);
    assert_eq!(bench.heard(reply), 0);
    let cut = bench.playout.stop(Some(StopReason::UserSpeaks), bench.now).unwrap();
    assert_eq!(cut.played.samples, 0);
    bench.ack(reply, samples(MS * 30));
    assert_eq!(bench.heard(reply), samples(MS * 30), "also after it was silenced");
}

#[test]
fn who_breaks_the_promise_to_tell_is_judged_like_any_other() {
    let mut bench = Bench::new();
    let reply = bench.reply(300);
    bench.take();
    bench.wait(2_999);
    assert_eq!(bench.heard(reply), 0);
    bench.wait(1);
    let played = bench.playout.played(reply, bench.now);
    assert!(played.over && played.samples == samples(MS * 300), "{played:?}");
}

#[test]
fn what_a_client_tells_counts_and_never_falls() {
    let mut bench = Bench::new();
    let reply = bench.reply(2_000);
    bench.take();
    bench.ack(reply, 100);
    bench.wait(10_000);
    assert_eq!(bench.heard(reply), 100, "time alone lets nobody hear");
    bench.ack(reply, 50);
    assert_eq!(bench.heard(reply), 100);
    bench.ack(reply, u64::MAX / 2);
    assert_eq!(bench.heard(reply), samples(MS * 500), "not more than was sent");
    bench.ack(Generation(77), 5);
    assert!(!bench.playout.played(reply, bench.now).over);
}

#[test]
fn a_client_that_plays_late_gets_no_more_than_its_lead() {
    let mut bench = Bench::new();
    let reply = bench.reply(9_000);
    let mut sent = bench.take().len();
    for _ in 0..100 {
        bench.wait(40);
        // Nothing is played: its network stumbles, or it says so.
        bench.ack(reply, 0);
        sent += bench.take().len();
    }
    let most = LEAD + MOST_DELAY + PACKET;
    assert_eq!(sent, 2 * samples(most) as usize);
    bench.wait(200);
    bench.ack(reply, samples(MS * 200));
    assert_eq!(bench.take().len(), sound(0, 200).len(), "it gets as much as it has played");
}

#[test]
fn who_claims_to_have_played_everything_at_once_is_sent_no_more_for_it() {
    let mut bench = Bench::new();
    let reply = bench.reply(20_000);
    let (mut sent, begun) = (0, bench.now);
    for _ in 0..200 {
        sent += samples_of(&bench.take());
        bench.ack(reply, u64::MAX / 2);
        assert!(sent <= samples(bench.now - begun + LEAD + PACKET), "{sent}");
        bench.wait(10);
    }
}

/// A client that plays what it gets, at the end of a line of this length.
#[derive(Debug, Clone, Copy)]
struct Far {
    down: u64,
    up: u64,
    /// Anything up to this is added to each way.
    jitter: u64,
    /// What the device holds.
    device: u64,
    /// It waits so long before it begins.
    buffer: u64,
    /// It tells so often what has left the device.
    tells: u64,
}

/// What has become of a reply at a client.
#[derive(Debug, Default, PartialEq, Eq)]
struct Outcome {
    dry: u32,
    millis: u64,
    /// The most that was sent and not heard.
    ahead: u64,
}

/// Plays a reply of so many milliseconds, one at a time, to its end.
fn play(bench: &mut Bench, millis: u64, far: Far, mut seed: u64) -> Outcome {
    let mut random = |most: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (seed >> 33) % (most + 1)
    };
    let reply = bench.reply(millis);
    let (mut coming, mut telling) = (VecDeque::new(), VecDeque::new());
    let (mut sent, mut here, mut taken) = (0, 0, 0);
    let (mut begins, mut device) = (None, VecDeque::new());
    let mut played = Outcome::default();
    for now in 0..3 * millis + 10_000 {
        let count = samples_of(&bench.take()) / 24;
        if count > 0 {
            // In order, however long each of them takes.
            let last = coming.back().map_or(0, |(at, _)| *at);
            coming.push_back(((now + far.down + random(far.jitter)).max(last), count));
            sent += count;
        }
        while coming.front().is_some_and(|(at, _)| *at <= now) {
            here += coming.pop_front().map_or(0, |(_, count)| count);
            begins.get_or_insert(now + far.buffer);
        }
        if begins.is_some_and(|begins| begins <= now) && taken < millis {
            if taken < here {
                taken += 1;
                device.push_back(now + far.device);
            } else {
                played.dry += 1;
            }
        }
        while device.front().is_some_and(|at| *at <= now) {
            device.pop_front();
            played.millis += 1;
        }
        played.ahead = played.ahead.max(sent - played.millis);
        if now.is_multiple_of(far.tells) {
            telling.push_back((now + far.up + random(far.jitter), played.millis));
        }
        // Later news may come earlier.
        telling.retain(|(at, heard)| {
            if *at <= now {
                bench.ack(reply, heard * 24);
            }
            *at > now
        });
        assert!(bench.heard(reply) <= played.millis * 24, "more was heard than played");
        if bench.playout.played(reply, bench.now).over {
            return played;
        }
        bench.wait(1);
    }
    panic!("it never ends: {far:?} {played:?}");
}

fn samples_of(pcm: &[u8]) -> u64 {
    (pcm.len() / 2) as u64
}

#[test]
fn a_speaker_at_the_end_of_a_long_line_never_runs_dry() {
    let near = Far { down: 0, up: 0, jitter: 0, device: 0, buffer: 80, tells: 150 };
    let mut lines = vec![
        near,
        Far { down: 250, up: 250, ..near },
        Far { down: 75, up: 75, device: 250, ..near },
        Far { down: 20, up: 480, ..near },
        Far { down: 400, up: 300, device: 200, tells: 200, ..near },
    ];
    for seed in 0..12 {
        let part = |shift: u64, most: u64| (seed * 7_919 + shift * 104_729) % (most + 1);
        let (down, up, device) = (part(1, 300), part(2, 300), part(3, 250));
        let (jitter, tells) = (part(4, 60), 100 + part(5, 100));
        lines.push(Far { down, up, device, jitter, tells, buffer: 80 + part(6, 40) });
    }
    for (seed, far) in (1..).zip(lines) {
        let mut bench = Bench::new();
        for round in 0..2 {
            let played = play(&mut bench, 6_000, far, seed);
            assert_eq!((played.dry, played.millis), (0, 6_000), "{far:?} {round}");
            let delay = far.down + far.device + far.buffer + 2 * far.jitter;
            // What is on its way, in the device and in the client's own buffer; and the lead.
            assert!(played.ahead <= delay + 500, "{far:?} {played:?}");
        }
    }
}

#[test]
fn a_client_that_falls_silent_has_heard_what_it_told() {
    let mut bench = Bench::new();
    let reply = bench.reply(300);
    bench.take();
    bench.ack(reply, 100);
    bench.wait(2_000);
    assert!(!bench.playout.played(reply, bench.now).over);
    bench.wait(2_000);
    let played = bench.playout.played(reply, bench.now);
    assert!(played.over && played.samples == 100, "{played:?}");
}

#[test]
fn another_socket_plays_what_the_first_did_not() {
    let mut bench = Bench::new();
    let reply = bench.reply(1_000);
    bench.take();
    let heard = samples(MS * 230);
    bench.ack(reply, heard);
    bench.playout.hand_over(false, bench.now);
    bench.wait(5_000);
    bench.playout.hand_over(true, bench.now);
    let mut sent = Vec::new();
    for _ in 0..20 {
        sent.extend(bench.take());
        bench.wait(100);
    }
    assert_eq!(sent, sound(0, 1_000)[2 * heard as usize..]);
    // It counts from where it began.
    bench.ack(reply, 10);
    assert_eq!(bench.heard(reply), heard + 10);
}

#[test]
fn an_empty_room_hears_it_all_the_same() {
    let mut playout = Playout::default();
    let begun = Instant::now();
    let reply = playout.begin(Pace::Bursts, Intake::default());
    playout.push(reply, sound(0, 1_000), begun);
    playout.finish(reply, begun);
    assert!(!playout.played(reply, begun + MS * 500).over);
    assert!(playout.played(reply, begun + MS * 1_400).over);
}

#[test]
fn a_lost_socket_is_waited_for_but_not_for_ever() {
    let mut bench = Bench::new();
    let reply = bench.reply(1_000);
    bench.take();
    bench.ack(reply, samples(MS * 100));
    bench.playout.hand_over(false, bench.now);
    bench.wait(14_000);
    assert_eq!(bench.heard(reply), samples(MS * 100));
    bench.wait(2_000);
    bench.heard(reply);
    bench.wait(2_000);
    assert!(bench.playout.played(reply, bench.now).over);
}

#[test]
fn a_pause_holds_what_is_not_sent() {
    let mut bench = Bench::new();
    bench.reply(1_000);
    let sent = bench.take().len();
    bench.playout.pause();
    bench.wait(900);
    assert!(bench.take().is_empty());
    bench.playout.resume();
    assert_eq!(bench.take().len(), sound(0, 1_000).len() - sent);
}

#[test]
fn two_minutes_are_held_and_no_more() {
    let mut bench = Bench::new();
    let reply = bench.playout.begin(Pace::Bursts, Intake::default());
    let minute = sound(0, 60_000);
    for _ in 0..2 {
        assert!(bench.playout.has_room(bench.now));
        bench.playout.push(reply, minute.clone(), bench.now);
    }
    assert!(!bench.playout.has_room(bench.now));
    bench.take();
    assert!(bench.playout.has_room(bench.now) && bench.playout.take_freed());
}

#[test]
fn the_echo_of_a_stop_silences_nothing_that_has_begun_since() {
    let mut bench = Bench::new();
    bench.reply(2_000);
    bench.take();
    bench.playout.stop(Some(StopReason::UserSpeaks), bench.now);
    assert!(matches!(bench.playout.next(bench.now, true), Next::Sound(Sound::Stop { .. })));
    let answer = bench.reply(500);
    bench.wait(40);
    assert!(!bench.playout.hush(bench.now), "this is the echo");
    assert!(!bench.playout.is_stale(answer));
    assert!(bench.playout.hush(bench.now), "this is the user");
    assert!(bench.playout.is_stale(answer));
    let late = bench.reply(500);
    bench.take();
    bench.playout.stop(Some(StopReason::UserSpeaks), bench.now);
    bench.playout.next(bench.now, true);
    bench.wait(1_000);
    assert!(bench.playout.hush(bench.now), "no echo takes so long");
    assert!(bench.playout.is_stale(late));
}

#[test]
fn two_stops_in_a_row_excuse_two_echoes_and_then_the_user_is_obeyed() {
    let mut bench = Bench::new();
    for _ in 0..2 {
        bench.reply(2_000);
        bench.take();
        bench.playout.stop(Some(StopReason::UserSpeaks), bench.now);
        assert!(matches!(bench.playout.next(bench.now, true), Next::Sound(Sound::Stop { .. })));
        bench.wait(300);
    }
    let answer = bench.reply(500);
    assert!(!bench.playout.hush(bench.now) && !bench.playout.hush(bench.now), "both are echoes");
    assert!(!bench.playout.is_stale(answer));
    assert!(bench.playout.hush(bench.now), "this is the user");
    assert!(bench.playout.is_stale(answer));
}

#[test]
fn a_socket_that_takes_over_echoes_nothing_that_another_was_told() {
    let mut bench = Bench::new();
    bench.reply(2_000);
    bench.take();
    bench.playout.stop(Some(StopReason::UserSpeaks), bench.now);
    bench.playout.next(bench.now, true);
    bench.playout.hand_over(true, bench.now);
    let answer = bench.reply(500);
    assert!(bench.playout.hush(bench.now) && bench.playout.is_stale(answer));
}

#[test]
fn a_reply_after_silence_has_its_whole_lead() {
    let mut bench = Bench::new();
    let first = bench.reply(2_000);
    bench.take();
    bench.playout.stop(None, bench.now);
    bench.ack(first, 100);
    bench.reply(2_000);
    assert_eq!(bench.take().len(), sound(0, 500).len());
}
