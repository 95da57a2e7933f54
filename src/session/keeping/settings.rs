//! Settings of one session: those of the configuration, with its user's changes. A change is checked as a whole,
//! stored, and takes effect at once, also after a restart.

use crate::config::{self, Config};
use crate::files::Files;
use crate::locale::Locale;
use crate::message::{AgentSlot, Channel, SettingProblem, SettingValue, Settings};
use crate::process::Place;
use crate::session::actor::Session;
use crate::session::journal::{Effect, Step};
use crate::session::models;
use crate::session::run::lane::Lane;
use crate::session::workplace::results::project_name;
use crate::session::{Registry, SessionClosed, SessionHandle, Urgent};
use crate::store::Change;
use std::path::Path;
use std::sync::Arc;
use tokio::sync::oneshot;
use tracing::warn;

/// Why settings were not changed.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// Each refused setting with the reason.
    #[error("{}", shown(.0))]
    Refused(Vec<(String, SettingProblem)>),
    #[error(transparent)]
    Closed(#[from] SessionClosed),
}

/// Checked changes for a session to apply.
#[derive(Debug, Default)]
pub(in crate::session) struct NewSettings {
    changes: Settings,
    /// Files of the newly chosen project.
    files: Option<Files>,
}

/// The settings in force, and a receiver that fires when they are stored.
#[derive(Debug)]
pub(in crate::session) struct Taken {
    settings: Arc<Settings>,
    written: oneshot::Receiver<()>,
}

/// Settings and files of a session that is loaded from the store.
#[derive(Debug)]
pub(in crate::session) struct Settled {
    pub(in crate::session) settings: Arc<Settings>,
    pub(in crate::session) files: Files,
    /// The session's project, if it cannot be used any more.
    pub(in crate::session) lost_project: Option<String>,
}

impl Registry {
    /// What a new session starts with.
    pub fn default_settings(&self) -> Arc<Settings> {
        Arc::clone(&self.env.config.settings)
    }

    /// Changes all of them or none. They are stored when this returns.
    pub async fn change_settings(
        &self,
        session: &SessionHandle,
        asked: Vec<(String, Option<SettingValue>)>,
    ) -> Result<(), SettingsError> {
        // Existing clients send all settings back, however few have changed. Unchanged ones are skipped: they need no
        // check, and naming the current project again must not fail because agents work in it.
        let in_force = session.settings().await?;
        let is_new = |name: &str, value: &SettingValue| {
            !in_force.iter().any(|(known, now)| *known == name && now == value)
        };
        let mut changes = Settings::new();
        let mut problems = Vec::new();
        for (name, value) in asked {
            if value.as_ref().is_some_and(|value| !is_new(&name, value)) {
                continue;
            }
            match config::check_setting(&self.env.config, &name, value) {
                Ok(change) if is_new(change.0, &change.1) => changes.push(change),
                Ok(_) => {}
                Err(problem) => problems.push((name, problem)),
            }
        }
        if !problems.is_empty() {
            return Err(SettingsError::Refused(problems));
        }
        let files = match project(&changes) {
            Some(path) => Some(
                self.files_of(path)
                    .map_err(|reason| refused_project(SettingProblem::Unusable { reason }))?,
            ),
            None => None,
        };
        session.note_use();
        session.change(NewSettings { changes, files }).await?;
        Ok(())
    }

    /// Applies stored settings on top of the configuration. Settings that it does not allow any more are left out.
    pub(in crate::session) fn settled(&self, stored: Vec<(String, SettingValue)>) -> Settled {
        let mut settings = Settings::clone(&self.env.config.settings);
        let mut lost_project = None;
        for (name, value) in stored {
            if let (config::CHAT_SETTING, SettingValue::Text(model)) = (&*name, &value) {
                self.env.config.found.expect(model);
            }
            match config::check_setting(&self.env.config, &name, Some(value.clone())) {
                Ok(change) => apply(&mut settings, change),
                Err(reason) => {
                    warn!(name, %reason, "a stored setting is not allowed any more");
                    if let (config::PROJECT_SETTING, SettingValue::Text(path)) = (&*name, value) {
                        lost_project = Some(path);
                    }
                }
            }
        }
        let path = project(&settings).unwrap_or_default().to_owned();
        let files = self.files_of(&path).unwrap_or_else(|reason| {
            warn!(path, reason, "a session's project cannot be used; it gets the gateway's own");
            apply(&mut settings, (config::PROJECT_SETTING, SettingValue::Text(String::new())));
            lost_project = Some(path);
            self.env.files.clone()
        });
        Settled { settings: Arc::new(settings), files, lost_project }
    }

    /// Files of an allowed project. Sessions on the same project share its indexes.
    pub(super) fn files_of(&self, path: &str) -> Result<Files, String> {
        if path.is_empty() {
            return Ok(self.env.files.clone());
        }
        let known = self.projects.get(path).map(|files| files.clone());
        if let Some(files) = known {
            return Ok(files);
        }
        let files = self.env.files.for_project(Path::new(path)).map_err(|err| err.to_string())?;
        Ok(self.projects.entry(path.to_owned()).or_insert(files).clone())
    }
}

impl SessionHandle {
    /// The settings in force.
    pub async fn settings(&self) -> Result<Arc<Settings>, SettingsError> {
        self.change(NewSettings::default()).await
    }

    async fn change(&self, new: NewSettings) -> Result<Arc<Settings>, SettingsError> {
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
        if let Some(files) = new.files {
            self.move_to(files)?;
        }
        let mut settings = Settings::clone(&self.settings);
        new.changes.into_iter().for_each(|change| apply(&mut settings, change));
        let before = std::mem::replace(&mut self.settings, Arc::new(settings));
        self.mention_kept_since(&before);
        // The next question goes to the model that is chosen now; one that is being answered is not touched.
        let chat = models::chat(&self.env, &self.settings);
        self.lanes.iter_mut().for_each(|lane| lane.choose_chat(&chat));
        self.voice.choose(models::live(&self.env, &self.settings));
        for slot in AgentSlot::ALL {
            self.choose_agent(slot);
            self.warm_up(slot);
        }
        let stored = differences(&self.settings, &self.env.config);
        let (changes, effects) = (vec![Change::Settings(stored)], vec![Effect::Settled(done)]);
        self.journal.record(Step { changes, effects });
        Ok(self.taken(written))
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
    SettingsError::Refused(vec![(config::PROJECT_SETTING.to_owned(), problem)])
}

fn shown(problems: &[(String, SettingProblem)]) -> String {
    let lines: Vec<_> = problems.iter().map(|(name, why)| format!("{name}: {why}")).collect();
    lines.join("; ")
}

fn apply(settings: &mut Settings, (name, value): (&'static str, SettingValue)) {
    if let Some(row) = settings.iter_mut().find(|row| row.0 == name) {
        row.1 = value;
    }
}

fn project(settings: &Settings) -> Option<&str> {
    settings.iter().find_map(|(name, value)| match value {
        SettingValue::Text(path) if *name == config::PROJECT_SETTING => Some(path.as_str()),
        SettingValue::Text(_) | SettingValue::Number(_) => None,
    })
}

/// Settings that differ from the configuration; only these are stored.
pub(in crate::session) fn differences(settings: &Settings, config: &Config) -> Settings {
    settings.iter().filter(|row| !config.settings.contains(row)).cloned().collect()
}
