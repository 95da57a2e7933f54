//! All orders for the floor plan in a response: arrows first, then maps. The same order is often found in the code, in what
//! the code printed and in the answer, so each of these places only adds what the places before it do not have.

use super::call::{Argument, Call, Literal};
use super::{AgentResponse, Output, ShownMap, call, command, limit};
use crate::message::floor::{Arrow, FloorError, ShowMap};

const TOOLS: [&str; 4] = ["draw_arrow", "clear_arrows", "show_map", "clear_map"];

pub(super) fn all(response: &AgentResponse) -> (Vec<Output>, Vec<FloorError>) {
    let mut orders = Orders::default();
    orders.add_place(call::in_steps(response, &TOOLS).iter().filter_map(called));
    for text in [&response.raw_output, &response.text] {
        orders.add_place(command::commands(limit::scanned(text)));
    }
    orders.arrows.append(&mut orders.maps);
    (orders.arrows, orders.refused)
}

#[derive(Default)]
struct Orders {
    /// Arrows and clears of them.
    arrows: Vec<Output>,
    /// Maps and clears of them.
    maps: Vec<Output>,
    refused: Vec<FloorError>,
}

impl Orders {
    fn add_place(&mut self, orders: impl Iterator<Item = Result<Output, FloorError>>) {
        let (old_arrows, old_maps) = (self.arrows.len(), self.maps.len());
        for order in orders {
            match order {
                Ok(order @ (Output::Map(_) | Output::ClearMap)) => {
                    add(&mut self.maps, order, old_maps, limit::MAX_FLOOR_MAPS);
                }
                Ok(order) => add(&mut self.arrows, order, old_arrows, limit::MAX_ARROWS),
                Err(error) if self.refused.contains(&error) => {}
                Err(error) if self.refused.len() < limit::MAX_REFUSED => self.refused.push(error),
                Err(_) => {}
            }
        }
    }
}

/// Adds an order unless an earlier place has it, or this place already since its last clear.
fn add(orders: &mut Vec<Output>, order: Output, old: usize, most: usize) {
    let start = orders.iter().rposition(is_clear).map_or(old, |at| old.max(at + 1));
    let is_repeated = is_clear(&order) && start == orders.len() && orders.len() > old;
    let is_full = orders.len() >= most;
    let mut known = orders.iter_mut().enumerate().filter(|(at, _)| *at < old || *at >= start);
    if let Some((_, known)) = known.find(|(_, one)| is_same(one, &order)) {
        // Code does not say when it was run, but what it printed does.
        if let (Output::Map(known), Output::Map(new)) = (known, order) {
            known.timestamp = known.timestamp.take().or(new.timestamp);
        }
    } else if !is_repeated && !is_full {
        orders.push(order);
    }
}

fn is_clear(order: &Output) -> bool {
    matches!(order, Output::ClearArrows | Output::ClearMap)
}

/// Maps are the same if they show the same, whenever they were made.
fn is_same(one: &Output, other: &Output) -> bool {
    match (one, other) {
        (Output::Map(one), Output::Map(other)) => one.map == other.map,
        (one, other) => one == other,
    }
}

/// What a call of a tool asks for; `None` if its arguments cannot be read without running it.
fn called(call: &Call<'_>) -> Option<Result<Output, FloorError>> {
    match call.name {
        "draw_arrow" => {
            let room = text(argument(call, &["room_name", "room"], 0)?)?;
            let direction = text(argument(call, &["direction"], 1)?)?;
            Some(Arrow::read(room, direction).map(Output::Arrow))
        }
        "clear_arrows" => Some(Ok(Output::ClearArrows)),
        "show_map" => {
            let map = wish(call)?.read();
            Some(map.map(|map| Output::Map(ShownMap { map, timestamp: None })))
        }
        "clear_map" => Some(Ok(Output::ClearMap)),
        _ => None,
    }
}

fn wish(call: &Call<'_>) -> Option<ShowMap> {
    let usual = ShowMap::default();
    let given = |name: &str, place: usize, usual: String| match argument(call, &[name], place) {
        None | Some(Literal::Nothing) => Some(usual),
        Some(value) => text(value).map(str::to_owned),
    };
    Some(ShowMap {
        floor_id: given("floor_id", 0, usual.floor_id)?,
        highlight_rooms: given("highlight_rooms", 1, usual.highlight_rooms)?,
        room_colors: given("room_colors", 2, usual.room_colors)?,
        show_names: match argument(call, &["show_names"], 3) {
            None | Some(Literal::Nothing) => usual.show_names,
            Some(Literal::Flag(flag)) => *flag,
            Some(Literal::Text(_) | Literal::Unreadable) => return None,
        },
        bitmap_overlays: given("bitmap_overlays", 4, usual.bitmap_overlays)?,
        text_overlays: given("text_overlays", 5, usual.text_overlays)?,
    })
}

/// The argument with one of these names, or at this place among those without a name.
fn argument<'a>(call: &'a Call<'_>, names: &[&str], place: usize) -> Option<&'a Literal> {
    let is_named = |one: &&Argument<'_>| one.keyword.is_some_and(|name| names.contains(&name));
    let placed = call.arguments.get(place).filter(|one| one.keyword.is_none());
    placed.or(call.arguments.iter().find(is_named)).map(|one| &one.value)
}

fn text(value: &Literal) -> Option<&str> {
    match value {
        Literal::Text(text) => Some(text),
        Literal::Flag(_) | Literal::Nothing | Literal::Unreadable => None,
    }
}
