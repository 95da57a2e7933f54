//! Questions of the agent that wait for a decision, and how a decision is said in the agent's own words.

use super::super::{Ask, AskId, AskOption, AskOptionKind, Decision, Tool};
use super::wire;
use agent_client_protocol_schema::v1::{
    PermissionOption, PermissionOptionKind, RequestId, RequestPermissionOutcome,
    RequestPermissionResponse, SelectedPermissionOutcome,
};
use std::collections::BTreeMap;

/// So many may be open at once; an agent that asks more is told that nobody decides.
const MOST_OPEN: usize = 64;

type Answer = serde_json::Result<String>;

#[derive(Debug, Default)]
pub(super) struct Questions {
    open: BTreeMap<AskId, Parked>,
    last: u64,
}

#[derive(Debug)]
struct Parked {
    request: RequestId,
    options: Vec<PermissionOption>,
}

impl Questions {
    /// Keeps the question until it is decided. The error is the answer to one that is not kept.
    pub(super) fn park(
        &mut self,
        request: RequestId,
        tool: Tool,
        options: Vec<PermissionOption>,
    ) -> Result<Ask, Answer> {
        if self.open.len() >= MOST_OPEN {
            return Err(cancelled(&request));
        }
        self.last += 1;
        let id = AskId(self.last);
        let shown = options
            .iter()
            .map(|option| AskOption { name: option.name.clone(), kind: kind(option.kind) });
        let shown = shown.collect();
        self.open.insert(id, Parked { request, options });
        Ok(Ask { id, tool, options: shown })
    }

    /// The answer to a question that is open.
    pub(super) fn decide(&mut self, id: AskId, decision: Decision) -> Option<Answer> {
        let parked = self.open.remove(&id)?;
        let outcome = match chosen(&parked.options, decision) {
            Some(option) => RequestPermissionOutcome::Selected(SelectedPermissionOutcome::new(
                option.option_id.clone(),
            )),
            None => RequestPermissionOutcome::Cancelled,
        };
        Some(wire::answer(&parked.request, &RequestPermissionResponse::new(outcome)))
    }

    /// Answers all that are open: nobody decides any more.
    pub(super) fn close(&mut self) -> Vec<Answer> {
        let open = std::mem::take(&mut self.open);
        open.into_values().map(|parked| cancelled(&parked.request)).collect()
    }

    pub(super) fn any_open(&self) -> bool {
        !self.open.is_empty()
    }
}

pub(super) fn cancelled(request: &RequestId) -> Answer {
    let outcome = RequestPermissionOutcome::Cancelled;
    wire::answer(request, &RequestPermissionResponse::new(outcome))
}

/// The option that comes nearest. Some agents know only one way to allow; the decision stands all the same.
fn chosen(options: &[PermissionOption], decision: Decision) -> Option<&PermissionOption> {
    let wanted: &[PermissionOptionKind] = match decision {
        Decision::AllowOnce => {
            &[PermissionOptionKind::AllowOnce, PermissionOptionKind::AllowAlways]
        }
        Decision::AllowAlways => {
            &[PermissionOptionKind::AllowAlways, PermissionOptionKind::AllowOnce]
        }
        Decision::Deny => &[PermissionOptionKind::RejectOnce, PermissionOptionKind::RejectAlways],
        Decision::Cancelled => &[],
    };
    wanted.iter().find_map(|kind| options.iter().find(|option| option.kind == *kind))
}

fn kind(kind: PermissionOptionKind) -> AskOptionKind {
    match kind {
        PermissionOptionKind::AllowOnce => AskOptionKind::AllowOnce,
        PermissionOptionKind::AllowAlways => AskOptionKind::AllowAlways,
        PermissionOptionKind::RejectOnce => AskOptionKind::RejectOnce,
        PermissionOptionKind::RejectAlways => AskOptionKind::RejectAlways,
        // What we do not know must not look like a permission.
        _ => AskOptionKind::RejectOnce,
    }
}
