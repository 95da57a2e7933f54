//! Which code agents are there, and how to get the others.

use super::Finding;
use crate::config;
use crate::message::AgentRow;
use crate::provider::agent;
use std::path::Path;

/// One for each agent of the configuration, and for each that could be switched on.
pub(super) fn findings(configured: &[AgentRow]) -> Vec<Finding> {
    let is_on = |row: &AgentRow| configured.iter().any(|other| other.name == row.name);
    let others = config::known_agents().into_iter().filter(|row| !is_on(row));
    let on = configured.iter().map(|row| switched_on(row, agent::installed(row).as_deref()));
    on.chain(others.map(|row| available(&row, agent::installed(&row).as_deref()))).collect()
}

fn check(row: &AgentRow) -> String {
    format!("agent {}", row.name)
}

fn switched_on(row: &AgentRow, place: Option<&Path>) -> Finding {
    match place {
        Some(place) => Finding::ok(check(row), format!("{}: {}", row.label, place.display())),
        None => {
            let program = row.command.first().map_or("", String::as_str);
            let advice = if row.install.is_empty() {
                "install it, or take its row out"
            } else {
                &row.install
            };
            Finding::warn(
                check(row),
                format!("{}: `{program}` is not installed", row.label),
                advice,
            )
        }
    }
}

fn available(row: &AgentRow, place: Option<&Path>) -> Finding {
    match place {
        Some(place) => {
            let found =
                format!("{} is installed at {} and not switched on", row.label, place.display());
            Finding::ok(check(row), found)
                .with("take its row of config/kakehashi.toml into your settings")
        }
        None => {
            let found = format!("{} is not installed", row.label);
            Finding::ok(check(row), found).with(&row.install)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Verdict;
    use super::*;

    #[test]
    fn every_agent_is_told_once() {
        let mut row = config::known_agents().remove(0);
        row.command = vec!["surely-not-installed".to_owned()];
        let own =
            AgentRow { name: "own".to_owned(), command: vec!["sh".to_owned()], ..row.clone() };
        let found = findings(&[row.clone(), own]);
        assert_eq!(found.len(), config::known_agents().len() + 1);
        assert_eq!((&*found[0].check, found[0].verdict), ("agent goose", Verdict::Warn));
        assert_eq!(found[0].advice.as_deref(), Some(row.install.as_str()));
        assert_eq!((&*found[1].check, found[1].verdict), ("agent own", Verdict::Ok));
        assert!(found[2..].iter().all(|one| one.verdict == Verdict::Ok && one.advice.is_some()));
    }
}
