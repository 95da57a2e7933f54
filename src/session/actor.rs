//! The session actor: owns all mutable state of one session and is woken by one loop.
//! Handlers are synchronous on purpose: nothing a peer, a provider or the disk does can make the loop wait.

use super::audience::Audience;
use super::job::{self, Asker, JobDone};
use super::journal::{Effect, Journal, Step};
use super::lane::{self, LANES, Lane};
use super::models::Providers;
use super::reader::Start;
use super::recent::RecentFiles;
use super::voice::{Voice, WORDS_CAPACITY, Wake};
use super::{Attach, AttachError, Attached, Env, Submitted, Urgent};
use crate::files::{FileError, SavedFile};
use crate::message::{
    AgentSlot, AudioChunk, Channel, Command, ConnectionId, Controls, Entry, Epoch, Event, FileNote,
    Greeting, Inbound, ListKind, Notice, Principal, Problem, RequestNo, Route, SessionId, Signal,
    Speaker, StopReason, SystemNotice,
};
use crate::metrics::Held;
use crate::provider::live::{LiveInput, LiveOutput};
use crate::store::{Change, SessionKey, SessionRecord};
use bytes::Bytes;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval, sleep_until};
use tokio_util::sync::CancellationToken;
use tracing::{error, info};

const HEARTBEAT: Duration = Duration::from_secs(5);
/// Switches of a frontend worth remembering; more is a mistake of the client.
const CONTROLS_LIMIT: usize = 64;
const CONTROL_BYTES: usize = 512;
/// How long running agents get to end their processes when the gateway ends.
const LAST_WORDS: Duration = Duration::from_millis(2500);

pub(super) struct Session {
    pub(super) env: Env,
    id: SessionId,
    key: SessionKey,
    principal: Principal,
    epoch: Epoch,
    commands: mpsc::Receiver<Submitted>,
    urgent: mpsc::Receiver<Urgent>,
    pub(super) journal: Journal,
    pub(super) audience: Audience,
    pub(super) lanes: [Lane; LANES],
    last_lane: usize,
    pub(super) last_run: u64,
    pub(super) voice: Voice,
    controls: Controls,
    pub(super) recent: RecentFiles,
    jobs: JoinSet<JobDone>,
    /// A job that later commands have to wait for, so that they keep their order.
    gate_closed: bool,
    /// Who waits for which list; one list answers them all.
    lists: HashMap<(ListKind, Channel), Vec<Asker>>,
    heartbeat: Interval,
    heartbeats: u64,
    input_seen: bool,
    /// Sockets that were told once that they do not hold the microphone.
    told_not_holder: Option<ConnectionId>,
    trouble: watch::Receiver<Option<String>>,
    idle_since: Option<Instant>,
    born: Instant,
    _counted: Held,
}

impl Session {
    pub(super) fn new(
        env: Env,
        id: SessionId,
        record: SessionRecord,
        commands: mpsc::Receiver<Submitted>,
        urgent: mpsc::Receiver<Urgent>,
    ) -> Self {
        let providers = Providers::from(env.config.models);
        let agent = |slot| Lane::agent(slot, providers.agent.clone(), &env.config.project);
        let mut heartbeat = interval(HEARTBEAT);
        heartbeat.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let [one, two, three, four] = AgentSlot::ALL.map(agent);
        let mut session = Self {
            lanes: [Lane::chat(providers.chat), one, two, three, four],
            voice: Voice::new(providers.live),
            journal: Journal::new(env.store.writer(record.key)),
            audience: Audience::new(record.tops),
            trouble: env.store.watch_trouble(),
            _counted: env.metrics.session_loaded(),
            id,
            key: record.key,
            principal: record.principal,
            epoch: record.epoch,
            commands,
            urgent,
            last_lane: 0,
            last_run: record.last_run,
            controls: record.controls,
            recent: RecentFiles::default(),
            jobs: JoinSet::new(),
            gate_closed: false,
            lists: HashMap::new(),
            heartbeat,
            heartbeats: 0,
            input_seen: false,
            told_not_holder: None,
            idle_since: None,
            born: Instant::now(),
            env,
        };
        session.take_up(record.running, record.waiting);
        session
    }

