//! Commands in the order of their arrival, each carried out once. A command that needs the disk (a request number is
//! looked up, a file is stored) keeps those behind it waiting. A cancel does not wait.

use crate::files::{FileError, Listed};
use crate::message::{
    CancelScope, Channel, Command, ConnectionId, ControlValue, Controls, Event, Inbound, KnownList,
    ListKind, Problem, Recorded, RequestNo, Route, Signal, Typed,
};
use crate::session::Submitted;
use crate::session::actor::Session;
use crate::session::job::{self, Asker, JobDone, Wanted, Way};
use crate::session::journal::Step;
use crate::session::run::lanes::LaneId;
use crate::session::sockets::file_watch::Watchers;
use crate::session::workplace::choice::Inquirer;
use crate::store::{Change, StoreError};
use std::collections::{BTreeSet, HashMap, VecDeque};
use tokio::task::AbortHandle;
use tracing::error;

/// Commands waiting behind one that needs the disk. Full: the sockets wait, and their clients with them.
const BACKLOG_CAPACITY: usize = 64;
/// Most controls of a frontend that are remembered; more is a mistake of the client.
const CONTROLS_LIMIT: usize = 64;
const CONTROL_BYTES: usize = 512;

#[derive(Debug)]
pub(in crate::session) struct Desk {
    backlog: VecDeque<Submitted>,
    /// Closed while a command waits for the disk or the live model; later commands wait behind it.
    gate: Option<Gate>,
    /// Who waits for which list. One list answers all of them.
    lists: HashMap<Wanted, Vec<(Asker, Option<KnownList>)>>,
    /// Jobs that watch lists for changes.
    pub(in crate::session) followed: HashMap<ListKind, AbortHandle>,
    /// Who wants to be shown a list whenever it changes.
    pub(in crate::session) watchers: HashMap<ListKind, Watchers>,
    /// Numbers of cancels that are being looked up, each with those that were sent again meanwhile.
    overtaking: HashMap<RequestNo, Vec<Submitted>>,
    /// Work on a channel with a lower order than this is cancelled.
    cancelled_before: HashMap<Channel, u64>,
    /// Order of the newest command received.
    last_order: u64,
    /// Request numbers of choices that are being carried out, each with the sockets that sent it again meanwhile.
    choosing: HashMap<RequestNo, BTreeSet<u64>>,
    /// Counts texts that were held until their place in the log was known.
    held_texts: u64,
    pub(in crate::session) controls: Controls,
}

#[derive(Debug)]
struct Gate {
    /// Where the command is going to start work.
    starts_work_on: Vec<Channel>,
}

impl Desk {
    pub(in crate::session) fn new(controls: Controls) -> Self {
        Self {
            backlog: VecDeque::new(),
            gate: None,
            lists: HashMap::new(),
            overtaking: HashMap::new(),
            cancelled_before: HashMap::new(),
            last_order: 0,
            followed: HashMap::new(),
            watchers: HashMap::new(),
            choosing: HashMap::new(),
            held_texts: 0,
            controls,
        }
    }

    pub(in crate::session) fn has_room(&self) -> bool {
        self.backlog.len() < BACKLOG_CAPACITY
    }

    pub(in crate::session) fn is_empty(&self) -> bool {
        self.backlog.is_empty() && self.gate.is_none()
    }

    /// Order of the newest command; whatever happens now comes after it.
    pub(in crate::session) fn last_order(&self) -> u64 {
        self.last_order
    }

    pub(in crate::session) fn put(&mut self, submitted: Submitted) {
        self.last_order = self.last_order.max(submitted.order);
        self.backlog.push_back(submitted);
    }

    fn close_gate(&mut self, command: &Command) {
        self.gate = Some(Gate { starts_work_on: targets(command) });
    }

    /// Commands behind a text for a live model wait until the text is in the log. Returns a number for the text.
    pub(in crate::session) fn hold_for_text(&mut self) -> u64 {
        self.hold();
        self.held_texts += 1;
        self.held_texts
    }

