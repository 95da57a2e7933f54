//! Which providers a session talks to, as the operator chose, and which it could choose.

use super::Registry;
use crate::config::{Config, Models};
use crate::message::{ModelOffer, Offered};
use crate::provider::agent::{self, AgentConfig};
use crate::provider::chat::ChatConfig;
use crate::provider::live::LiveConfig;

/// Providers that existing frontends ask for by name; an entry without models is one that cannot be chosen.
const CHAT: [&str; 3] = ["gemini", "freeai", "openrt"];
const LIVE: [&str; 3] = ["gemini_live", "freeai_live", "openai_live"];
const CODE: [&str; 5] = ["claude_sdk", "claude_cli", "copilot_cli", "gemini_cli", "codex_cli"];

impl Registry {
    /// What a session may choose from.
    pub fn offer(&self) -> ModelOffer {
        let config = &self.env.config;
        let own = config.project.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let others = config.projects.iter();
        let others = others.map(|(name, path)| (path.display().to_string(), name.clone()));
        let rows = |names: &[&str]| match config.models {
            Models::Scripted => {
                let empty = names.iter().map(|name| offered(name, &[]));
                let scripted = offered("scripted", &[("auto", "Scripted")]);
                empty.chain([scripted]).collect()
            }
        };
        ModelOffer {
            chat: rows(&CHAT),
            live: rows(&LIVE),
            voices: rows(&LIVE),
            code: rows(&CODE),
            projects: std::iter::once((String::new(), own)).chain(others).collect(),
        }
    }
}

fn offered(name: &str, models: &[(&str, &str)]) -> Offered {
    let models = models.iter().map(|(id, label)| ((*id).to_owned(), (*label).to_owned()));
    Offered { name: name.to_owned(), models: models.collect() }
}

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
