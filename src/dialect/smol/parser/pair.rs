//! Pairs of coordinates in plain sentences: `coordinates: 35.6762, 139.6503`. A text has pairs only if it speaks of places,
//! in whole words.

use super::Point;
use std::cell::LazyCell;

/// Anywhere in a text, they make two numbers with decimals a pair; on their line, even two whole numbers.
const STRONG_WORDS: [&str; 9] = [
    "coordinate",
    "coordinates",
    "latitude",
    "latitudes",
    "longitude",
    "longitudes",
    "lat",
    "lon",
    "lng",
];
/// They have other meanings too, so they only count for numbers with decimals, on their line or below one that ends with a
/// colon.
const WEAK_WORDS: [&str; 9] =
    ["map", "location", "locations", "position", "positions", "geo", "spatial", "point", "points"];
/// Coordinates, latitude and longitude in Japanese.
const JAPANESE_WORDS: [&str; 3] = ["\u{5ea7}\u{6a19}", "\u{7def}\u{5ea6}", "\u{7d4c}\u{5ea6}"];
/// Longer numbers are no coordinates.
const MAX_DIGITS: usize = 24;
/// Lists of numbers of one text that are looked at.
const MAX_LISTS: usize = 5000;

/// The pairs of a text that lie on the earth, in order.
pub(super) fn all(text: &str) -> Vec<Point> {
    let mut points = Vec::new();
    if !text.contains(',') {
        return points;
    }
    let is_strong = speaks(text, &STRONG_WORDS);
    if !is_strong && !speaks(text, &WEAK_WORDS) {
        return points;
    }
    let mut left = MAX_LISTS;
    let mut is_announced = false;
    for line in text.lines() {
        let most = if line.contains(',') { left } else { 0 };
        let lists: Vec<List<'_>> = Lists { line: line.as_bytes(), at: 0 }.take(most).collect();
        left -= lists.len();
        let goes_on = line.trim().is_empty() || lists.iter().any(|list| list.count > 1);
        let is_near = !is_strong && (speaks(line, &WEAK_WORDS) || (is_announced && goes_on));
        is_announced = is_near && (goes_on || line.trim_end().ends_with([':', '\u{ff1a}']));
        let names_one = LazyCell::new(|| speaks(line, &STRONG_WORDS));
        let pairs = lists.iter().filter(|list| match list.kind() {
            Kind::Decimals => is_strong || is_near,
            Kind::Whole => *names_one,
            Kind::Other => false,
        });
        points.extend(pairs.filter_map(List::point));
    }
    points
}

fn speaks(text: &str, words: &[&str]) -> bool {
    let is_end = |one: &u8| !(one.is_ascii_alphanumeric() || *one == b'_');
    let mut parts = text.as_bytes().split(is_end).filter(|part| part.len() >= 3);
    JAPANESE_WORDS.iter().any(|word| text.contains(word))
        || parts.any(|part| words.iter().any(|word| word.as_bytes().eq_ignore_ascii_case(part)))
}

/// Numbers with commas between them.
struct List<'a> {
    first: &'a [u8],
    second: &'a [u8],
    count: usize,
    /// A blank follows the first comma, so it does not group the digits of one number.
    is_spaced: bool,
}

enum Kind {
    Decimals,
    Whole,
    /// More or fewer than two numbers, or the digits of one number in groups.
    Other,
}

impl List<'_> {
    fn kind(&self) -> Kind {
        if self.count != 2 {
            return Kind::Other;
        }
        if self.first.contains(&b'.') && self.second.contains(&b'.') {
            return Kind::Decimals;
        }
        if self.is_spaced { Kind::Whole } else { Kind::Other }
    }

    fn point(&self) -> Option<Point> {
        Point::new(number(self.first)?, number(self.second)?)
    }
}

fn number(digits: &[u8]) -> Option<f64> {
    std::str::from_utf8(digits).ok()?.parse().ok()
}

/// The lists of a line, in order.
struct Lists<'a> {
    line: &'a [u8],
    at: usize,
}

impl<'a> Iterator for Lists<'a> {
    type Item = List<'a>;

    fn next(&mut self) -> Option<List<'a>> {
        while number_end(self.line, self.at) == self.at {
            self.at += 1;
            self.line.get(self.at)?;
        }
        let mut list = List { first: &[], second: &[], count: 0, is_spaced: false };
        loop {
            let end = number_end(self.line, self.at);
            let number = self.line.get(self.at..end).unwrap_or_default();
            list.count += 1;
            match list.count {
                1 => list.first = number,
                2 => list.second = number,
                _ => {}
            }
            let comma = end + blanks(self.line, end);
            let next = comma + 1 + blanks(self.line, comma + 1);
            let goes_on = self.line.get(comma) == Some(&b',') && number_end(self.line, next) > next;
            if !goes_on {
                self.at = end;
                return Some(list);
            }
            list.is_spaced |= list.count == 1 && next > comma + 1;
            self.at = next;
        }
    }
}

fn blanks(line: &[u8], from: usize) -> usize {
    line.iter().skip(from).take_while(|one| **one == b' ').count()
}

/// Where the number ends that starts here. It is `at` if none starts, or if it is a part of a word or of a longer number.
fn number_end(bytes: &[u8], at: usize) -> usize {
    let part = |place: usize| bytes.get(place).copied().unwrap_or(b' ');
    let is_word = |one: u8| one.is_ascii_alphanumeric() || matches!(one, b'_' | b'.');
    let before = at.checked_sub(1).map_or(b' ', part);
    let digits_at = if matches!(part(at), b'+' | b'-') { at + 1 } else { at };
    if is_word(before) || (digits_at == at && matches!(before, b'+' | b'-')) {
        return at;
    }
    let rest = bytes.get(digits_at..).unwrap_or_default();
    let is_digit = |one: &&u8| one.is_ascii_digit() || **one == b'.';
    let length = rest.iter().take(MAX_DIGITS).take_while(is_digit).count();
    let number = rest.get(..length).unwrap_or_default();
    // A full stop after the number ends the sentence.
    let length = if number.ends_with(b".") { length - 1 } else { length };
    let end = digits_at + length;
    let dots = rest.iter().take(length).filter(|one| **one == b'.').count();
    let goes_on = part(end).is_ascii_alphanumeric() || part(end) == b'_' || length == MAX_DIGITS;
    if length == 0 || dots > 1 || dots == length || goes_on { at } else { end }
}
