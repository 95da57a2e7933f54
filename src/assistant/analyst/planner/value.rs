//! Numbers and dates as people write them.

use super::words::words;

/// A day, a month or a year.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Date {
    pub(super) year: u32,
    pub(super) month: Option<u32>,
    pub(super) day: Option<u32>,
}

impl Date {
    /// Its first day, as `2024-03-01`.
    pub(super) fn start(self) -> String {
        let (month, day) = (self.month.unwrap_or(1), self.day.unwrap_or(1));
        format!("{:04}-{month:02}-{day:02}", self.year)
    }

    /// The first day after it.
    pub(super) fn next(self) -> String {
        let (mut year, mut month) = (self.year, self.month.unwrap_or(12));
        if let Some(day) = self.day
            && day < days(year, month)
        {
            return Self { day: Some(day + 1), ..self }.start();
        }
        month += 1;
        if month > 12 {
            (year, month) = (year + 1, 1);
        }
        Self { year, month: Some(month), day: None }.start()
    }
}

fn days(year: u32, month: u32) -> u32 {
    match month {
        2 if year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400)) => {
            29
        }
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// A text that is a date and nothing else, apart from a time of day.
pub(super) fn date(folded: &str) -> Option<Date> {
    let letters: Vec<char> = folded.chars().collect();
    let (date, length) = date_at(&letters)?;
    let rest = &letters[length..];
    let is_time = |one: &char| one.is_ascii_digit() || " t:.+z-".contains(*one);
    (date.month.is_some() && rest.iter().all(is_time)).then_some(date)
}

/// The date that a folded text begins with, and its length: `2024-03-01`, `2024/3`, or with the marks of Japanese.
pub(super) fn date_at(letters: &[char]) -> Option<(Date, usize)> {
    if let Some(found) = named_date(letters) {
        return Some(found);
    }
    let marks = &words().marks;
    let is_mark = |at: usize, mark: &str| letters.get(at).is_some_and(|one| mark.contains(*one));
    let (year, mut end) = digits(letters, 0, 4)?;
    if end != 4 || !(1000..=2999).contains(&year) {
        return None;
    }
    let mut date = Date { year, month: None, day: None };
    let is_named = is_mark(end, &marks.year);
    let sign = letters.get(end).copied().filter(|sign| "-/.".contains(*sign));
    if !is_named && sign.is_none() {
        return None;
    }
    let month = digits(letters, end + 1, 2).filter(|(month, _)| (1..=12).contains(month));
    let Some((month, after)) = month else {
        return is_named.then_some((date, end + 1));
    };
    if is_named && !is_mark(after, &marks.month) {
        return Some((date, end + 1));
    }
    (date.month, end) = (Some(month), after + usize::from(is_named));
    let goes_on = is_named || letters.get(end).copied() == sign;
    let from = if is_named { end } else { end + 1 };
    let day = digits(letters, from, 2).filter(|(day, _)| (1..=days(year, month)).contains(day));
    match day {
        Some((day, after)) if goes_on && (!is_named || is_mark(after, &marks.day)) => {
            date.day = Some(day);
            end = after + usize::from(is_named);
        }
        // A number with a point is no month.
        _ if sign == Some('.') => return None,
        Some(_) | None => {}
    }
    Some((date, end))
}

/// The month that a folded text begins with. `is_expected`: whether a word that is something else as well is one.
pub(super) fn month_at(letters: &[char], is_expected: bool) -> Option<(u32, usize)> {
    let named = words().months.iter().filter(|(name, _)| letters.starts_with(name));
    if let Some((name, month)) = named.max_by_key(|(name, _)| name.len()) {
        let ends = !letters.get(name.len()).is_some_and(|one| one.is_alphanumeric());
        let is_clear = !matches!(month, 3 | 5) || name.len() == 5 || is_expected;
        return (ends && is_clear).then_some((*month, name.len()));
    }
    let (month, end) = digits(letters, 0, 2)?;
    let is_marked = letters.get(end).is_some_and(|one| words().marks.month.contains(*one));
    let is_day = digits(letters, end + 1, 2).is_some();
    (is_marked && !is_day && (1..=12).contains(&month)).then_some((month, end + 1))
}

