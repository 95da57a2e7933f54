//! Orders for the floor plan in code and in texts.

use super::super::{Output, limit, written};
use super::{NOW, frames, parsed, raw};
use crate::message::floor::{Arrow, FloorOrder, ShowMap};
use serde_json::{Value, json};

/// The orders of a response as short words.
fn orders(value: Value) -> Vec<String> {
    let outputs = parsed(value).outputs;
    let orders = outputs.iter().filter_map(Output::floor_order);
    orders
        .map(|order| match order {
            FloorOrder::DrawArrow(arrow) => {
                format!("{} {}", arrow.room.name(), arrow.direction.word())
            }
            FloorOrder::ClearArrows => "no arrows".to_owned(),
            FloorOrder::ShowMap(map) => {
                format!("map {} {}", map.highlights().len(), map.overlays().len())
            }
            FloorOrder::ClearMap => "no map".to_owned(),
        })
        .collect()
}

fn code(code: &str) -> Value {
    json!({"text": "t", "code_steps": [{"code": code}]})
}

#[test]
fn arrows_are_read_from_calls() {
    for call in [
        "draw_arrow('Kitchen', 'left')",
        "draw_arrow(\n    direction = \"LEFT\",  # where to\n    room_name = 'kitchen',\n)",
        "draw_arrow('kitchen', direction='left')",
        "print(draw_arrow(r'Kitchen', u'left'))",
        "draw_arrow(direction='left', style=make([1], x(2)), room_name='Kitchen')",
        "x = [draw_arrow('''Kitchen''', 'left')]",
        "draw_arrow('Kitchen', '\\u006ceft')",
    ] {
        assert_eq!(orders(code(call)), ["Kitchen left"], "{call}");
    }
}

#[test]
fn what_is_no_call_draws_nothing() {
    for text in [
        "# draw_arrow('Kitchen', 'left')",
        "s = \"draw_arrow('Kitchen', 'left')\"",
        "'''\ndraw_arrow('Kitchen', 'left')\n'''",
        "def clear_arrows():\n    pass",
        "draw_arrow(room, 'left')",
        "draw_arrow(f'{room}', 'left')",
        "draw_arrow('Kit' + 'chen', 'left')",
        "draw_arrow('Kitchen', 'left'",
        "draw_arrow('Kitchen)\n",
        "my_draw_arrow('Kitchen', 'left')",
        "draw_arrow",
        "draw_arrow(*['Kitchen', 'left'])",
        "draw_arrow()",
    ] {
        assert_eq!(orders(code(text)), Vec::<String>::new(), "{text}");
    }
    let example = raw("```python\ndraw_arrow('Kitchen', 'left')\n```");
    assert_eq!(orders(example), Vec::<String>::new(), "code that is only written did not run");
}

#[test]
fn what_cannot_be_drawn_is_refused_and_says_why() {
    let told = |value: Value| {
        let refused = parsed(value).refused;
        refused.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let wanted = "unknown direction \"sideways\"; allowed: up, down, left, right";
    assert_eq!(told(code("draw_arrow('Kitchen', 'sideways')")), [wanted]);
    let rooms = "Room1, Room2, Bathroom, Kitchen, Toilet, Level1, Level2";
    let wanted = format!("unknown room \"Attic\"; allowed: {rooms}");
    assert_eq!(told(raw("ARROW_COMMAND: room=Attic, direction=up")), std::slice::from_ref(&wanted));
    let map = r#"MAP_COMMAND: {"floorId": "1F", "rectangles": [{"name": "Attic"}]}"#;
    assert_eq!(told(raw(&map.repeat(100))), [wanted]);
    let many: String =
        (0..100).map(|number| format!("ARROW_COMMAND: room=A{number}, direction=up\n")).collect();
    assert_eq!(told(raw(&many)).len(), limit::MAX_REFUSED);
}

#[test]
fn commands_are_whole_words() {
    assert_eq!(orders(raw("(CLEAR_MAP_COMMAND)\u{3067}\u{3059}")), ["no map"]);
    assert_eq!(orders(raw("CLEAR_MAP_COMMAND: {\"floorId\": \"1F\"}")), ["no map"]);
    for text in [
        "XCLEAR_MAP_COMMAND",
        "CLEAR_MAP_COMMANDS",
        "clear_map_command",
        "_COMMAND",
        "VERY_CLEAR_ARROWS_COMMAND",
        "ARROW_COMMAND",
        "ARROW_COMMAND:",
        "ARROW_COMMAND: room=Kitchen",
        "ARROW_COMMAND: direction=up",
        "ARROW_COMMAND: room=Kitchen,\ndirection=up",
        "MAP_COMMAND:",
        "MAP_COMMAND: {",
        "MAP_COMMAND: []",
        "MAP_COMMAND: {}",
        "MAP_COMMAND {\"floorId\": \"1F\"}",
    ] {
        assert_eq!(orders(raw(text)), Vec::<String>::new(), "{text}");
    }
}

#[test]
fn maps_end_where_their_braces_are_balanced() {
    let text = r##"a MAP_COMMAND: {
        "floorId": "1F", "rectangles": [{"name": "kitchen"}, {"name": "Toilet", "color": "#0a0B0c"}],
        "overlays": [{"type": "text", "text": "}{\"", "position": {"type": "rectangle", "name": "Room1"}}]
    } b } ARROW_COMMAND: room=Toilet, direction=up"##;
    assert_eq!(orders(raw(text)), ["Toilet up", "map 2 1"]);
    let map = &frames(raw(text), "map")[0]["content"];
    assert_eq!(map["timestamp"], NOW, "a map without a time has the time of its frame");
    let wanted = json!({"name": "Kitchen", "color": "#FFD700", "strokeOpacity": 1.0, "fillOpacity": 0.3,
        "showName": true});
    assert_eq!(map["rectangles"][0], wanted);
    assert_eq!(map["rectangles"][1]["color"], "#0A0B0C");
    assert_eq!(map["overlays"][0]["text"], "}{\"");
}

