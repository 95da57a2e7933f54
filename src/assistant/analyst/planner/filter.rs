//! Reads the conditions of a question: a column, a comparison and a value, in the order of Japanese or of English.

use super::column::{Column, Kind};
use super::fold::is_hiragana;
use super::lex::{Is, Token};
use super::operand::{Operand, filters, operand};
use super::request::{Filter, Supposition, Value};
use super::understand::Doubt;
use super::words::{Compare, Glue, Grain, Word};

/// What the conditions of a question are, and which of its tokens say them.
#[derive(Debug, Default)]
pub(super) struct Conditions {
    pub(super) filters: Vec<Filter>,
    /// Of each of these one has to hold.
    pub(super) either: Vec<Vec<Filter>>,
    pub(super) used: Vec<bool>,
    pub(super) suppositions: Vec<Supposition>,
    /// Tokens of a condition that cannot be understood, from the first to the last.
    pub(super) refused: Option<(usize, usize)>,
    pub(super) doubt: Option<Doubt>,
    /// Columns of which several values were named one beside the other.
    pub(super) beside: Vec<usize>,
    /// Whether they were said to be set against each other.
    pub(super) contrasts: bool,
    /// Several periods of a column of dates, one beside the other.
    pub(super) periods: Option<(usize, Grain)>,
}

/// One condition that was read.
#[derive(Debug, Clone)]
pub(super) struct Read {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) column: usize,
    /// All have to hold, and of each one filter.
    pub(super) clauses: Vec<Vec<Filter>>,
}

pub(super) struct Reader<'a> {
    pub(super) tokens: &'a [Token],
    pub(super) columns: &'a [Column],
    pub(super) found: Conditions,
    pub(super) reads: Vec<Read>,
    /// Where the later parts of the question begin, which overrule the ones before.
    pub(super) parts: &'a [usize],
}

/// `used`: tokens that say something else.
pub(super) fn conditions(
    tokens: &[Token],
    columns: &[Column],
    parts: &[usize],
    used: Vec<bool>,
) -> Conditions {
    let found = Conditions { used, ..Conditions::default() };
    let mut reader = Reader { tokens, columns, found, reads: Vec::new(), parts };
    for (at, token) in tokens.iter().enumerate() {
        if let Is::Column(column) = token.is
            && !reader.found.used[at]
        {
            reader.read(at, column);
        }
    }
    reader.implied();
    reader.joined();
    reader.left_over();
    reader.found
}

