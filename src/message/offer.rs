//! What a session can choose from, and how an operator adds to it.

use super::SessionSettings;
use std::sync::Arc;

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

/// The settings of a session, for a client.
#[derive(Debug, Clone, PartialEq)]
pub struct SettingsNote {
    pub settings: Arc<SessionSettings>,
    /// What can be chosen, if the client asked.
    pub offer: Option<ModelOffer>,
}

/// How to set up other models than the ones that answer now.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SetupHint {
    /// The configuration file, which may not exist yet.
    pub file: String,
    /// Example rows for that file, several lines each.
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
