//! `sed`: its command `e` and the flag of that name run what they are given.

use super::field::{Feed, Field};
use super::reason;
use super::walk::{Dirs, Walker};

impl Walker<'_> {
    pub(super) fn sed(&mut self, arguments: &[Field], dirs: &Dirs) {
        let mut scripts = Vec::new();
        let mut rest = arguments.iter();
        let mut operands = Vec::new();
        while let Some(field) = rest.next() {
            let text = field.text.as_str();
            let is_short = text.starts_with('-') && !text.starts_with("--");
            if let Some(script) = text.strip_prefix("--expression=") {
                scripts.push(script);
            } else if text == "--expression" || (is_short && text.ends_with('e')) {
                scripts.extend(rest.next().map(|field| field.text.as_str()));
            } else if let Some(script) = text.strip_prefix("-e") {
                scripts.push(script);
            } else if !text.starts_with('-') {
                operands.push(field);
            }
        }
        // Without an option the first operand is the script.
        let operand = operands.first().filter(|_| scripts.is_empty()).map(|field| &field.text);
        let files = &operands[usize::from(operand.is_some())..];
        let is_in_place = |field: &Field| {
            let letters = field.text.strip_prefix('-').unwrap_or_default();
            field.text.starts_with("--in-place")
                || (!letters.starts_with(['-', 'e', 'f']) && letters.contains('i'))
        };
        let edits = arguments.iter().any(is_in_place);
        if edits && files.iter().any(|field| self.is_users(field, dirs)) {
            self.critical(reason::WRITES_OUTSIDE);
        }
        scripts.extend(operand.map(String::as_str));
        // All lines of all files.
        let is_all = |script: &&str| matches!(script.trim(), "d" | "1,$d" | "0,$d" | "1,$ d");
        if edits && scripts.iter().any(is_all) {
            self.critical(reason::OVERWRITES);
        }
        for script in scripts {
            for piece in script.split([';', '\n']) {
                self.sed_command(piece, dirs);
            }
        }
    }

    fn sed_command(&mut self, piece: &str, dirs: &Dirs) {
        let command = without_address(piece);
        let mut letters = command.chars();
        match letters.next() {
            Some('e') if letters.next().is_none_or(char::is_whitespace) => {
                self.unknown(reason::UNKNOWN);
                self.text(command[1..].trim(), dirs, &Feed::Nothing);
            }
            Some('s') => {
                let Some(delimiter) = letters.next() else { return };
                let parts = split(letters.as_str(), delimiter);
                if let [_, replacement, flags] = parts.as_slice()
                    && flags.chars().take_while(char::is_ascii_alphanumeric).any(|one| one == 'e')
                {
                    self.unknown(reason::UNKNOWN);
                    self.text(replacement, dirs, &Feed::Nothing);
                }
            }
            _ => {}
        }
    }
}

/// Lines and patterns that say where a command counts.
fn without_address(piece: &str) -> &str {
    let mut rest = piece;
    loop {
        rest = rest.trim_start_matches(|one: char| {
            one.is_whitespace() || one.is_ascii_digit() || "$,!{+~".contains(one)
        });
        let Some(pattern) = rest.strip_prefix('/') else { return rest };
        let Some(end) = pattern.replace("\\/", "__").find('/') else { return rest };
        rest = pattern[end + 1..].trim_start_matches(['I', 'M']);
    }
}

/// At a letter that has no backslash before it, into three parts at most.
fn split(text: &str, delimiter: char) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut letters = text.chars();
    while let Some(one) = letters.next() {
        let last = parts.len() - 1;
        match one {
            '\\' => match letters.next() {
                Some(next) if next == delimiter => parts[last].push(next),
                Some(next) => parts[last].extend(['\\', next]),
                None => {}
            },
            _ if one == delimiter && parts.len() < 3 => parts.push(String::new()),
            _ => parts[last].push(one),
        }
    }
    parts
}
