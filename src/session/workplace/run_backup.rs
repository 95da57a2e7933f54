//! Backups around each run of an agent: one before its process starts, and one after it has ended. What differs between
//! them is what the run has changed, whatever the agent reports.

use super::agent_home::Tenant;
use super::safeguard;
use super::safeguard::{Conclusion, Copies};
use super::site::{Before, SiteWish};
use crate::message::{AgentSlot, Channel, Event, Notice, PlaceKind, RunId};
use crate::session::actor::Session;
use crate::session::job::JobDone;
use crate::session::journal::Step;
use crate::session::run::current::Ending;
use crate::session::run::lanes::LaneId;

/// An agent that never asks for approval runs only in its own copy.
const NOT_ITS_OWN: &str = "this agent asks nobody before it acts, so it works only in a copy of its own; do not choose `shared`";
/// Told to the user at each run of such an agent.
const UNASKED: &str =
    "this agent does not ask before it acts; the project changes only when you accept its work";

impl Session {
    pub(in crate::session) fn prepare(&mut self, slot: AgentSlot, run: RunId) {
        let current = self.lanes[slot].current.as_mut();
        // A run that was cancelled while its row was written, or while its place was made, needs no preparation.
        let Some(current) = current.filter(|current| current.run.id == run) else { return };
        if self.warming.defer(slot, run) {
            return;
        }
        let wish = SiteWish::new(&self.shared.env, &self.shared.id, slot, &self.shared.settings);
        let preparation =
            safeguard::prepare(self.shared.env.clone(), Channel::Agent(slot), run, wish);
        current.preparing = Some(self.shared.jobs.spawn(preparation));
    }

    /// A run in the shared project waits until the project is backed up, and says so. A cancel ends the wait.
    pub(in crate::session) fn on_guarded(
        &mut self,
        channel: Channel,
        run: RunId,
        copies: Copies,
        then: Box<JobDone>,
    ) {
        let current = LaneId::of(channel).and_then(|lane_id| self.lanes[lane_id].current.as_mut());
        let Some(current) = current.filter(|current| current.run.id == run) else {
            return self.on_job(*then);
        };
        match copies {
            Copies::Making(copying) => {
                let waiting = safeguard::wait(channel, run, copying, then);
                current.preparing = Some(self.shared.jobs.spawn(waiting));
                self.tell_backup(channel, "backing_up_first", &[]);
            }
            Copies::Failed(reason) => {
                // Told once in a run.
                if !std::mem::replace(&mut current.is_unguarded, true) {
                    self.tell_unguarded(channel, &reason);
                }
                self.on_job(*then);
            }
            Copies::Made => self.on_job(*then),
        }
    }

    /// The backup after a run is complete or has failed. Only now clients are told which files have changed.
    pub(in crate::session) fn on_copied(
        &mut self,
        channel: Channel,
        copies: &Copies,
        paths: Vec<String>,
    ) {
        if let Copies::Failed(reason) = copies {
            self.tell_unguarded(channel, reason);
        }
        let mut step = Step::default();
        self.tell_changes(&mut step, channel, paths, PlaceKind::Shared);
        self.shared.record_changes(step);
    }

    fn tell_unguarded(&mut self, channel: Channel, reason: &str) {
        let reason = self.shared.env.language.get().word(reason);
        self.tell_backup(channel, "not_backed_up", &[("reason", &reason)]);
    }

    fn tell_backup(&mut self, channel: Channel, text: &str, values: &[(&str, &str)]) {
        let mut step = Step::default();
        let line = self.shared.env.language.get().say("notice", text, values);
        self.shared.append(&mut step, channel, Event::RunLine(line));
        self.shared.journal.record(step);
    }

