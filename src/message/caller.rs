//! Who calls a tool. Approvals, the audit log and breakers are kept apart by caller.

use super::{AgentSlot, Slots};
use std::ops::{Index, IndexMut};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Caller {
    /// The assistant that answers in the chat.
    Chat,
    /// The live speech model.
    Live,
    /// The agent in this slot.
    Agent(AgentSlot),
    /// A program that is connected to the gateway from outside.
    Client,
}

impl Caller {
    pub const ALL: [Self; 7] = [
        Self::Chat,
        Self::Live,
        Self::Agent(AgentSlot::ALL[0]),
        Self::Agent(AgentSlot::ALL[1]),
        Self::Agent(AgentSlot::ALL[2]),
        Self::Agent(AgentSlot::ALL[3]),
        Self::Client,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::Chat => "chat",
            Self::Live => "live",
            Self::Agent(slot) => ["agent1", "agent2", "agent3", "agent4"][slot.position()],
            Self::Client => "client",
        }
    }

    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|caller| caller.name() == name)
    }

    /// `None`: not an agent.
    pub fn agent(self) -> Option<AgentSlot> {
        match self {
            Self::Agent(slot) => Some(slot),
            Self::Chat | Self::Live | Self::Client => None,
        }
    }
}

impl From<AgentSlot> for Caller {
    fn from(slot: AgentSlot) -> Self {
        Self::Agent(slot)
    }
}

/// One value for each caller.
#[derive(Debug, Default)]
pub struct Callers<T> {
    chat: T,
    live: T,
    agents: Slots<T>,
    client: T,
}

impl<T, Who: Into<Caller>> Index<Who> for Callers<T> {
    type Output = T;

    fn index(&self, caller: Who) -> &T {
        match caller.into() {
            Caller::Chat => &self.chat,
            Caller::Live => &self.live,
            Caller::Agent(slot) => &self.agents[slot],
            Caller::Client => &self.client,
        }
    }
}

impl<T, Who: Into<Caller>> IndexMut<Who> for Callers<T> {
    fn index_mut(&mut self, caller: Who) -> &mut T {
        match caller.into() {
            Caller::Chat => &mut self.chat,
            Caller::Live => &mut self.live,
            Caller::Agent(slot) => &mut self.agents[slot],
            Caller::Client => &mut self.client,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_caller_has_its_own_name_and_its_own_value() {
        let mut values = Callers::<u32>::default();
        for (number, caller) in (1..).zip(Caller::ALL) {
            assert_eq!(Caller::parse(caller.name()), Some(caller));
            values[caller] = number;
        }
        assert_eq!(Caller::ALL.map(|caller| values[caller]), [1, 2, 3, 4, 5, 6, 7]);
        assert_eq!(Caller::parse("agent5"), None);
    }
}
