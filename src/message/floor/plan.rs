//! The floor, where it lies on its picture, and where the rooms lie on it.

use super::FloorError;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Floor {
    First,
}

impl Floor {
    pub const ALL: [Self; 1] = [Self::First];

    pub fn id(self) -> &'static str {
        match self {
            Self::First => "1F",
        }
    }

    /// File name of its picture.
    pub fn picture(self) -> &'static str {
        match self {
            Self::First => "OSM_floor.png",
        }
    }

    pub fn find(id: &str) -> Result<Self, FloorError> {
        Self::ALL
            .into_iter()
            .find(|one| one.id().eq_ignore_ascii_case(id.trim()))
            .ok_or_else(|| FloorError::Floor(FloorError::quote(id)))
    }

    pub fn coordinates(self) -> CoordinateSystem {
        match self {
            Self::First => CoordinateSystem {
                top_left: Pixel { across: 95.86, down: 133.92 },
                bottom_right: Pixel { across: 757.37, down: 470.40 },
            },
        }
    }
}

/// How the coordinates of the plan lie on its picture. They begin at the top left; y grows downwards.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CoordinateSystem {
    pub top_left: Pixel,
    pub bottom_right: Pixel,
}

impl CoordinateSystem {
    /// The plan's width and height in its own coordinates.
    pub const SIZE: (f64, f64) = (500.0, 200.0);

    /// Pixels for each unit across, and for each unit down.
    pub fn scale(self) -> (f64, f64) {
        let across = self.bottom_right.across - self.top_left.across;
        let down = self.bottom_right.down - self.top_left.down;
        (across / Self::SIZE.0, down / Self::SIZE.1)
    }
}

/// A point of the picture, in pixels.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pixel {
    pub across: f64,
    pub down: f64,
}

/// Where a room lies, in the plan's coordinates. Rooms were measured by hand, so a border can lie a unit outside.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Area {
    pub left: f64,
    pub top: f64,
    pub right: f64,
    pub bottom: f64,
}

impl Area {
    pub fn width(self) -> f64 {
        self.right - self.left
    }

    pub fn height(self) -> f64 {
        self.bottom - self.top
    }
}
