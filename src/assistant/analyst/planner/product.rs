//! Columns that are in no file: a question names them as the product of two.

use super::column::{Column, Kind};
use super::fold;
use super::words::words;

/// Adds the products that texts name to the columns. They are found as columns are, by their names.
pub(super) fn add_products<'a>(columns: &mut Vec<Column>, texts: impl Iterator<Item = &'a str>) {
    let plain = columns.len();
    for text in texts {
        let folded = fold::key(text);
        for at in 0..folded.len() {
            for sign in &words().marks.times {
                let sign = fold::letters(sign).iter().map(|letter| letter.is).collect::<Vec<_>>();
                if folded[at..].starts_with(&sign)
                    && let Some(found) = product(&columns[..plain], &folded, at, at + sign.len())
                    && !columns.iter().any(|column| column.key == found.key)
                {
                    columns.push(found);
                }
            }
        }
    }
}

/// The columns before and after a sign.
fn product(columns: &[Column], folded: &[char], start: usize, end: usize) -> Option<Column> {
    let is_gap = |one: &&char| **one == ' ';
    let start = start - folded[..start].iter().rev().take_while(is_gap).count();
    let end = end + folded[end..].iter().take_while(is_gap).count();
    let longest = |fits: &dyn Fn(&Column) -> bool| {
        let found = columns.iter().enumerate().filter(|(_, column)| {
            column.kind == Kind::Number && !column.key.is_empty() && fits(column)
        });
        found.max_by_key(|(_, column)| column.key.len()).map(|(at, _)| at)
    };
    let first = longest(&|column| folded[..start].ends_with(&column.key))?;
    let second = longest(&|column| folded[end..].starts_with(&column.key))?;
    let key = folded[start - columns[first].key.len()..end + columns[second].key.len()].to_vec();
    let mut name = format!("{} \u{d7} {}", columns[first].name, columns[second].name);
    while columns.iter().any(|column| column.name == name) {
        name.push('*');
    }
    Some(Column {
        name,
        key,
        kind: Kind::Number,
        is_converted: false,
        values: Vec::new(),
        is_listed: false,
        format: None,
        is_ambiguous: false,
        has_time: false,
        factors: Some((first, second)),
        numbers: Vec::new(),
    })
}
