//! Carries commands out: which room does what, and what has to be looked up before.

use super::plain_answer::PlainAnswer;
use super::plain_choice::PlainChoice;
use crate::message::{
    CancelScope, Channel, Command, Controls, Dataset, Event, Inbound, Problem, Recorded, Route,
    Typed, Work,
};
use crate::session::Submitted;
use crate::session::actor::Session;
use crate::session::job::{self, Asker, Wanted, Way};
use crate::session::journal::Step;
use crate::session::run::lanes::LaneId;
use crate::session::workplace::choice::Inquirer;
use crate::store::StoreError;
use bytes::Bytes;
use tracing::error;

impl Session {
    /// Carries out waiting commands until one blocks those behind it or the journal is full.
    pub(in crate::session) fn work_off(&mut self) {
        while !self.shared.journal.is_full()
            && let Some(submitted) = self.commands.next()
        {
            self.on_submitted(submitted);
        }
    }

    /// Stores commands that arrived before the gateway began to stop, so that they are not silently lost. Commands that
    /// need the disk first are dropped: the client has no answer and sends them again.
    pub(in crate::session) fn take_last_commands(&mut self) {
        self.commands.receive_last();
        while let Some(submitted) = self.commands.backlog.pop_front() {
            let needs_disk = matches!(
                submitted.inbound.command,
                Command::SendFile { .. }
                    | Command::ShowImage { .. }
                    | Command::Choose { .. }
                    | Command::ShowSettings
                    | Command::ChangeSettings(_)
            );
            let needs_disk =
                needs_disk || PlainChoice::is_in(&submitted.inbound.command, &self.workplaces);
            if submitted.inbound.request.is_none() && !needs_disk && !self.shared.journal.is_full()
            {
                self.carry_out(submitted);
            }
        }
    }

    fn on_submitted(&mut self, submitted: Submitted) {
        self.sockets.note_use(&mut self.shared);
        let Some(request) = submitted.inbound.request.clone() else {
            return self.carry_out(submitted);
        };
        if self.shared.journal.is_fresh(&request) {
            return self.shared.acknowledge_again(Asker::of(submitted));
        }
        if self.commands.joins_choice(&request, submitted.connection) {
            return;
        }
        self.commands.block_with(&submitted.inbound.command);
        self.shared.jobs.spawn(job::look_up(
            self.shared.env.clone(),
            self.shared.key,
            request,
            submitted,
            Way::InOrder,
        ));
    }

    /// A cancel overtakes waiting commands, unless it is meant for one of them.
    pub(in crate::session) fn on_cancel(&mut self, submitted: Submitted) {
        self.commands.receive_ready();
        match submitted.inbound.request.clone() {
            Some(request) if self.shared.journal.is_fresh(&request) => {
                self.shared.acknowledge_again(Asker::of(submitted));
            }
            Some(request) => {
                let Some(submitted) = self.commands.overtake(&request, submitted) else { return };
                let (env, way) = (self.shared.env.clone(), Way::Overtaking);
                self.shared.jobs.spawn(job::look_up(env, self.shared.key, request, submitted, way));
            }
            None => self.cancel_early(submitted),
        }
    }

    fn cancel_early(&mut self, submitted: Submitted) {
        let Command::CancelRun { channel, scope } = submitted.inbound.command else { return };
        let idle = LaneId::of(channel).is_none_or(|lane_id| self.runs.is_idle(lane_id));
        if idle
            && self.commands.expects_work_on(channel, submitted.order)
            && self.commands.has_room()
        {
            return self.commands.put_in_order(submitted);
        }
        if scope == CancelScope::All {
            self.commands.cancel_before(channel, submitted.order);
        }
        let asker = Asker::of(submitted);
        if self.shared.journal.is_stuck() {
            let reason = "storage does not take it".to_owned();
            return self.refuse(asker, Problem::NotCarriedOut { reason });
        }
        self.cancel_run(asker, channel, scope);
    }

