//! How programs are started: by which supervisor, under whose mark, and with which environment.

use super::AgentHome;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

/// Variables of our own environment that every program gets.
const PASSED_ON: [&str; 4] = ["PATH", "HOME", "LANG", "TERM"];

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Launcher {
    /// Our own binary, which supervises programs.
    pub supervisor: PathBuf,
    /// Marks every process, so that the next gateway finds what this one could not end.
    pub owner: Arc<str>,
    /// Variables that the program gets besides: `NAME=value`, or the name of one of ours.
    pub variables: Vec<String>,
}

impl Launcher {
    /// The only variables that the program sees, besides its mark.
    pub(super) fn environment(&self, home: Option<&AgentHome>) -> Vec<(OsString, OsString)> {
        let always = PASSED_ON.into_iter();
        let always = always.filter_map(|name| Some((name.into(), std::env::var_os(name)?)));
        let listed = self.variables.iter().filter_map(|entry| match entry.split_once('=') {
            Some((name, value)) => Some((name.into(), value.into())),
            None => Some((entry.into(), std::env::var_os(entry)?)),
        });
        let own = home.into_iter().flat_map(AgentHome::variables);
        always.chain(own).chain(listed).collect()
    }
}
