//! The session actor: owns all mutable state of one session and is woken by one loop. Handlers are synchronous on
//! purpose: nothing a peer, a provider or the disk does can make the loop wait. The loop only wakes rooms: what concerns
//! one room is a method of that room, and what concerns several is in `handlers.rs` of the room that begins it.

use super::approval::{Approvals, left};
use super::command::Commands;
use super::job::Asker;
use super::journal::{Diverged, Effect, Journal, Step};
use super::keeping::Lifetime;
use super::keeping::erase::DeletionReply;
use super::keeping::settings::Settled;
use super::language::Language;
use super::models::{self, Providers};
use super::run::Runs;
use super::run::lane::Lane;
use super::run::lanes::PerLane;
use super::shared::Shared;
use super::sockets::Sockets;
use super::tools::Tools;
use super::voice::Voice;
use super::voice::hearing::Hearing;
use super::voice::link::LinkReady;
use super::voice::microphone::Microphone;
use super::workplace::Workplaces;
use super::{Env, Submitted, URGENT_CAPACITY, Urgent};
use crate::assistant;
use crate::files::Files;
use crate::message::{Problem, SessionId};
use crate::metrics::Held;
use crate::process::Place;
use crate::provider::live::Speaker;
use crate::store::SessionRecord;
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
    pub(super) shared: Shared,
    urgent: mpsc::Receiver<Urgent>,
    pub(super) sockets: Sockets,
    pub(super) commands: Commands,
    pub(super) runs: Runs,
    pub(super) approvals: Approvals,
    pub(super) workplaces: Workplaces,
    pub(super) voice: Voice,
    pub(super) tools: Tools,
    pub(super) lifetime: Lifetime,
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
    Deleted(DeletionReply),
}

impl Session {
    pub(super) fn new(
        env: Env,
        id: SessionId,
        record: SessionRecord,
        settled: Settled,
        project: watch::Sender<Files>,
        inboxes: Inboxes,
    ) -> Self {
        let env = Env { language: Language::new(env.config.language), ..env };
        let Inboxes { commands, urgent, microphone, hearing, speaker } = inboxes;
        let providers = Providers::of(&env, &settled.settings);
        let chat_assistant = assistant::for_chat(&settled.settings.chat_assistant);
        let agent = |slot| {
            let chosen = models::worker(&env, &settled.settings, &id, &record.principal, slot);
            Lane::agent(slot, chosen, Place::open(env.files.project()))
        };
        let mut session = Self {
            runs: Runs::new(
                Lane::chat(chat_assistant, providers.chat),
                agent,
                record.last_run,
                record.conversations,
            ),
            sockets: Sockets::new(
                &id,
                record.tops,
                record.last_order,
                microphone.clone(),
                speaker.clone(),
            ),
            commands: Commands::new(commands, record.controls, record.recent_files),
            tools: Tools::new(record.is_locked),
            voice: Voice::new(providers.live, microphone, speaker, hearing),
            approvals: Approvals::new(Arc::clone(&env.rules), &record.last_questions),
            workplaces: Workplaces::new(project, record.summaries),
            _counted: env.metrics.session_loaded(),
            urgent,
            lifetime: Lifetime::new(&env.idle),
            shared: Shared {
                journal: Journal::new(env.store.writer(record.key), record.tops, record.last_order),
                id,
                key: record.key,
                principal: record.principal,
                settings: settled.settings,
                epoch: record.epoch,
                requesters: PerLane::default(),
                jobs: JoinSet::new(),
                env,
            },
        };
        left::refuse_left_questions(&mut session.shared, record.questions, &record.running);
        left::end_left_calls(&mut session.shared, record.open_calls);
        session.take_up(record.running, record.waiting, settled.lost_project);
        session
    }

