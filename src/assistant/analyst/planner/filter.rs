//! Reads the conditions of a question: a column, a comparison and a value, in the order of Japanese or of English.

use super::column::{Column, Kind};
use super::fold::is_hiragana;
use super::lex::{Is, Token};
use super::request::{Filter, Supposition, Value};
use super::value::{Date, plain_number};
use super::words::{Compare, Glue, Word};

/// What the conditions of a question are, and which of its tokens say them.
#[derive(Debug, Default)]
pub(super) struct Conditions {
    pub(super) filters: Vec<Filter>,
    pub(super) used: Vec<bool>,
    pub(super) suppositions: Vec<Supposition>,
    /// Tokens of a condition that cannot be understood, from the first to the last.
    pub(super) refused: Option<(usize, usize)>,
}

struct Reader<'a> {
    tokens: &'a [Token],
    columns: &'a [Column],
    found: Conditions,
}

/// A value of a condition, still as it was written.
#[derive(Debug, Clone)]
struct Operand {
    text: String,
    number: Option<(f64, bool)>,
    date: Option<Date>,
    is_plain: bool,
    next: usize,
}

pub(super) fn conditions(tokens: &[Token], columns: &[Column]) -> Conditions {
    let used = vec![false; tokens.len()];
    let found = Conditions { used, ..Conditions::default() };
    let mut reader = Reader { tokens, columns, found };
    for (at, token) in tokens.iter().enumerate() {
        if let Is::Column(column) = token.is
            && !reader.found.used[at]
        {
            reader.read(at, column);
        }
    }
    reader.implied();
    reader.left_over();
    reader.found
}

