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
            if self.glue(at, Glue::Per) {
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
        let is_new = |at: &usize| self.tokens[*at].start >= self.follow_up;
        let has_new = places.iter().any(is_new);
        let mut keys = Vec::new();
        for at in places {
            if let Some(column) = self.column(at)
                && (is_new(&at) || !has_new)
                && !keys.contains(&column)
            {
                keys.push(column);
            }
            self.found.used[at] = true;
        }
        keys
    }

    fn is_key(&self, at: usize) -> bool {
        self.column(at).is_some_and(|column| self.columns[column].kind != Kind::Number)
    }

    /// How many are wanted: a number near a word of order.
    pub(super) fn limit(&mut self) -> Option<u32> {
        let near = |at: usize, other: usize| at.abs_diff(other) <= 2;
        let is_order = |(at, word)| matches!(word, Word::Order(_)).then_some(at);
        let order = self.words().rev().find_map(is_order)?;
        let number = (0..self.tokens.len()).rev().find_map(|at| {
            let Is::Number(number) = self.tokens[at].is else { return None };
            (near(at, order) && !self.found.used[at]).then_some((at, number.value))
        });
        let (at, value) = number.filter(|(_, value)| (1.0..=100_000.0).contains(value))?;
        self.found.used[at] = true;
        format!("{value:.0}").parse().ok()
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

    /// What is computed of what. In Japanese the column comes first, and in English what is computed of it.
    pub(super) fn measures(&self) -> Result<(Measures, Vec<Supposition>), Doubt> {
        let is_new = |at: usize| self.tokens[at].start >= self.follow_up;
        let newest = |at: &usize| is_new(*at) && self.measured(*at).is_some();
        let has_new = self.follow_up > 0 && (0..self.tokens.len()).any(|at| newest(&at));
        let places = (0..self.tokens.len()).filter(|at| is_new(*at) || !has_new);
        let said: Vec<Said> = places.filter_map(|at| self.measured(at)).collect();
        let mut measures = paired(&said);
        measures.dedup();
        let columns = said
            .iter()
            .filter_map(|said| if let Said::Column(column) = said { Some(*column) } else { None });
        let columns: Vec<usize> = columns.collect();
        let aggregates = said
            .iter()
            .filter_map(|said| if let Said::Aggregate(how) = said { Some(*how) } else { None });
        let aggregates: Vec<Aggregate> = aggregates.collect();
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
        let summed: Vec<usize> =
            known.iter().copied().filter(|column| !self.columns[*column].is_id()).collect();
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
    fn usual(&self, column: usize) -> Aggregate {
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
