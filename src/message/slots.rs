//! One value for each of the four agents, found by its slot.

use super::AgentSlot;
use std::ops::{Index, IndexMut};

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
