//! Metrics of the sound that comes in: how much of it is silent or clipped, and whether it arrives evenly. They show
//! the operator whether the microphone or the network is to blame. No sound is refused because of them.

use super::microphone::Microphone;
use crate::audio::condition::{Condition, condition};
use crate::message::{ConnectionId, Recorded};
use crate::metrics::{Metrics, Uneven};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

/// Shortest pause that counts as a gap: networks are late by less than this all the time.
const SHORTEST_GAP: Duration = Duration::from_millis(250);
/// Pauses from this length on do not count as a gap: the microphone was switched off.
const LONGEST_GAP: Duration = Duration::from_secs(2);
/// Sound that is this far ahead of the clock counts as a burst.
const BURST: Duration = Duration::from_secs(1);

/// Shared by the sockets of a session and its actor.
#[derive(Debug, Clone)]
pub(in crate::session) struct Hearing {
    metrics: Metrics,
    /// Knows the sample rate of sound that does not state it.
    microphone: Microphone,
    arrival: Arc<Mutex<Arrival>>,
}

/// Measurements of one chunk, taken before the chunk is moved to the model.
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
        let rate = self.microphone.rate_of(sound);
        let samples = (sound.pcm.len() / 2) as u64;
        let nanos = (samples * 1_000_000_000).checked_div(u64::from(rate)).unwrap_or(0);
        Look { condition: condition(&sound.pcm), length: Duration::from_nanos(nanos) }
    }

    /// Counts a chunk that came from the holder of the microphone.
    pub(in crate::session) fn count(&self, connection: ConnectionId, look: Look) {
        let uneven = self.with(|arrival| arrival.note(connection, look.length, Instant::now()));
        self.metrics.sound_heard(look.condition, uneven);
    }

    /// The microphone is switched on or off on purpose, so the next pause is not a gap.
    pub(in crate::session) fn forget(&self) {
        self.with(|arrival| *arrival = Arrival::default());
    }

    fn with<T>(&self, work: impl FnOnce(&mut Arrival) -> T) -> T {
        work(&mut self.arrival.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Finds gaps and bursts in one stream. Pure: the caller passes the time.
#[derive(Debug, Default)]
struct Arrival {
    /// The socket that sent the last chunk, and when its sound would end if it were played as it arrives.
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
            // Starting again counts each surplus once, so a client whose clock is a little fast costs one burst in
            // hours.
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

    /// Chunks of 40 ms arrive from one socket at these milliseconds.
    #[track_caller]
    fn check(moments: impl IntoIterator<Item = u64>, expected: &[Uneven]) {
        let (mut arrival, start) = (Arrival::default(), Instant::now());
        let note = |at| arrival.note(ONE, ms(40), start + ms(at));
        assert_eq!(moments.into_iter().filter_map(note).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn sound_at_the_pace_of_speech_is_even() {
        check((0..2_000).map(|n| 40 * n), &[]);
        // Delayed and then all at once, as networks do.
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
        // After a pause it still counts as a burst, not as a gap.
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
