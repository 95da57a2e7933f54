//! What is known of each column without reading it: its kind, from its type and its first values, and which column
//! somebody may have meant.

use super::super::schema::DataFrameInfo;
use super::fold;
use super::value::{date, plain_number};
use super::words::words;
use serde_json::Value;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Number,
    Date,
    Text,
}

#[derive(Debug, Clone)]
pub(super) struct Column {
    pub(super) name: String,
    /// As it is searched for.
    pub(super) key: Vec<char>,
    pub(super) kind: Kind,
    /// Whether numbers stand in it as texts, so that some may not be read.
    pub(super) is_converted: bool,
    /// Texts that are known to stand in it.
    pub(super) values: Vec<Known>,
    /// Whether no other texts stand in it.
    pub(super) is_listed: bool,
    /// How its dates are written, if the table says it and not this program.
    pub(super) format: Option<String>,
    /// Whether its dates can be read as day and month, and as month and day.
    pub(super) is_ambiguous: bool,
    /// Whether its dates have times of day.
    pub(super) has_time: bool,
    /// The columns of which it is the product, if it is in no file.
    pub(super) factors: Option<(usize, usize)>,
    /// Its first numbers.
    pub(super) numbers: Vec<f64>,
}

/// A value of a text column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Known {
    pub(super) text: String,
    /// As it is searched for.
    pub(super) key: Vec<char>,
}

pub(super) fn columns(info: &DataFrameInfo) -> Vec<Column> {
    info.columns.iter().map(|name| column(info, name)).collect()
}

fn column(info: &DataFrameInfo, name: &str) -> Column {
    let dtype = info.dtype(name).unwrap_or("object").to_ascii_lowercase();
    let first = || info.head.iter().filter_map(|row| row.get(name));
    let texts = first().filter_map(Value::as_str).map(str::trim).filter(|text| !text.is_empty());
    let head: Vec<&str> = texts.collect();
    let is_number = ["int", "uint", "float"].iter().any(|kind| dtype.starts_with(kind));
    let all = |is: fn(&str) -> bool| !head.is_empty() && head.iter().all(|text| is(text));
    let is_date = |text: &str| date(&fold::text(text)).is_some();
    let format = info.dates.get(name).cloned();
    let slashed = if format.is_none() && !is_number { slashed(&head) } else { None };
    let is_dated = dtype.starts_with("datetime") || format.is_some() || slashed.is_some();
    let kind = if is_dated {
        Kind::Date
    } else if is_number {
        Kind::Number
    } else if all(is_date) {
        Kind::Date
    } else if all(|text| plain_number(text).is_some()) {
        Kind::Number
    } else {
        Kind::Text
    };
    let read = |value: &Value| value.as_f64().or_else(|| plain_number(value.as_str()?));
    let has_time = match &format {
        Some(format) => ["%H", "%I"].iter().any(|part| format.contains(part)),
        None => head.iter().any(|text| text.contains(':')),
    };
    let listed = info.values.get(name);
    Column {
        name: name.to_owned(),
        key: fold::key(name),
        kind,
        is_converted: !is_number,
        numbers: first().filter_map(read).collect(),
        values: known(head.iter().copied().chain(listed.into_iter().flatten().map(String::as_str))),
        is_listed: listed.is_some(),
        is_ambiguous: slashed == Some(Slashed::Either),
        format: format.or_else(|| slashed.and_then(Slashed::format)),
        has_time,
        factors: None,
    }
}

fn known<'a>(texts: impl Iterator<Item = &'a str>) -> Vec<Known> {
    let mut known: Vec<Known> = Vec::new();
    for text in texts.map(str::trim).filter(|text| !text.is_empty()) {
        let key = fold::key(text);
        if !known.iter().any(|one| one.key == key) {
            known.push(Known { text: text.to_owned(), key });
        }
    }
    known
}

/// What dates with the year at their end begin with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Slashed {
    Day(char),
    Month(char),
    /// No date says it.
    Either,
}

impl Slashed {
    fn format(self) -> Option<String> {
        match self {
            Self::Day(sign) => Some(format!("%d{sign}%m{sign}%Y")),
            Self::Month(sign) => Some(format!("%m{sign}%d{sign}%Y")),
            Self::Either => None,
        }
    }
}

fn slashed(head: &[&str]) -> Option<Slashed> {
    let mut parts = Vec::new();
    let mut sign = None;
    for text in head {
        let found = text.chars().find(|one| "/.-".contains(*one))?;
        if *sign.get_or_insert(found) != found {
            return None;
        }
        let numbers: Vec<&str> = text.split(found).collect();
        let [first, second, year] = *numbers.as_slice() else { return None };
        if year.len() != 4 || !year.chars().all(|one| one.is_ascii_digit()) {
            return None;
        }
        parts.push((first.parse::<u32>().ok()?, second.parse::<u32>().ok()?));
    }
    let (sign, limit) = (sign?, 12);
    let fits = parts.iter().all(|(one, other)| (1..=31).contains(one) && (1..=31).contains(other));
    let (firsts, seconds) =
        (parts.iter().any(|part| part.0 > limit), parts.iter().any(|part| part.1 > limit));
    match (firsts, seconds) {
        _ if !fits => None,
        (true, true) => None,
        (true, false) => Some(Slashed::Day(sign)),
        (false, true) => Some(Slashed::Month(sign)),
        (false, false) => Some(Slashed::Either),
    }
}