    /// Runs until the session is unloaded (true) or the gateway ends (false).
    pub(super) async fn run(&mut self, stop: CancellationToken) -> bool {
        loop {
            let idle_end = self.idle_end();
            let stop_deadline = self.lanes.iter().filter_map(Lane::deadline).min();
            let flowing = !self.journal.is_full();
            tokio::select! {
                () = stop.cancelled() => return false,
                () = self.journal.progress() => self.take_effect(),
                urgent = self.urgent.recv() => match urgent {
                    Some(urgent) => self.on_urgent(urgent),
                    None => return true,
                },
                submitted = self.commands.recv(), if flowing && !self.gate_closed => match submitted {
                    Some(submitted) => self.on_submitted(submitted),
                    None => return true,
                },
                (index, output) = lane::next_output(&mut self.lanes, &mut self.last_lane), if flowing => {
                    self.on_output(index, output);
                }
                wake = self.voice.wake(flowing) => match wake {
                    Wake::Output(output) => self.on_live(output),
                    Wake::Room => self.voice.feed(),
                },
                Some(done) = self.jobs.join_next() => match done {
                    Ok(done) => self.on_job(done),
                    Err(err) => self.on_lost_job(&err),
                },
                _ = self.heartbeat.tick() => self.on_heartbeat(),
                Ok(()) = self.trouble.changed() => self.on_trouble(),
                () = until(stop_deadline) => self.on_stop_deadline(),
                () = until(idle_end) => return true,
            }
        }
    }

    /// Ends what runs and writes down what is decided. Runs keep their rows: the next start tells they were cut off.
    pub(super) async fn finish(&mut self) {
        let ends = self.lanes.iter_mut().map(Lane::end_worker).collect::<Vec<_>>();
        let _ = tokio::time::timeout(LAST_WORDS, futures_util::future::join_all(ends)).await;
        while !self.journal.is_empty() {
            self.journal.progress().await;
            self.take_effect();
        }
    }

    /// When an unused session leaves the memory.
    fn idle_end(&mut self) -> Option<Instant> {
        let busy = !self.audience.is_empty()
            || !self.journal.is_empty()
            || !self.jobs.is_empty()
            || self.lanes.iter().any(|lane| !lane.is_idle());
        if busy {
            self.idle_since = None;
            return None;
        }
        let since = *self.idle_since.get_or_insert_with(Instant::now);
        Some(since + self.env.config.limits.unload)
    }

    pub(super) fn principal(&self) -> &Principal {
        &self.principal
    }

    // ---- what was committed --------------------------------------------------------------------------------

    fn take_effect(&mut self) {
        for effect in self.journal.take_effects() {
            match effect {
                Effect::Publish(entry) => self.audience.publish(&entry),
                Effect::Ack { connection, request, repeated } => {
                    self.audience.signal_anywhere(connection, Signal::Ack { request, repeated });
                }
                Effect::Show(input) => self.voice.show(input),
                Effect::Begin { channel, run } => self.begin(channel, run),
            }
        }
    }

    /// Adds an event to a step; it is published once the step is committed.
    pub(super) fn append(&mut self, step: &mut Step, channel: Channel, event: Event) {
        let entry = Arc::new(Entry { channel, seq: self.audience.assign(channel), event });
        step.changes.push(Change::Append(Arc::clone(&entry)));
        step.effects.push(Effect::Publish(entry));
    }

    // ---- sockets -------------------------------------------------------------------------------------------

    fn on_urgent(&mut self, urgent: Urgent) {
        match urgent {
            Urgent::Audio { connection, chunk } => self.on_audio(connection, chunk),
            Urgent::StopPlayback => self.voice.interrupt(),
            // A socket that is gone already does not wait for the answer.
            Urgent::Attach { attach, reply } => drop(reply.send(self.on_attach(&attach))),
            Urgent::CatchUp { channel, connection, reply } => {
                let _ = reply.send(self.audience.catch_up(channel, connection));
            }
            Urgent::Detach { channel, connection } => self.audience.detach(channel, connection),
            Urgent::System(notice) => self.on_system(&notice),
        }
    }

