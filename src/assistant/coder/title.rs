//! Titles of tool calls, for people.

use super::{Said, Texts};
use crate::tool::Call;

/// A longer value is cut; the whole of it is in the call's input.
const LONGEST: usize = 120;

/// On one line.
pub(super) fn title(call: &Call, texts: &Texts) -> String {
    let values: Vec<_> = call.subject.iter().map(|(name, value)| (*name, short(value))).collect();
    let values: Vec<_> = values.iter().map(|(name, value)| (*name, value.as_str())).collect();
    texts.say(Said::Title { tool: call.tool.name, values: &values })
}

/// The first line, or its beginning.
fn short(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    let short: String = line.chars().take(LONGEST).collect();
    if short.len() < text.trim_end().len() { format!("{short}...") } else { short }
}
