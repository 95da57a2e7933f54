//! Why an order for the floor plan is refused. Each text says what is allowed, so that an agent can correct itself.

use super::{Bitmap, Direction, Floor, Room};

/// Foreign words are quoted at most this long.
const QUOTED_CHARS: usize = 60;

#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum FloorError {
    #[error("unknown floor {0:?}; allowed: {allowed}", allowed = names(&Floor::ALL.map(Floor::id)))]
    Floor(String),
    #[error("unknown room {0:?}; allowed: {allowed}", allowed = names(&Room::ALL.map(Room::name)))]
    Room(String),
    #[error(
        "unknown direction {0:?}; allowed: {allowed}",
        allowed = names(&Direction::ALL.map(Direction::word))
    )]
    Direction(String),
    #[error("unknown bitmap {0:?}; allowed: {allowed}", allowed = names(&Bitmap::all().map(Bitmap::id)))]
    Bitmap(String),
    #[error("unknown color {0:?}; allowed: #RRGGBB with hexadecimal digits, for example #FFD700")]
    Color(String),
    #[error("{what} is {found}; allowed: {least} to {most}")]
    Range { what: &'static str, found: String, least: f64, most: f64 },
    #[error("{found} {what}; allowed: at most {most}")]
    TooMany { what: &'static str, found: usize, most: usize },
    #[error("{what} is {found:?}; allowed: {allowed}")]
    Form { what: &'static str, found: String, allowed: &'static str },
}

impl FloorError {
    /// Quotes what was found.
    pub fn form(what: &'static str, found: &str, allowed: &'static str) -> Self {
        Self::Form { what, found: Self::quote(found), allowed }
    }

    /// Quotes the start of a foreign word, without control characters.
    pub(super) fn quote(word: &str) -> String {
        word.chars().filter(|one| !one.is_control()).take(QUOTED_CHARS).collect()
    }
}

fn names(all: &[&str]) -> String {
    all.join(", ")
}
