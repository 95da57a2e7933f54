//! Tools for the floor plan: they say what it shows from now on. Nothing is drawn here; whoever shows the plan draws.

use super::call::{Call, Outcome, Work, arguments};
use super::registry::{Risk, Tool};
use super::workplace::Workplace;
use crate::message::floor::{Arrow, FloorError, FloorOrder, ShowMap};
use serde::Deserialize;
use serde_json::Value;

pub(super) static DRAW_ARROW: Tool =
    tool("draw_arrow", |_, text| prepare(&DRAW_ARROW, text, arrow));
pub(super) static CLEAR_ARROWS: Tool =
    tool("clear_arrows", |_, text| prepare(&CLEAR_ARROWS, text, no_arrows));
pub(super) static SHOW_MAP: Tool = tool("show_map", |_, text| prepare(&SHOW_MAP, text, map));
pub(super) static CLEAR_MAP: Tool = tool("clear_map", |_, text| prepare(&CLEAR_MAP, text, no_map));

/// Wrong arguments are an error; a value that is not allowed is the inner one.
type Read = Result<Result<FloorOrder, FloorError>, String>;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ArrowArguments {
    room_name: String,
    direction: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MapArguments {
    floor_id: Option<String>,
    highlight_rooms: Option<String>,
    room_colors: Option<String>,
    show_names: Option<bool>,
    bitmap_overlays: Option<String>,
    text_overlays: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Nothing {}

/// They reach nothing but the plan, so they run unasked like what is computed.
const fn tool(name: &'static str, prepare: fn(&Workplace, &str) -> Result<Call, String>) -> Tool {
    Tool { name, risk: Risk::Compute, prepare }
}

/// What a call that was carried out has changed; `None`: it is no call for the plan.
pub fn floor_order(tool: &str, text: &str) -> Option<FloorOrder> {
    let read: fn(&str) -> Read = match tool {
        "draw_arrow" => arrow,
        "clear_arrows" => no_arrows,
        "show_map" => map,
        "clear_map" => no_map,
        _ => return None,
    };
    read(text).ok()?.ok()
}

fn prepare(
    tool: &'static Tool,
    text: &str,
    read: impl FnOnce(&str) -> Read,
) -> Result<Call, String> {
    let read = read(text)?;
    let input: Value = serde_json::from_str(text).map_err(|err| err.to_string())?;
    let values = ["room_name", "direction", "highlight_rooms"];
    let shown = |name: &'static str| Some((name, input.get(name)?.as_str()?.to_owned()));
    let title_values = values.into_iter().filter_map(shown).collect();
    let work = match read {
        Ok(order) => Work::Look(Box::new(move |_| said(&order))),
        Err(refused) => Work::Impossible(format!("Error: {refused}")),
    };
    Ok(Call { tool, input, title_values, path: None, lines: None, work })
}

/// In the words that the pages of the seed know.
fn said(order: &FloorOrder) -> Outcome {
    Ok(match order {
        FloorOrder::DrawArrow(Arrow { room, direction }) => {
            format!("ARROW_COMMAND: room={}, direction={}", room.name(), direction.word())
        }
        FloorOrder::ClearArrows => "CLEAR_ARROWS_COMMAND".to_owned(),
        FloorOrder::ShowMap(map) => format!("the plan of floor {} is shown", map.floor.id()),
        FloorOrder::ClearMap => "CLEAR_MAP_COMMAND".to_owned(),
    })
}

fn arrow(text: &str) -> Read {
    let ArrowArguments { room_name, direction } = arguments(&DRAW_ARROW, text)?;
    Ok(Arrow::read(&room_name, &direction).map(FloorOrder::DrawArrow))
}

fn no_arrows(text: &str) -> Read {
    let Nothing {} = arguments(&CLEAR_ARROWS, text)?;
    Ok(Ok(FloorOrder::ClearArrows))
}

fn map(text: &str) -> Read {
    let asked: MapArguments = arguments(&SHOW_MAP, text)?;
    let usual = ShowMap::default();
    let asked = ShowMap {
        floor_id: asked.floor_id.unwrap_or(usual.floor_id),
        highlight_rooms: asked.highlight_rooms.unwrap_or(usual.highlight_rooms),
        room_colors: asked.room_colors.unwrap_or(usual.room_colors),
        show_names: asked.show_names.unwrap_or(usual.show_names),
        bitmap_overlays: asked.bitmap_overlays.unwrap_or(usual.bitmap_overlays),
        text_overlays: asked.text_overlays.unwrap_or(usual.text_overlays),
    };
    Ok(asked.read().map(FloorOrder::ShowMap))
}

fn no_map(text: &str) -> Read {
    let Nothing {} = arguments(&CLEAR_MAP, text)?;
    Ok(Ok(FloorOrder::ClearMap))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::floor::{Direction, Room};
    use std::path::Path;

    #[test]
    fn an_order_is_read_and_a_wrong_value_says_what_is_allowed() {
        let text = r#"{"room_name": "kitchen", "direction": "LEFT"}"#;
        let arrow = Arrow { room: Room::Kitchen, direction: Direction::Left };
        assert_eq!(floor_order("draw_arrow", text), Some(FloorOrder::DrawArrow(arrow)));
        assert_eq!(floor_order("file:read", text), None);
        let place = Workplace::new(Path::new("/"), &[]);
        for (tool, text, allowed) in [
            (&DRAW_ARROW, r#"{"room_name": "Attic", "direction": "up"}"#, "Bathroom"),
            (&DRAW_ARROW, r#"{"room_name": "Kitchen", "direction": "sideways"}"#, "left"),
            (&SHOW_MAP, r#"{"floor_id": "9F"}"#, "1F"),
            (&SHOW_MAP, r#"{"highlight_rooms": "Kitchen", "room_colors": "red"}"#, "#RRGGBB"),
        ] {
            let call = tool.prepare(&place, text).unwrap();
            let why = call.impossible().unwrap();
            assert!(why.starts_with("Error: ") && why.contains(allowed), "{why}");
            assert_eq!(floor_order(tool.name, text), None);
        }
        assert!(SHOW_MAP.prepare(&place, r#"{"floor": "1F"}"#).is_err());
        assert!(DRAW_ARROW.prepare(&place, "{}").is_err());
    }
}
