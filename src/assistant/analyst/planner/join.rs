//! Puts the conditions of a question together: what is left out, what only one has to hold of, and what overrules what.

use super::column::Kind;
use super::filter::{Read, Reader};
use super::lex::Is;
use super::request::{Filter, Value};
use super::words::{Compare, Glue, Grain, Intent, Word};

impl Reader<'_> {
    pub(super) fn joined(&mut self) {
        let mut reads = std::mem::take(&mut self.reads);
        reads.sort_by_key(|read| read.from);
        let found: Vec<Option<Side>> = reads.iter().map(|read| self.leaves_out(read)).collect();
        self.all_left_out(&mut reads, found);
        self.name_again(&reads);
        self.overrule(&mut reads);
        let span =
            reads.first().map_or(0, |read| read.to)..reads.last().map_or(0, |read| read.from);
        self.merge(&mut reads);
        let chains = self.chains(reads);
        // An "or" that joins nothing must not be passed over.
        let left = span.clone().find(|at| self.glue(*at, Glue::Or) && !self.found.used[*at]);
        if let Some(at) = left.filter(|_| self.found.refused.is_none()) {
            self.found.refused = Some((at.saturating_sub(1), (at + 1).min(self.tokens.len() - 1)));
        }
        for chain in chains {
            for clause in one_of(chain) {
                match <[Filter; 1]>::try_from(clause) {
                    Ok([filter]) => self.found.filters.push(filter),
                    Err(clause) => self.found.either.push(clause),
                }
            }
        }
    }

    /// Where the word stands that leaves out what a condition says.
    fn leaves_out(&mut self, read: &Read) -> Option<Side> {
        let hollow = [Glue::Filler, Glue::Only, Glue::Object, Glue::Subject, Glue::Of];
        let is_hollow = |token: &Is| match token {
            Is::Word(Word::Glue(glue)) => hollow.contains(glue),
            Is::Word(Word::Intent(intent)) => *intent == Intent::Rows,
            Is::Word(_) | Is::Column(_) | Is::Value(_) | Is::Number(_) | Is::Date(_) => false,
            Is::Month(_) | Is::Quoted | Is::Unknown | Is::Mark(_) => false,
        };
        let is_name = |at: &usize| self.tokens[*at].is == Is::Column(read.column);
        let is_other = |at: &usize| !is_hollow(&self.tokens[*at].is) && !is_name(at);
        let before = (0..read.from).rev().find(is_other);
        let after = (read.to..self.tokens.len()).find(is_other);
        let is_it = |at: &usize, glue: Glue| self.glue(*at, glue) && !self.found.used[*at];
        if let Some(at) = before.filter(|at| is_it(at, Glue::Except)) {
            self.mark(at, read.from);
            return Some(Side::Before);
        }
        let at = after.filter(|at| is_it(at, Glue::Excluded))?;
        // "Rows" between them lists nothing.
        self.mark(read.to, at + 1);
        Some(Side::After)
    }

    /// Turns conditions round, with the values that are joined to them.
    fn all_left_out(&mut self, reads: &mut [Read], mut found: Vec<Option<Side>>) {
        for at in 1..reads.len() {
            if found[at].is_none() && found[at - 1] == Some(Side::Before) {
                found[at] =
                    self.is_joined(&reads[at - 1], &reads[at], at, reads).then_some(Side::Before);
            }
        }
        for at in (1..reads.len()).rev() {
            if found[at - 1].is_none() && found[at] == Some(Side::After) {
                let joined = self.is_joined(&reads[at - 1], &reads[at], at - 1, reads);
                found[at - 1] = joined.then_some(Side::After);
            }
        }
        for (read, _) in reads.iter_mut().zip(found).filter(|(_, side)| side.is_some()) {
            self.found.beside.retain(|column| *column != read.column);
            if self.found.periods.is_some_and(|(column, _)| column == read.column) {
                self.found.periods = None;
            }
            // "Not before" is after; rows without a value are neither.
            let is_turned = matches!(self.tokens[read.from].is, Is::Word(Word::Compare(_)));
            read.clauses = opposite(std::mem::take(&mut read.clauses), !is_turned);
        }
    }

    /// Whether nothing but "and" or "or" stands between two conditions, and one of them is a value alone.
    fn is_joined(&mut self, one: &Read, other: &Read, value: usize, reads: &[Read]) -> bool {
        let is_value = reads.get(value).is_some_and(|read| {
            !(read.from..read.to).any(|at| matches!(self.tokens[at].is, Is::Column(_)))
        });
        let joins = [Glue::And, Glue::Or];
        let between = one.to..other.from;
        let is_join = |at: usize| joins.iter().any(|glue| self.glue(at, *glue));
        let joined = is_value && !between.is_empty() && between.clone().all(is_join);
        if joined {
            self.mark(one.to, other.from);
        }
        joined
    }

    /// "Of the regions other than Tokyo" names the column of a value once more, and groups nothing.
    fn name_again(&mut self, reads: &[Read]) {
        let is_text = |read: &&Read| self.columns[read.column].kind == Kind::Text;
        for read in reads.iter().filter(is_text).collect::<Vec<_>>() {
            let at = read.to + usize::from(self.glue(read.to, Glue::Of));
            let is_name = self.tokens.get(at).is_some_and(|it| it.is == Is::Column(read.column));
            let is_key = self.glue(at + 1, Glue::Each) || (at > 0 && self.glue(at - 1, Glue::Per));
            if is_name && !is_key && values(read).is_none_or(|values| values.len() == 1) {
                self.mark(at, at + 1);
            }
        }
    }

    fn level(&self, at: usize) -> usize {
        let start = self.tokens[at].start;
        self.parts.iter().filter(|part| **part <= start).count()
    }

    /// What is said later of a column counts, and not what was said before.
    fn overrule(&mut self, reads: &mut Vec<Read>) {
        let latest = |reads: &[Read], column: usize| {
            let of = reads.iter().filter(|read| read.column == column);
            of.map(|read| self.level(read.from)).max().unwrap_or_default()
        };
        let kept = reads.iter().map(|read| self.level(read.from) == latest(reads, read.column));
        let mut kept: Vec<bool> = kept.collect();
        kept.reverse();
        let old: Vec<usize> = reads.iter().map(|read| read.column).collect();
        reads.retain(|_| kept.pop().unwrap_or(true));
        let left = |column: &usize| reads.iter().filter(|read| read.column == *column).count();
        let several = |column: &usize| {
            let of = reads.iter().filter(|read| read.column == *column);
            left(column) > 1 || of.flat_map(|read| read.clauses.iter().flatten()).any(is_several)
        };
        self.found.beside.retain(|column| !old.contains(column) || several(column));
    }

    /// Two values of one column cannot both hold: they are set beside each other.
    fn merge(&mut self, reads: &mut Vec<Read>) {
        let mut merged: Vec<Read> = Vec::new();
        let mut columns: Vec<usize> = Vec::new();
        let span = reads.first().zip(reads.last()).map(|(first, last)| (first.from, last.to));
        for read in std::mem::take(reads) {
            let texts = values(&read);
            let before = merged.last().map_or(read.from, |last| last.to);
            let or =
                (before..read.from).find(|at| self.glue(*at, Glue::Or) && !self.found.used[*at]);
            let is_next = merged.last().is_some_and(|last| last.column == read.column);
            let same = merged
                .iter_mut()
                .find(|one| one.column == read.column && texts.is_some() && values(one).is_some());
            let Some((texts, same)) = texts.zip(same) else {
                if !self.merge_period(&mut merged, &read) {
                    merged.push(read);
                }
                continue;
            };
            if !columns.contains(&read.column) {
                columns.push(read.column);
            }
            let mut all = values(same).unwrap_or_default();
            all.extend(texts.into_iter().filter(|text| !all.contains(text)).collect::<Vec<_>>());
            let is_one = all.len() == 1;
            let value = if is_one { Value::Text(all.concat()) } else { Value::Texts(all) };
            let column = read.column;
            same.clauses = vec![vec![Filter { column, compare: Compare::Eq, value }]];
            if is_next {
                same.to = read.to;
                if let Some(at) = or {
                    self.found.used[at] = true;
                    continue;
                }
            }
            if !is_one && !self.found.beside.contains(&column) {
                self.found.beside.push(column);
            }
        }
        // "Tea in Tokyo and apples in Osaka" are not both in both.
        if columns.len() > 1
            && self.found.refused.is_none()
            && let Some((from, to)) = span
        {
            self.found.refused = Some((from, to.clamp(from + 1, self.tokens.len()) - 1));
        }
        *reads = merged;
    }

    /// Two periods that have no day in common are set beside each other.
    fn merge_period(&mut self, merged: &mut [Read], read: &Read) -> bool {
        if let Some(these) = months(read) {
            return self.merge_months(merged, read, these);
        }
        let Some(these) = periods(read) else { return false };
        let same = merged.iter_mut().find(|one| one.column == read.column);
        let Some((same, mut all)) = same.and_then(|one| periods(one).map(|all| (one, all))) else {
            return false;
        };
        let meets =
            |one: &(String, String), other: &(String, String)| one.0 < other.1 && other.0 < one.1;
        if all.iter().any(|one| these.iter().any(|other| meets(one, other))) {
            return false;
        }
        all.extend(these);
        let ends =
            |rest: &str| all.iter().all(|(from, to)| from.ends_with(rest) && to.ends_with(rest));
        let grain = match (ends("-01-01"), ends("-01")) {
            (true, _) => Grain::Year,
            (false, true) => Grain::Month,
            (false, false) => Grain::Day,
        };
        self.found.periods = Some((read.column, grain));
        let (column, value) = (read.column, Value::Periods(all));
        same.clauses = vec![vec![Filter { column, compare: Compare::Eq, value }]];
        true
    }

    fn merge_months(&mut self, merged: &mut [Read], read: &Read, these: Vec<u32>) -> bool {
        let Some(same) = merged.iter_mut().find(|one| one.column == read.column) else {
            return false;
        };
        if let Some(mut all) = months(same) {
            all.extend(these);
            self.found.periods = Some((read.column, Grain::Month));
            let (column, value) = (read.column, Value::Months(all));
            same.clauses = vec![vec![Filter { column, compare: Compare::Eq, value }]];
            return true;
        }
        // A month of every year, beside one of a year: of which year it is cannot be told.
        let is_year =
            |(from, to): &(String, String)| from.ends_with("-01-01") && to.ends_with("-01-01");
        let is_short = periods(same).is_some_and(|all| !all.iter().all(is_year));
        if is_short && self.found.refused.is_none() {
            self.found.refused = Some((same.from, read.to.max(same.from + 1) - 1));
        }
        false
    }

    /// Conditions of which one has to hold, together. "And" beside "or" can be read in two ways.
    fn chains(&mut self, reads: Vec<Read>) -> Vec<Vec<Read>> {
        let mut chains: Vec<Vec<Read>> = Vec::new();
        let mut ands: Vec<bool> = Vec::new();
        for read in reads {
            let last = chains.last().and_then(|chain| chain.last()).map(|read| read.to);
            let between = last.unwrap_or(read.from)..read.from;
            let or = between.clone().find(|at| self.glue(*at, Glue::Or) && !self.found.used[*at]);
            let is_and = |at: usize| {
                let text = self.tokens[at].text.as_str();
                self.glue(at, Glue::And) && text.chars().any(char::is_alphanumeric)
            };
            ands.push(or.is_none() && between.clone().count() <= 2 && between.clone().any(is_and));
            match (or, chains.last_mut()) {
                (Some(at), Some(chain)) => {
                    self.found.used[at] = true;
                    chain.push(read);
                }
                (Some(_), None) | (None, _) => chains.push(vec![read]),
            }
        }
        let parts = chains.iter().any(|chain| chain.len() > 1);
        if parts && ands.contains(&true) && self.found.refused.is_none() {
            let all = || chains.iter().flatten();
            let from = all().map(|read| read.from).min().unwrap_or_default();
            let to = all().map(|read| read.to).max().unwrap_or_default();
            self.found.refused = Some((from, to.clamp(from + 1, self.tokens.len()) - 1));
        }
        chains
    }
}

