//! The gate before every tool call that reaches us: allow, deny, or ask the user. Rules are data; this only applies
//! them, in a fixed order. Pure: knows neither agents nor sockets, and touches the disk only to follow links.

mod breaker;
mod command;
mod glob;
mod look;
mod mention;
mod pattern;
mod placement;
mod risk;
mod rules;
mod scope;
mod seal;
mod shell;

pub use breaker::{Breaker, Limits, Tripped};
pub use look::is_plain_look;
pub use mention::as_path;
pub use rules::{Rules, RulesError};
pub use scope::Scope;
pub use seal::Seal;

use self::shell::Danger;
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::collections::HashSet;
use std::path::PathBuf;

/// What an agent wants to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// What the agent knows this one call by, if anything; no rule looks at it.
    pub id: String,
    /// What people read of it; for shells the command line itself is part of it.
    pub tool: String,
    /// The same in English, where people read another language. Rules may name either.
    pub english: Option<String>,
    /// What the agent calls the tool, where it tells that besides.
    pub name: Option<String>,
    /// ACP's word for what it does: `read`, `edit`, `execute` and so on.
    pub kind: String,
    /// As the agent wrote it, mostly JSON.
    pub input: String,
    /// Bytes of it that are missing here, because there are too many.
    pub unseen: usize,
    /// What it says it touches. What its input names counts as well.
    pub paths: Vec<PathBuf>,
}

impl Call {
    /// All that rules may call it by.
    fn names(&self) -> impl Iterator<Item = &str> {
        let former = self.name.as_deref().and_then(former_name);
        self.titles().chain(former).chain([self.kind.as_str()])
    }

    /// What people read of it, and what its agent calls it.
    fn titles(&self) -> impl Iterator<Item = &str> {
        let titles = [Some(&self.tool), self.english.as_ref(), self.name.as_ref()];
        titles.into_iter().flatten().map(String::as_str)
    }
}

/// Names that the gateway's own tools had before; rules that were written with them still hold.
fn former_name(name: &str) -> Option<&'static str> {
    Some(match name {
        "file:read" => "read",
        "file:list" => "list",
        "file:search" => "search",
        "file:write" => "write",
        "file:replace" => "replace",
        "shell:execute" => "run",
        _ => return None,
    })
}

/// The input as data. Some agents write JSON into a text.
fn read(input: &str) -> Value {
    let value = serde_json::from_str(input).unwrap_or(Value::Null);
    let within = value.as_str().and_then(|text| serde_json::from_str(text).ok());
    within.filter(Value::is_object).unwrap_or(value)
}

/// The texts within an input that is JSON, one after another: in JSON a line break is `\\n`, which looks like the
/// beginning of the next word, and a command may be a list.
fn words(input: &Value) -> String {
    let mut words = String::new();
    collect(input, &mut words);
    words
}

fn collect(value: &Value, words: &mut String) {
    match value {
        Value::String(text) => {
            words.push_str(text);
            words.push(' ');
        }
        Value::Array(values) => values.iter().for_each(|value| collect(value, words)),
        Value::Object(fields) => fields.values().for_each(|value| collect(value, words)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Decision {
    Allow,
    Deny,
    Ask,
}

/// How much a mistake would cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    Info,
    Warn,
    Critical,
}

/// What becomes of a call, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    pub decision: Decision,
    pub level: Level,
    /// For the user, the audit and, after a refusal, the model.
    pub reason: String,
}

/// Tools that the user of this session does not want to be asked about again, by the digests of their wording: it may
/// be long.
#[derive(Debug, Default, Clone)]
pub struct Remembered(HashSet<[u8; 32]>);

impl Remembered {
    /// Nothing is remembered of a call that nobody has seen whole.
    pub fn always(&mut self, call: &Call) {
        if call.unseen == 0 {
            self.0.insert(wording(call));
        }
    }

    fn knows(&self, call: &Call) -> bool {
        self.0.contains(&wording(call))
    }
}

/// Of a command all of it: what people read of it may be its first line only. A tool of which nobody knows what it
/// does may be a command, too.
fn wording(call: &Call) -> [u8; 32] {
    let mut digest = Sha256::new();
    digest.update(&call.tool);
    digest.update([0]);
    digest.update(call.name.as_deref().unwrap_or_default());
    match call.kind.as_str() {
        "read" | "search" | "edit" | "delete" | "move" | "fetch" | "think" => {}
        _ => {
            digest.update([0]);
            digest.update(&call.input);
        }
    }
    digest.finalize().into()
}

impl Rules {
    /// The first rule that fits decides; what no rule knows is asked.
    pub fn judge(&self, call: &Call, scope: &Scope, remembered: &Remembered) -> Verdict {
        let verdict = |decision, level, reason: String| Verdict { decision, level, reason };
        let input = read(&call.input);
        let everything = command::everything(call, &input);
        if let Some(rule) = self.denied(call, &input, &everything) {
            return verdict(Decision::Deny, Level::Critical, rule.to_owned());
        }
        let danger = self.danger(call, &input, scope);
        if let Danger::Denied(reason) = danger {
            return verdict(Decision::Deny, Level::Critical, reason);
        }
        if let Some(misplaced) = placement::misplaced(call, &input, scope) {
            return misplaced;
        }
        if call.unseen > 0 {
            let reason =
                format!("{} bytes of it are too much to judge; nobody has seen them", call.unseen);
            return verdict(Decision::Ask, Level::Critical, reason);
        }
        let risk = self.risk(call);
        let level = risk.map_or(Level::Warn, |risk| risk.level);
        let (level, why) = match danger {
            Danger::Critical(reason) => (Level::Critical, Some(reason)),
            Danger::None | Danger::Denied(_) => (level, None),
        };
        if self.always_asked(&everything) {
            let reason = why.unwrap_or_else(|| "this is always asked".to_owned());
            return verdict(Decision::Ask, level, reason);
        }
        if self.never_asked(call) {
            return verdict(Decision::Allow, level, "this is never asked".to_owned());
        }
        if remembered.knows(call) {
            let reason = "the user does not want to be asked about this tool again".to_owned();
            return verdict(Decision::Allow, level, reason);
        }
        // The kind says what a tool is, and not what it does this time.
        if let Some(reason) = why {
            return verdict(Decision::Ask, level, reason);
        }
        match risk {
            Some(risk) => verdict(risk.decision, level, format!("risk: {}", risk.name)),
            None => verdict(Decision::Ask, level, "no rule knows this tool".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests;
