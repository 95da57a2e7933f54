//! The floor plan that agents draw on: its floor, rooms and bitmaps, and the orders that change what it shows. Every value
//! is checked when it is made, so an order that exists can be drawn. How orders look on a wire is not known here.

mod bitmap;
mod color;
mod direction;
mod error;
mod map;
mod number;
mod plan;
mod room;
mod show_map;

#[cfg(test)]
mod tests;

pub use bitmap::Bitmap;
pub use color::Color;
pub use direction::Direction;
pub use error::FloorError;
pub use map::{FloorMap, Highlight, Label, NameShown, Overlay, OverlayKind, Place};
pub use number::{FontSize, Opacity, Spot};
pub use plan::{Area, CoordinateSystem, Floor, Pixel};
pub use room::Room;
pub use show_map::ShowMap;

/// A change of what the floor plan shows.
#[derive(Debug, Clone, PartialEq)]
pub enum FloorOrder {
    DrawArrow(Arrow),
    ClearArrows,
    ShowMap(FloorMap),
    ClearMap,
}

impl FloorOrder {
    /// What agents call it.
    pub fn name(&self) -> &'static str {
        match self {
            Self::DrawArrow(_) => "draw_arrow",
            Self::ClearArrows => "clear_arrows",
            Self::ShowMap(_) => "show_map",
            Self::ClearMap => "clear_map",
        }
    }
}

/// An arrow in a room.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Arrow {
    pub room: Room,
    pub direction: Direction,
}

impl Arrow {
    /// Reads both words as agents write them, in any case.
    pub fn read(room: &str, direction: &str) -> Result<Self, FloorError> {
        Ok(Self { room: Room::find(room)?, direction: Direction::find(direction)? })
    }
}
