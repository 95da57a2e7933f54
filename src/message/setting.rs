//! Model settings of a session: their values, why a change is refused, and what can be chosen.

/// Model settings in the order in which they are shown.
pub type Settings = Vec<(&'static str, SettingValue)>;

#[derive(Debug, Clone, PartialEq)]
pub enum SettingValue {
    Text(String),
    Number(i64),
}

/// Why a change of a setting is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SettingProblem {
    #[error("there is no such setting")]
    Unknown,
    #[error("must be a text")]
    NotText,
    #[error("must be a whole number")]
    NotNumber,
    #[error("only the directories of [projects] in the configuration can be chosen")]
    NotListed,
    #[error("`{value}` has no effect with scripted models, only `{only}` is allowed")]
    NoEffect { value: String, only: String },
    #[error("there is no `{value}`; there are {known}")]
    UnknownModel { value: String, known: String },
    #[error("agents are at work; stop them or wait, then try again")]
    Busy,
    #[error("this directory cannot be used: {reason}")]
    Unusable { reason: String },
}

impl SettingProblem {
    /// For programs; people get the text.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::NotText => "not_text",
            Self::NotNumber => "not_number",
            Self::NotListed => "not_listed",
            Self::NoEffect { .. } => "no_effect",
            Self::UnknownModel { .. } => "unknown_model",
            Self::Busy => "busy",
            Self::Unusable { .. } => "unusable",
        }
    }
}

/// Models that can be chosen, in the order in which they are shown.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ModelOffer {
    pub chat: Vec<Offered>,
    pub live: Vec<Offered>,
    pub voices: Vec<Offered>,
    pub code: Vec<Offered>,
    /// Projects that can be chosen: the value of the setting, and a label.
    pub projects: Vec<(String, String)>,
}

/// One provider with its models, each a value and a label.
#[derive(Debug, Clone, PartialEq)]
pub struct Offered {
    pub name: String,
    pub models: Vec<(String, String)>,
}

/// How to set up other models than the ones that answer now.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SetupHint {
    /// The configuration file, which may not exist yet.
    pub file: String,
    /// An example row for it, of several lines.
    pub chat_row: String,
    pub live_row: String,
    /// Names of environment variables; setting one to a key makes a model available without configuration.
    pub variables: String,
    pub offered: Vec<OfferedModel>,
}

/// A model that is available because its key is in the environment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OfferedModel {
    /// Name in the settings.
    pub name: String,
    /// The vendor's name for it.
    pub model: String,
    /// The environment variable with its key.
    pub variable: String,
}
