//! What every room of a session works with: services, the session's identity and settings, its journal, and the jobs
//! that wait for the disk. Knows no room; a room gets it as an argument.

use super::Env;
use super::job::{Asker, JobDone};
use super::journal::{Effect, Journal, Step};
use crate::message::{
    Channel, Entry, Epoch, Event, EventTime, Principal, SessionId, SessionSettings,
};
use crate::session::run::lanes::PerLane;
use crate::store::{Change, SessionKey};
use std::net::IpAddr;
use std::sync::Arc;
use tokio::task::JoinSet;

#[derive(Debug)]
pub(super) struct Shared {
    pub(super) env: Env,
    pub(super) id: SessionId,
    pub(super) key: SessionKey,
    pub(super) principal: Principal,
    /// Changed only by `keeping`.
    pub(super) settings: Arc<SessionSettings>,
    pub(super) epoch: Epoch,
    /// Where the user is who asked for the current run of each lane.
    pub(super) requesters: PerLane<Option<IpAddr>>,
    pub(super) journal: Journal,
    pub(super) jobs: JoinSet<JobDone>,
}

impl Shared {
    /// Adds an event to a step; it is published once the step is committed.
    pub(super) fn append(&mut self, step: &mut Step, channel: Channel, event: Event) {
        let (seq, order) = self.journal.assign(channel);
        let entry = Arc::new(Entry { channel, seq, order, at: EventTime::now(), event });
        step.changes.push(Change::Append(Arc::clone(&entry)));
        step.effects.push(Effect::Publish(entry));
    }

    /// Records a step that stores one event.
    pub(super) fn record_event(&mut self, channel: Channel, event: Event) {
        let mut step = Step::default();
        self.append(&mut step, channel, event);
        self.journal.record(step);
    }

    /// Records a step if it stores something. Its effects are lost otherwise.
    pub(super) fn record_changes(&mut self, step: Step) {
        if !step.changes.is_empty() {
            self.journal.record(step);
        }
    }

    /// Records a step as the outcome of a command: stores its request number, then acknowledges it.
    pub(super) fn record_for(&mut self, asker: Asker, mut step: Step) {
        if let Some(request) = asker.request {
            step.changes.push(Change::Request(request.clone()));
            let connection = asker.connection;
            step.effects.push(Effect::Ack { connection, request, repeated: false });
        }
        if !step.changes.is_empty() || !step.effects.is_empty() {
            self.journal.record(step);
        }
    }

    /// Acknowledges a repeated command. Goes through the journal, so that the original is committed first.
    pub(super) fn acknowledge_again(&mut self, asker: Asker) {
        let Asker { connection, request: Some(request), .. } = asker else { return };
        let effects = vec![Effect::Ack { connection, request, repeated: true }];
        self.journal.record(Step { changes: Vec::new(), effects });
    }
}
