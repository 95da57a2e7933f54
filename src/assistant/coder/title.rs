//! Titles of tool calls, for people.

use super::{Said, Texts};
use crate::tool::Call;

/// A longer value is cut; the whole of it is in the call's input.
const LONGEST: usize = 120;

/// For people, on one line.
pub(super) fn title(call: &Call, texts: &Texts) -> String {
    titled(call, |tool, values| texts.say(Said::Title { tool, values }))
}

/// For rules, which match English titles.
pub(super) fn english_title(call: &Call, texts: &Texts) -> String {
    titled(call, |tool, values| texts.say(Said::EnglishTitle { tool, values }))
}

fn titled(call: &Call, say: impl FnOnce(&str, &[(&str, &str)]) -> String) -> String {
    let values: Vec<_> =
        call.title_values.iter().map(|(name, value)| (*name, short(value))).collect();
    let values: Vec<_> = values.iter().map(|(name, value)| (*name, value.as_str())).collect();
    say(call.tool.name, &values)
}

/// The first line, cut to [`LONGEST`] characters.
fn short(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    let short: String = line.chars().take(LONGEST).collect();
    if short.len() < text.trim_end().len() { format!("{short}...") } else { short }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_shows_one_short_line_of_each_value() {
        assert_eq!(short("ls"), "ls");
        assert_eq!(short("ls\nrm x"), "ls...");
        assert_eq!(short(&"x".repeat(LONGEST + 1)), format!("{}...", "x".repeat(LONGEST)));
        assert_eq!(short(""), "");
    }
}
