//! Where an arrow points.

use super::FloorError;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Direction {
    Up,
    Down,
    Left,
    Right,
}

impl Direction {
    pub const ALL: [Self; 4] = [Self::Up, Self::Down, Self::Left, Self::Right];

    pub fn word(self) -> &'static str {
        match self {
            Self::Up => "up",
            Self::Down => "down",
            Self::Left => "left",
            Self::Right => "right",
        }
    }

    /// Case and blanks around the word do not matter.
    pub fn find(word: &str) -> Result<Self, FloorError> {
        Self::ALL
            .into_iter()
            .find(|one| one.word().eq_ignore_ascii_case(word.trim()))
            .ok_or_else(|| FloorError::Direction(FloorError::quote(word)))
    }
}
