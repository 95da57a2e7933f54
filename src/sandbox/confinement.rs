//! What one agent is confined to, as plain data. Paths are absolute; those that do not exist are passed over.

use serde::{Deserialize, Serialize};
use std::path::PathBuf;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Confinement {
    /// Our own binary, which enters the box and then becomes the agent.
    #[serde(skip)]
    pub launcher: PathBuf,
    /// It may change what is in here, and nothing else.
    pub writable: Vec<PathBuf>,
    /// To be seen, although it is in something hidden.
    pub readable: Vec<PathBuf>,
    /// To be seen and not to be changed, although it is in something writable.
    pub protected: Vec<PathBuf>,
    /// Files and directories that are empty for it.
    pub hidden: Vec<PathBuf>,
    /// Hidden files that must not have a second name by which they could be read.
    pub secrets: Vec<PathBuf>,
    pub network: Network,
    /// TCP ports that it can neither reach nor take.
    pub closed_ports: Vec<u16>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Network {
    /// A loopback of its own, with nobody else on it.
    None,
    /// What the gateway can reach, without the closed ports.
    Open,
}
