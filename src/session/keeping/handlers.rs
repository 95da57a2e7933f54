//! Settings, the end of an idle session and its deletion: what the other rooms have to do for it.

use super::erase::{self, DeletionReply};
use super::idle::OWN_BYTES;
use super::settings::{AppliedSettings, NewSettings, check_changes, chosen_project};
use crate::assistant;
use crate::files::Files;
use crate::locale::Locale;
use crate::message::{
    AgentSlot, ModelOffer, RefusedSetting, RunOutcome, SessionSettings, Setting, SettingChange,
    SettingProblem, SettingsNote, Signal, View,
};
use crate::session::actor::Session;
use crate::session::job::{self, Asker, JobDone};
use crate::session::journal::{Effect, Step};
use crate::session::models;
use crate::session::shared::Shared;
use crate::session::workplace::kept;
use crate::store::Change;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::time::{Instant, timeout};
use tracing::{info, warn};

/// For programs and metrics.
const REFUSED: &str = "settings_refused";
/// How long agents get to end their processes. After that their links are dropped and they are killed.
const WORKERS_PATIENCE: Duration = Duration::from_secs(6);
/// Timeout for uploads that are being stored.
const JOBS_PATIENCE: Duration = Duration::from_secs(30);

impl Session {
    pub(in crate::session) fn on_settings(
        &mut self,
        new: NewSettings,
    ) -> Result<AppliedSettings, SettingProblem> {
        let (done, written) = oneshot::channel();
        if new.changes.is_empty() {
            // There is nothing to store, so nobody has to wait.
            let _ = done.send(());
            return Ok(self.applied_settings(written));
        }
        let (changes, effects) = self.apply_settings(new.changes, new.files)?;
        let effects = effects.into_iter().chain([Effect::Settled(done)]).collect();
        self.shared.journal.record(Step { changes, effects });
        Ok(self.applied_settings(written))
    }

    /// Returns what has to be stored, and what happens after that.
    fn apply_settings(
        &mut self,
        changes: Vec<SettingChange>,
        files: Option<Files>,
    ) -> Result<(Vec<Change>, Vec<Effect>), SettingProblem> {
        if let Some(files) = files {
            self.move_to(files)?;
        }
        let mut settings = SessionSettings::clone(&self.shared.settings);
        changes.into_iter().for_each(|change| settings.apply(change));
        let before = std::mem::replace(&mut self.shared.settings, Arc::new(settings));
        kept::mention_since(&mut self.shared, &self.runs, &before);
        // The next question goes to the model that is chosen now; one that is being answered is not touched.
        let chat = models::chat(&self.shared.env, &self.shared.settings);
        let assistant = assistant::for_chat(&self.shared.settings.chat_assistant);
        self.runs.choose_chat(assistant, chat);
        self.choose_voice();
        for slot in AgentSlot::ALL {
            self.choose_agent(slot);
            self.warm_up(slot);
        }
        let stored = self.shared.settings.differences(&self.shared.env.config.settings);
        Ok((vec![Change::Settings(stored)], vec![Effect::ShowSettings]))
    }

    /// Changes the language. A live model that is open goes on as it was told at its start.
    pub(in crate::session) fn speak(&mut self, locale: Locale) {
        if self.shared.env.language.get() == locale {
            return;
        }
        self.shared.env.language.set(locale);
        if !self.voice.is_open() {
            self.choose_voice();
        }
    }

    fn choose_voice(&mut self) {
        if self.voice.choose(models::live(&self.shared.env, &self.shared.settings)) {
            self.drop_all_live_calls();
        }
    }

    /// Applies the chosen agent. A running agent finishes first; its successor is chosen when the lane is free.
    pub(in crate::session) fn choose_agent(&mut self, slot: AgentSlot) {
        let Shared { env, settings, id, principal, .. } = &self.shared;
        self.runs.choose_agent(slot, || models::worker(env, settings, id, principal, slot));
        self.approvals.recall(slot, &self.runs);
    }

    fn applied_settings(&self, written: oneshot::Receiver<()>) -> AppliedSettings {
        AppliedSettings { settings: Arc::clone(&self.shared.settings), written }
    }

    /// Changes the project. Refused while an agent works, because a run must end where it began.
    fn move_to(&mut self, files: Files) -> Result<(), SettingProblem> {
        if !self.runs.all_agents_are_idle() {
            return Err(SettingProblem::Busy);
        }
        self.runs.move_to_project(files.project());
        self.workplaces.move_to_project(&files);
        self.shared.env.files = files;
        self.sockets.watch_other_project(&mut self.shared);
        Ok(())
    }

    /// What can be chosen is looked up first, which may take a moment.
    pub(in crate::session) fn show_settings(&mut self, asker: Asker) {
        self.shared.jobs.spawn(job::offer(self.shared.env.clone(), asker));
    }

    pub(in crate::session) fn on_offer(&mut self, asker: Asker, offer: ModelOffer) {
        let note = SettingsNote { settings: Arc::clone(&self.shared.settings), offer: Some(offer) };
        self.sockets.signal(asker.connection, Signal::Settings(Arc::new(note)));
        self.shared.record_for(asker, Step::default());
    }

    /// Changes all of them or none. Opening a project takes the disk; commands behind this one wait for it.
    pub(in crate::session) fn change_settings(&mut self, asker: Asker, asked: Vec<SettingChange>) {
        let (changes, refused) =
            check_changes(&self.shared.env.config, &self.shared.settings, asked);
        if !refused.is_empty() {
            return self.refuse_settings(asker, refused);
        }
        match chosen_project(&changes).map(|path| path.map(str::to_owned)) {
            Some(path) => {
                self.commands.block();
                let projects = self.shared.env.projects.clone();
                self.shared.jobs.spawn(job::open_project(projects, path, asker, changes));
            }
            None => self.finish_change(asker, changes, None),
        }
    }

