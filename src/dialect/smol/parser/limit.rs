//! How much one response may fill. What is above a limit is left out, and the rest is still shown.

/// Bytes of one text that are searched.
const MAX_SCANNED: usize = 4 * 1024 * 1024;
/// Bytes of code of steps that are searched, over all steps.
pub(super) const MAX_SEARCHED_CODE: usize = 256 * 1024;
/// Bytes of a shown text.
pub(super) const MAX_TEXT: usize = 256 * 1024;
/// Bytes of a shown piece of code.
pub(super) const MAX_CODE: usize = 64 * 1024;
/// Bytes of a short word: the label of a step, the language of a fence.
pub(super) const MAX_WORD: usize = 64;
/// Bytes of an image.
pub(super) const MAX_IMAGE: usize = 8 * 1024 * 1024;
/// Bytes of the path of an image.
pub(super) const MAX_PATH: usize = 512;
/// Bytes of the JSON of one command.
pub(super) const MAX_COMMAND: usize = 256 * 1024;

pub(super) const MAX_CODES: usize = 64;
pub(super) const MAX_IMAGES: usize = 16;
/// Maps of points.
pub(super) const MAX_MAPS: usize = 8;
/// Points of one map.
pub(super) const MAX_POINTS: usize = 1000;
/// Arrows and clears of arrows.
pub(super) const MAX_ARROWS: usize = 32;
/// Maps of the floor and clears of them.
pub(super) const MAX_FLOOR_MAPS: usize = 8;
/// Refused orders that are told.
pub(super) const MAX_REFUSED: usize = 16;

/// Outputs of one response: one text and one list of rooms beside the others.
pub const MAX_OUTPUTS: usize = MAX_CODES + MAX_IMAGES + MAX_MAPS + MAX_ARROWS + MAX_FLOOR_MAPS + 2;

/// Says that something is missing, in no language.
pub(super) const CUT: &str = "\n[...]";

/// The part of a text that is searched.
pub(super) fn scanned(text: &str) -> &str {
    start(text, MAX_SCANNED)
}

/// The text, or its start and a mark.
pub(super) fn cut(text: &str, most: usize) -> String {
    let kept = start(text, most);
    if kept.len() == text.len() { kept.to_owned() } else { format!("{kept}{CUT}") }
}

/// At most so many bytes, without half a character.
pub(super) fn start(text: &str, most: usize) -> &str {
    let end = (0..=most.min(text.len())).rev().find(|end| text.is_char_boundary(*end));
    &text[..end.unwrap_or(0)]
}

/// At most so many bytes at the end, without half a character.
pub(super) fn end(text: &str, most: usize) -> &str {
    let from = (text.len().saturating_sub(most)..text.len()).find(|at| text.is_char_boundary(*at));
    &text[from.unwrap_or(text.len())..]
}
