//! What a live model wants done: work for a code agent, if the rules allow it.

use super::actor::Session;
use super::journal::Step;
use crate::message::{AgentSet, AgentSlot};
use crate::provider::live::{Errand, LiveInput};

impl Session {
    /// The model goes on talking; it is told at once what has become of its wish, and later how the work ended.
    pub(super) fn on_errand(&mut self, id: String, name: &str, arguments: &str) {
        let outcome = Errand::read(name, arguments).and_then(|Errand { agent, request }| {
            self.judge_errand(agent, name, arguments)?;
            self.run_errand(agent, &request)
        });
        self.voice.show(LiveInput::ToolResult { id, outcome });
    }

    fn run_errand(&mut self, slot: AgentSlot, request: &str) -> Result<String, String> {
        let waiting = self.lanes[usize::from(slot.number())].queue.len();
        if waiting >= self.env.config.limits.queue_per_channel {
            return Err(format!("{waiting} requests wait for agent {} already", slot.number()));
        }
        let order = self.desk.last_order();
        let mut step = Step::default();
        self.request_each(&mut step, order, AgentSet::from(slot), request, &[]);
        self.journal.record(step);
        Ok(format!("agent {} has it; you will be told when it is done", slot.number()))
    }
}
