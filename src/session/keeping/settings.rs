//! Settings of one session: those of the configuration, with its user's changes. A change is checked as a whole,
//! stored, and takes effect at once, also after a restart.

use crate::assistant;
use crate::config::{self, Config};
use crate::files::Files;
use crate::locale::Locale;
use crate::message::{
    AgentSlot, Channel, RefusedSetting, SessionSettings, Setting, SettingChange, SettingProblem,
};
use crate::process::Place;
use crate::session::actor::Session;
use crate::session::journal::{Effect, Step};
use crate::session::models;
use crate::session::run::lane::Lane;
use crate::session::run::lanes::LaneId;
use crate::session::workplace::results::project_name;
use crate::session::{Registry, SessionClosed, SessionHandle, Urgent};
use crate::store::Change;
use std::sync::Arc;
use tokio::sync::oneshot;
use tracing::warn;

/// Why settings were not changed.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// Each refused setting with the reason.
    #[error("{}", shown(.0))]
    Refused(Vec<RefusedSetting>),
    #[error(transparent)]
    Closed(#[from] SessionClosed),
}

/// Checked changes for a session to apply.
#[derive(Debug, Default)]
pub(in crate::session) struct NewSettings {
    changes: Vec<SettingChange>,
    /// Files of the newly chosen project.
    files: Option<Files>,
}

/// The settings in force, and a receiver that fires when they are stored.
#[derive(Debug)]
pub(in crate::session) struct Taken {
    settings: Arc<SessionSettings>,
    written: oneshot::Receiver<()>,
}

/// Settings and files of a session that is loaded from the store.
#[derive(Debug)]
pub(in crate::session) struct Settled {
    pub(in crate::session) settings: Arc<SessionSettings>,
    pub(in crate::session) files: Files,
    /// The session's project, if it cannot be used any more.
    pub(in crate::session) lost_project: Option<String>,
}

impl Registry {
    /// What a new session starts with.
    pub fn default_settings(&self) -> Arc<SessionSettings> {
        Arc::clone(&self.env.config.settings)
    }

    /// Changes all of them or none. They are stored when this returns.
    pub async fn change_settings(
        &self,
        session: &SessionHandle,
        asked: Vec<SettingChange>,
    ) -> Result<Arc<SessionSettings>, SettingsError> {
        let in_force = session.settings().await?;
        let (changes, refused) = check_changes(&self.env.config, &in_force, asked);
        if !refused.is_empty() {
            return Err(SettingsError::Refused(refused));
        }
        let project = chosen_project(&changes);
        let files = project.map(|path| self.env.projects.open(path)).transpose();
        let files = files.map_err(|reason| refused_project(SettingProblem::Unusable { reason }))?;
        session.note_use();
        session.change(NewSettings { changes, files }).await
    }

    /// Which of these changes would be refused. Nothing is changed.
    pub async fn refusals(
        &self,
        session: &SessionHandle,
        asked: Vec<SettingChange>,
    ) -> Result<Vec<RefusedSetting>, SettingsError> {
        let in_force = session.settings().await?;
        Ok(check_changes(&self.env.config, &in_force, asked).1)
    }

    /// Applies stored settings on top of the configuration. Settings that it does not allow any more are left out.
    pub(in crate::session) fn settled(&self, stored: Vec<SettingChange>) -> Settled {
        let mut settings = SessionSettings::clone(&self.env.config.settings);
        let mut lost_project = None;
        for change in stored {
            if let SettingChange::Chat(model) = &change {
                self.env.config.found.expect(model);
            }
            match config::check_setting(&self.env.config, change.clone()) {
                Ok(change) => settings.apply(change),
                Err(reason) => {
                    warn!(setting = ?change.setting(), %reason, "a stored setting is not allowed any more");
                    if let SettingChange::Project(path) = change {
                        lost_project = path;
                    }
                }
            }
        }
        let files = self.env.projects.open(settings.project.as_deref()).unwrap_or_else(|reason| {
            let path = settings.project.take();
            warn!(path, reason, "a session's project cannot be used; it gets the gateway's own");
            lost_project = path;
            self.env.files.clone()
        });
        Settled { settings: Arc::new(settings), files, lost_project }
    }
}

impl SessionHandle {
    /// The settings in force.
    pub async fn settings(&self) -> Result<Arc<SessionSettings>, SettingsError> {
        self.change(NewSettings::default()).await
    }

    async fn change(&self, new: NewSettings) -> Result<Arc<SessionSettings>, SettingsError> {
        let (reply, answer) = oneshot::channel();
        let asked = Urgent::Settings { new: Box::new(new), reply };
        self.inner.urgent.send(asked).await.map_err(|_| SessionClosed)?;
        let taken = answer.await.map_err(|_| SessionClosed)?;
        let Taken { settings, written } = taken.map_err(refused_project)?;
        written.await.map_err(|_| SessionClosed)?;
        Ok(settings)
    }
}

