//! Settings as clients read and change them, under the same keys.

use super::{ApiError, encode, name};
use crate::dialect::Fields;
use crate::dialect::aicore::phrase;
use crate::locale::Locale;
use crate::message::{
    AUTO, AgentSettings, AgentSlot, Command, ModelOffer, Offered, RefusedSetting, RequestNo,
    SessionSettings, Setting, SettingChange, SettingsNote, ToolChoice,
};
use serde_json::{Map, Value, json};
use std::borrow::Cow;

/// Most changes in one frame.
const MOST_CHANGES: usize = 64;
const TEXT: &str = "a text or null";
const KEYS: [&str; 9] = [
    "chat",
    "chat_models",
    "assistant",
    "tools",
    "live",
    "live_models",
    "voices",
    "agents",
    "project",
];
const AGENT_KEYS: [&str; 3] = ["name", "model", "workplace"];

/// Reads a `set` frame. Unknown keys are refused, so that a typing error does not go unnoticed.
pub(super) fn read(fields: &mut Fields) -> Result<Command, ApiError> {
    let mut changes = Vec::new();
    read_setting(fields, "chat", &Setting::Chat, &mut changes)?;
    read_rows(fields, "chat_models", Setting::ChatModel, &mut changes)?;
    read_setting(fields, "assistant", &Setting::ChatAssistant, &mut changes)?;
    read_tools(fields, &mut changes)?;
    read_setting(fields, "live", &Setting::Live, &mut changes)?;
    read_rows(fields, "live_models", Setting::LiveModel, &mut changes)?;
    read_rows(fields, "voices", Setting::LiveVoice, &mut changes)?;
    for (agent, values) in fields.optional_object("agents")? {
        let expected = ApiError::BadField { field: "agents", expected: "agent1 to agent4" };
        let slot = name::read_agent(&agent).ok_or(expected)?;
        read_agent(slot, values, &mut changes)?;
    }
    read_setting(fields, "project", &Setting::Project, &mut changes)?;
    std::mem::take(fields).nothing_else(&KEYS)?;
    if changes.len() > MOST_CHANGES {
        return Err(ApiError::BadField { field: "set", expected: "at most 64 settings" });
    }
    Ok(Command::ChangeSettings(changes))
}

fn read_agent(
    slot: AgentSlot,
    values: Value,
    changes: &mut Vec<SettingChange>,
) -> Result<(), ApiError> {
    let expected = "an object of name, model and workplace";
    let Value::Object(values) = values else {
        return Err(ApiError::BadField { field: "agents", expected });
    };
    let mut fields = Fields::from(values);
    read_setting(&mut fields, "name", &Setting::Agent(slot), changes)?;
    read_setting(&mut fields, "model", &Setting::AgentModel(slot), changes)?;
    read_setting(&mut fields, "workplace", &Setting::Workplace(slot), changes)?;
    Ok(fields.nothing_else(&AGENT_KEYS)?)
}

fn read_setting(
    fields: &mut Fields,
    field: &'static str,
    setting: &Setting,
    changes: &mut Vec<SettingChange>,
) -> Result<(), ApiError> {
    if let Some(value) = fields.take(field) {
        changes.push(change(field, setting, &value)?);
    }
    Ok(())
}

/// A list of names, or `null` for all tools.
fn read_tools(fields: &mut Fields, changes: &mut Vec<SettingChange>) -> Result<(), ApiError> {
    let expected = ApiError::BadField { field: "tools", expected: "a list of names, or null" };
    let choice = match fields.take("tools") {
        None => return Ok(()),
        Some(Value::Null) => AUTO.to_owned(),
        Some(Value::Array(names)) if names.is_empty() => ToolChoice::NONE.to_owned(),
        Some(Value::Array(names)) => {
            let names: Option<Vec<_>> = names.iter().map(Value::as_str).collect();
            let names = names.ok_or(expected.clone())?;
            if names.iter().any(|name| [AUTO, ToolChoice::NONE].contains(name)) {
                return Err(expected);
            }
            names.join(",")
        }
        Some(_) => return Err(expected),
    };
    changes.push(SettingChange::Tools(ToolChoice::new(&choice)));
    Ok(())
}

