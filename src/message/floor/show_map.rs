//! The arguments of the tool `show_map`: lists in texts, as agents write them.

use super::map::{Label, NameShown};
use super::{
    Bitmap, Color, Floor, FloorError, FloorMap, Highlight, Overlay, OverlayKind, Place, Room, Spot,
};

/// What an agent asks for. Empty texts are empty lists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShowMap {
    pub floor_id: String,
    /// `Kitchen,Toilet`
    pub highlight_rooms: String,
    /// `#FF0000,#00FF00`: one for each room; rooms without one are gold.
    pub room_colors: String,
    pub show_names: bool,
    /// `arrow_up:Kitchen;arrow_left:120,40`
    pub bitmap_overlays: String,
    /// `warm:Kitchen;21.5:120,40`
    pub text_overlays: String,
}

impl Default for ShowMap {
    fn default() -> Self {
        Self {
            floor_id: Floor::First.id().to_owned(),
            highlight_rooms: String::new(),
            room_colors: String::new(),
            show_names: true,
            bitmap_overlays: String::new(),
            text_overlays: String::new(),
        }
    }
}

impl ShowMap {
    pub fn read(&self) -> Result<FloorMap, FloorError> {
        let floor = Floor::find(&self.floor_id)?;
        let mut overlays = Vec::new();
        for entry in entries(&self.bitmap_overlays, ';') {
            let (id, place) = placed(entry)?;
            overlays.push(lying(OverlayKind::Bitmap(Bitmap::find(id)?), place));
        }
        for entry in entries(&self.text_overlays, ';') {
            let (text, place) = placed(entry)?;
            overlays.push(lying(OverlayKind::Label(Label::new(text)?), place));
        }
        FloorMap::new(floor, self.highlights()?, overlays)
    }

    fn highlights(&self) -> Result<Vec<Highlight>, FloorError> {
        let name = if self.show_names { NameShown::Yes } else { NameShown::No };
        let rooms: Vec<&str> = entries(&self.highlight_rooms, ',').collect();
        // A colour may be left out between two commas: `#FF0000,,#00FF00`.
        let mut colors = self.room_colors.split(',');
        let mut highlights = Vec::new();
        for room in rooms {
            let color = match colors.next().map(str::trim) {
                None | Some("") => Color::GOLD,
                Some(word) => Color::read(word)?,
            };
            highlights.push(Highlight { name, ..Highlight::usual(Room::find(room)?, color) });
        }
        // A colour without a room is a mistake of the agent, which should not pass in silence.
        let left: Vec<&str> = colors.map(str::trim).filter(|word| !word.is_empty()).collect();
        if left.is_empty() {
            return Ok(highlights);
        }
        let (found, most) = (highlights.len() + left.len(), highlights.len());
        Err(FloorError::TooMany { what: "colors of rooms", found, most })
    }
}

fn lying(kind: OverlayKind, place: Place) -> Overlay {
    Overlay { kind, place, offset: None }
}

fn entries(list: &str, between: char) -> impl Iterator<Item = &str> {
    list.split(between).map(str::trim).filter(|entry| !entry.is_empty())
}

/// Splits `what:place` at the last colon, because a text can have colons of its own.
fn placed(entry: &str) -> Result<(&str, Place), FloorError> {
    let allowed = "WHAT:ROOM or WHAT:X,Y";
    let wrong = || FloorError::form("overlay", entry, allowed);
    let (what, place) = entry.rsplit_once(':').ok_or_else(wrong)?;
    let Some((x, y)) = place.split_once(',') else {
        return Ok((what.trim(), Place::in_room(Room::find(place)?)));
    };
    let number = |word: &str| word.trim().parse::<f64>().map_err(|_| wrong());
    Ok((what.trim(), Place::Spot(Spot::new(number(x)?, number(y)?)?)))
}