    fn on_attach(&mut self, attach: &Attach) -> Result<Attached, AttachError> {
        let limit = self.env.config.limits.sockets_per_channel;
        if self.audience.count(attach.channel) >= limit {
            return Err(AttachError::TooMany { limit });
        }
        let first_of_input =
            attach.channel == Channel::Input && self.audience.count(Channel::Input) == 0;
        if first_of_input {
            self.heartbeat.reset();
        }
        let published = self.audience.published(attach.channel);
        let resume = attach.cursor.filter(|(epoch, seq)| *epoch == self.epoch && *seq <= published);
        let start = match (resume, attach.history) {
            (Some((_, seq)), _) => Start::After(seq),
            (None, Some(count)) => Start::Last(count),
            (None, None) => Start::After(crate::message::Seq(0)),
        };
        let greeting = Greeting {
            session: self.id.clone(),
            channel: attach.channel,
            epoch: self.epoch,
            resumed: resume.is_some(),
            first_input: first_of_input && !std::mem::replace(&mut self.input_seen, true),
            controls: self.controls.clone(),
            settings: Arc::clone(&self.env.config.settings),
            project: self.env.config.project.display().to_string().into(),
            overview: None,
        };
        let lanes = self.audience.attach(attach.channel, attach.connection, attach.role);
        self.journal.record(Step { changes: vec![Change::Used], effects: Vec::new() });
        Ok(Attached { greeting, start, lanes })
    }

    fn on_system(&mut self, notice: &SystemNotice) {
        for channel in Channel::ALL {
            self.audience.signal_all(channel, &Signal::System(notice.clone()));
        }
    }

    fn on_heartbeat(&mut self) {
        self.audience.sweep();
        if self.audience.count(Channel::Input) == 0 {
            return;
        }
        self.heartbeats += 1;
        let (count, uptime_seconds) = (self.heartbeats, self.born.elapsed().as_secs_f64());
        self.audience.signal_all(Channel::Input, &Signal::Heartbeat { count, uptime_seconds });
    }

    fn on_trouble(&mut self) {
        let reason = self.trouble.borrow_and_update().clone();
        if let Some(reason) = reason {
            let problem = Problem::StoreStalled { reason };
            self.audience.signal_all(Channel::Input, &Signal::Failed { problem, request: None });
        }
    }

    pub(super) fn refuse(&mut self, asker: Asker, problem: Problem) {
        self.env.metrics.frame_refused(problem.code());
        self.audience
            .signal_anywhere(asker.connection, Signal::Failed { problem, request: asker.request });
    }

    // ---- commands ------------------------------------------------------------------------------------------

    /// A numbered command is looked up first; the commands behind it wait, so that their order stays.
    fn on_submitted(&mut self, submitted: Submitted) {
        let Some(request) = submitted.inbound.request.clone() else {
            return self.carry_out(submitted);
        };
        if self.journal.is_fresh(&request) {
            return self.acknowledge(submitted.connection, request, true);
        }
        self.gate_closed = true;
        self.jobs.spawn(job::look_up(self.env.clone(), self.key, request, submitted));
    }

    fn on_job(&mut self, done: JobDone) {
        match done {
            JobDone::LookedUp { submitted, known } => self.on_looked_up(submitted, known),
            JobDone::Stored { asker, channel, saved } => self.on_stored(asker, channel, saved),
            JobDone::ImageStored { asker, image, saved } => {
                self.on_image_stored(asker, image, saved)
            }
            JobDone::Listed { kind, answer_on, list } => {
                let askers = self.lists.remove(&(kind, answer_on)).unwrap_or_default();
                match list {
                    Ok(list) => {
                        self.on_listed(askers, answer_on, Event::Files { kind, list: Some(list) })
                    }
                    Err(err) => {
                        let problem = Problem::ListFailed { reason: err.to_string() };
                        askers.into_iter().for_each(|asker| self.refuse(asker, problem.clone()));
                    }
                }
            }
            JobDone::Described { channel, notes } => self.on_described(channel, notes),
        }
    }

    /// Only our own bug can bring us here; the session goes on without that job's outcome.
    fn on_lost_job(&mut self, err: &tokio::task::JoinError) {
        error!(%err, "a job of a session was lost");
        self.gate_closed = false;
    }

