//! Settings of one session: those of the configuration, with its user's changes. A change is checked as a whole,
//! stored, and takes effect at once, also after a restart.

use crate::config::{self, Config};
use crate::files::Files;
use crate::message::{RefusedSetting, SessionSettings, Setting, SettingChange, SettingProblem};
use crate::session::{Registry, SessionClosed, SessionHandle, Urgent};
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
    pub(super) changes: Vec<SettingChange>,
    /// Files of the newly chosen project.
    pub(super) files: Option<Files>,
}

/// The settings in force, and a receiver that fires when they are stored.
#[derive(Debug)]
pub(in crate::session) struct AppliedSettings {
    pub(super) settings: Arc<SessionSettings>,
    pub(super) written: oneshot::Receiver<()>,
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
        let AppliedSettings { settings, written } = taken.map_err(refused_project)?;
        written.await.map_err(|_| SessionClosed)?;
        Ok(settings)
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
