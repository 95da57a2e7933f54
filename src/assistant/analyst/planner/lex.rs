//! Finds columns, known words, numbers, dates and quoted texts in a question. What is left over are unknown words.

use super::column::{Column, Kind};
use super::fold::{self, Letter, is_hiragana, is_kanji, is_katakana};
use super::value::{Date, Number, date_at, day_at, month_at, number_at, percentile_at};
use super::words::{Aggregate, Glue, Word, words};

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Is {
    Column(usize),
    /// A text that stands in the first rows of a column.
    Value(usize),
    Word(Word),
    Number(Number),
    Date(Date),
    /// A month of any year.
    Month(u32),
    Quoted,
    Unknown,
    /// A sign that ends what stands before it.
    Mark(char),
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Token {
    pub(super) is: Is,
    /// As it was written, without quotes.
    pub(super) text: String,
    /// Its bytes in the question, with quotes.
    pub(super) start: usize,
    pub(super) end: usize,
}

impl Token {
    pub(super) fn column(&self) -> Option<usize> {
        if let Is::Column(column) = self.is { Some(column) } else { None }
    }

    pub(super) fn is_glue(&self, glue: Glue) -> bool {
        self.is == Is::Word(Word::Glue(glue))
    }
}

pub(super) fn tokens(question: &str, columns: &[Column]) -> Vec<Token> {
    let letters = fold::letters(question);
    let folded = letters.iter().map(|letter| letter.is).collect();
    let mut lexer = Lexer { question, columns, letters, folded, tokens: Vec::new(), unknown: None };
    let mut at = 0;
    while at < lexer.folded.len() {
        at = lexer.step(at);
    }
    lexer.end_unknown(lexer.folded.len());
    lexer.tokens
}

struct Lexer<'a> {
    question: &'a str,
    columns: &'a [Column],
    letters: Vec<Letter>,
    folded: Vec<char>,
    tokens: Vec<Token>,
    /// Where the unknown word begins that is being read.
    unknown: Option<usize>,
}

