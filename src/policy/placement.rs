//! Whether what a call touches lies where the agent may touch it.

use super::mention;
use super::scope::{Lies, Scope};
use super::{Call, Decision, Level, Verdict};
use serde_json::Value;
use std::path::Path;

/// What a call does with files, as far as its kind tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Does {
    Read,
    Change,
    /// It works on this machine, but nobody knows how.
    Run,
    Unknown,
}

/// How we know about a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Heard {
    /// The agent says that the call touches it.
    Told,
    /// A key of the input is called like one.
    Named,
    /// It reads like one.
    Guessed,
}

/// What is said about paths that are not in the place of work, if there are any.
pub(super) fn misplaced(call: &Call, input: &Value, scope: &Scope) -> Option<Verdict> {
    let mentioned = mention::find(call, input);
    let ruled = |paths, heard| {
        let (lies, path): (Lies, &Path) = scope.farthest(paths)?;
        Some((decided(lies, does(&call.kind), heard)?, path))
    };
    let found = [
        ruled(&call.paths, Heard::Told),
        ruled(&mentioned.paths, Heard::Named),
        ruled(&mentioned.guesses, Heard::Guessed),
    ];
    let mut found = found.into_iter().flatten();
    let first = found.next()?;
    let (decision, path) = found.find(|(decision, _)| *decision == Decision::Deny).unwrap_or(first);
    let reason = format!("{} is outside the place of work", path.display());
    Some(Verdict { decision, level: Level::Critical, reason })
}

/// `None`: nothing speaks against it.
fn decided(lies: Lies, does: Does, heard: Heard) -> Option<Decision> {
    match (lies, does, heard) {
        (Lies::Inside, _, _) | (Lies::Readable, Does::Read, _) => None,
        (Lies::Readable, Does::Run | Does::Unknown, _) => Some(Decision::Ask),
        // It may be a path on a server, or none at all; the user can tell.
        (Lies::Outside, Does::Unknown, Heard::Named) | (_, _, Heard::Guessed) => {
            Some(Decision::Ask)
        }
        (Lies::Readable, Does::Change, _) | (Lies::Outside, _, _) => Some(Decision::Deny),
    }
}

fn does(kind: &str) -> Does {
    match kind {
        "read" | "search" => Does::Read,
        "edit" | "delete" | "move" => Does::Change,
        "execute" => Does::Run,
        _ => Does::Unknown,
    }
}
