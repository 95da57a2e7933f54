//! The outputs of a turn that has ended, in the document's order. Code, pictures and orders for the plan are known from
//! the turn's events; what its words name besides is found by the parser.

use super::parser::{AgentResponse, Image, Output, parse};
use super::turn::{Picture, Turn};
use super::{order, picture};
use crate::message::EventTime;
use crate::message::floor::FloorOrder;
use bytes::Bytes;
use jiff::Timestamp;
use serde_json::{Value, json};

/// What the turn ends with.
pub(super) struct Said {
    pub(super) text: String,
    pub(super) is_error: bool,
}

/// Pictures that the session has, the newest last.
pub(super) type Pictures = Vec<Picture>;

/// The frames of a turn: what the agent has said and done in all, then each output.
pub(super) fn frames(turn: &Turn, said: &Said, earlier: &Pictures) -> Vec<Value> {
    let (outputs, refused) = outputs(turn, said, earlier);
    let parsed: Vec<_> = outputs.iter().map(|one| summed(turn, earlier, one)).collect();
    let mut content = json!({
        "agent_response": turn.response(&said.text, said.is_error),
        "parsed_outputs": parsed, "output_count": outputs.len(),
    });
    if !refused.is_empty() {
        content["refused"] = json!(refused);
    }
    let debug = json!({"type": "debug", "content": content});
    std::iter::once(debug).chain(outputs).collect()
}

/// The outputs, and why orders for the plan are not among them that the words gave.
fn outputs(turn: &Turn, said: &Said, earlier: &Pictures) -> (Vec<Value>, Vec<String>) {
    // Of the code only what was run counts: the parser would take calls in it for orders.
    let words = AgentResponse {
        text: said.text.clone(),
        raw_output: turn.raw.clone(),
        error: said.is_error,
        ..AgentResponse::default()
    };
    let all = [earlier, &turn.pictures[..]].concat();
    let found = parse(&words, &|name| {
        let stored = all.iter().rev().find(|one| one.saved_as == name || one.file.name == name)?;
        // Read when the frame is sent; until then the name stands for the bytes.
        Some(Image { bytes: Bytes::from(stored.file.name.clone()) })
    });
    let code = turn.code.iter().map(|note| {
        json!({"type": "code", "content": note.code, "language": "python", "step": Turn::label(note.step)})
    });
    let made = turn.pictures.iter().map(|one| picture::frame(&one.file.name));
    let known: Vec<_> = turn.orders.iter().map(|(order, _)| order).collect();
    let mut frames = Frames { before: code.collect(), images: made.collect(), ..Frames::default() };
    let (maps, arrows): (Vec<_>, Vec<_>) =
        turn.orders.iter().partition(|(order, _)| is_of_map(order));
    frames.arrows.extend(arrows.iter().map(|(order, at)| order::frame(order, &time(*at))));
    frames.maps.extend(maps.iter().map(|(order, at)| order::frame(order, &time(*at))));
    let now = time(turn.at());
    for output in found.outputs {
        frames.add(turn, &known, &output, &now);
    }
    (frames.all(), found.refused.iter().map(ToString::to_string).collect())
}

/// The frames of each kind, in the order of the kinds.
#[derive(Default)]
struct Frames {
    before: Vec<Value>,
    words: Vec<Value>,
    images: Vec<Value>,
    places: Vec<Value>,
    arrows: Vec<Value>,
    maps: Vec<Value>,
}

impl Frames {
    /// Adds what the words name, unless an event has told it.
    fn add(&mut self, turn: &Turn, known: &[&FloorOrder], output: &Output, now: &str) {
        if output.floor_order().is_some_and(|order| known.contains(&&order)) {
            return;
        }
        match output {
            Output::Code(code) => {
                let was_run =
                    |content: &str| turn.code.iter().any(|note| note.code.trim() == content.trim());
                if !was_run(&code.content) {
                    self.before.push(output.frame(now));
                }
            }
            Output::Text(_) | Output::Error(_) => self.words.push(output.frame(now)),
            Output::Picture(found) if found.path.is_some() => {
                let frame = picture::frame(&String::from_utf8_lossy(&found.image.bytes));
                if !self.images.contains(&frame) {
                    self.images.push(frame);
                }
            }
            Output::Picture(_) => self.images.push(output.frame(now)),
            Output::Points(_) | Output::Rooms(_) => self.places.push(output.frame(now)),
            Output::Arrow(_) | Output::ClearArrows => self.arrows.push(output.frame(now)),
            Output::Map(_) | Output::ClearMap => self.maps.push(output.frame(now)),
        }
    }

    fn all(self) -> Vec<Value> {
        let Self { before, words, images, places, arrows, maps } = self;
        [before, words, images, places, arrows, maps].concat()
    }
}

fn is_of_map(order: &FloorOrder) -> bool {
    match order {
        FloorOrder::ShowMap(_) | FloorOrder::ClearMap => true,
        FloorOrder::DrawArrow(_) | FloorOrder::ClearArrows => false,
    }
}

/// The time of a map is that of its order, so the same history gives the same frames.
fn time(at: EventTime) -> String {
    let time = Timestamp::from_millisecond(at.0).unwrap_or(Timestamp::UNIX_EPOCH);
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// An output without the bytes of pictures: they follow, and need not travel twice.
fn summed(turn: &Turn, earlier: &Pictures, output: &Value) -> Value {
    let mut output = output.clone();
    if output["type"] == "image" {
        let mut all = turn.pictures.iter().chain(earlier);
        let stored = all.find(|one| output["path"] == one.file.name).map(|one| one.size);
        let inline = output["content"].as_str().map(|text| text.len() as u64 / 4 * 3);
        output["content"] = json!(format!("[{} bytes]", stored.or(inline).unwrap_or(0)));
    }
    output
}
