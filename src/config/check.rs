//! The command that says whether an agent's work holds.

use super::raw::Within;
use serde::Deserialize;
use std::time::Duration;

#[derive(Debug, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct RawCheck {
    command: Vec<String>,
    env: Vec<String>,
    seconds: Within<1, 86_400>,
    network: bool,
}

impl Default for RawCheck {
    fn default() -> Self {
        Self { command: Vec::new(), env: Vec::new(), seconds: Within(600), network: false }
    }
}

/// Run in the place of every agent that is compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckCommand {
    /// The program and its arguments.
    pub command: Vec<String>,
    /// Variables that it sees besides the usual, as in rows of agents.
    pub env: Vec<String>,
    pub limit: Duration,
    pub network: bool,
}

impl RawCheck {
    /// `None`: nothing is checked.
    pub(super) fn checked(self) -> Option<CheckCommand> {
        let Self { command, env, seconds, network } = self;
        let limit = Duration::from_secs(seconds.0.into());
        (!command.is_empty()).then_some(CheckCommand { command, env, limit, network })
    }
}
