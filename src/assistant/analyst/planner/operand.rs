//! Values of conditions: as they are written in a question, and as filters of a column.

use super::column::{Column, Kind};
use super::lex::{Is, Token};
use super::request::{Filter, Supposition, Value};
use super::value::{Date, plain_number};
use super::words::{Compare, Glue, Word};

/// A value of a condition, still as it was written.
#[derive(Debug, Clone)]
pub(super) struct Operand {
    pub(super) text: String,
    pub(super) number: Option<(f64, bool)>,
    pub(super) date: Option<Date>,
    /// Of any year.
    pub(super) month: Option<u32>,
    pub(super) is_plain: bool,
    pub(super) next: usize,
}

/// The value at a place. `column`: what it would be a value of.
pub(super) fn operand(tokens: &[Token], at: usize, column: Option<&Column>) -> Option<Operand> {
    let token = tokens.get(at)?;
    let mut operand = Operand {
        text: token.text.clone(),
        number: None,
        date: None,
        month: None,
        is_plain: token.is == Is::Unknown,
        next: at + 1,
    };
    let known = column.filter(|column| column.kind == Kind::Text);
    let known = known.and_then(|column| column.value(&token.text));
    match &token.is {
        Is::Number(number) => operand.number = Some((number.value, number.is_percent)),
        Is::Date(date) => operand.date = Some(*date),
        Is::Month(month) => operand.month = Some(*month),
        Is::Quoted => {
            operand.number = plain_number(&token.text).map(|number| (number, false));
            operand.date = super::value::date(&super::fold::text(&token.text));
        }
        // A value of another column says something of that one.
        Is::Value(_) => {
            let is_other = column.is_some_and(|column| column.kind != Kind::Text);
            let is_elsewhere = column.is_some() && !is_other && known.is_none();
            if is_elsewhere {
                return None;
            }
        }
        // People write these into tables, too.
        Is::Word(Word::Glue(Glue::Yes | Glue::No)) => {}
        Is::Word(
            Word::Intent(_) | Word::Order(_) | Word::Aggregate(_) | Word::Chart(_) | Word::Grain(_),
        ) if known.is_some() => {}
        Is::Unknown => {
            // A name of several words.
            while let Some(more) = tokens.get(operand.next).filter(|one| one.is == Is::Unknown) {
                operand.text = format!("{} {}", operand.text, more.text);
                operand.next += 1;
            }
        }
        Is::Column(_) | Is::Word(_) | Is::Mark(_) => return None,
    }
    Some(operand)
}

/// The filters of a condition, if its values fit to its column.
pub(super) fn filters(
    column: usize,
    of: &Column,
    compare: Compare,
    operands: &[Operand],
    suppositions: &mut Vec<Supposition>,
) -> Option<Vec<Filter>> {
    if matches!(compare, Compare::Contains | Compare::NotContains) {
        return Some(texts(column, compare, operands));
    }
    match of.kind {
        Kind::Text => match compare {
            Compare::Eq | Compare::Ne => {
                let is_unknown = |one: &Operand| of.is_listed && of.value(&one.text).is_none();
                (!operands.iter().any(is_unknown)).then(|| texts(column, compare, operands))
            }
            Compare::Gt | Compare::Ge | Compare::Lt | Compare::Le => None,
            Compare::Contains | Compare::NotContains | Compare::IsNull | Compare::NotNull => None,
        },
        Kind::Number => numbers(column, of, compare, operands, suppositions),
        Kind::Date => dates(column, compare, operands),
    }
}

fn numbers(
    column: usize,
    of: &Column,
    compare: Compare,
    operands: &[Operand],
    suppositions: &mut Vec<Supposition>,
) -> Option<Vec<Filter>> {
    let mut numbers = Vec::new();
    let known = &of.numbers;
    let is_part = !known.is_empty() && known.iter().all(|number| number.abs() <= 1.0);
    for operand in operands {
        let (number, is_percent) = operand.number?;
        let value = if is_percent && is_part { number / 100.0 } else { number };
        if is_percent {
            suppositions.push(Supposition::Percent(number, value));
        }
        numbers.push(value);
    }
    let filter = |compare, value| Filter { column, compare, value };
    Some(match (numbers.as_slice(), compare) {
        ([_, _, ..], Compare::Eq) => vec![filter(compare, Value::Numbers(numbers))],
        _ => numbers.into_iter().map(|one| filter(compare, Value::Number(one))).collect(),
    })
}

fn texts(column: usize, compare: Compare, operands: &[Operand]) -> Vec<Filter> {
    let texts: Vec<String> = operands.iter().map(|operand| operand.text.clone()).collect();
    let filter = |value| Filter { column, compare, value };
    match (texts.as_slice(), compare) {
        ([_, _, ..], Compare::Eq) => vec![filter(Value::Texts(texts))],
        _ => texts.into_iter().map(|text| filter(Value::Text(text))).collect(),
    }
}

/// A month or a year is every day in it.
fn dates(column: usize, compare: Compare, operands: &[Operand]) -> Option<Vec<Filter>> {
    let filter = |compare, value| Filter { column, compare, value };
    let months: Vec<u32> = operands.iter().filter_map(|operand| operand.month).collect();
    if !months.is_empty() {
        let fits = months.len() == operands.len() && matches!(compare, Compare::Eq | Compare::Ne);
        return fits.then(|| vec![filter(compare, Value::Months(months))]);
    }
    let dates: Option<Vec<Date>> =
        operands.iter().map(|operand| operand.date.or_else(|| year(operand))).collect();
    let dates = dates.filter(|dates| !dates.is_empty())?;
    let day = |compare, day| filter(compare, Value::Date(day));
    let [date] = *dates.as_slice() else {
        let periods = dates.iter().map(|date| (date.start(), date.next())).collect();
        let fits = matches!(compare, Compare::Eq | Compare::Ne);
        return fits.then(|| vec![filter(compare, Value::Periods(periods))]);
    };
    Some(match compare {
        Compare::Eq => vec![day(Compare::Ge, date.start()), day(Compare::Lt, date.next())],
        Compare::Ne => vec![filter(compare, Value::Periods(vec![(date.start(), date.next())]))],
        Compare::Ge => vec![day(Compare::Ge, date.start())],
        Compare::Gt => vec![day(Compare::Ge, date.next())],
        Compare::Le => vec![day(Compare::Lt, date.next())],
        Compare::Lt => vec![day(Compare::Lt, date.start())],
        Compare::Contains | Compare::NotContains | Compare::IsNull | Compare::NotNull => {
            return None;
        }
    })
}

/// A number that is a year and nothing else.
pub(super) fn year(operand: &Operand) -> Option<Date> {
    let (number, is_percent) = operand.number?;
    let is_year = !is_percent && (1000.0..3000.0).contains(&number) && operand.text.len() == 4;
    let year = operand.text.parse().ok().filter(|_| is_year)?;
    Some(Date { year, month: None, day: None })
}
