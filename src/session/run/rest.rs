//! Ends the processes of agents that have been idle for long. The next request starts them again with the conversation
//! that they had.

use super::Runs;
use super::lane::Lane;
use crate::session::shared::Shared;
use tokio::time::Instant;
use tracing::info;

impl Runs {
    /// When the next idle agent has waited long enough.
    pub(in crate::session) fn next_rest(&self, shared: &Shared) -> Option<Instant> {
        let patience = shared.env.config.limits.agent_idle;
        self.lanes.iter().filter_map(Lane::unused_since).min().map(|since| since + patience)
    }

    pub(in crate::session) fn on_rest(&mut self, shared: &Shared) {
        let (now, patience) = (Instant::now(), shared.env.config.limits.agent_idle);
        for lane in self.lanes.iter_mut() {
            if lane.unused_since().is_some_and(|since| since + patience <= now) {
                info!(session = %shared.id, channel = ?lane.channel, "an agent without work ends");
                lane.cut();
            }
        }
    }
}