    /// An aborted job is not an error. A panic is our bug; the session goes on without the outcome of that job.
    pub(in crate::session) fn on_lost_job(&mut self, err: &tokio::task::JoinError) {
        if err.is_cancelled() {
            return;
        }
        error!(%err, "a job of a session was lost");
        self.commands.unblock();
        self.commands.fail_lists(&self.shared, &mut self.sockets);
    }

    pub(in crate::session) fn on_looked_up(
        &mut self,
        submitted: Submitted,
        known: Result<bool, StoreError>,
        way: Way,
    ) {
        let repeated = match (way, &submitted.inbound.request) {
            (Way::Overtaking, Some(request)) => self.commands.overtaken(request),
            (Way::InOrder, _) | (_, None) => {
                self.commands.unblock();
                Vec::new()
            }
        };
        match (known, way) {
            (Ok(true), _) if submitted.inbound.request.is_some() => {
                self.shared.acknowledge_again(Asker::of(submitted));
            }
            (Ok(_), Way::InOrder) => self.carry_out(submitted),
            (Ok(_), Way::Overtaking) => self.cancel_early(submitted),
            (Err(err), _) => {
                let problem = Problem::NotCarriedOut { reason: err.to_string() };
                self.refuse(Asker::of(submitted), problem);
            }
        }
        repeated.into_iter().for_each(|again| self.commands.put_in_order(again));
    }

    fn add_dataset(&mut self, asker: Asker, set: Dataset) {
        let mut step = Step::default();
        self.shared.append(&mut step, Channel::Chat, Event::Work(Work::Dataset(set)));
        self.shared.record_for(asker, step);
    }

    fn store_image(&mut self, asker: Asker, bytes: Bytes) {
        let (env, principal) = (self.shared.env.clone(), self.shared.principal.clone());
        self.shared.jobs.spawn(job::store_image(env, principal, asker, bytes));
    }

    fn find_dataset(&mut self, asker: Asker, name: String) {
        let store = self.shared.env.store.clone();
        let upto = self.sockets.published(Channel::Chat);
        self.shared.jobs.spawn(job::find_dataset(store, self.shared.key, upto, asker, name));
    }

    /// The table is told once more, so that it is the newest one.
    pub(in crate::session) fn on_dataset_found(
        &mut self,
        asker: Asker,
        found: Result<Option<Dataset>, StoreError>,
    ) {
        self.commands.unblock();
        match found {
            Ok(Some(set)) => self.add_dataset(asker, set),
            Ok(None) => {
                let reason = "this session has no such table".to_owned();
                self.refuse(asker, Problem::NotCarriedOut { reason });
            }
            Err(err) => {
                self.refuse(asker, Problem::NotCarriedOut { reason: err.to_string() });
            }
        }
    }

    fn carry_out(&mut self, submitted: Submitted) {
        if leaves_actor(&submitted.inbound.command) {
            self.commands.block_with(&submitted.inbound.command);
        }
        let Submitted { connection, inbound: Inbound { request, command }, order, held } =
            submitted;
        let asker = Asker { connection, request, order, _held: held };
        match command {
            Command::SaveControls(controls) => self.save_controls(asker, controls),
            Command::SendText { route, text } => self.send_text(asker, route, text),
            Command::RequestRun { agents, text } => self.request_runs(asker, agents, &text),
            Command::SendFile { channel, name, bytes } => {
                let (env, principal) = (self.shared.env.clone(), self.shared.principal.clone());
                let job = job::store_file(env, principal, asker, channel, name, bytes);
                self.shared.jobs.spawn(job);
            }
            Command::ShowImage { bytes } => self.store_image(asker, bytes),
            Command::SendAudio(sound) => self.take_sound(asker, sound),
            Command::StopPlayback => {
                self.voice.interrupt(asker.connection);
                self.done(asker);
            }
            Command::AckPlayback(ack) => {
                self.voice.ack(asker.connection, ack);
                self.done(asker);
            }
            Command::PressTalkKey(key) => {
                self.voice.press(asker.connection, key);
                self.done(asker);
            }
            Command::CancelRun { channel, scope } => self.cancel_run(asker, channel, scope),
            Command::Confirm { id, confirmed, always, call, second } => {
                self.confirm(asker, &id, confirmed, always, call.as_deref(), second);
            }
            Command::Compare { agents, check } => {
                self.compare(Inquirer::Socket(asker), agents, check);
            }
            Command::ShowDiff { agent, path } => {
                self.show_diff(Inquirer::Socket(asker), agent, path);
            }
            Command::ListBackups { agent } => {
                self.list_backups(Inquirer::Socket(asker), agent);
            }
            Command::Choose { agent, choice } => {
                self.choose(Inquirer::Socket(asker), agent, choice);
            }
            Command::ListFiles { kind, scope, answer_on, known } => {
                let wanted = Wanted { kind, scope, answer_on };
                self.commands.list_files(&mut self.shared, asker, wanted, known);
            }
            Command::WatchFiles { target, wish } => {
                self.sockets.watch_files(&mut self.shared, asker, target, wish);
            }
            Command::ShowSettings => self.show_settings(asker),
            Command::ChangeSettings(changes) => self.change_settings(asker, changes),
            Command::AddDataset(set) => self.add_dataset(asker, *set),
            Command::ChooseDataset { name } => self.find_dataset(asker, name),
        }
    }