impl Lexer<'_> {
    /// Reads what stands at a place, and says where to go on.
    fn step(&mut self, at: usize) -> usize {
        if let Some((inside, end)) = self.quoted(at) {
            self.end_unknown(at);
            self.push_quoted(at, inside, end);
            return end;
        }
        if let Some(end) = self.file_name(at) {
            self.end_unknown(at);
            self.push(Is::Word(Word::Glue(Glue::Filler)), at, end);
            return end;
        }
        if let Some((is, length)) = self.known(at) {
            self.end_unknown(at);
            self.push(is, at, at + length);
            return at + length;
        }
        let one = self.folded[at];
        if one.is_alphanumeric() || matches!(one, '\u{3005}' | '\u{30fc}' | '\'' | '-') {
            self.unknown = self.unknown.or(Some(at));
        } else {
            self.end_unknown(at);
            if !one.is_whitespace() {
                self.push(Is::Mark(one), at, at + 1);
            }
        }
        at + 1
    }

    /// The longest thing that is known at a place. Of several that are equally long the first in this list counts.
    fn known(&self, at: usize) -> Option<(Is, usize)> {
        let rest = &self.folded[at..];
        let mut found: Vec<(Is, usize)> = Vec::new();
        let word = self.word(at);
        let connects = |word: &Word| matches!(word, Word::Glue(_) | Word::Compare(_));
        found.extend(
            word.filter(|(word, _)| connects(word)).map(|(word, size)| (Is::Word(word), size)),
        );
        let mut values = Vec::new();
        for (number, column) in self.columns.iter().enumerate() {
            let fits = rest.starts_with(&column.key) && self.stands_alone(at, &column.key, true);
            found.extend(fits.then_some((Is::Column(number), column.key.len())));
            let texts = column.values.iter().filter(|_| column.kind == Kind::Text);
            let is_long =
                |key: &&Vec<char>| key.len() > 1 || key.first().is_some_and(|one| is_kanji(*one));
            for key in texts.map(|known| &known.key).filter(is_long) {
                let fits = rest.starts_with(key) && self.is_value(at, key);
                values.extend(fits.then_some((Is::Value(number), key.len())));
            }
        }
        let is_in_name = at > 0 && self.folded[at - 1].is_ascii_alphanumeric();
        if !is_in_name {
            found.extend(date_at(rest).map(|(date, size)| (Is::Date(date), size)));
            found.extend(
                month_at(rest, self.is_month(at)).map(|(month, size)| (Is::Month(month), size)),
            );
            found.extend(day_at(rest).map(|size| (Is::Unknown, size)));
            let percentile = |part| Is::Word(Word::Aggregate(Aggregate::Percentile(part)));
            found.extend(percentile_at(rest).map(|(part, size)| (percentile(part), size)));
            found.extend(number_at(rest).map(|number| (Is::Number(number), number.length)));
        }
        // A value that is a word, too, is meant only where a condition says so.
        found.extend(word.map(|(word, size)| (Is::Word(word), size)));
        found.append(&mut values);
        found.retain(|(_, size)| *size > 0);
        let longest = found.iter().map(|(_, size)| *size).max()?;
        let (is, size) = found.into_iter().find(|(_, size)| *size == longest)?;
        if let Some(shorter) = self.particle_before_name(at, size) {
            return Some(shorter);
        }
        // One column has many rows: "regions" means the column "region".
        let plural = matches!(is, Is::Column(_))
            && rest.get(size) == Some(&'s')
            && !rest.get(size + 1).is_some_and(char::is_ascii_alphanumeric);
        Some((is, size + usize::from(plural)))
    }

    /// The end of a name such as `sales.csv`, which is a word whatever stands in it.
    fn file_name(&self, at: usize) -> Option<usize> {
        let is_part = |one: char| one.is_alphanumeric() || "_-.()".contains(one);
        let original = |at: &Letter| self.question[at.start..].chars().next().unwrap_or(' ');
        let before = at.checked_sub(1).map(|before| original(&self.letters[before]));
        let joins = |one: char| is_part(one) && !is_hiragana(one);
        if self.unknown.is_some() || before.is_some_and(joins) {
            return None;
        }
        let run = self.letters[at..].iter().take_while(|one| joins(original(one))).count();
        let name: String = self.folded[at..at + run].iter().collect();
        let endings = [".csv", ".tsv", ".xlsx", ".xls", ".json", ".parquet", ".txt"];
        let found = endings.iter().find_map(|ending| Some(name.find(ending)? + ending.len()))?;
        let length = name.get(..found)?.chars().count();
        (length > 4).then_some(at + length)
    }

    /// "May" is a month only where one is expected.
    fn is_month(&self, at: usize) -> bool {
        let before = self.tokens.last().filter(|_| self.unknown.is_none());
        let glue = [
            Glue::Object,
            Glue::And,
            Glue::Or,
            Glue::Versus,
            Glue::Of,
            Glue::Between,
            Glue::From,
            Glue::Until,
        ];
        let after: String = self.folded[at..].iter().skip(3).take(6).collect();
        let is_dated = after.trim_start().starts_with(|one: char| one.is_ascii_digit());
        is_dated || before.is_some_and(|token| glue.iter().any(|glue| token.is_glue(*glue)))
    }

    /// Hiragana can be a particle with the beginning of a name in it: then the name counts.
    fn particle_before_name(&self, at: usize, size: usize) -> Option<(Is, usize)> {
        let rest = &self.folded[at..];
        if !rest[..size].iter().all(|one| is_hiragana(*one)) {
            return None;
        }
        let is_longer =
            |from: usize, key: &Vec<char>| key.len() > size - from && rest[from..].starts_with(key);
        let names = |from: usize| {
            self.columns.iter().any(|column| {
                let is_text = column.kind == Kind::Text;
                is_longer(from, &column.key)
                    || (is_text && column.values.iter().any(|known| is_longer(from, &known.key)))
            })
        };
        let from = (1..size).find(|from| names(*from))?;
        let particle = words().all.iter().find(|(text, _)| text.as_slice() == &rest[..from])?;
        Some((Is::Word(particle.1), from))
    }

    /// Whether a value stands at a place, and is no part of a longer name.
    fn is_value(&self, at: usize, key: &[char]) -> bool {
        let before = at.checked_sub(1).map(|before| self.folded[before]);
        let is_inside = self.unknown.is_some()
            && before.is_some_and(is_kanji)
            && key.first().is_some_and(|one| is_kanji(*one));
        !is_inside && self.stands_alone(at, key, false)
    }

    fn word(&self, at: usize) -> Option<(Word, usize)> {
        let rest = &self.folded[at..];
        let fits = |text: &[char]| rest.starts_with(text) && self.stands_alone(at, text, false);
        let found = words().all.iter().filter(|(text, _)| fits(text));
        let (text, word) = found.max_by_key(|(text, _)| text.len())?;
        Some((*word, text.len()))
    }

    /// Whether something is a word of its own at a place, and no part of a longer one.
    fn stands_alone(&self, at: usize, text: &[char], is_column: bool) -> bool {
        let before = at.checked_sub(1).map(|before| self.folded[before]);
        let after = self.folded.get(at + text.len()).copied();
        let (Some(first), Some(last)) = (text.first(), text.last()) else { return false };
        let joins =
            |is: fn(char) -> bool, edge: char, next: Option<char>| is(edge) && next.is_some_and(is);
        let is_latin = |one: char| one.is_ascii_alphanumeric();
        let plural = is_column && after == Some('s');
        if joins(is_latin, *first, before) || (joins(is_latin, *last, after) && !plural) {
            return false;
        }
        if is_column && text.len() > 1 {
            return true;
        }
        if joins(is_katakana, *first, before) || joins(is_katakana, *last, after) {
            return false;
        }
        let is_in_unknown = self.unknown.is_some();
        match text {
            [one] if is_hiragana(*one) => !(is_in_unknown && before.is_some_and(is_hiragana)),
            [one] if is_kanji(*one) => {
                let is_each = |next: &(Vec<char>, Word)| {
                    next.1 == Word::Glue(Glue::Each) && self.folded[at + 1..].starts_with(&next.0)
                };
                let glue = [Glue::Each, Glue::Per].map(Word::Glue);
                let connects =
                    words().all.iter().any(|(word, is)| word == text && glue.contains(is));
                let alone = !before.is_some_and(is_kanji) || !is_in_unknown;
                let ends = !after.is_some_and(is_kanji) || words().all.iter().any(is_each);
                connects || (alone && ends && (is_column || !is_in_unknown))
            }
            _ => true,
        }
    }

    /// Where the inside of the quotes at a place begins and ends, and where the quotes end.
    fn quoted(&self, at: usize) -> Option<((usize, usize), usize)> {
        let original = |at: usize| self.question[self.letters[at].start..].chars().next();
        let open = original(at)?;
        let pairs = words().marks.quotes.iter();
        let mut closing =
            pairs.filter(|pair| pair.starts_with(open)).filter_map(|pair| pair.chars().nth(1));
        let close = closing.next()?;
        // An apostrophe within a word opens nothing.
        if open == close && at > 0 && self.folded[at - 1].is_alphanumeric() && open == '\'' {
            return None;
        }
        let end = (at + 1..self.letters.len()).find(|place| original(*place) == Some(close))?;
        (end > at + 1).then_some(((at + 1, end), end + 1))
    }

    fn push_quoted(&mut self, start: usize, inside: (usize, usize), end: usize) {
        let key: Vec<char> = self.folded[inside.0..inside.1].to_vec();
        let text: String = key.iter().collect();
        let is_it = |column: &Column| column.key == fold::key(&text);
        let is = self.columns.iter().position(is_it).map_or(Is::Quoted, Is::Column);
        let exact = &self.question[self.letters[inside.0].start..self.letters[inside.1 - 1].end];
        // Of two columns that differ only in what is folded the exact one counts.
        let same = self.columns.iter().position(|column| column.name == exact);
        let token = Token {
            is: same.map_or(is, Is::Column),
            text: exact.to_owned(),
            start: self.letters[start].start,
            end: self.letters[end - 1].end,
        };
        self.tokens.push(token);
    }

    fn push(&mut self, is: Is, start: usize, end: usize) {
        let (start, end) = (self.letters[start].start, self.letters[end - 1].end);
        let text = self.question[start..end].trim().to_owned();
        let exact = self.columns.iter().position(|column| column.name == text);
        let is = match (is, exact) {
            (Is::Column(_), Some(exact)) => Is::Column(exact),
            (is, _) => is,
        };
        self.tokens.push(Token { is, text, start, end });
    }

    fn end_unknown(&mut self, end: usize) {
        let Some(start) = self.unknown.take() else { return };
        // A particle at the end of hiragana was not seen as one: it could have been a part of the word.
        let last = self.folded[end - 1];
        let particle = words().all.iter().find(|(text, _)| text.as_slice() == [last]);
        let is_cut = end - start > 2 && is_hiragana(last) && is_hiragana(self.folded[end - 2]);
        match particle.filter(|_| is_cut) {
            Some((_, word)) => {
                self.push(Is::Unknown, start, end - 1);
                self.push(Is::Word(*word), end - 1, end);
            }
            None => self.push(Is::Unknown, start, end),
        }
    }
}