/// Of a condition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Before,
    After,
}

fn is_several(filter: &Filter) -> bool {
    match &filter.value {
        Value::Texts(_) | Value::Numbers(_) | Value::Months(_) | Value::Periods(_) => true,
        Value::None | Value::Number(_) | Value::Text(_) | Value::Date(_) => false,
    }
}

/// The texts that a column has to equal, if nothing else is said of it.
fn values(read: &Read) -> Option<Vec<String>> {
    let [clause] = read.clauses.as_slice() else { return None };
    let [Filter { compare: Compare::Eq, value, .. }] = clause.as_slice() else { return None };
    match value {
        Value::Text(text) => Some(vec![text.clone()]),
        Value::Texts(texts) => Some(texts.clone()),
        Value::None | Value::Number(_) | Value::Date(_) | Value::Numbers(_) => None,
        Value::Months(_) | Value::Periods(_) => None,
    }
}

/// The months of any year that a column of dates has to be in.
fn months(read: &Read) -> Option<Vec<u32>> {
    let [clause] = read.clauses.as_slice() else { return None };
    let [Filter { compare: Compare::Eq, value: Value::Months(months), .. }] = clause.as_slice()
    else {
        return None;
    };
    Some(months.clone())
}

/// The first days of the periods that a column of dates has to be in, and the first days after them.
fn periods(read: &Read) -> Option<Vec<(String, String)>> {
    let filters: Option<Vec<&Filter>> = read
        .clauses
        .iter()
        .map(|clause| if let [filter] = clause.as_slice() { Some(filter) } else { None })
        .collect();
    match *filters?.as_slice() {
        [Filter { compare: Compare::Eq, value: Value::Periods(periods), .. }] => {
            Some(periods.clone())
        }
        [
            Filter { compare: Compare::Ge, value: Value::Date(from), .. },
            Filter { compare: Compare::Lt, value: Value::Date(to), .. },
        ] => Some(vec![(from.clone(), to.clone())]),
        _ => None,
    }
}

