//! Tests of the floor plan.

use super::*;

#[test]
fn rooms_are_found_as_whole_words_in_their_own_order() {
    let names = |text: &str| Room::all_in(text).into_iter().map(Room::name).collect::<Vec<_>>();
    assert_eq!(names("KITCHEN and the bathroom, also Room1."), ["Room1", "Bathroom", "Kitchen"]);
    assert_eq!(names("Kitchen\u{306e}\u{6e29}\u{5ea6}"), ["Kitchen"]);
    assert_eq!(names("\u{90e8}\u{5c4b}toilet/LEVEL2-x"), ["Toilet", "Level2"]);
    assert_eq!(names("kitchen Kitchen"), ["Kitchen"]);
    assert_eq!(names("Room12 kitchens Level1a my_kitchen Kitchen_ 1Room1"), Vec::<&str>::new());
    assert_eq!(names(""), Vec::<&str>::new());
}

#[test]
fn every_name_finds_what_it_names() {
    for room in Room::ALL {
        assert_eq!(Room::find(&format!(" {} ", room.name().to_uppercase())), Ok(room));
        let area = room.area();
        assert!(area.width() > 70.0 && area.height() > 90.0, "{room:?}");
    }
    for direction in Direction::ALL {
        assert_eq!(Direction::find(&direction.word().to_uppercase()), Ok(direction));
        let bitmap = Bitmap::Arrow(direction);
        assert_eq!(Bitmap::find(bitmap.id()), Ok(bitmap));
        assert_eq!(bitmap.file(), format!("arrow_{}.bmp", direction.word()));
    }
    for floor in Floor::ALL {
        assert_eq!(Floor::find(floor.id()), Ok(floor));
    }
}

#[test]
fn the_plan_fills_its_part_of_the_picture() {
    let system = Floor::First.coordinates();
    let (across, down) = system.scale();
    assert!((across * 500.0 - 661.51).abs() < 1e-9, "{across}");
    assert!((down * 200.0 - 336.48).abs() < 1e-9, "{down}");
}

#[track_caller]
fn refused(wish: ShowMap, words: &str) {
    let error = wish.read().unwrap_err().to_string();
    assert!(error.contains(words), "{error}");
}

#[test]
fn what_is_unknown_is_refused_with_what_is_allowed() {
    let wish = ShowMap::default;
    refused(ShowMap { floor_id: "2F".into(), ..wish() }, "unknown floor \"2F\"; allowed: 1F");
    let rooms = "allowed: Room1, Room2, Bathroom, Kitchen, Toilet, Level1, Level2";
    refused(ShowMap { highlight_rooms: "Kitchen,Attic".into(), ..wish() }, rooms);
    let colors = |colors: &str| ShowMap {
        highlight_rooms: "Kitchen".into(),
        room_colors: colors.into(),
        ..wish()
    };
    for word in ["red", "#FFF", "#GG0000", "#+10000", "#FFD7000", "\u{3042}\u{3042}"] {
        refused(colors(word), "allowed: #RRGGBB");
    }
    refused(colors("#FF0000,#00FF00"), "2 colors of rooms; allowed: at most 1");
    let bitmaps = |list: &str| ShowMap { bitmap_overlays: list.into(), ..wish() };
    let ids = "unknown bitmap \"person\"; allowed: arrow_up, arrow_down, arrow_left, arrow_right";
    refused(bitmaps("person:Kitchen"), ids);
    refused(bitmaps("arrow_up:Attic"), rooms);
    refused(bitmaps("arrow_up"), "allowed: WHAT:ROOM or WHAT:X,Y");
    refused(bitmaps("arrow_up:a,b"), "allowed: WHAT:ROOM or WHAT:X,Y");
    refused(bitmaps("arrow_up:501,0"), "x is 501; allowed: 0 to 500");
    refused(bitmaps("arrow_up:0,-1"), "y is -1; allowed: 0 to 200");
    refused(bitmaps("arrow_up:NaN,0"), "x is NaN; allowed: 0 to 500");
    refused(bitmaps(&"arrow_up:Kitchen;".repeat(65)), "65 overlays; allowed: at most 64");
    let texts = |list: &str| ShowMap { text_overlays: list.into(), ..wish() };
    refused(texts(":Kitchen"), "not empty");
    refused(texts(&format!("{}:Kitchen", "x".repeat(401))), "at most 400");
}

#[test]
fn a_long_foreign_word_is_quoted_shortly() {
    let error = Room::find(&"x\n".repeat(10_000)).unwrap_err().to_string();
    assert!(error.len() < 200 && !error.contains('\n'), "{error}");
}

#[test]
fn lists_are_read_with_their_blanks_and_colons() {
    let wish = ShowMap {
        highlight_rooms: " kitchen , TOILET,, Room1 ".into(),
        room_colors: "#ff0000,,#0000FF".into(),
        show_names: false,
        text_overlays: "12:30 : Kitchen ; \u{6e29}\u{5ea6}: 10.5 , 20 ;".into(),
        ..ShowMap::default()
    };
    let map = wish.read().unwrap();
    let marked: Vec<_> =
        map.highlights().iter().map(|one| (one.room, one.color.to_string(), one.name)).collect();
    let no = NameShown::No;
    let wanted = [
        (Room::Kitchen, "#FF0000".to_owned(), no),
        (Room::Toilet, "#FFD700".to_owned(), no),
        (Room::Room1, "#0000FF".to_owned(), no),
    ];
    assert_eq!(marked, wanted);
    let OverlayKind::Label(label) = &map.overlays()[0].kind else { panic!("{map:?}") };
    assert_eq!(label.text(), "12:30");
    assert_eq!(map.overlays()[0].place, Place::in_room(Room::Kitchen));
    assert_eq!(map.overlays()[1].place, Place::Spot(Spot::new(10.5, 20.0).unwrap()));
}
