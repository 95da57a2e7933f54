//! The rooms of the floor plan, and how they are found in texts.

use super::{Area, FloorError};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Room {
    Room1,
    Room2,
    Bathroom,
    Kitchen,
    Toilet,
    Level1,
    Level2,
}

impl Room {
    /// In the order in which rooms are always listed.
    pub const ALL: [Self; 7] = [
        Self::Room1,
        Self::Room2,
        Self::Bathroom,
        Self::Kitchen,
        Self::Toilet,
        Self::Level1,
        Self::Level2,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::Room1 => "Room1",
            Self::Room2 => "Room2",
            Self::Bathroom => "Bathroom",
            Self::Kitchen => "Kitchen",
            Self::Toilet => "Toilet",
            Self::Level1 => "Level1",
            Self::Level2 => "Level2",
        }
    }

    pub fn area(self) -> Area {
        let (left, top, right, bottom) = match self {
            Self::Room1 => (0.9, 2.1, 197.7, 101.8),
            Self::Room2 => (0.0, 101.8, 200.4, 201.4),
            Self::Bathroom => (197.7, 0.7, 423.1, 101.8),
            Self::Kitchen => (197.7, 101.8, 420.4, 201.4),
            Self::Toilet => (419.5, 0.0, 498.2, 101.8),
            Self::Level1 => (0.9, 2.1, 200.4, 201.4),
            Self::Level2 => (197.7, 0.7, 500.9, 200.0),
        };
        Area { left, top, right, bottom }
    }

    /// Case and blanks around the name do not matter.
    pub fn find(name: &str) -> Result<Self, FloorError> {
        Self::named(name.trim()).ok_or_else(|| FloorError::Room(FloorError::quote(name)))
    }

    /// The rooms that a text names as whole words, each once, in the order of [`Room::ALL`]. Only ASCII letters, digits
    /// and underscores belong to a word: Japanese follows a name without a blank.
    pub fn all_in(text: &str) -> Vec<Self> {
        let mut is_named = [false; Self::ALL.len()];
        let words = text.as_bytes().split(|one| !(one.is_ascii_alphanumeric() || *one == b'_'));
        for word in words {
            let place =
                Self::ALL.iter().position(|one| one.name().as_bytes().eq_ignore_ascii_case(word));
            if let Some(named) = place.and_then(|place| is_named.get_mut(place)) {
                *named = true;
            }
        }
        Self::ALL
            .into_iter()
            .zip(is_named)
            .filter_map(|(one, named)| named.then_some(one))
            .collect()
    }

    fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.name().eq_ignore_ascii_case(name))
    }
}
