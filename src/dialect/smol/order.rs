//! Orders for the floor plan as frames.

use super::parser::{Output, ShownMap};
use crate::message::floor::FloorOrder;
use serde_json::Value;

/// `now` is the time of a map, as ISO 8601.
pub(super) fn frame(order: &FloorOrder, now: &str) -> Value {
    let output = match order {
        FloorOrder::DrawArrow(arrow) => Output::Arrow(*arrow),
        FloorOrder::ClearArrows => Output::ClearArrows,
        FloorOrder::ShowMap(map) => Output::Map(ShownMap { map: map.clone(), timestamp: None }),
        FloorOrder::ClearMap => Output::ClearMap,
    };
    output.frame(now)
}
