//! Names that agents gave their conversations, so that a new process continues where the last one ended: after a
//! restart, after a rest, after a crash.

use super::lane::Lane;
use crate::message::Channel;
use crate::store::Conversation;

#[derive(Debug)]
pub(super) struct Conversations {
    /// One for each slot, agent and directory, so the configuration bounds their number.
    known: Vec<Conversation>,
}

impl Conversations {
    pub(super) fn restored(known: Vec<Conversation>) -> Self {
        Self { known }
    }

    /// The conversation that this lane's agent had in its current directory.
    pub(super) fn of(&self, lane: &Lane) -> Option<String> {
        let Channel::Agent(slot) = lane.channel else { return None };
        let (agent, directory) = lane.program()?;
        let is_it = |one: &&Conversation| {
            one.slot == slot && one.agent == agent && one.directory == directory
        };
        self.known.iter().find(is_it).map(|one| one.name.clone())
    }

    /// The agent has told the name of its conversation. Returns the conversation if it has to be stored.
    pub(super) fn note(&mut self, lane: &Lane, name: String) -> Option<Conversation> {
        let Channel::Agent(slot) = lane.channel else { return None };
        if self.of(lane).is_some_and(|known| known == name) {
            return None;
        }
        let (agent, directory) = lane.program()?;
        let (agent, directory) = (agent.to_owned(), directory.to_owned());
        let told = Conversation { slot, agent, directory, name };
        self.known.retain(|one| {
            (one.slot, &one.agent, &one.directory) != (slot, &told.agent, &told.directory)
        });
        self.known.push(told.clone());
        Some(told)
    }
}
