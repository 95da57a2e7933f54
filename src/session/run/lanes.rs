//! The lanes of a session: the chat's and one for each agent, found by [`LaneId`] and not by number.

use super::lane::{Lane, LaneOutput};
use crate::message::{AgentSlot, Caller, Channel, Slots};
use std::future::poll_fn;
use std::ops::{Index, IndexMut};
use std::task::Poll;

/// Names one lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
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

impl LaneId {
    pub(in crate::session) fn channel(self) -> Channel {
        match self {
            Self::Chat => Channel::Chat,
            Self::Agent(slot) => Channel::Agent(slot),
        }
    }

    /// The lane in whose runs this caller calls tools; `None`: in none.
    pub(in crate::session) fn of_caller(caller: Caller) -> Option<Self> {
        match caller {
            Caller::Chat => Some(Self::Chat),
            Caller::Agent(slot) => Some(Self::Agent(slot)),
            Caller::Live | Caller::Client => None,
        }
    }

    /// Who calls tools in the runs of this lane.
    pub(in crate::session) fn caller(self) -> Caller {
        match self {
            Self::Chat => Caller::Chat,
            Self::Agent(slot) => Caller::Agent(slot),
        }
    }
}

/// One value for each lane.
#[derive(Debug, Default)]
pub(in crate::session) struct PerLane<T> {
    chat: T,
    agents: Slots<T>,
}

impl<T> Index<LaneId> for PerLane<T> {
    type Output = T;

    fn index(&self, lane: LaneId) -> &T {
        match lane {
            LaneId::Chat => &self.chat,
            LaneId::Agent(slot) => &self.agents[slot],
        }
    }
}

impl<T> IndexMut<LaneId> for PerLane<T> {
    fn index_mut(&mut self, lane: LaneId) -> &mut T {
        match lane {
            LaneId::Chat => &mut self.chat,
            LaneId::Agent(slot) => &mut self.agents[slot],
        }
    }
}

impl From<AgentSlot> for LaneId {
    fn from(slot: AgentSlot) -> Self {
        Self::Agent(slot)
    }
}

#[derive(Debug)]
pub(super) struct Lanes {
    all: PerLane<Lane>,
    /// Position in [`LaneId::ALL`] of the lane that spoke last.
    last: usize,
}

impl Lanes {
    pub(super) fn new(chat: Lane, agent: impl FnMut(AgentSlot) -> Lane) -> Self {
        Self { all: PerLane { chat, agents: Slots::new(agent) }, last: 0 }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Lane> {
        std::iter::once(&self.all.chat).chain(&self.all.agents)
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Lane> {
        std::iter::once(&mut self.all.chat).chain(self.all.agents.iter_mut())
    }

    /// Waits for output of any lane. The search starts behind the lane that spoke last, so that none is starved.
    pub(super) async fn next_output(&mut self) -> (LaneId, LaneOutput) {
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
        &self.all[id.into()]
    }
}

impl<Id: Into<LaneId>> IndexMut<Id> for Lanes {
    fn index_mut(&mut self, id: Id) -> &mut Lane {
        &mut self.all[id.into()]
    }
}
