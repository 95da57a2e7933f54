//! Orders for the floor plan as rows. As in `record`, the names here are part of the file format.

use crate::message::floor::{
    Arrow, Bitmap, Color, Floor, FloorMap, FloorOrder, FontSize, Highlight, Label, NameShown,
    Opacity, Overlay, OverlayKind, Place, Room, Spot,
};
use serde::Deserialize;
use serde_json::{Value, json};

pub(super) fn body(order: &FloorOrder) -> Value {
    match order {
        FloorOrder::DrawArrow(Arrow { room, direction }) => {
            json!({"name": "draw_arrow", "room": room.name(), "direction": direction.word()})
        }
        FloorOrder::ClearArrows => json!({"name": "clear_arrows"}),
        FloorOrder::ShowMap(map) => json!({
            "name": "show_map", "floor": map.floor.id(),
            "rooms": map.highlights().iter().map(highlight).collect::<Vec<_>>(),
            "overlays": map.overlays().iter().map(overlay).collect::<Vec<_>>(),
        }),
        FloorOrder::ClearMap => json!({"name": "clear_map"}),
    }
}

fn highlight(marked: &Highlight) -> Value {
    json!({
        "room": marked.room.name(), "color": marked.color.to_string(),
        "stroke": marked.stroke.value(), "fill": marked.fill.value(),
        "named": marked.name == NameShown::Yes,
    })
}

fn overlay(overlay: &Overlay) -> Value {
    let kind = match &overlay.kind {
        OverlayKind::Bitmap(bitmap) => json!({"bitmap": bitmap.id()}),
        OverlayKind::Label(label) => json!({
            "text": label.text(), "size": label.size.value(), "color": label.color.to_string(),
            "background": label.background.map(|color| color.to_string()),
        }),
    };
    let place = match overlay.place {
        Place::Spot(spot) => json!({"x": spot.x(), "y": spot.y()}),
        Place::Room { room, color, stroke, fill } => json!({
            "room": room.name(), "color": color.map(|color| color.to_string()),
            "stroke": stroke.map(Opacity::value), "fill": fill.map(Opacity::value),
        }),
    };
    let offset = overlay.offset.map(|offset| (offset.x(), offset.y()));
    json!({"kind": kind, "place": place, "offset": offset})
}

#[derive(Deserialize)]
#[serde(tag = "name", rename_all = "snake_case")]
pub(super) enum OrderBody {
    DrawArrow { room: String, direction: String },
    ClearArrows,
    ShowMap { floor: String, rooms: Vec<HighlightBody>, overlays: Vec<OverlayBody> },
    ClearMap,
}

#[derive(Deserialize)]
pub(super) struct HighlightBody {
    room: String,
    color: String,
    stroke: f64,
    fill: f64,
    named: bool,
}

#[derive(Deserialize)]
pub(super) struct OverlayBody {
    kind: KindBody,
    place: PlaceBody,
    offset: Option<(f64, f64)>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum KindBody {
    Bitmap { bitmap: String },
    Label { text: String, size: f64, color: String, background: Option<String> },
}

#[derive(Deserialize)]
#[serde(untagged)]
enum PlaceBody {
    Spot { x: f64, y: f64 },
    Room { room: String, color: Option<String>, stroke: Option<f64>, fill: Option<f64> },
}

impl OrderBody {
    pub(super) fn into_order(self) -> Option<FloorOrder> {
        Some(match self {
            Self::DrawArrow { room, direction } => {
                FloorOrder::DrawArrow(Arrow::read(&room, &direction).ok()?)
            }
            Self::ClearArrows => FloorOrder::ClearArrows,
            Self::ShowMap { floor, rooms, overlays } => {
                let rooms = rooms.into_iter().map(HighlightBody::read).collect::<Option<_>>()?;
                let overlays =
                    overlays.into_iter().map(OverlayBody::read).collect::<Option<_>>()?;
                let floor = Floor::find(&floor).ok()?;
                FloorOrder::ShowMap(FloorMap::new(floor, rooms, overlays).ok()?)
            }
            Self::ClearMap => FloorOrder::ClearMap,
        })
    }
}

impl HighlightBody {
    fn read(self) -> Option<Highlight> {
        Some(Highlight {
            room: Room::find(&self.room).ok()?,
            color: Color::read(&self.color).ok()?,
            stroke: Opacity::new(self.stroke).ok()?,
            fill: Opacity::new(self.fill).ok()?,
            name: if self.named { NameShown::Yes } else { NameShown::No },
        })
    }
}

impl OverlayBody {
    fn read(self) -> Option<Overlay> {
        let kind = match self.kind {
            KindBody::Bitmap { bitmap } => OverlayKind::Bitmap(Bitmap::find(&bitmap).ok()?),
            KindBody::Label { text, size, color, background } => {
                let (size, color) = (FontSize::new(size).ok()?, Color::read(&color).ok()?);
                let background = optional(background, |word| Color::read(&word).ok())?;
                let mut label = Label::new(&text).ok()?;
                (label.size, label.color, label.background) = (size, color, background);
                OverlayKind::Label(label)
            }
        };
        let place = match self.place {
            PlaceBody::Spot { x, y } => Place::Spot(Spot::new(x, y).ok()?),
            PlaceBody::Room { room, color, stroke, fill } => Place::Room {
                room: Room::find(&room).ok()?,
                color: optional(color, |word| Color::read(&word).ok())?,
                stroke: optional(stroke, |value| Opacity::new(value).ok())?,
                fill: optional(fill, |value| Opacity::new(value).ok())?,
            },
        };
        let offset = optional(self.offset, |(x, y)| Spot::distance(x, y).ok())?;
        Some(Overlay { kind, place, offset })
    }
}

/// `None`: there is a value, and it cannot be read.
fn optional<T, U>(value: Option<T>, read: impl FnOnce(T) -> Option<U>) -> Option<Option<U>> {
    match value {
        Some(value) => read(value).map(Some),
        None => Some(None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::floor::ShowMap;

    #[test]
    fn every_order_survives_its_row() {
        let asked = ShowMap {
            highlight_rooms: "Kitchen,Toilet".into(),
            room_colors: "#FF0000".into(),
            show_names: false,
            bitmap_overlays: "arrow_up:Room1".into(),
            text_overlays: "21:5:10.5,20".into(),
            ..ShowMap::default()
        };
        let map = asked.read().unwrap();
        let mut overlays = map.overlays().to_vec();
        overlays[0].offset = Some(Spot::distance(-3.0, 4.0).unwrap());
        overlays[0].place = Place::Room {
            room: Room::Room1,
            color: Some(Color::GOLD),
            stroke: Some(Opacity::STROKE),
            fill: Some(Opacity::FILL),
        };
        if let OverlayKind::Label(label) = &mut overlays[1].kind {
            label.background = Some(Color::BLACK);
        }
        let map = FloorMap::new(Floor::First, map.highlights().to_vec(), overlays).unwrap();
        for order in [
            FloorOrder::DrawArrow(Arrow::read("Kitchen", "left").unwrap()),
            FloorOrder::ClearArrows,
            FloorOrder::ShowMap(map),
            FloorOrder::ClearMap,
        ] {
            let row: OrderBody = serde_json::from_value(body(&order)).unwrap();
            assert_eq!(row.into_order(), Some(order));
        }
    }
}