#[test]
fn a_map_keeps_all_that_it_says() {
    let content = json!({
        "floorId": "1F", "timestamp": "2026-01-01T00:00:00.5Z",
        "rectangles": [{"name": "Level2", "color": "#010203", "strokeOpacity": 0.0, "fillOpacity": 1.0,
            "showName": false}],
        "overlays": [
            {"type": "bitmap", "bitmapId": "arrow_up", "offset": {"x": -5.0, "y": 7.5},
                "position": {"type": "coordinate", "x": 500.0, "y": 0.0}},
            {"type": "text", "text": "20", "fontSize": 20.0, "color": "#FFFFFF", "backgroundColor": "#000000",
                "position": {"type": "rectangle", "name": "Toilet", "color": "#FF0000",
                    "strokeOpacity": 0.5, "fillOpacity": 0.25}},
        ],
    });
    let frames = frames(raw(&format!("MAP_COMMAND: {content}")), "map");
    assert_eq!(frames, [json!({"type": "map", "content": content})]);
}

#[test]
fn a_map_out_of_range_is_refused() {
    let place = json!({"type": "coordinate", "x": 1, "y": 1});
    for (key, one, word) in [
        ("rectangles", json!({"name": "Room1", "color": "red"}), "#RRGGBB"),
        ("rectangles", json!({"name": "Room1", "fillOpacity": 1.5}), "0 to 1"),
        (
            "overlays",
            json!({"type": "bitmap", "bitmapId": "person", "position": place}),
            "arrow_up",
        ),
        ("overlays", json!({"type": "text", "text": " ", "position": place}), "not empty"),
        (
            "overlays",
            json!({"type": "text", "text": "x", "fontSize": 0, "position": place}),
            "4 to 200",
        ),
        (
            "overlays",
            json!({"type": "text", "text": "x", "position": {"type": "coordinate", "x": 501, "y": 1}}),
            "0 to 500",
        ),
        (
            "overlays",
            json!({"type": "text", "text": "x", "position": place, "offset": {"x": 0, "y": 201}}),
            "-200 to 200",
        ),
    ] {
        let content = json!({"floorId": "1F", key: [one]});
        let parsed = parsed(raw(&format!("MAP_COMMAND: {content}")));
        assert_eq!(parsed.outputs.len(), 1, "{content}");
        assert!(parsed.refused[0].to_string().contains(word), "{:?}", parsed.refused);
    }
    let floor = parsed(raw("MAP_COMMAND: {\"floorId\": \"2F\"}"));
    assert_eq!(floor.refused[0].to_string(), "unknown floor \"2F\"; allowed: 1F");
}

#[test]
fn a_map_in_another_form_is_refused() {
    for map in
        ["{}", "{\"floorId\": 1}", "{\"floorId\": \"1F\", \"overlays\": [{\"type\": \"x\"}]}"]
    {
        let parsed = parsed(raw(&format!("MAP_COMMAND: {map}")));
        assert_eq!(parsed.outputs.len(), 1, "{map}");
        let told = parsed.refused[0].to_string();
        assert!(told.contains("floorId, rectangles and overlays"), "{told}");
    }
}

