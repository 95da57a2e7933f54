//! The languages Kakehashi itself speaks. The texts are files under `config/locales`, compiled in.

use crate::message::{AgentReport, ReportStage, fenced};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// In bytes.
const LONGEST_ROW: usize = 2048;

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

    /// What the environment of a program says, by the first of these that is set.
    pub fn of_environment(value: impl Fn(&str) -> Option<String>) -> Option<Self> {
        let set = |name: &&str| value(name).filter(|value| !value.is_empty());
        let tag = ["LC_ALL", "LC_MESSAGES", "LANG"].iter().find_map(set)?;
        let tag = tag.split(['.', '@']).next().unwrap_or_default();
        // Programs without a language of their own speak English.
        if matches!(tag, "C" | "POSIX") { Some(Self::En) } else { Self::parse(tag) }
    }

    /// The language of a text, as far as its letters tell it. `None`: it has no letters of either.
    pub fn of_text(text: &str) -> Option<Self> {
        let is_japanese =
            |one: char| matches!(one, '\u{3040}'..='\u{30ff}' | '\u{4e00}'..='\u{9fff}');
        if text.chars().any(is_japanese) {
            return Some(Self::Ja);
        }
        text.chars().any(|one| one.is_ascii_alphabetic()).then_some(Self::En)
    }

    pub fn tag(self) -> &'static str {
        match self {
            Self::Ja => "ja",
            Self::En => "en",
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

    /// A phrase of our own code, translated; a phrase of anybody else stays as it is, apart from what the system often
    /// says. Phrases with `{names}` are known by what is around them, and what stands there may be a phrase, too.
    pub fn word(self, english: &str) -> String {
        let sections = ["words", "system_words"];
        let known = sections.iter().find_map(|name| self.texts().get(*name)?.get(english));
        if let Some(known) = known {
            return known.clone();
        }
        let Some(words) = self.texts().get("words") else { return english.to_owned() };
        // If several phrases fit, the one with the most fixed text is the safest match.
        let fitting = words.iter().filter_map(|(phrase, known)| {
            let parts = parts_of(english, phrase)?;
            Some((own(&parts, english), parts, known))
        });
        let Some((_, parts, known)) = fitting.max_by_key(|(own, ..)| *own) else {
            return self.word_by_word(english);
        };
        let parts: Vec<_> = parts.iter().map(|(name, part)| (*name, self.word(part))).collect();
        let values: Vec<_> = parts.iter().map(|(name, part)| (*name, part.as_str())).collect();
        fill(known, &values)
    }

    /// Several phrases in a row, such as a file, the place in it and what is wrong there.
    fn word_by_word(self, english: &str) -> String {
        // Longer texts are not split: they are not made of phrases, and searching them is slow.
        let short = english.len() <= LONGEST_ROW;
        let mark = ["; ", ": ", "\n"].into_iter().find(|mark| english.contains(*mark));
        let Some(mark) = mark.filter(|_| short) else { return english.to_owned() };
        match english.split_once(mark) {
            Some((first, rest)) => self.word(first) + mark + &self.word(rest),
            None => english.to_owned(),
        }
    }

    /// An error and what caused it, on one line.
    pub fn chain<'a>(
        self,
        causes: impl Iterator<Item = &'a (dyn std::error::Error + 'static)>,
    ) -> String {
        let mut said: Vec<String> = Vec::new();
        for cause in causes.map(ToString::to_string) {
            // Some say themselves what caused them.
            if !said.last().is_some_and(|last| last.contains(&cause)) {
                said.push(cause);
            }
        }
        let told: Vec<_> = said.iter().map(|cause| self.word(cause)).collect();
        told.join(": ").replace('\n', "; ")
    }

    /// How an agent fares, for a live model that passes it on by voice. What the agent says is data.
    pub fn report_to_model(self, report: &AgentReport) -> String {
        let agent = report.agent.number().to_string();
        let say = |name, values: &[(&str, &str)]| self.say("report_to_model", name, values);
        match &report.stage {
            ReportStage::Started { request } => {
                say("started", &[("agent", &agent), ("request", &fenced(request))])
            }
            ReportStage::Finished { request, answer } => {
                let (request, answer) = (fenced(request), fenced(answer));
                say("finished", &[("agent", &agent), ("request", &request), ("answer", &answer)])
            }
            ReportStage::Stopped => say("stopped", &[("agent", &agent)]),
        }
    }

    /// The same for people.
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