    /// Commands behind a change of the project wait until the project is open.
    pub(in crate::session) fn hold(&mut self) {
        self.gate = Some(Gate { starts_work_on: Vec::new() });
    }

    pub(in crate::session) fn release_text(&mut self) {
        self.gate = None;
    }

    /// Whether work on this channel was requested before `order` and has not begun.
    fn expects_work_on(&self, channel: Channel, order: u64) -> bool {
        let gated = self.gate.iter().flat_map(|gate| gate.starts_work_on.iter().copied());
        let earlier = self.backlog.iter().filter(|submitted| submitted.order < order);
        let mut waiting = earlier.flat_map(|submitted| targets(&submitted.inbound.command));
        gated.chain(&mut waiting).any(|target| target == channel)
    }

    /// Whether this work was requested before a cancel of everything.
    pub(in crate::session) fn is_cancelled(&self, channel: Channel, order: u64) -> bool {
        self.cancelled_before.get(&channel).is_some_and(|before| order < *before)
    }

    pub(in crate::session) fn begin_choice(&mut self, request: RequestNo) {
        self.choosing.insert(request, BTreeSet::new());
    }

    /// The sockets that sent this choice again and wait for its outcome too.
    pub(in crate::session) fn end_choice(&mut self, request: &RequestNo) -> Vec<Asker> {
        let again = self.choosing.remove(request).unwrap_or_default().into_iter();
        let asker = |connection| Asker {
            request: Some(request.clone()),
            ..Asker::new(ConnectionId(connection))
        };
        again.map(asker).collect()
    }

    /// Puts a cancel that overtook other commands back into its place.
    fn put_in_order(&mut self, submitted: Submitted) {
        let place = self.backlog.partition_point(|waiting| waiting.order < submitted.order);
        self.backlog.insert(place, submitted);
    }
}

/// The channels on which a command starts work.
fn targets(command: &Command) -> Vec<Channel> {
    match command {
        Command::SendText { route: Route::Chat, .. } => vec![Channel::Chat],
        Command::SendText { route: Route::Agent(slot), .. } => vec![Channel::Agent(*slot)],
        Command::SendText { route: Route::AgentsFromChat(agents), .. }
        | Command::RequestRun { agents, .. } => agents.iter().map(Channel::Agent).collect(),
        Command::SendText { route: Route::Live { .. }, .. }
        | Command::SaveControls(_)
        | Command::SendFile { .. }
        | Command::ShowImage { .. }
        | Command::SendAudio(_)
        | Command::StopPlayback
        | Command::AckPlayback(_)
        | Command::PressTalkKey(_)
        | Command::CancelRun { .. }
        | Command::Confirm { .. }
        | Command::Compare { .. }
        | Command::ShowDiff { .. }
        | Command::ListBackups { .. }
        | Command::Choose { .. }
        | Command::ListFiles { .. }
        | Command::ShowSettings
        | Command::ChangeSettings(_)
        | Command::WatchFiles { .. } => Vec::new(),
    }
}

impl Session {
    /// Carries out waiting commands until the gate closes or the journal is full.
    pub(in crate::session) fn work_off(&mut self) {
        while self.desk.gate.is_none()
            && !self.shared.journal.is_full()
            && let Some(submitted) = self.desk.backlog.pop_front()
        {
            self.on_submitted(submitted);
        }
    }

    /// Stores commands that arrived before the gateway began to stop, so that they are not silently lost. Commands that
    /// need the disk first are dropped: the client has no answer and sends them again.
    pub(in crate::session) fn take_last_commands(&mut self) {
        while let Ok(submitted) = self.commands.try_recv() {
            self.desk.put(submitted);
        }
        while let Some(submitted) = self.desk.backlog.pop_front() {
            let needs_disk = matches!(
                submitted.inbound.command,
                Command::SendFile { .. }
                    | Command::ShowImage { .. }
                    | Command::Choose { .. }
                    | Command::ShowSettings
                    | Command::ChangeSettings(_)
            );
            let needs_disk = needs_disk || self.is_plain_choice(&submitted.inbound.command);
            if submitted.inbound.request.is_none() && !needs_disk && !self.shared.journal.is_full() {
                self.carry_out(submitted);
            }
        }
    }

