//! From the words of a question to an analysis, or to the one doubt that has to be asked about.

use super::column::{Column, Kind, nearest};
use super::filter::{Conditions, conditions};
use super::fold::{is_hiragana, is_kanji};
use super::lex::{Is, Token, tokens};
use super::request::{Analysis, Filter, Request, Supposition};
use super::words::{Chart, Compare, Glue, Grain, Intent, Order, Word};

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
    Condition {
        text: String,
        start: usize,
        end: usize,
    },
}

/// A question, and where its last part begins: what was said before that may be overruled by it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Question {
    pub(super) text: String,
    pub(super) follow_up: usize,
}

pub(super) struct Reader<'a> {
    pub(super) columns: &'a [Column],
    pub(super) tokens: Vec<Token>,
    pub(super) found: Conditions,
    pub(super) follow_up: usize,
}

pub(super) fn understand(question: &Question, columns: &[Column]) -> Result<Request, Doubt> {
    if columns.is_empty() {
        return Err(Doubt::NoColumns);
    }
    let tokens = tokens(&question.text, columns);
    let found = conditions(&tokens, columns);
    let reader = Reader { columns, tokens, found, follow_up: question.follow_up };
    reader.request()
}

impl Reader<'_> {
    fn request(mut self) -> Result<Request, Doubt> {
        self.out_of_scope()?;
        if let Some((first, last)) = self.found.refused {
            let (start, end) = (self.tokens[first].start, self.tokens[last].end);
            let said = self.tokens[first..=last].iter().map(|token| token.text.as_str());
            let text = said.collect::<Vec<_>>().join(" ");
            return Err(self.unknown_in(first, last).unwrap_or(Doubt::Condition {
                text,
                start,
                end,
            }));
        }
        let keys = self.keys();
        let limit = self.limit();
        self.unknown_column()?;
        let mut request = self.analysis(keys, limit)?;
        request.filters = std::mem::take(&mut self.found.filters);
        request.suppositions.append(&mut self.found.suppositions);
        if self.follow_up > 0 {
            request.suppositions.push(Supposition::SameAsBefore);
        }
        self.suppose_rest(&mut request);
        Ok(request)
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

    pub(super) fn order(&self) -> Option<Order> {
        self.words().rev().find_map(
            |(_, word)| {
                if let Word::Order(order) = word { Some(order) } else { None }
            },
        )
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
        (0..self.columns.len()).filter(|column| self.columns[*column].kind == kind).collect()
    }

    /// An unknown word where a column has to stand.
    fn unknown_column(&self) -> Result<(), Doubt> {
        match (0..self.tokens.len()).find(|at| self.stands_for_column(*at)) {
            Some(at) => Err(self.no_such_column(at)),
            None => Ok(()),
        }
    }

    /// An unknown word in a condition that is not understood: most likely its column.
    fn unknown_in(&self, first: usize, last: usize) -> Option<Doubt> {
        let is_unknown = |at: &usize| self.tokens[*at].is == Is::Unknown;
        let known = (first..=last).any(|at| matches!(self.tokens[at].is, Is::Column(_)));
        let from = first.saturating_sub(2);
        (from..=last).find(is_unknown).filter(|_| !known).map(|at| self.no_such_column(at))
    }

    fn no_such_column(&self, at: usize) -> Doubt {
        let token = &self.tokens[at];
        let nearest = nearest(self.columns, &token.text);
        Doubt::NoSuchColumn {
            text: token.text.clone(),
            start: token.start,
            end: token.end,
            nearest,
        }
    }

    fn stands_for_column(&self, at: usize) -> bool {
        let token = &self.tokens[at];
        if self.found.used[at] {
            return false;
        }
        if token.is == Is::Quoted {
            return true;
        }
        let is_hollow = token.text.chars().all(is_hiragana);
        let is_short = token.text.chars().count() < 2 && !token.text.chars().all(is_kanji);
        // Hiragana alone is hardly ever a column, but it may be a value: that is asked, not passed over.
        let is_said_of = self.glue(at + 1, Glue::Of) && self.column(at + 2).is_some();
        if token.is != Is::Unknown || is_short || (is_hollow && !is_said_of) {
            return false;
        }
        let is = |at: Option<usize>, fits: fn(&Is) -> bool| {
            at.and_then(|at| self.tokens.get(at)).is_some_and(|token| fits(&token.is))
        };
        let before = |is_it: fn(&Is) -> bool| is(at.checked_sub(1), is_it);
        let after = |is_it: fn(&Is) -> bool| is(Some(at + 1), is_it);
        before(asks_before) || after(asks_after)
    }

    /// What was not used, and what is read differently than it stands there.
    fn suppose_rest(&self, request: &mut Request) {
        for (at, token) in self.tokens.iter().enumerate() {
            let is_long = token.text.chars().count() > 1 && !token.text.chars().all(is_hiragana);
            let is_left =
                matches!(token.is, Is::Unknown | Is::Number(_) | Is::Date(_) | Is::Quoted);
            if is_left && !self.found.used[at] && is_long {
                request.suppositions.push(Supposition::NotUsed(token.text.clone()));
            }
        }
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
        let filtered = request.filters.iter().filter(|filter| takes_number(filter));
        read.extend(filtered.map(|filter| filter.column));
        read.sort_unstable();
        read.dedup();
        let is_text =
            |at: &usize| self.columns[*at].is_converted && self.columns[*at].kind == Kind::Number;
        request
            .suppositions
            .extend(read.into_iter().filter(is_text).map(Supposition::NumbersAsTexts));
    }
}

fn takes_number(filter: &Filter) -> bool {
    filter.compare.takes_value() && filter.compare != Compare::Contains
}

/// What is followed by a column.
fn asks_before(is: &Is) -> bool {
    matches!(is, Is::Word(Word::Glue(Glue::Per | Glue::Of) | Word::Aggregate(_)))
}

/// What follows a column.
fn asks_after(is: &Is) -> bool {
    let is_glue = matches!(is, Is::Word(Word::Glue(Glue::Each | Glue::Of | Glue::Subject)));
    is_glue || matches!(is, Is::Word(Word::Aggregate(_) | Word::Compare(_) | Word::Chart(_)))
}
