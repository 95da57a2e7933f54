//! What becomes of a live model's sound at a client.

use std::time::Duration;

/// Names one reply of a live model; later ones are larger. Silence is one of these: everything up to it is stale.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Generation(pub u64);

/// What a client says about its speaker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlaybackAck {
    pub generation: Generation,
    /// Samples of this reply, at 24 kHz, that left the speaker since this socket plays it.
    pub samples: u64,
    /// What it still has to play.
    pub buffered: Duration,
    pub underruns: u64,
}

/// Who speaks by a key begins and ends with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TalkKey {
    Pressed,
    Released,
}

/// How long the parts of one spoken exchange took; what is not known is not there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TurnTimes {
    /// From the end of the user's speech until it was taken for the end of a turn.
    pub end_of_turn: Option<Duration>,
    /// From there to the first sound of the model.
    pub first_sound: Option<Duration>,
    /// From there until it was on its way to the client.
    pub first_sent: Option<Duration>,
    /// From there until the client has played it.
    pub first_played: Option<Duration>,
    /// From the user's interruption until the client was told to be silent.
    pub stop: Option<Duration>,
    pub underruns: u64,
    /// Chunks of the microphone that were lost before the model.
    pub dropped: u64,
}

/// A reply that the user did not hear to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Interruption {
    pub heard: Duration,
}
