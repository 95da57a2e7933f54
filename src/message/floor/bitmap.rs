//! The bitmaps that can lie on the floor plan: an arrow for each direction.

use super::{Direction, FloorError};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Bitmap {
    Arrow(Direction),
}

impl Bitmap {
    /// Width and height in pixels.
    pub const SIDE: u32 = 64;

    pub fn all() -> [Self; Direction::ALL.len()] {
        Direction::ALL.map(Self::Arrow)
    }

    pub fn id(self) -> &'static str {
        match self {
            Self::Arrow(Direction::Up) => "arrow_up",
            Self::Arrow(Direction::Down) => "arrow_down",
            Self::Arrow(Direction::Left) => "arrow_left",
            Self::Arrow(Direction::Right) => "arrow_right",
        }
    }

    /// Name of its file.
    pub fn file(self) -> String {
        format!("{}.bmp", self.id())
    }

    pub fn find(id: &str) -> Result<Self, FloorError> {
        Self::all()
            .into_iter()
            .find(|one| one.id() == id.trim())
            .ok_or_else(|| FloorError::Bitmap(FloorError::quote(id)))
    }
}
