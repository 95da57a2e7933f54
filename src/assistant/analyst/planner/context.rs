//! What a question means after what was said before: a yes, the name of a column, or a change of the analysis before.

use super::column::{Column, Kind};
use super::lex::{Is, Token, tokens};
use super::speak::Speaker;
use super::understand::{Doubt, Question, understand};
use super::words::{Aggregate, Glue, Word};
use super::{By, Said};
use crate::locale::Locale;

/// Most questions that are followed back.
const FARTHEST: usize = 20;

pub(super) fn resolve(
    question: &str,
    history: &[Said],
    columns: &[Column],
    locale: Locale,
) -> Question {
    followed(question, history, columns, Speaker { locale, columns }, FARTHEST)
}

fn followed(
    question: &str,
    history: &[Said],
    columns: &[Column],
    speaker: Speaker<'_>,
    farthest: usize,
) -> Question {
    let alone = Question { text: question.to_owned(), parts: Vec::new() };
    let said = tokens(question, columns);
    let wanted = answer(&said, columns);
    if wanted == Answer::Itself || farthest == 0 {
        return alone;
    }
    let Some(at) = history.iter().rposition(|said| said.by == By::User) else { return alone };
    let before = followed(&history[at].text, &history[..at], columns, speaker, farthest - 1);
    let locale = if super::fold::is_japanese(&before.text) { Locale::Ja } else { speaker.locale };
    let speaker = Speaker { locale, ..speaker };
    let understood = understand(&before, columns);
    match (wanted, understood) {
        (Answer::Yes, Err(doubt)) => speaker.hypothesis(&doubt, &before),
        (Answer::Columns, Err(doubt)) => named(&before, &doubt, &said).unwrap_or(alone),
        (Answer::Change, Ok(_)) => {
            // A mark between both, so that no condition goes on into the other.
            let text = format!("{}; {question}", before.text);
            let parts = [before.parts, vec![before.text.len() + 1]].concat();
            Question { text, parts }
        }
        (Answer::Itself | Answer::Yes | Answer::Columns, Ok(_))
        | (Answer::Itself | Answer::Change, Err(_)) => alone,
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Answer {
    /// It is a question of its own.
    Itself,
    Yes,
    /// Nothing but columns.
    Columns,
    /// It says that it is about what was done before.
    Change,
}

fn answer(said: &[Token], columns: &[Column]) -> Answer {
    let is_glue = |token: &Token, glue: &[Glue]| glue.iter().any(|one| token.is_glue(*one));
    if said.iter().any(|token| token.is_glue(Glue::Reference)) {
        return Answer::Change;
    }
    let empty =
        [Glue::Filler, Glue::Subject, Glue::Object, Glue::And, Glue::Or, Glue::No, Glue::Of];
    let is_hollow = |token: &Token| matches!(token.is, Is::Mark(_)) || is_glue(token, &empty);
    let mut rest = said.iter().filter(|token| !is_hollow(token)).peekable();
    if rest.peek().is_none() {
        return Answer::Itself;
    }
    let rest: Vec<&Token> = rest.collect();
    if rest.iter().all(|token| token.is_glue(Glue::Yes)) {
        return Answer::Yes;
    }
    let names = |token: &&Token| {
        let equals = token.is == Is::Word(Word::Compare(super::words::Compare::Eq));
        matches!(token.is, Is::Column(_)) || token.is_glue(Glue::Yes) || equals
    };
    let is_hiragana = |token: &Token| token.text.chars().all(super::fold::is_hiragana);
    let rest: Vec<&Token> =
        rest.into_iter().filter(|token| token.is != Is::Unknown || !is_hiragana(token)).collect();
    if !rest.is_empty() && rest.iter().all(names) && !asks_on(said) {
        return Answer::Columns;
    }
    if is_part(&rest, columns) { Answer::Change } else { Answer::Itself }
}

/// Whether a column is asked for after another: "and humidity?".
fn asks_on(said: &[Token]) -> bool {
    let asks = said.iter().any(|token| matches!(token.is, Is::Mark('?')));
    let goes_on = said.first().is_some_and(|token| token.is_glue(Glue::And));
    asks || goes_on
}

/// Whether something is no question of its own: it says only what is to be different.
fn is_part(rest: &[&Token], columns: &[Column]) -> bool {
    let mut aggregates = 0;
    let (mut counts, mut numbers, mut keys, mut others) = (0, 0, 0, 0);
    for (at, token) in rest.iter().enumerate() {
        let beside = |glue: Glue, place: Option<usize>| {
            place.and_then(|place| rest.get(place)).is_some_and(|token| token.is_glue(glue))
        };
        match token.is {
            Is::Word(Word::Intent(_)) | Is::Quoted => return false,
            Is::Word(Word::Aggregate(Aggregate::Count)) => counts += 1,
            Is::Word(Word::Aggregate(_)) => aggregates += 1,
            Is::Column(column) if columns[column].kind == Kind::Number => numbers += 1,
            Is::Column(_) => {
                let is_key =
                    beside(Glue::Per, at.checked_sub(1)) || beside(Glue::Each, Some(at + 1));
                if !is_key {
                    return false;
                }
                keys += 1;
            }
            Is::Unknown => return false,
            Is::Word(_) | Is::Value(_) | Is::Number(_) | Is::Date(_) => others += 1,
            Is::Month(_) | Is::Mark(_) => others += 1,
        }
    }
    // A number with what is computed of it, or rows that are counted of groups, are a question.
    let is_whole = (numbers > 0 && (aggregates + counts + keys + others) > 0)
        || (counts > 0 && (keys + others) > 0);
    !is_whole && (aggregates + counts + numbers + keys + others) > 0
}

/// The question before, with the columns of the answer where they were missing.
fn named(before: &Question, doubt: &Doubt, said: &[Token]) -> Option<Question> {
    let columns: Vec<&str> = said
        .iter()
        .filter(|token| matches!(token.is, Is::Column(_)))
        .map(|token| token.text.as_str())
        .collect();
    let marks = &super::words::words().marks;
    let quoted: Vec<String> =
        columns.iter().map(|name| format!("{}{name}{}", marks.open, marks.close)).collect();
    let text = match doubt {
        Doubt::NoSuchColumn { start, end, .. } => {
            let (head, tail) = (before.text.get(..*start)?, before.text.get(*end..)?);
            format!("{head}{}{tail}", quoted.first()?)
        }
        Doubt::WhichColumns(_) => format!("{} {}", before.text, quoted.join(" ")),
        Doubt::Nothing
        | Doubt::NoColumns
        | Doubt::Prediction
        | Doubt::Web
        | Doubt::Cause
        | Doubt::NotNumeric { .. }
        | Doubt::TooFewNumbers
        | Doubt::NoDate
        | Doubt::NoTimes
        | Doubt::NoShares
        | Doubt::Part { .. }
        | Doubt::OfPeriods { .. }
        | Doubt::InEach { .. }
        | Doubt::DateOrder { .. }
        | Doubt::Condition { .. } => return None,
        Doubt::Unknown { start, end, .. } => {
            let (head, tail) = (before.text.get(..*start)?, before.text.get(*end..)?);
            format!("{head}{}{tail}", quoted.first()?)
        }
        Doubt::WhoseValue { text, start, end, .. } => {
            let (head, tail) = (before.text.get(..*start)?, before.text.get(*end..)?);
            format!("{head}{} = {}{text}{}{tail}", quoted.first()?, marks.open, marks.close)
        }
    };
    // What is put in moves the parts that begin behind it.
    let place = doubt_start(doubt).unwrap_or(before.text.len());
    let length = text.len();
    let shift = |part: &usize| {
        if *part > place { (part + length).saturating_sub(before.text.len()) } else { *part }
    };
    Some(Question { parts: before.parts.iter().map(shift).collect(), text })
}

/// Where something else was put into a question.
pub(super) fn doubt_start(doubt: &Doubt) -> Option<usize> {
    match doubt {
        Doubt::NoSuchColumn { start, .. }
        | Doubt::Condition { start, .. }
        | Doubt::Unknown { start, .. }
        | Doubt::Part { start, .. }
        | Doubt::OfPeriods { start, .. }
        | Doubt::InEach { start, .. }
        | Doubt::WhoseValue { start, .. } => Some(*start),
        Doubt::Nothing
        | Doubt::NoColumns
        | Doubt::Prediction
        | Doubt::Web
        | Doubt::Cause
        | Doubt::WhichColumns(_)
        | Doubt::NotNumeric { .. }
        | Doubt::TooFewNumbers
        | Doubt::NoDate
        | Doubt::NoTimes
        | Doubt::NoShares
        | Doubt::DateOrder { .. } => None,
    }
}
