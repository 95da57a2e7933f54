//! Tool calls that were still open when the gateway died during a run, and the decisions about them.

use super::reader::SessionRecord;
use super::{SessionKey, StoreError, record};
use crate::message::{
    Caller, Channel, Confirmation, Confirmed, DecidedBy, Event, Run, RunId, ToolNote, ToolState,
};
use rusqlite::{Connection, params};
use std::collections::HashSet;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenCall {
    pub caller: Caller,
    pub channel: Channel,
    pub run: RunId,
    /// The last note about the call.
    pub note: ToolNote,
    /// `None`: no decision about this call is known.
    pub decided: Option<(Confirmed, DecidedBy)>,
}

/// The open calls of the session's interrupted runs.
pub(super) fn find(
    connection: &Connection,
    session: &SessionRecord,
) -> Result<Vec<OpenCall>, StoreError> {
    let mut found = Vec::new();
    for run in &session.running {
        let caller = match run.channel {
            Channel::Chat => Caller::Chat,
            Channel::Agent(agent) => Caller::Agent(agent),
            Channel::Audio | Channel::Input | Channel::File => continue,
        };
        let (since, notes) = open_notes(connection, session.key, run)?;
        if notes.is_empty() {
            continue;
        }
        let mut known = decisions(connection, session.key, caller, run.id, since)?;
        let asked = session.questions.iter().filter(|asked| asked.caller == caller);
        known.extend(asked.map(Decision::unanswered));
        found.extend(notes.into_iter().map(|note| {
            let about = known.iter().rev().find(|decision| decision.call == note.id);
            let decided = about.map(|known| known.decided);
            OpenCall { caller, channel: run.channel, run: run.id, note, decided }
        }));
    }
    Ok(found)
}

/// When the run began, and its open calls in the order of their last notes. Reads back only to the start of the run.
fn open_notes(
    connection: &Connection,
    key: SessionKey,
    run: &Run,
) -> Result<(i64, Vec<ToolNote>), StoreError> {
    let mut query = connection.prepare_cached(
        "SELECT at, kind, body FROM events WHERE session = ?1 AND channel = ?2
         AND kind IN ('tool', 'run_started') ORDER BY seq DESC",
    )?;
    let mut rows = query.query(params![key.0, record::channel_number(run.channel)])?;
    let (mut seen, mut open) = (HashSet::new(), Vec::new());
    while let Some(row) = rows.next()? {
        let (at, kind, body): (i64, String, String) = (row.get(0)?, row.get(1)?, row.get(2)?);
        match record::read_event(&kind, &body, None) {
            Some(Event::Tool(note)) => {
                if seen.insert(note.id.clone()) && note.state == ToolState::Started {
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
    call: String,
    decided: (Confirmed, DecidedBy),
}

impl Decision {
    /// A question without an answer counts as refused, because its run has ended.
    fn unanswered(asked: &Confirmation) -> Self {
        Self { call: asked.call.clone(), decided: (Confirmed::Refused, DecidedBy::End) }
    }
}

/// Decisions about the calls of a run, oldest first.
fn decisions(
    connection: &Connection,
    key: SessionKey,
    caller: Caller,
    run: RunId,
    since: i64,
) -> Result<Vec<Decision>, StoreError> {
    let mut query = connection.prepare_cached(DECISIONS)?;
    let wanted = params![since, key.0, caller.name(), run.0.cast_signed()];
    let mut rows = query.query(wanted)?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let (call, approved, by): (String, bool, String) = (row.get(0)?, row.get(1)?, row.get(2)?);
        let confirmed = if approved { Confirmed::Approved } else { Confirmed::Refused };
        let by = DecidedBy::ALL.into_iter().find(|one| one.name() == by);
        found.extend(by.map(|by| Decision { call, decided: (confirmed, by) }));
    }
    Ok(found)
}

pub(super) const DECISIONS: &str = "SELECT call, approved, decided_by FROM audit INDEXED BY audit_by_age
     WHERE at >= ?1 AND session = (SELECT id FROM sessions WHERE key = ?2) AND caller = ?3 AND run = ?4
     AND call <> '' AND decided_by <> 'nobody' ORDER BY key";