    #[expect(clippy::too_many_lines, reason = "one arm for everything that wakes a session")]
    pub(super) async fn run(&mut self, stop: CancellationToken) -> Ended {
        // Kept from turn to turn: all sessions wait for these two, and registering anew in every turn would cost more
        // than most turns do.
        let mut stopped = pin!(stop.cancelled());
        let mut trouble = pin!(news(self.shared.env.store.watch_trouble()));
        let seldom = Doorbell::default();
        loop {
            let told = poll_fn(|cx| {
                seldom.poll(cx, |cx| match stopped.as_mut().poll(cx) {
                    Poll::Ready(()) => Poll::Ready(None),
                    Poll::Pending => trouble.as_mut().poll(cx).map(Some),
                })
            });
            let alarm = self.next_alarm();
            let flowing = !self.shared.journal.is_full();
            tokio::select! {
                () = self.shared.journal.progress() => match self.take_effect() {
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
                received = self.commands.receive() => match received {
                    // A cancel sent before this command is in the urgent inbox by now, and goes first.
                    Some(()) => self.take_urgent(),
                    None => return Ended::Unloaded,
                },
                (lane_id, output) = self.runs.next_output(), if flowing => {
                    self.on_output(lane_id, output);
                }
                ready = self.voice.ready(flowing) => match ready {
                    LinkReady::Output(output) => self.on_live_output(output),
                    LinkReady::Room => self.voice.feed(),
                },
                Some(done) = self.shared.jobs.join_next() => match done {
                    Ok(done) => self.on_job(done),
                    Err(err) => self.on_lost_job(&err),
                },
                () = self.sockets.heartbeat_due() => self.sockets.on_heartbeat(&mut self.shared),
                () = self.lifetime.has_to_leave() => {}
                told = told => {
                    let Some(mut told) = told else { return Ended::Stopped };
                    let reason = told.borrow_and_update().clone();
                    self.sockets.on_trouble(reason);
                    trouble.set(news(told));
                }
                alarm = ring(alarm) => match alarm {
                    Alarm::Stop => self.on_stop_deadline(),
                    Alarm::Confirm => self.on_confirm_deadline(),
                    Alarm::Write => self.store_text(),
                    Alarm::Rest => self.runs.on_rest(&self.shared),
                    Alarm::Files => self.commands.forget_old_files(),
                    Alarm::Unload => return Ended::Unloaded,
                },
            }
            if let Some(reply) = self.lifetime.take_deletion() {
                return Ended::Deleted(reply);
            }
            self.work_off();
            self.open_voice();
        }
    }

    /// The next timer that will fire.
    fn next_alarm(&mut self) -> Option<(Instant, Alarm)> {
        let alarms = [
            (self.runs.stop_deadline(), Alarm::Stop),
            (self.approvals.deadline(), Alarm::Confirm),
            (self.voice.text_deadline(), Alarm::Write),
            (self.runs.next_rest(&self.shared), Alarm::Rest),
            (self.commands.files_expire(), Alarm::Files),
            (self.unload_at(), Alarm::Unload),
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

    /// Ends what runs and stores what is decided. Runs keep their rows, so that the next start announces them as
    /// interrupted.
    pub(super) async fn finish(&mut self) {
        self.take_last_commands();
        self.settle_all();
        self.take_last_words().await;
        self.finish_choices().await;
        let _ = timeout(LAST_WORDS, self.runs.end_workers()).await;
        while !self.shared.journal.is_empty() {
            self.shared.journal.progress().await;
            let Ok(effects) = self.shared.journal.take_effects() else { return };
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
                    | Effect::UseTool(_)
                    | Effect::Decide { .. }
                    | Effect::Call(_) => {}
                }
            }
        }
    }

    fn take_effect(&mut self) -> Result<(), Diverged> {
        let effects = self.shared.journal.take_effects().inspect_err(|_| {
            error!(session = %self.shared.id, "the session ends: a change of it could not be stored");
        })?;
        effects.into_iter().for_each(|effect| self.apply(effect));
        Ok(())
    }

    /// Records a step. If it has nothing to store, its effects only wait for the steps before it.
    pub(super) fn record(&mut self, step: Step) {
        if !step.changes.is_empty() {
            return self.shared.journal.record(step);
        }
        for effect in self.shared.journal.follow(step) {
            self.apply(effect);
        }
    }

    pub(super) fn refuse(&mut self, asker: Asker, problem: Problem) {
        self.sockets.refuse(&self.shared, asker, problem);
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
