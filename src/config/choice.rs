//! What the settings of a session may choose, given the operator's rows, and what they choose.

use super::settings::same;
use super::{Config, Models};
use crate::message::{
    AUTO, AssistantName, SessionSettings, SettingChange, SettingProblem, ToolChoice,
};
use crate::provider::row::{AgentKind, AgentRow, ChatModel, LiveModel};
use crate::tool;
use crate::which::first_of;
use std::path::Path;

pub const SCRIPTED_NAME: &str = "scripted";
/// The agent that needs no program. With scripted models there is only the scripted agent.
pub const BUILT_IN_NAME: &str = "builtin";
const LONGEST_MODEL: usize = 200;
/// Names of the assistants that can answer in the chat.
const CHAT_ASSISTANTS: [&str; 3] =
    [AssistantName::GENERAL, AssistantName::ANALYST, AssistantName::MAPPER];

/// The change with `auto` replaced by a name, or why it is refused.
pub fn check_setting(
    config: &Config,
    change: SettingChange,
) -> Result<SettingChange, SettingProblem> {
    match &change {
        SettingChange::Chat(name) => return chat(config, name).map(SettingChange::Chat),
        SettingChange::Live(name) => return live(config, name).map(SettingChange::Live),
        SettingChange::Agent { slot, name } => {
            let name = agent(config, name)?;
            return Ok(SettingChange::Agent { slot: *slot, name });
        }
        SettingChange::Project(path) => {
            return project(config, path.as_deref()).map(SettingChange::Project);
        }
        SettingChange::ChatModel { row, model } => {
            let is_row = config.chat.iter().any(|known| known.name == *row);
            other_model(is_row, model.as_deref())?;
        }
        SettingChange::LiveModel { row, model: chosen }
        | SettingChange::LiveVoice { row, voice: chosen } => {
            let is_row = config.live.iter().any(|known| known.name == *row);
            other_model(is_row, chosen.as_deref())?;
        }
        SettingChange::AgentModel { model, .. } => agent_model(config, model.as_deref())?,
        SettingChange::ChatAssistant(name) => assistant(name)?,
        SettingChange::Tools(choice) => tools(choice)?,
        SettingChange::Workplace { .. } => {}
    }
    Ok(change)
}

/// A chat model that is available, or was available earlier.
fn chat(config: &Config, asked: &str) -> Result<String, SettingProblem> {
    let rows = config.chat_rows();
    let was_there = || config.models == Models::Auto && config.found.known(asked).is_some();
    if asked == SCRIPTED_NAME || rows.iter().any(|row| row.name == asked) || was_there() {
        return Ok(asked.to_owned());
    }
    if asked == AUTO {
        return Ok(rows.first().map_or(SCRIPTED_NAME, |row| row.name.as_str()).to_owned());
    }
    Err(unknown(asked, rows.iter().map(|row| row.name.as_str()).chain([SCRIPTED_NAME, AUTO])))
}

/// A live model that is available. `auto` chooses only a model that has its key.
fn live(config: &Config, asked: &str) -> Result<String, SettingProblem> {
    let rows = live_rows(config);
    if asked == SCRIPTED_NAME || rows.iter().any(|row| row.name == asked) {
        return Ok(asked.to_owned());
    }
    if asked == AUTO {
        let first = rows.iter().find(|row| row.has_key());
        return Ok(first.map_or(SCRIPTED_NAME, |row| row.name.as_str()).to_owned());
    }
    Err(unknown(asked, rows.iter().map(|row| row.name.as_str()).chain([SCRIPTED_NAME, AUTO])))
}

fn live_rows(config: &Config) -> &[LiveModel] {
    match config.models {
        Models::Auto => &config.live,
        Models::Scripted => &[],
    }
}

fn assistant(asked: &AssistantName) -> Result<(), SettingProblem> {
    // `config` may not import the assistants; a test compares the names.
    if CHAT_ASSISTANTS.contains(&asked.as_str()) {
        return Ok(());
    }
    Err(unknown(asked.as_str(), CHAT_ASSISTANTS.into_iter()))
}

fn tools(asked: &ToolChoice) -> Result<(), SettingProblem> {
    let known = || tool::all().iter().map(|tool| tool.name);
    let refused = |name| Err(unknown(name, known().chain([AUTO, ToolChoice::NONE])));
    let Some(names) = asked.listed() else { return Ok(()) };
    // An empty text could mean all tools as well as none.
    if names.is_empty() && asked.as_str().trim() != ToolChoice::NONE {
        return refused(asked.as_str());
    }
    match names.into_iter().find(|name| !known().any(|known| known == *name)) {
        Some(name) => refused(name),
        None => Ok(()),
    }
}

