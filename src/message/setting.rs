//! Model settings of a session: what they can be, why one stays as it is, and what there is to choose from.

/// Model settings in the order in which they are shown.
pub type Settings = Vec<(&'static str, SettingValue)>;

#[derive(Debug, Clone, PartialEq)]
pub enum SettingValue {
    Text(String),
    Number(i64),
}

/// Why a setting stays as it is.
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
    /// A word for programs; people get the text.
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
    /// Directories to work on: the value of the setting, and a name for people.
    pub projects: Vec<(String, String)>,
}

/// One provider with its models: what is sent, and what people read.
#[derive(Debug, Clone, PartialEq)]
pub struct Offered {
    pub name: String,
    pub models: Vec<(String, String)>,
}

/// How people get other models than those that answer now.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SetupHint {
    /// The configuration file; it need not exist yet.
    pub file: String,
    /// A row to write into it, of several lines.
    pub chat_row: String,
    pub live_row: String,
    /// Names of variables; a key in one of them offers a model without any row.
    pub variables: String,
    pub offered: Vec<OfferedModel>,
}

/// A model that is there because its key is in the environment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OfferedModel {
    /// What sessions choose it by.
    pub name: String,
    /// What its vendor calls it.
    pub model: String,
    /// The variable with its key.
    pub variable: String,
}