impl Reader<'_> {
    fn glue(&self, at: usize, glue: Glue) -> bool {
        self.tokens.get(at).is_some_and(|token| token.is_glue(glue))
    }

    fn compare(&self, at: usize) -> Option<Compare> {
        let Is::Word(Word::Compare(compare)) = self.tokens.get(at)?.is else { return None };
        Some(compare)
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
            self.found.filters.push(Filter { column, compare, value: Value::None });
            self.mark(at, at + 2)
        })
    }

    /// `between A and B`, and from A until B.
    fn between(&mut self, at: usize, column: usize) -> bool {
        let is_english = self.glue(at + 1, Glue::Between);
        let start = at + 1 + usize::from(is_english || self.glue(at + 1, Glue::Subject));
        let Some(low) = self.operand(start) else { return false };
        let joined = if is_english { Glue::And } else { Glue::From };
        let to = self.glue(low.next, joined) || (is_english && self.glue(low.next, Glue::Until));
        let Some(high) = self.operand(low.next + 1).filter(|_| to) else { return false };
        let end = high.next + usize::from(self.glue(high.next, Glue::Until));
        let fits = self.put(column, Compare::Ge, &[low]) && self.put(column, Compare::Le, &[high]);
        self.finish(fits, at, end)
    }

    fn one_of(&mut self, at: usize, column: usize) -> bool {
        if !self.glue(at + 1, Glue::OneOf) {
            return false;
        }
        let (operands, mut end) = self.operands(at + 2, &[Glue::And, Glue::Or]);
        end += usize::from(self.tokens.get(end).is_some_and(|token| token.is == Is::Mark(')')));
        let fits = !operands.is_empty() && self.put(column, Compare::Eq, &operands);
        self.finish(fits, at, end)
    }

    /// `region is Tokyo`, `sales >= 100`.
    fn compare_first(&mut self, at: usize, column: usize) -> bool {
        let place = at + 1 + usize::from(self.glue(at + 1, Glue::Of));
        let Some(compare) = self.compare(place).filter(|compare| compare.takes_value()) else {
            return false;
        };
        let (mut operands, mut end) = self.operands(place + 1, &[Glue::Or]);
        if operands.is_empty() && self.equates(at, place, compare) {
            operands.extend(self.word_as_value(place + 1));
            end = place + 1 + operands.len();
        }
        // A date is compared with a column of dates, wherever it stands.
        let is_dated = operands.iter().any(|operand| operand.date.is_some());
        if is_dated && self.columns[column].kind != Kind::Date {
            return false;
        }
        // "What is the sum" compares nothing, and "is" without a value neither.
        if operands.is_empty() && compare == Compare::Eq {
            return false;
        }
        let fits = !operands.is_empty() && self.put(column, compare, &operands);
        self.finish(fits, at, end.max(place + 1))
    }

    /// Whether a word that is known stands for itself after a comparison: after a sign, or after "where".
    fn equates(&self, at: usize, place: usize, compare: Compare) -> bool {
        let is_sign = self.tokens[place].text.chars().all(|one| !one.is_alphabetic());
        let is_condition = at > 0 && self.glue(at - 1, Glue::Only);
        let equals = matches!(compare, Compare::Eq | Compare::Ne);
        compare == Compare::Contains || (equals && (is_sign || is_condition))
    }

    fn word_as_value(&self, at: usize) -> Option<Operand> {
        let token = self.tokens.get(at)?;
        let is_value =
            matches!(token.is, Is::Word(_)) && !matches!(token.is, Is::Word(Word::Compare(_)));
        let (text, next) = (token.text.clone(), at + 1);
        is_value.then_some(Operand { text, number: None, date: None, is_plain: true, next })
    }

    /// The value before the comparison, as in Japanese. Without a comparison the value is what the column equals.
    fn value_first(&mut self, at: usize, column: usize, next: usize) -> bool {
        let is_subject = self.glue(next, Glue::Subject);
        let start = next + usize::from(is_subject || self.glue(next, Glue::Object));
        let (operands, mut end) = self.operands(start, &[Glue::Or]);
        let Some(first) = operands.first() else { return false };
        let compare = self.compare(end).filter(|compare| compare.takes_value());
        end += usize::from(compare.is_some());
        let is_followed = self.glue(end, Glue::Of) || self.glue(end, Glue::Only);
        let is_word = first.is_plain && first.text.chars().all(is_hiragana);
        let is_number = self.columns[column].kind == Kind::Number;
        let equals =
            is_subject && (is_followed || !is_word) && (!is_number || first.number.is_some());
        let Some(compare) = compare.or(equals.then_some(Compare::Eq)) else { return false };
        let mut end = end + usize::from(self.glue(end, Glue::Only));
        let mut fits = self.put(column, compare, &operands);
        // A second bound of the same column.
        while let Some(bound) = self.operand(end).filter(|bound| bound.number.is_some()) {
            let Some(compare) = self.compare(bound.next) else { break };
            end = bound.next + 1;
            fits &= self.put(column, compare, &[bound]);
        }
        self.finish(fits, at, end)
    }

    /// A number and a comparison before the column that they are about.
    fn before_column(&mut self, at: usize, column: usize) -> bool {
        let from = at.checked_sub(usize::from(at > 0 && self.glue(at - 1, Glue::Of)) + 2);
        let Some(from) = from.filter(|from| !self.found.used[*from]) else { return false };
        let japanese =
            self.compare(from + 1).and_then(|compare| Some((compare, self.operand(from)?)));
        let english =
            self.compare(from).and_then(|compare| Some((compare, self.operand(from + 1)?)));
        let found = japanese.or(english).filter(|(_, operand)| operand.number.is_some());
        let Some((compare, operand)) = found else { return false };
        let is_number = self.columns[column].kind == Kind::Number && compare.takes_value();
        // The column stays to be looked at.
        is_number && self.put(column, compare, &[operand]) && self.mark(from, from + 2)
    }

    fn operands(&self, start: usize, joined: &[Glue]) -> (Vec<Operand>, usize) {
        let mut operands: Vec<Operand> = Vec::new();
        let mut end = start;
        while let Some(operand) = self.operand(if operands.is_empty() { end } else { end + 1 }) {
            end = operand.next;
            operands.push(operand);
            if !joined.iter().any(|glue| self.glue(end, *glue)) {
                break;
            }
        }
        (operands, end)
    }

    fn operand(&self, at: usize) -> Option<Operand> {
        let token = self.tokens.get(at)?;
        let mut operand = Operand {
            text: token.text.clone(),
            number: None,
            date: None,
            is_plain: token.is == Is::Unknown,
            next: at + 1,
        };
        match &token.is {
            Is::Number(number) => operand.number = Some((number.value, number.is_percent)),
            Is::Date(date) => operand.date = Some(*date),
            Is::Quoted => {
                operand.number = plain_number(&token.text).map(|number| (number, false));
                operand.date = super::value::date(&super::fold::text(&token.text));
            }
            // People write these into tables, too.
            Is::Value(_) | Is::Word(Word::Glue(Glue::Yes | Glue::No)) => {}
            Is::Unknown => {
                // A name of several words.
                while let Some(more) =
                    self.tokens.get(operand.next).filter(|one| one.is == Is::Unknown)
                {
                    operand.text = format!("{} {}", operand.text, more.text);
                    operand.next += 1;
                }
            }
            Is::Column(_) | Is::Word(_) | Is::Mark(_) => return None,
        }
        Some(operand)
    }

    /// Adds the filters of a condition, if its values fit to its column.
    fn put(&mut self, column: usize, compare: Compare, operands: &[Operand]) -> bool {
        let filters = match self.columns[column].kind {
            _ if compare == Compare::Contains => texts(column, compare, operands),
            Kind::Text => match compare {
                Compare::Eq | Compare::Ne => texts(column, compare, operands),
                Compare::Gt | Compare::Ge | Compare::Lt | Compare::Le => None,
                Compare::Contains | Compare::IsNull | Compare::NotNull => None,
            },
            Kind::Number => self.numbers(column, compare, operands),
            Kind::Date => dates(column, compare, operands),
        };
        let fits = filters.is_some();
        self.found.filters.extend(filters.unwrap_or_default());
        fits
    }

    fn numbers(
        &mut self,
        column: usize,
        compare: Compare,
        operands: &[Operand],
    ) -> Option<Vec<Filter>> {
        let mut numbers = Vec::new();
        let known = &self.columns[column].numbers;
        let is_part = !known.is_empty() && known.iter().all(|number| number.abs() <= 1.0);
        for operand in operands {
            let (number, is_percent) = operand.number?;
            let value = if is_percent && is_part { number / 100.0 } else { number };
            if is_percent {
                self.found.suppositions.push(Supposition::Percent(number, value));
            }
            numbers.push(value);
        }
        let filter = |compare, value| Filter { column, compare, value };
        Some(match (numbers.as_slice(), compare) {
            ([_, _, ..], Compare::Eq) => vec![filter(compare, Value::Numbers(numbers))],
            _ => numbers.into_iter().map(|one| filter(compare, Value::Number(one))).collect(),
        })
    }

    fn mark(&mut self, from: usize, to: usize) -> bool {
        let to = to.min(self.found.used.len());
        self.found.used[from..to].fill(true);
        true
    }

    fn finish(&mut self, fits: bool, from: usize, to: usize) -> bool {
        if !fits && self.found.refused.is_none() {
            self.found.refused = Some((from, to.min(self.tokens.len()) - 1));
        }
        self.mark(from, to)
    }

    /// Values of the first rows without their column, and periods if there is a column of dates.
    fn implied(&mut self) {
        let tokens = self.tokens;
        let free = |found: &Conditions, at: usize| !found.used[at];
        for column in 0..self.columns.len() {
            let of = |at: &usize| free(&self.found, *at) && tokens[*at].is == Is::Value(column);
            let places: Vec<usize> = (0..tokens.len()).filter(of).collect();
            let operands: Vec<Operand> = places.iter().filter_map(|at| self.operand(*at)).collect();
            let Some((first, last)) = places.first().zip(places.last()) else { continue };
            let is_other = self.compare(last + 1) == Some(Compare::Ne);
            self.put(column, if is_other { Compare::Ne } else { Compare::Eq }, &operands);
            let said =
                operands.iter().map(|operand| operand.text.clone()).collect::<Vec<_>>().join(", ");
            self.found.suppositions.push(Supposition::IsValue(said, column));
            self.mark(*first, last + 1 + usize::from(is_other));
        }
        let dated = self.columns.iter().position(|column| column.kind == Kind::Date);
        let Some(column) = dated else { return };
        let mut at = 0;
        while at < tokens.len() {
            at += self.period(at, column);
        }
    }

    /// A date without its column, with the comparison around it. Answers how many tokens were read.
    fn period(&mut self, at: usize, column: usize) -> usize {
        let Some(first) = self.operand(at).filter(|_| !self.found.used[at]) else { return 1 };
        let after_in = at > 0 && self.glue(at - 1, Glue::Object);
        let Some(date) = first.date.or(year(&first).filter(|_| after_in)) else { return 1 };
        let before = at.checked_sub(1).and_then(|before| self.compare(before));
        if self.glue(first.next, Glue::From)
            && let Some(last) = self.operand(first.next + 1)
        {
            let fits = self.put(column, Compare::Ge, &[first])
                && self.put(column, Compare::Le, std::slice::from_ref(&last));
            self.found.suppositions.push(Supposition::InPeriod(date, column));
            let end = last.next + usize::from(self.glue(last.next, Glue::Until));
            self.finish(fits, at, end);
            return end - at;
        }
        let after = self.compare(first.next);
        let until = self.glue(first.next, Glue::Until).then_some(Compare::Le);
        let compare = after.or(before).or(until).unwrap_or(Compare::Eq);
        let start = at - usize::from(after.is_none() && before.is_some());
        let end = first.next + usize::from(after.is_some() || until.is_some());
        let fits = self.put(column, compare, &[first]);
        self.found.suppositions.push(Supposition::InPeriod(date, column));
        self.finish(fits, start, end);
        end - at
    }

    /// A comparison that belongs to nothing must not be passed over.
    fn left_over(&mut self) {
        for at in 0..self.tokens.len() {
            let left = self.compare(at).filter(|_| !self.found.used[at]);
            let says = left.is_some_and(|compare| compare.takes_value() && compare != Compare::Eq);
            if says && self.found.refused.is_none() {
                let from = at.saturating_sub(1);
                self.found.refused = Some((from, (at + 1).min(self.tokens.len() - 1)));
            }
        }
    }
}

