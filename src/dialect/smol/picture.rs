//! Pictures travel as base64. An encoder reads no files, so it leaves the place of a stored picture empty, and the
//! transport fills it when the frame is sent.

use base64_simd::STANDARD;
use serde_json::{Value, json};

const KIND: &str = "\"type\":\"image\"";

/// A frame for a picture of the session, without its bytes.
pub(super) fn frame(name: &str) -> Value {
    json!({"type": "image", "content": null, "format": format(name), "path": name})
}

/// The ending of a name as it is.
fn format(name: &str) -> &str {
    name.rsplit_once('.').map_or("", |(_, ending)| ending)
}

/// The name of the file whose bytes the frame still needs.
pub fn wanted(frame: &str) -> Option<String> {
    // Most frames are no pictures and need not be read.
    if !frame.contains(KIND) {
        return None;
    }
    let frame: Value = serde_json::from_str(frame).ok()?;
    let is_empty = frame["type"] == "image" && frame["content"].is_null();
    frame["path"].as_str().filter(|_| is_empty).map(str::to_owned)
}

/// The frame with the bytes of its picture.
pub fn filled(frame: &str, bytes: &[u8]) -> Option<String> {
    let mut frame: Value = serde_json::from_str(frame).ok()?;
    frame["content"] = json!(STANDARD.encode_to_string(bytes));
    Some(frame.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_picture_without_bytes_is_filled() {
        let text = frame("a b.PNG").to_string();
        assert_eq!(wanted(&text).as_deref(), Some("a b.PNG"));
        let full = filled(&text, b"png").unwrap();
        assert_eq!(wanted(&full), None);
        let full: Value = serde_json::from_str(&full).unwrap();
        assert_eq!((&full["content"], &full["format"]), (&json!("cG5n"), &json!("PNG")));
        let said = json!({"type": "text", "content": "{\"type\":\"image\"}"}).to_string();
        assert_eq!(wanted(&said), None);
    }
}
