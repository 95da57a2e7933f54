//! Who answers in the chat, because of which row or which key, and how a real model comes in where there is none.

use super::Finding;
use crate::config::{self, Config, Models};
use crate::message::SetupHint;
use crate::provider::row::ChatModel;

const CHECK: &str = "models";

/// One line for what can be asked, and one for each key that is missing.
pub(super) fn findings(config: &Config) -> Vec<Finding> {
    let rows = match config.models {
        Models::Auto => config.chat.as_slice(),
        Models::Scripted => &[],
    };
    let setup = config.setup_hint();
    if rows.is_empty() {
        let found = "scripted: the chat echoes; no network, no key, and no real answers; the built-in agent takes \
                     exact commands";
        return vec![Finding::ok(CHECK, found).with(how_to_get_one(config.models, &setup))];
    }
    let missing = |model: &&ChatModel| model.key.as_ref().is_some_and(|key| key.secret.is_none());
    let names: Vec<_> = rows.iter().map(|model| named(&model.name, &setup)).collect();
    let mut findings = vec![Finding::ok(CHECK, format!("chat: {}", names.join(", ")))];
    findings.extend(rows.iter().filter(missing).map(|model| {
        let variable = model.key.as_ref().map_or("", |key| key.variable.as_str());
        let found = format!("chat model {} has no key", model.name);
        Finding::warn(CHECK, found, format!("set {variable} before you start the gateway"))
    }));
    findings
}

/// A name, with the reason if it is no row that the user wrote.
pub(super) fn named(name: &str, setup: &SetupHint) -> String {
    match setup.offered.iter().find(|model| model.name == name) {
        // The variable that is set is the reason.
        Some(model) => format!("{name} ({}, {})", model.model, model.variable),
        None => name.to_owned(),
    }
}

fn how_to_get_one(models: Models, setup: &SetupHint) -> String {
    if models == Models::Scripted {
        return "start without `--models scripted` for others".to_owned();
    }
    let variables = &setup.variables;
    let paste = paste(&setup.file, &config::CHAT_EXAMPLE);
    format!(
        "start Ollama, set one of {variables}, or write a row, for example by this command: {paste}"
    )
}

/// A command for the shell that puts a row behind whatever the file has.
pub(super) fn paste(file: &str, row: &[&str]) -> String {
    let quoted = |text: &str| format!("'{}'", text.replace('\'', "'\\''"));
    let lines: Vec<_> = row.iter().map(|line| quoted(line)).collect();
    let (file, lines) = (quoted(file), lines.join(" "));
    format!("mkdir -p \"$(dirname {file})\" && printf '%s\\n' '' {lines} >> {file}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::CHAT_EXAMPLE;
    use crate::message::OfferedModel;

    #[test]
    fn without_a_model_the_way_to_one_is_told() {
        let mut config = Config::for_test("/tmp", "/tmp");
        config.file = Some("/etc/k.toml".into());
        let [found] = &findings(&config)[..] else { panic!("one line") };
        let advice = found.advice.as_deref().unwrap();
        for part in ["ANTHROPIC_API_KEY", "GOOGLE_API_KEY", "'[[chat]]'", ">> '/etc/k.toml'"] {
            assert!(advice.contains(part), "{advice}");
        }
        config.models = Models::Scripted;
        assert!(findings(&config)[0].advice.as_deref().unwrap().contains("--models scripted"));
    }

    #[test]
    fn who_is_offered_says_why() {
        let offered = vec![OfferedModel {
            name: "claude".to_owned(),
            model: "m".to_owned(),
            variable: "A_KEY".to_owned(),
        }];
        let setup = SetupHint { offered, ..SetupHint::default() };
        assert_eq!(named("claude", &setup), "claude (m, A_KEY)");
        assert_eq!(named("mine", &setup), "mine");
    }

    #[test]
    fn the_command_writes_the_row_whatever_the_file_is_called() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("it's new $HOME/k.toml");
        for rows in 1..=2 {
            let command = paste(file.to_str().unwrap(), &CHAT_EXAMPLE);
            let done = std::process::Command::new("sh").args(["-c", &command]).status().unwrap();
            assert!(done.success(), "{command}");
            let table: toml::Table = std::fs::read_to_string(&file).unwrap().parse().unwrap();
            assert_eq!(table["chat"].as_array().unwrap().len(), rows);
            assert_eq!(table["chat"][0]["key"].as_str(), Some("ANTHROPIC_API_KEY"));
        }
    }
}