/// A day without its year, which is no date: its length.
pub(super) fn day_at(letters: &[char]) -> Option<usize> {
    let marks = &words().marks;
    let is_mark = |at: usize, mark: &str| letters.get(at).is_some_and(|one| mark.contains(*one));
    let (_, end) = digits(letters, 0, 2)?;
    let (_, last) = digits(letters, end + 1, 2).filter(|_| is_mark(end, &marks.month))?;
    is_mark(last, &marks.day).then_some(last + 1)
}

/// `march 2024`, `5 march 2024` or `march 5, 2024`.
fn named_date(letters: &[char]) -> Option<(Date, usize)> {
    let gap = |at: usize| {
        at + letters[at.min(letters.len())..].iter().take_while(|one| " ,".contains(**one)).count()
    };
    let (mut day, mut at) = (None, 0);
    if let Some((number, end)) = digits(letters, 0, 2) {
        (day, at) = (Some(number), gap(end));
        if at == end {
            return None;
        }
    }
    let (month, size) = month_at(letters.get(at..)?, true)?;
    if !letters.get(at)?.is_alphabetic() {
        return None;
    }
    at += size;
    if day.is_none()
        && let Some((number, end)) = digits(letters, gap(at), 2)
        && !letters.get(end).is_some_and(|one| one.is_alphanumeric())
    {
        (day, at) = (Some(number), end);
    }
    let (year, end) = digits(letters, gap(at), 4)?;
    let is_year = end == gap(at) + 4 && (1000..=2999).contains(&year);
    let fits = day.is_none_or(|day| (1..=days(year, month)).contains(&day));
    let ends = !letters.get(end).is_some_and(|one| one.is_alphanumeric());
    (is_year && fits && ends).then_some((Date { year, month: Some(month), day }, end))
}

/// `p90`, or a number and the word for it.
pub(super) fn percentile_at(letters: &[char]) -> Option<(u8, usize)> {
    let whole = |value: u32| u8::try_from(value).ok().filter(|part| (1..=99).contains(part));
    if letters.first() == Some(&'p') {
        let (value, end) = digits(letters, 1, 2)?;
        let ends = !letters.get(end).is_some_and(|one| one.is_alphanumeric());
        return whole(value).filter(|_| ends).map(|part| (part, end));
    }
    let (value, mut end) = digits(letters, 0, 2)?;
    for ending in ["th", "st", "nd", "rd", " ", "%"] {
        let ending: Vec<char> = ending.chars().collect();
        end += if letters[end..].starts_with(&ending) { ending.len() } else { 0 };
    }
    let rest: String = letters[end..].iter().take(12).collect();
    let named = words().marks.percentile.iter().filter(|name| rest.starts_with(name.as_str()));
    let name = named.max_by_key(|name| name.len())?;
    whole(value).map(|part| (part, end + name.chars().count()))
}

fn digits(letters: &[char], from: usize, most: usize) -> Option<(u32, usize)> {
    let found = letters.iter().skip(from).take(most).take_while(|one| one.is_ascii_digit());
    let text: String = found.collect();
    Some((text.parse().ok()?, from + text.len()))
}

/// A number as it was written.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Number {
    pub(super) value: f64,
    pub(super) is_percent: bool,
    /// In letters.
    pub(super) length: usize,
}

/// The number that a folded text begins with: with commas, a word such as million, a percent sign or a unit.
pub(super) fn number_at(letters: &[char]) -> Option<Number> {
    let (mut value, mut end) = (0.0, 0);
    let sign = match letters.first()? {
        '-' => -1.0,
        _ => 1.0,
    };
    let mut from = usize::from(sign < 0.0);
    while let Some((part, after)) = decimal(letters, from) {
        let (scale, scaled) = scale_at(letters, after);
        value += part * scale;
        (from, end) = (scaled, scaled);
        if scaled == after {
            break;
        }
    }
    if end == 0 {
        return None;
    }
    let spaced = usize::from(letters.get(end) == Some(&' '));
    let is_percent =
        letters.get(end + spaced).is_some_and(|one| words().marks.percent.contains(*one));
    end += if is_percent { 1 + spaced } else { 0 };
    let unit = words().units.iter().find(|unit| letters[end..].starts_with(unit));
    end += unit.map_or(0, Vec::len);
    // A letter right after it makes it part of a name.
    let is_name = letters.get(end).is_some_and(char::is_ascii_alphanumeric);
    (!is_name).then_some(Number { value: sign * value, is_percent, length: end })
}

