//! What is computed of which column, and of which groups.

use super::column::Kind;
use super::lex::Is;
use super::request::{Measures, Supposition};
use super::understand::{Doubt, Reader};
use super::words::{Aggregate, Glue, Word};

impl Reader<'_> {
    /// What is grouped by: what stands before "each" or after "per". Only texts and dates are joined to it by "and".
    pub(super) fn keys(&mut self) -> Vec<usize> {
        let mut places = Vec::new();
        for at in 0..self.tokens.len() {
            if self.glue(at, Glue::Each) && at > 0 {
                let mut place = at - 1;
                let mut found = self.column(place).is_some().then_some(place);
                while let Some(at) = found {
                    places.push(at);
                    let joined = at >= 2 && self.glue(at - 1, Glue::And);
                    place = at.saturating_sub(2);
                    found = (joined && self.is_key(place)).then_some(place);
                }
            }
            if self.glue(at, Glue::Per) && !self.ranks_by(at + 1) {
                let mut place = at + 1;
                let mut found = self.column(place).is_some();
                while found {
                    places.push(place);
                    while self.glue(place + 1, Glue::And) {
                        place += 1;
                    }
                    found = place + 1 < self.tokens.len()
                        && !places.contains(&place)
                        && self.is_key(place + 1);
                    place += 1;
                }
            }
        }
        places.sort_unstable();
        places.dedup();
        let latest = places.iter().map(|at| self.level(*at)).max().unwrap_or_default();
        let mut keys = Vec::new();
        for at in places {
            if let Some(column) = self.column(at)
                && self.level(at) == latest
                && !keys.contains(&column)
            {
                keys.push(column);
            }
            self.found.used[at] = true;
        }
        keys
    }

    /// "By" a number puts in order, where an order is spoken of.
    fn ranks_by(&self, at: usize) -> bool {
        let is_number =
            self.column(at).is_some_and(|column| self.columns[column].kind == Kind::Number);
        let is_ordered = self.order().is_some() || self.says(Glue::Ranked);
        is_number && is_ordered
    }

    fn is_key(&self, at: usize) -> bool {
        self.column(at).is_some_and(|column| self.columns[column].kind != Kind::Number)
    }

    /// How many are wanted: a number near a word of order.
    pub(super) fn limit(&mut self) -> Result<Option<u32>, Doubt> {
        let near = |at: usize, other: usize| at.abs_diff(other) <= 2;
        let is_order = |(at, word)| matches!(word, Word::Order(_)).then_some(at);
        let orders: Vec<usize> = self.words().filter_map(is_order).collect();
        let is_near = |at: usize| orders.iter().any(|order| near(at, *order));
        let number = (0..self.tokens.len()).rev().find_map(|at| {
            let Is::Number(number) = self.tokens[at].is else { return None };
            (is_near(at) && !self.found.used[at]).then_some((at, number))
        });
        let Some((at, number)) = number else { return Ok(None) };
        // A part of the rows is no number of rows.
        if number.is_percent || number.value.fract() != 0.0 {
            let token = &self.tokens[at];
            let (text, start, end) = (token.text.clone(), token.start, token.end);
            return Err(Doubt::Part { text, start, end });
        }
        if !(1.0..=100_000.0).contains(&number.value) {
            return Ok(None);
        }
        self.found.used[at] = true;
        Ok(format!("{:.0}", number.value).parse().ok())
    }

    /// The mean of names is nothing.
    pub(super) fn numeric_aggregates(&self) -> Result<(), Doubt> {
        for (at, word) in self.words() {
            let Word::Aggregate(aggregate) = word else { continue };
            if aggregate.counts() {
                continue;
            }
            let before = at.checked_sub(1 + usize::from(at > 0 && self.glue(at - 1, Glue::Of)));
            let after = at + 1 + usize::from(self.glue(at + 1, Glue::Of));
            let is_japanese = at > 0 && self.tokens[at - 1].is_glue(Glue::Of);
            let near = [before.filter(|_| is_japanese), Some(after).filter(|_| !is_japanese)];
            for column in near.into_iter().flatten().filter_map(|at| self.column(at)) {
                let follows = self.glue(after + 1, Glue::Each) || self.glue(after + 1, Glue::And);
                if self.columns[column].kind == Kind::Text && !follows {
                    return Err(Doubt::NotNumeric { column });
                }
            }
        }
        Ok(())
    }

    /// Columns and what is computed, as they were said last.
    fn said(&self) -> Vec<Said> {
        let all: Vec<(usize, Said)> = (0..self.tokens.len())
            .filter_map(|at| Some((self.level(at), self.measured(at)?)))
            .collect();
        let is_column = |said: &Said| matches!(said, Said::Column(_));
        let named = all.iter().filter(|(_, said)| is_column(said));
        let of_columns = named.map(|(level, _)| *level).max().unwrap_or_default();
        // A count of rows says nothing of a column that is asked for after it.
        let counted = |level: usize, said: &Said| {
            level < of_columns && *said == Said::Aggregate(Aggregate::Count)
        };
        let how = all.iter().filter(|(level, said)| !is_column(said) && !counted(*level, said));
        let of_aggregates = how.map(|(level, _)| *level).max().unwrap_or_default();
        let counts_alone = all
            .iter()
            .any(|(level, said)| *level > of_columns && *said == Said::Aggregate(Aggregate::Count));
        // A later part changes the columns, or what is computed of them, and keeps the other.
        let is_latest = |(level, said): &&(usize, Said)| {
            *level == if is_column(said) { of_columns } else { of_aggregates }
                && !(counts_alone && is_column(said))
                && !counted(*level, said)
        };
        all.iter().filter(is_latest).map(|(_, said)| *said).collect()
    }

    /// What is computed of what. In Japanese the column comes first, and in English what is computed of it.
    pub(super) fn measures(&self) -> Result<(Measures, Vec<Supposition>), Doubt> {
        let said = self.said();
        let mut measures = paired(&said);
        measures.dedup();
        let (mut columns, mut aggregates) = (Vec::new(), Vec::new());
        for said in said {
            match said {
                Said::Column(column) if !columns.contains(&column) => columns.push(column),
                Said::Column(_) => {}
                Said::Aggregate(how) => aggregates.push(how),
            }
        }
        if !measures.is_empty() {
            return Ok((measures, Vec::new()));
        }
        if let Some(column) = columns.first() {
            let how = self.usual(*column);
            let supposed = vec![Supposition::Aggregate(*column, how)];
            return Ok((
                columns.iter().map(|one| (Some(*one), self.usual(*one))).collect(),
                supposed,
            ));
        }
        if aggregates.is_empty() {
            return Ok((vec![(None, Aggregate::Count)], vec![Supposition::CountRows]));
        }
        if aggregates.iter().all(|how| *how == Aggregate::Count) {
            return Ok((vec![(None, Aggregate::Count)], Vec::new()));
        }
        let known = self.all(Kind::Number);
        let summed = self.summed();
        match (summed.as_slice(), known.first()) {
            ([only], _) => {
                let measures = aggregates.iter().map(|how| (Some(*only), *how)).collect();
                Ok((measures, vec![Supposition::OnlyNumber(*only)]))
            }
            ([first, ..], _) => Err(Doubt::WhichColumns(vec![*first])),
            ([], Some(first)) => Err(Doubt::WhichColumns(vec![*first])),
            ([], None) => Err(Doubt::TooFewNumbers),
        }
    }

    /// Numbers that somebody may want to sum.
    pub(super) fn summed(&self) -> Vec<usize> {
        let known = self.all(Kind::Number);
        known.into_iter().filter(|column| !self.columns[*column].is_id()).collect()
    }

    fn measured(&self, at: usize) -> Option<Said> {
        if self.found.used[at] {
            return None;
        }
        if let Is::Word(Word::Aggregate(how)) = self.tokens[at].is {
            return Some(Said::Aggregate(how));
        }
        let column = self.column(at)?;
        let unique = Is::Word(Word::Aggregate(Aggregate::Unique));
        let beside = [at.checked_sub(1), at.checked_sub(2), Some(at + 1), Some(at + 2)];
        let mut near = beside.into_iter().flatten().filter_map(|at| self.tokens.get(at));
        let is_counted = near.any(|token| token.is == unique);
        (self.columns[column].kind == Kind::Number || is_counted).then_some(Said::Column(column))
    }

    /// What is computed of a column if nobody says it.
    pub(super) fn usual(&self, column: usize) -> Aggregate {
        if self.columns[column].is_averaged() { Aggregate::Mean } else { Aggregate::Sum }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Said {
    Column(usize),
    Aggregate(Aggregate),
}

/// Columns and what is computed of them, as they stand in a question: the first of all says which of both comes first.
fn paired(said: &[Said]) -> Measures {
    let column_first = matches!(said.first(), Some(Said::Column(_)));
    let is_first = |one: &Said| matches!(one, Said::Column(_)) == column_first;
    let mut measures: Measures = Vec::new();
    let mut rest = said;
    while !rest.is_empty() {
        let firsts = rest.iter().take_while(|one| is_first(one)).count();
        let seconds = rest[firsts..].iter().take_while(|one| !is_first(one)).count();
        let (these, after) = rest.split_at(firsts + seconds);
        if seconds == 0 {
            // What is left without a partner gets the one before it, or counts the rows.
            for one in these {
                match (one, measures.last().copied()) {
                    (Said::Column(column), Some((_, how))) => measures.push((Some(*column), how)),
                    (Said::Aggregate(Aggregate::Count), Some(_)) => {
                        measures.push((None, Aggregate::Count))
                    }
                    (Said::Aggregate(how), Some((column, _))) => measures.push((column, *how)),
                    (Said::Column(_) | Said::Aggregate(_), None) => {}
                }
            }
        }
        for one in &these[..firsts] {
            for other in &these[firsts..] {
                match (one, other) {
                    (Said::Column(column), Said::Aggregate(how))
                    | (Said::Aggregate(how), Said::Column(column)) => {
                        measures.push((Some(*column), *how));
                    }
                    (Said::Column(_), Said::Column(_))
                    | (Said::Aggregate(_), Said::Aggregate(_)) => {}
                }
            }
        }
        rest = after;
    }
    measures
}
