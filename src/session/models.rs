//! Which providers a session talks to, as the operator chose.

use crate::config::Models;
use crate::provider::agent::AgentConfig;
use crate::provider::chat::ChatConfig;
use crate::provider::live::LiveConfig;

#[derive(Debug, Clone)]
pub(super) struct Providers {
    pub(super) chat: ChatConfig,
    pub(super) live: LiveConfig,
    pub(super) agent: AgentConfig,
}

impl From<Models> for Providers {
    fn from(models: Models) -> Self {
        match models {
            Models::Scripted => Self {
                chat: ChatConfig::Scripted,
                live: LiveConfig::Scripted,
                agent: AgentConfig::Scripted,
            },
        }
    }
}