    fn on_submitted(&mut self, submitted: Submitted) {
        self.note_use();
        let Some(request) = submitted.inbound.request.clone() else {
            return self.carry_out(submitted);
        };
        if self.shared.journal.is_fresh(&request) {
            return self.shared.acknowledge_again(Asker::of(submitted));
        }
        // A choice is stored only when it is done, so the store does not know the repeat; it must not be done twice.
        if let Some(again) = self.desk.choosing.get_mut(&request) {
            again.insert(submitted.connection.0);
            return;
        }
        self.desk.close_gate(&submitted.inbound.command);
        self.shared.jobs.spawn(job::look_up(self.shared.env.clone(), self.shared.key, request, submitted, Way::InOrder));
    }

    /// A cancel overtakes waiting commands, unless it is meant for one of them.
    pub(in crate::session) fn on_cancel(&mut self, submitted: Submitted) {
        while self.desk.has_room()
            && let Ok(earlier) = self.commands.try_recv()
        {
            self.desk.put(earlier);
        }
        match submitted.inbound.request.clone() {
            Some(request) if self.shared.journal.is_fresh(&request) => {
                self.shared.acknowledge_again(Asker::of(submitted));
            }
            Some(request) => {
                // A repeat of a cancel that is being looked up is handled after it.
                if let Some(repeated) = self.desk.overtaking.get_mut(&request) {
                    repeated.push(submitted);
                    return;
                }
                self.desk.overtaking.insert(request.clone(), Vec::new());
                let (env, way) = (self.shared.env.clone(), Way::Overtaking);
                self.shared.jobs.spawn(job::look_up(env, self.shared.key, request, submitted, way));
            }
            None => self.cancel_early(submitted),
        }
    }

    fn cancel_early(&mut self, submitted: Submitted) {
        let Command::CancelRun { channel, scope } = submitted.inbound.command else { return };
        let idle = LaneId::of(channel).is_none_or(|lane_id| self.lanes[lane_id].is_idle());
        if idle && self.desk.expects_work_on(channel, submitted.order) && self.desk.has_room() {
            return self.desk.put_in_order(submitted);
        }
        if scope == CancelScope::All {
            self.desk.cancelled_before.insert(channel, submitted.order);
            self.desk.last_order = self.desk.last_order.max(submitted.order);
        }
        let asker = Asker::of(submitted);
        if self.shared.journal.is_stuck() {
            let reason = "storage does not take it".to_owned();
            return self.refuse(asker, Problem::NotCarriedOut { reason });
        }
        self.cancel_run(asker, channel, scope);
    }

