//! A closed view for a program that runs what nobody has read: in it exists only what is named here, and everything but
//! one small place of its own is read-only.

use serde::{Deserialize, Serialize};
use std::path::PathBuf;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClosedView {
    /// Files and directories from outside. Those within the scratch place come after it.
    pub shown: Vec<Shown>,
    pub scratch: Scratch,
    /// The programs that may be started, among what is shown, by their paths inside.
    pub executable: Vec<PathBuf>,
    /// The whole environment of the program.
    pub variables: Vec<(String, String)>,
    /// Bytes of address space of each process.
    pub memory: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shown {
    /// A path without links in it.
    pub outside: PathBuf,
    pub inside: PathBuf,
}

/// The only place that can be written, in memory. It is gone with the last process inside.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scratch {
    pub place: PathBuf,
    pub bytes: u64,
    /// Files, directories and links together.
    pub files: u64,
}
