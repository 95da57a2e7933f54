//! Where texts seem to name image files. A path is quoted, or stands between blanks, or sits within a sentence without
//! blanks as in Japanese, so one mention can be read in several ways, best first.

use super::limit;

const ENDINGS: [&str; 6] = ["png", "jpg", "jpeg", "gif", "bmp", "svg"];
/// What can stand around a path that has blanks.
const QUOTES: [(char, char); 9] = [
    ('\'', '\''),
    ('"', '"'),
    ('`', '`'),
    ('(', ')'),
    ('[', ']'),
    ('<', '>'),
    ('\u{300c}', '\u{300d}'),
    ('\u{300e}', '\u{300f}'),
    ('\u{201c}', '\u{201d}'),
];
/// Mentions of one text that are looked at.
const MAX_MENTIONS: usize = 1000;

/// Each mention as the ways in which it can be read.
pub(super) fn all(text: &str) -> Vec<Vec<&str>> {
    let dots = text.match_indices('.').filter_map(|(dot, _)| end_at(text, dot));
    dots.take(MAX_MENTIONS)
        .map(|end| readings(text, end))
        .filter(|found| !found.is_empty())
        .collect()
}

/// Whether a path can be the name of an image that an agent has made. Addresses and ways upwards are not.
pub(super) fn is_plausible(path: &str) -> bool {
    let is_forbidden =
        |one: char| one.is_control() || matches!(one, '<' | '>' | '|' | '"' | '*' | '?');
    let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
    let has_stem = ending(path).is_some_and(|ending| name.len() > ending.len() + 1);
    let goes_up = path.split(['/', '\\']).any(|part| part == "..");
    has_stem
        && path.len() <= limit::MAX_PATH
        && !path.contains(is_forbidden)
        && !goes_up
        && !path.contains("://")
        && !path.starts_with("//")
}

/// The ending of an image's name, as it is spelled.
pub(super) fn ending(path: &str) -> Option<&str> {
    let (_, ending) = path.rsplit_once('.')?;
    ENDINGS.iter().any(|one| one.eq_ignore_ascii_case(ending)).then_some(ending)
}

/// Where the path ends whose last dot this is.
fn end_at(text: &str, dot: usize) -> Option<usize> {
    let rest = text.as_bytes().get(dot + 1..)?;
    if !matches!(rest.first()?.to_ascii_lowercase(), b'p' | b'j' | b'g' | b'b' | b's') {
        return None;
    }
    let length =
        rest.iter().take(6).take_while(|one| one.is_ascii_alphanumeric() || **one == b'_').count();
    let word = std::str::from_utf8(rest.get(..length)?).ok()?;
    ENDINGS.iter().find(|one| one.eq_ignore_ascii_case(word))?;
    // `a.png.bak` and `a.png/b` are other names.
    let mut after = rest.iter().skip(length);
    let goes_on = match after.next() {
        Some(b'/' | b'\\' | b'-') => true,
        Some(b'.') => after.next().is_some_and(u8::is_ascii_alphanumeric),
        Some(_) | None => false,
    };
    (!goes_on).then_some(dot + 1 + length)
}

fn readings(text: &str, end: usize) -> Vec<&str> {
    let before = limit::end(text.get(..end).unwrap_or_default(), limit::MAX_PATH);
    let line = before.rsplit('\n').next().unwrap_or(before);
    let word = line.rsplit(char::is_whitespace).next().unwrap_or(line);
    // A longer word is no path, and neither is its end, unless something ends before it.
    let is_cut = |path: &str| before.len() < end && path.len() == before.len();
    if word.contains("://") {
        return Vec::new();
    }
    let bare = word.trim_start_matches(is_delimiter);
    let tail = bare.rsplit(is_delimiter).next().unwrap_or(bare);
    let ascii = tail.rsplit(|one: char| !one.is_ascii()).next().unwrap_or(tail);
    let quoted =
        text.get(end..).and_then(|rest| rest.chars().next()).and_then(|next| quoted(line, next));
    let mut found: Vec<&str> = Vec::new();
    for reading in quoted.into_iter().chain([bare, tail, ascii]) {
        if !is_cut(reading) && is_plausible(reading) && !found.contains(&reading) {
            found.push(reading);
        }
    }
    found
}

/// From the opening quote to the end, if `next` closes it.
fn quoted(line: &str, next: char) -> Option<&str> {
    let (open, _) = QUOTES.iter().find(|(_, close)| *close == next)?;
    line.rsplit_once(*open).map(|(_, path)| path.trim_start())
}

fn is_delimiter(one: char) -> bool {
    let is_quote = QUOTES.iter().any(|(open, close)| *open == one || *close == one);
    // Full-width brackets, comma, full stop and colon end a path in Japanese.
    let is_wide = matches!(one, '\u{ff08}' | '\u{ff09}' | '\u{3001}' | '\u{3002}' | '\u{ff1a}');
    is_quote || is_wide || matches!(one, ',' | ';' | '=' | '|' | ':' | '{' | '}' | '!')
}
