//! Conditions without their column: values that are known to stand in one, and periods.

use super::column::Kind;
use super::filter::Reader;
use super::lex::{Is, Token};
use super::operand::{Operand, operand, year};
use super::request::{Filter, Supposition, Value};
use super::understand::Doubt;
use super::value::Date;
use super::words::{Compare, Glue, Grain, Word};

const JOINED: [Glue; 3] = [Glue::And, Glue::Or, Glue::Versus];

impl Reader<'_> {
    pub(super) fn implied(&mut self) {
        let mut at = 0;
        while at < self.tokens.len() {
            at = self.values(at);
        }
        let dates: Vec<usize> = (0..self.columns.len())
            .filter(|column| self.columns[*column].kind == Kind::Date)
            .collect();
        let is_named =
            |column: &&usize| self.tokens.iter().any(|token| token.is == Is::Column(**column));
        let Some(column) = dates.iter().find(is_named).or(dates.first()).copied() else { return };
        let mut at = 0;
        while at < self.tokens.len() {
            at = self.period(at, column);
        }
    }

    fn free_value(&self, at: usize) -> Option<usize> {
        let Is::Value(column) = self.tokens.get(at)?.is else { return None };
        (!self.found.used[at]).then_some(column)
    }

    /// Values of one column, one beside the other. Answers where to go on.
    fn values(&mut self, at: usize) -> usize {
        let Some(first) = self.free_value(at) else { return at + 1 };
        let others = self.columns.iter().enumerate().filter(|(_, column)| {
            column.kind == Kind::Text && column.value(&self.tokens[at].text).is_some()
        });
        let known: Vec<usize> = others.map(|(column, _)| column).collect();
        // Right beside it its column may stand.
        let beside = at.checked_sub(1).and_then(|before| self.tokens.get(before));
        let named = beside.and_then(Token::column).filter(|column| known.contains(column));
        if known.len() > 1 && named.is_none() && self.found.doubt.is_none() {
            let token = &self.tokens[at];
            self.found.doubt = Some(Doubt::WhoseValue {
                text: token.text.clone(),
                start: token.start,
                end: token.end,
                columns: known,
            });
        }
        let column = named.unwrap_or(first);
        let (mut operands, mut joins): (Vec<Operand>, Vec<Glue>) = (Vec::new(), Vec::new());
        let mut end = at;
        while let Some(operand) = operand(self.tokens, end, self.columns.get(column))
            .filter(|_| self.free_value(end).is_some())
        {
            end = operand.next;
            operands.push(operand);
            let join = JOINED.into_iter().find(|glue| self.glue(end, *glue));
            let more = self.free_value(end + 1).is_some_and(|other| {
                other == column || self.columns[column].value(&self.tokens[end + 1].text).is_some()
            });
            let Some(join) = join.filter(|_| more) else { break };
            joins.push(join);
            end += 1;
        }
        let (mut from, mut to) = (at, end);
        let mut compare = Compare::Eq;
        if matches!(self.compare(to), Some(Compare::Ne | Compare::NotContains)) {
            (compare, to) = (Compare::Ne, to + 1);
        } else if from > 0
            && !self.found.used[from - 1]
            && self.compare(from - 1) == Some(Compare::Ne)
        {
            (compare, from) = (Compare::Ne, from - 1);
        }
        let said = operands.iter().map(|one| one.text.clone()).collect::<Vec<_>>().join(", ");
        self.found.suppositions.push(Supposition::IsValue(said, column));
        let is_beside = joins.iter().any(|glue| matches!(glue, Glue::And | Glue::Versus));
        self.found.contrasts |= joins.contains(&Glue::Versus);
        if is_beside && compare == Compare::Eq && !self.found.beside.contains(&column) {
            self.found.beside.push(column);
        }
        let clauses = self.clauses(column, compare, &operands);
        self.finish(clauses, column, from, to);
        if named.is_some() && !(at > 1 && self.glue(at - 2, Glue::Per)) {
            self.mark(at - 1, at);
        }
        end
    }

    fn when(&self, at: usize) -> Option<Operand> {
        if *self.found.used.get(at)? {
            return None;
        }
        let found = operand(self.tokens, at, None)?;
        (found.date.is_some() || found.month.is_some() || found.number.is_some()).then_some(found)
    }

    /// A year as a bare number: nothing around it may count or compare.
    fn is_bare_year(&self, at: usize, operand: &Operand) -> bool {
        let counts = |at: usize| {
            let word = self.tokens.get(at).map(|token| &token.is);
            matches!(word, Some(Is::Word(Word::Order(_) | Word::Compare(_)) | Is::Column(_)))
                && !self.found.used[at]
        };
        let is_year = year(operand).is_some_and(|date| (1900..2100).contains(&date.year));
        let before = at.checked_sub(1);
        let compares = before.is_some_and(|before| {
            let word = &self.tokens[before].is;
            matches!(word, Is::Word(Word::Order(_) | Word::Compare(_)))
        });
        let is_before = matches!(
            self.tokens.get(operand.next).map(|token| &token.is),
            Some(Is::Word(Word::Compare(_) | Word::Order(_)))
        );
        is_year
            && !compares
            && !is_before
            && !before.is_some_and(|before| counts(before) && before + 1 != at)
    }

    /// Dates without their column, with the comparison around them. Answers where to go on.
    fn period(&mut self, at: usize, column: usize) -> usize {
        let Some(mut first) = self.when(at) else { return at + 1 };
        let after_in = at > 0 && self.glue(at - 1, Glue::Object);
        let dated = at > 0 && self.compare(at - 1).is_some_and(|compare| compare != Compare::Eq);
        let is_year = first.month.is_none()
            && first.date.is_none()
            && (self.is_bare_year(at, &first) || ((after_in || dated) && year(&first).is_some()));
        if is_year {
            first.date = year(&first);
        }
        if first.date.is_none() && first.month.is_none() {
            return at + 1;
        }
        if let Some(end) = self.range(at, column, &first) {
            return end;
        }
        let (operands, joins, end) = self.several(first);
        let before = at.checked_sub(1).filter(|before| !self.found.used[*before]);
        let before = before.and_then(|before| self.compare(before));
        let after = self.compare(end);
        let until = self.glue(end, Glue::Until).then_some(Compare::Le);
        let compare = after.or(before).or(until).unwrap_or(Compare::Eq);
        let start = at - usize::from(after.is_none() && before.is_some());
        let to = end + usize::from(after.is_some() || until.is_some());
        self.suppose(&operands, column);
        let is_beside = joins.iter().any(|glue| matches!(glue, Glue::And | Glue::Versus));
        if is_beside && compare == Compare::Eq {
            self.found.periods = Some((column, grain(&operands)));
        }
        let clauses = self.clauses(column, compare, &operands);
        self.finish(clauses, column, start, to);
        to
    }

    /// From one until another.
    fn range(&mut self, at: usize, column: usize, first: &Operand) -> Option<usize> {
        let is_english =
            at > 0 && [Glue::From, Glue::Between].iter().any(|one| self.glue(at - 1, *one));
        let joined = self.glue(first.next, Glue::From)
            || (is_english
                && [Glue::Until, Glue::And].iter().any(|one| self.glue(first.next, *one)));
        let mut last = self.when(first.next + 1).filter(|_| joined)?;
        inherit(first, &mut last);
        let mut first = first.clone();
        lend(&mut first, &last);
        if last.date.is_none() {
            last.date = year(&last);
        }
        let end = last.next + usize::from(self.glue(last.next, Glue::Until));
        self.suppose(std::slice::from_ref(&first), column);
        let clauses = match (first.month, last.month) {
            (Some(from), Some(to)) if from <= to => {
                let months = Value::Months((from..=to).collect());
                Some(vec![vec![Filter { column, compare: Compare::Eq, value: months }]])
            }
            (Some(_), _) | (_, Some(_)) => None,
            (None, None) => self.clauses(column, Compare::Ge, &[first]).and_then(|mut clauses| {
                clauses.extend(self.clauses(column, Compare::Le, &[last])?);
                Some(clauses)
            }),
        };
        self.finish(clauses, column, at - usize::from(is_english), end);
        Some(end)
    }

    /// Dates one beside the other, with what joins them.
    fn several(&self, first: Operand) -> (Vec<Operand>, Vec<Glue>, usize) {
        let mut end = first.next;
        let (mut operands, mut joins) = (vec![first], Vec::new());
        while let Some(join) = JOINED.into_iter().find(|glue| self.glue(end, *glue)) {
            let Some(mut next) = self.when(end + 1) else { break };
            let Some(last) = operands.last_mut() else { break };
            inherit(last, &mut next);
            lend(last, &next);
            let is_years = last.date.is_some_and(|date| date.month.is_none());
            if next.date.is_none() && next.month.is_none() && is_years {
                next.date = year(&next);
            }
            if next.date.is_none() && next.month.is_none() {
                break;
            }
            end = next.next;
            operands.push(next);
            joins.push(join);
        }
        (operands, joins, end)
    }

    fn suppose(&mut self, operands: &[Operand], column: usize) {
        let months: Vec<u32> = operands.iter().filter_map(|operand| operand.month).collect();
        let date = operands.iter().find_map(|operand| operand.date);
        self.found.suppositions.extend(match date {
            Some(date) => Some(Supposition::InPeriod(date, column)),
            None if months.is_empty() => None,
            None => Some(Supposition::InMonths(months, column)),
        });
    }
}

/// A month after a month of a year is of the same year.
fn inherit(before: &Operand, after: &mut Operand) {
    if let (Some(date), Some(month)) =
        (before.date.filter(|date| date.month.is_some()), after.month)
    {
        let date = Date { year: date.year, month: Some(month), day: None };
        (after.date, after.month) = (Some(date), None);
    }
}

/// "January and February 2024" are of one year.
fn lend(before: &mut Operand, after: &Operand) {
    if let (Some(month), Some(date)) =
        (before.month, after.date.filter(|date| date.month.is_some()))
    {
        let date = Date { year: date.year, month: Some(month), day: None };
        (before.date, before.month) = (Some(date), None);
    }
}

/// The periods that dates are.
fn grain(operands: &[Operand]) -> Grain {
    let dates = || operands.iter().filter_map(|operand| operand.date);
    if dates().any(|date| date.day.is_some()) {
        Grain::Day
    } else if dates().any(|date| date.month.is_some())
        || operands.iter().any(|one| one.month.is_some())
    {
        Grain::Month
    } else {
        Grain::Year
    }
}
