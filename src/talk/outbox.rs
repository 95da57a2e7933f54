//! What waits to be sent on `audio`. A lost connection costs the oldest sound, never the newest.

use crate::dialect::aicore::client::{Playback, Press};
use bytes::Bytes;
use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;

/// Three seconds of microphone: what a sound server may deliver at once. Full: the oldest goes, because a conversation is about now.
const SOUND_CAPACITY: usize = 150;
/// Full: the oldest goes. The socket takes five seconds at most, so it never is.
const CONTROL_CAPACITY: usize = 256;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Outgoing {
    Sound(Bytes),
    Playback(Playback),
    Press(Press),
}

#[derive(Debug, Default)]
pub(super) struct Outbox {
    waiting: Mutex<VecDeque<Outgoing>>,
    bell: Notify,
}

impl Outbox {
    pub(super) fn push(&self, outgoing: Outgoing) {
        let mut waiting = self.lock();
        let is_sound = outgoing.is_sound();
        let capacity = if is_sound { SOUND_CAPACITY } else { CONTROL_CAPACITY };
        let alike = |item: &Outgoing| item.is_sound() == is_sound;
        if waiting.iter().filter(|item| alike(item)).count() >= capacity
            && let Some(oldest) = waiting.iter().position(alike)
        {
            waiting.remove(oldest);
        }
        waiting.push_back(outgoing);
        drop(waiting);
        self.bell.notify_one();
    }

    /// For a new connection: what was said about the old one means nothing there.
    pub(super) fn forget_control(&self) {
        self.lock().retain(Outgoing::is_sound);
    }

    /// Waits for the next; nothing is lost when the waiting is given up.
    pub(super) async fn next(&self) -> Outgoing {
        loop {
            let next = self.lock().pop_front();
            match next {
                Some(outgoing) => return outgoing,
                None => self.bell.notified().await,
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Outgoing>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Outgoing {
    fn is_sound(&self) -> bool {
        match self {
            Self::Sound(_) => true,
            Self::Playback(_) | Self::Press(_) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sound(number: u8) -> Outgoing {
        Outgoing::Sound(vec![number, 0].into())
    }

    #[tokio::test]
    async fn the_oldest_sound_goes_and_everything_else_stays_in_order() {
        let outbox = Outbox::default();
        outbox.push(sound(0));
        outbox.push(Outgoing::Press(Press::Start));
        for number in 1..=150 {
            outbox.push(sound(number));
        }
        assert_eq!(outbox.next().await, Outgoing::Press(Press::Start));
        for number in 1..=150 {
            assert_eq!(outbox.next().await, sound(number));
        }
    }

    #[tokio::test]
    async fn a_new_connection_gets_the_sound_alone() {
        let outbox = Outbox::default();
        outbox.push(Outgoing::Press(Press::End));
        outbox.push(sound(7));
        outbox.push(Outgoing::Playback(Playback { generation: 1, played: 2, left_ms: 3, gaps: 4 }));
        outbox.forget_control();
        outbox.push(sound(8));
        assert_eq!(outbox.next().await, sound(7));
        assert_eq!(outbox.next().await, sound(8));
    }

    #[tokio::test]
    async fn who_waits_is_woken() {
        let outbox = std::sync::Arc::new(Outbox::default());
        let other = std::sync::Arc::clone(&outbox);
        let waiting = tokio::spawn(async move { other.next().await });
        tokio::task::yield_now().await;
        outbox.push(sound(1));
        assert_eq!(waiting.await.unwrap(), sound(1));
    }
}
