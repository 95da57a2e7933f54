//! Texts that are made to break the parser or to keep it busy.

use super::super::{AgentResponse, CodeStep, Image, Log, MAX_OUTPUTS, limit, parse};
use super::NOW;
use bytes::Bytes;
use proptest::prelude::*;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

const MIB: usize = 1024 * 1024;
/// What may be written for one response: each kind of output at its limit, with the bytes that JSON adds.
const MOST_BYTES: usize = 6 * (limit::MAX_CODES * limit::MAX_CODE + limit::MAX_TEXT + MIB);

/// Puts the text everywhere.
fn everywhere(text: &str) -> AgentResponse {
    AgentResponse {
        text: text.to_owned(),
        raw_output: text.to_owned(),
        code_steps: vec![CodeStep { code: text.to_owned(), step: None }],
        logs: vec![Log::Line(text.to_owned())],
        ..AgentResponse::default()
    }
}

fn some_image(path: &str) -> Option<Image> {
    path.len().is_multiple_of(2).then(|| Image { bytes: Bytes::from_static(b"x") })
}

/// The number and the size of the frames.
fn size(response: &AgentResponse) -> (usize, usize) {
    let outputs = parse(response, &some_image).outputs;
    let bytes = outputs.iter().map(|output| output.frame(NOW).to_string().len()).sum();
    (outputs.len(), bytes)
}

const PIECES: &[&str] = &[
    "`",
    "```",
    "````\n",
    "x```\n",
    "x```",
    "``` ",
    "\n```x",
    "```py\n",
    "\n```",
    "{",
    "}",
    "{}",
    "{\"",
    "\\",
    "\\\"",
    "\"",
    "'",
    "'''",
    "\"\"\"",
    "#",
    "(",
    ")",
    "[",
    ",",
    ".",
    "1.",
    "1,",
    "1.5, 2.5 ",
    "1.5,",
    "-",
    "+-",
    " ",
    "\n",
    "\r",
    "\u{3042}",
    "\u{e9}.png",
    ".png",
    "a.png ",
    "'a.png' ",
    "(a.png",
    "data:image/png;base64,",
    "data:image/png;base64,AAAA ",
    "data:image/",
    "A",
    "MAP_COMMAND: {",
    "MAP_COMMAND: {\"a\":",
    "MAP_COMMAND: {\"floorId\":\"1F\"} ",
    "_COMMAND",
    "_",
    "CLEAR_MAP_COMMAND ",
    "ARROW_COMMAND: room=Kitchen, direction=up\n",
    "ARROW_COMMAND: ",
    "Kitchen ",
    "Kitchen",
    "lat 1.5, 2.5\n",
    "{\"lat\":1,\"lon\":2}",
    "{\"a\":1,\"b\":",
    "{\"a\":[",
    "{\"points\":[{\"lat\":1,\"lon\":2}]}",
    "Code:\n",
    "Code:\n x\n",
    "draw_arrow(",
    "draw_arrow('Kitchen','up')\n",
    "show_map()\n",
    "savefig('a.png')\n",
    "f'",
    "rb\"",
    "def ",
    "= ",
    "\\u",
    "{'a':1.00000}",
    "{\"aaaaaa\":1}",
];

/// The time that this thread has been running: the machine may be busy with something else.
fn running_time() -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanoseconds = text.split(' ').next().and_then(|first| first.parse().ok());
    nanoseconds.map_or_else(|| BEGIN.elapsed(), Duration::from_nanos)
}

static BEGIN: LazyLock<Instant> = LazyLock::new(Instant::now);

/// The best of a few times counts.
#[track_caller]
fn takes_little_time(response: &AgentResponse, what: &str) {
    let attempt = |_| {
        let start = running_time();
        let (count, bytes) = size(response);
        assert!(count <= MAX_OUTPUTS && bytes <= MOST_BYTES, "{what:?}: {count}, {bytes}");
        running_time() - start
    };
    let is_long = |taken: &Duration| *taken >= Duration::from_millis(500);
    let taken: Vec<Duration> = (0..3).map(attempt).take_while(is_long).collect();
    assert!(taken.len() < 3, "{what:?} takes {taken:?}");
}

#[test]
fn no_text_keeps_the_parser_busy() {
    for piece in ["`", "{", "}", "\\", "\"", "\n", "x```\n", "{\"lat\":", "MAP_COMMAND: {\"a\":"] {
        let raw_output = piece.repeat(MIB / piece.len());
        takes_little_time(&AgentResponse { raw_output, ..AgentResponse::default() }, piece);
    }
}

#[cfg(feature = "slow-tests")]
#[test]
fn no_text_in_any_place_keeps_the_parser_busy() {
    for piece in PIECES {
        takes_little_time(&everywhere(&piece.repeat(MIB / 2 / piece.len())), piece);
    }
}

#[test]
fn a_word_at_the_far_end_is_looked_for_once() {
    for (piece, end) in
        [("1, 2; ", "map"), ("1, 2; ", "lat"), ("{\"lat\":1} ", "{"), ("``` ", "\n```\n")]
    {
        takes_little_time(&everywhere(&(piece.repeat(MIB / 2 / piece.len()) + end)), piece);
    }
    let points: String = (0..1000).map(|lat| format!("{{\"lat\":0.{lat:03},\"lon\":2}}")).collect();
    takes_little_time(&everywhere(&points.repeat(15)), "points");
}

#[test]
fn nested_braces_are_cheap_and_do_not_exhaust_the_stack() {
    let all =
        [("{", "}"), ("{\"lat\":", "}"), ("{\"lat\":[", "]}"), ("(", ")"), ("draw_arrow(", ")")];
    for (open, close) in all {
        let count = MIB / 2 / (open.len() + close.len());
        let nested = format!("{}1{}", open.repeat(count), close.repeat(count));
        takes_little_time(&everywhere(&nested), open);
        takes_little_time(&everywhere(&format!("MAP_COMMAND: {nested}")), open);
    }
}

fn hostile_text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => proptest::sample::select(PIECES).prop_map(str::to_owned),
        1 => any::<String>(),
        1 => "[ -~]{0,12}",
    ];
    proptest::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn any_text_is_read_within_bounds(text in hostile_text(), error: bool) {
        let response = AgentResponse { error, ..everywhere(&text) };
        let parsed = parse(&response, &some_image);
        prop_assert!(parsed.outputs.len() <= MAX_OUTPUTS);
        prop_assert!(parsed.refused.len() <= limit::MAX_REFUSED);
        for output in &parsed.outputs {
            let frame = output.frame(NOW);
            prop_assert!(frame["type"].is_string() && !frame["content"].is_null());
            prop_assert!(frame.to_string().len() <= 64 * (text.len() + 64));
        }
        prop_assert_eq!(parse(&response, &some_image), parsed);
    }

    #[test]
    fn any_response_is_written_as_it_was_read(text in hostile_text()) {
        let response = everywhere(&text);
        let json = serde_json::to_string(&response).unwrap();
        let read: AgentResponse = serde_json::from_str(&json).unwrap();
        prop_assert_eq!(read, response);
    }
}