fn decimal(letters: &[char], from: usize) -> Option<(f64, usize)> {
    let mut text = String::new();
    let mut end = from;
    while let Some(one) = letters.get(end) {
        let digit_after = letters.get(end + 1).is_some_and(char::is_ascii_digit);
        match one {
            '0'..='9' => text.push(*one),
            ',' if digit_after && !text.is_empty() && !text.contains('.') => {}
            '.' if digit_after && !text.contains('.') => text.push('.'),
            _ => break,
        }
        end += 1;
    }
    text.starts_with(|one: char| one.is_ascii_digit()).then_some(())?;
    Some((text.parse().ok()?, end))
}

/// What a word after a number multiplies it with.
fn scale_at(letters: &[char], at: usize) -> (f64, usize) {
    let spaced = letters.get(at) == Some(&' ');
    for (word, scale) in &words().scales {
        let from = at + usize::from(spaced && word.len() > 1);
        let end = from + word.len();
        let is_part = word.iter().all(char::is_ascii)
            && letters.get(end).is_some_and(char::is_ascii_alphanumeric);
        if letters.get(from..end) == Some(word) && !is_part {
            return (*scale, end);
        }
    }
    (1.0, at)
}

/// A cell that is a number with the signs that people add, such as those of money.
pub(super) fn plain_number(cell: &str) -> Option<f64> {
    let letters = super::fold::key(cell);
    let is_sign = |one: &char| "\u{a5}\u{5186}$\u{20ac}()\u{25b3}\u{25b2} ".contains(*one);
    let bare: Vec<char> = letters.into_iter().filter(|one| !is_sign(one)).collect();
    let number = number_at(&bare)?;
    (number.length == bare.len()).then_some(number.value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assistant::analyst::planner::fold;

    fn number(text: &str) -> Option<f64> {
        number_at(&fold::key(text)).map(|number| number.value)
    }

    #[test]
    fn numbers_are_read_as_people_write_them() {
        for (text, expected) in [
            ("1,000", 1e3),
            ("-2.5", -2.5),
            ("100\u{4e07}", 1e6),
            ("1\u{5104}2000\u{4e07}\u{5186}", 1.2e8),
            ("\u{ff11}\u{ff10}\u{500b}", 10.0),
            ("10k", 1e4),
            ("2.5 million", 2.5e6),
            ("50%", 50.0),
        ] {
            assert_eq!(number(text), Some(expected), "{text}");
        }
        for text in ["3d", "x1", "-", ""] {
            assert_eq!(number(text), None, "{text}");
        }
        assert_eq!(plain_number("\u{a5}1,200"), Some(1200.0));
        assert_eq!(plain_number("12-A"), None);
    }

    #[test]
    fn dates_are_read_and_end_before_the_next() {
        for (text, start, next) in [
            ("2024-02-28", "2024-02-28", "2024-02-29"),
            ("2023/2/28", "2023-02-28", "2023-03-01"),
            ("2024\u{5e74}12\u{6708}", "2024-12-01", "2025-01-01"),
            ("2024\u{5e74}", "2024-01-01", "2025-01-01"),
            ("2024\u{5e74}1\u{6708}31\u{65e5}", "2024-01-31", "2024-02-01"),
        ] {
            let (date, length) = date_at(&fold::key(text)).unwrap();
            assert_eq!(length, fold::key(text).len(), "{text}");
            assert_eq!((date.start().as_str(), date.next().as_str()), (start, next));
        }
        for text in ["2024", "1200.5", "2024-13-01", "12-01"] {
            assert!(date(text).is_none(), "{text}");
        }
        assert!(date("2024-03-01 10:00:00").is_some());
    }
}