/// Of conditions of which one has to hold, what all have to hold of: each with each.
fn one_of(chain: Vec<Read>) -> Vec<Vec<Filter>> {
    let mut all: Vec<Vec<Filter>> = vec![Vec::new()];
    for read in chain {
        let with = |clause: &Vec<Filter>| {
            let joined = read.clauses.iter().map(|more| [clause.as_slice(), more].concat());
            joined.collect::<Vec<_>>()
        };
        all = all.iter().flat_map(with).collect();
    }
    all
}

/// What holds where not all of these do. A row without a value is no row with the value that is left out.
fn opposite(clauses: Vec<Vec<Filter>>, keeps_missing: bool) -> Vec<Vec<Filter>> {
    let mut chain: Vec<Vec<Vec<Filter>>> = Vec::new();
    for clause in clauses {
        let each = clause.into_iter().map(|filter| {
            let Filter { column, compare, value } = filter;
            let orders = matches!(compare, Compare::Gt | Compare::Ge | Compare::Lt | Compare::Le);
            let missing = Filter { column, compare: Compare::IsNull, value: Value::None };
            let mut all = vec![Filter { column, compare: compare.opposite(), value }];
            all.extend((orders && keeps_missing).then_some(missing));
            all
        });
        chain.push(each.collect());
    }
    let mut all: Vec<Vec<Filter>> = vec![Vec::new()];
    for clauses in chain {
        let with = |clause: &Vec<Filter>| {
            let joined = clauses.iter().map(|more| [clause.as_slice(), more].concat());
            joined.collect::<Vec<_>>()
        };
        all = all.iter().flat_map(with).collect();
    }
    all
}
