//! What the work of a session's agents has come to, as far as it is not settled.

use super::spent::Spent;
use crate::message::{AgentSet, AgentSlot, Overlap, PlaceKind, RunSummary};
use std::collections::BTreeSet;

/// Comparisons, diffs and lists of one session at the same time; the next one is refused.
const MOST_LOOKING: usize = 4;

/// What is known of each agent's work.
#[derive(Debug, Default)]
pub(super) struct Results {
    /// Of the last run.
    pub(super) last: [Option<RunSummary>; AgentSlot::ALL.len()],
    /// By all runs in the agent's own place since its work was last taken over or thrown away.
    spent: [Spent; AgentSlot::ALL.len()],
    /// Looks that are under way.
    looking: usize,
    /// Paths that were changed and neither taken over nor thrown away since.
    pub(super) touched: [BTreeSet<String>; AgentSlot::ALL.len()],
}

impl Results {
    /// As the store remembers it, the oldest first.
    pub(super) fn restored(summaries: Vec<(AgentSlot, RunSummary)>) -> Self {
        let mut results = Self::default();
        for (slot, summary) in summaries {
            results.note(slot, summary);
        }
        results
    }

    /// A run is over.
    pub(super) fn note(&mut self, slot: AgentSlot, summary: RunSummary) {
        let paths = summary.files.iter().map(|file| file.path.clone());
        self.touched[place(slot)].extend(paths);
        if summary.place == Some(PlaceKind::Worktree) && is_told(&summary) {
            self.spent[place(slot)].add(summary.seconds, summary.usage.as_ref());
        }
        self.last[place(slot)] = Some(summary);
    }

    /// Nothing is left to choose; whatever comes now is counted from here on.
    pub(super) fn settle(&mut self, slot: AgentSlot) {
        self.touched[place(slot)].clear();
        self.spent[place(slot)] = Spent::default();
    }

    pub(super) fn spent(&self, slot: AgentSlot) -> Spent {
        self.spent[place(slot)].clone()
    }

    /// Whether another look may begin. Each that may ends with [`Results::looked`].
    pub(super) fn may_look(&mut self) -> bool {
        let may = self.looking < MOST_LOOKING;
        self.looking += usize::from(may);
        may
    }

    pub(super) fn looked(&mut self) {
        self.looking = self.looking.saturating_sub(1);
    }

    /// Files of `paths` that other agents have changed too.
    pub(super) fn overlaps<'a>(
        &self,
        slot: AgentSlot,
        paths: impl Iterator<Item = &'a String>,
    ) -> Vec<Overlap> {
        let others = |path: &String| {
            let touched = |other: &AgentSlot| self.touched[place(*other)].contains(path);
            let others = AgentSlot::ALL.into_iter().filter(|other| *other != slot);
            others.filter(touched).collect::<AgentSet>()
        };
        let overlap = |path: &String| Overlap { path: path.clone(), agents: others(path) };
        paths.map(overlap).filter(|overlap| !overlap.agents.is_empty()).collect()
    }
}

/// A run that has changed nothing and cost nothing, as far as anybody tells, is no part of a result.
pub(super) fn is_told(summary: &RunSummary) -> bool {
    !summary.files.is_empty() || summary.usage.is_some() || !summary.left_out.is_empty()
}

/// Among the agents.
pub(super) fn place(slot: AgentSlot) -> usize {
    usize::from(slot.number()) - 1
}
