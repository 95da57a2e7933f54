//! What is to be done about missing values before anything is computed.

use super::lex::Is;
use super::request::{Gap, Prepare};
use super::understand::{Doubt, Reader};
use super::words::{Aggregate, Glue, Intent, Word};

/// Most tokens between what belongs together.
const NEAR: usize = 6;

impl Reader<'_> {
    pub(super) fn prepare(&mut self) -> Result<(), Doubt> {
        let missing: Vec<usize> = self
            .words()
            .filter(|(_, word)| *word == Word::Intent(Intent::Missing))
            .map(|(at, _)| at)
            .collect();
        for at in missing {
            let fill = self.near(at, |is| *is == Is::Word(Word::Intent(Intent::Fill)));
            let drop = self
                .near(at, |is| matches!(is, Is::Word(Word::Glue(Glue::Except | Glue::Excluded))));
            let (verb, how) = match (fill, drop) {
                (Some(verb), _) => (verb, self.filling(at, verb)?),
                // What is left out stands right beside it.
                (None, Some(verb)) if verb.abs_diff(at) <= 3 => (verb, (Gap::Dropped, None)),
                (None, Some(_) | None) => continue,
            };
            let columns = self.beside(at);
            let marked = columns.iter().map(|(at, _)| *at).chain([at, verb]).chain(how.1);
            let marked: Vec<usize> = marked.collect();
            let (from, to) = (
                marked.iter().min().copied().unwrap_or(at),
                marked.iter().max().copied().unwrap_or(at),
            );
            for place in marked {
                self.found.used[place] = true;
            }
            for place in from..=to {
                let rows = self.tokens[place].is == Is::Word(Word::Intent(Intent::Rows));
                self.found.used[place] |= rows;
            }
            let columns = columns.into_iter().map(|(_, column)| column).collect();
            self.prepare = Some(Prepare { columns, how: how.0 });
        }
        Ok(())
    }

    fn near(&self, at: usize, is_it: impl Fn(&Is) -> bool) -> Option<usize> {
        let from = at.saturating_sub(NEAR);
        (from..(at + NEAR).min(self.tokens.len())).find(|place| is_it(&self.tokens[*place].is))
    }

    /// What is put where nothing stood: a number, or what is computed of the others.
    fn filling(&self, at: usize, verb: usize) -> Result<(Gap, Option<usize>), Doubt> {
        let (from, to) = (at.min(verb), (at.max(verb) + 4).min(self.tokens.len()));
        let found = (from..to).find_map(|place| {
            let is = &self.tokens[place].is;
            if let Is::Number(number) = is
                && !number.is_percent
            {
                return Some((Gap::Filled(number.value), place));
            }
            let Is::Word(Word::Aggregate(how)) = is else { return None };
            let fills = matches!(how, Aggregate::Mean | Aggregate::Median);
            fills.then_some((Gap::FilledBy(*how), place))
        });
        match found {
            Some((how, place)) => Ok((how, Some(place))),
            None => {
                let (start, end) = (self.tokens[from].start, self.tokens[at.max(verb)].end);
                let said = self.tokens[from..=at.max(verb)].iter().map(|token| token.text.as_str());
                Err(Doubt::Condition { text: said.collect::<Vec<_>>().join(" "), start, end })
            }
        }
    }

    /// The column whose missing values are meant, and where it stands.
    fn beside(&self, at: usize) -> Option<(usize, usize)> {
        let is_joined = |place: usize| {
            [Glue::Of, Glue::Object, Glue::Subject].iter().any(|one| self.glue(place, *one))
        };
        let before = at
            .checked_sub(1)
            .map(|place| if is_joined(place) { place.saturating_sub(1) } else { place });
        let mut after = at + 1;
        while is_joined(after) || self.glue(after, Glue::Filler) {
            after += 1;
        }
        let is_japanese = !self.tokens[at].text.is_ascii();
        let found = if is_japanese { before } else { Some(after) };
        found.and_then(|place| Some((place, self.column(place)?)))
    }
}
