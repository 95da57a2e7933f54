//! Collects the user's sound into packets of the length that the vendor recommends.

use bytes::{Bytes, BytesMut};

/// PCM16 at 16 kHz.
const BYTES_PER_MS: usize = 32;
/// Shorter pieces wait for more.
const SHORTEST: usize = 20 * BYTES_PER_MS;
const LONGEST: usize = 100 * BYTES_PER_MS;
#[derive(Debug, Default)]
pub(super) struct AudioPackets {
    waiting: BytesMut,
    /// Sound was sent since the vendor was last told that the microphone is off.
    open: bool,
}

impl AudioPackets {
    pub(super) fn hear(&mut self, pcm: &Bytes) {
        self.waiting.extend_from_slice(pcm);
    }

    /// The next packet, if there is enough for one.
    pub(super) fn packet(&mut self) -> Option<Bytes> {
        if self.waiting.len() < SHORTEST { None } else { self.rest() }
    }

    /// The next packet, however short.
    pub(super) fn rest(&mut self) -> Option<Bytes> {
        let length = self.waiting.len().min(LONGEST) & !1;
        if length == 0 {
            return None;
        }
        self.open = true;
        Some(self.waiting.split_to(length).freeze())
    }

    /// The microphone pauses; true if the vendor does not know that yet.
    pub(super) fn close(&mut self) -> bool {
        self.waiting.clear();
        std::mem::take(&mut self.open)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lengths(mut next: impl FnMut() -> Option<Bytes>) -> Vec<usize> {
        std::iter::from_fn(|| next().map(|packet| packet.len())).collect()
    }

    #[test]
    fn packets_are_neither_tiny_nor_long_and_nothing_is_lost() {
        let mut packets = AudioPackets::default();
        packets.hear(&Bytes::from(vec![1; 639]));
        assert_eq!(lengths(|| packets.packet()), [0_usize; 0]);
        packets.hear(&Bytes::from(vec![2; 3 * LONGEST]));
        assert_eq!(lengths(|| packets.packet()), [LONGEST, LONGEST, LONGEST]);
        // 639 bytes are left, and half a sample stays until its other half comes.
        assert_eq!(lengths(|| packets.rest()), [638]);
        packets.hear(&Bytes::from_static(b"x"));
        assert_eq!(lengths(|| packets.rest()), [2]);
    }

    #[test]
    fn a_pause_is_told_once() {
        let mut packets = AudioPackets::default();
        assert!(!packets.close(), "nothing was ever said");
        packets.hear(&Bytes::from(vec![0; SHORTEST]));
        packets.packet();
        assert!(packets.close());
        assert!(!packets.close());
    }
}
