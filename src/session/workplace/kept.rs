//! Work that an agent left in its own copy before it was set to the shared project. Nothing of it is lost, and the user
//! is told so on the agent's channel.

use super::inspect::blocking;
use super::site::{self, WorkplaceRequest};
use crate::message::{AgentSlot, Channel, Event, Notice, SessionSettings};
use crate::session::job::JobDone;
use crate::session::run::Runs;
use crate::session::shared::Shared;
use tracing::warn;

/// Called when settings have changed. A running agent stays in its workplace, so its work is looked for at the end of
/// the run.
pub(in crate::session) fn mention_since(
    shared: &mut Shared,
    runs: &Runs,
    before: &SessionSettings,
) {
    for slot in AgentSlot::ALL {
        let was_shared = site::is_shared(before, slot);
        if !was_shared && site::is_shared(&shared.settings, slot) {
            // The shared project has risks. The welcome has the same warning.
            let line = shared.env.language.get().say("welcome", "shared_risk", &[]);
            shared.record_event(Channel::Agent(slot), Event::RunLine(line));
        }
        if !was_shared && runs.is_idle(slot) {
            mention(shared, slot);
        }
    }
}

/// Looks for work in the agent's own copy, if the agent works in the shared project now.
pub(super) fn mention(shared: &mut Shared, agent: AgentSlot) {
    if !site::is_shared(&shared.settings, agent) {
        return;
    }
    let request = WorkplaceRequest::of(shared, agent);
    shared.jobs.spawn(async move {
        let files = blocking(request, |request| request.kept()).await.unwrap_or_else(|err| {
            warn!(err, "whether an agent has left something in its own place is not known");
            0
        });
        JobDone::Kept { agent, files }
    });
}

pub(in crate::session) fn on_found(shared: &mut Shared, agent: AgentSlot, files: usize) {
    if files > 0 {
        let notice = Notice::WorkKept { agent, files };
        shared.record_event(Channel::Agent(agent), Event::Notice(notice));
    }
}