    pub(in crate::session) fn on_project_opened(
        &mut self,
        asker: Asker,
        changes: Vec<SettingChange>,
        files: Result<Files, String>,
    ) {
        match files {
            Ok(files) => self.finish_change(asker, changes, Some(files)),
            Err(reason) => {
                let problem = SettingProblem::Unusable { reason };
                self.refuse_settings(asker, vec![(Setting::Project, problem)]);
            }
        }
    }

    fn finish_change(&mut self, asker: Asker, changes: Vec<SettingChange>, files: Option<Files>) {
        if changes.is_empty() {
            return self.shared.record_for(asker, Step::default());
        }
        match self.apply_settings(changes, files) {
            Ok((changes, effects)) => self.shared.record_for(asker, Step { changes, effects }),
            Err(problem) => self.refuse_settings(asker, vec![(Setting::Project, problem)]),
        }
    }

    fn refuse_settings(&mut self, asker: Asker, refused: Vec<RefusedSetting>) {
        self.shared.env.metrics.frame_refused(REFUSED);
        let signal = Signal::SettingsRefused { refused: refused.into(), request: asker.request };
        self.sockets.signal(asker.connection, signal);
    }

    /// Shows the settings to every client of the whole session, whoever has changed them.
    pub(in crate::session) fn tell_settings(&mut self) {
        let note = SettingsNote { settings: Arc::clone(&self.shared.settings), offer: None };
        self.sockets.signal_view(View::All, &Signal::Settings(Arc::new(note)));
    }

    /// Whether the session is as it was made, and nobody has it open.
    pub(in crate::session) fn is_unused(&mut self) -> bool {
        self.commands.receive_ready();
        let base = &self.shared.env.config.settings;
        self.sockets.is_empty()
            && self.commands.is_empty()
            && self.commands.controls().is_empty()
            && self.shared.jobs.is_empty()
            && self.shared.journal.has_no_events()
            && self.shared.settings.differences(base).is_empty()
    }

    /// When an idle session is unloaded; `None` while it is in use.
    pub(in crate::session) fn unload_at(&mut self) -> Option<Instant> {
        let busy = !self.sockets.is_empty()
            || !self.shared.journal.is_empty()
            || !self.shared.jobs.is_empty()
            || !self.commands.is_empty()
            || !self.runs.all_are_idle();
        if busy {
            self.lifetime.note_busy();
            return None;
        }
        let held = || OWN_BYTES + self.commands.picture_bytes() + self.workplaces.bytes();
        Some(self.lifetime.end(self.shared.env.config.limits.unload, held))
    }

    /// Sockets that want to attach meanwhile wait in the inbox, and get a new session when this one is dropped.
    pub(in crate::session) async fn erase(&mut self, reply: DeletionReply) {
        self.sockets.dismiss();
        (0..self.runs.running())
            .for_each(|_| self.shared.env.metrics.run_ended(RunOutcome::Cancelled));
        if timeout(WORKERS_PATIENCE, self.runs.end_workers()).await.is_err() {
            warn!(session = %self.shared.id, "agents of a deleted session did not end in time");
        }
        let mut stored = Vec::new();
        if timeout(JOBS_PATIENCE, self.last_files(&mut stored)).await.is_err() {
            warn!(session = %self.shared.id, "a deleted session was still storing files; they may be left behind");
        }
        while !self.shared.journal.is_empty() {
            self.shared.journal.progress().await;
            if self.shared.journal.take_effects().is_err() {
                break;
            }
        }
        let removed = erase::remove(
            &self.shared.env,
            &self.shared.id,
            self.shared.key,
            &self.shared.principal,
            stored,
        )
        .await;
        if removed.is_ok() {
            info!(session = %self.shared.id, "session deleted");
        }
        // The requester may have stopped waiting.
        let _ = reply.send(removed);
    }

    /// Ends or awaits all jobs, and collects the files that they have stored, which no event will ever mention.
    async fn last_files(&mut self, stored: &mut Vec<String>) {
        self.sockets.stop_all_watches();
        self.runs.stop_preparing();
        self.tools.stop_all();
        while let Some(done) = self.shared.jobs.join_next().await {
            match done {
                Ok(JobDone::Stored { saved, .. } | JobDone::ImageStored { saved, .. }) => {
                    stored.extend(saved.ok().and_then(|saved| saved.note.path));
                }
                Ok(
                    JobDone::LookedUp { .. }
                    | JobDone::DatasetFound { .. }
                    | JobDone::Listed { .. }
                    | JobDone::Followed { .. }
                    | JobDone::Placed { .. }
                    | JobDone::Prepared { .. }
                    | JobDone::Guarded { .. }
                    | JobDone::Concluded { .. }
                    | JobDone::Copied { .. }
                    | JobDone::Described { .. }
                    | JobDone::Compared { .. }
                    | JobDone::Diffed { .. }
                    | JobDone::BackupsListed { .. }
                    | JobDone::Judged(_)
                    | JobDone::CallJudged { .. }
                    | JobDone::CallDone { .. }
                    | JobDone::Offered { .. }
                    | JobDone::ProjectOpened { .. }
                    | JobDone::Kept { .. }
                    | JobDone::LookedForRepositories { .. }
                    | JobDone::Chosen { .. },
                )
                | Err(_) => {}
            }
        }
        // A preparation that nobody waits for may still be making a workplace.
        self.shared.env.place_work.is_over(&self.shared.id).await;
    }
}
