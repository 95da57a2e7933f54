//! `policy.toml`, read and checked once.

use super::breaker::Limits;
use super::pattern::Pattern;
use super::risk::{self, Risk};
use super::shell::{self, Danger, Programs};
use super::{Call, Scope, command, mention};
use regex::Regex;
use serde::Deserialize;
use serde_json::Value;
use std::path::{Path, PathBuf};

const BUILT_IN: &str = include_str!("../../config/policy.toml");

#[derive(Debug, Clone)]
pub struct Rules {
    deny: Vec<Deny>,
    ask: Vec<Pattern>,
    allow: Vec<Pattern>,
    risks: Vec<Risk>,
    programs: Programs,
    pub breakers: Limits,
}

#[derive(Debug, Clone)]
struct Deny {
    tool: Pattern,
    pattern: Regex,
    within: Vec<Part>,
    reason: String,
}

/// Where in a call a pattern is looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Part {
    /// What runs, or may run.
    Commands,
    /// What may run, but is known to be read by no shell.
    Unclear,
    /// What it touches.
    Paths,
    /// Its title, its name and all of its input.
    Everything,
}

#[derive(Debug, thiserror::Error)]
pub enum RulesError {
    #[error("cannot read {}: {reason}", path.display())]
    Read { path: PathBuf, reason: std::io::Error },
    #[error("{}: {reason}", path.display())]
    Invalid { path: PathBuf, reason: String },
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawRules {
    #[serde(default)]
    deny: Vec<RawDeny>,
    #[serde(default)]
    ask: Tools,
    #[serde(default)]
    allow: Tools,
    #[serde(default)]
    risk: Vec<Risk>,
    #[serde(default = "programs")]
    shell: Programs,
    breakers: Limits,
}

/// A file of the operator's own that says nothing about shells gets what the gateway comes with.
pub(super) fn programs() -> Programs {
    #[derive(Deserialize)]
    struct BuiltIn {
        shell: Programs,
    }
    toml::from_str(BUILT_IN)
        .map_or_else(|_| Programs::default(), |built_in: BuiltIn| built_in.shell)
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawDeny {
    tool: Pattern,
    pattern: String,
    #[serde(default = "everywhere", rename = "in")]
    within: Vec<Part>,
    reason: String,
}

fn everywhere() -> Vec<Part> {
    vec![Part::Everything, Part::Paths]
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Tools {
    tools: Vec<Pattern>,
}

impl Rules {
    /// The file, or what comes with the gateway.
    pub fn load(path: Option<&Path>) -> Result<Self, RulesError> {
        let Some(path) = path else {
            return Self::parse(BUILT_IN, Path::new("config/policy.toml"));
        };
        let text = std::fs::read_to_string(path)
            .map_err(|reason| RulesError::Read { path: path.to_owned(), reason })?;
        Self::parse(&text, path)
    }

    fn parse(text: &str, path: &Path) -> Result<Self, RulesError> {
        let invalid = |reason: String| RulesError::Invalid {
            path: path.to_owned(),
            reason: reason.trim_end().replace('\n', "; "),
        };
        let raw: RawRules = toml::from_str(text).map_err(|err| invalid(err.to_string()))?;
        let deny = raw.deny.into_iter().map(|rule| {
            let pattern = Regex::new(&rule.pattern).map_err(|err| invalid(err.to_string()))?;
            let RawDeny { tool, within, reason, .. } = rule;
            Ok(Deny { tool, pattern, within, reason })
        });
        if let Some(row) = raw.risk.iter().find(|row| row.allows_by_words()) {
            return Err(invalid(format!(
                "risk `{}` allows by words; agents choose the names of their tools, so `allow` takes `kinds` only",
                row.name
            )));
        }
        Ok(Self {
            deny: deny.collect::<Result<_, _>>()?,
            ask: raw.ask.tools,
            allow: raw.allow.tools,
            risks: raw.risk,
            programs: raw.shell,
            breakers: raw.breakers,
        })
    }

    /// Why the call is refused whatever the user says.
    pub(super) fn denied(&self, call: &Call, input: &Value, everything: &[String]) -> Option<&str> {
        let commands = command::texts(call, input);
        let unclear = command::unclear(call, input);
        let mentioned = mention::find(call, input);
        // A pattern of names may end with the very name that is denied.
        let paths = call.paths.iter().chain(&mentioned.paths).chain(&mentioned.names);
        let paths: Vec<_> = paths.map(|path| path.to_string_lossy().into_owned()).collect();
        let texts = |part: &Part| match part {
            Part::Commands => commands.as_slice(),
            Part::Unclear => unclear.as_slice(),
            Part::Paths => paths.as_slice(),
            Part::Everything => everything,
        };
        let fits = |rule: &&Deny| {
            let mut texts = rule.within.iter().flat_map(texts);
            call.names().any(|name| rule.tool.fits(name))
                && texts.any(|text| rule.pattern.is_match(text))
        };
        self.deny.iter().find(fits).map(|rule| rule.reason.as_str())
    }

    /// The worst that a call may do as a shell command.
    pub(super) fn danger(&self, call: &Call, input: &Value, scope: &Scope) -> Danger {
        let places = command::places(input);
        let commands = command::commands(call, input);
        let dangers = commands.iter().map(|one| shell::judge(one, &self.programs, scope, &places));
        dangers.max_by_key(Danger::rank).unwrap_or(Danger::None)
    }

    /// Commands are in the input, and not every agent says that its tool is a shell.
    pub(super) fn always_asked(&self, everything: &[String]) -> bool {
        self.ask.iter().any(|tool| everything.iter().any(|text| tool.fits(text)))
    }

    pub(super) fn never_asked(&self, call: &Call) -> bool {
        self.allow.iter().any(|tool| call.names().any(|name| tool.fits(name)))
    }

    pub(super) fn risk(&self, call: &Call) -> Option<&Risk> {
        risk::find(&self.risks, call)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mistakes_in_the_file_are_named() {
        for (text, expected) in [
            ("[breakers]\nsteps = 1\n", "missing field `tokens`"),
            ("[deny]\n", "deny"),
            (&format!("{BUILT_IN}\n[web]\n"), "unknown field `web`"),
            (&BUILT_IN.replace("decision = \"allow\"", "decision = \"perhaps\""), "perhaps"),
            (&BUILT_IN.replacen("(?i)", "(", 1), "regex parse error"),
            (&BUILT_IN.replacen("[\"unclear\"]", "[\"titles\"]", 1), "unknown variant `titles`"),
            (
                &BUILT_IN.replace("kinds = [\"think\"]", "words = [\"think\"]"),
                "risk `informational` allows by words",
            ),
        ] {
            let refused = Rules::parse(text, Path::new("mine.toml")).unwrap_err().to_string();
            assert!(refused.starts_with("mine.toml: ") && refused.contains(expected), "{refused}");
            assert_eq!(refused.lines().count(), 1, "{refused}");
        }
        let missing = Rules::load(Some(Path::new("/no/such.toml"))).unwrap_err().to_string();
        assert!(missing.starts_with("cannot read /no/such.toml: "), "{missing}");
    }
}
