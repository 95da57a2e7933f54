//! Which code agents are there, and how to get the others.

use super::Finding;
use crate::config;
use crate::provider::agent;
use crate::provider::row::AgentRow;
use crate::sandbox;
use std::path::Path;

/// Whether agents work in boxes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Boxes {
    On,
    Off,
}

/// One for each agent of the configuration, and for each that could be switched on.
pub(super) fn findings(configured: &[AgentRow], boxes: Boxes) -> Vec<Finding> {
    let is_on = |row: &AgentRow| configured.iter().any(|other| other.name == row.name);
    let others = config::known_agents().into_iter().filter(|row| !is_on(row));
    let on = configured.iter().map(|row| switched_on(row, agent::installed(row).as_deref(), boxes));
    on.chain(others.map(|row| available(&row, agent::installed(&row).as_deref()))).collect()
}

fn check(row: &AgentRow) -> String {
    format!("agent {}", row.name)
}

fn switched_on(row: &AgentRow, place: Option<&Path>, boxes: Boxes) -> Finding {
    let replaced = place.filter(|_| boxes == Boxes::On).and_then(sandbox::replaced_in);
    match (place, replaced) {
        (Some(place), Some(replaced)) => {
            let (label, place, replaced) = (&row.label, place.display(), replaced.display());
            let found = format!(
                "{label}: {place}; its box has a {replaced} of its own, where only the program's own directory is to be seen"
            );
            Finding::warn(check(row), found, "install it elsewhere if it does not start")
        }
        (Some(place), None) => {
            Finding::ok(check(row), format!("{}: {}", row.label, place.display()))
        }
        (None, _) => {
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
    fn a_program_below_tmp_is_told_where_agents_are_boxed() {
        let row = config::known_agents().remove(0);
        let told = |boxes| switched_on(&row, Some(Path::new("/tmp/bin/goose")), boxes);
        assert_eq!(told(Boxes::Off).verdict, Verdict::Ok);
        let warned = told(Boxes::On);
        assert_eq!(warned.verdict, Verdict::Warn);
        assert!(warned.found.contains("its box has a /tmp of its own"), "{warned:?}");
    }

    #[test]
    fn every_agent_is_told_once() {
        let mut row = config::known_agents().remove(0);
        row.command = vec!["surely-not-installed".to_owned()];
        let own =
            AgentRow { name: "own".to_owned(), command: vec!["sh".to_owned()], ..row.clone() };
        let found = findings(&[row.clone(), own], Boxes::On);
        assert_eq!(found.len(), config::known_agents().len() + 1);
        assert_eq!((&*found[0].check, found[0].verdict), ("agent goose", Verdict::Warn));
        assert_eq!(found[0].advice.as_deref(), Some(row.install.as_str()));
        assert_eq!((&*found[1].check, found[1].verdict), ("agent own", Verdict::Ok));
        assert!(found[2..].iter().all(|one| one.verdict == Verdict::Ok && one.advice.is_some()));
    }
}
