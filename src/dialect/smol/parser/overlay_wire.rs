//! What lies on a map of the floor, in the words of the page.

use crate::message::floor::{
    Bitmap, Color, FloorError, FontSize, Label, Opacity, Overlay, OverlayKind, Place, Room, Spot,
};
use serde::{Deserialize, Serialize};

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct OverlayWire {
    #[serde(flatten)]
    kind: KindWire,
    position: PlaceWire,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    offset: Option<SpotWire>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase", rename_all_fields = "camelCase")]
enum KindWire {
    Bitmap {
        bitmap_id: String,
    },
    Text {
        text: String,
        #[serde(default)]
        font_size: Option<f64>,
        #[serde(default)]
        color: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        background_color: Option<String>,
    },
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase", rename_all_fields = "camelCase")]
enum PlaceWire {
    Rectangle {
        name: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        color: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        stroke_opacity: Option<f64>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        fill_opacity: Option<f64>,
    },
    Coordinate {
        x: f64,
        y: f64,
    },
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct SpotWire {
    x: f64,
    y: f64,
}

impl OverlayWire {
    pub(super) fn read(&self) -> Result<Overlay, FloorError> {
        let offset = self.offset.map(|offset| Spot::distance(offset.x, offset.y)).transpose()?;
        Ok(Overlay { kind: self.kind.read()?, place: self.position.read()?, offset })
    }
}

impl KindWire {
    fn read(&self) -> Result<OverlayKind, FloorError> {
        match self {
            Self::Bitmap { bitmap_id } => Bitmap::find(bitmap_id).map(OverlayKind::Bitmap),
            Self::Text { text, font_size, color, background_color } => {
                let mut label = Label::new(text)?;
                label.size = font_size.map_or(Ok(FontSize::USUAL), FontSize::new)?;
                label.color = color.as_deref().map_or(Ok(Color::BLACK), Color::read)?;
                label.background = background_color.as_deref().map(Color::read).transpose()?;
                Ok(OverlayKind::Label(label))
            }
        }
    }
}

impl PlaceWire {
    fn read(&self) -> Result<Place, FloorError> {
        match self {
            Self::Rectangle { name, color, stroke_opacity, fill_opacity } => Ok(Place::Room {
                room: Room::find(name)?,
                color: color.as_deref().map(Color::read).transpose()?,
                stroke: stroke_opacity.map(Opacity::new).transpose()?,
                fill: fill_opacity.map(Opacity::new).transpose()?,
            }),
            Self::Coordinate { x, y } => Spot::new(*x, *y).map(Place::Spot),
        }
    }
}

impl From<&Overlay> for OverlayWire {
    fn from(one: &Overlay) -> Self {
        let kind = match &one.kind {
            OverlayKind::Bitmap(bitmap) => KindWire::Bitmap { bitmap_id: bitmap.id().to_owned() },
            OverlayKind::Label(label) => KindWire::Text {
                text: label.text().to_owned(),
                font_size: Some(label.size.value()),
                color: Some(label.color.to_string()),
                background_color: label.background.map(|color| color.to_string()),
            },
        };
        let position = match one.place {
            Place::Room { room, color, stroke, fill } => PlaceWire::Rectangle {
                name: room.name().to_owned(),
                color: color.map(|color| color.to_string()),
                stroke_opacity: stroke.map(Opacity::value),
                fill_opacity: fill.map(Opacity::value),
            },
            Place::Spot(spot) => PlaceWire::Coordinate { x: spot.x(), y: spot.y() },
        };
        let offset = one.offset.map(|spot| SpotWire { x: spot.x(), y: spot.y() });
        Self { kind, position, offset }
    }
}
