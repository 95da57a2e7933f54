//! Points of the world in a response, as maps. They come from the given map data, from JSON in the texts, or, if there is
//! none, from pairs of numbers in sentences.

use super::{AgentResponse, limit, object, pair};
use serde_json::{Map, Value};

/// A place on the earth.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    lat: f64,
    lon: f64,
}

impl Point {
    /// `None` if it is not on the earth.
    pub fn new(lat: f64, lon: f64) -> Option<Self> {
        let is_on_earth = (-90.0..=90.0).contains(&lat) && (-180.0..=180.0).contains(&lon);
        is_on_earth.then_some(Self { lat, lon })
    }

    pub fn lat(self) -> f64 {
        self.lat
    }

    pub fn lon(self) -> f64 {
        self.lon
    }
}

/// A map with at least one point.
#[derive(Debug, Clone, PartialEq)]
pub struct PointMap {
    pub points: Vec<Point>,
    pub description: Option<String>,
}

const LISTS: [&str; 3] = ["points", "coordinates", "locations"];
const LATITUDES: [&str; 2] = ["lat", "latitude"];
const LONGITUDES: [&str; 3] = ["lon", "longitude", "lng"];

/// The maps of a response, each once.
pub(super) fn all(response: &AgentResponse) -> Vec<PointMap> {
    let mut maps: Vec<PointMap> = Vec::new();
    // Single points belong together, wherever they are printed.
    let mut single = Vec::new();
    let given = response.map_data.as_ref().and_then(Value::as_object).and_then(read);
    let texts = [&response.raw_output, &response.text].map(|text| limit::scanned(text));
    let found = texts.into_iter().flat_map(|text| object::all(text, may_be_place, read));
    for found in given.into_iter().chain(found) {
        match found {
            Found::Map(map) if !maps.contains(&map) && maps.len() < limit::MAX_MAPS - 1 => {
                maps.push(map);
            }
            Found::Map(_) => {}
            Found::Point(point) => single.push(point),
        }
    }
    // In JSON that was not read, such as GeoJSON, pairs have another meaning.
    let is_json = texts.iter().any(|text| text.contains("\"coordinates\""));
    if maps.is_empty() && single.is_empty() && !is_json {
        for text in texts {
            single.extend(pair::all(text).into_iter().take(limit::MAX_POINTS));
        }
    }
    let points = distinct(&single);
    if !points.is_empty() {
        maps.push(PointMap { points, description: None });
    }
    maps
}

enum Found {
    Map(PointMap),
    Point(Point),
}

/// Each of the first points once. An agent often prints what it then says.
fn distinct(points: &[Point]) -> Vec<Point> {
    let mut found = Vec::new();
    for point in points.iter().take(limit::MAX_POINTS) {
        if !found.contains(point) {
            found.push(*point);
        }
    }
    found
}

/// Most objects in texts are something else, and are not worth reading.
fn may_be_place(json: &str) -> bool {
    json.contains("lat") || LISTS.iter().any(|key| json.contains(key))
}

fn read(object: &Map<String, Value>) -> Option<Found> {
    // GeoJSON names the longitude first, so reading it like this would show wrong places.
    let is_geojson =
        object.contains_key("geometry") || object.get("type").is_some_and(Value::is_string);
    if is_geojson {
        return None;
    }
    if let Some(point) = position(object) {
        return Some(Found::Point(point));
    }
    let list = LISTS.iter().find_map(|key| object.get(*key)?.as_array())?;
    let points: Vec<Point> = list.iter().filter_map(point).take(limit::MAX_POINTS).collect();
    let description = object.get("description").and_then(Value::as_str);
    let description = description.map(|text| limit::cut(text, limit::MAX_CODE));
    (!points.is_empty()).then_some(Found::Map(PointMap { points, description }))
}

/// An object with both coordinates, or a list of the two.
fn point(value: &Value) -> Option<Point> {
    if let Some([lat, lon]) = value.as_array().map(Vec::as_slice) {
        return Point::new(lat.as_f64()?, lon.as_f64()?);
    }
    position(value.as_object()?)
}

fn position(object: &Map<String, Value>) -> Option<Point> {
    let number = |keys: &[&str]| keys.iter().find_map(|key| object.get(*key)?.as_f64());
    Point::new(number(&LATITUDES)?, number(&LONGITUDES)?)
}
