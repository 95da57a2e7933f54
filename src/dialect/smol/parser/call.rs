//! Calls of named functions in Python code, with the arguments that are written as plain values. Nothing is run, so what
//! only Python could know is marked as unreadable.

use super::python::{Token, Tokens};
use super::{AgentResponse, limit};
use std::iter::Peekable;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Call<'a> {
    pub(super) name: &'a str,
    pub(super) arguments: Vec<Argument<'a>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Argument<'a> {
    pub(super) keyword: Option<&'a str>,
    pub(super) value: Literal,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Literal {
    Text(String),
    Flag(bool),
    /// `None`.
    Nothing,
    Unreadable,
}

/// Further arguments of a call are read but not kept.
const MAX_ARGUMENTS: usize = 16;

/// The calls in all steps that were run, in order.
pub(super) fn in_steps<'a>(response: &'a AgentResponse, names: &[&str]) -> Vec<Call<'a>> {
    let mut left = limit::MAX_SEARCHED_CODE;
    let mut calls = Vec::new();
    for step in &response.code_steps {
        let code = limit::start(&step.code, left);
        left -= code.len();
        calls.extend(all(code, names));
    }
    calls
}

/// The calls in a piece of code. A call within the arguments of another one that was found is not looked at.
pub(super) fn all<'a>(code: &'a str, names: &[&str]) -> Vec<Call<'a>> {
    let mut calls = Vec::new();
    // Most code calls none of them, and need not be taken apart.
    if !names.iter().any(|name| code.contains(name)) {
        return calls;
    }
    let mut tokens = Tokens::new(code).peekable();
    let mut is_definition = false;
    while let Some(token) = tokens.next() {
        let Token::Word(name) = token else {
            is_definition = false;
            continue;
        };
        let is_called = names.contains(&name) && tokens.next_if_eq(&Token::Mark('(')).is_some();
        if is_called {
            let Some(arguments) = arguments(&mut tokens) else {
                // The bracket is never closed: such code did not run.
                return calls;
            };
            if !is_definition {
                calls.push(Call { name, arguments });
            }
        }
        is_definition = matches!(name, "def" | "class");
    }
    calls
}

/// Reads until the bracket is closed; `None` if it is not.
fn arguments<'a>(tokens: &mut Peekable<Tokens<'a>>) -> Option<Vec<Argument<'a>>> {
    let mut found = Vec::new();
    let mut current = Current::default();
    let mut depth = 0_usize;
    for token in tokens {
        match token {
            Token::Mark(')') if depth == 0 => {
                found.extend(current.end());
                found.truncate(MAX_ARGUMENTS);
                return Some(found);
            }
            Token::Mark(',') if depth == 0 => {
                let ended = std::mem::take(&mut current).end();
                found.extend(ended.filter(|_| found.len() < MAX_ARGUMENTS));
                continue;
            }
            Token::Mark('(' | '[' | '{') => depth += 1,
            Token::Mark(')' | ']' | '}') => depth = depth.saturating_sub(1),
            Token::Mark(_) | Token::Word(_) | Token::Text(_) => {}
        }
        current.add(token);
    }
    None
}

/// The argument that is being read: at most `keyword = value`.
#[derive(Default)]
struct Current<'a> {
    tokens: [Option<Token<'a>>; 3],
    count: usize,
}

impl<'a> Current<'a> {
    fn add(&mut self, token: Token<'a>) {
        if let Some(place) = self.tokens.get_mut(self.count) {
            *place = Some(token);
        }
        self.count = self.count.saturating_add(1);
    }

    /// `None` if nothing was written, as after the last comma.
    fn end(self) -> Option<Argument<'a>> {
        let [first, second, third] = self.tokens;
        let keyword = match (first?, second) {
            (Token::Word(keyword), Some(Token::Mark('='))) => Some(keyword),
            (Token::Word(_) | Token::Text(_) | Token::Mark(_), _) => None,
        };
        let value = match (keyword, self.count) {
            (Some(_), 3) => third.map_or(Literal::Unreadable, literal),
            (None, 1) => first.map_or(Literal::Unreadable, literal),
            (Some(_) | None, _) => Literal::Unreadable,
        };
        Some(Argument { keyword, value })
    }
}

fn literal(token: Token<'_>) -> Literal {
    match token {
        Token::Text(text) => text.value().map_or(Literal::Unreadable, Literal::Text),
        Token::Word("True") => Literal::Flag(true),
        Token::Word("False") => Literal::Flag(false),
        Token::Word("None") => Literal::Nothing,
        Token::Word(_) | Token::Mark(_) => Literal::Unreadable,
    }
}