    fn on_looked_up(
        &mut self,
        submitted: Submitted,
        known: Result<bool, crate::store::StoreError>,
    ) {
        self.gate_closed = false;
        let request = submitted.inbound.request.clone();
        match (known, request) {
            (Ok(true), Some(request)) => self.acknowledge(submitted.connection, request, true),
            (Ok(_), _) => self.carry_out(submitted),
            (Err(err), request) => {
                let asker = Asker { connection: submitted.connection, request };
                self.refuse(asker, Problem::StoreStalled { reason: err.to_string() });
            }
        }
    }

    /// Goes through the journal, so that a repeated command is acknowledged after the original is committed.
    fn acknowledge(&mut self, connection: ConnectionId, request: RequestNo, repeated: bool) {
        let effects = vec![Effect::Ack { connection, request, repeated }];
        self.journal.record(Step { changes: Vec::new(), effects });
    }

    fn carry_out(&mut self, submitted: Submitted) {
        let Submitted { connection, inbound: Inbound { request, command } } = submitted;
        let asker = Asker { connection, request };
        match command {
            Command::SaveControls(controls) => self.save_controls(asker, controls),
            Command::SendText { route, text } => self.send_text(asker, route, text),
            Command::RequestRun { agent, text } => self.request_run(asker, agent, text),
            Command::SendFile { channel, name, bytes } => {
                self.gate_closed = true;
                let (env, principal) = (self.env.clone(), self.principal.clone());
                self.jobs.spawn(job::store_file(env, principal, asker, channel, name, bytes));
            }
            Command::ShowImage { bytes } => {
                self.gate_closed = true;
                self.jobs.spawn(job::store_image(
                    self.env.clone(),
                    self.principal.clone(),
                    asker,
                    bytes,
                ));
            }
            Command::SendAudio(chunk) => {
                self.on_audio(asker.connection, chunk);
                self.record_for(asker, Step::default());
            }
            Command::StopPlayback => {
                self.voice.interrupt();
                self.record_for(asker, Step::default());
            }
            Command::CancelRun { channel, scope } => self.cancel_run(asker, channel, scope),
            Command::ListFiles { kind, answer_on } => self.list_files(asker, kind, answer_on),
        }
    }

    /// Records a step as the outcome of a command: with its number, and with the acknowledgement.
    pub(super) fn record_for(&mut self, asker: Asker, mut step: Step) {
        if let Some(request) = asker.request {
            step.changes.push(Change::Request(request.clone()));
            step.effects.push(Effect::Ack {
                connection: asker.connection,
                request,
                repeated: false,
            });
        }
        if !step.changes.is_empty() || !step.effects.is_empty() {
            self.journal.record(step);
        }
    }

    fn save_controls(&mut self, asker: Asker, controls: Controls) {
        let mut merged = self.controls.clone();
        merged.extend(controls);
        let too_long = |name: &String, value: &crate::message::ControlValue| {
            name.len()
                + if let crate::message::ControlValue::Text(text) = value { text.len() } else { 0 }
                > CONTROL_BYTES
        };
        if merged.len() > CONTROLS_LIMIT || merged.iter().any(|(name, value)| too_long(name, value))
        {
            return self.refuse(asker, Problem::TooManyControls { limit: CONTROLS_LIMIT });
        }
        self.controls = merged;
        let changes = vec![Change::Controls(self.controls.clone())];
        self.record_for(asker, Step { changes, effects: Vec::new() });
    }

    fn send_text(&mut self, asker: Asker, route: Route, text: String) {
        match route {
            Route::Chat => self.run_from_pane(asker, Channel::Chat, text),
            Route::Agent(slot) => self.run_from_pane(asker, Channel::Agent(slot), text),
            Route::AgentFromChat(slot) => self.run_from_chat(asker, slot, text),
            Route::Live { echo } => {
                if !self.voice.has_room() {
                    return self.refuse(asker, Problem::QueueFull { waiting: WORDS_CAPACITY });
                }
                let mut step = Step::default();
                step.effects.push(Effect::Show(LiveInput::Text(text.clone())));
                if let Some(channel) = echo {
                    let attachments = self.recent.take(channel);
                    self.append(&mut step, channel, Event::UserText { text, attachments });
                }
                self.record_for(asker, step);
            }
        }
    }

    fn list_files(&mut self, asker: Asker, kind: ListKind, answer_on: Channel) {
        let askers = self.lists.entry((kind, answer_on)).or_default();
        askers.push(asker);
        if askers.len() == 1 {
            self.jobs.spawn(job::list(self.env.clone(), self.principal.clone(), kind, answer_on));
        }
    }

