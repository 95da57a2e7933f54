//! Settings over a socket: what is in force and what can be chosen, and changes.

use super::settings::{check_changes, chosen_project};
use crate::files::Files;
use crate::message::{
    ModelOffer, RefusedSetting, Setting, SettingChange, SettingProblem, SettingsNote, Signal, View,
};
use crate::session::actor::Session;
use crate::session::job::{self, Asker};
use crate::session::journal::Step;
use std::sync::Arc;

/// For programs and metrics.
const REFUSED: &str = "settings_refused";

impl Session {
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
}
