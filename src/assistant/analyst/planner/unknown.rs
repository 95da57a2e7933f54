//! What is left over of a question and is not understood. Nothing of it is passed over: without it a number would be
//! right, but for another question.

use super::column::{nearest, nearest_value};
use super::fold::{is_hiragana, is_kanji};
use super::lex::Is;
use super::understand::{Doubt, Reader};
use super::words::{Glue, Word, words};

/// What belongs to the word before it.
const ENDINGS: [&str; 4] = ["s", "'s", "-", "'"];

impl Reader<'_> {
    /// A condition that is not understood.
    pub(super) fn refused(&self, first: usize, last: usize) -> Doubt {
        let is_unknown = |at: &usize| self.tokens[*at].is == Is::Unknown;
        let known = (first..=last).any(|at| matches!(self.tokens[at].is, Is::Column(_)));
        let from = first.saturating_sub(2);
        if let Some(at) = (from..=last).find(is_unknown).filter(|_| !known) {
            return self.no_such_column(at);
        }
        let leaves_out = |at: usize| self.glue(at, Glue::Except) || self.glue(at, Glue::Excluded);
        let left_out = (first..=last).find(is_unknown).filter(|_| (first..=last).any(leaves_out));
        if let Some(at) = left_out {
            return self.unknown_word(at);
        }
        let named = (first..=last).filter_map(|at| self.tokens[at].column());
        let listed = named.into_iter().find(|column| self.columns[*column].is_listed);
        let is_value = |at: &usize| matches!(self.tokens[*at].is, Is::Unknown | Is::Quoted);
        if let Some((column, at)) = listed.zip((first..=last).find(is_value)) {
            let token = &self.tokens[at];
            let near = nearest_value(std::slice::from_ref(&self.columns[column]), &token.text);
            if near.is_some() {
                let (text, start, end) = (token.text.clone(), token.start, token.end);
                let value = near.map(|(_, value)| value);
                return Doubt::Unknown { text, start, end, value };
            }
        }
        let said = self.tokens[first..=last].iter().map(|token| token.text.as_str());
        let (start, end) = (self.tokens[first].start, self.tokens[last].end);
        Doubt::Condition { text: said.collect::<Vec<_>>().join(" "), start, end }
    }

    pub(super) fn unknown(&self) -> Result<(), Doubt> {
        let places = || (0..self.tokens.len()).filter(|at| !self.found.used[*at]);
        if let Some(at) = places().find(|at| self.stands_for_column(*at)) {
            return Err(self.no_such_column(at));
        }
        match places().find(|at| self.is_left(*at)) {
            Some(at) if self.tokens[at].is == Is::Unknown && self.is_like_column(at) => {
                Err(self.no_such_column(at))
            }
            Some(at) => Err(self.unknown_word(at)),
            None => Ok(()),
        }
    }

    /// Whether a word is much like the name of a column.
    fn is_like_column(&self, at: usize) -> bool {
        nearest(self.columns, &self.tokens[at].text).is_some()
    }

    fn no_such_column(&self, at: usize) -> Doubt {
        let token = &self.tokens[at];
        let nearest = nearest(self.columns, &token.text);
        let value = nearest_value(self.columns, &token.text);
        if value.is_some_and(|value| nearest.is_none_or(|column| column.0 < value.0)) {
            return self.unknown_word(at);
        }
        // Without a number nothing of the question is left that can be computed.
        let is_measured = !self.of_kind(&self.mentioned(), super::column::Kind::Number).is_empty();
        if nearest.is_none() && is_measured {
            return self.unknown_word(at);
        }
        Doubt::NoSuchColumn {
            text: token.text.clone(),
            start: token.start,
            end: token.end,
            nearest: nearest.map(|(_, column)| column),
        }
    }

    /// A word that may be a value, with what joins it to the rest.
    fn unknown_word(&self, at: usize) -> Doubt {
        let token = &self.tokens[at];
        let value = nearest_value(self.columns, &token.text).map(|(_, value)| value);
        let (mut start, mut end) = (token.start, token.end);
        if value.is_none() {
            let after =
                [Glue::Excluded, Glue::Of, Glue::Subject, Glue::Object, Glue::Each, Glue::And];
            let mut next = at + 1;
            while !token.text.is_ascii() && after.iter().any(|glue| self.glue(next, *glue)) {
                end = self.tokens[next].end;
                next += 1;
            }
            let before = [Glue::Of, Glue::Object, Glue::And, Glue::Only, Glue::Per, Glue::Except];
            if let Some(last) = at.checked_sub(1).map(|before| &self.tokens[before])
                && token.text.is_ascii()
                && before.iter().any(|glue| last.is_glue(*glue))
            {
                start = last.start;
            }
        }
        Doubt::Unknown { text: token.text.clone(), start, end, value }
    }

    /// Whether something that is not understood changes what is asked for.
    fn is_left(&self, at: usize) -> bool {
        let token = &self.tokens[at];
        match token.is {
            Is::Unknown => {
                let is_hollow = token.text.chars().all(is_hiragana);
                let is_sign = token.text == "-" && self.is_between_columns(at);
                let is_ending = ENDINGS.contains(&token.text.as_str()) && !is_sign;
                let particles = [Glue::Subject, Glue::And, Glue::Only];
                let is_said_of = particles.iter().any(|glue| self.glue(at + 1, *glue));
                let is_name = is_hollow && token.text.chars().count() > 1 && is_said_of;
                // A denial turns a condition round.
                let denies = words().marks.negations.iter().any(|one| token.text.contains(one));
                (!is_hollow || is_name || denies) && !is_ending
            }
            Is::Number(_) | Is::Date(_) | Is::Month(_) | Is::Quoted => true,
            // A sign of arithmetic between columns.
            Is::Mark(sign) => {
                let times = words().marks.times.iter().any(|times| times.contains(sign));
                let is_sign = times || "+/\u{f7}\u{ff0b}".contains(sign);
                is_sign && self.is_between_columns(at)
            }
            Is::Word(Word::Glue(Glue::Or)) => self.is_choice(at),
            Is::Word(Word::Glue(Glue::Relative)) => true,
            Is::Word(_) | Is::Column(_) | Is::Value(_) => false,
        }
    }

    fn is_between_columns(&self, at: usize) -> bool {
        at > 0 && self.column(at - 1).is_some() && self.column(at + 1).is_some()
    }

    /// Whether "or" leaves a choice of what is computed. At the end of a Japanese question it asks only.
    fn is_choice(&self, at: usize) -> bool {
        let is_said = |at: Option<usize>| {
            at.and_then(|at| self.tokens.get(at)).is_some_and(|token| {
                matches!(
                    token.is,
                    Is::Column(_) | Is::Value(_) | Is::Date(_) | Is::Month(_) | Is::Number(_)
                ) || matches!(token.is, Is::Word(Word::Aggregate(_) | Word::Grain(_)))
            })
        };
        is_said(at.checked_sub(1)) && is_said(Some(at + 1))
    }

    fn stands_for_column(&self, at: usize) -> bool {
        let token = &self.tokens[at];
        if token.is == Is::Quoted {
            return true;
        }
        if ENDINGS.contains(&token.text.as_str()) {
            return false;
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
