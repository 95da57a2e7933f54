//! The streams of a session, each with its own numbered log.

use super::AgentSlot;

/// One stream of a session, with its own numbered log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Channel {
    Audio,
    Input,
    File,
    Chat,
    Agent(AgentSlot),
}

impl Channel {
    pub const COUNT: usize = 8;
    pub const ALL: [Self; Self::COUNT] = [
        Self::Audio,
        Self::Input,
        Self::File,
        Self::Chat,
        Self::Agent(AgentSlot::ALL[0]),
        Self::Agent(AgentSlot::ALL[1]),
        Self::Agent(AgentSlot::ALL[2]),
        Self::Agent(AgentSlot::ALL[3]),
    ];

    /// Position in [`Channel::ALL`]; also the number under which the store keeps a channel.
    pub fn index(self) -> usize {
        match self {
            Self::Audio => 0,
            Self::Input => 1,
            Self::File => 2,
            Self::Chat => 3,
            Self::Agent(slot) => 3 + usize::from(slot.number()),
        }
    }

    /// Whether the channel has a lane, where runs are queued: chat and the agents.
    pub fn runs_work(self) -> bool {
        match self {
            Self::Chat | Self::Agent(_) => true,
            Self::Audio | Self::Input | Self::File => false,
        }
    }
}
