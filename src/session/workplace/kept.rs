//! Work that an agent left in its own copy before it was set to the shared project. Nothing of it is lost, and the user
//! is told so on the agent's channel.

use super::inspect::blocking;
use super::site;
use crate::message::{AgentSlot, Channel, Event, Notice, SessionSettings};
use crate::session::actor::Session;
use crate::session::job::JobDone;
use crate::session::journal::Step;
use tracing::warn;

impl Session {
    /// Called when settings have changed. A running agent stays in its workplace, so its work is looked for at the end
    /// of the run.
    pub(in crate::session) fn mention_kept_since(&mut self, before: &SessionSettings) {
        for slot in AgentSlot::ALL {
            let was_shared = site::is_shared(before, slot);
            if !was_shared && site::is_shared(&self.shared.settings, slot) {
                self.tell_shared_risk(slot);
            }
            if !was_shared && self.lanes[slot].is_idle() {
                self.mention_kept(slot);
            }
        }
    }

    /// Warns about the shared project when it is chosen. The welcome has the same warning.
    fn tell_shared_risk(&mut self, agent: AgentSlot) {
        let mut step = Step::default();
        let line = self.shared.env.language.get().say("welcome", "shared_risk", &[]);
        self.shared.append(&mut step, Channel::Agent(agent), Event::RunLine(line));
        self.shared.journal.record(step);
    }

    pub(super) fn mention_kept(&mut self, agent: AgentSlot) {
        if !site::is_shared(&self.shared.settings, agent) {
            return;
        }
        let wish = self.wish(agent);
        self.shared.jobs.spawn(async move {
            let files = blocking(wish, |wish| wish.kept()).await.unwrap_or_else(|err| {
                warn!(err, "whether an agent has left something in its own place is not known");
                0
            });
            JobDone::Kept { agent, files }
        });
    }

    pub(in crate::session) fn on_kept(&mut self, agent: AgentSlot, files: usize) {
        if files == 0 {
            return;
        }
        self.shared
            .record_event(Channel::Agent(agent), Event::Notice(Notice::WorkKept { agent, files }));
    }
}
