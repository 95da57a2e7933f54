//! Settings of a session as one JSON object of texts. The names are part of the file format and belong to no dialect.

use crate::message::{AgentSlot, Setting, SettingChange};
use serde_json::{Map, Value};
use tracing::warn;

const CHAT_MODEL: &str = "chat_model.";
const LIVE_MODEL: &str = "live_model.";
const LIVE_VOICE: &str = "live_voice.";

pub(super) fn body(changes: &[SettingChange]) -> String {
    let row = |change: &SettingChange| {
        (name(&change.setting()), Value::String(change.value().to_owned()))
    };
    Value::Object(changes.iter().map(row).collect()).to_string()
}

/// A setting that this version does not know is left out.
pub(super) fn read(body: &str) -> Vec<SettingChange> {
    let rows: Map<String, Value> = serde_json::from_str(body).unwrap_or_default();
    let change = |(name, value): (String, Value)| {
        let known = value.as_str().and_then(|text| setting(&name)?.with_value(text).ok());
        if known.is_none() {
            warn!(name, "a stored setting is unknown and is ignored");
        }
        known
    };
    rows.into_iter().filter_map(change).collect()
}

fn name(setting: &Setting) -> String {
    match setting {
        Setting::Chat => "chat".to_owned(),
        Setting::ChatModel(row) => format!("{CHAT_MODEL}{row}"),
        Setting::ChatAssistant => "chat_assistant".to_owned(),
        Setting::Tools => "tools".to_owned(),
        Setting::Live => "live".to_owned(),
        Setting::LiveModel(row) => format!("{LIVE_MODEL}{row}"),
        Setting::LiveVoice(row) => format!("{LIVE_VOICE}{row}"),
        Setting::Agent(slot) => format!("agent{}", slot.number()),
        Setting::AgentModel(slot) => format!("agent{}_model", slot.number()),
        Setting::Workplace(slot) => format!("agent{}_workplace", slot.number()),
        Setting::Project => "project".to_owned(),
    }
}

fn setting(stored: &str) -> Option<Setting> {
    let row = |prefix| stored.strip_prefix(prefix).map(|row: &str| row.to_owned().into());
    if let Some(row) = row(CHAT_MODEL) {
        return Some(Setting::ChatModel(row));
    }
    if let Some(row) = row(LIVE_MODEL) {
        return Some(Setting::LiveModel(row));
    }
    if let Some(row) = row(LIVE_VOICE) {
        return Some(Setting::LiveVoice(row));
    }
    let of_slot =
        |slot| [Setting::Agent(slot), Setting::AgentModel(slot), Setting::Workplace(slot)];
    let single =
        [Setting::Chat, Setting::ChatAssistant, Setting::Tools, Setting::Live, Setting::Project];
    let mut all = single.into_iter().chain(AgentSlot::ALL.into_iter().flat_map(of_slot));
    all.find(|setting| name(setting) == stored)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::{AssistantName, SessionSettings, ToolChoice, WorkplaceChoice};

    #[test]
    fn every_setting_survives_its_row() {
        let slot = AgentSlot::ALL[2];
        let (row, text) = ("some.row".to_owned(), "x".to_owned());
        let mut settings = SessionSettings::default();
        for change in [
            SettingChange::Chat(text.clone()),
            SettingChange::ChatModel { row: row.clone(), model: Some(text.clone()) },
            SettingChange::ChatAssistant(AssistantName::new("other")),
            SettingChange::Tools(ToolChoice::new("file:read,file:list")),
            SettingChange::Live(text.clone()),
            SettingChange::LiveModel { row: row.clone(), model: Some(text.clone()) },
            SettingChange::LiveVoice { row, voice: Some(text.clone()) },
            SettingChange::Agent { slot, name: text.clone() },
            SettingChange::AgentModel { slot, model: Some(text.clone()) },
            SettingChange::Workplace { slot, choice: WorkplaceChoice::Shared },
            SettingChange::Project(Some(text)),
        ] {
            settings.apply(change);
        }
        let changes = settings.differences(&SessionSettings::default());
        assert_eq!(changes.len(), 11);
        let mut again = SessionSettings::default();
        read(&body(&changes)).into_iter().for_each(|change| again.apply(change));
        assert_eq!(again, settings);
        // A session can choose the default although the configuration chooses something else.
        let back = SessionSettings::default().differences(&settings);
        read(&body(&back)).into_iter().for_each(|change| again.apply(change));
        assert_eq!(again, SessionSettings::default());
    }

    #[test]
    fn unknown_settings_are_left_out() {
        let rows = r#"{"chat":"a","NO_SUCH":"b","agent5":"c","agent1_workplace":"moon","live":7}"#;
        assert_eq!(read(rows), [SettingChange::Chat("a".to_owned())]);
    }
}
