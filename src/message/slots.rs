//! The four agents of a session, and one value for each of them, found by its slot.

use std::ops::{Index, IndexMut};

/// One of the four code agents of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AgentSlot(u8);

impl AgentSlot {
    pub const ALL: [Self; 4] = [Self(1), Self(2), Self(3), Self(4)];

    /// Slots are numbered 1 to 4, as users see them.
    pub fn new(number: u8) -> Option<Self> {
        (1..=4).contains(&number).then_some(Self(number))
    }

    pub fn number(self) -> u8 {
        self.0
    }

    /// Position in [`AgentSlot::ALL`].
    pub(super) fn position(self) -> usize {
        usize::from(self.0) - 1
    }
}

/// One value for each agent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Slots<T>([T; AgentSlot::ALL.len()]);

impl<T> Slots<T> {
    pub fn new(make: impl FnMut(AgentSlot) -> T) -> Self {
        Self(AgentSlot::ALL.map(make))
    }

    pub fn iter(&self) -> std::slice::Iter<'_, T> {
        self.0.iter()
    }

    pub fn iter_mut(&mut self) -> std::slice::IterMut<'_, T> {
        self.0.iter_mut()
    }
}

impl<T> Index<AgentSlot> for Slots<T> {
    type Output = T;

    fn index(&self, slot: AgentSlot) -> &T {
        &self.0[slot.position()]
    }
}

impl<T> IndexMut<AgentSlot> for Slots<T> {
    fn index_mut(&mut self, slot: AgentSlot) -> &mut T {
        &mut self.0[slot.position()]
    }
}

impl<'a, T> IntoIterator for &'a Slots<T> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}
