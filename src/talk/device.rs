//! Where sound comes from and goes to: a sound card, or two files.

use super::TalkError;
use bytes::Bytes;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

/// Sound that the conversation has not looked at yet, one second. Full: the newest is dropped.
pub(super) const CAPTURE_CAPACITY: usize = 50;
/// Samples of one piece at 24 kHz: 20 ms, a compromise between delay and packets.
pub(super) const PIECE: usize = 480;

/// What a microphone gives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Captured {
    /// Somebody is about to speak: a file begins.
    Begun,
    /// 24 kHz.
    Sound(Bytes),
    /// Only silence follows: the file is over.
    Over,
}

/// A device that is ready. It begins when it is told to, and takes its time to end.
#[derive(Debug)]
pub(super) struct Device {
    pub(super) captured: mpsc::Receiver<Captured>,
    pub(super) begin: Option<oneshot::Sender<()>>,
    pub(super) stop: CancellationToken,
    pub(super) ended: oneshot::Receiver<Result<(), TalkError>>,
}
