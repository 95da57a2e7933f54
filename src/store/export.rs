//! Exports a session as text for people and programs. One transaction reads everything, so later writes are not in it.

use super::summary::{Scope, find, time};
use super::{StoreError, mention, outside_id, record};
use crate::message::{Channel, Principal, SessionId};
use jiff::Timestamp;
use rusqlite::{Connection, Row, params};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::io::Write;
use std::time::SystemTime;

/// Format version, raised with every change that breaks programs that read the previous one.
const FORMAT: u32 = 2;

/// Data about an exported session apart from its events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exported {
    pub principal: Principal,
    pub used: SystemTime,
    /// One JSON object.
    pub about: String,
}

/// Writes one line of JSON per event, channel by channel, and reports every file of the user that an event mentions.
/// `None`: there is no such session within this scope.
pub(super) fn export(
    connection: &Connection,
    scope: Scope<'_>,
    id: &SessionId,
    lines: &mut impl Write,
    mentioned: &mut dyn FnMut(&Principal, &str),
) -> Result<Option<Exported>, StoreError> {
    let transaction = connection.unchecked_transaction()?;
    let Some(found) = find(&transaction, scope, id)? else { return Ok(None) };
    let mut events = 0_u64;
    let mut query = transaction.prepare(
        "SELECT channel, seq, at, kind, body, blob FROM events WHERE session = ?1 ORDER BY channel, seq",
    )?;
    let mut rows = query.query(params![found.key.0])?;
    while let Some(row) = rows.next()? {
        let (kind, body): (String, String) = (row.get(3)?, row.get(4)?);
        mention::paths(&kind, &body, |path| mentioned(&found.principal, path));
        write_line(lines, row, &kind, &body)?;
        events += 1;
    }
    let (created, controls): (i64, String) = transaction.query_row(
        "SELECT created_at, controls FROM sessions WHERE key = ?1",
        params![found.key.0],
        |row| Ok((row.get(0)?, row.get(1)?)),
    )?;
    let outside_ids = outside_id::of_session(&transaction, found.key)?;
    let outside_id = |(dialect, id): &(String, String)| json!({"dialect": dialect, "id": id});
    let about = json!({
        "format": FORMAT,
        "id": id.as_str(),
        "principal": found.principal.as_str(),
        "created": shown(time(created)),
        "used": shown(found.used),
        "exported": shown(SystemTime::now()),
        "events": events,
        "switches": serde_json::from_str::<Value>(&controls).unwrap_or_default(),
        "outside_ids": outside_ids.iter().map(outside_id).collect::<Vec<_>>(),
    });
    let about = format!("{about:#}\n");
    Ok(Some(Exported { principal: found.principal, used: found.used, about }))
}

fn write_line(
    lines: &mut impl Write,
    row: &Row<'_>,
    kind: &str,
    body: &str,
) -> Result<(), StoreError> {
    // The body is copied as stored, so rows of a later version are exported too.
    let stored: Option<&RawValue> = serde_json::from_str(body).ok();
    let line = Line {
        channel: channel_name(row.get(0)?),
        seq: row.get(1)?,
        time: shown(time(row.get(2)?)),
        kind,
        body: stored,
        thumbnail: row
            .get::<_, Option<Vec<u8>>>(5)?
            .map(|picture| base64_simd::STANDARD.encode_to_string(picture)),
    };
    serde_json::to_writer(&mut *lines, &line).map_err(std::io::Error::from)?;
    lines.write_all(b"\n")?;
    Ok(())
}

#[derive(serde::Serialize)]
struct Line<'a> {
    channel: &'static str,
    seq: i64,
    time: String,
    kind: &'a str,
    body: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thumbnail: Option<String>,
}

fn channel_name(number: i64) -> &'static str {
    match record::read_channel(number) {
        Some(Channel::Audio) => "audio",
        Some(Channel::Input) => "input",
        Some(Channel::File) => "file",
        Some(Channel::Chat) => "0",
        Some(Channel::Agent(slot)) => ["1", "2", "3", "4"][usize::from(slot.number()) - 1],
        None => "unknown",
    }
}

/// RFC 3339 in UTC, to the millisecond.
fn shown(time: SystemTime) -> String {
    let time = Timestamp::try_from(time).unwrap_or(Timestamp::UNIX_EPOCH);
    time.strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string()
}
