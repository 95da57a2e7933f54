//! Why a conversation could not begin or had to end, in words that say what to do.

use std::path::PathBuf;

/// Why `kakehashi talk` ends.
#[derive(Debug, thiserror::Error)]
pub enum TalkError {
    #[error(
        "this kakehashi was built without sound devices; ./scripts/talk builds one that has them, and --wav with --out \
         needs none"
    )]
    Unbuilt,
    #[error("there is no sound device that can be used: {0}; see --list-devices")]
    NoDevice(String),
    #[error("the sound device is gone: {0}")]
    DeviceLost(String),
    #[error("{text:?} is no address of a gateway: {reason}; it looks like ws://127.0.0.1:8091")]
    Address { text: String, reason: String },
    #[error("cannot reach the gateway at {url}: {reason}; is it running?")]
    Unreachable { url: String, reason: String },
    #[error("the gateway refused: {0}")]
    Refused(String),
    #[error(
        "the system refuses a thread: {0}; end other programs, or raise the limit of processes"
    )]
    NoThread(String),
    #[error("cannot use {}: {reason}", path.display())]
    File { path: PathBuf, reason: String },
}

impl TalkError {
    /// 3 for whoever has no sound, 2 for everything else that keeps a command from its work.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Unbuilt | Self::NoDevice(_) | Self::DeviceLost(_) => 3,
            Self::Address { .. }
            | Self::Unreachable { .. }
            | Self::Refused(_)
            | Self::NoThread(_)
            | Self::File { .. } => 2,
        }
    }
}
