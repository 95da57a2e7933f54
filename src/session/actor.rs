//! The session actor: owns all mutable state of one session and is woken by one loop. Handlers are synchronous on
//! purpose: nothing a peer, a provider or the disk does can make the loop wait. They live in the rooms:
//! `sockets::presence`, `command::desk`, `run::work`, `voice::sound`.

use super::approval::gate::Gate;
use super::command::desk::Desk;
use super::command::recent_files::RecentFiles;
use super::idle::Idleness;
use super::job::{Asker, JobDone};
use super::journal::{Diverged, Effect, Journal, Step};
use super::keeping::erase::Doom;
use super::keeping::settings::Settled;
use super::language::Language;
use super::models::{self, Providers};
use super::run::conversations::Conversations;
use super::run::lane::Lane;
use super::run::lanes::Lanes;
use super::run::warm::Warming;
use super::sockets::audience::Audience;
use super::sockets::presence::Presence;
use super::voice::hearing::Hearing;
use super::voice::link::{Voice, Wake};
use super::voice::microphone::Microphone;
use super::workplace::results::{Results, project_name};
use super::{Env, Submitted, URGENT_CAPACITY, Urgent};
use crate::assistant;
use crate::files::Files;
use crate::message::{
    Channel, Entry, Epoch, Event, EventTime, Principal, Problem, SessionId, SessionSettings, Signal,
};
use crate::metrics::Held;
use crate::process::Place;
use crate::provider::live::{LIVE_OUTPUT_CAPACITY, Speaker};
use crate::store::{Change, SessionKey, SessionRecord};
use crate::task::Doorbell;
use std::future::{pending, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until, timeout};
use tokio_util::sync::CancellationToken;
use tracing::error;

/// How long running agents get to end their processes when the gateway ends.
const LAST_WORDS: Duration = Duration::from_millis(2500);

#[derive(Debug)]
pub(super) struct Session {
    pub(super) env: Env,
    pub(super) id: SessionId,
    pub(super) key: SessionKey,
    pub(super) principal: Principal,
    pub(super) settings: Arc<SessionSettings>,
    /// Tells handles and readers which project the session works on; the same files as in `env`.
    pub(super) workplace: watch::Sender<Files>,
    pub(super) epoch: Epoch,
    pub(super) commands: mpsc::Receiver<Submitted>,
    urgent: mpsc::Receiver<Urgent>,
    pub(super) journal: Journal,
    pub(super) audience: Audience,
    pub(super) presence: Presence,
    pub(super) desk: Desk,
    pub(super) gate: Gate,
    pub(super) conversations: Conversations,
    pub(super) jobs: JoinSet<JobDone>,
    pub(super) lanes: Lanes,
    pub(super) last_run: u64,
    pub(super) voice: Voice,
    pub(super) hearing: Hearing,
    pub(super) recent: RecentFiles,
    pub(super) results: Results,
    pub(super) warming: Warming,
    pub(super) idleness: Idleness,
    /// Set when the session is to be deleted.
    pub(super) doom: Option<Doom>,
    _counted: Held,
}

/// What a session shares with its handle: inboxes, microphone and speaker.
#[derive(Debug)]
pub(super) struct Inboxes {
    pub(super) commands: mpsc::Receiver<Submitted>,
    pub(super) urgent: mpsc::Receiver<Urgent>,
    pub(super) microphone: Microphone,
    pub(super) hearing: Hearing,
    pub(super) speaker: Speaker,
}

/// The timers of a session.
#[derive(Debug, Clone, Copy)]
enum Alarm {
    /// A worker missed its stop deadline.
    Stop,
    /// An approval timed out.
    Confirm,
    /// The live model did not report the place of a text in time; the text is stored without waiting for it.
    Write,
    /// An agent has been idle for too long.
    Rest,
    /// Sent files have expired without a text.
    Files,
    /// The session has been idle for too long.
    Unload,
}

/// Why an actor ended.
#[derive(Debug)]
pub(super) enum Ended {
    /// The session was idle for too long, or no handle is left.
    Unloaded,
    /// The gateway is stopping.
    Stopped,
    /// A change could not be stored, so memory and store differ. The next actor starts from the store.
    Diverged,
    /// The session is to be deleted.
    Deleted(Doom),
}