/// Another model or voice than the row's own.
fn other_model(is_row: bool, asked: Option<&str>) -> Result<(), SettingProblem> {
    match asked {
        Some(model) if !is_row || !names_a_model(model) => same(model, AUTO),
        Some(_) | None => Ok(()),
    }
}

fn agent(config: &Config, asked: &str) -> Result<String, SettingProblem> {
    let own = match config.models {
        Models::Auto => &[BUILT_IN_NAME, AssistantName::ANALYST, SCRIPTED_NAME][..],
        Models::Scripted => &[SCRIPTED_NAME, AssistantName::ANALYST],
    };
    if asked == AUTO {
        let first = agents(config).iter().find(|row| takes_over(row));
        return Ok(first.map_or(own[0], |row| row.name.as_str()).to_owned());
    }
    let known = agents(config).iter().map(|row| row.name.as_str()).chain(own.iter().copied());
    let known: Vec<&str> = known.collect();
    if known.contains(&asked) {
        return Ok(asked.to_owned());
    }
    Err(unknown(asked, known.into_iter()))
}

/// An agent that never asks for approval is not chosen by `auto`.
fn takes_over(row: &AgentRow) -> bool {
    row.kind == AgentKind::Acp && first_of(row.names()).is_some()
}

fn agents(config: &Config) -> &[AgentRow] {
    match config.models {
        Models::Auto => &config.agents,
        Models::Scripted => &[],
    }
}

/// A model that some agent may have. The agent of a slot is chosen by another setting, in any order, so an agent that
/// does not have the model says so when it starts.
fn agent_model(config: &Config, asked: Option<&str>) -> Result<(), SettingProblem> {
    let Some(asked) = asked else { return Ok(()) };
    let takes_models = |row: &&AgentRow| row.kind == AgentKind::Acp;
    let mut rows = agents(config).iter().filter(takes_models).peekable();
    if rows.peek().is_none() {
        same(asked, AUTO)?;
    }
    let mut known = vec![AUTO];
    for row in rows {
        let tries_any = row.models.is_empty() && names_a_model(asked);
        if tries_any || row.models.iter().any(|model| model == asked) {
            return Ok(());
        }
        known.extend(row.models.iter().map(String::as_str));
    }
    Err(unknown(asked, known.into_iter()))
}

/// Whether a vendor or an agent could call a model so.
pub(super) fn names_a_model(text: &str) -> bool {
    let plain = |c: char| !c.is_control();
    !text.is_empty() && text != AUTO && text.len() <= LONGEST_MODEL && text.chars().all(plain)
}

/// Only projects of the configuration can be chosen.
fn project(config: &Config, asked: Option<&str>) -> Result<Option<String>, SettingProblem> {
    let asked = asked.unwrap_or_default().trim_end_matches('/');
    if asked.is_empty() || Path::new(asked) == config.project {
        return Ok(None);
    }
    let listed = config.projects.iter().find(|(_, path)| path == Path::new(asked));
    listed.map(|(_, path)| Some(path.display().to_string())).ok_or(SettingProblem::NotListed)
}

fn unknown<'a>(value: &str, known: impl Iterator<Item = &'a str>) -> SettingProblem {
    let known = known.collect::<Vec<_>>().join(", ");
    SettingProblem::UnknownValue { value: value.to_owned(), known }
}

/// The chosen chat model; `None`: the scripted one.
pub fn chat_model(config: &Config, settings: &SessionSettings) -> Option<ChatModel> {
    let chosen = settings.chat.as_str();
    let configured = config.chat.iter().find(|row| row.name == chosen).cloned();
    let mut model = configured.or_else(|| config.found.known(chosen))?;
    if let Some(other) = settings.chat_models.get(chosen) {
        other.clone_into(&mut model.model);
    }
    Some(model)
}

/// The chosen live model, and those that stand in for it. Empty: the scripted one.
pub fn live_models(config: &Config, settings: &SessionSettings) -> Vec<LiveModel> {
    let rows = live_rows(config);
    let Some(first) = rows.iter().find(|row| row.name == settings.live) else { return Vec::new() };
    let others = rows.iter().filter(|row| row.name != settings.live && row.has_key());
    let mut models: Vec<LiveModel> = std::iter::once(first).chain(others).cloned().collect();
    for model in &mut models {
        if let Some(other) = settings.live_models.get(&model.name) {
            other.clone_into(&mut model.model);
        }
        if let Some(voice) = settings.live_voices.get(&model.name) {
            model.voice = Some(voice.clone());
        }
    }
    models
}
