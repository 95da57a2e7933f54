//! From the words of a question to an analysis, or to the one doubt that has to be asked about.

use super::column::{Column, Kind, in_order};
use super::filter::{Conditions, conditions};
use super::lex::{Is, Token, tokens};
use super::request::{Analysis, Filter, Part, Prepare, Request, Supposition, Value};
use super::words::{Chart, Compare, Glue, Grain, Intent, Order, Word};
use std::borrow::Cow;

/// What is not understood. Places are bytes of the question.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Doubt {
    Nothing,
    NoColumns,
    Prediction,
    Web,
    Cause,
    /// A column that is not there, and the one that may be meant.
    NoSuchColumn {
        text: String,
        start: usize,
        end: usize,
        nearest: Option<usize>,
    },
    /// Columns are missing; these may be meant.
    WhichColumns(Vec<usize>),
    NotNumeric {
        column: usize,
    },
    TooFewNumbers,
    NoDate,
    /// The dates have no times of day.
    NoTimes,
    /// Periods have groups, so that there is no one whole.
    NoShares,
    Condition {
        text: String,
        start: usize,
        end: usize,
    },
    /// A word that is no column and no known value; this value may be meant.
    Unknown {
        text: String,
        start: usize,
        end: usize,
        value: Option<String>,
    },
    /// The first of each group is asked for.
    InEach {
        text: String,
        start: usize,
        end: usize,
    },
    /// What is computed of periods, and not in each of them; that can be computed instead.
    OfPeriods {
        text: String,
        start: usize,
        end: usize,
        instead: String,
    },
    /// A value of several columns.
    WhoseValue {
        text: String,
        start: usize,
        end: usize,
        columns: Vec<usize>,
    },
    /// So much of a hundred, where a number of rows is expected.
    Part {
        text: String,
        start: usize,
        end: usize,
    },
    /// Days and months of a column can be taken for each other.
    DateOrder {
        column: usize,
    },
}

/// A question, and where its later parts begin: what was said before may be overruled by them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Question {
    pub(super) text: String,
    pub(super) parts: Vec<usize>,
}

pub(super) struct Reader<'a> {
    pub(super) columns: &'a [Column],
    pub(super) tokens: Vec<Token>,
    pub(super) found: Conditions,
    pub(super) parts: &'a [usize],
    pub(super) prepare: Option<Prepare>,
}

pub(super) fn understand(question: &Question, columns: &[Column]) -> Result<Request, Doubt> {
    if columns.is_empty() {
        return Err(Doubt::NoColumns);
    }
    let columns = &*ordered(question, columns);
    let tokens = tokens(&question.text, columns);
    let used = vec![false; tokens.len()];
    let found = Conditions { used, ..Conditions::default() };
    let mut reader = Reader { columns, tokens, found, parts: &question.parts, prepare: None };
    reader.prepare()?;
    let prepared = std::mem::take(&mut reader.found.used);
    reader.found = conditions(&reader.tokens, columns, &question.parts, prepared);
    reader.request()
}

/// The columns, with the dates written in the order that the question says.
pub(super) fn ordered<'a>(question: &Question, columns: &'a [Column]) -> Cow<'a, [Column]> {
    if !columns.iter().any(|column| column.is_ambiguous) {
        return Cow::Borrowed(columns);
    }
    let said = tokens(&question.text, columns);
    let has = |glue: Glue| said.iter().any(|token| token.is_glue(glue));
    let is_day_first = has(Glue::DayFirst);
    if !is_day_first && !has(Glue::MonthFirst) {
        return Cow::Borrowed(columns);
    }
    let mut columns = columns.to_vec();
    in_order(&mut columns, is_day_first);
    Cow::Owned(columns)
}

