//! Backups around each run of an agent: one before its process starts, and one after it has ended. What differs between
//! them is what the run has changed, whatever the agent reports.

use super::Workplaces;
use super::safeguard;
use super::safeguard::Copies;
use super::site::WorkplaceRequest;
use crate::message::{AgentSlot, Channel, Event, Notice, PlaceKind, RunId};
use crate::session::journal::Step;
use crate::session::run::Runs;
use crate::session::run::lanes::LaneId;
use crate::session::shared::Shared;

impl Workplaces {
    /// Prepares the workplace of a run. A run that was cancelled while its row was written, or while its place was
    /// made, needs no preparation.
    pub(in crate::session) fn prepare(
        &mut self,
        shared: &mut Shared,
        runs: &mut Runs,
        slot: AgentSlot,
        run: RunId,
    ) {
        if !runs.is_current(slot, run) || self.early.defer(slot, run) {
            return;
        }
        let request = WorkplaceRequest::of(shared, slot);
        let preparation =
            safeguard::prepare(shared.env.clone(), Channel::Agent(slot), run, request);
        runs.set_preparing(slot.into(), shared.jobs.spawn(preparation));
    }

    /// Tells which parts of the project a new copy lacks. An agent that does not find them may make them up.
    pub(super) fn tell_lacking(
        &mut self,
        shared: &mut Shared,
        agent: AgentSlot,
        lacks: Vec<String>,
    ) {
        let earlier = std::mem::take(self.early.lacks(agent));
        let paths = if lacks.is_empty() { earlier } else { lacks };
        if !paths.is_empty() {
            let notice = Notice::CopyLacks { agent, paths };
            shared.record_event(Channel::Agent(agent), Event::Notice(notice));
        }
    }
}

/// The backup after a run is complete or has failed. Only now clients are told which files have changed.
pub(in crate::session) fn on_copied(
    shared: &mut Shared,
    channel: Channel,
    copies: &Copies,
    paths: Vec<String>,
) {
    if let Copies::Failed(reason) = copies {
        tell_unguarded(shared, channel, reason);
    }
    let mut step = Step::default();
    tell_changes(shared, &mut step, channel, paths, PlaceKind::Shared);
    shared.record_changes(step);
}

pub(super) fn tell_unguarded(shared: &mut Shared, channel: Channel, reason: &str) {
    let reason = shared.env.language.get().word(reason);
    tell_backup(shared, channel, "not_backed_up", &[("reason", &reason)]);
}

pub(super) fn tell_backup(
    shared: &mut Shared,
    channel: Channel,
    text: &str,
    values: &[(&str, &str)],
) {
    let line = shared.env.language.get().say("notice", text, values);
    shared.record_event(channel, Event::RunLine(line));
}

/// Begins the look at what a run has changed, once. Without a look before the run there is only the agent's word.
pub(in crate::session) fn conclude(shared: &mut Shared, runs: &mut Runs, lane: LaneId) {
    let LaneId::Agent(slot) = lane else { return };
    if let Some((run, before, told)) = runs.begin_conclusion(lane) {
        let request = WorkplaceRequest::of(shared, slot);
        let (env, principal, channel) =
            (shared.env.clone(), shared.principal.clone(), lane.channel());
        let look = safeguard::conclude(env, principal, channel, run, request, before, told);
        shared.jobs.spawn(look);
    }
}

pub(in crate::session) fn tell_changes(
    shared: &mut Shared,
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
    shared.append(step, channel, here);
    if channel != Channel::Chat {
        shared.append(step, Channel::Chat, Event::FilesChanged { paths, by, copy_of });
    }
}
