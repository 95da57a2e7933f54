//! A set of agent slots.

use super::AgentSlot;

/// A set of the four slots, iterated in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct AgentSet(u8);

impl AgentSet {
    pub const ALL: Self = Self(0b1111);

    pub fn insert(&mut self, slot: AgentSlot) {
        self.0 |= bit(slot);
    }

    pub fn remove(&mut self, slot: AgentSlot) {
        self.0 &= !bit(slot);
    }

    pub fn contains(self, slot: AgentSlot) -> bool {
        self.0 & bit(slot) != 0
    }

    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub fn iter(self) -> impl Iterator<Item = AgentSlot> {
        AgentSlot::ALL.into_iter().filter(move |slot| self.contains(*slot))
    }
}

impl From<AgentSlot> for AgentSet {
    fn from(slot: AgentSlot) -> Self {
        Self(bit(slot))
    }
}

impl FromIterator<AgentSlot> for AgentSet {
    fn from_iter<I: IntoIterator<Item = AgentSlot>>(slots: I) -> Self {
        let mut set = Self::default();
        slots.into_iter().for_each(|slot| set.insert(slot));
        set
    }
}

fn bit(slot: AgentSlot) -> u8 {
    1 << (slot.number() - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_has_each_agent_once_and_in_order() {
        let [one, two, _, four] = AgentSlot::ALL;
        let mut set: AgentSet = [four, one, four].into_iter().collect();
        assert_eq!(set.iter().collect::<Vec<_>>(), [one, four]);
        set.remove(one);
        set.insert(two);
        assert_eq!(set.iter().collect::<Vec<_>>(), [two, four]);
        assert_eq!(AgentSet::ALL.iter().count(), 4);
        assert!(AgentSet::default().is_empty());
    }
}
