//! Which numbers are places on the earth.

use super::super::limit;
use super::{frames, parsed, raw};
use serde_json::{Value, json};

#[track_caller]
fn check(text: &str, wanted: &[(f64, f64)]) {
    let maps = frames(raw(text), "map");
    assert_eq!(maps.len(), usize::from(!wanted.is_empty()), "{text}: {maps:?}");
    let points: Vec<Value> =
        wanted.iter().map(|(lat, lon)| json!({"lat": lat, "lon": lon})).collect();
    for map in maps {
        assert_eq!(map["content"]["points"], json!(points), "{text}");
    }
}

const TOKYO: (f64, f64) = (35.6762, 139.6503);

#[test]
fn pairs_are_read_in_texts_that_speak_of_places() {
    check("coordinates: 35.6762, 139.6503", &[TOKYO]);
    check("The location is (35.6762,139.6503).", &[TOKYO]);
    check("points:\n35.6762, 139.6503\n-33.5, +18.25", &[TOKYO, (-33.5, 18.25)]);
    check("\u{5ea7}\u{6a19}\u{306f}35.6762, 139.6503\u{3067}\u{3059}", &[TOKYO]);
    check(
        "Locations:\n\n35.6762, 139.6503\n\n-33.5, 18.25\nThe end\n1.5, 2.5",
        &[TOKYO, (-33.5, 18.25)],
    );
    check("lat,lon\nTokyo\n35.6762,139.6503", &[TOKYO]);
    check("Lat/Lon 35, 139", &[(35.0, 139.0)]);
    check("map map 35.6762, 139.6503 and again 35.6762, 139.6503", &[TOKYO]);
}

#[test]
fn numbers_without_a_word_for_a_place_are_no_pairs() {
    check("the platform has 3, 4 items", &[]);
    check("the platform has 3.5, 4.5 items", &[]);
    check("the map is ready\nthe rooms have 20.5, 21.5 degrees", &[]);
    check("the latitude is known\nwe have 3, 4 items", &[]);
    check("latest mapping 3.5, 4.5", &[]);
    check("at this point we have 3, 4 items", &[]);
    check("35.6762, 139.6503", &[]);
}

#[test]
fn other_numbers_are_no_pairs() {
    for numbers in [
        "1.5, 2.5, 3.5",
        "1,024",
        "91.0, 0.5",
        "0.5, 181.0",
        "-90.1, 0.5",
        "1.2.3, 4.5",
        "v1.5, 2.5",
        "1.5, 2.5x",
        "1.5; 2.5",
        "1.5",
        "1.5,",
        "., .",
        "1.5, .",
        "5-1.5, 2.5",
        "1.5, 1234567890123456789012345678901234567890.5",
    ] {
        check(&format!("coordinate {numbers}"), &[]);
    }
    check("coordinate 90.0, -180.0", &[(90.0, -180.0)]);
}

#[test]
fn json_is_read_as_one_map_with_its_description() {
    let text = r#"Here: {"points": [{"lat": 35.6762, "lon": 139.6503, "name": "a}"}, [34.5, 135.5]],
        "description": "two {cities}"} done"#;
    let content = json!({"points": [{"lat": 35.6762, "lon": 139.6503}, {"lat": 34.5, "lon": 135.5}],
        "description": "two {cities}"});
    assert_eq!(frames(raw(text), "map"), [json!({"type": "map", "content": content})]);
    check(r#"{"locations": [{"latitude": 35.6762, "lng": 139.6503}]}"#, &[TOKYO]);
    check(r#"{"lat": 35.6762, "lon": 139.6503} {"lat": 1, "lon": 2}"#, &[TOKYO, (1.0, 2.0)]);
    check("[{'lat': 35.6762, 'lon': 139.6503, 'name': None, 'ok': True}]", &[TOKYO]);
    check(r#"{"result": {"coordinates": [[35.6762, 139.6503]]}}"#, &[TOKYO]);
    check(r#"{ broken {"lat": 35.6762, "lon": 139.6503}"#, &[TOKYO]);
    check("a \" {b \" \n {\"lat\": 35.6762, \"lon\": 139.6503}", &[TOKYO]);
}

#[test]
fn json_that_has_no_places_is_no_map() {
    for text in [
        r#"{"points": "here"}"#,
        r#"{"points": []}"#,
        r#"{"points": [5, "x", [1], [1, 2, 3], {}]}"#,
        r#"{"lat": "35", "lon": "139"}"#,
        r#"{"lat": 91, "lon": 0}"#,
        r#"{"lat": 0, "lon": -180.5}"#,
        r#"{"type": "Point", "coordinates": [[35.6, 39.6]]}"#,
        r#"{"lat": 1e999, "lon": 0}"#,
        r#"{"points": {"lat": 1, "lon": 2}"#.trim_end_matches('}'),
    ] {
        check(text, &[]);
    }
    check(r#"{"points": [[91, 0], [35.6762, 139.6503]]}"#, &[TOKYO]);
}

#[test]
fn given_map_data_is_shown_once() {
    let data = json!({"points": [{"lat": 1, "lon": 2}], "description": "d"});
    let value = json!({"text": data.to_string(), "map_data": data});
    assert_eq!(frames(value, "map").len(), 1);
    for data in [json!("x"), json!([1]), json!({"points": "here"})] {
        assert_eq!(parsed(json!({"map_data": data})).outputs, [], "{data}");
    }
}

#[test]
fn points_and_maps_are_limited_in_number() {
    let points: Vec<Value> =
        (0..3000).map(|number| json!([f64::from(number) / 100.0, 0])).collect();
    let maps = frames(raw(&json!({"points": points}).to_string()), "map");
    assert_eq!(maps[0]["content"]["points"].as_array().unwrap().len(), limit::MAX_POINTS);
    let many: String = (0..90).map(|lat| json!({"points": [[lat, 0]]}).to_string()).collect();
    assert!(frames(raw(&many), "map").len() <= limit::MAX_MAPS);
}
