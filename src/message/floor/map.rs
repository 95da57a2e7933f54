//! What a map shows: marked rooms, and bitmaps and texts that lie on the plan.

use super::{Bitmap, Color, Floor, FloorError, FontSize, Opacity, Room, Spot};

/// More overlays than this would hide the plan.
const MAX_OVERLAYS: usize = 64;
/// More rooms than exist cannot be marked, but one can be marked twice.
const MAX_HIGHLIGHTS: usize = 64;
/// A text on the plan is a label.
const MAX_LABEL_BYTES: usize = 400;

/// One state of the map. It replaces the state before it.
#[derive(Debug, Clone, PartialEq)]
pub struct FloorMap {
    pub floor: Floor,
    /// Bitmaps and texts are above them.
    highlights: Vec<Highlight>,
    overlays: Vec<Overlay>,
}

impl FloorMap {
    pub fn new(
        floor: Floor,
        highlights: Vec<Highlight>,
        overlays: Vec<Overlay>,
    ) -> Result<Self, FloorError> {
        at_most("marked rooms", highlights.len(), MAX_HIGHLIGHTS)?;
        at_most("overlays", overlays.len(), MAX_OVERLAYS)?;
        Ok(Self { floor, highlights, overlays })
    }

    pub fn highlights(&self) -> &[Highlight] {
        &self.highlights
    }

    pub fn overlays(&self) -> &[Overlay] {
        &self.overlays
    }
}

/// A marked room.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Highlight {
    pub room: Room,
    pub color: Color,
    pub stroke: Opacity,
    pub fill: Opacity,
    pub name: NameShown,
}

impl Highlight {
    /// A room as it is marked if only its colour is named.
    pub fn usual(room: Room, color: Color) -> Self {
        Self { room, color, stroke: Opacity::STROKE, fill: Opacity::FILL, name: NameShown::Yes }
    }
}

/// Whether a marked room shows its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NameShown {
    Yes,
    No,
}

/// Something that lies on the plan.
#[derive(Debug, Clone, PartialEq)]
pub struct Overlay {
    pub kind: OverlayKind,
    pub place: Place,
    /// Distance from its place.
    pub offset: Option<Spot>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum OverlayKind {
    Bitmap(Bitmap),
    Label(Label),
}

/// A text on the plan.
#[derive(Debug, Clone, PartialEq)]
pub struct Label {
    text: String,
    pub size: FontSize,
    pub color: Color,
    pub background: Option<Color>,
}

impl Label {
    pub fn new(text: &str) -> Result<Self, FloorError> {
        let text = text.trim();
        at_most("bytes in a text on the map", text.len(), MAX_LABEL_BYTES)?;
        if text.is_empty() {
            let allowed = "a text that is not empty";
            return Err(FloorError::form("text on the map", text, allowed));
        }
        let (size, color) = (FontSize::USUAL, Color::BLACK);
        Ok(Self { text: text.to_owned(), size, color, background: None })
    }

    pub fn text(&self) -> &str {
        &self.text
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Place {
    /// The middle of a room, which can be marked together with it.
    Room {
        room: Room,
        color: Option<Color>,
        stroke: Option<Opacity>,
        fill: Option<Opacity>,
    },
    Spot(Spot),
}

impl Place {
    /// In a room that is not marked by it.
    pub fn in_room(room: Room) -> Self {
        Self::Room { room, color: None, stroke: None, fill: None }
    }
}

fn at_most(what: &'static str, found: usize, most: usize) -> Result<(), FloorError> {
    if found <= most { Ok(()) } else { Err(FloorError::TooMany { what, found, most }) }
}
