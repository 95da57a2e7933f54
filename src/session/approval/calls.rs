//! The calls of one run: what was decided about each of them, and whether the agent kept to it.

use super::gate;
use crate::message::{Confirmed, DecidedBy};
use crate::policy::Seal;
use crate::provider::agent::{Tool, ToolKind, ToolStatus};
use std::collections::HashMap;

/// By their ids. The breaker bounds how many there are.
#[derive(Debug, Default)]
pub(in crate::session) struct Calls(HashMap<String, Known>);

#[derive(Debug, Default)]
struct Known {
    decided: Option<(Confirmed, Seal)>,
    /// A person or a rule has said no; the end of a run says nothing.
    declined: bool,
    stage: Stage,
}

#[derive(Debug, Default)]
enum Stage {
    /// There was a question, and nothing else yet.
    #[default]
    Untold,
    /// As it was told last.
    Open(Box<Tool>),
    Over(Option<Ungated>),
}

/// Why a call counts as one that nobody has allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::session) enum Ungated {
    Unasked,
    /// It was refused and went on all the same.
    Refused,
    /// It did not wait for the answer.
    Unanswered,
    /// It went on with another input than the one that was judged.
    Changed,
}

impl Ungated {
    /// For the audit.
    pub(super) fn reason(self) -> &'static str {
        match self {
            Self::Unasked => "ungated",
            Self::Refused => "ungated: it was refused and went on all the same",
            Self::Unanswered => "ungated: it did not wait for an answer",
            Self::Changed => "ungated: it went on with another input than was judged",
        }
    }

    /// What people are told in so many words; that nobody was asked is seen at the call itself.
    pub(super) fn alarm(self) -> Option<&'static str> {
        match self {
            Self::Unasked => None,
            Self::Refused => Some("refused"),
            Self::Unanswered => Some("unanswered"),
            Self::Changed => Some("changed"),
        }
    }
}

/// Nobody has to be asked about what does nothing.
pub(in crate::session) fn is_harmless(kind: &str) -> bool {
    [ToolKind::Think, ToolKind::SwitchMode].into_iter().any(|harmless| gate::kind(harmless) == kind)
}

fn unasked(tool: &Tool) -> Option<Ungated> {
    (!is_harmless(gate::kind(tool.kind))).then_some(Ungated::Unasked)
}

impl Calls {
    pub(super) fn knows(&self, tool: &Tool) -> bool {
        self.0.get(&tool.id).is_some_and(|known| !matches!(known.stage, Stage::Untold))
    }

    /// Whether the call is over now and was not before.
    pub(super) fn is_just_over(&self, tool: &Tool) -> bool {
        let known = self.0.get(&tool.id).map(|known| &known.stage);
        tool.status != ToolStatus::Started && !matches!(known, Some(Stage::Over(_)))
    }

    /// A later question about the same call takes the place of an earlier one.
    pub(super) fn decide(&mut self, id: &str, confirmed: Confirmed, by: DecidedBy, seal: Seal) {
        let known = self.0.entry(id.to_owned()).or_default();
        known.declined = confirmed == Confirmed::Refused && by != DecidedBy::End;
        known.decided = Some((confirmed, seal));
    }

    /// Whether it was refused, which is why its agent has not told an end of it.
    pub(super) fn is_declined(&self, tool: &Tool) -> bool {
        self.0.get(&tool.id).is_some_and(|known| known.declined)
    }

    /// Many agents tell a call first and ask then, so this is known at its end.
    pub(in crate::session) fn ungated(&self, tool: &Tool) -> Option<Ungated> {
        let known = self.0.get(&tool.id);
        if let Some(Stage::Over(ungated)) = known.map(|known| &known.stage) {
            return *ungated;
        }
        let decided = known.and_then(|known| known.decided.as_ref());
        match (tool.status, decided) {
            (ToolStatus::Started, _) => None,
            (ToolStatus::Completed, Some((Confirmed::Refused, _))) => Some(Ungated::Refused),
            (ToolStatus::Failed, Some((Confirmed::Refused, _))) => None,
            (ToolStatus::Completed | ToolStatus::Failed, Some((Confirmed::Approved, seal))) => {
                (!seal.holds(&gate::call(tool))).then_some(Ungated::Changed)
            }
            (ToolStatus::Completed, None) if tool.asked => Some(Ungated::Unanswered),
            (ToolStatus::Completed, None) => unasked(tool),
            // A command that ends with an error has been carried out all the same.
            (ToolStatus::Failed, None) if tool.ran && tool.asked => Some(Ungated::Unanswered),
            (ToolStatus::Failed, None) if tool.ran => unasked(tool),
            // What failed before it began was not carried out: nobody had to be asked about it.
            (ToolStatus::Failed, None) => None,
        }
    }

    /// Ends a call of which its agent has not told the end. It may have been carried out all the same.
    pub(super) fn abandon(&mut self, tool: &Tool) {
        let known = self.0.entry(tool.id.clone()).or_default();
        let is_unasked = known.decided.is_none() && !tool.asked;
        let ungated = if is_unasked { unasked(tool) } else { self.ungated(tool) };
        self.0.entry(tool.id.clone()).or_default().stage = Stage::Over(ungated);
    }

    pub(super) fn note(&mut self, tool: &Tool) {
        let ungated = self.ungated(tool);
        let stage = &mut self.0.entry(tool.id.clone()).or_default().stage;
        *stage = match (&stage, tool.status) {
            (Stage::Over(ungated), _) => Stage::Over(*ungated),
            (Stage::Untold | Stage::Open(_), ToolStatus::Started) => {
                Stage::Open(Box::new(tool.clone()))
            }
            (Stage::Untold | Stage::Open(_), ToolStatus::Completed | ToolStatus::Failed) => {
                Stage::Over(ungated)
            }
        };
    }

    /// Those of which the agent has not told the end, in the order of their ids.
    pub(super) fn unfinished(&self) -> Vec<Tool> {
        let open = self.0.values().filter_map(|known| match &known.stage {
            Stage::Open(tool) => Some(tool.as_ref().clone()),
            Stage::Untold | Stage::Over(_) => None,
        });
        let mut open: Vec<_> = open.collect();
        open.sort_by(|one, other| one.id.cmp(&other.id));
        open
    }
}
