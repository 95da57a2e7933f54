//! Translates settings between their keys on the wire and the typed settings of a session.

use super::phrase;
use super::wire::{KEYS, Key, LIVE_NAMES, OrderedMap, SCRIPTED};
use crate::locale::Locale;
use crate::message::{AUTO, Offered, SessionSettings, Setting, SettingChange, SettingProblem};
use serde_json::{Value, json};

/// Why the value of a key is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeyProblem {
    /// There is no such key.
    Unknown,
    NotText,
    NotNumber,
    Refused(SettingProblem),
}

impl KeyProblem {
    pub(super) fn say(&self, locale: Locale) -> String {
        match self {
            Self::Unknown => locale.say("setting", "unknown", &[]),
            Self::NotText => locale.say("setting", "not_text", &[]),
            Self::NotNumber => locale.say("setting", "not_number", &[]),
            Self::Refused(problem) => phrase::setting_problem(locale, problem),
        }
    }
}

/// All keys with their values.
pub(super) fn write(settings: &SessionSettings) -> OrderedMap<'_> {
    let value = |key: &Key| match key {
        Key::Setting(setting) => json!(settings.get(setting).value()),
        Key::Only(text) => json!(text),
        Key::OnlyNumber(number) => json!(number),
    };
    OrderedMap(KEYS.iter().map(|(name, key)| (*name, value(key))).collect())
}

/// `None`: the key has no effect here, and the value is its default.
pub(super) fn read(name: &str, value: &Value) -> Result<Option<SettingChange>, KeyProblem> {
    let (_, key) = KEYS.iter().find(|(known, _)| *known == name).ok_or(KeyProblem::Unknown)?;
    match key {
        Key::Setting(setting) => {
            let text = value.as_str().ok_or(KeyProblem::NotText)?;
            setting.with_value(text).map(Some).map_err(KeyProblem::Refused)
        }
        Key::Only(only) => only_value(value.as_str().ok_or(KeyProblem::NotText)?, only),
        Key::OnlyNumber(only) => {
            let number = value.as_i64().ok_or(KeyProblem::NotNumber)?;
            only_value(&number.to_string(), &only.to_string())
        }
    }
}

fn only_value(value: &str, only: &str) -> Result<Option<SettingChange>, KeyProblem> {
    if value == only {
        return Ok(None);
    }
    let (value, only) = (value.to_owned(), only.to_owned());
    Err(KeyProblem::Refused(SettingProblem::NoEffect { value, only }))
}

/// The key of a setting. Empty if there is none; requests of this dialect cannot change such a setting.
pub(super) fn key(setting: &Setting) -> &'static str {
    let wanted = Key::Setting(setting.clone());
    KEYS.iter().find(|(_, key)| *key == wanted).map_or("", |(name, _)| *name)
}

/// The voice of the live model that speaks; `-` if none is chosen and this dialect has no key for it.
pub(super) fn voice(settings: &SessionSettings) -> &str {
    let default = if LIVE_NAMES.contains(&settings.live.as_str()) { AUTO } else { "-" };
    settings.live_voices.get(&settings.live).map_or(default, String::as_str)
}

/// The providers that can be chosen, with their models: first those that frontends know by name, then the others.
pub(super) fn offer<'a>(known: &[&'static str], rows: &'a [Offered]) -> OrderedMap<'a> {
    let models = |name: &str| {
        let row = rows.iter().find(|row| row.name == name);
        let models = row.into_iter().flat_map(|row| &row.models);
        Value::Object(models.map(|(id, label)| (id.clone(), json!(label))).collect())
    };
    let mut names: Vec<&'a str> = known.to_vec();
    names.push(SCRIPTED);
    for row in rows {
        if !names.contains(&row.name.as_str()) {
            names.push(&row.name);
        }
    }
    OrderedMap(names.into_iter().map(|name| (name, models(name))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::{AgentSlot, AssistantName, ToolChoice};

    #[test]
    fn every_key_is_written_and_read_back() {
        let mut settings = SessionSettings::default();
        settings.agents[AgentSlot::ALL[1]].name = "goose".to_owned();
        settings.live_voices.insert("openai_live".to_owned(), "cedar".to_owned());
        settings.project = Some("/srv/x".to_owned());
        settings.tools = ToolChoice::new("file:read,file:list");
        settings.chat_assistant = AssistantName::new(AssistantName::ANALYST);
        let OrderedMap(written) = write(&settings);
        assert_eq!(written.len(), 34);
        let mut again = SessionSettings::default();
        for (name, value) in &written {
            if let Some(change) = read(name, value).unwrap() {
                assert_eq!(key(&change.setting()), *name);
                again.apply(change);
            }
        }
        assert_eq!(again, settings);
    }

    #[test]
    fn mistakes_are_told_apart() {
        for (name, value, problem) in [
            ("NO_SUCH", json!("x"), KeyProblem::Unknown),
            ("CHAT_AI_NAME", json!(7), KeyProblem::NotText),
            ("CODE_PLAN", json!(null), KeyProblem::NotText),
            ("CHAT_TOOLS", json!(["file:read"]), KeyProblem::NotText),
            ("CODE_MAX_TURNS", json!("999"), KeyProblem::NotNumber),
        ] {
            assert_eq!(read(name, &value), Err(problem), "{name}");
        }
        for (name, value) in [("CODE_MAX_TURNS", json!(1)), ("CODE_AI1_PLACE", json!("moon"))] {
            assert!(matches!(read(name, &value), Err(KeyProblem::Refused(_))), "{name}");
        }
    }

    #[test]
    fn audio_without_a_rate_has_the_rate_that_frontends_use_for_the_model() {
        for (name, rate) in [("openai_live", 24_000), ("own", 16_000), ("gemini_live", 16_000)] {
            assert_eq!(super::super::UNSTATED_RATE.for_model(name), rate, "{name}");
        }
    }

    #[test]
    fn known_providers_come_first_with_or_without_models() {
        let row = |name: &str| Offered {
            name: name.to_owned(),
            models: vec![("m".to_owned(), "M".to_owned())],
        };
        let rows = [row("own"), row("openrt"), row("scripted")];
        let OrderedMap(shown) = offer(&["gemini", "openrt"], &rows);
        let shown: Vec<_> =
            shown.into_iter().map(|(name, models)| (name, models == json!({"m": "M"}))).collect();
        assert_eq!(shown, [("gemini", false), ("openrt", true), ("scripted", true), ("own", true)]);
    }
}
