//! Outputs as frames of the page, in the words of its document.

use super::{Code, CodeOrigin, Output, Picture, PointMap, map_wire};
use serde_json::{Value, json};

impl Output {
    /// The frame as JSON. `now`, as ISO 8601, is the time of a map that names none.
    pub fn frame(&self, now: &str) -> Value {
        match self {
            Self::Code(code) => code_frame(code),
            Self::Text(text) => json!({"type": "text", "content": text}),
            Self::Error(text) => json!({"type": "error", "content": text}),
            Self::Picture(picture) => picture_frame(picture),
            Self::Points(map) => json!({"type": "map", "content": points(map)}),
            Self::Rooms(rooms) => {
                let rooms: Vec<&str> = rooms.iter().map(|room| room.name()).collect();
                json!({"type": "highlight_room", "content": {"rooms": rooms}})
            }
            Self::Arrow(arrow) => {
                let (room, direction) = (arrow.room.name(), arrow.direction.word());
                json!({"type": "arrow", "content": {"room": room, "direction": direction}})
            }
            Self::ClearArrows => json!({"type": "clear_arrows", "content": {}}),
            Self::Map(shown) => {
                let time = shown.timestamp.as_deref().unwrap_or(now);
                json!({"type": "map", "content": map_wire::content(&shown.map, time)})
            }
            Self::ClearMap => json!({"type": "clear_map", "content": {}}),
        }
    }
}

fn code_frame(code: &Code) -> Value {
    let mut frame = json!({"type": "code", "content": code.content, "language": code.language});
    match &code.origin {
        CodeOrigin::Step(label) => frame["step"] = json!(label),
        CodeOrigin::Written => {}
        CodeOrigin::Logs => frame["source"] = json!("logs"),
    }
    frame
}

fn picture_frame(picture: &Picture) -> Value {
    let data = base64_simd::STANDARD.encode_to_string(&picture.image.bytes);
    let mut frame = json!({"type": "image", "content": data, "format": picture.format});
    if let Some(path) = &picture.path {
        frame["path"] = json!(path);
    }
    frame
}

fn points(map: &PointMap) -> Value {
    let point = |one: &super::Point| json!({"lat": one.lat(), "lon": one.lon()});
    let mut content = json!({"points": map.points.iter().map(point).collect::<Vec<_>>()});
    if let Some(description) = &map.description {
        content["description"] = json!(description);
    }
    content
}
