//! The gate before every tool call that reaches us: allow, deny, or ask the user. Rules are data; this only applies
//! them, in a fixed order. Pure: knows neither agents nor sockets, and touches the disk only to follow links.

mod breaker;
mod pattern;
mod risk;
mod rules;
mod scope;

pub use breaker::{Breaker, Limits, Tripped};
pub use rules::{Rules, RulesError};
pub use scope::Scope;

use std::collections::HashSet;
use std::path::PathBuf;

/// What an agent wants to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// What the agent calls the tool; for shells the command line itself is part of it.
    pub tool: String,
    /// ACP's word for what it does: `read`, `edit`, `execute` and so on.
    pub kind: String,
    /// As the agent wrote it, mostly JSON.
    pub input: String,
    /// What it says it touches.
    pub paths: Vec<PathBuf>,
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

/// Tools that the user of this session does not want to be asked about again.
#[derive(Debug, Default, Clone)]
pub struct Remembered(HashSet<String>);

impl Remembered {
    pub fn always(&mut self, call: &Call) {
        self.0.insert(wording(call));
    }

    fn knows(&self, call: &Call) -> bool {
        self.0.contains(&wording(call))
    }
}

/// Of a command all of it: what people read of it may be its first line only. A tool of which nobody knows what it
/// does may be a command, too.
fn wording(call: &Call) -> String {
    match call.kind.as_str() {
        "read" | "search" | "edit" | "delete" | "move" | "fetch" | "think" => call.tool.clone(),
        _ => format!("{}\0{}", call.tool, call.input),
    }
}

impl Rules {
    /// The first rule that fits decides; what no rule knows is asked.
    pub fn judge(&self, call: &Call, scope: &Scope, remembered: &Remembered) -> Verdict {
        let verdict = |decision, level, reason: String| Verdict { decision, level, reason };
        if let Some(rule) = self.denied(call) {
            return verdict(Decision::Deny, Level::Critical, rule.to_owned());
        }
        if let Err(path) = scope.holds_all(&call.paths) {
            let reason = format!("{} is outside the place of work", path.display());
            return verdict(Decision::Deny, Level::Critical, reason);
        }
        let risk = self.risk(call);
        let level = risk.map_or(Level::Warn, |risk| risk.level);
        if self.always_asked(call) {
            return verdict(Decision::Ask, level, "this is always asked".to_owned());
        }
        if self.never_asked(call) {
            return verdict(Decision::Allow, level, "this is never asked".to_owned());
        }
        if remembered.knows(call) {
            let reason = "the user does not want to be asked about this tool again".to_owned();
            return verdict(Decision::Allow, level, reason);
        }
        match risk {
            Some(risk) => verdict(risk.decision, level, format!("risk: {}", risk.name)),
            None => verdict(Decision::Ask, level, "no rule knows this tool".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests;
