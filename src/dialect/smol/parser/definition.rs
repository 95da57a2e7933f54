//! The floor plan as the page is told of it once, before anything else.

use crate::message::floor::{Bitmap, CoordinateSystem, Floor, Pixel, Room};
use serde_json::{Value, json};

/// The content of the frame `map_definition`. The names are texts for people, so the caller has them.
pub fn definition(
    floor_name: impl Fn(Floor) -> String,
    bitmap_name: impl Fn(Bitmap) -> String,
) -> Value {
    let floors = Floor::ALL.map(|floor| {
        json!({
            "floorId": floor.id(),
            "floorName": floor_name(floor),
            "floorImage": floor.picture(),
            "coordinateSystem": coordinates(floor.coordinates()),
            "rectangles": Room::ALL.map(rectangle),
        })
    });
    let bitmaps = Bitmap::all().map(|bitmap| {
        let name = bitmap_name(bitmap);
        json!({"bitmapId": bitmap.id(), "bitmapName": name, "bitmapFile": bitmap.file()})
    });
    json!({"floors": floors, "bitmaps": bitmaps})
}

fn coordinates(system: CoordinateSystem) -> Value {
    let corner = |pixel: Pixel, (x, y): (f64, f64)| json!({"px": pixel.across, "py": pixel.down, "x": x, "y": y});
    let (scale_x, scale_y) = system.scale();
    json!({
        "topLeft": corner(system.top_left, (0.0, 0.0)),
        "bottomRight": corner(system.bottom_right, CoordinateSystem::SIZE),
        "scaleX": scale_x,
        "scaleY": scale_y,
    })
}

fn rectangle(room: Room) -> Value {
    let area = room.area();
    json!({
        "name": room.name(),
        "topLeft": {"x": area.left, "y": area.top},
        "bottomRight": {"x": area.right, "y": area.bottom},
        "width": rounded(area.width()),
        "height": rounded(area.height()),
    })
}

/// Corners have one decimal, and so have their distances.
fn rounded(length: f64) -> f64 {
    (length * 10.0).round() / 10.0
}
