//! Backups around every run of an agent: one before its worker begins, one after it has ended, and what lies
//! between them is what the run has changed, whatever the agent says.

use super::actor::Session;
use super::job;
use super::journal::Step;
use super::lane::lane_index;
use crate::files::Snapshot;
use crate::message::{Channel, Event, RunId};

impl Session {
    pub(super) fn prepare(&mut self, channel: Channel, run: RunId) {
        self.jobs.spawn(job::prepare(self.env.clone(), channel, run));
    }

    /// The run may have been cancelled meanwhile.
    pub(super) fn on_prepared(&mut self, channel: Channel, run: RunId, before: Option<Snapshot>) {
        let current = lane_index(channel).and_then(|index| self.lanes[index].current.as_mut());
        if let Some(current) = current.filter(|current| current.run.id == run) {
            current.before = before;
            self.launch(channel, run);
        }
    }

    /// Begins the look at what a run has changed, once. Without a look before the run there is only the agent's
    /// word.
    pub(super) fn conclude(&mut self, index: usize) {
        let channel = self.lanes[index].channel;
        let Some(current) = &mut self.lanes[index].current else { return };
        if let Some(before) = current.before.take() {
            current.looking += 1;
            let (run, told) = (current.run.id, std::mem::take(&mut current.changed));
            self.jobs.spawn(job::conclude(self.env.clone(), channel, run, before, told));
        }
    }

    pub(super) fn on_concluded(&mut self, channel: Channel, run: RunId, changed: Vec<String>) {
        let Some(index) = lane_index(channel) else { return };
        let mut step = Step::default();
        let current = self.lanes[index].current.as_mut();
        match current.filter(|current| current.run.id == run) {
            Some(current) => {
                current.looking -= 1;
                current.changed = changed;
                if let Some(ending) = current.ending.take() {
                    self.end_run(&mut step, index, ending);
                }
            }
            None => self.tell_changes(&mut step, channel, changed),
        }
        if !step.changes.is_empty() {
            self.journal.record(step);
        }
    }

    pub(super) fn tell_changes(&mut self, step: &mut Step, channel: Channel, changed: Vec<String>) {
        if !changed.is_empty() {
            self.append(step, channel, Event::FilesChanged(changed.clone()));
            self.append(step, Channel::Chat, Event::FilesChanged(changed));
        }
    }
}
