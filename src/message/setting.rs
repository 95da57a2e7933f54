//! One setting of a session: its name, a new value for it, and why that is refused.

use super::{AgentSlot, AssistantName, ToolChoice, WorkplaceChoice};
use std::borrow::Cow;

/// The value for "no choice": the first model or agent that is available, or the model that its row configures.
pub const AUTO: &str = "auto";

/// Names one setting. The settings of one model contain the name of its configuration row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Setting {
    Chat,
    ChatModel(Cow<'static, str>),
    ChatAssistant,
    /// Tools of the chat and the live model.
    Tools,
    Live,
    LiveModel(Cow<'static, str>),
    LiveVoice(Cow<'static, str>),
    Agent(AgentSlot),
    AgentModel(AgentSlot),
    Workplace(AgentSlot),
    Project,
}

/// One setting with its new value. A name may be [`AUTO`] until it is checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SettingChange {
    Chat(String),
    ChatModel { row: String, model: Option<String> },
    ChatAssistant(AssistantName),
    Tools(ToolChoice),
    Live(String),
    LiveModel { row: String, model: Option<String> },
    LiveVoice { row: String, voice: Option<String> },
    Agent { slot: AgentSlot, name: String },
    AgentModel { slot: AgentSlot, model: Option<String> },
    Workplace { slot: AgentSlot, choice: WorkplaceChoice },
    Project(Option<String>),
}

impl Setting {
    /// Reads a value as people write it.
    pub fn with_value(&self, value: &str) -> Result<SettingChange, SettingProblem> {
        let text = value.to_owned();
        let chosen = Some(text.clone()).filter(|_| value != AUTO);
        Ok(match self {
            Self::Chat => SettingChange::Chat(text),
            Self::ChatModel(row) => {
                SettingChange::ChatModel { row: row.to_string(), model: chosen }
            }
            Self::ChatAssistant => SettingChange::ChatAssistant(
                chosen.as_deref().map_or_else(AssistantName::default, AssistantName::new),
            ),
            Self::Tools => SettingChange::Tools(ToolChoice::new(value)),
            Self::Live => SettingChange::Live(text),
            Self::LiveModel(row) => {
                SettingChange::LiveModel { row: row.to_string(), model: chosen }
            }
            Self::LiveVoice(row) => {
                SettingChange::LiveVoice { row: row.to_string(), voice: chosen }
            }
            Self::Agent(slot) => SettingChange::Agent { slot: *slot, name: text },
            Self::AgentModel(slot) => SettingChange::AgentModel {
                slot: *slot,
                model: chosen.filter(|_| !value.is_empty()),
            },
            Self::Workplace(slot) => {
                let mut all = WorkplaceChoice::ALL.into_iter();
                let choice = all.find(|choice| choice.name() == value);
                let known = WorkplaceChoice::ALL.map(WorkplaceChoice::name).join(", ");
                let unknown = SettingProblem::UnknownValue { value: text, known };
                SettingChange::Workplace { slot: *slot, choice: choice.ok_or(unknown)? }
            }
            Self::Project => SettingChange::Project(Some(text).filter(|_| !value.is_empty())),
        })
    }
}

impl SettingChange {
    pub fn setting(&self) -> Setting {
        match self {
            Self::Chat(_) => Setting::Chat,
            Self::ChatModel { row, .. } => Setting::ChatModel(row.clone().into()),
            Self::ChatAssistant(_) => Setting::ChatAssistant,
            Self::Tools(_) => Setting::Tools,
            Self::Live(_) => Setting::Live,
            Self::LiveModel { row, .. } => Setting::LiveModel(row.clone().into()),
            Self::LiveVoice { row, .. } => Setting::LiveVoice(row.clone().into()),
            Self::Agent { slot, .. } => Setting::Agent(*slot),
            Self::AgentModel { slot, .. } => Setting::AgentModel(*slot),
            Self::Workplace { slot, .. } => Setting::Workplace(*slot),
            Self::Project(_) => Setting::Project,
        }
    }

    /// The new value as people write it.
    pub fn value(&self) -> &str {
        match self {
            Self::Chat(name) | Self::Live(name) | Self::Agent { name, .. } => name,
            Self::ChatAssistant(name) => name.as_str(),
            Self::Tools(choice) => choice.as_str(),
            Self::ChatModel { model: chosen, .. }
            | Self::LiveModel { model: chosen, .. }
            | Self::LiveVoice { voice: chosen, .. }
            | Self::AgentModel { model: chosen, .. } => chosen.as_deref().unwrap_or(AUTO),
            Self::Workplace { choice, .. } => choice.name(),
            Self::Project(project) => project.as_deref().unwrap_or_default(),
        }
    }
}

/// A setting whose new value is refused, and why.
pub type RefusedSetting = (Setting, SettingProblem);

/// Why a change of a setting is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SettingProblem {
    #[error("only the directories of [projects] in the configuration can be chosen")]
    NotListed,
    #[error("`{value}` has no effect with scripted models, only `{only}` is allowed")]
    NoEffect { value: String, only: String },
    #[error("there is no `{value}`; there are {known}")]
    UnknownValue { value: String, known: String },
    #[error("agents are at work; stop them or wait, then try again")]
    Busy,
    #[error("this directory cannot be used: {reason}")]
    Unusable { reason: String },
}

impl SettingProblem {
    /// For programs; people get the text.
    pub fn code(&self) -> &'static str {
        match self {
            Self::NotListed => "not_listed",
            Self::NoEffect { .. } => "no_effect",
            Self::UnknownValue { .. } => "unknown_model",
            Self::Busy => "busy",
            Self::Unusable { .. } => "unusable",
        }
    }
}