impl Session {
    pub(super) fn new(
        env: Env,
        id: SessionId,
        record: SessionRecord,
        settled: Settled,
        workplace: watch::Sender<Files>,
        inboxes: Inboxes,
    ) -> Self {
        let env = Env { language: Language::new(env.config.language), ..env };
        let Inboxes { commands, urgent, microphone, hearing, speaker } = inboxes;
        let providers = Providers::of(&env, &settled.settings);
        let chat_assistant = assistant::for_chat(&settled.settings.chat_assistant);
        let agent = |slot| {
            let chosen = models::agent(&env, &settled.settings, &id, &record.principal, slot);
            Lane::agent(slot, chosen, Place::open(env.files.project()))
        };
        let mut session = Self {
            lanes: Lanes::new(Lane::chat(chat_assistant, providers.chat), agent),
            audience: Audience::new(
                record.tops,
                record.last_order,
                microphone.clone(),
                speaker.clone(),
            ),
            voice: Voice::new(providers.live, microphone, speaker),
            hearing,
            journal: Journal::new(env.store.writer(record.key)),
            presence: Presence::new(&id),
            desk: Desk::new(record.controls),
            gate: Gate::new(Arc::clone(&env.rules), &record.last_questions),
            conversations: Conversations::restored(record.conversations),
            _counted: env.metrics.session_loaded(),
            id,
            key: record.key,
            principal: record.principal,
            settings: settled.settings,
            workplace,
            epoch: record.epoch,
            commands,
            urgent,
            last_run: record.last_run,
            recent: RecentFiles::restored(record.recent_files),
            results: Results::restored(project_name(&env.files), record.summaries),
            warming: Warming::default(),
            jobs: JoinSet::new(),
            idleness: Idleness::new(&env.idle),
            doom: None,
            env,
        };
        session.settle_left(record.questions, &record.running);
        session.end_left(record.open_calls);
        session.take_up(record.running, record.waiting, settled.lost_project);
        session
    }

    #[expect(clippy::too_many_lines, reason = "one arm for everything that wakes a session")]
    pub(super) async fn run(&mut self, stop: CancellationToken) -> Ended {
        // Kept from turn to turn: all sessions wait for these two, and registering anew in every turn would cost more
        // than most turns do.
        let mut stopped = pin!(stop.cancelled());
        let mut trouble = pin!(news(self.env.store.watch_trouble()));
        let seldom = Doorbell::default();
        loop {
            let told = poll_fn(|cx| {
                seldom.poll(cx, |cx| match stopped.as_mut().poll(cx) {
                    Poll::Ready(()) => Poll::Ready(None),
                    Poll::Pending => trouble.as_mut().poll(cx).map(Some),
                })
            });
            let alarm = self.next_alarm();
            let (flowing, is_attended) = (!self.journal.is_full(), !self.audience.is_empty());
            tokio::select! {
                () = self.journal.progress() => match self.take_effect() {
                    Ok(()) => {}
                    Err(Diverged) => return Ended::Diverged,
                },
                urgent = self.urgent.recv() => match urgent {
                    Some(urgent) => {
                        self.on_urgent(urgent);
                        self.take_urgent();
                    }
                    None => return Ended::Unloaded,
                },
                submitted = self.commands.recv(), if self.desk.has_room() => match submitted {
                    Some(submitted) => {
                        self.desk.put(submitted);
                        // A cancel sent before this command is in the urgent inbox by now, and goes first.
                        self.take_urgent();
                    }
                    None => return Ended::Unloaded,
                },
                (lane_id, output) = self.lanes.next_output(), if flowing => {
                    self.on_output(lane_id, output);
                }
                wake = self.voice.wake(flowing) => match wake {
                    Wake::Output(output) => {
                        self.on_live(output);
                        self.take_live();
                        self.note_live_words();
                    }
                    Wake::Room => self.voice.feed(),
                },
                Some(done) = self.jobs.join_next() => match done {
                    Ok(done) => self.on_job(done),
                    Err(err) => self.on_lost_job(&err),
                },
                _ = self.presence.heartbeat.tick(), if is_attended => self.on_heartbeat(),
                () = self.idleness.has_to_leave() => {}
                told = told => {
                    let Some(mut told) = told else { return Ended::Stopped };
                    let reason = told.borrow_and_update().clone();
                    self.on_trouble(reason);
                    trouble.set(news(told));
                }
                alarm = ring(alarm) => match alarm {
                    Alarm::Stop => self.on_stop_deadline(),
                    Alarm::Confirm => self.on_confirm_deadline(),
                    Alarm::Write => self.write_text(),
                    Alarm::Rest => self.on_rest(),
                    Alarm::Files => self.recent.forget_old(),
                    Alarm::Unload => return Ended::Unloaded,
                },
            }
            if let Some(doom) = self.doom.take() {
                return Ended::Deleted(doom);
            }
            self.work_off();
            self.open_voice();
        }
    }