/// What stands at the `{names}` of a phrase, if the text is made from it; `None` for a phrase without any.
fn parts_of<'a>(text: &'a str, phrase: &'a str) -> Option<Vec<(&'a str, &'a str)>> {
    let (before, mut phrase) = phrase.split_once('{')?;
    let mut text = text.strip_prefix(before)?;
    let mut parts = Vec::new();
    loop {
        let (name, after) = phrase.split_once('}')?;
        let Some((between, next)) = after.split_once('{') else {
            parts.push((name, text.strip_suffix(after)?));
            return Some(parts);
        };
        let (part, rest) = text.split_once(between)?;
        parts.push((name, part));
        (text, phrase) = (rest, next);
    }
}

/// How much of the text is the phrase's own.
fn own(parts: &[(&str, &str)], text: &str) -> usize {
    text.len() - parts.iter().map(|(_, part)| part.len()).sum::<usize>()
}

/// Values are inserted as they are and never searched for placeholders themselves. Those without a name come in the
/// order in which they are given.
fn fill(template: &str, values: &[(&str, &str)]) -> String {
    let mut filled = String::with_capacity(template.len());
    let mut rest = template;
    let mut nameless = values.iter().filter(|(key, _)| key.is_empty());
    while let Some((before, after)) = rest.split_once('{') {
        filled.push_str(before);
        let Some((name, tail)) = after.split_once('}') else {
            filled.push('{');
            rest = after;
            continue;
        };
        let named = || values.iter().find(|(key, _)| *key == name);
        match if name.is_empty() { nameless.next() } else { named() } {
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
            let texts = texts.iter().filter(|(section, _)| !section.ends_with("words"));
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
        assert_eq!(fill("{} of {}", &[("", "1"), ("", "2")]), "1 of 2");
    }

    #[test]
    fn words_are_japanese_and_lose_nothing_of_their_phrase() {
        let names = |text: &str| -> std::collections::BTreeSet<String> {
            text.split('{').skip(1).map(|part| part.split('}').next().unwrap().to_owned()).collect()
        };
        for (phrase, known) in &Locale::Ja.texts()["words"] {
            assert!(!known.is_ascii(), "{phrase}: {known}");
            assert_eq!(names(phrase), names(known), "{phrase}");
        }
    }

    #[test]
    fn a_phrase_is_known_by_what_is_around_its_values() {
        let told = |english: &str| Locale::Ja.word(english);
        assert_eq!(
            told("there is no backup of run 12"),
            Locale::Ja.word("there is no backup of run {0}").replace("{0}", "12")
        );
        let refused = told(
            "the model's server refused with status 418: a teapot; check the model in the configuration",
        );
        assert!(refused.contains("418") && refused.contains("a teapot"), "{refused}");
        assert!(!refused.contains("check the model"), "{refused}");
        let quota = told(
            "the quota of this model is used up, try again in 7 seconds: no; wait, or choose another model",
        );
        assert!(quota.contains('7') && !quota.contains("seconds"), "{quota}");
        let quota = told("the quota of this model is used up: no; wait, or choose another model");
        assert!(!quota.is_ascii() && !quota.contains("{}"), "{quota}");
        // A row of phrases, and one of several phrases that fit.
        let wrong =
            told("/k.toml:3: listen: `x` is not an address like 127.0.0.1:8091 or [::1]:8091");
        assert!(wrong.starts_with("/k.toml:3: listen: `x`"), "{wrong}");
        assert!(!wrong.contains("is not an address"), "{wrong}");
        let damaged = told("/d/kakehashi.db is damaged (row 3); restore it");
        assert!(!damaged.contains("damaged"), "{damaged}");
        for foreign in ["there is no backup", "permission denied", ""] {
            assert_eq!(told(foreign), foreign);
        }
        assert_eq!(Locale::En.word("there is no backup of run 12"), "there is no backup of run 12");
    }

    #[test]
    fn the_first_variable_that_is_set_counts() {
        let of = |set: &[(&str, &str)]| {
            Locale::of_environment(|name| {
                set.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
            })
        };
        assert_eq!(of(&[("LANG", "ja_JP.UTF-8")]), Some(Locale::Ja));
        assert_eq!(of(&[("LANG", "ja_JP.UTF-8"), ("LC_ALL", "en_US.UTF-8")]), Some(Locale::En));
        assert_eq!(
            of(&[("LANG", "ja_JP"), ("LC_ALL", ""), ("LC_MESSAGES", "C.UTF-8")]),
            Some(Locale::En)
        );
        assert_eq!(of(&[("LANG", "fr_FR@euro")]), None);
        assert_eq!(of(&[]), None);
    }

    #[test]
    fn regional_tags_are_understood() {
        assert_eq!(Locale::parse("en-GB"), Some(Locale::En));
        assert_eq!(Locale::parse("ja_JP"), Some(Locale::Ja));
        assert_eq!(Locale::parse("fr"), None);
    }
}
