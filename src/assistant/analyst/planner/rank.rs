//! What is asked of each group, or of whole periods, and can be told of all groups or of the rows alone.

use super::lex::Is;
use super::understand::{Doubt, Reader};
use super::words::{Aggregate, Glue, Order, Word, words};

impl Reader<'_> {
    /// The first of each group is not the first of all.
    pub(super) fn not_in_each(
        &self,
        order: Option<Order>,
        keys: &[usize],
        named: &[usize],
    ) -> Result<(), Doubt> {
        let is_sorted = matches!(order, None | Some(Order::Ascending | Order::Descending));
        let is_of_each = !keys.is_empty() && named.iter().any(|text| !keys.contains(text));
        if is_of_each && !is_sorted { Err(self.in_each(keys)) } else { Ok(()) }
    }

    /// What is first in each group: without the groups it can be told.
    fn in_each(&self, keys: &[usize]) -> Doubt {
        let is_key = |at: &usize| self.tokens[*at].column().is_some_and(|one| keys.contains(&one));
        let Some(at) = (0..self.tokens.len()).find(is_key) else { return Doubt::Nothing };
        let mut first = at;
        while first > 0 && [Glue::Per, Glue::Object].iter().any(|one| self.glue(first - 1, *one)) {
            first -= 1;
        }
        let mut last = at;
        while [Glue::Each, Glue::Of, Glue::Object].iter().any(|glue| self.glue(last + 1, *glue)) {
            last += 1;
        }
        let said = self.tokens[first..=last].iter().map(|token| token.text.as_str());
        let text = said.collect::<Vec<_>>().join(" ");
        let (start, end) = (self.tokens[first].start, self.tokens[last].end);
        Doubt::InEach { text, start, end }
    }

    /// "The average daily sales" are the average of days, and not of the rows of a day.
    pub(super) fn of_periods(&self) -> Result<(), Doubt> {
        for (at, word) in self.words() {
            let Some(next) = self.tokens.get(at + 1) else { continue };
            let token = &self.tokens[at];
            let mean = Word::Aggregate(Aggregate::Mean);
            let is_english = word == mean
                && matches!(next.is, Is::Word(Word::Grain(_)))
                && next.text.ends_with("ly");
            let is_japanese = matches!(word, Word::Grain(_))
                && next.is == Is::Word(mean)
                && token.text.chars().count() == 1;
            if is_english || is_japanese {
                let text = format!("{} {}", token.text, next.text);
                let instead = if is_english {
                    format!("{} {}", next.text, token.text)
                } else {
                    format!("{}{}{}", token.text, each(), next.text)
                };
                return Err(Doubt::OfPeriods { text, start: token.start, end: next.end, instead });
            }
        }
        Ok(())
    }
}

/// The word that stands after what is grouped by.
fn each() -> String {
    let each = words().all.iter().find(|(_, word)| *word == Word::Glue(Glue::Each));
    each.map_or_else(String::new, |(text, _)| text.iter().collect())
}