fn texts(column: usize, compare: Compare, operands: &[Operand]) -> Option<Vec<Filter>> {
    let texts: Vec<String> = operands.iter().map(|operand| operand.text.clone()).collect();
    let filter = |value| Filter { column, compare, value };
    Some(match (texts.as_slice(), compare) {
        ([_, _, ..], Compare::Eq) => vec![filter(Value::Texts(texts))],
        _ => texts.into_iter().map(|text| filter(Value::Text(text))).collect(),
    })
}

/// A month or a year is every day in it.
fn dates(column: usize, compare: Compare, operands: &[Operand]) -> Option<Vec<Filter>> {
    let [operand] = operands else { return None };
    let date = operand.date.or_else(|| year(operand))?;
    let filter = |compare, day| Filter { column, compare, value: Value::Date(day) };
    Some(match compare {
        Compare::Eq => vec![filter(Compare::Ge, date.start()), filter(Compare::Lt, date.next())],
        Compare::Ge => vec![filter(Compare::Ge, date.start())],
        Compare::Gt => vec![filter(Compare::Ge, date.next())],
        Compare::Le => vec![filter(Compare::Lt, date.next())],
        Compare::Lt => vec![filter(Compare::Lt, date.start())],
        // Outside of a period is two conditions of which one has to hold.
        Compare::Ne | Compare::Contains | Compare::IsNull | Compare::NotNull => return None,
    })
}

fn year(operand: &Operand) -> Option<Date> {
    let (number, is_percent) = operand.number?;
    let is_year = !is_percent && (1000.0..3000.0).contains(&number) && operand.text.len() == 4;
    let year = operand.text.parse().ok().filter(|_| is_year)?;
    Some(Date { year, month: None, day: None })
}
