//! What one agent is confined to, as plain data. Paths are absolute; those that do not exist are passed over.

use super::closed::ClosedView;
use super::error::BoxError;
use super::limit::Limits;
use super::means::Means;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::path::PathBuf;
use std::sync::Arc;

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
    /// Directories of the agent that it sees and changes in the place of others. It cannot reach what is there outside.
    pub stand_ins: Vec<StandIn>,
    /// Files and directories that are empty for it; many, and the same for all agents.
    #[serde(serialize_with = "tell", deserialize_with = "take")]
    pub hidden: Arc<[PathBuf]>,
    /// Hidden files that must not have a second name by which they could be read.
    pub secrets: Vec<PathBuf>,
    pub network: Network,
    /// How its box is made.
    pub means: Means,
    pub limits: Limits,
    /// TCP ports that it can neither reach nor take.
    pub closed_ports: Vec<u16>,
    /// Instead of the disk as it is: then only the network, the means and the limits of the others count.
    #[serde(default)]
    pub closed: Option<Box<ClosedView>>,
}

/// One directory in the place of another one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StandIn {
    pub directory: PathBuf,
    /// Where the agent sees it.
    pub place: PathBuf,
}

fn tell<S: Serializer>(shared: &Arc<[PathBuf]>, serializer: S) -> Result<S::Ok, S::Error> {
    shared.as_ref().serialize(serializer)
}

fn take<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Arc<[PathBuf]>, D::Error> {
    Vec::deserialize(deserializer).map(Into::into)
}

impl Confinement {
    /// For the process that enters. A path that is no text cannot be told to it.
    pub fn to_text(&self) -> Result<String, BoxError> {
        serde_json::to_string(self).map_err(|err| BoxError::Text(err.to_string()))
    }

    pub fn from_text(text: &str) -> Result<Self, BoxError> {
        serde_json::from_str(text).map_err(|err| BoxError::Text(err.to_string()))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Network {
    /// A loopback of its own, with nobody else on it.
    None,
    /// What the gateway can reach, without the closed ports.
    Open,
}
