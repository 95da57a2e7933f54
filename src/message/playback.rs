//! Playback of a live model's audio at a client.

use std::time::Duration;

/// Numbers the replies of a live model; later replies are larger. A stop names a generation: audio up to and including
/// it is stale.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Generation(pub u64);

/// A client's report about its speaker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlaybackAck {
    pub generation: Generation,
    /// Samples of this reply, at 24 kHz, that this socket has played.
    pub samples: u64,
    /// Audio that is buffered but not played yet.
    pub buffered: Duration,
    pub underruns: u64,
}

/// Push-to-talk: the user's turn lasts while the key is pressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TalkKey {
    Pressed,
    Released,
}

/// Latencies of one spoken exchange; unknown ones are `None`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TurnTimes {
    /// From the end of the user's speech until it was detected as the end of the turn.
    pub end_of_turn: Option<Duration>,
    /// From that detection to the first audio of the model.
    pub first_sound: Option<Duration>,
    /// From the first audio of the model until it was sent to the client.
    pub first_sent: Option<Duration>,
    /// From sending the first audio until the client played it.
    pub first_played: Option<Duration>,
    /// From the user's interruption until the client was told to stop playback.
    pub stop: Option<Duration>,
    pub underruns: u64,
    /// Microphone chunks that were dropped before the model received them.
    pub dropped: u64,
}

/// The user interrupted a reply; `heard` is how much of it was played.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Interruption {
    pub heard: Duration,
}
