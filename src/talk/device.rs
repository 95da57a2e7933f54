//! Where sound comes from and goes to: a sound card, or two files.

use super::TalkError;
use bytes::Bytes;
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

/// Sound that the conversation has not looked at yet, three seconds: what a sound server may deliver at once. Full: the
/// newest is dropped, and counted.
pub(super) const CAPTURE_CAPACITY: usize = 150;
/// Samples of one piece at 24 kHz: 20 ms, a compromise between delay and packets.
pub(super) const PIECE: usize = 480;

/// What a microphone gives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Captured {
    /// Somebody is about to speak: a file begins.
    Begun,
    /// 24 kHz.
    Sound(Bytes),
    /// So much could not be kept.
    #[cfg_attr(not(feature = "mic"), expect(dead_code, reason = "files wait for us"))]
    Lost(Duration),
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
