//! Questions to the user about tool calls, their answers, and what is written down about them.

use super::{AgentSlot, RunId};
use std::fmt;

/// One question; random, so that nobody answers what they have not seen.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ConfirmId(String);

impl ConfirmId {
    /// Without random numbers the id could be guessed, but still only by the session's own user.
    pub fn random() -> Self {
        let (high, low) = (getrandom::u64().unwrap_or(0), getrandom::u64().unwrap_or(0));
        Self(format!("{high:016x}{low:016x}"))
    }

    pub fn new(text: &str) -> Self {
        Self(text.to_owned())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ConfirmId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

/// May this agent do this?
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Confirmation {
    pub id: ConfirmId,
    pub agent: AgentSlot,
    /// What people call it who answer in words; counts up on each channel.
    pub number: u32,
    /// What the agent knows the call by; empty if it has no name.
    pub call: String,
    pub tool: String,
    /// As the agent wrote it, mostly JSON; long ones lose their end.
    pub input: String,
    /// What would change in files, as a unified diff, if the agent tells.
    pub diff: Option<String>,
    pub level: WarningLevel,
    pub reason: String,
    /// After this long nobody answering means no.
    pub seconds: u64,
}

/// How much a mistake would cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WarningLevel {
    Info,
    Warn,
    Critical,
}

impl WarningLevel {
    pub const ALL: [Self; 3] = [Self::Info, Self::Warn, Self::Critical];

    pub fn name(self) -> &'static str {
        match self {
            Self::Info => "INFO",
            Self::Warn => "WARN",
            Self::Critical => "CRITICAL",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Confirmed {
    Approved,
    Refused,
}

/// Who or what decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DecidedBy {
    User,
    /// Nobody answered in time.
    Time,
    /// The run ended, or its agent died.
    End,
    /// The policy alone.
    Rule,
    /// The agent did not ask.
    Nobody,
}

impl DecidedBy {
    pub const ALL: [Self; 5] = [Self::User, Self::Time, Self::End, Self::Rule, Self::Nobody];

    pub fn name(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Time => "time",
            Self::End => "end",
            Self::Rule => "rule",
            Self::Nobody => "nobody",
        }
    }
}

/// One decision, as it is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditEntry {
    pub agent: AgentSlot,
    pub run: RunId,
    /// What the agent knows the call by; empty if it has no name.
    pub call: String,
    pub tool: String,
    pub input: String,
    pub confirmed: Confirmed,
    pub by: DecidedBy,
    pub reason: String,
}
