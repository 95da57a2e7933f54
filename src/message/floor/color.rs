//! A colour on the floor plan.

use super::FloorError;
use std::fmt;

/// Red, green and blue. It is written as `#RRGGBB` in capitals.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Color(u8, u8, u8);

impl Color {
    /// What a room is marked with if no colour is named.
    pub const GOLD: Self = Self(0xFF, 0xD7, 0x00);
    /// What a text is written with if no colour is named.
    pub const BLACK: Self = Self(0, 0, 0);

    /// Reads `#RRGGBB`. Names of colours and the short form are refused, because the pages do not know them.
    pub fn read(word: &str) -> Result<Self, FloorError> {
        let digits = word.trim().strip_prefix('#').filter(|digits| digits.len() == 6);
        digits
            .and_then(|digits| Some(Self(part(digits, 0)?, part(digits, 2)?, part(digits, 4)?)))
            .ok_or_else(|| FloorError::Color(FloorError::quote(word)))
    }
}

/// `None` unless both characters are digits: a sign is no digit.
fn part(digits: &str, at: usize) -> Option<u8> {
    let two = digits.get(at..at + 2)?;
    let is_hex = two.bytes().all(|one| one.is_ascii_hexdigit());
    is_hex.then(|| u8::from_str_radix(two, 16).ok()).flatten()
}

impl fmt::Display for Color {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "#{:02X}{:02X}{:02X}", self.0, self.1, self.2)
    }
}