fn read_rows(
    fields: &mut Fields,
    field: &'static str,
    setting: fn(Cow<'static, str>) -> Setting,
    changes: &mut Vec<SettingChange>,
) -> Result<(), ApiError> {
    for (row, value) in fields.optional_object(field)? {
        changes.push(change(field, &setting(row.into()), &value)?);
    }
    Ok(())
}

/// `null` means no choice.
fn change(
    field: &'static str,
    setting: &Setting,
    value: &Value,
) -> Result<SettingChange, ApiError> {
    let text = match (value, setting) {
        (Value::String(text), _) => text,
        (Value::Null, Setting::Project) => "",
        (Value::Null, _) => AUTO,
        _ => return Err(ApiError::BadField { field, expected: TEXT }),
    };
    // Only the workplace has a fixed set of values, so only it can fail here.
    let expected = "auto, worktree or shared";
    setting.with_value(text).map_err(|_| ApiError::BadField { field, expected })
}

/// The data of a `settings` frame.
pub(super) fn data(note: &SettingsNote) -> Value {
    let mut data = values(&note.settings);
    if let (Value::Object(data), Some(offer)) = (&mut data, &note.offer) {
        data.insert("choices".to_owned(), choices(offer));
    }
    data
}

fn values(settings: &SessionSettings) -> Value {
    let agent = |agent: &AgentSettings| json!({"name": agent.name, "model": agent.model, "workplace": agent.workplace.name()});
    let agents: Map<String, Value> = AgentSlot::ALL
        .into_iter()
        .map(|slot| (name::agent(slot).to_owned(), agent(&settings.agents[slot])))
        .collect();
    json!({
        "chat": settings.chat, "chat_models": settings.chat_models,
        "assistant": settings.chat_assistant.as_str(), "tools": settings.tools.listed(), "live": settings.live,
        "live_models": settings.live_models, "voices": settings.live_voices, "agents": agents,
        "project": settings.project,
    })
}

fn choices(offer: &ModelOffer) -> Value {
    let row = |row: &Offered| {
        let models = row.models.iter().map(|(id, label)| json!({"id": id, "label": label}));
        json!({"name": row.name, "models": models.collect::<Vec<_>>()})
    };
    let rows = |rows: &[Offered]| rows.iter().map(row).collect::<Vec<_>>();
    let project = |(path, label): &(String, String)| {
        let path = Some(path).filter(|path| !path.is_empty());
        json!({"path": path, "label": label})
    };
    let projects: Vec<_> = offer.projects.iter().map(project).collect();
    json!({
        "chat": rows(&offer.chat), "live": rows(&offer.live), "voices": rows(&offer.voices),
        "agents": rows(&offer.code), "projects": projects,
    })
}

/// The error frame of a `set` that was refused as a whole, with the reason for each setting.
pub(super) fn refused(
    locale: Locale,
    refused: &[RefusedSetting],
    request: Option<&RequestNo>,
) -> Value {
    let rows: Vec<Value> = refused
        .iter()
        .map(|(setting, problem)| {
            let message = phrase::setting_problem(locale, problem);
            json!({"setting": name::setting(setting), "code": problem.code(), "message": message})
        })
        .collect();
    let text = locale.say("api", "settings_refused", &[]);
    let mut frame = encode::error("settings_refused", &text, request);
    if let Value::Object(frame) = &mut frame {
        frame.insert("settings".to_owned(), Value::Array(rows));
    }
    frame
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::{AssistantName, WorkplaceChoice};
    use std::sync::Arc;

    fn read_text(text: &str) -> Result<Command, ApiError> {
        read(&mut Fields::read(text.as_bytes()).unwrap())
    }

    #[test]
    fn settings_can_be_sent_back_as_they_were_shown() {
        let mut settings =
            SessionSettings { chat: "openai".to_owned(), ..SessionSettings::default() };
        settings.chat_models.insert("openai".to_owned(), "large".to_owned());
        settings.live_voices.insert("own".to_owned(), "low".to_owned());
        settings.agents[AgentSlot::ALL[1]].workplace = WorkplaceChoice::Shared;
        settings.agents[AgentSlot::ALL[2]].model = Some("m".to_owned());
        settings.project = Some("/srv/x".to_owned());
        settings.chat_assistant = AssistantName::new(AssistantName::ANALYST);
        let shown = data(&SettingsNote { settings: Arc::new(settings.clone()), offer: None });
        let Ok(Command::ChangeSettings(changes)) = read_text(&shown.to_string()) else {
            panic!("{shown}")
        };
        let mut again = SessionSettings::default();
        changes.into_iter().for_each(|change| again.apply(change));
        assert_eq!(again, settings);
    }

    #[test]
    fn null_means_no_choice() {
        let frame = r#"{"chat":null,"assistant":null,"voices":{"a":null},"agents":{"agent1":{"model":null}},"project":null}"#;
        let slot = AgentSlot::ALL[0];
        let expected = vec![
            SettingChange::Chat(AUTO.to_owned()),
            SettingChange::ChatAssistant(AssistantName::default()),
            SettingChange::LiveVoice { row: "a".to_owned(), voice: None },
            SettingChange::AgentModel { slot, model: None },
            SettingChange::Project(None),
        ];
        assert_eq!(read_text(frame), Ok(Command::ChangeSettings(expected)));
    }

    #[test]
    fn mistakes_are_named() {
        for (frame, field) in [
            (r#"{"chat":7}"#, "chat"),
            (r#"{"chats":"a"}"#, "chats"),
            (r#"{"voices":"a"}"#, "voices"),
            (r#"{"agents":{"agent5":{}}}"#, "agents"),
            (r#"{"agents":{"agent1":"goose"}}"#, "agents"),
            (r#"{"agents":{"agent1":{"names":"goose"}}}"#, "names"),
            (r#"{"agents":{"agent1":{"workplace":"moon"}}}"#, "workplace"),
        ] {
            let error = read_text(frame).unwrap_err().say(Locale::En);
            assert!(error.contains(field), "{frame}: {error}");
        }
        let many: Vec<String> = (0..65).map(|n| format!(r#""{n}":"x""#)).collect();
        assert!(read_text(&format!(r#"{{"voices":{{{}}}}}"#, many.join(","))).is_err());
    }
}
