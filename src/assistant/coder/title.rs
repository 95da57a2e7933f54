//! Titles of tool calls, for people.

use super::{Said, Texts};
use crate::tool::Call;

/// For people, on one line.
pub(super) fn title(call: &Call, texts: &Texts) -> String {
    call.title(|tool, values| texts.say(Said::Title { tool, values }))
}

/// For rules.
pub(super) fn english_title(call: &Call, texts: &Texts) -> String {
    call.title(|tool, values| texts.say(Said::EnglishTitle { tool, values }))
}
