//! Reads what a foreign agent has written, and finds in it what its page can show: code, texts, pictures, points of a map,
//! and orders for the floor plan. Pure: it opens no file, asks no clock, and its time grows with the size of the text. It
//! knows neither sockets nor the order of other frames. The outputs come in this order: code of steps, of fences and
//! labels in the raw output, of logs, of fences in the text; text or error; pictures; points; rooms that the text names;
//! arrows; the map. A clear stands where the agent put it among the arrows, or among the maps.

mod call;
mod candidate;
mod code;
mod command;
mod data_uri;
mod definition;
mod fence;
mod floor_order;
mod frame;
mod image;
mod label;
mod limit;
mod map_wire;
mod object;
mod output;
mod overlay_wire;
mod pair;
mod point;
mod python;
mod response;

#[cfg(test)]
mod tests;

pub use command::{commands, written};
pub use definition::definition;
pub use image::Image;
pub use limit::MAX_OUTPUTS;
pub use map_wire::content as map_content;
pub use output::{Code, CodeOrigin, Output, Picture, ShownMap};
pub use point::{Point, PointMap};
pub use response::{AgentResponse, CodeStep, GivenImage, Log};

use crate::message::floor::{FloorError, Room};

/// What was found in a response.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Parsed {
    /// In the order in which pages are sent them; at most [`MAX_OUTPUTS`].
    pub outputs: Vec<Output>,
    /// Why orders for the floor plan were refused.
    pub refused: Vec<FloorError>,
}

/// `open` is asked for each path that may be an image, best guess first. It decides which files an agent may show.
pub fn parse(response: &AgentResponse, open: &dyn Fn(&str) -> Option<Image>) -> Parsed {
    let mut outputs: Vec<Output> = code::all(response).into_iter().map(Output::Code).collect();
    outputs.extend(words(response));
    outputs.extend(image::all(response, open).into_iter().map(Output::Picture));
    outputs.extend(point::all(response).into_iter().map(Output::Points));
    let rooms = Room::all_in(limit::scanned(&response.text));
    if !rooms.is_empty() {
        outputs.push(Output::Rooms(rooms));
    }
    let (orders, refused) = floor_order::all(response);
    outputs.extend(orders);
    Parsed { outputs, refused }
}

/// The words of the agent. A failure that says nothing is shown by what the agent printed, so that nobody waits in vain.
fn words(response: &AgentResponse) -> Option<Output> {
    let is_said = |text: &&String| !text.trim().is_empty();
    let text = Some(&response.text).filter(is_said);
    if !response.error {
        return text.map(|text| Output::Text(limit::cut(text, limit::MAX_TEXT)));
    }
    let text = text.or(Some(&response.raw_output).filter(is_said));
    text.map(|text| Output::Error(limit::cut(text, limit::MAX_TEXT)))
}
