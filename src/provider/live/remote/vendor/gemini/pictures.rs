//! Pictures for the vendor, which takes them as video frames: one a second.

use bytes::Bytes;
use std::collections::VecDeque;
use std::time::Duration;
use tokio::time::Instant;

const PACE: Duration = Duration::from_secs(1);
/// Full: the oldest is not shown.
const CAPACITY: usize = 8;

#[derive(Debug, Default)]
pub(super) struct Pictures {
    waiting: VecDeque<Bytes>,
    last: Option<Instant>,
}

impl Pictures {
    /// False if another one had to make room.
    pub(super) fn add(&mut self, picture: Bytes) -> bool {
        let full = self.waiting.len() >= CAPACITY;
        if full {
            self.waiting.pop_front();
        }
        self.waiting.push_back(picture);
        !full
    }

    #[cfg(test)]
    pub(super) fn size(&self) -> usize {
        self.waiting.len()
    }

    /// The next one whose time has come.
    pub(super) fn due(&mut self, now: Instant) -> Option<Bytes> {
        let early = self.last.is_some_and(|last| now.saturating_duration_since(last) < PACE);
        if early { None } else { self.next(now) }
    }

    /// The next one, even if it is early: the user is about to speak of it.
    pub(super) fn next(&mut self, now: Instant) -> Option<Bytes> {
        let picture = self.waiting.pop_front()?;
        self.last = Some(now);
        Some(picture)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_a_second_and_the_oldest_first() {
        let mut pictures = Pictures::default();
        let start = Instant::now();
        assert_eq!(pictures.due(start), None);
        for name in ["a", "b", "c"] {
            assert!(pictures.add(Bytes::from_static(name.as_bytes())));
        }
        assert_eq!(pictures.due(start).unwrap(), "a");
        assert_eq!(pictures.due(start + Duration::from_millis(999)), None);
        assert_eq!(pictures.due(start + PACE).unwrap(), "b");
        assert_eq!(pictures.next(start + PACE).unwrap(), "c", "about to be spoken of");
        assert_eq!(pictures.next(start + PACE), None);
    }

    #[test]
    fn too_many_push_the_oldest_out() {
        let mut pictures = Pictures::default();
        for number in 0..=CAPACITY {
            assert_eq!(pictures.add(Bytes::from(vec![number as u8])), number < CAPACITY);
        }
        assert_eq!(pictures.next(Instant::now()).unwrap(), [1_u8].as_slice());
    }
}
