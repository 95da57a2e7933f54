//! A map of the floor in the words of the page. What is missing has its usual value; what is unknown is not looked at.

use super::overlay_wire::OverlayWire;
use crate::message::floor::{
    Color, Floor, FloorError, FloorMap, Highlight, NameShown, Opacity, Room,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The content of a map's frame. `timestamp` is ISO 8601.
pub fn content(map: &FloorMap, timestamp: &str) -> Value {
    let wire = MapWire {
        floor_id: map.floor.id().to_owned(),
        timestamp: Some(timestamp.to_owned()),
        rectangles: map.highlights().iter().map(RectangleWire::from).collect(),
        overlays: map.overlays().iter().map(OverlayWire::from).collect(),
    };
    // All its keys are texts and all its numbers are finite, so nothing of it can fail.
    serde_json::to_value(wire).unwrap_or_default()
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct MapWire {
    floor_id: String,
    #[serde(default)]
    timestamp: Option<String>,
    #[serde(default)]
    rectangles: Vec<RectangleWire>,
    #[serde(default)]
    overlays: Vec<OverlayWire>,
}

impl MapWire {
    /// The map and its time.
    pub(super) fn read(value: Value) -> Result<(FloorMap, Option<String>), FloorError> {
        let wire: Self = serde_json::from_value(value).map_err(|error| {
            let allowed = "an object with floorId, rectangles and overlays";
            FloorError::form("map", &error.to_string(), allowed)
        })?;
        let rectangles: Result<_, _> = wire.rectangles.iter().map(RectangleWire::read).collect();
        let overlays: Result<_, _> = wire.overlays.iter().map(OverlayWire::read).collect();
        let map = FloorMap::new(Floor::find(&wire.floor_id)?, rectangles?, overlays?)?;
        Ok((map, wire.timestamp()))
    }

    /// The time that the agent names, if it looks like one: the page shows it.
    fn timestamp(&self) -> Option<String> {
        let is_part = |one: u8| one.is_ascii_digit() || b"-:.+TZ".contains(&one);
        let looks_like = |time: &&String| {
            let is_long = (20..=40).contains(&time.len());
            is_long && time.as_bytes().get(10) == Some(&b'T') && time.bytes().all(is_part)
        };
        self.timestamp.as_ref().filter(looks_like).cloned()
    }
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct RectangleWire {
    name: String,
    #[serde(default)]
    color: Option<String>,
    #[serde(default)]
    stroke_opacity: Option<f64>,
    #[serde(default)]
    fill_opacity: Option<f64>,
    #[serde(default)]
    show_name: Option<bool>,
}

impl RectangleWire {
    fn read(&self) -> Result<Highlight, FloorError> {
        let color = self.color.as_deref().map_or(Ok(Color::GOLD), Color::read)?;
        let name = if self.show_name.unwrap_or(true) { NameShown::Yes } else { NameShown::No };
        Ok(Highlight {
            room: Room::find(&self.name)?,
            color,
            stroke: self.stroke_opacity.map_or(Ok(Opacity::STROKE), Opacity::new)?,
            fill: self.fill_opacity.map_or(Ok(Opacity::FILL), Opacity::new)?,
            name,
        })
    }
}

impl From<&Highlight> for RectangleWire {
    fn from(one: &Highlight) -> Self {
        Self {
            name: one.room.name().to_owned(),
            color: Some(one.color.to_string()),
            stroke_opacity: Some(one.stroke.value()),
            fill_opacity: Some(one.fill.value()),
            show_name: Some(matches!(one.name, NameShown::Yes)),
        }
    }
}