    pub(in crate::session) fn on_job(&mut self, done: JobDone) {
        match done {
            JobDone::LookedUp { submitted, known, way } => self.on_looked_up(submitted, known, way),
            JobDone::Stored { asker, channel, picture, saved } => {
                self.desk.gate = None;
                self.on_stored(asker, channel, picture, saved);
            }
            JobDone::ImageStored { asker, image, saved } => {
                self.desk.gate = None;
                self.on_image_stored(asker, image, saved);
            }
            // The list was begun before the session moved to another project, and askers may have joined since.
            JobDone::Listed { wanted, list: Ok(listed) } if self.is_elsewhere(&listed.list) => {
                self.make_list(wanted);
            }
            JobDone::Listed { wanted, list } => {
                let askers = self.desk.lists.remove(&wanted).unwrap_or_default();
                match list {
                    Ok(listed) => self.on_listed(askers, wanted, listed),
                    Err(err) => self.on_no_list(askers, &err),
                }
            }
            JobDone::Followed { kind, before, list } => self.on_followed(kind, before, list),
            JobDone::Placed { slot, project, site } => self.on_placed(slot, &project, site),
            JobDone::Prepared { channel, run, before } => self.on_prepared(channel, run, before),
            JobDone::Guarded { channel, run, copies, then } => {
                self.on_guarded(channel, run, copies, then);
            }
            JobDone::Copied { channel, copies, paths } => self.on_copied(channel, &copies, paths),
            JobDone::Concluded { channel, run, conclusion } => {
                self.on_concluded(channel, run, conclusion);
            }
            JobDone::Described { channel, run, note } => self.on_described(channel, run, note),
            JobDone::Compared { inquirer, rows } => self.on_compared(inquirer, rows),
            JobDone::Diffed { inquirer, diff } => self.on_diffed(inquirer, diff),
            JobDone::BackupsListed { inquirer, list } => self.on_backups_listed(inquirer, list),
            JobDone::Judged(case) => self.on_judged(*case),
            JobDone::LookedForRepositories { watch, moved } => {
                self.on_looked_for_repositories(watch, moved);
            }
            JobDone::Offered { asker, offer } => self.on_offer(asker, offer),
            JobDone::ProjectOpened { asker, changes, files } => {
                self.desk.gate = None;
                self.on_project_opened(asker, changes, files);
            }
            JobDone::Kept { agent, files } => self.on_kept(agent, files),
            JobDone::Chosen { inquirer, agent, kind, carried } => {
                self.on_chosen(inquirer, agent, kind, carried);
            }
        }
    }

    /// An aborted job is not an error. A panic is our bug; the session goes on without the outcome of that job.
    pub(in crate::session) fn on_lost_job(&mut self, err: &tokio::task::JoinError) {
        if err.is_cancelled() {
            return;
        }
        error!(%err, "a job of a session was lost");
        self.desk.gate = None;
        let askers = self.desk.lists.drain().flat_map(|(_, askers)| askers).collect();
        self.on_no_list(askers, &FileError::Internal);
    }