    /// Acknowledges a command that changes nothing in the store.
    fn done(&mut self, asker: Asker) {
        self.shared.record_for(asker, Step::default());
    }

    fn save_controls(&mut self, asker: Asker, controls: Controls) {
        match self.commands.save_controls(controls) {
            Ok(change) => {
                self.shared.record_for(asker, Step { changes: vec![change], effects: Vec::new() });
            }
            Err(problem) => self.refuse(asker, problem),
        }
    }

    fn take_sound(&mut self, asker: Asker, sound: Recorded) {
        if self.voice.hear(&self.shared, asker.connection, sound) {
            self.done(asker);
        } else {
            self.refuse(asker, Problem::NotHolder);
        }
    }

    fn send_text(&mut self, asker: Asker, route: Route, text: Typed) {
        if let Some(chosen) = PlainChoice::read(route, &text, &self.workplaces) {
            return self.choose_in_pane(asker, text, chosen);
        }
        match route {
            Route::Chat => match PlainAnswer::to_lane(LaneId::Chat, &text, &self.approvals) {
                Some(answer) => {
                    self.confirm_in_pane(asker, Channel::Chat, LaneId::Chat, text, answer);
                }
                None => self.run_from_pane(asker, Channel::Chat, text.into_text()),
            },
            Route::Agent(slot) => match PlainAnswer::to_lane(slot, &text, &self.approvals) {
                Some(answer) => {
                    self.confirm_in_pane(asker, Channel::Agent(slot), slot.into(), text, answer);
                }
                None => self.run_from_pane(asker, Channel::Agent(slot), text.into_text()),
            },
            Route::AgentsFromChat(agents) => {
                match PlainAnswer::to_one_of(agents, &text, &self.approvals) {
                    Some((slot, answer)) => {
                        self.confirm_in_pane(asker, Channel::Chat, slot.into(), text, answer);
                    }
                    None => self.run_from_chat(asker, agents, text.into_text()),
                }
            }
            Route::Live { echo } => self.send_live_text(asker, echo, text.into_text()),
        }
    }

    /// Shows the typed words at once; the outcome follows when the choice is carried out.
    pub(super) fn choose_in_pane(&mut self, asker: Asker, text: Typed, chosen: PlainChoice) {
        let PlainChoice { agent, choice, pane } = chosen;
        let mut step = Step::default();
        let shown = Event::UserText { text: text.into_text(), attachments: Vec::new() };
        self.shared.append(&mut step, pane, shown);
        self.shared.journal.record(step);
        self.choose(Inquirer::Typed { asker, pane }, agent, choice);
    }
}

/// Whether later commands have to wait for the disk.
fn leaves_actor(command: &Command) -> bool {
    matches!(
        command,
        Command::SendFile { .. } | Command::ShowImage { .. } | Command::ChooseDataset { .. }
    )
}
