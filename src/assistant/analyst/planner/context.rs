//! What a question means after what was said before: a yes, the name of a column, or a change of the analysis before.

use super::column::Column;
use super::lex::{Is, Token, tokens};
use super::speak::Speaker;
use super::understand::{Doubt, Question, understand};
use super::words::{Glue, Word};
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
    let alone = Question { text: question.to_owned(), follow_up: 0 };
    let said = tokens(question, columns);
    let wanted = answer(&said);
    if wanted == Answer::Itself || farthest == 0 {
        return alone;
    }
    let Some(at) = history.iter().rposition(|said| said.by == By::User) else { return alone };
    let before = followed(&history[at].text, &history[..at], columns, speaker, farthest - 1);
    let locale = if super::fold::is_japanese(&before.text) { Locale::Ja } else { speaker.locale };
    let speaker = Speaker { locale, ..speaker };
    match (wanted, understand(&before, columns)) {
        (Answer::Yes, Err(doubt)) => {
            Question { text: speaker.ask(&doubt, &before.text).hypothesis, follow_up: 0 }
        }
        (Answer::Columns, Err(doubt)) => named(&before, &doubt, &said).unwrap_or(alone),
        (Answer::Change, Ok(_)) => {
            Question { text: format!("{} {question}", before.text), follow_up: before.text.len() }
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

fn answer(said: &[Token]) -> Answer {
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
    if !rest.is_empty() && rest.iter().all(names) { Answer::Columns } else { Answer::Itself }
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
        | Doubt::Condition { .. } => return None,
    };
    Some(Question { text, follow_up: 0 })
}
