//! How images are named, and which names the caller is asked for.

use super::super::{Image, limit, parse};
use super::{NOW, frames, raw, response};
use bytes::Bytes;
use serde_json::{Value, json};
use std::cell::RefCell;

/// The paths that were asked for, and those that were found, if just these files exist.
fn looked(value: Value, files: &[&str]) -> (Vec<String>, Vec<String>) {
    let asked = RefCell::new(Vec::new());
    let open = |path: &str| {
        asked.borrow_mut().push(path.to_owned());
        files.contains(&path).then(|| Image { bytes: Bytes::from_static(b"x") })
    };
    let outputs = parse(&response(value), &open).outputs;
    let paths = outputs.iter().filter_map(|one| Some(one.frame(NOW)["path"].as_str()?.to_owned()));
    let paths = paths.collect();
    (asked.into_inner(), paths)
}

#[track_caller]
fn finds(text: &str, file: &str) {
    assert_eq!(looked(raw(text), &[file]).1, [file], "{text}");
}

#[track_caller]
fn asks_nothing(text: &str) {
    assert_eq!(looked(raw(text), &[]).0, Vec::<String>::new(), "{text}");
}

#[test]
fn paths_are_found_within_sentences() {
    for text in [
        "zu.png",
        "saved zu.png.",
        "'zu.png'",
        "\"zu.png\"",
        "`zu.png`",
        "(zu.png)",
        "[zu.png]",
        "![plot](zu.png)",
        "path=zu.png, ok",
        "saved:zu.png",
        "metadata:zu.png",
        "{'path': 'zu.png'}",
        "zu.png\r\n",
        "\u{56f3}\u{3092}zu.png\u{306b}\u{4fdd}\u{5b58}",
        "\u{300c}zu.png\u{300d}",
        "\u{4fdd}\u{5b58}\u{ff1a}zu.png\u{3002}",
    ] {
        finds(text, "zu.png");
    }
    finds("saved './a/zu.PNG'", "a/zu.PNG");
    let open = |_: &str| Some(Image { bytes: Bytes::from_static(b"x") });
    let outputs = parse(&response(raw("zu.PNG")), &open).outputs;
    assert_eq!(outputs[1].frame(NOW)["format"], "PNG", "the ending keeps its case");
    finds("saved to /work/out/zu.jpeg!", "/work/out/zu.jpeg");
    finds("in C:\\out\\zu.gif now", "C:\\out\\zu.gif");
    finds("saved 'my plot (1).png'", "my plot (1).png");
    finds(&format!("{}zu.png", "\u{3042}".repeat(1000)), "zu.png");
    finds("a \u{56f3}1.png b", "\u{56f3}1.png");
    finds("zu(1).png", "zu(1).png");
}

#[test]
fn a_whole_name_is_preferred_to_a_part_of_it() {
    let (asked, found) = looked(raw("see my:zu.png"), &["my:zu.png", "zu.png"]);
    assert_eq!((asked.len(), found), (1, vec!["my:zu.png".to_owned()]));
}

#[test]
fn names_that_cannot_be_images_of_an_agent_are_not_asked_for() {
    for text in [
        "zu.png.bak",
        "zu.pngx",
        "zu.png/x",
        ".png",
        "/.png",
        "../zu.png",
        "a/../../zu.png",
        "http://host/zu.png",
        "//host/zu.png",
        "file:///etc/zu.svg",
        "zu.txt",
        "png",
    ] {
        asks_nothing(text);
    }
    asks_nothing(&format!("/{}.png", "x".repeat(limit::MAX_PATH)));
}

#[test]
fn each_path_is_asked_for_and_shown_once() {
    let value = json!({"text": "zu.png and ./zu.png", "raw_output": "zu.png 'zu.png'",
        "code_steps": [{"code": "plt.savefig('zu.png')"}], "images": ["zu.png"]});
    assert_eq!(looked(value.clone(), &["zu.png"]), (vec!["zu.png".into()], vec!["zu.png".into()]));
    assert_eq!(looked(value, &[]).0, ["zu.png"]);
}

#[test]
fn code_that_saves_an_image_names_it() {
    for (code, file) in [
        ("plt.savefig('zu.png')", "zu.png"),
        ("fig.savefig(fname=r\"a\\zu.png\", dpi=100)", "a\\zu.png"),
        ("Image.open(x).save(\n    'zu.jpg', quality=9)", "zu.jpg"),
        ("gdf.to_file('zu.png')", "zu.png"),
        ("matplotlib.pyplot.savefig(\"my zu.png\")", "my zu.png"),
    ] {
        let value = json!({"text": "t", "code_steps": [{"code": code}]});
        assert_eq!(looked(value, &[file]).1, [file], "{code}");
    }
    for code in ["# plt.savefig('zu.png')", "savefig(f'{x}.png')", "save('zu.csv')", "savefig(x)"] {
        let value = json!({"text": "t", "code_steps": [{"code": code}]});
        assert_eq!(looked(value, &[]).0, Vec::<String>::new(), "{code}");
    }
}

#[test]
fn a_data_uri_is_an_image_if_it_is_one() {
    let images = |text: &str| frames(raw(text), "image");
    let wanted = json!({"type": "image", "content": "eHk=", "format": "png"});
    assert_eq!(images("<img src='data:image/png;base64,eHk='>"), std::slice::from_ref(&wanted));
    assert_eq!(images("data:image/PNG;base64,eHk= data:image/png;base64,eHk="), [wanted]);
    for text in [
        "data:image/png;base64,",
        "data:image/png;base64,x",
        "data:image/png,eHk=",
        "data:image/svg+xml;base64,eHk=",
        "data:text/html;base64,eHk=",
        "data:image/",
    ] {
        assert_eq!(images(text), Vec::<Value>::new(), "{text}");
    }
}

#[test]
fn given_images_are_shown() {
    let data = json!({"content": "eHk=", "format": "png", "path": "a.png"});
    let value = json!({"images": ["data:image/gif;base64,eHk=", data, {"data": "eHo=", "format": "jpg"}, 5,
        {"content": "eHk=", "format": "html"}, {"content": "?", "format": "png"}]});
    assert_eq!(
        frames(value, "image"),
        [
            json!({"type": "image", "content": "eHk=", "format": "gif"}),
            json!({"type": "image", "content": "eHk=", "format": "png", "path": "a.png"}),
            json!({"type": "image", "content": "eHo=", "format": "jpg"}),
        ]
    );
}

#[test]
fn images_are_limited_in_number_and_size() {
    let many: String = (0..1000).map(|number| format!("x{number}.png ")).collect();
    assert_eq!(looked(raw(&many), &[]).0.len(), 64);
    let count = |size: usize| {
        let open = |_: &str| Some(Image { bytes: Bytes::from(vec![0; size]) });
        parse(&response(raw(&many)), &open).outputs.len()
    };
    assert_eq!(count(1), 1 + limit::MAX_IMAGES);
    assert_eq!(count(limit::MAX_IMAGE + 1), 1);
    assert_eq!(count(0), 1);
    let given =
        |size: usize| json!({"images": [{"content": "AAAA".repeat(size / 3), "format": "png"}]});
    assert_eq!(frames(given(limit::MAX_IMAGE - 2), "image").len(), 1);
    assert_eq!(frames(given(limit::MAX_IMAGE + 3), "image").len(), 0);
}
