//! What is counted of the sound that comes in: how much of it is silent or cut off, and whether it comes as evenly as it
//! was spoken. Nothing is refused for that; who runs the gateway sees whether it is the microphone or the way from it.

use super::microphone::Microphone;
use crate::audio::condition::{Condition, condition};
use crate::message::{ConnectionId, Recorded};
use crate::metrics::{Metrics, Uneven};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

/// Networks are late by less than this all the time.
const SHORTEST_GAP: Duration = Duration::from_millis(250);
/// A microphone that says nothing for so long was switched off.
const LONGEST_GAP: Duration = Duration::from_secs(2);
/// So much more sound than time is a burst.
const BURST: Duration = Duration::from_secs(1);

/// Shared by the sockets of a session and its actor.
#[derive(Debug, Clone)]
pub(in crate::session) struct Hearing {
    metrics: Metrics,
    /// Knows the rate of sound that does not say it.
    microphone: Microphone,
    arrival: Arc<Mutex<Arrival>>,
}

/// One piece of sound, looked at before somebody takes it away.
#[derive(Debug, Clone, Copy)]
pub(in crate::session) struct Look {
    condition: Condition,
    length: Duration,
}

impl Hearing {
    pub(in crate::session) fn new(metrics: Metrics, microphone: Microphone) -> Self {
        Self { metrics, microphone, arrival: Arc::default() }
    }

    pub(in crate::session) fn look(&self, sound: &Recorded) -> Look {
        let rate = sound.rate.unwrap_or_else(|| self.microphone.usual_rate());
        let samples = (sound.pcm.len() / 2) as u64;
        let nanos = (samples * 1_000_000_000).checked_div(u64::from(rate)).unwrap_or(0);
        Look { condition: condition(&sound.pcm), length: Duration::from_nanos(nanos) }
    }

    /// It was the holder's.
    pub(in crate::session) fn count(&self, connection: ConnectionId, look: Look) {
        let uneven = self.with(|arrival| arrival.note(connection, look.length, Instant::now()));
        self.metrics.sound_heard(look.condition, uneven);
    }

    /// The microphone begins or ends on purpose, so what comes next is no gap.
    pub(in crate::session) fn forget(&self) {
        self.with(|arrival| *arrival = Arrival::default());
    }

    fn with<T>(&self, work: impl FnOnce(&mut Arrival) -> T) -> T {
        work(&mut self.arrival.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Pure: the caller says what time it is.
#[derive(Debug, Default)]
struct Arrival {
    /// From whom sound has come, and until when it lasts if it is played as it comes.
    last: Option<(ConnectionId, Instant)>,
}

impl Arrival {
    fn note(&mut self, from: ConnectionId, length: Duration, now: Instant) -> Option<Uneven> {
        let known = self.last.filter(|(connection, _)| *connection == from);
        let lasted = known.map_or(now, |(_, until)| until);
        let missing = now.saturating_duration_since(lasted);
        let until = lasted.max(now) + length;
        self.last = Some((from, until));
        if until.saturating_duration_since(now) > BURST {
            // Counted once for every such surplus, so a client whose clock is a little fast costs one in hours.
            self.last = Some((from, now));
            return Some(Uneven::Burst);
        }
        (SHORTEST_GAP..LONGEST_GAP).contains(&missing).then_some(Uneven::Gap)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: ConnectionId = ConnectionId(1);
    const TWO: ConnectionId = ConnectionId(2);

    fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    /// Pieces of 40 ms from one socket at these moments, and what is counted of them.
    #[track_caller]
    fn check(moments: impl IntoIterator<Item = u64>, expected: &[Uneven]) {
        let (mut arrival, start) = (Arrival::default(), Instant::now());
        let note = |at| arrival.note(ONE, ms(40), start + ms(at));
        assert_eq!(moments.into_iter().filter_map(note).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn what_comes_as_it_is_spoken_is_even() {
        check((0..2_000).map(|n| 40 * n), &[]);
        // Late, and then all at once: a network as it is.
        check((0..2_000_u64).map(|n| (40 * n).next_multiple_of(240)), &[]);
    }

    #[test]
    fn a_pause_within_the_stream_is_a_gap_and_a_long_one_the_end_of_it() {
        check([0, 40, 80, 119 + 250, 410], &[]);
        check([0, 40, 80, 120 + 250, 410], &[Uneven::Gap]);
        check([0, 40, 80, 119 + 2_000, 2_160], &[Uneven::Gap]);
        check([0, 40, 80, 120 + 2_000, 2_160], &[]);
    }

    #[test]
    fn more_sound_than_time_is_a_burst_once_per_second_of_it() {
        check(std::iter::repeat_n(0, 25), &[]);
        check(std::iter::repeat_n(0, 26), &[Uneven::Burst]);
        check(std::iter::repeat_n(0, 52), &[Uneven::Burst, Uneven::Burst]);
        let mut arrival = Arrival::default();
        let start = Instant::now();
        assert_eq!(arrival.note(ONE, ms(1_001), start), Some(Uneven::Burst));
        // Whatever was before it.
        assert_eq!(arrival.note(ONE, ms(1_001), start + ms(1_000)), Some(Uneven::Burst));
    }

    #[test]
    fn another_socket_begins_anew() {
        let (mut arrival, start) = (Arrival::default(), Instant::now());
        assert_eq!(arrival.note(ONE, ms(900), start), None);
        assert_eq!(arrival.note(TWO, ms(900), start), None);
        assert_eq!(arrival.note(ONE, ms(40), start + ms(1_500)), None);
    }
}
