//! The tool calls of one run: what was decided about each call, and whether the agent kept to it.

use super::gate;
use crate::message::{Confirmed, DecidedBy};
use crate::policy::Seal;
use crate::provider::agent::{Tool, ToolKind, ToolStatus};
use std::collections::HashMap;

/// Calls by their ids. The breaker bounds how many there are.
#[derive(Debug, Default)]
pub(super) struct Calls(HashMap<String, Known>);

#[derive(Debug, Default)]
struct Known {
    decided: Option<(Confirmed, Seal)>,
    /// Refused by the user, a rule or the timeout. A refusal because the run ended does not count.
    declined: bool,
    stage: Stage,
}

#[derive(Debug, Default)]
enum Stage {
    /// The agent has asked about the call and not reported it yet.
    #[default]
    Untold,
    /// Not finished: the call as the agent reported it last.
    Open(Box<Tool>),
    Over(Option<Ungated>),
}

/// Why a call counts as not approved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ungated {
    Unasked,
    /// The call was refused and went on all the same.
    Refused,
    /// The agent did not wait for the answer.
    Unanswered,
    /// The call went on with another input than the one that was judged.
    Changed,
}

impl Ungated {
    /// Reason in the audit log.
    pub(super) fn reason(self) -> &'static str {
        match self {
            Self::Unasked => "ungated",
            Self::Refused => "ungated: it was refused and went on all the same",
            Self::Unanswered => "ungated: it did not wait for an answer",
            Self::Changed => "ungated: it went on with another input than was judged",
        }
    }

    /// Which warning the user gets. `Unasked` has none: the call itself is shown as not approved.
    pub(super) fn alarm(self) -> Option<&'static str> {
        match self {
            Self::Unasked => None,
            Self::Refused => Some("refused"),
            Self::Unanswered => Some("unanswered"),
            Self::Changed => Some("changed"),
        }
    }
}

/// Whether calls of this kind change nothing, so that they need no approval.
pub(super) fn is_harmless(kind: &str) -> bool {
    [ToolKind::Think, ToolKind::SwitchMode].into_iter().any(|harmless| gate::kind(harmless) == kind)
}

fn unasked(tool: &Tool) -> Option<Ungated> {
    (!is_harmless(gate::kind(tool.kind))).then_some(Ungated::Unasked)
}

impl Calls {
    pub(super) fn knows(&self, tool: &Tool) -> bool {
        self.0.get(&tool.id).is_some_and(|known| !matches!(known.stage, Stage::Untold))
    }

    /// Whether this report ends the call.
    pub(super) fn is_just_over(&self, tool: &Tool) -> bool {
        let known = self.0.get(&tool.id).map(|known| &known.stage);
        tool.status != ToolStatus::Started && !matches!(known, Some(Stage::Over(_)))
    }

    /// A later decision about the same call replaces the earlier one.
    pub(super) fn decide(&mut self, id: &str, confirmed: Confirmed, by: DecidedBy, seal: Seal) {
        let known = self.0.entry(id.to_owned()).or_default();
        known.declined = confirmed == Confirmed::Refused && by != DecidedBy::End;
        known.decided = Some((confirmed, seal));
    }

    /// Whether the call was refused, which explains why the agent never reported its end.
    pub(super) fn is_declined(&self, tool: &Tool) -> bool {
        self.0.get(&tool.id).is_some_and(|known| known.declined)
    }

    /// Why the call counts as not approved, if it does. Decided when the call ends, because many agents report a call
    /// before they ask about it.
    pub(super) fn ungated(&self, tool: &Tool) -> Option<Ungated> {
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
            // A call that failed before it began was not carried out, so it needed no approval.
            (ToolStatus::Failed, None) => None,
        }
    }

    /// Ends a call whose end the agent never reported. It may have been carried out all the same.
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

    /// Calls whose end the agent has not reported, ordered by id.
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
