//! The `[settings]` table: which model settings exist, in which order they are shown, and what they may be.

use super::{Config, Models};
use crate::message::{AgentSlot, SettingProblem, SettingValue, Settings};
use crate::provider::row::{AgentKind, AgentRow, ChatModel, LiveModel};
use crate::which::first_of;
use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};
use std::fmt;
use std::path::Path;

/// The default of a setting. With scripted models no other value would change anything, so others are refused
/// instead of being ignored; real models will open them one by one.
#[derive(Debug, Clone, Copy)]
enum Kind {
    Text(&'static str),
    Number(i64),
    /// A name of a chat model.
    Chat,
    /// What the chat model of this name is called at its vendor.
    ChatModel(&'static str),
    /// A name of a live model.
    Live,
    /// What the live model of this name is called at its vendor, or its voice.
    LiveModel(&'static str),
    LiveVoice(&'static str),
    /// A code agent by its name; whether there is one is checked when all are known.
    Agent,
    /// A model by the name that an agent has for it.
    AgentModel,
    /// Where a code agent works: one of [`PLACES`].
    Place,
}

const AUTO: Kind = Kind::Text("auto");

/// The order is the one in which frontends know them.
const KINDS: [(&str, Kind); 32] = [
    (CHAT_SETTING, Kind::Chat),
    ("CHAT_GEMINI_MODEL", Kind::ChatModel("gemini")),
    ("CHAT_FREEAI_MODEL", Kind::ChatModel("freeai")),
    ("CHAT_OPENRT_MODEL", Kind::ChatModel("openrt")),
    (LIVE_SETTING, Kind::Live),
    ("LIVE_GEMINI_MODEL", Kind::LiveModel("gemini_live")),
    ("LIVE_GEMINI_VOICE", Kind::LiveVoice("gemini_live")),
    ("LIVE_FREEAI_MODEL", Kind::LiveModel("freeai_live")),
    ("LIVE_FREEAI_VOICE", Kind::LiveVoice("freeai_live")),
    ("LIVE_OPENAI_MODEL", Kind::LiveModel("openai_live")),
    ("LIVE_OPENAI_VOICE", Kind::LiveVoice("openai_live")),
    ("CODE_AI1_NAME", Kind::Agent),
    ("CODE_AI2_NAME", Kind::Agent),
    ("CODE_AI3_NAME", Kind::Agent),
    ("CODE_AI4_NAME", Kind::Agent),
    ("CODE_AI1_MODEL", Kind::AgentModel),
    ("CODE_AI2_MODEL", Kind::AgentModel),
    ("CODE_AI3_MODEL", Kind::AgentModel),
    ("CODE_AI4_MODEL", Kind::AgentModel),
    ("CODE_CLAUDE_SDK_MODEL", AUTO),
    ("CODE_CLAUDE_CLI_MODEL", AUTO),
    ("CODE_COPILOT_CLI_MODEL", AUTO),
    ("CODE_GEMINI_CLI_MODEL", AUTO),
    ("CODE_CODEX_CLI_MODEL", AUTO),
    ("CODE_MAX_TURNS", Kind::Number(999)),
    ("CODE_PLAN", AUTO),
    ("CODE_VERIFY", AUTO),
    ("CODE_BASE_PATH", Kind::Text("")),
    ("CODE_AI1_PLACE", Kind::Place),
    ("CODE_AI2_PLACE", Kind::Place),
    ("CODE_AI3_PLACE", Kind::Place),
    ("CODE_AI4_PLACE", Kind::Place),
];

/// Who answers in the chat.
pub const CHAT_SETTING: &str = "CHAT_AI_NAME";
/// Who speaks.
pub const LIVE_SETTING: &str = "LIVE_AI_NAME";
pub const SCRIPTED_NAME: &str = "scripted";
/// The code agent that needs no program; with scripted models there is only the scripted one.
pub const BUILT_IN_NAME: &str = "builtin";
const AUTO_NAME: &str = "auto";
const LONGEST_MODEL: usize = 200;

/// A worktree; the same; the project itself.
const PLACES: [&str; 3] = [AUTO_NAME, "worktree", "shared"];

/// Where code agents work.
pub const PROJECT_SETTING: &str = "CODE_BASE_PATH";

/// The setting of this name with this value, or why it cannot be. Only projects of the configuration can be chosen.
pub fn check_setting(
    config: &Config,
    name: &str,
    value: Option<SettingValue>,
) -> Result<(&'static str, SettingValue), SettingProblem> {
    let Some((name, kind)) = KINDS.iter().find(|(known, _)| *known == name) else {
        return Err(SettingProblem::Unknown);
    };
    let value = match (kind, value) {
        (Kind::Text(_), Some(SettingValue::Text(text))) if *name == PROJECT_SETTING => {
            SettingValue::Text(project(config, &text)?)
        }
        (Kind::Text(only), Some(SettingValue::Text(text))) => {
            same(&text, only)?;
            SettingValue::Text(text)
        }
        (Kind::Number(only), Some(SettingValue::Number(number))) => {
            same(&number.to_string(), &only.to_string())?;
            SettingValue::Number(number)
        }
        (Kind::Chat, Some(SettingValue::Text(name))) => SettingValue::Text(chat(config, &name)?),
        (Kind::ChatModel(row), Some(SettingValue::Text(model))) => {
            if !config.chat.iter().any(|known| known.name == *row) || !names_a_model(&model) {
                same(&model, AUTO_NAME)?;
            }
            SettingValue::Text(model)
        }
        (Kind::Live, Some(SettingValue::Text(name))) => SettingValue::Text(live(config, &name)?),
        (Kind::LiveModel(row) | Kind::LiveVoice(row), Some(SettingValue::Text(text))) => {
            if !config.live.iter().any(|known| known.name == *row) || !names_a_model(&text) {
                same(&text, AUTO_NAME)?;
            }
            SettingValue::Text(text)
        }
        (Kind::Agent, Some(SettingValue::Text(name))) => SettingValue::Text(agent(config, &name)?),
        (Kind::AgentModel, Some(SettingValue::Text(name))) => {
            SettingValue::Text(agent_model(config, &name)?)
        }
        (Kind::Place, Some(SettingValue::Text(place))) => SettingValue::Text(known_place(&place)?),
        (
            Kind::Text(_)
            | Kind::Chat
            | Kind::ChatModel(_)
            | Kind::Live
            | Kind::LiveModel(_)
            | Kind::LiveVoice(_)
            | Kind::Agent
            | Kind::AgentModel
            | Kind::Place,
            _,
        ) => {
            return Err(SettingProblem::NotText);
        }
        (Kind::Number(_), _) => return Err(SettingProblem::NotNumber),
    };
    Ok((name, value))
}

fn known_place(asked: &str) -> Result<String, SettingProblem> {
    if PLACES.contains(&asked) {
        return Ok(asked.to_owned());
    }
    Err(SettingProblem::UnknownModel { value: asked.to_owned(), known: PLACES.join(", ") })
}

/// The name of a model that is there, or was there.
fn chat(config: &Config, asked: &str) -> Result<String, SettingProblem> {
    let rows = config.chat_rows();
    let was_there = || config.models == Models::Auto && config.found.known(asked).is_some();
    if asked == SCRIPTED_NAME || rows.iter().any(|row| row.name == asked) || was_there() {
        return Ok(asked.to_owned());
    }
    if asked == AUTO_NAME {
        return Ok(rows.first().map_or(SCRIPTED_NAME, |row| row.name.as_str()).to_owned());
    }
    let known = rows.iter().map(|row| row.name.as_str()).chain([SCRIPTED_NAME, AUTO_NAME]);
    let known = known.collect::<Vec<_>>().join(", ");
    Err(SettingProblem::UnknownModel { value: asked.to_owned(), known })
}

/// The name of a live model that is there; by itself only one is chosen that has its key.
fn live(config: &Config, asked: &str) -> Result<String, SettingProblem> {
    let rows = live_rows(config);
    if asked == SCRIPTED_NAME || rows.iter().any(|row| row.name == asked) {
        return Ok(asked.to_owned());
    }
    if asked == AUTO_NAME {
        let first = rows.iter().find(|row| row.has_key());
        return Ok(first.map_or(SCRIPTED_NAME, |row| row.name.as_str()).to_owned());
    }
    let known = rows.iter().map(|row| row.name.as_str()).chain([SCRIPTED_NAME, AUTO_NAME]);
    let known = known.collect::<Vec<_>>().join(", ");
    Err(SettingProblem::UnknownModel { value: asked.to_owned(), known })
}

fn live_rows(config: &Config) -> &[LiveModel] {
    match config.models {
        Models::Auto => &config.live,
        Models::Scripted => &[],
    }
}

/// The live model that settings choose, and those that stand in for it. Empty: the scripted one.
pub fn live_models(config: &Config, settings: &Settings) -> Vec<LiveModel> {
    let text = |wanted: &str| {
        settings.iter().find_map(|(name, value)| match value {
            SettingValue::Text(text) if *name == wanted => Some(text.clone()),
            SettingValue::Text(_) | SettingValue::Number(_) => None,
        })
    };
    let chosen = text(LIVE_SETTING).unwrap_or_default();
    let rows = live_rows(config);
    let Some(first) = rows.iter().find(|row| row.name == chosen) else { return Vec::new() };
    let others = rows.iter().filter(|row| row.name != chosen && row.has_key());
    let mut models: Vec<LiveModel> = std::iter::once(first).chain(others).cloned().collect();
    for (name, kind) in KINDS {
        let Some(value) = text(name).filter(|text| text != AUTO_NAME) else { continue };
        for model in &mut models {
            if matches!(kind, Kind::LiveModel(row) if row == model.name) {
                value.clone_into(&mut model.model);
            } else if matches!(kind, Kind::LiveVoice(row) if row == model.name) {
                model.voice = Some(value.clone());
            }
        }
    }
    models
}

/// Whether nobody has chosen who answers, or who speaks.
pub(super) fn is_auto(settings: &Settings, name: &'static str) -> bool {
    settings.contains(&(name, SettingValue::Text(AUTO_NAME.to_owned())))
}

/// The model that settings choose; `None`: the scripted one.
pub fn chat_model(config: &Config, settings: &Settings) -> Option<ChatModel> {
    let text = |wanted: &str| {
        settings.iter().find_map(|(name, value)| match value {
            SettingValue::Text(text) if *name == wanted => Some(text.as_str()),
            SettingValue::Text(_) | SettingValue::Number(_) => None,
        })
    };
    let chosen = text(CHAT_SETTING)?;
    let configured = config.chat.iter().find(|row| row.name == chosen).cloned();
    let mut model = configured.or_else(|| config.found.known(chosen))?;
    let own = KINDS.iter().find(|(_, kind)| matches!(kind, Kind::ChatModel(row) if *row == chosen));
    if let Some(other) = own.and_then(|(name, _)| text(name)).filter(|other| *other != AUTO_NAME) {
        other.clone_into(&mut model.model);
    }
    Some(model)
}

/// The name of an agent that is there.
fn agent(config: &Config, asked: &str) -> Result<String, SettingProblem> {
    let own = match config.models {
        Models::Auto => &[BUILT_IN_NAME, SCRIPTED_NAME][..],
        Models::Scripted => &[SCRIPTED_NAME],
    };
    if asked == AUTO_NAME {
        let first = agents(config).iter().find(|row| takes_over(row));
        return Ok(first.map_or(own[0], |row| row.name.as_str()).to_owned());
    }
    let known = agents(config).iter().map(|row| row.name.as_str()).chain(own.iter().copied());
    let known: Vec<&str> = known.collect();
    if known.contains(&asked) {
        return Ok(asked.to_owned());
    }
    let known = known.join(", ");
    Err(SettingProblem::UnknownModel { value: asked.to_owned(), known })
}

/// Who asks nobody before it acts is never chosen by itself.
fn takes_over(row: &AgentRow) -> bool {
    row.kind == AgentKind::Acp && first_of(row.names()).is_some()
}

fn agents(config: &Config) -> &[AgentRow] {
    match config.models {
        Models::Auto => &config.agents,
        Models::Scripted => &[],
    }
}

/// A model that some agent may have. Which agent a slot has is chosen by another setting, in any order, so an agent
/// that does not have it says so when it starts.
fn agent_model(config: &Config, asked: &str) -> Result<String, SettingProblem> {
    if asked.is_empty() || asked == AUTO_NAME {
        return Ok(AUTO_NAME.to_owned());
    }
    let takes_models = |row: &&AgentRow| row.kind == AgentKind::Acp;
    let mut rows = agents(config).iter().filter(takes_models).peekable();
    if rows.peek().is_none() {
        same(asked, AUTO_NAME)?;
    }
    let mut known = vec![AUTO_NAME];
    for row in rows {
        let tries_any = row.models.is_empty() && names_a_model(asked);
        if tries_any || row.models.iter().any(|model| model == asked) {
            return Ok(asked.to_owned());
        }
        known.extend(row.models.iter().map(String::as_str));
    }
    Err(SettingProblem::UnknownModel { value: asked.to_owned(), known: known.join(", ") })
}

/// Whether a vendor or an agent could call a model so.
pub(super) fn names_a_model(text: &str) -> bool {
    let plain = |c: char| !c.is_control();
    !text.is_empty() && text != AUTO_NAME && text.len() <= LONGEST_MODEL && text.chars().all(plain)
}

/// The model that settings choose for the agent of a slot; `None`: as the agent likes.
pub fn agent_model_of(settings: &Settings, slot: AgentSlot) -> Option<&str> {
    let setting = format!("CODE_AI{}_MODEL", slot.number());
    let chosen = settings.iter().find_map(|(name, value)| match value {
        SettingValue::Text(text) if **name == *setting => Some(text.as_str()),
        SettingValue::Text(_) | SettingValue::Number(_) => None,
    });
    chosen.filter(|model| *model != AUTO_NAME)
}

fn project(config: &Config, asked: &str) -> Result<String, SettingProblem> {
    let asked = asked.trim_end_matches('/');
    let own = Path::new(asked) == config.project;
    if asked.is_empty() || own {
        return Ok(String::new());
    }
    let listed = config.projects.iter().find(|(_, path)| path == Path::new(asked));
    listed.map(|(_, path)| path.display().to_string()).ok_or(SettingProblem::NotListed)
}

/// The same names alone, for the message about a key that is none of them.
const NAMES: [&str; KINDS.len()] = {
    let mut names = [""; KINDS.len()];
    let mut at = 0;
    while at < names.len() {
        names[at] = KINDS[at].0;
        at += 1;
    }
    names
};

/// Always complete: what the file leaves out keeps its default.
#[derive(Debug, PartialEq)]
pub(super) struct RawSettings(pub(super) Settings);

impl Default for RawSettings {
    fn default() -> Self {
        Self(KINDS.iter().map(|(name, kind)| (*name, default(*kind))).collect())
    }
}

impl<'de> Deserialize<'de> for RawSettings {
    fn deserialize<D: Deserializer<'de>>(table: D) -> Result<Self, D::Error> {
        table.deserialize_map(TableVisitor)
    }
}

fn default(kind: Kind) -> SettingValue {
    match kind {
        Kind::Text(text) => SettingValue::Text(text.to_owned()),
        Kind::Number(number) => SettingValue::Number(number),
        Kind::Chat
        | Kind::ChatModel(_)
        | Kind::Live
        | Kind::LiveModel(_)
        | Kind::LiveVoice(_)
        | Kind::Agent
        | Kind::AgentModel
        | Kind::Place => SettingValue::Text(AUTO_NAME.to_owned()),
    }
}

struct TableVisitor;

impl<'de> Visitor<'de> for TableVisitor {
    type Value = RawSettings;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a table of model settings")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<RawSettings, M::Error> {
        let mut settings = RawSettings::default();
        while let Some(Position(at)) = map.next_key()? {
            settings.0[at].1 = map.next_value_seed(Value(KINDS[at].1))?;
        }
        Ok(settings)
    }
}

/// A known key, as its place in [`KINDS`].
struct Position(usize);

impl<'de> Deserialize<'de> for Position {
    fn deserialize<D: Deserializer<'de>>(key: D) -> Result<Self, D::Error> {
        let key = String::deserialize(key)?;
        match NAMES.iter().position(|name| *name == key) {
            Some(at) => Ok(Self(at)),
            None => Err(D::Error::unknown_field(&key, &NAMES)),
        }
    }
}

/// Reads a value of the kind that its key takes.
struct Value(Kind);

impl<'de> serde::de::DeserializeSeed<'de> for Value {
    type Value = SettingValue;

    fn deserialize<D: Deserializer<'de>>(self, value: D) -> Result<SettingValue, D::Error> {
        match self.0 {
            Kind::Text(only) => {
                let text = String::deserialize(value)?;
                same(&text, only).map_err(D::Error::custom)?;
                Ok(SettingValue::Text(text))
            }
            // Which models and agents there are is known when the whole file is read.
            Kind::Chat
            | Kind::ChatModel(_)
            | Kind::Live
            | Kind::LiveModel(_)
            | Kind::LiveVoice(_)
            | Kind::Agent
            | Kind::AgentModel => Ok(SettingValue::Text(String::deserialize(value)?)),
            Kind::Place => {
                let place = known_place(&String::deserialize(value)?).map_err(D::Error::custom)?;
                Ok(SettingValue::Text(place))
            }
            Kind::Number(only) => {
                let number = i64::deserialize(value)?;
                same(&number.to_string(), &only.to_string()).map_err(D::Error::custom)?;
                Ok(SettingValue::Number(number))
            }
        }
    }
}

fn same(value: &str, only: &str) -> Result<(), SettingProblem> {
    if value == only {
        return Ok(());
    }
    Err(SettingProblem::NoEffect { value: value.to_owned(), only: only.to_owned() })
}
