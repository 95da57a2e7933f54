//! What is found out about the current run from outside: where it works, what it has changed, which files it made. A
//! run that has ended waits until these inspections are done.

use super::Runs;
use super::current::{Ending, FinishedRun, RunSoFar};
use super::lanes::LaneId;
use crate::message::{AgentSlot, Channel, Event, FileNote, PlaceKind, RunId};
use crate::process::Place;
use crate::session::job;
use crate::session::journal::Step;
use crate::session::shared::Shared;
use crate::session::workplace::site::{Before, Changed};
use bytes::Bytes;
use tokio::task::AbortHandle;

/// What an inspection that is done means for its run.
#[derive(Debug)]
pub(in crate::session) enum Inspected {
    /// The run goes on, or other inspections are not done.
    GoesOn,
    /// The run only waited for this; it ends so.
    Ends(Ending),
    /// The run has ended meanwhile.
    Gone,
}

impl Runs {
    /// Sets the job that prepares the workplace, or waits for the file backup. Aborted when the run is over.
    pub(in crate::session) fn set_preparing(&mut self, lane: LaneId, job: AbortHandle) {
        if let Some(current) = &mut self.lanes[lane].current {
            current.preparing = Some(job);
        }
    }

    /// Aborts all preparations of runs.
    pub(in crate::session) fn stop_preparing(&mut self) {
        self.lanes.iter_mut().for_each(super::Lane::stop_preparing);
    }

    /// The run has no file backup. True: the user has to be told, which happens once in a run.
    pub(in crate::session) fn note_unguarded(&mut self, lane: LaneId) -> bool {
        let current = self.lanes[lane].current.as_mut();
        current.is_some_and(|current| !std::mem::replace(&mut current.is_unguarded, true))
    }

    /// The workplace of the current run is ready. An agent that is warm elsewhere ends, and also one in a place that
    /// was made anew.
    pub(in crate::session) fn set_workplace(
        &mut self,
        lane: LaneId,
        before: Box<Before>,
        place: Place,
    ) {
        let lane = &mut self.lanes[lane];
        let is_fresh = before.site.is_fresh();
        if let Some(current) = &mut lane.current {
            current.place = Some(before.site.kind());
            current.before = Some(before);
        }
        if is_fresh {
            lane.move_to(place);
        } else {
            lane.work_at(place);
        }
    }

    /// Whether this run works in a workplace that was looked at before it.
    pub(in crate::session) fn has_workplace(&self, lane: LaneId, run: RunId) -> bool {
        let current = self.lanes[lane].current.as_ref();
        current.is_some_and(|current| current.run.id == run && current.before.is_some())
    }

    /// Whether agents work in the shared project. A run without a known workplace may do so, too.
    pub(in crate::session) fn uses_project(&self) -> bool {
        AgentSlot::ALL.into_iter().any(|slot| {
            let place = self.lanes[slot].current.as_ref().map(|current| current.place);
            place.is_some_and(|place| place != Some(PlaceKind::Worktree))
        })
    }

    /// Begins the inspection of what the current run has changed. Returns the state before the run and the changes
    /// that its agent reported. `None`: the inspection has begun, or nobody knows the state before.
    pub(in crate::session) fn begin_conclusion(
        &mut self,
        lane: LaneId,
    ) -> Option<(RunId, Box<Before>, Vec<String>)> {
        let current = self.lanes[lane].current.as_mut()?;
        let before = current.before.take()?;
        current.looking += 1;
        Some((current.run.id, before, std::mem::take(&mut current.changed)))
    }

    /// What the run has changed is known.
    pub(in crate::session) fn end_conclusion(
        &mut self,
        lane: LaneId,
        run: RunId,
        paths: &mut Vec<String>,
        changed: Changed,
        pictures: Vec<FileNote>,
    ) -> Inspected {
        let current = self.lanes[lane].current.as_mut();
        let Some(current) = current.filter(|current| current.run.id == run) else {
            return Inspected::Gone;
        };
        current.looking -= 1;
        current.changed = std::mem::take(paths);
        current.files = changed;
        pictures.into_iter().for_each(|picture| current.add_made(picture));
        current.ending.take().map_or(Inspected::GoesOn, Inspected::Ends)
    }

    /// Time and usage of the current run.
    pub(in crate::session) fn so_far(&self, slot: AgentSlot) -> Option<RunSoFar> {
        let current = self.lanes[slot].current.as_ref()?;
        Some(RunSoFar {
            run: current.run.id,
            place: current.place,
            seconds: current.started.elapsed().as_secs_f64(),
            usage: current.usage.clone(),
        })
    }

    /// Stores a picture that a model made or an agent shows.
    pub(super) fn keep_picture(&mut self, shared: &mut Shared, lane: LaneId, bytes: Bytes) {
        let Some(current) = &mut self.lanes[lane].current else { return };
        current.looking += 1;
        let (env, principal) = (shared.env.clone(), shared.principal.clone());
        let run = current.run.id;
        shared.jobs.spawn(job::keep_picture(env, principal, lane.channel(), run, bytes));
    }

    /// Looks at a file that a run made.
    pub(super) fn describe(&mut self, shared: &mut Shared, lane: LaneId, path: String) {
        let Some(current) = &mut self.lanes[lane].current else { return };
        // What is made in a place of its own is found there when the run is over.
        if current.before.as_ref().is_some_and(|before| before.site.is_own()) {
            return;
        }
        current.looking += 1;
        let run = current.run.id;
        shared.jobs.spawn(job::describe(shared.env.clone(), lane.channel(), run, path));
    }

    /// A file of the run is described. If the run has ended meanwhile, its file exists all the same and is told.
    pub(super) fn end_description(
        &mut self,
        shared: &mut Shared,
        step: &mut Step,
        lane: LaneId,
        run: RunId,
        note: FileNote,
    ) -> Inspected {
        let current = self.lanes[lane].current.as_mut();
        let Some(current) = current.filter(|current| current.run.id == run) else {
            tell_file(shared, step, lane.channel(), note);
            return Inspected::Gone;
        };
        current.looking -= 1;
        current.add_made(note);
        current.ending.take().map_or(Inspected::GoesOn, Inspected::Ends)
    }
}

impl FinishedRun {
    pub(super) fn of(done: &mut super::current::Current) -> Self {
        Self {
            run: done.run.id,
            place: done.place,
            seconds: done.started.elapsed().as_secs_f64(),
            usage: done.usage.take(),
            changed: std::mem::take(&mut done.files),
        }
    }
}

pub(super) fn tell_file(shared: &mut Shared, step: &mut Step, channel: Channel, note: FileNote) {
    let without_picture = FileNote { thumbnail: None, ..note.clone() };
    shared.append(step, channel, Event::FileMade(note));
    shared.append(step, Channel::Input, Event::FileMade(without_picture));
}
