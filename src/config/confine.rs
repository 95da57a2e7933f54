//! `[box]`: whether agents are boxed and how, what is hidden from them besides the usual, and how much they may take.

use super::{Config, User};
use crate::sandbox::{self, Limits, Wish};
use serde::Deserialize;
use std::path::{Path, PathBuf};

#[derive(Debug, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct RawBox {
    pub(super) enabled: bool,
    pub(super) way: Wish,
    pub(super) hidden: Vec<BoxPath>,
    pub(super) builtin_network: bool,
    /// 0: as many as the gateway may have.
    pub(super) processes: u64,
    pub(super) open_files: u64,
}

impl Default for RawBox {
    fn default() -> Self {
        let Limits { processes, open_files } = Limits::default();
        Self {
            enabled: true,
            way: Wish::default(),
            hidden: Vec::new(),
            builtin_network: true,
            processes: processes.unwrap_or(0),
            open_files: open_files.unwrap_or(0),
        }
    }
}

/// An absolute path, or one in the home of whoever runs the gateway.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(super) struct BoxPath(pub(super) String);

impl TryFrom<String> for BoxPath {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let is_plain = !Path::new(&text).components().any(|part| part.as_os_str() == "..");
        if is_plain && (text.starts_with('/') || text.starts_with("~/")) {
            return Ok(Self(text));
        }
        Err(format!("`{}` is not a path like /srv/keys or ~/.keys", text.escape_debug()))
    }
}

/// What the box around agents is to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BoxRules {
    pub enabled: bool,
    pub way: Wish,
    /// Hidden besides the usual; absolute.
    pub hidden: Vec<PathBuf>,
    /// Whether the built-in agent, which has no row, may reach the network.
    pub builtin_network: bool,
    pub limits: Limits,
}

impl RawBox {
    pub(super) fn rules(&self) -> BoxRules {
        let hidden = self.hidden.iter().filter_map(|BoxPath(text)| at_home(text)).collect();
        let most = |number: u64| Some(number).filter(|number| *number > 0);
        let limits = Limits { processes: most(self.processes), open_files: most(self.open_files) };
        let (enabled, builtin_network) = (self.enabled, self.builtin_network);
        BoxRules { enabled, way: self.way, hidden, builtin_network, limits }
    }
}

/// Why several users cannot be served, and what to do.
#[derive(Debug, thiserror::Error)]
#[error(
    "agents of several users have to be boxed, and there is no box: {0}; see `kakehashi doctor`, or leave one user"
)]
pub struct NoBox(&'static str);

impl Config {
    /// Without a box an agent of one user could read what every other has. Blocking: the first time a box is tried.
    pub fn can_serve(&self, users: &[User]) -> Result<(), NoBox> {
        if users.len() <= 1 {
            return Ok(());
        }
        if !self.box_rules.enabled {
            return Err(NoBox("[box] enabled = false"));
        }
        sandbox::probe(&self.supervisor, self.box_rules.way).map(drop).map_err(NoBox)
    }
}

/// A path with `~` for the home; `None` if that is needed and there is none.
pub fn at_home(text: &str) -> Option<PathBuf> {
    match text.strip_prefix("~/") {
        Some(rest) => Some(home()?.join(rest)),
        None => Some(text.into()),
    }
}

/// Of whoever runs the gateway.
pub fn home() -> Option<PathBuf> {
    directories::BaseDirs::new().map(|directories| directories.home_dir().to_owned())
}