#[test]
fn a_time_that_is_none_is_not_passed_on() {
    for time in ["yesterday", "<b>2026-01-01T00:00:00Z</b>", "", "2026-01-01 00:00:00Z!!"] {
        let content = json!({"floorId": "1F", "timestamp": time});
        let frames = frames(raw(&format!("MAP_COMMAND: {content}")), "map");
        assert_eq!(frames[0]["content"]["timestamp"], NOW, "{time}");
    }
}

#[test]
fn show_map_is_read_from_calls() {
    let call = "show_map('1F', highlight_rooms='Kitchen, Toilet', room_colors='#FF0000', show_names=False,\n\
        bitmap_overlays='arrow_up:Kitchen;arrow_left:120,40', text_overlays=None)";
    assert_eq!(orders(code(call)), ["map 2 2"]);
    let content = &frames(code(call), "map")[0]["content"];
    assert_eq!(content["rectangles"][0]["showName"], false);
    assert_eq!(content["rectangles"][1]["color"], "#FFD700");
    assert_eq!(orders(code("show_map()")), ["map 0 0"]);
    for call in ["show_map(floor)", "show_map('1F', rooms())", "show_map(show_names='no')"] {
        assert_eq!(orders(code(call)), Vec::<String>::new(), "{call}");
    }
}

#[test]
fn an_order_is_told_once_however_often_it_is_repeated() {
    let arrow = "ARROW_COMMAND: room=Kitchen, direction=left";
    let map = "MAP_COMMAND: {\"floorId\":\"1F\",\"timestamp\":\"2026-01-01T00:00:00Z\"}";
    let value = json!({
        "text": format!("{arrow} {arrow} CLEAR_MAP_COMMAND {map}"),
        "raw_output": format!("{arrow} {map}"),
        "code_steps": [{"code": "draw_arrow('kitchen', 'left')\nshow_map()"}],
    });
    assert_eq!(orders(value.clone()), ["Kitchen left", "map 0 0", "no map"]);
    let time = &frames(value, "map")[0]["content"]["timestamp"];
    assert_eq!(time, "2026-01-01T00:00:00Z", "the code does not say when, but its output does");
}

#[test]
fn a_clear_stands_where_the_agent_put_it() {
    let first = "draw_arrow('Kitchen', 'up')\nclear_arrows()\nclear_map()";
    let value = |second: &str| {
        json!({"text": "t", "raw_output": "CLEAR_ARROWS_COMMAND\nARROW_COMMAND: room=Kitchen, direction=up",
            "code_steps": [{"code": first}, {"code": second}]})
    };
    assert_eq!(orders(value("")), ["Kitchen up", "no arrows", "no map"]);
    let again = orders(value("draw_arrow('Kitchen', 'up')\nshow_map()"));
    assert_eq!(again, ["Kitchen up", "no arrows", "Kitchen up", "no map", "map 0 0"]);
}

#[test]
fn orders_are_limited_in_number() {
    let many =
        "draw_arrow('Kitchen', 'up')\nclear_arrows()\nshow_map()\nclear_map()\n".repeat(1000);
    assert_eq!(orders(code(&many)).len(), limit::MAX_ARROWS + limit::MAX_FLOOR_MAPS);
}

#[test]
fn a_written_order_is_read_as_itself() {
    let wish = ShowMap {
        highlight_rooms: "Kitchen,Toilet".to_owned(),
        room_colors: ",#010203".to_owned(),
        bitmap_overlays: "arrow_up:1.5,2".to_owned(),
        text_overlays: "12:30 {:Room1".to_owned(),
        ..ShowMap::default()
    };
    for order in [
        FloorOrder::DrawArrow(Arrow::read("Room2", "down").unwrap()),
        FloorOrder::ClearArrows,
        FloorOrder::ShowMap(wish.read().unwrap()),
        FloorOrder::ClearMap,
    ] {
        let outputs = parsed(raw(&written(&order, NOW))).outputs;
        let read: Vec<FloorOrder> = outputs.iter().filter_map(Output::floor_order).collect();
        assert_eq!(read, std::slice::from_ref(&order));
        assert_eq!(Output::from(order).frame(NOW), outputs.last().unwrap().frame(NOW));
    }
}
