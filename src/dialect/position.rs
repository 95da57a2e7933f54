//! Where in a text a JSON parser stopped, in lines and columns as editors count them.

use crate::locale::Locale;

/// Lines count from 1. A column is the number of characters up to the mistake, so that 0 is before the first one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TextPosition {
    pub line: usize,
    pub column: usize,
}

impl TextPosition {
    /// The parser counts columns in bytes, but people count characters; a Japanese character has three bytes.
    pub(super) fn of(text: &str, error: &serde_json::Error) -> Self {
        let line = text.split('\n').nth(error.line().saturating_sub(1)).unwrap_or_default();
        let column = line.char_indices().take_while(|(at, _)| *at < error.column()).count();
        Self { line: error.line(), column }
    }

    /// Fills `{line}` and `{column}` into a text.
    pub(super) fn say(self, locale: Locale, section: &str, name: &str) -> String {
        let (line, column) = (self.line.to_string(), self.column.to_string());
        locale.say(section, name, &[("line", &line), ("column", &column)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, line: usize, column: usize) {
        let error = serde_json::from_str::<serde::de::IgnoredAny>(text).unwrap_err();
        assert_eq!(TextPosition::of(text, &error), TextPosition { line, column }, "{text}");
    }

    #[test]
    fn columns_are_characters_of_their_line() {
        check("", 1, 0);
        check("{\"a\":x}", 1, 6);
        check("{\n\"a\":\nx}", 3, 1);
        check("{\"\u{8b58}\u{5225}\":x}", 1, 7);
        check("{\"\u{8b58}", 1, 3);
    }
}
