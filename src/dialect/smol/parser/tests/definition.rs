//! The floor plan as the page is told of it.

use super::super::definition;
use serde_json::json;

#[test]
fn the_page_is_told_of_all_rooms_and_bitmaps() {
    let told =
        definition(|floor| format!("floor {}", floor.id()), |bitmap| bitmap.id().to_uppercase());
    let floor = &told["floors"][0];
    assert_eq!(told["floors"].as_array().unwrap().len(), 1);
    assert_eq!(floor["floorId"], "1F");
    assert_eq!(floor["floorName"], "floor 1F");
    assert_eq!(floor["floorImage"], "OSM_floor.png");
    let rectangles = floor["rectangles"].as_array().unwrap();
    assert_eq!(rectangles.len(), 7);
    let kitchen = json!({"name": "Kitchen", "topLeft": {"x": 197.7, "y": 101.8},
        "bottomRight": {"x": 420.4, "y": 201.4}, "width": 222.7, "height": 99.6});
    assert_eq!(rectangles[3], kitchen);
    let system = &floor["coordinateSystem"];
    assert_eq!(system["topLeft"], json!({"px": 95.86, "py": 133.92, "x": 0.0, "y": 0.0}));
    assert_eq!(system["bottomRight"], json!({"px": 757.37, "py": 470.4, "x": 500.0, "y": 200.0}));
    assert!((system["scaleX"].as_f64().unwrap() - 1.32302).abs() < 1e-6);
    let bitmaps = told["bitmaps"].as_array().unwrap();
    assert_eq!(bitmaps.len(), 4);
    let up =
        json!({"bitmapId": "arrow_up", "bitmapName": "ARROW_UP", "bitmapFile": "arrow_up.bmp"});
    assert_eq!(bitmaps[0], up);
}