    fn on_looked_up(&mut self, submitted: Submitted, known: Result<bool, StoreError>, way: Way) {
        let repeated = match (way, &submitted.inbound.request) {
            (Way::Overtaking, Some(request)) => self.desk.overtaking.remove(request),
            (Way::InOrder, _) | (_, None) => {
                self.desk.gate = None;
                None
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
        repeated.into_iter().flatten().for_each(|again| self.desk.put_in_order(again));
    }

    fn carry_out(&mut self, submitted: Submitted) {
        let gate = matches!(
            submitted.inbound.command,
            Command::SendFile { .. } | Command::ShowImage { .. }
        );
        if gate {
            self.desk.close_gate(&submitted.inbound.command);
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
                self.shared.jobs.spawn(job::store_file(env, principal, asker, channel, name, bytes));
            }
            Command::ShowImage { bytes } => {
                let (env, principal) = (self.shared.env.clone(), self.shared.principal.clone());
                self.shared.jobs.spawn(job::store_image(env, principal, asker, bytes));
            }
            Command::SendAudio(sound) => self.take_sound(asker, sound),
            Command::StopPlayback => {
                self.voice.interrupt(asker.connection);
                self.shared.record_for(asker, Step::default());
            }
            Command::AckPlayback(ack) => self.on_playback_ack(asker, ack),
            Command::PressTalkKey(key) => self.on_talk_key(asker, key),
            Command::CancelRun { channel, scope } => self.cancel_run(asker, channel, scope),
            Command::Confirm { id, confirmed, always, twice } => {
                let mut step = Step::default();
                match self.on_confirm(&mut step, &id, confirmed, always, twice) {
                    Ok(()) => self.shared.record_for(asker, step),
                    Err(problem) => self.refuse(asker, problem),
                }
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
                self.list_files(asker, Wanted { kind, scope, answer_on }, known);
            }
            Command::WatchFiles { target, wish } => self.watch_files(asker, target, wish),
            Command::ShowSettings => self.show_settings(asker),
            Command::ChangeSettings(changes) => self.change_settings(asker, changes),
        }
    }

    fn take_sound(&mut self, asker: Asker, sound: Recorded) {
        if self.hear(asker.connection, sound) {
            self.shared.record_for(asker, Step::default());
        } else {
            self.refuse(asker, Problem::NotHolder);
        }
    }

    fn save_controls(&mut self, asker: Asker, controls: Controls) {
        let mut merged = self.desk.controls.clone();
        merged.extend(controls);
        if merged.len() > CONTROLS_LIMIT
            || merged.iter().any(|(name, value)| is_too_long(name, value))
        {
            return self.refuse(asker, Problem::TooManyControls { limit: CONTROLS_LIMIT });
        }
        self.desk.controls = merged;
        let changes = vec![Change::Controls(self.desk.controls.clone())];
        self.shared.record_for(asker, Step { changes, effects: Vec::new() });
    }

    fn send_text(&mut self, asker: Asker, route: Route, text: Typed) {
        if let Some(chosen) = self.plain_choice(route, &text) {
            return self.choose_in_pane(asker, text, chosen);
        }
        match route {
            Route::Chat => self.run_from_pane(asker, Channel::Chat, text.into_text()),
            Route::Agent(slot) => match self.plain_answer(slot, &text) {
                Some(answer) => {
                    self.confirm_in_pane(asker, Channel::Agent(slot), slot, text, answer);
                }
                None => self.run_from_pane(asker, Channel::Agent(slot), text.into_text()),
            },
            Route::AgentsFromChat(agents) => match self.plain_answer_to_one_of(agents, &text) {
                Some((slot, answer)) => {
                    self.confirm_in_pane(asker, Channel::Chat, slot, text, answer);
                }
                None => self.run_from_chat(asker, agents, text.into_text()),
            },
            Route::Live { echo } => self.send_live_text(asker, echo, text.into_text()),
        }
    }

    fn list_files(&mut self, asker: Asker, wanted: Wanted, known: Option<KnownList>) {
        let askers = self.desk.lists.entry(wanted).or_default();
        askers.push((asker, known));
        if askers.len() == 1 {
            self.make_list(wanted);
        }
    }

    fn make_list(&mut self, wanted: Wanted) {
        let (env, principal) = (self.shared.env.clone(), self.shared.principal.clone());
        self.shared.jobs.spawn(job::list(env, principal, wanted));
    }

    /// One list answers all askers. If all of them already have it, a signal says that nothing changed.
    fn on_listed(
        &mut self,
        askers: Vec<(Asker, Option<KnownList>)>,
        wanted: Wanted,
        listed: Listed,
    ) {
        let mut step = Step::default();
        let Wanted { kind, answer_on: channel, .. } = wanted;
        if askers.iter().all(|(_, known)| known.as_ref().is_some_and(|known| listed.is(known))) {
            let list =
                KnownList { newest: listed.list.newest.clone(), count: listed.list.files.len() };
            self.audience.signal_channel(channel, &Signal::FilesUnchanged { kind, channel, list });
        } else {
            self.shared.append(&mut step, channel, Event::Files { kind, list: Some(listed.list) });
        }
        for (asker, _) in askers {
            self.shared.record_for(asker, std::mem::take(&mut step));
        }
    }

    fn on_no_list(&mut self, askers: Vec<(Asker, Option<KnownList>)>, err: &FileError) {
        for (asker, _) in askers {
            self.refuse(asker, Problem::ListFailed { reason: err.to_string() });
        }
    }
}

fn is_too_long(name: &str, value: &ControlValue) -> bool {
    let text = match value {
        ControlValue::Text(text) => text.len(),
        ControlValue::Flag(_) | ControlValue::Number(_) => 0,
    };
    name.len() + text > CONTROL_BYTES
}
