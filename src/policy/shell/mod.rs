//! What a shell command may destroy, judged by what it contains. It is read as a shell would read it, so that neither
//! quotes nor variables, wrappers, other shells or line breaks hide anything; what cannot be read counts as dangerous.
//! Nothing runs here, and the disk is touched only to follow links.
//!
//! The parser is our own: those that exist recurse without a limit, and what they are given here comes from whoever
//! has talked to the agent.

mod builtin;
mod code;
mod container;
mod danger;
mod environment;
mod fetch;
mod field;
mod find;
mod git;
mod interpreter;
mod outside;
mod parse;
mod perhaps;
mod recipe;
mod run;
mod script;
mod sed;
mod sql;
mod suffix;
mod syntax;
mod trusted;
mod walk;
mod word;
mod wrapper;

use self::field::{Feed, Field};
use self::walk::{Dirs, Walker};
use super::Scope;
use super::pattern::Pattern;
use serde::Deserialize;

/// The worst that may come of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Danger {
    None,
    /// The user is asked, and answers twice.
    Critical(String),
    /// Refused whatever the user says.
    Denied(String),
}

impl Danger {
    pub(super) fn rank(&self) -> u8 {
        match self {
            Self::None => 0,
            Self::Critical(_) => 1,
            Self::Denied(_) => 2,
        }
    }
}

/// `[shell]` of `policy.toml`: programs by name, or by their whole command line.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Programs {
    deny: Vec<Pattern>,
    critical: Vec<Pattern>,
}

impl Programs {
    fn is_denied(&self, name: &str) -> bool {
        self.deny.iter().any(|pattern| pattern.fits(name))
    }

    fn is_critical(&self, name: &str, arguments: &[Field]) -> bool {
        let line = format!("{name} {}", run::joined(arguments));
        self.critical.iter().any(|pattern| pattern.fits(name) || pattern.fits(line.trim_end()))
    }
}

/// A text that may run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Command {
    /// A shell reads it.
    Script(String),
    /// One program with its arguments.
    Arguments(Vec<String>),
    /// It may as well be no command at all: what cannot be read says nothing.
    Perhaps(String),
}

/// Whether a shell would take this at all.
pub(super) fn is_readable(text: &str) -> bool {
    parse::parse(text, 0).is_ok()
}

/// `place` and `elsewhere` are where it may run.
pub(super) fn judge(
    command: &Command,
    programs: &Programs,
    scope: &Scope,
    elsewhere: &[std::path::PathBuf],
) -> Danger {
    let mut dirs: Dirs = vec![Some(scope.place().to_owned())];
    dirs.extend(elsewhere.iter().map(|dir| Some(scope.place().join(dir))));
    let lenient = matches!(command, Command::Perhaps(_));
    let mut walker = Walker::new(scope, programs, lenient);
    let is_strange = |text: &str| text.contains(parse::is_reserved);
    match command {
        Command::Script(text) | Command::Perhaps(text) if is_strange(text) => {
            walker.unknown(reason::UNREADABLE)
        }
        Command::Script(text) | Command::Perhaps(text) => {
            walker.text(text, &dirs, &Feed::Nothing);
        }
        Command::Arguments(texts) if texts.iter().any(|text| is_strange(text)) => {
            walker.unknown(reason::UNREADABLE);
        }
        Command::Arguments(texts) => {
            let argv: Vec<_> = texts.iter().map(Field::new).collect();
            walker.command(&argv, &dirs, &Feed::Nothing);
        }
    }
    walker.danger
}

/// What people read, and models after a refusal.
mod reason {
    pub(super) const RIGHTS: &str = "agents do not get more rights than the gateway has";
    pub(super) const DISK: &str = "it would overwrite a disk";
    pub(super) const FORKS: &str = "it would fill the machine with processes";
    pub(super) const REMOVES: &str = "it removes whole directories";
    pub(super) const REMOVES_OUTSIDE: &str = "it removes something outside the place of work";
    pub(super) const REMOVES_UNKNOWN: &str = "what it removes is not known before it runs";
    pub(super) const LOSES: &str = "it throws away work that git has not kept";
    pub(super) const PUSHES_OVER: &str = "it replaces what is on another git server";
    pub(super) const OVERWRITES: &str = "it destroys data, or stops a machine or a service";
    pub(super) const WRITES_OUTSIDE: &str = "it changes something outside the place of work";
    pub(super) const DATA: &str = "it deletes data of a database for good";
    pub(super) const LEAVES: &str = "it gets at the whole machine";
    pub(super) const RIGHTS_OF_ALL: &str = "it changes the rights or owners of whole directories";
    pub(super) const DEVICE: &str = "it writes to a device";
    pub(super) const DOWNLOADED: &str = "it runs what it has just downloaded";
    pub(super) const UNKNOWN: &str = "what it runs is not known before it runs";
    pub(super) const UNREADABLE: &str = "it cannot be read as a shell command";
    pub(super) const PERHAPS: &str = "it may run a command that is not allowed";
}

#[cfg(test)]
mod tests;
