//! Which providers a session talks to, as the operator chose.

use crate::config::{Config, Models};
use crate::provider::agent::{self, AgentConfig};
use crate::provider::chat::ChatConfig;
use crate::provider::live::LiveConfig;

#[derive(Debug, Clone)]
pub(super) struct Providers {
    pub(super) chat: ChatConfig,
    pub(super) live: LiveConfig,
    pub(super) agent: AgentConfig,
}

impl Providers {
    pub(super) fn of(config: &Config) -> Self {
        match config.models {
            Models::Scripted => Self {
                chat: ChatConfig::Scripted,
                live: LiveConfig::Scripted,
                agent: AgentConfig::Scripted { owner: agent::owner(&config.data) },
            },
        }
    }
}