impl Reader<'_> {
    pub(super) fn glue(&self, at: usize, glue: Glue) -> bool {
        self.tokens.get(at).is_some_and(|token| token.is_glue(glue))
    }

    pub(super) fn compare(&self, at: usize) -> Option<Compare> {
        let Is::Word(Word::Compare(compare)) = self.tokens.get(at)?.is else { return None };
        Some(compare)
    }

    fn operand(&self, at: usize, column: usize) -> Option<Operand> {
        operand(self.tokens, at, self.columns.get(column))
    }

    fn read(&mut self, at: usize, column: usize) {
        let next = at + 1;
        let _ = self.null(at, column)
            || self.between(at, column)
            || self.one_of(at, column)
            || self.compare_first(at, column)
            || self.value_first(at, column, next)
            || self.before_column(at, column);
    }

    fn null(&mut self, at: usize, column: usize) -> bool {
        let found = self.compare(at + 1).filter(|compare| !compare.takes_value());
        found.is_some_and(|compare| {
            let filter = Filter { column, compare, value: Value::None };
            self.finish(Some(vec![vec![filter]]), column, at, at + 2)
        })
    }

    /// `between A and B`, and from A until B.
    fn between(&mut self, at: usize, column: usize) -> bool {
        let is_english = self.glue(at + 1, Glue::Between);
        let start = at
            + 1
            + usize::from(is_english || self.glue(at + 1, Glue::Subject))
            + usize::from(self.glue(at + 1, Glue::From));
        let Some(low) = self.operand(start, column) else { return false };
        let is_from = self.glue(at + 1, Glue::From) && self.glue(low.next, Glue::Until);
        let joined = if is_english { Glue::And } else { Glue::From };
        let to = self.glue(low.next, joined)
            || is_from
            || (is_english && self.glue(low.next, Glue::Until));
        let Some(high) = self.operand(low.next + 1, column).filter(|_| to) else { return false };
        // Dates are those of a column of dates, wherever they stand.
        let is_dated = low.date.is_some() || low.month.is_some();
        let fits = match self.columns[column].kind {
            Kind::Date => true,
            Kind::Number => low.number.is_some() && high.number.is_some(),
            Kind::Text => !is_dated,
        };
        if !fits {
            return false;
        }
        let end = high.next + usize::from(self.glue(high.next, Glue::Until));
        let clauses = self.filters(column, Compare::Ge, &[low]).and_then(|mut low| {
            low.extend(self.filters(column, Compare::Le, &[high])?);
            Some(low.into_iter().map(|filter| vec![filter]).collect())
        });
        self.finish(clauses, column, at, end)
    }

    fn one_of(&mut self, at: usize, column: usize) -> bool {
        if !self.glue(at + 1, Glue::OneOf) {
            return false;
        }
        let (operands, mut end) = self.operands(at + 2, column, &[Glue::And, Glue::Or]);
        end += usize::from(self.tokens.get(end).is_some_and(|token| token.is == Is::Mark(')')));
        let found = Some(operands).filter(|operands| !operands.is_empty());
        let clauses = found.and_then(|operands| self.clauses(column, Compare::Eq, &operands));
        self.finish(clauses, column, at, end)
    }

    /// `region is Tokyo`, `sales >= 100`.
    fn compare_first(&mut self, at: usize, column: usize) -> bool {
        let is_joined = |at: usize| {
            [Glue::Of, Glue::Subject, Glue::Filler, Glue::Only]
                .iter()
                .any(|one| self.glue(at, *one))
        };
        let mut place = at + 1;
        // "Sales that are above": nothing between them says more.
        while place < at + 3 && is_joined(place) {
            place += 1;
        }
        let equals = self.compare(place) == Some(Compare::Eq);
        let goes_on = self.compare(place + 1).is_some_and(Compare::takes_value);
        place += usize::from(equals && goes_on);
        let is_left_out = self.glue(place, Glue::Except);
        let found = self.compare(place).filter(|compare| compare.takes_value());
        let Some(compare) = found.or(is_left_out.then_some(Compare::Ne)) else { return false };
        let joined = if compare == Compare::Ne { &[Glue::Or, Glue::And][..] } else { &[Glue::Or] };
        let (mut operands, mut end) = self.operands(place + 1, column, joined);
        // What is left out may be a value of another column.
        let fits = |operand: &Operand| match self.columns[column].kind {
            Kind::Number => operand.number.is_some(),
            Kind::Date => operand.date.is_some() || operand.month.is_some(),
            Kind::Text => operand.number.is_none() && operand.date.is_none(),
        };
        if is_left_out && !operands.first().is_some_and(fits) {
            return false;
        }
        if operands.is_empty() && self.equates(at, place, compare) {
            operands.extend(self.word_as_value(place + 1));
            end = place + 1 + operands.len();
        }
        // A date is compared with a column of dates, wherever it stands.
        let is_dated = operands.iter().any(|one| one.date.is_some() || one.month.is_some());
        let is_year = operands.first().is_some_and(|one| super::operand::year(one).is_some())
            && self.is_temporal(place);
        if (is_dated || is_year) && self.columns[column].kind != Kind::Date {
            return false;
        }
        // A sum of a group is more or less, and not a row.
        let before = at.checked_sub(1 + usize::from(at > 0 && self.glue(at - 1, Glue::Of)));
        let is_computed = before.is_some_and(|before| {
            let word = &self.tokens[before].is;
            matches!(word, Is::Word(Word::Aggregate(how)) if !how.counts())
        });
        if is_computed && self.columns[column].kind == Kind::Number && !operands.is_empty() {
            let from = before.unwrap_or(at);
            return self.finish(None, column, from, end.max(place + 1));
        }
        // "What is the sum" compares nothing, and "is" without a value neither.
        if operands.is_empty() && compare == Compare::Eq {
            return false;
        }
        let found = Some(operands).filter(|operands| !operands.is_empty());
        let clauses = found.and_then(|operands| self.clauses(column, compare, &operands));
        let (clauses, end) = self.bounds(clauses, column, end);
        self.finish(clauses, column, at, end.max(place + 1))
    }

    fn is_temporal(&self, at: usize) -> bool {
        let text = self.tokens.get(at).map(|token| super::fold::text(&token.text));
        text.is_some_and(|text| super::words::words().marks.temporal.contains(&text))
    }

    /// Whether a word that is known stands for itself after a comparison: after a sign, or after "where".
    fn equates(&self, at: usize, place: usize, compare: Compare) -> bool {
        let is_sign = self.tokens[place].text.chars().all(|one| !one.is_alphabetic());
        let is_condition = at > 0 && self.glue(at - 1, Glue::Only);
        let equals = matches!(compare, Compare::Eq | Compare::Ne);
        matches!(compare, Compare::Contains | Compare::NotContains)
            || (equals && (is_sign || is_condition))
    }

    fn word_as_value(&self, at: usize) -> Option<Operand> {
        let token = self.tokens.get(at)?;
        let is_value = matches!(token.is, Is::Word(_) | Is::Unknown | Is::Column(_));
        let text = token.text.clone();
        let next = at + 1;
        is_value.then_some(Operand {
            text,
            number: None,
            date: None,
            month: None,
            is_plain: true,
            next,
        })
    }

    /// The value before the comparison, as in Japanese. Without a comparison the value is what the column equals.
    fn value_first(&mut self, at: usize, column: usize, next: usize) -> bool {
        let is_subject = self.glue(next, Glue::Subject);
        let start = next + usize::from(is_subject || self.glue(next, Glue::Object));
        let (operands, mut end) = self.operands(start, column, &[Glue::Or]);
        let Some(first) = operands.first() else { return false };
        let compare = self.compare(end).filter(|compare| compare.takes_value());
        end += usize::from(compare.is_some());
        let is_followed = self.glue(end, Glue::Of) || self.glue(end, Glue::Only);
        let is_left_out = self.glue(end, Glue::Excluded);
        let is_word = first.is_plain && first.text.chars().all(is_hiragana);
        let is_number = self.columns[column].kind == Kind::Number;
        let equals = is_subject
            && (is_followed || is_left_out || !is_word)
            && (!is_number || first.number.is_some());
        let Some(compare) = compare.or(equals.then_some(Compare::Eq)) else { return false };
        let end = end + usize::from(self.glue(end, Glue::Only));
        let clauses = self.clauses(column, compare, &operands);
        let (clauses, end) = self.bounds(clauses, column, end);
        self.finish(clauses, column, at, end)
    }

    /// Further bounds of the same column: all have to hold, or one of them.
    fn bounds(
        &mut self,
        mut clauses: Option<Vec<Vec<Filter>>>,
        column: usize,
        mut end: usize,
    ) -> (Option<Vec<Vec<Filter>>>, usize) {
        let (mut joins, mut parts) = (false, false);
        while let Some((is_or, compare, bound)) = self.bound(column, end) {
            end = bound.0;
            let more = self.filters(column, compare, &[bound.1]);
            clauses = clauses.zip(more).map(|(mut clauses, more)| {
                match (is_or, clauses.last_mut()) {
                    (true, Some(last)) => last.extend(more),
                    (true, None) | (false, _) => {
                        clauses.extend(more.into_iter().map(|filter| vec![filter]));
                    }
                }
                clauses
            });
            parts |= is_or;
            joins |= !is_or;
        }
        // Which of both is first cannot be told.
        if parts && joins { (None, end) } else { (clauses, end) }
    }

    fn bound(&self, column: usize, end: usize) -> Option<(bool, Compare, (usize, Operand))> {
        let is_or = self.glue(end, Glue::Or);
        let start = end + usize::from(is_or || self.glue(end, Glue::And));
        let kind = self.columns[column].kind;
        let fits = |operand: &Operand| match kind {
            Kind::Number => operand.number.is_some(),
            Kind::Date => operand.date.is_some(),
            Kind::Text => false,
        };
        let bounds = |at: usize| {
            let equals = |compare: &Compare| matches!(compare, Compare::Eq | Compare::Ne);
            self.compare(at).filter(|compare| compare.takes_value() && !equals(compare))
        };
        if let Some(operand) = self.operand(start, column).filter(fits) {
            let compare = bounds(operand.next)?;
            return Some((is_or, compare, (operand.next + 1, operand)));
        }
        let compare = bounds(start)?;
        let operand = self.operand(start + 1, column).filter(fits)?;
        Some((is_or, compare, (operand.next, operand)))
    }

    /// A number and a comparison before the column that they are about.
    fn before_column(&mut self, at: usize, column: usize) -> bool {
        let from = at.checked_sub(usize::from(at > 0 && self.glue(at - 1, Glue::Of)) + 2);
        let Some(from) = from.filter(|from| !self.found.used[*from]) else { return false };
        let japanese =
            self.compare(from + 1).and_then(|compare| Some((compare, self.operand(from, column)?)));
        let english =
            self.compare(from).and_then(|compare| Some((compare, self.operand(from + 1, column)?)));
        let found = japanese.or(english).filter(|(_, operand)| operand.number.is_some());
        let Some((compare, operand)) = found else { return false };
        if self.columns[column].kind != Kind::Number || !compare.takes_value() {
            return false;
        }
        // The column stays to be looked at.
        let Some(clauses) = self.clauses(column, compare, &[operand]) else { return false };
        self.finish(Some(clauses), column, from, from + 2)
    }

    fn operands(&self, start: usize, column: usize, joined: &[Glue]) -> (Vec<Operand>, usize) {
        let mut operands: Vec<Operand> = Vec::new();
        let mut end = start;
        while let Some(operand) =
            self.operand(if operands.is_empty() { end } else { end + 1 }, column)
        {
            end = operand.next;
            operands.push(operand);
            // What follows "or" may be the number of another comparison.
            let is_bound = self.bound(column, end).is_some();
            if is_bound || !joined.iter().any(|glue| self.glue(end, *glue)) {
                break;
            }
        }
        (operands, end)
    }

    pub(super) fn filters(
        &mut self,
        column: usize,
        compare: Compare,
        operands: &[Operand],
    ) -> Option<Vec<Filter>> {
        filters(column, self.columns.get(column)?, compare, operands, &mut self.found.suppositions)
    }

    pub(super) fn clauses(
        &mut self,
        column: usize,
        compare: Compare,
        operands: &[Operand],
    ) -> Option<Vec<Vec<Filter>>> {
        let filters = self.filters(column, compare, operands)?;
        Some(filters.into_iter().map(|filter| vec![filter]).collect())
    }

    pub(super) fn mark(&mut self, from: usize, to: usize) {
        let to = to.min(self.found.used.len());
        self.found.used[from..to].fill(true);
    }

    pub(super) fn finish(
        &mut self,
        clauses: Option<Vec<Vec<Filter>>>,
        column: usize,
        from: usize,
        to: usize,
    ) -> bool {
        match clauses {
            Some(clauses) => self.reads.push(Read { from, to, column, clauses }),
            None if self.found.refused.is_none() => {
                self.found.refused = Some((from, to.min(self.tokens.len()) - 1));
            }
            None => {}
        }
        // What is grouped by stays to be seen.
        let is_column = matches!(self.tokens[from].is, Is::Column(_));
        let is_key = is_column && from > 0 && self.glue(from - 1, Glue::Per);
        self.mark(from + usize::from(is_key), to);
        true
    }

    /// A comparison that belongs to nothing, and what has to be left out, must not be passed over.
    fn left_over(&mut self) {
        for at in 0..self.tokens.len() {
            let is_free = !self.found.used[at];
            let left = self.compare(at).filter(|_| is_free);
            let says = left.is_some_and(|compare| compare.takes_value() && compare != Compare::Eq);
            let excludes = [Glue::Except, Glue::Excluded].iter().any(|glue| self.glue(at, *glue));
            if (says || (excludes && is_free)) && self.found.refused.is_none() {
                let from = at.saturating_sub(1);
                self.found.refused = Some((from, (at + 1).min(self.tokens.len() - 1)));
            }
        }
    }
}
