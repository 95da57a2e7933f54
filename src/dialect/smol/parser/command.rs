//! Orders for the floor plan as the tools of agents print them: `ARROW_COMMAND: room=Kitchen, direction=left`,
//! `CLEAR_ARROWS_COMMAND`, `MAP_COMMAND: {..}` and `CLEAR_MAP_COMMAND`. They can stand anywhere in a text.

use super::map_wire::{self, MapWire};
use super::{Output, ShownMap, limit};
use crate::message::floor::{Arrow, FloorError, FloorOrder};
use serde_json::Value;

const END: &str = "_COMMAND";
/// The longest word before it: `CLEAR_ARROWS`.
const MAX_NAME: usize = 12;
/// Bytes after `ARROW_COMMAND:` that are looked at.
const MAX_ARROW: usize = 200;

/// The orders of a text, in order. One that cannot be drawn is refused; one that cannot be read is none.
pub fn commands(text: &str) -> impl Iterator<Item = Result<Output, FloorError>> {
    text.match_indices(END).filter_map(|(at, _)| read(text, at))
}

/// The order as a tool prints it. `now` is its time, as ISO 8601.
pub fn written(order: &FloorOrder, now: &str) -> String {
    match order {
        FloorOrder::DrawArrow(Arrow { room, direction }) => {
            format!("ARROW_COMMAND: room={}, direction={}", room.name(), direction.word())
        }
        FloorOrder::ClearArrows => "CLEAR_ARROWS_COMMAND".to_owned(),
        FloorOrder::ShowMap(map) => format!("MAP_COMMAND: {}", map_wire::content(map, now)),
        FloorOrder::ClearMap => "CLEAR_MAP_COMMAND".to_owned(),
    }
}

fn read(text: &str, at: usize) -> Option<Result<Output, FloorError>> {
    let rest = text.get(at + END.len()..)?;
    if rest.starts_with(|one: char| one.is_ascii_alphanumeric() || one == '_') {
        return None;
    }
    match name(text, at)? {
        "ARROW" => arrow(rest.strip_prefix(':')?),
        "CLEAR_ARROWS" => Some(Ok(Output::ClearArrows)),
        "MAP" => map(rest.strip_prefix(':')?),
        "CLEAR_MAP" => Some(Ok(Output::ClearMap)),
        _ => None,
    }
}

/// The whole word before the end; `None` if it is longer than any that is known.
fn name(text: &str, at: usize) -> Option<&str> {
    let before = text.as_bytes().get(..at)?;
    let is_part = |one: &&u8| one.is_ascii_alphanumeric() || **one == b'_';
    let length = before.iter().rev().take(MAX_NAME + 1).take_while(is_part).count();
    text.get(at - length..at)
}

fn arrow(rest: &str) -> Option<Result<Output, FloorError>> {
    let line = limit::start(rest, MAX_ARROW).lines().next()?.trim_start();
    let (room, rest) = word(line.strip_prefix("room=")?);
    let rest = rest.trim_start().strip_prefix(',')?.trim_start();
    let (direction, _) = word(rest.strip_prefix("direction=")?);
    Some(Arrow::read(room, direction).map(Output::Arrow))
}

fn word(text: &str) -> (&str, &str) {
    let is_part = |one: u8| one.is_ascii_alphanumeric() || one == b'_';
    let end = text.bytes().position(|one| !is_part(one)).unwrap_or(text.len());
    text.split_at_checked(end).unwrap_or((text, ""))
}

/// The JSON ends where its braces are balanced; what follows does not matter. JSON that is broken stops the reader where it
/// breaks, so many beginnings in one text are cheap.
fn map(rest: &str) -> Option<Result<Output, FloorError>> {
    let json = limit::start(rest, limit::MAX_COMMAND).trim_start();
    if !json.starts_with('{') {
        return None;
    }
    let mut values = serde_json::Deserializer::from_str(json).into_iter::<Value>();
    let value = values.next()?.ok()?;
    Some(MapWire::read(value).map(|(map, timestamp)| Output::Map(ShownMap { map, timestamp })))
}
