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
    /// Its first texts.
    pub(super) values: Vec<String>,
    /// Its first numbers.
    pub(super) numbers: Vec<f64>,
}

pub(super) fn columns(info: &DataFrameInfo) -> Vec<Column> {
    info.columns.iter().map(|name| column(info, name)).collect()
}

fn column(info: &DataFrameInfo, name: &str) -> Column {
    let dtype = info.dtype(name).unwrap_or("object").to_ascii_lowercase();
    let first = || info.head.iter().filter_map(|row| row.get(name));
    let texts = first().filter_map(Value::as_str).map(str::trim).filter(|text| !text.is_empty());
    let values: Vec<String> = texts.map(str::to_owned).collect();
    let is_number = ["int", "uint", "float"].iter().any(|kind| dtype.starts_with(kind));
    let all = |is: fn(&str) -> bool| !values.is_empty() && values.iter().all(|text| is(text));
    let is_date = |text: &str| date(&fold::text(text)).is_some();
    let kind = if is_number {
        Kind::Number
    } else if dtype.starts_with("datetime") || all(is_date) {
        Kind::Date
    } else if all(|text| plain_number(text).is_some()) {
        Kind::Number
    } else {
        Kind::Text
    };
    let read = |value: &Value| value.as_f64().or_else(|| plain_number(value.as_str()?));
    Column {
        name: name.to_owned(),
        key: fold::key(name),
        kind,
        is_converted: !is_number,
        numbers: first().filter_map(read).collect(),
        values,
    }
}

impl Column {
    /// Whether its mean says more than its sum.
    pub(super) fn is_averaged(&self) -> bool {
        let name: String = self.key.iter().collect();
        words().averaged.iter().any(|part| name.contains(part.as_str()))
    }

    /// Whether it numbers the rows, so that nobody wants to sum it.
    pub(super) fn is_id(&self) -> bool {
        let name: String = self.key.iter().collect();
        ["id", "no", "no."].iter().any(|id| name == *id || name.ends_with(&format!(" {id}")))
            || (name.ends_with("id") && !name.is_ascii())
    }
}

/// The column whose name is the nearest to a text, if any is near.
pub(super) fn nearest(columns: &[Column], text: &str) -> Option<usize> {
    let wanted = fold::text(text);
    let near = |column: &Column| nearness(&wanted, &column.key.iter().collect::<String>());
    let ranked = columns.iter().enumerate().map(|(at, column)| (near(column), at));
    // Of two that are equally near the first counts.
    let best = ranked.max_by(|one, other| one.0.total_cmp(&other.0).then(other.1.cmp(&one.1)));
    best.filter(|(nearness, _)| *nearness >= 0.34).map(|(_, at)| at)
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
