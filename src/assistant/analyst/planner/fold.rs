//! Makes texts comparable: full and half width, capital and small letters, underscores and spaces are the same. Where
//! a folded letter stood in the original is remembered.

use super::words::half_width;

/// A letter after folding, and the bytes of the original that it was made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Letter {
    pub(super) is: char,
    pub(super) start: usize,
    pub(super) end: usize,
}

pub(super) fn letters(original: &str) -> Vec<Letter> {
    let mut letters: Vec<Letter> = Vec::with_capacity(original.len());
    for (start, one) in original.char_indices() {
        let end = start + one.len_utf8();
        if let Some(last) = letters.last_mut() {
            if let Some(joined) = voiced(last.is, one) {
                (last.is, last.end) = (joined, end);
                continue;
            }
            if is_gap(one) && last.is == ' ' {
                last.end = end;
                continue;
            }
        }
        letters.push(Letter { is: narrow(one), start, end });
    }
    letters
}

/// A name or a word as it is searched for.
pub(super) fn key(text: &str) -> Vec<char> {
    letters(text.trim()).iter().map(|letter| letter.is).collect()
}

pub(super) fn text(text: &str) -> String {
    key(text).into_iter().collect()
}

fn is_gap(one: char) -> bool {
    one.is_whitespace() || one.is_control() || one == '_' || one == '\u{ff3f}'
}

fn narrow(one: char) -> char {
    if is_gap(one) {
        return ' ';
    }
    let one = match one {
        // Full-width ASCII, in the order of ASCII.
        '\u{ff01}'..='\u{ff5e}' => char::from_u32(one as u32 - 0xfee0).unwrap_or(one),
        '\u{ff65}'..='\u{ff9d}' => full_width(one),
        _ => one,
    };
    let mut lower = one.to_lowercase();
    match (lower.next(), lower.next()) {
        (Some(only), None) => only,
        _ => one,
    }
}

fn full_width(half: char) -> char {
    let fold = half_width();
    let at = fold.half.chars().position(|one| one == half);
    at.and_then(|at| fold.full.chars().nth(at)).unwrap_or(half)
}

/// The letter that a letter and a mark after it make.
fn voiced(letter: char, mark: char) -> Option<char> {
    let fold = half_width();
    let pairs = if fold.voiced_mark.contains(mark) {
        &fold.voiced
    } else if fold.half_voiced_mark.contains(mark) {
        &fold.half_voiced
    } else {
        return None;
    };
    let found = pairs.iter().find(|pair| pair.starts_with(letter))?;
    found.chars().nth(1)
}

pub(super) fn is_kanji(one: char) -> bool {
    matches!(one, '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{3005}')
}

pub(super) fn is_hiragana(one: char) -> bool {
    matches!(one, '\u{3041}'..='\u{309f}')
}

pub(super) fn is_katakana(one: char) -> bool {
    matches!(one, '\u{30a1}'..='\u{30fa}' | '\u{30fc}'..='\u{30ff}')
}

/// Whether a text is Japanese, so that its answer is, too.
pub(super) fn is_japanese(text: &str) -> bool {
    let is_half = |one: char| matches!(one, '\u{ff66}'..='\u{ff9d}');
    text.chars().any(|one| is_kanji(one) || is_hiragana(one) || is_katakana(one) || is_half(one))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widths_cases_and_gaps_are_the_same() {
        assert_eq!(text("\u{ff33}ales\u{3000}\u{ff21}mount"), "sales amount");
        assert_eq!(text(" Unit__Price\n"), "unit price");
        // Half-width "ga" of two letters, and "pu".
        assert_eq!(text("\u{ff76}\u{ff9e}\u{ff8c}\u{ff9f}"), "\u{30ac}\u{30d7}");
        let letters = letters("\u{ff76}\u{ff9e}x");
        assert_eq!((letters[0].start, letters[0].end, letters[1].start), (0, 6, 6));
    }
}
