//! Logs each refused origin and host once, with the configuration line that would allow it. Clients choose these names,
//! so their number and length are limited.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};
use tracing::warn;

/// Names logged per setting. Further names are refused as well; the log says once that they are no longer named.
const MOST: usize = 64;
/// Longer names are not logged; no real name is this long.
const LONGEST: usize = 300;

/// The refused names of one setting.
#[derive(Debug)]
pub(super) struct Refusals {
    setting: &'static str,
    listed: Vec<String>,
    /// The configuration file, which does not have to exist.
    file: String,
    logged: Mutex<BTreeSet<String>>,
}

/// What is logged about a refusal.
#[derive(Debug, PartialEq, Eq)]
enum Remark {
    /// Nothing: the name was logged before or is too long, or the limit is reached.
    None,
    /// The complete line for the configuration file, including the names that are already listed.
    Line(String),
    /// The setting does not accept this name.
    Never,
    /// [`MOST`] names were logged; further names are not.
    Full,
}

impl Refusals {
    pub(super) fn new(setting: &'static str, listed: &[String], file: &str) -> Self {
        let (listed, file) = (listed.to_vec(), file.to_owned());
        Self { setting, listed, file, logged: Mutex::default() }
    }

    /// `may_be_listed`: whether the setting accepts this name.
    pub(super) fn note(&self, name: &str, may_be_listed: bool) {
        let Self { setting, file, .. } = self;
        match self.remark(name, may_be_listed) {
            Remark::None => {}
            Remark::Line(line) => warn!(
                name,
                line,
                "refused: {name:?} is not in {setting}; if it is yours, put this line at the top of the \
                 configuration file {file}, in place of another {setting}, and start the gateway again: {line}"
            ),
            Remark::Never => warn!(name, "refused: {name:?} cannot be in {setting}"),
            Remark::Full => {
                warn!("refused: more names that are not in {setting}; they are no longer logged")
            }
        }
    }

    fn remark(&self, name: &str, may_be_listed: bool) -> Remark {
        let mut logged = self.logged.lock().unwrap_or_else(PoisonError::into_inner);
        if name.len() > LONGEST || logged.len() > MOST || logged.contains(name) {
            return Remark::None;
        }
        logged.insert(name.to_owned());
        if logged.len() > MOST {
            return Remark::Full;
        }
        if !may_be_listed {
            return Remark::Never;
        }
        let names = self.listed.iter().map(String::as_str).chain([name]);
        let names: Vec<_> = names.map(|name| format!("{name:?}")).collect();
        Remark::Line(format!("{} = [{}]", self.setting, names.join(", ")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_refusal_is_remarked_once_with_the_setting_to_add() {
        let refusals = Refusals::new("allowed_origins", &["http://a".to_owned()], "/a.toml");
        let line = r#"allowed_origins = ["http://a", "http://b:1"]"#.to_owned();
        assert_eq!(refusals.remark("http://b:1", true), Remark::Line(line));
        assert_eq!(refusals.remark("http://b:1", true), Remark::None);
        assert_eq!(refusals.remark("null", false), Remark::Never);
        assert_eq!(refusals.remark("null", false), Remark::None);
    }

    #[test]
    fn names_from_clients_fill_neither_memory_nor_log() {
        let refusals = Refusals::new("allowed_hosts", &[], "/a.toml");
        let long = "x".repeat(LONGEST + 1);
        assert_eq!(refusals.remark(&long, true), Remark::None);
        let remarks = (0..10_000).map(|number| refusals.remark(&format!("host-{number}"), true));
        let remarks: Vec<_> = remarks.filter(|remark| *remark != Remark::None).collect();
        assert_eq!(remarks.len(), MOST + 1);
        assert_eq!(remarks.last(), Some(&Remark::Full));
        assert_eq!(refusals.logged.lock().unwrap().len(), MOST + 1);
    }
}
