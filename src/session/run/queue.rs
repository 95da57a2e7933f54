//! The queue behind the current run of a lane.

use super::Runs;
use super::current::Waiting;
use super::lanes::LaneId;
use crate::message::{CancelScope, Event, Notice, Run};
use crate::session::journal::Step;
use crate::session::shared::Shared;
use crate::store::Change;
use tokio::time::Instant;

impl Runs {
    /// How many runs wait in the queue of a lane.
    pub(in crate::session) fn waiting(&self, lane: impl Into<LaneId>) -> usize {
        self.lanes[lane].queue.len()
    }

    /// Puts a run that an earlier process left into its queue.
    pub(super) fn queue_again(&mut self, run: Run) {
        if let Some(lane) = LaneId::of(run.channel) {
            self.lanes[lane].queue.push_back(Waiting {
                run,
                order: 0,
                asked: Instant::now(),
                address: None,
            });
        }
    }

    /// Takes cancelled requests out of the queue and returns how many.
    pub(in crate::session) fn drop_waiting(
        &mut self,
        shared: &mut Shared,
        step: &mut Step,
        lane_id: LaneId,
        scope: CancelScope,
        order: u64,
    ) -> usize {
        let unwanted = |waiting: &Waiting| match scope {
            CancelScope::Current => false,
            CancelScope::One(id) => waiting.run.id == id,
            CancelScope::All => waiting.order < order,
        };
        let queue = std::mem::take(&mut self.lanes[lane_id].queue);
        let (dropped, kept): (Vec<Waiting>, Vec<Waiting>) = queue.into_iter().partition(unwanted);
        self.lanes[lane_id].queue = kept.into();
        for Waiting { run, .. } in &dropped {
            step.changes.push(Change::RunOver(run.id));
            shared.append(
                step,
                run.channel,
                Event::Notice(Notice::QueuedCancelled { run: run.id }),
            );
        }
        dropped.len()
    }
}
