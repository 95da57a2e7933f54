//! Numbers of the floor plan, each within its range.

use super::{CoordinateSystem, FloorError};

/// From 0 (not seen) to 1 (solid).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Opacity(f64);

impl Opacity {
    /// How strong the border of a marked room is.
    pub const STROKE: Self = Self(1.0);
    /// How strong the filling of a marked room is.
    pub const FILL: Self = Self(0.3);

    pub fn new(value: f64) -> Result<Self, FloorError> {
        within("opacity", value, 0.0, 1.0).map(Self)
    }

    pub fn value(self) -> f64 {
        self.0
    }
}

/// Size of a text in pixels.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FontSize(f64);

impl FontSize {
    pub const USUAL: Self = Self(14.0);

    pub fn new(value: f64) -> Result<Self, FloorError> {
        within("font size", value, 4.0, 200.0).map(Self)
    }

    pub fn value(self) -> f64 {
        self.0
    }
}

/// A point of the floor plan, or a distance on it, in the plan's own coordinates.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spot {
    x: f64,
    y: f64,
}

impl Spot {
    /// A point on the plan.
    pub fn new(x: f64, y: f64) -> Result<Self, FloorError> {
        let (width, height) = CoordinateSystem::SIZE;
        Ok(Self { x: within("x", x, 0.0, width)?, y: within("y", y, 0.0, height)? })
    }

    /// How far something lies from its place. No distance is longer than the plan.
    pub fn distance(x: f64, y: f64) -> Result<Self, FloorError> {
        let (width, height) = CoordinateSystem::SIZE;
        let x = within("offset x", x, -width, width)?;
        Ok(Self { x, y: within("offset y", y, -height, height)? })
    }

    pub fn x(self) -> f64 {
        self.x
    }

    pub fn y(self) -> f64 {
        self.y
    }
}

/// No number that is not one is within a range.
fn within(what: &'static str, value: f64, least: f64, most: f64) -> Result<f64, FloorError> {
    if value >= least && value <= most {
        return Ok(value);
    }
    Err(FloorError::Range { what, found: FloorError::quote(&value.to_string()), least, most })
}
