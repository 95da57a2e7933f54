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

    /// Events that a client which resumes is read again: that of its last frame, because it may have more frames, and
    /// three before it, because the end of a run is stored up to three events before the frame that tells it.
    pub const READ_AGAIN: u64 = 4;

    /// The event of this frame.
    pub fn position(self) -> Position {
        Position(self.0 / FRAMES_PER_EVENT)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::{Channel, Event, EventTime, Order, Seq};

    #[test]
    fn a_number_leads_back_to_its_event() {
        let event = Event::CancelTaken;
        let (seq, order, at) = (Seq(5), Order(9), EventTime(0));
        let entry = Entry { channel: Channel::Chat, seq, order, at, event };
        let (first, second) = (FrameSeq::new(&entry, 0), FrameSeq::new(&entry, 1));
        assert!(first < second);
        assert_eq!((first.position(), second.position()), (Position(5), Position(5)));
        assert_eq!(FrameSeq(0).position(), Position(0));
    }
}