impl Session {
    pub(in crate::session) fn on_settings(
        &mut self,
        new: NewSettings,
    ) -> Result<Taken, SettingProblem> {
        let (done, written) = oneshot::channel();
        if new.changes.is_empty() {
            // There is nothing to store, so nobody has to wait.
            let _ = done.send(());
            return Ok(self.taken(written));
        }
        let (changes, effects) = self.apply_settings(new.changes, new.files)?;
        let effects = effects.into_iter().chain([Effect::Settled(done)]).collect();
        self.journal.record(Step { changes, effects });
        Ok(self.taken(written))
    }

    /// Returns what has to be stored, and what happens after that.
    pub(super) fn apply_settings(
        &mut self,
        changes: Vec<SettingChange>,
        files: Option<Files>,
    ) -> Result<(Vec<Change>, Vec<Effect>), SettingProblem> {
        if let Some(files) = files {
            self.move_to(files)?;
        }
        let mut settings = SessionSettings::clone(&self.settings);
        changes.into_iter().for_each(|change| settings.apply(change));
        let before = std::mem::replace(&mut self.settings, Arc::new(settings));
        self.mention_kept_since(&before);
        // The next question goes to the model that is chosen now; one that is being answered is not touched.
        let chat = models::chat(&self.env, &self.settings);
        let assistant = assistant::for_chat(&self.settings.chat_assistant);
        self.lanes[LaneId::Chat].choose_chat(assistant, chat);
        self.voice.choose(models::live(&self.env, &self.settings));
        for slot in AgentSlot::ALL {
            self.choose_agent(slot);
            self.warm_up(slot);
        }
        let stored = self.settings.differences(&self.env.config.settings);
        Ok((vec![Change::Settings(stored)], vec![Effect::ShowSettings]))
    }

    /// Changes the language. A live model that is open goes on as it was told at its start.
    pub(in crate::session) fn speak(&mut self, locale: Locale) {
        if self.env.language.get() == locale {
            return;
        }
        self.env.language.set(locale);
        if !self.voice.is_open() {
            self.voice.choose(models::live(&self.env, &self.settings));
        }
    }

    /// Applies the chosen agent. A running agent finishes first; its successor is chosen when the lane is free.
    pub(in crate::session) fn choose_agent(&mut self, slot: AgentSlot) {
        let lane = &mut self.lanes[slot];
        if lane.current.is_none() {
            let chosen = models::agent(&self.env, &self.settings, &self.id, &self.principal, slot);
            lane.give_to(chosen);
        }
        self.gate.recall(slot, lane);
    }

    fn taken(&self, written: oneshot::Receiver<()>) -> Taken {
        Taken { settings: Arc::clone(&self.settings), written }
    }

    /// Changes the project. Refused while an agent works, because a run must end where it began.
    fn move_to(&mut self, files: Files) -> Result<(), SettingProblem> {
        let is_agent = |channel| matches!(channel, Channel::Agent(_));
        let is_busy = |lane: &Lane| is_agent(lane.channel) && !lane.is_idle();
        if self.lanes.iter().any(is_busy) {
            return Err(SettingProblem::Busy);
        }
        for lane in self.lanes.iter_mut() {
            lane.move_to(Place::open(files.project()));
        }
        self.results.move_to(project_name(&files));
        self.workplace.send_replace(files.clone());
        self.env.files = files;
        self.warming.forget_lacks();
        self.follow_elsewhere();
        Ok(())
    }
}

fn refused_project(problem: SettingProblem) -> SettingsError {
    SettingsError::Refused(vec![(Setting::Project, problem)])
}

fn shown(refused: &[RefusedSetting]) -> String {
    let lines: Vec<_> = refused.iter().map(|(name, why)| format!("{name:?}: {why}")).collect();
    lines.join("; ")
}

/// Splits changes into those that would change something and those that are refused. Existing clients send all settings
/// back, however few have changed. Unchanged ones need no check, and naming the current project again must not fail
/// because agents work in it.
pub(super) fn check_changes(
    config: &Config,
    in_force: &SessionSettings,
    asked: Vec<SettingChange>,
) -> (Vec<SettingChange>, Vec<RefusedSetting>) {
    let (mut changes, mut refused) = (Vec::new(), Vec::new());
    for change in asked.into_iter().filter(|change| !in_force.already_has(change)) {
        let setting = change.setting();
        match config::check_setting(config, change) {
            Ok(change) if in_force.already_has(&change) => {}
            Ok(change) => changes.push(change),
            Err(problem) => refused.push((setting, problem)),
        }
    }
    (changes, refused)
}

/// The project among the changes; `Some(None)` is the gateway's own.
pub(super) fn chosen_project(changes: &[SettingChange]) -> Option<Option<&str>> {
    changes.iter().find_map(|change| {
        if let SettingChange::Project(path) = change { Some(path.as_deref()) } else { None }
    })
}
