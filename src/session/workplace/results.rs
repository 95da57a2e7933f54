//! Results of a session's agents that are neither accepted nor discarded yet.

use crate::files::Files;
use crate::message::{AgentSet, AgentSlot, Overlap, PlaceKind, RunSummary, Slots};
use crate::session::run::spent::Spent;
use std::collections::{BTreeSet, HashMap};

/// Most comparisons, diffs and lists of one session at the same time; the next one is refused.
const MOST_LOOKING: usize = 4;

/// Memory of a path besides its text, in bytes.
const ENTRY_BYTES: usize = 64;

/// Results of each agent, in the session's project and in its earlier projects.
#[derive(Debug)]
pub(super) struct Results {
    /// The session's current project.
    project: String,
    /// Results by project. The configuration bounds the number of projects.
    works: HashMap<String, Work>,
    /// Comparisons, diffs and lists under way.
    looking: usize,
}

/// Results in one project.
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
    /// Rebuilds the results from stored summaries, oldest first.
    pub(super) fn restored(project: String, summaries: Vec<(AgentSlot, RunSummary)>) -> Self {
        let works = HashMap::from([(project.clone(), Work::default())]);
        let mut results = Self { project, works, looking: 0 };
        for (slot, summary) in summaries {
            results.note(slot, summary);
        }
        results
    }

    /// Estimated memory in bytes, mostly paths.
    pub(super) fn bytes(&self) -> usize {
        let summary = |summary: &RunSummary| -> usize {
            summary.files.iter().map(|file| ENTRY_BYTES + file.path.len()).sum()
        };
        let touched = self.works.values().flat_map(|work| work.touched.iter().flatten());
        let last = self.works.values().flat_map(|work| work.last.iter().flatten());
        touched.map(|path| ENTRY_BYTES + path.len()).chain(last.map(summary)).sum()
    }

    /// The session changes to another project. Results in the current one are kept.
    pub(super) fn move_to(&mut self, project: String) {
        self.works.entry(project.clone()).or_default();
        self.project = project;
    }

    /// Adds the summary of a run that has ended.
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

    /// The agent's work is decided about; counting starts again.
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

    /// Changed paths that are neither accepted nor discarded.
    pub(super) fn touched(&self, slot: AgentSlot) -> impl Iterator<Item = &String> {
        self.work().into_iter().flat_map(move |work| &work.touched[slot])
    }

    /// Whether the agent's own workplace has changes that are neither accepted nor discarded.
    pub(super) fn is_open(&self, slot: AgentSlot) -> bool {
        self.work().is_some_and(|work| work.is_apart[slot])
    }

    fn work(&self) -> Option<&Work> {
        self.works.get(&self.project)
    }

    /// Reserves a slot for a comparison, diff or list, if one is free. [`Results::looked`] releases it.
    pub(super) fn may_look(&mut self) -> bool {
        let may = self.looking < MOST_LOOKING;
        self.looking += usize::from(may);
        may
    }

    pub(super) fn looked(&mut self) {
        self.looking = self.looking.saturating_sub(1);
    }

    /// Those of `paths` that other agents have changed, too.
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

/// Whether a run is worth a summary: it changed files, reported usage or left files out.
pub(super) fn is_told(summary: &RunSummary) -> bool {
    !summary.files.is_empty() || summary.usage.is_some() || !summary.left_out.is_empty()
}

/// A project's name in stored summaries.
pub(super) fn project_name(files: &Files) -> String {
    files.project().to_string_lossy().into_owned()
}
