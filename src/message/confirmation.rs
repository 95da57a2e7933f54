//! Approval questions about tool calls, their answers, and the audit entries about them.

use super::{Caller, Channel, RunId};
use std::fmt;
use std::net::IpAddr;

/// Id of an approval question. It is random, so that nobody can answer a question they have not seen.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ConfirmId(String);

impl ConfirmId {
    /// Without a random source the id can be guessed, but only the session's own user can use it.
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

/// A question to the user: may the caller make this tool call?
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Confirmation {
    pub id: ConfirmId,
    pub caller: Caller,
    /// The channel that asks. The question is copied to other channels, too.
    pub channel: Channel,
    /// Short number for answers in words; counts up on each channel.
    pub number: u32,
    /// The caller's own id for the call; empty if it has none.
    pub call: String,
    pub tool: String,
    /// The tool's own name, such as `file:read`; `None` if the caller does not tell it.
    pub name: Option<String>,
    /// As the caller sent it, mostly JSON; long inputs are cut off at the end.
    pub input: String,
    /// The file changes as a unified diff, if the caller provides them.
    pub diff: Option<String>,
    pub level: WarningLevel,
    pub reason: String,
    /// Timeout in seconds; no answer means refused.
    pub seconds: u64,
}

/// How much damage a wrong approval could do.
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

/// Who decided about a tool call: the user, a timeout, the end of the run, a rule, or nobody.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DecidedBy {
    User,
    /// The question timed out.
    Time,
    /// The run ended or its agent died before an answer.
    End,
    /// The rules decided without asking.
    Rule,
    /// The caller made the call without asking.
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

/// One decision in the audit log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditEntry {
    pub caller: Caller,
    pub run: RunId,
    /// The caller's own id for the call; empty if it has none.
    pub call: String,
    pub tool: String,
    /// The tool's own name, such as `file:read`; `None` if the caller does not tell it.
    pub name: Option<String>,
    pub input: String,
    /// `None` if nobody has judged the call.
    pub level: Option<WarningLevel>,
    /// Where the user is who asked for the run.
    pub address: Option<IpAddr>,
    pub confirmed: Confirmed,
    pub by: DecidedBy,
    pub reason: String,
}
