//! The languages Kakehashi itself speaks. The texts are files under `config/locales`, compiled in.

use crate::message::{AgentReport, ReportStage};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::sync::LazyLock;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Locale {
    #[default]
    Ja,
    En,
}

impl Locale {
    /// Understands `ja`, `en` and regional forms such as `en-GB`.
    pub fn parse(tag: &str) -> Option<Self> {
        match tag.split(['-', '_']).next()?.to_ascii_lowercase().as_str() {
            "ja" => Some(Self::Ja),
            "en" => Some(Self::En),
            _ => None,
        }
    }

    /// The text under `section` and `name` with its `{names}` filled in.
    pub fn say(self, section: &str, name: &str, values: &[(&str, &str)]) -> String {
        match self.texts().get(section).and_then(|texts| texts.get(name)) {
            Some(template) => fill(template, values),
            // Never reached for names used in the code: a test compares them with both files.
            None => format!("{section}.{name}"),
        }
    }

    /// A phrase of our own code, translated; a phrase of anybody else stays as it is.
    pub fn word(self, english: &str) -> String {
        let known = self.texts().get("words").and_then(|words| words.get(english));
        known.map_or(english, String::as_str).to_owned()
    }

    /// How an agent fares, for people and for a live model that passes it on by voice.
    pub fn report(self, report: &AgentReport) -> String {
        let agent = report.agent.number().to_string();
        match &report.stage {
            ReportStage::Started { request } => {
                self.say("report", "started", &[("agent", &agent), ("request", request)])
            }
            ReportStage::Finished { request, answer } => {
                let values = [("agent", agent.as_str()), ("request", request), ("answer", answer)];
                self.say("report", "finished", &values)
            }
            ReportStage::Stopped => self.say("report", "stopped", &[("agent", &agent)]),
        }
    }

    fn texts(self) -> &'static Texts {
        static JA: LazyLock<Texts> =
            LazyLock::new(|| parse(include_str!("../config/locales/ja.toml")));
        static EN: LazyLock<Texts> =
            LazyLock::new(|| parse(include_str!("../config/locales/en.toml")));
        match self {
            Self::Ja => &JA,
            Self::En => &EN,
        }
    }
}

type Texts = BTreeMap<String, BTreeMap<String, String>>;

fn parse(text: &str) -> Texts {
    toml::from_str(text).unwrap_or_default()
}

/// Values are inserted as they are and never searched for placeholders themselves.
fn fill(template: &str, values: &[(&str, &str)]) -> String {
    let mut filled = String::with_capacity(template.len());
    let mut rest = template;
    while let Some((before, after)) = rest.split_once('{') {
        filled.push_str(before);
        let Some((name, tail)) = after.split_once('}') else {
            filled.push('{');
            rest = after;
            continue;
        };
        match values.iter().find(|(key, _)| *key == name) {
            Some((_, value)) => filled.push_str(value),
            None => filled.extend(["{", name, "}"]),
        }
        rest = tail;
    }
    filled.push_str(rest);
    filled
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_languages_have_the_same_texts_and_placeholders() {
        let placeholders = |text: &str| {
            let mut names: Vec<String> = text
                .split('{')
                .skip(1)
                .filter_map(|part| Some(part.split_once('}')?.0.to_owned()))
                .collect();
            names.sort();
            names
        };
        let shape = |locale: Locale| -> Vec<(String, String, Vec<String>)> {
            let texts = locale.texts();
            let texts = texts.iter().filter(|(section, _)| *section != "words");
            let rows = texts.flat_map(|(section, names)| {
                names
                    .iter()
                    .map(move |(name, text)| (section.clone(), name.clone(), placeholders(text)))
            });
            rows.collect()
        };
        assert!(!Locale::Ja.texts().is_empty());
        assert_eq!(shape(Locale::Ja), shape(Locale::En));
    }

    #[test]
    fn a_value_that_looks_like_a_placeholder_is_left_alone() {
        assert_eq!(fill("{a} and {b}", &[("a", "{b}"), ("b", "x")]), "{b} and x");
    }

    /// Phrases that the code hands over in English, found where they are written.
    fn phrases() -> Vec<String> {
        let decode = include_str!("dialect/aicore/decode.rs");
        let connect = include_str!("dialect/aicore/connect.rs");
        let value = include_str!("dialect/aicore/value.rs");
        let files = include_str!("files/error.rs").split("#[cfg(test)]").next().unwrap();
        let quoted = |text: &str, before: &str| -> Vec<String> {
            let parts = text.split(before).skip(1);
            parts
                .filter_map(|part| {
                    Some(part.trim_start().strip_prefix('"')?.split_once('"')?.0.to_owned())
                })
                .collect()
        };
        let mut found = Vec::new();
        for text in [decode, connect, value] {
            found.extend(quoted(text, "expected:"));
            found.extend(quoted(text, "BadAudio("));
        }
        found.extend(quoted(files, "#[error("));
        found.retain(|phrase| !phrase.contains('{'));
        found
    }

    #[test]
    fn every_phrase_has_its_japanese_word() {
        let phrases = phrases();
        assert!(phrases.len() > 20, "{phrases:?}");
        for phrase in phrases {
            assert_ne!(Locale::Ja.word(&phrase), phrase);
            assert_eq!(Locale::En.word(&phrase), phrase);
        }
    }

    #[test]
    fn regional_tags_are_understood() {
        assert_eq!(Locale::parse("en-GB"), Some(Locale::En));
        assert_eq!(Locale::parse("ja_JP"), Some(Locale::Ja));
        assert_eq!(Locale::parse("fr"), None);
    }
}
