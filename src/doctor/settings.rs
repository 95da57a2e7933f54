//! Where the settings come from, and which of them the file changes.

use super::Finding;
use crate::config::{self, Config, ConfigError, Overrides};
use std::path::Path;

const CHECK: &str = "config";

pub(super) fn finding(file: Option<&Path>, loaded: &Result<Config, ConfigError>) -> Finding {
    match loaded.as_ref().map(Config::open_to_others) {
        Err(error) => {
            let advice = "correct it and ask again; config/kakehashi.toml lists every setting";
            return Finding::fail(CHECK, error.to_string(), advice);
        }
        Ok(Some((file, mode))) => {
            let shown = file.display();
            let found =
                format!("{shown} has passwords of users, and is open to others (mode {mode:03o})");
            return Finding::warn(CHECK, found, "run `chmod 600` on it");
        }
        Ok(None) => {}
    }
    let Some(file) = file else {
        let found = "no file; defaults, flags and KAKEHASHI_ variables count";
        return match config::file_to_edit(&Overrides::default()) {
            Ok(path) => Finding::ok(CHECK, format!("{found}; a file would be {}", path.display())),
            Err(_) => Finding::ok(CHECK, found),
        };
    };
    // It has just been read without a mistake, so what cannot be read now sets nothing.
    let text = std::fs::read_to_string(file).unwrap_or_default();
    let keys = keys(&text.parse().unwrap_or_default());
    let sets = if keys.is_empty() { "nothing".to_owned() } else { keys.join(", ") };
    Finding::ok(CHECK, format!("{} sets {sets}", file.display()))
}

/// Names of settings; values may be nobody else's business.
fn keys(table: &toml::Table) -> Vec<String> {
    let row = |(key, value): (&String, &toml::Value)| match value.as_table() {
        Some(section) => section.keys().map(|inner| format!("{key}.{inner}")).collect(),
        None => vec![key.clone()],
    };
    table.iter().flat_map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::Verdict;

    #[test]
    fn the_file_and_its_keys_are_named() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("kakehashi.toml");
        let loaded = Ok(Config::for_test("/tmp", "/tmp"));
        std::fs::write(&file, "language = \"en\"\n[limits]\nsockets = 5\n").unwrap();
        let found = finding(Some(&file), &loaded);
        assert_eq!(found.verdict, Verdict::Ok);
        assert!(found.found.ends_with("kakehashi.toml sets language, limits.sockets"), "{found:?}");
        std::fs::write(&file, "").unwrap();
        assert!(finding(Some(&file), &loaded).found.ends_with(" sets nothing"));
    }

    #[test]
    fn a_mistake_is_a_failure() {
        let found = finding(None, &Err(ConfigError::NoHome));
        assert_eq!(found.verdict, Verdict::Fail);
        assert!(found.found.contains("--data"), "{found:?}");
    }
}
