//! What the work of a session's agents has come to, as far as it is not settled.

use crate::files::Files;
use crate::message::{AgentSet, AgentSlot, Overlap, PlaceKind, RunSummary, Slots};
use crate::session::run::spent::Spent;
use std::collections::{BTreeSet, HashMap};

/// Comparisons, diffs and lists of one session at the same time; the next one is refused.
const MOST_LOOKING: usize = 4;

/// What a path takes in memory beside its letters.
const ENTRY_BYTES: usize = 64;

/// What is known of each agent's work, in the session's project and in those that it has worked on before.
#[derive(Debug)]
pub(in crate::session) struct Results {
    /// The session's.
    project: String,
    /// By project; there are as many as the configuration allows.
    works: HashMap<String, Work>,
    /// Looks that are under way.
    looking: usize,
}

/// In one project.
#[derive(Debug, Default)]
struct Work {
    /// Of the last run.
    last: Slots<Option<RunSummary>>,
    /// By all runs in the agent's own place since its work was last taken over or thrown away.
    spent: Slots<Spent>,
    /// Paths that were changed and neither taken over nor thrown away since.
    touched: Slots<BTreeSet<String>>,
    /// Whether some of them were changed in the agent's own place.
    is_apart: Slots<bool>,
}

impl Results {
    /// As the store remembers it, the oldest first.
    pub(in crate::session) fn restored(
        project: String,
        summaries: Vec<(AgentSlot, RunSummary)>,
    ) -> Self {
        let works = HashMap::from([(project.clone(), Work::default())]);
        let mut results = Self { project, works, looking: 0 };
        for (slot, summary) in summaries {
            results.note(slot, summary);
        }
        results
    }

    /// What it takes in memory, mostly paths.
    pub(in crate::session) fn bytes(&self) -> usize {
        let summary = |summary: &RunSummary| -> usize {
            summary.files.iter().map(|file| ENTRY_BYTES + file.path.len()).sum()
        };
        let touched = self.works.values().flat_map(|work| work.touched.iter().flatten());
        let last = self.works.values().flat_map(|work| work.last.iter().flatten());
        touched.map(|path| ENTRY_BYTES + path.len()).chain(last.map(summary)).sum()
    }

    /// The session works on another project; what is known of this one is kept.
    pub(in crate::session) fn move_to(&mut self, project: String) {
        self.works.entry(project.clone()).or_default();
        self.project = project;
    }

    /// A run is over.
    pub(super) fn note(&mut self, slot: AgentSlot, summary: RunSummary) {
        let project = summary.project.clone().unwrap_or_else(|| self.project.clone());
        let work = self.works.entry(project).or_default();
        let paths = summary.files.iter().map(|file| file.path.clone());
        work.touched[slot].extend(paths);
        work.is_apart[slot] |=
            summary.place == Some(PlaceKind::Worktree) && !summary.files.is_empty();
        if summary.place == Some(PlaceKind::Worktree) && is_told(&summary) {
            work.spent[slot].add(summary.seconds, summary.usage.as_ref());
        }
        work.last[slot] = Some(summary);
    }

    /// Nothing is left to choose; whatever comes now is counted from here on.
    pub(super) fn settle(&mut self, slot: AgentSlot) {
        if let Some(work) = self.works.get_mut(&self.project) {
            work.touched[slot].clear();
            work.is_apart[slot] = false;
            work.spent[slot] = Spent::default();
        }
    }

    pub(super) fn spent(&self, slot: AgentSlot) -> Spent {
        self.work().map(|work| work.spent[slot].clone()).unwrap_or_default()
    }

    pub(super) fn last(&self, slot: AgentSlot) -> Option<&RunSummary> {
        self.work()?.last[slot].as_ref()
    }

    /// Paths that an agent has changed and that nobody has decided about.
    pub(super) fn touched(&self, slot: AgentSlot) -> impl Iterator<Item = &String> {
        self.work().into_iter().flat_map(move |work| &work.touched[slot])
    }

    /// Whether an agent has work in a place of its own that nobody has decided about.
    pub(in crate::session) fn is_open(&self, slot: AgentSlot) -> bool {
        self.work().is_some_and(|work| work.is_apart[slot])
    }

    fn work(&self) -> Option<&Work> {
        self.works.get(&self.project)
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
            let touched = |other: &AgentSlot| {
                self.work().is_some_and(|work| work.touched[*other].contains(path))
            };
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

/// What a project is called where work is written down.
pub(in crate::session) fn project_name(files: &Files) -> String {
    files.project().to_string_lossy().into_owned()
}