impl Column {
    /// Whether its mean says more than its sum.
    pub(super) fn is_averaged(&self) -> bool {
        let name: String = self.key.iter().collect();
        words().averaged.iter().any(|part| name.contains(part.as_str()))
    }

    /// The value that a text means, if it is known.
    pub(super) fn value(&self, text: &str) -> Option<&Known> {
        let key = fold::key(text);
        self.values.iter().find(|known| known.key == key)
    }

    /// Whether it says how much was sold, so that "best" may mean it.
    pub(super) fn is_sold(&self) -> bool {
        let name: String = self.key.iter().collect();
        words().sold.iter().any(|part| name.contains(part.as_str()))
    }

    /// Whether it numbers the rows, so that nobody wants to sum it.
    pub(super) fn is_id(&self) -> bool {
        let name: String = self.key.iter().collect();
        ["id", "no", "no."].iter().any(|id| name == *id || name.ends_with(&format!(" {id}")))
            || (name.ends_with("id") && !name.is_ascii())
    }
}

/// The column whose name is the nearest to a text, and how near it is, if any is near.
pub(super) fn nearest(columns: &[Column], text: &str) -> Option<(f64, usize)> {
    let wanted = fold::text(text);
    let near = |column: &Column| nearness(&wanted, &column.key.iter().collect::<String>());
    let ranked = columns.iter().enumerate().map(|(at, column)| (near(column), at));
    // Of two that are equally near the first counts.
    let best = ranked.max_by(|one, other| one.0.total_cmp(&other.0).then(other.1.cmp(&one.1)));
    // One letter makes another word of a short one.
    let enough = if wanted.chars().count() < 5 && wanted.is_ascii() { 0.8 } else { 0.6 };
    best.filter(|(nearness, _)| *nearness >= enough)
}

/// The value that is the nearest to a text, if any is near.
pub(super) fn nearest_value(columns: &[Column], text: &str) -> Option<(f64, String)> {
    let wanted = fold::text(text);
    let near = |known: &Known| nearness(&wanted, &known.key.iter().collect::<String>());
    let texts = columns.iter().filter(|column| column.kind == Kind::Text);
    let ranked = texts.flat_map(|column| &column.values).map(|known| (near(known), &known.text));
    let best = ranked.max_by(|one, other| one.0.total_cmp(&other.0));
    let is_long = !wanted.is_ascii() || wanted.len() > 2;
    let best = best.filter(|(nearness, _)| *nearness >= 0.6 && is_long);
    best.map(|(nearness, text)| (nearness, text.clone()))
}

/// Of dates that are written day first, or month first, as the question says it.
pub(super) fn in_order(columns: &mut [Column], is_day_first: bool) {
    for column in columns.iter_mut().filter(|column| column.is_ambiguous) {
        let sign = column
            .values
            .first()
            .and_then(|known| known.text.chars().find(|one| !one.is_ascii_digit()));
        let sign = sign.unwrap_or('/');
        let order = if is_day_first { Slashed::Day(sign) } else { Slashed::Month(sign) };
        column.format = order.format();
        column.is_ambiguous = false;
    }
}

/// From 0 to 1.
fn nearness(one: &str, other: &str) -> f64 {
    if one == other {
        return 1.0;
    }
    let is_in = |group: &Vec<String>, name: &str| group.iter().any(|known| known == name);
    if words().alike.iter().any(|group| is_in(group, one) && is_in(group, other)) {
        return 0.9;
    }
    let lengths = (one.chars().count(), other.chars().count());
    let shared = if one.contains(other) || other.contains(one) {
        let (short, long) = (lengths.0.min(lengths.1), lengths.0.max(lengths.1));
        0.5 + 0.4 * ratio(short, long)
    } else {
        0.0
    };
    shared.max(1.0 - ratio(distance(one, other), lengths.0.max(lengths.1)))
}

fn ratio(part: usize, whole: usize) -> f64 {
    let number = |count: usize| f64::from(u32::try_from(count).unwrap_or(u32::MAX));
    if whole == 0 { 0.0 } else { number(part) / number(whole) }
}

/// How many letters have to be changed, added or taken out to make one text of the other.
fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (at, letter) in one.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = at + 1;
        for (place, known) in other.iter().enumerate() {
            let changed = diagonal + usize::from(letter != *known);
            diagonal = row[place + 1];
            row[place + 1] = changed.min(diagonal + 1).min(row[place] + 1);
        }
    }
    row[other.len()]
}
