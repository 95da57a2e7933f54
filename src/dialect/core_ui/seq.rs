//! Numbers of frames. One event becomes up to eight frames, so the number of a frame is made of the event's number in
//! its channel and of the frame's place within the event. A client that resumes after any frame loses none and gets
//! none twice.

use crate::message::{Entry, Position};

/// Frames that one event may become.
const FRAMES_PER_EVENT: u64 = 8;

/// The `seq` of a frame. It rises, and has gaps.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct FrameSeq(pub u64);

impl FrameSeq {
    /// The number of the frame at this place within an event.
    pub fn new(entry: &Entry, place: usize) -> Self {
        let place = u64::try_from(place).unwrap_or(u64::MAX).min(FRAMES_PER_EVENT - 1);
        Self(entry.seq.0.saturating_mul(FRAMES_PER_EVENT) + place)
    }

    /// Where a reader has to begin. The event of this frame is read again, because it may have more frames, and so is
    /// the one before it, because the end of a run is stored before its answer and told after it.
    pub fn position(self) -> Position {
        Position((self.0 / FRAMES_PER_EVENT).saturating_sub(2))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::{Channel, Event, EventTime, Order, Seq};

    #[test]
    fn a_resumed_reader_reads_the_last_two_events_again() {
        let event = Event::CancelTaken;
        let (seq, order, at) = (Seq(5), Order(9), EventTime(0));
        let entry = Entry { channel: Channel::Chat, seq, order, at, event };
        let (first, second) = (FrameSeq::new(&entry, 0), FrameSeq::new(&entry, 1));
        assert!(first < second);
        assert_eq!((first.position(), second.position()), (Position(3), Position(3)));
        assert_eq!(FrameSeq(0).position(), Position(0));
    }
}