    /// The next timer that will fire.
    fn next_alarm(&mut self) -> Option<(Instant, Alarm)> {
        let stop = self.lanes.iter().filter_map(Lane::deadline).min();
        let alarms = [
            (stop, Alarm::Stop),
            (self.gate.deadline(), Alarm::Confirm),
            (self.voice.unwritten.as_ref().map(|text| text.until), Alarm::Write),
            (self.next_rest(), Alarm::Rest),
            (self.recent.end(), Alarm::Files),
            (self.idle_end(), Alarm::Unload),
        ];
        let set = alarms.into_iter().filter_map(|(moment, alarm)| Some((moment?, alarm)));
        set.min_by_key(|(moment, _)| *moment)
    }

    /// Handles everything urgent that is ready, so that a burst costs one turn instead of many.
    fn take_urgent(&mut self) {
        for _ in 0..URGENT_CAPACITY {
            let Ok(urgent) = self.urgent.try_recv() else { return };
            self.on_urgent(urgent);
        }
    }

    /// Handles all output of the live model that is ready, until the journal is full.
    fn take_live(&mut self) {
        for _ in 0..LIVE_OUTPUT_CAPACITY {
            if self.journal.is_full() {
                return;
            }
            let Some(output) = self.voice.more_output() else { return };
            self.on_live(Some(output));
        }
    }

    /// Ends what runs and stores what is decided. Runs keep their rows, so that the next start announces them as
    /// interrupted.
    pub(super) async fn finish(&mut self) {
        self.take_last_commands();
        self.settle_all();
        self.take_last_words().await;
        self.finish_choices().await;
        let ends = self.lanes.iter_mut().map(Lane::end_worker).collect::<Vec<_>>();
        let _ = timeout(LAST_WORDS, futures_util::future::join_all(ends)).await;
        while !self.journal.is_empty() {
            self.journal.progress().await;
            let Ok(effects) = self.journal.take_effects() else { return };
            // Sockets still learn what was stored; nothing new is begun.
            for effect in effects {
                match effect {
                    Effect::Publish(_)
                    | Effect::Pass(_)
                    | Effect::Ack { .. }
                    | Effect::ShowSettings
                    | Effect::Settled(_) => self.apply(effect),
                    Effect::Show(_)
                    | Effect::Begin { .. }
                    | Effect::Decide { .. }
                    | Effect::Call(_) => {}
                }
            }
        }
    }

    fn take_effect(&mut self) -> Result<(), Diverged> {
        let effects = self.journal.take_effects().inspect_err(|_| {
            error!(session = %self.id, "the session ends: a change of it could not be stored");
        })?;
        effects.into_iter().for_each(|effect| self.apply(effect));
        Ok(())
    }

    fn apply(&mut self, effect: Effect) {
        match effect {
            Effect::Publish(entry) => self.audience.publish(&entry),
            Effect::Pass(piece) => self.audience.pass(&piece),
            Effect::Ack { connection, request, repeated } => {
                self.audience.signal(connection, Signal::Ack { request, repeated });
            }
            // The one who waits for it may be gone.
            Effect::Settled(done) => drop(done.send(())),
            Effect::ShowSettings => self.tell_settings(),
            Effect::Decide { lane, ask, decision } => {
                self.lanes[lane].answer(ask, decision);
            }
            Effect::Call(call) => {
                if let Some(webhook) = &self.env.webhook {
                    webhook.call(*call);
                }
            }
            Effect::Show(input) => self.voice.show(input),
            Effect::Begin { channel, run } => self.begin(channel, run),
        }
    }

    /// Records a step. If it has nothing to store, its effects only wait for the steps before it.
    pub(super) fn record(&mut self, step: Step) {
        if !step.changes.is_empty() {
            return self.journal.record(step);
        }
        for effect in self.journal.follow(step) {
            self.apply(effect);
        }
    }

    /// Adds an event to a step; it is published once the step is committed.
    pub(super) fn append(&mut self, step: &mut Step, channel: Channel, event: Event) {
        let (seq, order) = self.audience.assign(channel);
        let entry = Arc::new(Entry { channel, seq, order, at: EventTime::now(), event });
        step.changes.push(Change::Append(Arc::clone(&entry)));
        step.effects.push(Effect::Publish(entry));
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

    pub(super) fn refuse(&mut self, asker: Asker, problem: Problem) {
        self.env.metrics.frame_refused(problem.code());
        let signal = Signal::Failed { problem, request: asker.request };
        self.audience.signal(asker.connection, signal);
    }
}

/// Waits until storage trouble begins or ends; for ever if the store is gone.
async fn news(mut trouble: watch::Receiver<Option<String>>) -> watch::Receiver<Option<String>> {
    if trouble.changed().await.is_err() {
        pending::<()>().await;
    }
    trouble
}

/// Waits for ever if no timer is set.
async fn ring(alarm: Option<(Instant, Alarm)>) -> Alarm {
    match alarm {
        Some((moment, alarm)) => {
            sleep_until(moment).await;
            alarm
        }
        None => pending().await,
    }
}
