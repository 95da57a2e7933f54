//! One thing that a page can show.

use super::{Image, PointMap};
use crate::message::floor::{Arrow, FloorMap, FloorOrder, Room};

#[derive(Debug, Clone, PartialEq)]
pub enum Output {
    Code(Code),
    Text(String),
    Error(String),
    Picture(Picture),
    /// Points of the world.
    Points(PointMap),
    /// Rooms that the text names, in the order of [`Room::ALL`].
    Rooms(Vec<Room>),
    Arrow(Arrow),
    ClearArrows,
    Map(ShownMap),
    ClearMap,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Code {
    pub content: String,
    pub language: String,
    pub origin: CodeOrigin,
}

/// Where code was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CodeOrigin {
    /// It was run; the label says in which step.
    Step(String),
    /// Between fences or below a label.
    Written,
    Logs,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Picture {
    pub image: Image,
    /// The ending of the file's name, as it is spelled there, or the kind that a data URI names.
    pub format: String,
    /// `None` for an image that was not a file.
    pub path: Option<String>,
}

/// A map of the floor, and when the agent made it, if it said so.
#[derive(Debug, Clone, PartialEq)]
pub struct ShownMap {
    pub map: FloorMap,
    pub timestamp: Option<String>,
}

impl From<FloorOrder> for Output {
    fn from(order: FloorOrder) -> Self {
        match order {
            FloorOrder::DrawArrow(arrow) => Self::Arrow(arrow),
            FloorOrder::ClearArrows => Self::ClearArrows,
            FloorOrder::ShowMap(map) => Self::Map(ShownMap { map, timestamp: None }),
            FloorOrder::ClearMap => Self::ClearMap,
        }
    }
}

impl Output {
    /// The order for the floor plan that this is, if it is one.
    pub fn floor_order(&self) -> Option<FloorOrder> {
        match self {
            Self::Arrow(arrow) => Some(FloorOrder::DrawArrow(*arrow)),
            Self::ClearArrows => Some(FloorOrder::ClearArrows),
            Self::Map(shown) => Some(FloorOrder::ShowMap(shown.map.clone())),
            Self::ClearMap => Some(FloorOrder::ClearMap),
            Self::Code(_)
            | Self::Text(_)
            | Self::Error(_)
            | Self::Picture(_)
            | Self::Points(_)
            | Self::Rooms(_) => None,
        }
    }
}
