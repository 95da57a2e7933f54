//! The languages Kakehashi itself speaks. The texts are files under `config/locales`, compiled in.

use crate::message::{AgentReport, ReportStage, fenced};
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

    /// What the environment of a program says, by the first of these that is set.
    pub fn of_environment(value: impl Fn(&str) -> Option<String>) -> Option<Self> {
        let set = |name: &&str| value(name).filter(|value| !value.is_empty());
        let tag = ["LC_ALL", "LC_MESSAGES", "LANG"].iter().find_map(set)?;
        let tag = tag.split(['.', '@']).next().unwrap_or_default();
        // Programs without a language of their own speak English.
        if matches!(tag, "C" | "POSIX") { Some(Self::En) } else { Self::parse(tag) }
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

    /// A phrase of our own code, translated; a phrase of anybody else stays as it is. Phrases with `{names}` are known by
    /// what is around them, and what stands there may be a phrase, too.
    pub fn word(self, english: &str) -> String {
        let Some(words) = self.texts().get("words") else { return english.to_owned() };
        if let Some(known) = words.get(english) {
            return known.clone();
        }
        let filled = words.iter().find_map(|(phrase, known)| {
            let parts = parts_of(english, phrase)?;
            let parts: Vec<_> = parts.iter().map(|(name, part)| (*name, self.word(part))).collect();
            let values: Vec<_> = parts.iter().map(|(name, part)| (*name, part.as_str())).collect();
            Some(fill(known, &values))
        });
        filled.unwrap_or_else(|| english.to_owned())
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

    /// Texts right behind these words, as far as they are written there.
    fn quoted(source: &str, before: &str) -> Vec<String> {
        let source = source.split("#[cfg(test)]").next().unwrap();
        let text = |part: &str| {
            let text = part.trim_start().strip_prefix('"')?;
            let mut ends = text.match_indices('"').map(|(at, _)| at);
            let text = &text[..ends.find(|at| !text[..*at].ends_with('\\'))?];
            // A long one goes on in the next line.
            let text: String = text.split("\\\n").map(str::trim_start).collect();
            Some(text.replace("\\\"", "\""))
        };
        source.split(before).skip(1).filter_map(text).collect()
    }

    /// Phrases that the code hands over in English, found where they are written.
    fn phrases() -> Vec<String> {
        let decode = include_str!("dialect/aicore/decode.rs");
        let connect = include_str!("dialect/aicore/connect.rs");
        let value = include_str!("dialect/aicore/value.rs");
        let choice = include_str!("dialect/aicore/choice.rs");
        let mut found = Vec::new();
        for text in [decode, connect, value, choice] {
            found.extend(quoted(text, "expected:"));
            found.extend(quoted(text, "BadAudio("));
        }
        let chat = include_str!("provider/chat/error.rs");
        for text in [
            include_str!("files/error.rs"),
            include_str!("workplace/error.rs"),
            include_str!("session/site.rs"),
            include_str!("audio/resample.rs"),
            chat,
        ] {
            found.extend(quoted(text, "#[error("));
        }
        found.extend(quoted(chat, "format!("));
        for (text, before) in [
            (include_str!("session/choice.rs"), "TOO_MANY: &str ="),
            (include_str!("session/choice.rs"), "let reason ="),
            (include_str!("session/inspect.rs"), "FAILED: &str ="),
            (include_str!("session/work.rs"), "Ending::Failed("),
            (include_str!("session/sound.rs"), "on_live_down("),
            (include_str!("session/safety.rs"), "UNASKED: &str ="),
            (include_str!("session/quarters.rs"), "format!("),
            (include_str!("session/quarters.rs"), "NOT_ALL_PROTECTED: &str ="),
            (include_str!("session/gate.rs"), "let reason = format!("),
            (include_str!("session/judging.rs"), "let reason ="),
            (include_str!("policy/shell/mod.rs"), ": &str ="),
            (include_str!("policy/shell/danger.rs"), "Danger::Denied(format!("),
            (include_str!("../config/policy.toml"), "\nreason ="),
            (include_str!("provider/agent/acp/opening.rs"), "self.note(format!("),
            (include_str!("provider/agent/acp/turn.rs"), "self.note(format!("),
        ] {
            let here = quoted(text, before);
            assert!(!here.is_empty(), "nothing behind `{before}`");
            found.extend(here);
        }
        // A text of somebody else is only passed on.
        found.retain(|phrase| phrase.split(['{', '}']).step_by(2).any(|part| !part.is_empty()));
        found
    }

    /// Errors that no user of a session reads: they are in the log, on the command line, or said at the start.
    const FOR_OPERATORS: [&str; 20] = [
        "auth/token_file.rs",
        "command/backup.rs",
        "command/session.rs",
        "command/talk.rs",
        "command/user.rs",
        "config.rs",
        "config/confine.rs",
        "config/exposure.rs",
        "data_dir.rs",
        "dialect/aicore/client.rs",
        "policy/rules.rs",
        "server/control.rs",
        "server/mod.rs",
        "server/socket.rs",
        "server/tls.rs",
        "session/reader.rs",
        "session/registry.rs",
        "store/mod.rs",
        "talk/error.rs",
        "task/runtime.rs",
    ];
    /// Errors that people read by their name: their texts are in sections of their own.
    const SAID_BY_NAME: [&str; 5] = [
        "auth/mod.rs",
        "dialect/aicore/reject.rs",
        "dialect/mod.rs",
        "files/content.rs",
        "message/setting.rs",
    ];
    /// Phrases of the built-in agent and of `kakehashi talk`, by where they are and what stands before them.
    const SAID: [(&str, &str); 16] = [
        ("provider/agent/builtin/turn.rs", "REFUSED: &str ="),
        ("provider/agent/builtin/turn.rs", "say_line("),
        ("provider/agent/builtin/turn.rs", "say_line(&format!("),
        ("provider/agent/builtin/turn.rs", "let hint = format!("),
        ("provider/agent/builtin/command.rs", "EXPECTED: &str ="),
        ("provider/agent/builtin/command.rs", "format!("),
        ("provider/agent/builtin/command.rs", "wanted(rest,"),
        ("provider/agent/builtin/command.rs", "script.ok_or("),
        ("provider/agent/builtin/edit.rs", "format!("),
        ("provider/agent/builtin/edit.rs", "Err("),
        ("provider/agent/builtin/look.rs", "Err(format!("),
        ("provider/agent/builtin/model.rs", "let reason ="),
        ("provider/agent/builtin/model.rs", "None => return Err(Halt::Failed("),
        ("provider/agent/supervised.rs", "=> format!("),
        ("talk/conversation.rs", "notice("),
        ("talk/line.rs", "Over::lost("),
    ];

    /// Every source file below `src`, by its path there. Tests have files of their own or are at the end.
    fn sources() -> BTreeMap<String, String> {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        let mut found = BTreeMap::new();
        let mut open = vec![root.clone()];
        while let Some(directory) = open.pop() {
            for entry in std::fs::read_dir(directory).unwrap() {
                let path = entry.unwrap().path();
                let name = path.strip_prefix(&root).unwrap().to_str().unwrap().to_owned();
                if path.is_dir() {
                    open.push(path);
                } else if name.ends_with(".rs") && !name.contains("tests") {
                    found.insert(name, std::fs::read_to_string(path).unwrap());
                }
            }
        }
        found
    }

    fn says_something(phrase: &str) -> bool {
        let fixed = phrase.split(['{', '}']).step_by(2);
        fixed.into_iter().any(|part| part.contains(char::is_alphabetic))
    }

    #[test]
    fn every_error_that_people_read_has_its_japanese_word() {
        let sources = sources();
        let words = &Locale::Ja.texts()["words"];
        for listed in FOR_OPERATORS.iter().chain(&SAID_BY_NAME) {
            let source = sources.get(*listed).unwrap_or_else(|| panic!("there is no {listed}"));
            assert!(source.contains("#[error("), "{listed} has no errors");
        }
        let read = sources.iter().filter(|(name, _)| {
            !FOR_OPERATORS.contains(&name.as_str()) && !SAID_BY_NAME.contains(&name.as_str())
        });
        for (name, source) in read {
            for phrase in quoted(source, "#[error(").into_iter().filter(|one| says_something(one)) {
                assert!(words.contains_key(&phrase), "{name}: no Japanese for: {phrase}");
            }
        }
        for (name, before) in SAID {
            let here = quoted(&sources[name], before);
            assert!(!here.is_empty(), "{name}: nothing behind `{before}`");
            for phrase in here.into_iter().filter(|one| says_something(one)) {
                assert!(words.contains_key(&phrase), "{name}: no Japanese for: {phrase}");
            }
        }
    }

    #[test]
    fn every_phrase_has_its_japanese_word() {
        let phrases = phrases();
        assert!(phrases.len() > 60, "{phrases:?}");
        let words = &Locale::Ja.texts()["words"];
        for phrase in phrases {
            assert!(words.contains_key(&phrase), "no Japanese for: {phrase}");
            assert_eq!(Locale::En.word(&phrase), phrase);
        }
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
