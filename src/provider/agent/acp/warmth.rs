//! A start before anybody has asked anything: what there is to say about it waits for the first prompt, and a
//! conversation in which nothing was said is none that could be remembered.

use super::{Agent, Halt, LinkDropped};
use crate::provider::agent::{AGENT_OUTPUT_CAPACITY, AgentEnd, AgentOutput};
use std::collections::VecDeque;
use tracing::info;

/// What the first prompt will be told.
#[derive(Debug)]
pub(super) struct Early {
    told: VecDeque<AgentOutput>,
    /// The conversation before this start.
    pub(super) session: Option<String>,
}

impl Early {
    /// Nobody takes anything yet. Of what an agent writes while it starts the beginning is enough; of what changes the
    /// last state is.
    pub(super) fn keep(&mut self, output: AgentOutput) {
        let is_state =
            |one: &AgentOutput| matches!(one, AgentOutput::Mode(_) | AgentOutput::Opened { .. });
        if is_state(&output) {
            let kind = std::mem::discriminant(&output);
            self.told.retain(|one| std::mem::discriminant(one) != kind);
        } else if self.told.len() >= AGENT_OUTPUT_CAPACITY {
            return;
        }
        self.told.push_back(output);
    }
}

impl Agent {
    /// Trouble is for the prompt that came meanwhile. Without one the next prompt starts the agent again, and is told
    /// what is wrong then.
    pub(super) async fn warm_up(&mut self) -> Result<(), LinkDropped> {
        if self.peer.is_some() {
            return Ok(());
        }
        self.early = Some(Early { told: VecDeque::new(), session: self.session.clone() });
        let end = match self.open().await {
            Ok(()) => return Ok(()),
            Err(Halt::LinkDropped) => return Err(LinkDropped),
            Err(Halt::Cancelled) => {
                self.held.pop_front();
                Some(AgentEnd::Cancelled)
            }
            Err(Halt::Failed(reason)) => {
                info!(agent = self.program.row.name, reason, "an agent cannot be started early");
                self.held.pop_front().map(|_| AgentEnd::Failed { reason })
            }
        };
        self.forget_early();
        if let Some(end) = end {
            self.settle();
            self.outbox.push_back(AgentOutput::Done(end));
        }
        Ok(())
    }

    /// Somebody listens from now on.
    pub(super) fn speak_up(&mut self) -> Option<Early> {
        let mut early = self.early.take()?;
        early.told.drain(..).for_each(|output| self.tell(output));
        Some(early)
    }

    /// The process is gone before it was asked anything.
    pub(super) fn forget_early(&mut self) {
        if let Some(early) = self.early.take() {
            self.session = early.session;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_waits_for_the_first_prompt_has_an_end() {
        let mut early = Early { told: VecDeque::new(), session: None };
        for number in 0..10 * AGENT_OUTPUT_CAPACITY {
            early.keep(AgentOutput::Line(format!("line {number}")));
            early.keep(AgentOutput::Note(format!("note {number}")));
            early.keep(AgentOutput::Mode(format!("mode {number}")));
        }
        let session = "s".to_owned();
        early.keep(AgentOutput::Opened { session, resumed: false });
        assert!(early.told.len() <= AGENT_OUTPUT_CAPACITY + 2, "{}", early.told.len());
        assert_eq!(early.told[0], AgentOutput::Line("line 0".to_owned()));
        let last = format!("mode {}", 10 * AGENT_OUTPUT_CAPACITY - 1);
        assert!(early.told.contains(&AgentOutput::Mode(last)));
        assert!(matches!(early.told.back(), Some(AgentOutput::Opened { .. })));
    }
}
