//! The lanes of a session: the chat's and one for each agent, found by [`LaneId`] and not by number.

use super::lane::{Lane, LaneOutput};
use crate::message::{AgentSlot, Channel, Slots};
use std::future::poll_fn;
use std::ops::{Index, IndexMut};
use std::task::Poll;

/// Names one lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::session) enum LaneId {
    Chat,
    Agent(AgentSlot),
}

impl LaneId {
    pub(in crate::session) const ALL: [Self; 5] = [
        Self::Chat,
        Self::Agent(AgentSlot::ALL[0]),
        Self::Agent(AgentSlot::ALL[1]),
        Self::Agent(AgentSlot::ALL[2]),
        Self::Agent(AgentSlot::ALL[3]),
    ];

    /// `None` where no work is done.
    pub(in crate::session) fn of(channel: Channel) -> Option<Self> {
        match channel {
            Channel::Chat => Some(Self::Chat),
            Channel::Agent(slot) => Some(Self::Agent(slot)),
            Channel::Audio | Channel::Input | Channel::File => None,
        }
    }
}

impl From<AgentSlot> for LaneId {
    fn from(slot: AgentSlot) -> Self {
        Self::Agent(slot)
    }
}

#[derive(Debug)]
pub(in crate::session) struct Lanes {
    chat: Lane,
    agents: Slots<Lane>,
    /// Position in [`LaneId::ALL`] of the lane that spoke last.
    last: usize,
}

impl Lanes {
    pub(in crate::session) fn new(chat: Lane, agent: impl FnMut(AgentSlot) -> Lane) -> Self {
        Self { chat, agents: Slots::new(agent), last: 0 }
    }

    pub(in crate::session) fn iter(&self) -> impl Iterator<Item = &Lane> {
        std::iter::once(&self.chat).chain(&self.agents)
    }

    pub(in crate::session) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Lane> {
        std::iter::once(&mut self.chat).chain(self.agents.iter_mut())
    }

    /// Waits for output of any lane. The search starts behind the lane that spoke last, so that none is starved.
    pub(in crate::session) async fn next_output(&mut self) -> (LaneId, LaneOutput) {
        poll_fn(|context| {
            for step in 1..=LaneId::ALL.len() {
                let at = (self.last + step) % LaneId::ALL.len();
                let id = LaneId::ALL[at];
                if let Poll::Ready(output) = self[id].poll_output(context) {
                    self.last = at;
                    return Poll::Ready((id, output));
                }
            }
            Poll::Pending
        })
        .await
    }
}

impl<Id: Into<LaneId>> Index<Id> for Lanes {
    type Output = Lane;

    fn index(&self, id: Id) -> &Lane {
        match id.into() {
            LaneId::Chat => &self.chat,
            LaneId::Agent(slot) => &self.agents[slot],
        }
    }
}

impl<Id: Into<LaneId>> IndexMut<Id> for Lanes {
    fn index_mut(&mut self, id: Id) -> &mut Lane {
        match id.into() {
            LaneId::Chat => &mut self.chat,
            LaneId::Agent(slot) => &mut self.agents[slot],
        }
    }
}