    /// The workplace is ready, or there is none. The run may have been cancelled meanwhile.
    pub(in crate::session) fn on_prepared(
        &mut self,
        channel: Channel,
        run: RunId,
        before: Result<Box<Before>, String>,
    ) {
        let (Some(lane_id), Channel::Agent(slot)) = (LaneId::of(channel), channel) else { return };
        let (quarters, row) = (self.quarters(), self.lanes[lane_id].row().cloned());
        let asks = self.lanes[lane_id].has_approvals();
        let current = self.lanes[lane_id].current.as_mut();
        let Some(current) = current.filter(|current| current.run.id == run) else { return };
        let before = match before {
            Ok(before) if !asks && !before.site.is_own() => Err(NOT_ITS_OWN.to_owned()),
            before => before,
        };
        match before {
            Ok(before) => {
                let (place, fresh) = (
                    quarters.place(&before.site, row.as_ref(), Tenant::Agent(slot)),
                    before.site.is_fresh(),
                );
                let (lacks, site) = (before.site.lacks(), before.site.clone());
                current.place = Some(before.site.kind());
                current.before = Some(before);
                self.watch_for_repositories(channel, run, &site);
                if fresh {
                    self.lanes[lane_id].move_to(place);
                } else {
                    self.lanes[lane_id].work_at(place);
                }
                if !asks {
                    let mut step = Step::default();
                    self.tell_line(
                        &mut step,
                        lane_id,
                        self.shared.env.language.get().word(UNASKED),
                    );
                    self.shared.journal.record(step);
                }
                self.tell_lacking(channel, lacks);
                self.launch(channel, run);
            }
            Err(reason) => {
                let mut step = Step::default();
                let reason = format!("there is no place to work: {reason}");
                self.end_run(&mut step, lane_id, Ending::Failed(reason));
                self.shared.journal.record(step);
            }
        }
    }

    /// Tells which parts of the project a new copy lacks. An agent that does not find them may make them up.
    fn tell_lacking(&mut self, channel: Channel, lacks: Vec<String>) {
        let Channel::Agent(agent) = channel else { return };
        let earlier = std::mem::take(self.warming.lacks(agent));
        let paths = if lacks.is_empty() { earlier } else { lacks };
        if !paths.is_empty() {
            self.shared.record_event(channel, Event::Notice(Notice::CopyLacks { agent, paths }));
        }
    }

    /// Begins the look at what a run has changed, once. Without a look before the run there is only the agent's
    /// word.
    pub(in crate::session) fn conclude(&mut self, lane_id: LaneId) {
        let channel = self.lanes[lane_id].channel;
        let Some(current) = &mut self.lanes[lane_id].current else { return };
        if let Some(before) = current.before.take() {
            current.looking += 1;
            let (run, told) = (current.run.id, std::mem::take(&mut current.changed));
            let Channel::Agent(slot) = channel else { return };
            let wish =
                SiteWish::new(&self.shared.env, &self.shared.id, slot, &self.shared.settings);
            let (env, principal) = (self.shared.env.clone(), self.shared.principal.clone());
            let look = safeguard::conclude(env, principal, channel, run, wish, before, told);
            self.shared.jobs.spawn(look);
        }
    }

    pub(in crate::session) fn on_concluded(
        &mut self,
        channel: Channel,
        run: RunId,
        mut conclusion: Conclusion,
    ) {
        let Some(lane_id) = LaneId::of(channel) else { return };
        self.tell_set_aside(channel, &std::mem::take(&mut conclusion.set_aside));
        if let Some(copying) = conclusion.copying.take() {
            let paths = std::mem::take(&mut conclusion.paths);
            self.shared.jobs.spawn(safeguard::copied(channel, copying, paths));
            self.tell_backup(channel, "backing_up_after", &[]);
        }
        let mut step = Step::default();
        let current = self.lanes[lane_id].current.as_mut();
        match current.filter(|current| current.run.id == run) {
            Some(current) => {
                current.looking -= 1;
                current.changed = conclusion.paths;
                current.files = conclusion.changed;
                for picture in conclusion.pictures {
                    current.add_made(picture);
                }
                if let Some(ending) = current.ending.take() {
                    self.end_run(&mut step, lane_id, ending);
                }
            }
            None => {
                let place = conclusion.place.unwrap_or(PlaceKind::Shared);
                self.tell_changes(&mut step, channel, conclusion.paths, place);
            }
        }
        self.shared.record_changes(step);
    }

    pub(in crate::session) fn tell_changes(
        &mut self,
        step: &mut Step,
        channel: Channel,
        paths: Vec<String>,
        place: PlaceKind,
    ) {
        if paths.is_empty() {
            return;
        }
        let by = match channel {
            Channel::Agent(slot) => Some(slot),
            Channel::Chat | Channel::Audio | Channel::Input | Channel::File => None,
        };
        let copy_of = by.filter(|_| place == PlaceKind::Worktree);
        let here = Event::FilesChanged { paths: paths.clone(), by: None, copy_of };
        self.shared.append(step, channel, here);
        if channel != Channel::Chat {
            self.shared.append(step, Channel::Chat, Event::FilesChanged { paths, by, copy_of });
        }
    }
}