    fn on_listed(&mut self, askers: Vec<Asker>, answer_on: Channel, event: Event) {
        let mut step = Step::default();
        self.append(&mut step, answer_on, event);
        for asker in askers {
            self.record_for(asker, std::mem::take(&mut step));
        }
    }

    // ---- files ---------------------------------------------------------------------------------------------

    fn on_stored(&mut self, asker: Asker, channel: Channel, saved: Result<SavedFile, FileError>) {
        self.gate_closed = false;
        match saved {
            Ok(saved) => {
                if let Some(path) = saved.note.path.clone() {
                    self.recent.add(channel, path);
                }
                let mut step = Step::default();
                self.append(&mut step, channel, Event::UserFile(saved.note));
                self.record_for(asker, step);
            }
            Err(err) => self.refuse(asker, Problem::FileRefused { reason: err.to_string() }),
        }
    }

    fn on_image_stored(&mut self, asker: Asker, image: Bytes, saved: Result<SavedFile, FileError>) {
        self.gate_closed = false;
        if let Err(err) = saved {
            return self.refuse(asker, Problem::FileRefused { reason: err.to_string() });
        }
        if !self.voice.has_room() {
            return self.refuse(asker, Problem::QueueFull { waiting: WORDS_CAPACITY });
        }
        let effects = vec![Effect::Show(LiveInput::Image(image))];
        self.record_for(asker, Step { changes: Vec::new(), effects });
    }

    /// Starts making thumbnails of what a run made; [`Session::on_described`] tells about them.
    pub(super) fn describe(&mut self, channel: Channel, paths: Vec<String>) {
        self.jobs.spawn(job::describe(self.env.clone(), channel, paths));
    }

    fn on_described(&mut self, channel: Channel, notes: Vec<FileNote>) {
        let mut step = Step::default();
        for note in notes {
            let without_picture = FileNote { thumbnail: None, ..note.clone() };
            self.append(&mut step, channel, Event::FileMade(note));
            self.append(&mut step, Channel::Input, Event::FileMade(without_picture));
        }
        self.journal.record(step);
    }

    // ---- the live model ------------------------------------------------------------------------------------

    fn on_audio(&mut self, connection: ConnectionId, chunk: AudioChunk) {
        if self.audience.holder() != Some(connection) {
            if self.told_not_holder != Some(connection) {
                self.told_not_holder = Some(connection);
                self.refuse(Asker { connection, request: None }, Problem::NotHolder);
            }
            return;
        }
        let dropped = self.voice.hear(chunk);
        if dropped > 0 {
            self.env.metrics.audio_dropped(dropped);
        }
    }

    fn on_live(&mut self, output: Option<LiveOutput>) {
        let reason = match output {
            Some(LiveOutput::Audio(chunk)) => {
                return self.audience.tell_holder(Signal::Audio(chunk));
            }
            Some(LiveOutput::SpeechStarted) => {
                return self.audience.tell_holder(Signal::StopPlayback(StopReason::UserSpeaks));
            }
            Some(LiveOutput::Transcript { speaker, text }) => {
                return self.on_transcript(speaker, text);
            }
            Some(LiveOutput::Text(text)) => return self.say_in_chat(Event::Text(text)),
            Some(LiveOutput::Failed { reason }) => reason,
            None => "it ended unexpectedly".to_owned(),
        };
        info!(session = %self.id, reason, "the live model is gone");
        self.voice.close();
        self.say_in_chat(Event::Notice(Notice::LiveDown { reason }));
    }

    fn on_transcript(&mut self, speaker: Speaker, text: String) {
        self.say_in_chat(Event::Transcript { speaker, text });
    }

    fn say_in_chat(&mut self, event: Event) {
        let mut step = Step::default();
        self.append(&mut step, Channel::Chat, event);
        self.journal.record(step);
    }
}

/// Never, if there is no such moment.
async fn until(moment: Option<Instant>) {
    match moment {
        Some(moment) => sleep_until(moment).await,
        None => std::future::pending().await,
    }
}

impl std::fmt::Debug for Session {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Session").field("id", &self.id).finish_non_exhaustive()
    }
}
