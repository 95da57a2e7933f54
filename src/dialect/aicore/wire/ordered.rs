//! A JSON object that keeps the order of its keys.

use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};

/// A JSON object that keeps the order of its keys.
#[derive(Debug)]
pub(crate) struct OrderedMap<'a>(pub(crate) Vec<(&'a str, serde_json::Value)>);

impl Serialize for OrderedMap<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (key, value) in &self.0 {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}
