//! Tables that users analyse: received into a workspace, described by Python, and then part of a session. Owns the
//! interpreters of all sessions. Knows neither questions nor reports.

mod download;
mod interpreters;
mod table;

pub use download::WorkspaceFile;
pub(in crate::session) use interpreters::{Interpreters, workspace};
pub use table::{IncomingTable, Table, TableError};

use crate::config::Config;
use crate::python::Limits;

/// How much one interpreter may take, as configured.
pub(in crate::session) fn limits(config: &Config) -> Limits {
    let rules = &config.analyst;
    Limits { time: rules.time, memory: rules.memory, disk: rules.disk, ..Limits::default() }
}
