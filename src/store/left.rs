//! Calls of tools that a run left without an end when it was cut off, and what had been decided about them.

use super::reader::SessionRecord;
use super::{SessionKey, StoreError, record};
use crate::message::{
    AgentSlot, Channel, Confirmation, Confirmed, DecidedBy, Event, Run, RunId, ToolNote, ToolState,
};
use rusqlite::{Connection, params};
use std::collections::HashSet;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftCall {
    pub agent: AgentSlot,
    pub run: RunId,
    /// As it was told last.
    pub note: ToolNote,
    /// `None`: as far as is known nobody was asked about it.
    pub decided: Option<(Confirmed, DecidedBy)>,
}

/// Of the runs and open questions that the session is known to have.
pub(super) fn calls(
    connection: &Connection,
    session: &SessionRecord,
) -> Result<Vec<LeftCall>, StoreError> {
    let mut left = Vec::new();
    for run in &session.running {
        let Channel::Agent(agent) = run.channel else { continue };
        let (since, notes) = open(connection, session.key, run)?;
        if notes.is_empty() {
            continue;
        }
        let mut known = decisions(connection, session.key, agent, run.id, since)?;
        let asked = session.questions.iter().filter(|asked| asked.agent == agent);
        known.extend(asked.map(Decision::missing));
        left.extend(notes.into_iter().map(|note| {
            let about = known.iter().rev().find(|decision| decision.is_about(&note));
            let decided = about.map(|known| known.decided);
            LeftCall { agent, run: run.id, note, decided }
        }));
    }
    Ok(left)
}

/// When the run began, and its calls that are open, in the order of their last news. Looks only at what came since.
fn open(
    connection: &Connection,
    key: SessionKey,
    run: &Run,
) -> Result<(i64, Vec<ToolNote>), StoreError> {
    let mut query = connection.prepare_cached(
        "SELECT at, kind, body FROM events WHERE session = ?1 AND channel = ?2
         AND kind IN ('tool', 'run_started') ORDER BY seq DESC",
    )?;
    let mut rows = query.query(params![key.0, record::channel_number(run.channel)])?;
    let (mut told, mut open) = (HashSet::new(), Vec::new());
    while let Some(row) = rows.next()? {
        let (at, kind, body): (i64, String, String) = (row.get(0)?, row.get(1)?, row.get(2)?);
        match record::read_event(&kind, &body, None) {
            Some(Event::Tool(note)) => {
                if told.insert(note.id.clone()) && note.state == ToolState::Started {
                    open.push(note);
                }
            }
            Some(Event::RunStarted(started)) if started == run.id => {
                open.reverse();
                return Ok((at, open));
            }
            Some(Event::RunStarted(_)) => break,
            Some(_) | None => {}
        }
    }
    Ok((0, Vec::new()))
}

struct Decision {
    tool: String,
    input: String,
    decided: (Confirmed, DecidedBy),
}

impl Decision {
    /// Nobody has answered, and who asked is gone.
    fn missing(asked: &Confirmation) -> Self {
        let decided = (Confirmed::Refused, DecidedBy::End);
        Self { tool: asked.tool.clone(), input: asked.input.clone(), decided }
    }

    /// A call may get another title on its way, but no other input. Behind a long one stands how much is missing.
    fn is_about(&self, note: &ToolNote) -> bool {
        let told = note.input.as_deref().unwrap_or_default();
        if told.is_empty() || self.input.is_empty() {
            return self.tool == note.name;
        }
        let rest = self.input.strip_prefix(told);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('\n'))
    }
}

/// The oldest first.
fn decisions(
    connection: &Connection,
    key: SessionKey,
    agent: AgentSlot,
    run: RunId,
    since: i64,
) -> Result<Vec<Decision>, StoreError> {
    let mut query = connection.prepare_cached(DECISIONS)?;
    let wanted = params![since, key.0, agent.number(), run.0.cast_signed()];
    let mut rows = query.query(wanted)?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let (approved, by): (bool, String) = (row.get(2)?, row.get(3)?);
        let confirmed = if approved { Confirmed::Approved } else { Confirmed::Refused };
        let by = DecidedBy::ALL.into_iter().find(|one| one.name() == by);
        let (tool, input) = (row.get(0)?, row.get(1)?);
        found.extend(by.map(|by| Decision { tool, input, decided: (confirmed, by) }));
    }
    Ok(found)
}

pub(super) const DECISIONS: &str = "SELECT tool, input, approved, decided_by FROM audit INDEXED BY audit_by_age
     WHERE at >= ?1 AND session = (SELECT id FROM sessions WHERE key = ?2) AND agent = ?3 AND run = ?4 ORDER BY key";

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(decided: (&str, &str), told: (&str, Option<&str>), expected: bool) {
        let (tool, input) = (decided.0.to_owned(), decided.1.to_owned());
        let decision = Decision { tool, input, decided: (Confirmed::Approved, DecidedBy::User) };
        let note = ToolNote {
            id: "t1".to_owned(),
            name: told.0.to_owned(),
            kind: "edit".to_owned(),
            state: ToolState::Started,
            input: told.1.map(str::to_owned),
            output: None,
            error: None,
            paths: Vec::new(),
            ungated: false,
        };
        assert_eq!(decision.is_about(&note), expected, "{decided:?} {told:?}");
    }

    #[test]
    fn a_decision_is_known_by_the_input_and_without_one_by_the_title() {
        check(("Write", "{\"a\":1}"), ("Write", Some("{\"a\":1}")), true);
        check(("Write", "{\"a\":1}"), ("Writes a", Some("{\"a\":1}")), true);
        check(("Write", "{\"a\":1}"), ("Write", Some("{\"a\":2}")), false);
        check(("Write", "ls -l"), ("Write", Some("ls")), false);
        check(("Write", "aaaa\n(9 more bytes)"), ("Write", Some("aaaa")), true);
        check(("Write", ""), ("Write", None), true);
        check(("Write", "{}"), ("Write", None), true);
        check(("Write", "{}"), ("Read", None), false);
    }
}