impl Reader<'_> {
    fn request(mut self) -> Result<Request, Doubt> {
        self.out_of_scope()?;
        if let Some(doubt) = self.found.doubt.take() {
            return Err(doubt);
        }
        if let Some((first, last)) = self.found.refused {
            return Err(self.refused(first, last));
        }
        let keys = self.keys();
        let limit = self.limit()?;
        self.unknown()?;
        let mut request = match self.analysis(keys, limit) {
            Err(Doubt::Nothing) if self.prepare.is_some() => {
                Request { columns: self.all(Kind::Number), ..Request::new(Analysis::Describe) }
            }
            found => found?,
        };
        request.filters = std::mem::take(&mut self.found.filters);
        request.either = std::mem::take(&mut self.found.either);
        if let Some(key) = self.part_of(&request) {
            let (of, rest) = request.filters.drain(..).partition(|filter| filter.column == key);
            request.filters = rest;
            request.focus = of.into_iter().filter_map(|one: Filter| one.value.text()).collect();
        }
        request.prepare = self.prepare.take();
        request.suppositions.append(&mut self.found.suppositions);
        if !self.parts.is_empty() {
            request.suppositions.push(Supposition::SameAsBefore);
        }
        self.suppose_rest(&mut request);
        self.dates_are_clear(&request)?;
        Ok(request)
    }

    /// The key of which one value's share is asked for: it is a share of all, and not of itself.
    fn part_of(&self, request: &Request) -> Option<usize> {
        let [key] = *request.keys.as_slice() else { return None };
        let mut filters = request.filters.iter().filter(|filter| filter.column == key);
        let is_share = request.part == Some(Part::Share) && !request.is_compared;
        let is_one = |filter: &Filter| {
            filter.compare == Compare::Eq && matches!(filter.value, Value::Text(_))
        };
        (is_share && filters.any(is_one)).then_some(key)
    }

    /// A later part of a question overrules the ones before.
    pub(super) fn level(&self, at: usize) -> usize {
        let start = self.tokens[at].start;
        self.parts.iter().filter(|part| **part <= start).count()
    }

    pub(super) fn words(&self) -> impl DoubleEndedIterator<Item = (usize, Word)> + '_ {
        let word = |(at, token): (usize, &Token)| {
            if let Is::Word(word) = token.is { Some((at, word)) } else { None }
        };
        let free = self.tokens.iter().enumerate().filter(|(at, _)| !self.found.used[*at]);
        free.filter_map(word)
    }

    pub(super) fn has(&self, intent: Intent) -> bool {
        self.words().any(|(_, word)| word == Word::Intent(intent))
    }

    pub(super) fn says(&self, glue: Glue) -> bool {
        self.words().any(|(_, word)| word == Word::Glue(glue))
    }

    /// The last one counts: it may be said of what was done before.
    pub(super) fn chart(&self) -> Option<Chart> {
        self.words().rev().find_map(
            |(_, word)| {
                if let Word::Chart(chart) = word { Some(chart) } else { None }
            },
        )
    }

    pub(super) fn grain(&self) -> Option<Grain> {
        self.words().rev().find_map(
            |(_, word)| {
                if let Word::Grain(grain) = word { Some(grain) } else { None }
            },
        )
    }

    /// Of "the top three in ascending order" the top three count, but what is put in order first is so.
    pub(super) fn order(&self) -> Option<Order> {
        let orders: Vec<(usize, Order)> = self
            .words()
            .filter_map(
                |(at, word)| {
                    if let Word::Order(order) = word { Some((at, order)) } else { None }
                },
            )
            .collect();
        let latest = orders.iter().map(|(at, _)| self.level(*at)).max()?;
        let orders: Vec<Order> = orders
            .into_iter()
            .filter(|(at, _)| self.level(*at) == latest)
            .map(|(_, order)| order)
            .collect();
        let is_sorted = |order: &Order| matches!(order, Order::Ascending | Order::Descending);
        let superlative = orders.iter().find(|order| matches!(order, Order::Most | Order::Least));
        match (orders.first(), orders.last()) {
            (Some(first), _) if is_sorted(first) => Some(*first),
            (_, Some(last)) => Some(
                *superlative
                    .unwrap_or(orders.iter().find(|order| !is_sorted(order)).unwrap_or(last)),
            ),
            (Some(_) | None, None) => None,
        }
    }

    fn out_of_scope(&self) -> Result<(), Doubt> {
        if self.has(Intent::Prediction) {
            return Err(Doubt::Prediction);
        }
        if self.has(Intent::Web) {
            return Err(Doubt::Web);
        }
        if self.has(Intent::Cause) { Err(Doubt::Cause) } else { Ok(()) }
    }

    pub(super) fn column(&self, at: usize) -> Option<usize> {
        let Is::Column(column) = self.tokens.get(at)?.is else { return None };
        (!self.found.used[at]).then_some(column)
    }

    pub(super) fn glue(&self, at: usize, glue: Glue) -> bool {
        self.tokens.get(at).is_some_and(|token| token.is_glue(glue))
    }

    /// Columns that nothing else has used, in the order of the question.
    pub(super) fn mentioned(&self) -> Vec<usize> {
        let mut columns = Vec::new();
        for column in (0..self.tokens.len()).filter_map(|at| self.column(at)) {
            if !columns.contains(&column) {
                columns.push(column);
            }
        }
        columns
    }

    pub(super) fn of_kind(&self, columns: &[usize], kind: Kind) -> Vec<usize> {
        columns.iter().copied().filter(|column| self.columns[*column].kind == kind).collect()
    }

    pub(super) fn all(&self, kind: Kind) -> Vec<usize> {
        let is_it = |column: &usize| {
            self.columns[*column].kind == kind && self.columns[*column].factors.is_none()
        };
        (0..self.columns.len()).filter(is_it).collect()
    }

    /// What is read differently than it stands there.
    fn suppose_rest(&self, request: &mut Request) {
        let measured = request.measures.iter().filter(|(_, how)| !how.counts());
        let mut read: Vec<usize> = measured.filter_map(|(column, _)| *column).collect();
        if matches!(
            request.analysis,
            Analysis::Describe
                | Analysis::Hist
                | Analysis::Scatter
                | Analysis::Line
                | Analysis::Box
                | Analysis::Correlation
        ) {
            read.extend(&request.columns);
        }
        let all = request.filters.iter().chain(request.either.iter().flatten());
        let filtered = all.filter(|filter| takes_number(filter));
        read.extend(filtered.map(|filter| filter.column));
        read.sort_unstable();
        read.dedup();
        for at in read {
            let column = &self.columns[at];
            if column.factors.is_some() {
                request.suppositions.push(Supposition::Product(at));
            } else if column.is_converted && column.kind == Kind::Number {
                request.suppositions.push(Supposition::NumbersAsTexts(at));
            }
        }
    }

    /// Dates are read only if it is clear what is their day and what their month.
    fn dates_are_clear(&self, request: &Request) -> Result<(), Doubt> {
        let is_dated = |filter: &&Filter| {
            matches!(filter.value, Value::Date(_) | Value::Months(_) | Value::Periods(_))
        };
        let filters = request.filters.iter().chain(request.either.iter().flatten());
        let filtered = filters.filter(is_dated).map(|filter| filter.column);
        let ranked = request.columns.iter().filter(|_| request.analysis == Analysis::Rows);
        let mut read = filtered.chain(ranked.copied()).chain(request.date.map(|(date, _)| date));
        match read.find(|column| self.columns[*column].is_ambiguous) {
            Some(column) => Err(Doubt::DateOrder { column }),
            None => Ok(()),
        }
    }
}

fn takes_number(filter: &Filter) -> bool {
    filter.compare.takes_value()
        && !matches!(filter.compare, Compare::Contains | Compare::NotContains)
}
